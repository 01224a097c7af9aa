#!/usr/bin/env bash
# dev_test.sh: what `./dev` says of its commands, and where it installs. Nothing is compiled: cmake shows its arguments.
set -euo pipefail
dev=$(cd "$(dirname "$0")/../.." && pwd)/dev
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tools" "$folder/elsewhere"
printf '#!/bin/sh\necho "cmake $*"\n' >"$folder/tools/cmake"
printf '#!/bin/sh\nprintf installed\n' >"$folder/tools/dpkg-query"
chmod +x "$folder"/tools/*
export PATH=$folder/tools:$PATH
cd "$folder/elsewhere"
fail() { echo "$*"; exit 1; }

for asked in '' help --help -h; do
  said=$("$dev" $asked) || fail "./dev $asked fails"
  [[ $said == *"./dev setup "* ]] || fail "./dev $asked does not say what there is: $said"
done
if said=$("$dev" nothing 2>&1); then fail "./dev nothing does not fail"; fi
[[ $said == *"unknown command: nothing"* ]] || fail "./dev nothing: $said"

if said=$("$dev" demo kubernetes 2>&1); then fail "./dev demo kubernetes does not fail"; fi
[[ $said == *"no such sample: kubernetes (there are: "*" hello "* ]] || fail "./dev demo kubernetes: $said"
[[ ${said#*there are: } != *kubernetes* ]] || fail "kubernetes is offered, which has no program: $said"

# installs_into <prefix, as cmake is told> [prefix, as dev is told]
installs_into() {
  wanted=$1; shift
  said=$("$dev" install "$@" 2>&1) || fail "./dev install $* fails: $said"
  [[ $said == *"cmake --install build/release --prefix $wanted" ]] || fail "./dev install $*: $said"
}
installs_into /usr/local
installs_into /opt/troupe /opt/troupe
installs_into "$folder/elsewhere/here" here
