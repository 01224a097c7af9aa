#!/bin/sh
# Makes keys for samples/guide/cluster.toml and starts each of its nodes by itself, all on this machine:
# as_members.sh --name NODE... or as_members.sh --pod POD...
# Its status is that of a node that failed, else 0.
set -eu
option=$1
shift
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
port=$((20000 + $$ % 12000))
troupe keys init-cluster "$keys" > "$keys/log"
troupe keys new-node --dir "$keys" --for samples/guide/cluster.toml >> "$keys/log"
pids=
for node in "$@"; do
  troupe node samples/guide/cluster.toml --set cluster.seed=127.0.0.1 --set "cluster.port=$port" \
    --keys "$keys/nodes" "$option" "$node" &
  pids="$pids $!"
done
status=0
for pid in $pids; do
  wait "$pid" || status=$?
done
exit "$status"
