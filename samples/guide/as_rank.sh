#!/bin/sh
# Starts COMMAND as the node of samples/guide/cluster.toml that has this process's rank, with its key of DIR:
# as_rank.sh DIR COMMAND [ARGUMENT...]. torchrun says the rank, in RANK.
set -eu
keys=$1
shift
case $RANK in
  3) TROUPE_NODE=driver ;;
  *) TROUPE_NODE=worker$RANK ;;
esac
export TROUPE_NODE TROUPE_KEY_FILE="$keys/$TROUPE_NODE.key"
exec "$@"
