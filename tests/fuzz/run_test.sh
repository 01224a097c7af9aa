#!/bin/sh
# run_test.sh RUN_SH: the table's marks and status, for a fuzzer and coverage tools whose numbers are given.
set -eu
run=$1
room=$(mktemp -d)
trap 'rm -r "$room"' EXIT
cd "$room"
mkdir -p build/fuzz/bin build/fuzz/corpus llvm
: > llvm/clang++
cat > build/fuzz/bin/fuzz <<'EOF'
#!/bin/sh
case $1 in
  list) echo "point 64 point.cc" ;;
  unpack) mkdir "$3" ;;
  run) if [ "$3" != -runs=0 ]; then
         printf 'stat::number_of_executed_units: 60000\nstat::average_exec_per_sec: %s\n' "$SPEED"
         exit "$STATUS"
       fi ;;
esac
EOF
printf '#!/bin/sh\n' > llvm/llvm-profdata
# One function of ten lines, and one that is not entered.
printf '#!/bin/sh\necho "decode 5 0 0 10 $MISSED 0"\necho "encode 5 5 0 10 10 0"\n' > llvm/llvm-cov
chmod +x build/fuzz/bin/fuzz llvm/*
PATH=$room/llvm:$PATH

# expect STATUS RESULT SPEED MISSED CRASH [OPTION]: the status of the run, and the last column of its table.
expect() {
  wanted=$1 result=$2
  export SPEED="$3" MISSED="$4" STATUS="$5"
  shift 5
  status=0
  "$run" --seconds 1 "$@" > table 2> errors || status=$?
  if [ "$status" != "$wanted" ] || ! grep -q "^point .*[%?]  $result\$" table; then
    echo "speed $SPEED, $MISSED of 10 lines missed, status $STATUS, $*: status $status of run.sh, expected $wanted, $result" >&2
    cat table errors >&2
    exit 1
  fi
}

expect 0 ok 1000 1 0
expect 0 ok 1000 1 0 --strict
expect 0 slow 999 1 0
expect 1 slow 999 1 0 --strict
expect 0 'few lines' 1000 2 0
expect 1 'few lines' 1000 2 0 --strict
expect 1 'slow, few lines' '' 10 0 --strict
expect 1 failed 1000 1 1
grep -q '^wanted: 1000 executions per second, 90 % of lines$' table
