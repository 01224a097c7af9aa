#!/bin/sh
# Makes keys for samples/guide/cluster.toml and starts each of its nodes by itself, all on this machine:
# as_members.sh --name NODE... or as_members.sh --pod POD...
option=$1
shift
keys=$(mktemp -d)
port=$((20000 + $$ % 12000))
troupe keys init-cluster "$keys" > "$keys/log"
troupe keys new-node --dir "$keys" --for samples/guide/cluster.toml >> "$keys/log"
for node in "$@"; do
  troupe node samples/guide/cluster.toml --set cluster.seed=127.0.0.1 --set "cluster.port=$port" \
    --keys "$keys/nodes" "$option" "$node" &
done
wait
rm -r "$keys"
