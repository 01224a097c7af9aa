#!/bin/sh
# Starts COMMAND as the nodes of samples/guide/cluster.toml, with the variables that torchrun sets, each with a key of its
# own, all on this machine: as_torchrun.sh COMMAND [ARGUMENT...]
# Its status is that of a process that failed, else 0.
set -eu
keys=$(mktemp -d)
finish() {
  trap '' HUP INT TERM
  jobs -p > "$keys/log"  # Ctrl-C does not reach what a script has in the background
  kill $(cat "$keys/log") 2> /dev/null || true
  wait
  rm -r "$keys"
}
trap finish EXIT
trap 'trap "" HUP INT TERM; exit 1' HUP INT TERM
troupe keys init-cluster "$keys" > "$keys/log"
troupe keys new-node --dir "$keys" --for samples/guide/cluster.toml >> "$keys/log"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 TORCHELASTIC_USE_AGENT_STORE=True WORLD_SIZE=4 LOCAL_WORLD_SIZE=4
export TROUPE__CLUSTER__PORT=$((20000 + $$ % 12000))
pids=
for rank in 0 1 2 3; do
  RANK=$rank sh samples/guide/as_rank.sh "$keys/nodes" "$@" &
  pids="$pids $!"
done
status=0
for pid in $pids; do
  wait "$pid" || status=$?
done
exit "$status"
