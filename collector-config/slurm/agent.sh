#!/usr/bin/env bash
# One node's part of job.sbatch: shipper and agent, until SIGTERM. The shipper belongs here, not to the training, as SLURM kills
# whatever a step has started when the step ends.
set -euo pipefail
mkdir -p "$ROLLSCOPE_SCRATCH"
export ROLLSCOPE_AGENT_STORAGE="$ROLLSCOPE_SCRATCH/agent"
"$ROLLSCOPE_COLLECTOR" --config "$ROLLSCOPE_CONFIG_DIR/agent.yaml" &
agent=$!
(
    trap 'kill -TERM "$ship" 2>/dev/null; wait "$ship"; exit 0' TERM
    while :; do # it ends when it has nothing to do
        rollscope ship "$ROLLSCOPE_DIR" &
        ship=$!
        wait "$ship" || true
        sleep 1
    done
) &
shippers=$!
stop() {
    trap - TERM INT EXIT
    kill -TERM "$shippers" 2>/dev/null || true
    wait "$shippers" 2>/dev/null || true
    kill -TERM "$agent" 2>/dev/null || true
    wait "$agent" 2>/dev/null || true
}
trap stop TERM INT EXIT
wait -n "$agent" "$shippers"
