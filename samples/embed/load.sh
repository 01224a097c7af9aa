#!/bin/sh
# Load test: starts the service and its model node, drives them with wrk, says what wrk saw, and ends them.
#   samples/embed/load.sh [wrk's options; default: -t2 -c16 -d10s --latency]
# The build that is measured is the first of PATH, build/release and build/dev that there is.
set -eu
cd "$(dirname "$0")/../.."
fail() { echo "load.sh: $*" >&2; exit 1; }

command -v wrk >/dev/null || fail "wrk is missing: apt-get install wrk"
PATH="$PATH:$PWD/build/release/bin:$PWD/build/dev/bin"
command -v embed >/dev/null || fail "nothing is built: ./dev build release programs"
[ $# != 0 ] || set -- -t2 -c16 -d10s --latency

said=$(mktemp -u)
mkfifo "$said"
troupe up samples/embed/cluster.toml --set 'role.service.command=["embed", "--port", "0", "--threads", "64"]' >"$said" 2>&1 &
cluster=$!
trap 'kill "$cluster" 2>/dev/null && wait "$cluster" || true; rm -f "$said"' EXIT
exec 3<"$said"
while read -r line <&3; do
  case $line in
    *'listening on '*) wrk "$@" --script samples/embed/load.lua "${line##*listening on }"; exit ;;
  esac
  echo "$line" >&2
done
fail "the service did not start"
