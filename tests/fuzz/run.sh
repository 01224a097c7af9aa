#!/bin/sh
# ./dev fuzz: fuzzes the named decoders, one after the other, and prints a table: executions, speed, lines reached.
#   run.sh [--seconds S] [--keep] [--strict] [TARGET]...
# --keep writes what was worth keeping to tests/fuzz/corpus, to be committed.
# A decoder that is slower than wanted, or of which fewer lines are reached, is marked; --strict: it also fails.
set -eu
fuzz=build/fuzz/bin/fuzz
work=build/fuzz/corpus
llvm=$(dirname "$(readlink -f "$(command -v clang++)")")

speed_wanted=1000    # executions per second
lines_wanted=90      # percent
seconds=60 keep='' strict='' targets=''
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --keep) keep=yes ;;
    --strict) strict=yes ;;
    -*) echo "fuzz: not an option: $1" >&2; exit 2 ;;
    *) targets="$targets $1" ;;
  esac
  shift
done
export LLVM_PROFILE_FILE=/dev/null
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
known=$($fuzz list | cut -d' ' -f1)
for name in $targets; do
  echo "$known" | grep -qx -- "$name" || { echo "fuzz: no such decoder: $name (there are: $(echo $known))" >&2; exit 2; }
done

# Prints how many of the lines of a target's sources its corpus reaches: of the functions that it enters, since a source
# has others, too.
lines_reached() {
  LLVM_PROFILE_FILE="$work/$1.profraw" $fuzz run "$1" -runs=0 "$work/$1" >/dev/null 2>&1 || true
  "$llvm/llvm-profdata" merge -sparse "$work/$1.profraw" -o "$work/$1.profdata"
  # Columns: function, regions, missed, cover, lines, missed, cover, ...
  "$llvm/llvm-cov" report "$fuzz" -instr-profile="$work/$1.profdata" -show-functions $2 2>/dev/null |
    awk '$1 != "TOTAL" && $5 ~ /^[0-9]+$/ && $6 < $5 { lines += $5; missed += $6 }
         END { if (lines > 0) printf "%.1f %%", 100 * (lines - missed) / lines; else print "?" }'
}

# Prints ", WORD" unless the number $1 is at least $2. What was not measured is not enough.
too_little() {
  awk -v is="${1%% *}" -v wanted="$2" -v word="$3" 'BEGIN { if (is !~ /^[0-9.]+$/ || is + 0 < wanted) printf ", %s", word }'
}

failed=''
printf '%-20s %12s %10s %8s  %s\n' decoder executions per_second lines result
for name in ${targets:-$known}; do
  line=$($fuzz list | grep "^$name ")
  longest=$(echo "$line" | cut -d' ' -f2)
  sources=$(echo "$line" | cut -d' ' -f3-)
  rm -rf "${work:?}/$name" && $fuzz unpack "$name" "$work/$name"
  log=$work/$name.log
  result=ok
  $fuzz run "$name" -max_total_time="$seconds" -max_len="$longest" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -use_value_profile=1 -artifact_prefix="$work/$name-" "$work/$name" >"$log" 2>&1 || result=failed
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  lines=$(lines_reached "$name" "$sources")
  below=$(too_little "${speed:-?}" "$speed_wanted" slow)$(too_little "$lines" "$lines_wanted" "few lines")
  shown=$result$below
  printf '%-20s %12s %10s %8s  %s\n' "$name" "${executions:-?}" "${speed:-?}" "$lines" "${shown#ok, }"
  if [ -n "$strict" ] && [ -n "$below" ]; then failed=yes; fi
  if [ "$result" != ok ]; then
    failed=yes
    grep -E 'what\(\)|ERROR:|runtime error|Test unit written' "$log" >&2 || tail -n 20 "$log" >&2
  elif [ -n "$keep" ]; then
    rm -rf "${work:?}/$name.least" && mkdir "$work/$name.least"
    $fuzz run "$name" -merge=1 "$work/$name.least" "$work/$name" >>"$log" 2>&1
    $fuzz pack "$work/$name.least" >"tests/fuzz/corpus/$name.hex"
  fi
done
echo "wanted: $speed_wanted executions per second, $lines_wanted % of lines${strict:+; below it is a failure}"
[ -z "$failed" ]
