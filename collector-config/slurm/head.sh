#!/usr/bin/env bash
# The head node's part of job.sbatch: bridge, then gateway; on SIGTERM the gateway ends first. What the bridge wrote and what it could
# not deliver is copied from the node's own disk to $ROLLSCOPE_KEEP in the end.
set -euo pipefail
mkdir -p "$ROLLSCOPE_SCRATCH" "$ROLLSCOPE_KEEP"
export ROLLSCOPE__STORAGE="$ROLLSCOPE_SCRATCH/bridge"
rollscope bridge --config "$ROLLSCOPE_CONFIG_DIR/bridge.yaml" &
bridge=$!
ROLLSCOPE_GATEWAY_HOST=0.0.0.0 ROLLSCOPE_GATEWAY_STORAGE="$ROLLSCOPE_SCRATCH/gateway" \
    "$ROLLSCOPE_COLLECTOR" --config "$ROLLSCOPE_CONFIG_DIR/gateway.yaml" &
gateway=$!
stop() {
    trap - TERM INT EXIT
    kill -TERM "$gateway" 2>/dev/null || true
    wait "$gateway" 2>/dev/null || true
    kill -TERM "$bridge" 2>/dev/null || true
    wait "$bridge" 2>/dev/null || true
    cp -r "$ROLLSCOPE__STORAGE/." "$ROLLSCOPE_KEEP/"
}
trap stop TERM INT EXIT
wait -n "$bridge" "$gateway"
