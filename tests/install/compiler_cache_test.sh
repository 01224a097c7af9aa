#!/usr/bin/env bash
# compiler_cache_test.sh <c++>: what `./dev` tells ccache keeps no precompiled header of an earlier text. Ends with 77 where
# ccache is missing.
set -euo pipefail
compiler=$1
command -v ccache >/dev/null || { echo "no ccache here"; exit 77; }
unset "${!CCACHE_@}"
eval "$(sed -n '/^use_ccache() {/,/^}/p' "$(dirname "$0")/../../dev")"
use_ccache

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export CCACHE_DIR=$folder/cache

# build <comment in the header> <what the program returns>: a folder as a new clone has it
build() {
  rm -rf clone && mkdir clone && cd clone
  printf '#pragma once\n// %s\nstruct Answer { int value = %d; };\n' "$1" 42 >answer.h
  echo '#include "answer.h"' >precompiled.hxx
  printf '#include "answer.h"\nint main() { return Answer().value == 42 ? %d : 1; }\n' "$2" >program.cc
  ccache "$compiler" -x c++-header -I. -MD -MF header.d -o precompiled.hxx.gch -c precompiled.hxx
  ccache "$compiler" -Winvalid-pch -include precompiled.hxx -I. -MD -MF program.d -o program.o -c program.cc
  cd ..
}

build one 0
build one 0
hits=$(ccache --print-stats | awk '$1 ~ /_cache_hit$/ { sum += $2 } END { print sum + 0 }')
[ "$hits" = 2 ] || { echo "the second build of one text hit the cache $hits times, not twice"; exit 1; }
build two 3
echo "a header with another comment is compiled anew"
