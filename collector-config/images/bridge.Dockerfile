# The bridge with all its backends. Context: the repository's root.
FROM python:3.11-slim
COPY pyproject.toml README.md LICENSE /src/
COPY instrumentation /src/instrumentation
COPY exporters /src/exporters
COPY requirements/constraints.txt /src/requirements/constraints.txt
RUN pip install --no-cache-dir --constraint /src/requirements/constraints.txt "/src[all]" \
    && useradd --system --create-home --home-dir /var/lib/rollscope rollscope \
    && install -d -o rollscope -g rollscope /var/lib/rollscope/bridge
USER rollscope
WORKDIR /var/lib/rollscope
ENTRYPOINT ["rollscope"]
