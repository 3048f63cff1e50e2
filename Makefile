# Every target sets up what it needs, once, in a cache folder: ROLLSCOPE_CACHE, else rollscope/ in the user's cache.
SHELL := /bin/bash
PYTHON ?= python3
MAKEFLAGS += --no-print-directory
# Tests and demos start hundreds of interpreters: without bytecode each compiles everything that it imports again.
unexport PYTHONDONTWRITEBYTECODE

# Extra of the distribution that a target's environment is built with.
EXTRA := dev
SOURCES := instrumentation exporters examples tools tests benchmarks

# Path of a complete virtual environment, built when it is not there.
environment = $$($(PYTHON) tools/environment.py --extra $(EXTRA))
# Run one command in it, stopping when it could not be built.
define in_environment
@env=$(environment) && export PATH="$$env/bin:$$PATH" && $(1)
endef

.DEFAULT_GOAL := help

.PHONY: help demo test soak lint format bench measure up collector docs constraints destinations environment clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: EXTRA := demo
demo: ## train a small agent and see it arrive in MLflow (ARGS='--steps 8' …)
	$(call in_environment,python -m examples.tool_rl.train $(ARGS))

test: ## run all tests (ARGS='tests/journal -k torn' …)
	@tools/system-packages
	@# Built here, as no test has minutes; one that needs what could not be built says so.
	@$(if $(ARGS),,$(PYTHON) -m tools.collector gateway relay jaeger || true)
	$(call in_environment,python -m pytest -n 4 --dist loadscope $(ARGS))

soak: ## long loops of kills
	$(call in_environment,python -m pytest -m soak $(ARGS))

lint: ## style, types, import rules, generated pages
	$(call in_environment,ruff check $(SOURCES) && ruff format --check $(SOURCES))
	$(call in_environment,mypy && mypy tests/typing/api.py && mypy examples && mypy --python-version 3.11 tools)
	$(call in_environment,lint-imports --no-cache)
	$(call in_environment,python -m tools.vocabulary_page --check && python -m tools.dashboards --check && python -m tools.measurements_page --check)
	$(call in_environment,python -m rollscope_exporters.settings.document | diff - docs/configuration.md || { echo "run \`make docs\`"; exit 1; })

format: ## format the sources
	$(call in_environment,ruff check --fix $(SOURCES); ruff format $(SOURCES))

bench: ## measure ours beside the peers
	$(call in_environment,python -m benchmarks $(ARGS))

measure: ## measure everything, some forty minutes, and write docs/measurements.md (ARGS='--quick' to see that it runs)
	$(call in_environment,python -m benchmarks --write benchmarks/results/measurements.json $(ARGS); found=$$?; python -m tools.measurements_page && exit $$found)

up: ## start the bridge and local tracker pages
	$(call in_environment,rollscope up $(ARGS))

collector: ## build Collector, Kafka relay and Jaeger from source, once; print their paths
	@$(PYTHON) -m tools.collector $(or $(ARGS),gateway relay jaeger)

destinations: ## read every destination back and write docs/destinations.md
	@tools/system-packages
	$(call in_environment,ROLLSCOPE_WRITE_PAGE=1 python -m pytest tests/destinations/test_destinations.py $(ARGS))

docs: ## write the generated pages and dashboards
	$(call in_environment,python -m tools.vocabulary_page && python -m tools.measurements_page && python -m tools.dashboards && python -m rollscope_exporters.settings.document docs/configuration.md)

constraints: ## resolve requirements/constraints.txt anew
	@$(PYTHON) -m tools.constraints

environment: ## build the virtual environment and print its path
	@$(PYTHON) tools/environment.py --extra $(EXTRA)

clean: ## delete this checkout's environments and caches
	@$(PYTHON) tools/environment.py --remove
	@rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +
