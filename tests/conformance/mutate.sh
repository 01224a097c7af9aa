#!/bin/sh
# Breaks rules on purpose, to check that the tests of their rows fail. Each fault point (`faults`) changes one line of the
# tree. It is applied alone, in a copy under build/mutate, and the tests of its row must fail then.
#   mutate.sh [seed]               draws 20 fault points; equal seeds draw the same ones
#   mutate.sh --rows "I-01 R-02"   tries the fault points of these rows
#   mutate.sh --check              applies each without a build: every line must exist once, every row be claimed
set -eu
cd "$(dirname "$0")/../.."
faults=tests/conformance/faults
tree=build/mutate/tree
build=build/mutate/build
count=20

# One line per fault point: number, row, suite, file.
list() { awk '/^[A-Z]-[0-9]/ { print ++n, $1, $2, $3 }' "$faults"; }

# apply <number> <file>: prints the file with the fault point in it; fails unless its line is there exactly once.
apply() {
  awk -v number="$1" '
    NR == FNR { n += /^[A-Z]-[0-9]/ }
    NR == FNR && n == number && /^- / { old = substr($0, 3) }
    NR == FNR && n == number && /^[+] / { new = substr($0, 3) }
    NR == FNR { next }
    { line = $0; sub(/^ +/, "", line) }
    line == old { ++found; $0 = substr($0, 1, length($0) - length(line)) new }
    { print }
    END { exit found != 1 }' "$faults" "$2"
}

check() {
  status=0
  complain() { echo "$faults: $*" >&2; status=1; }
  while read -r number row suite file; do
    apply "$number" "$file" >/dev/null || complain "$row: not exactly one such line in $file"
    grep -q "^$row\$" tests/conformance/claimed || complain "$row is not claimed"
  done <<END_OF_LIST
$(list)
END_OF_LIST
  twice=$(list | cut -d' ' -f2 | sort | uniq -d | xargs)
  [ -z "$twice" ] || complain "more than one fault point: $twice"
  return "$status"
}

# Copies the present tree with untracked files. Unchanged files keep their modification time, so little is rebuilt.
copy_tree() {
  git ls-files --cached --others --exclude-standard | while read -r file; do
    [ -f "$file" ] || continue
    mkdir -p "$tree/$(dirname "$file")"
    cmp -s "$file" "$tree/$file" || cat "$file" >"$tree/$file"
  done
}

build_suite() { nice cmake --build "$build" --parallel "$(nproc)" --target "$1_test" >"$build/log" 2>&1; }

# run_row <row> <suite>: runs the row's tests of that suite, all nodes in one process. A hanging test counts as failed.
run_row() { timeout 60 "$(find "$build/tests" -name "$2_test" -type f)" --run_test="@$1" --report_level=no >"$build/log" 2>&1; }

# Prints the verdict on one fault point.
try() {
  build_suite "$3" || { echo "BROKEN: does not build without the fault, see $build/log"; return; }
  run_row "$2" "$3" || { echo "BROKEN: red without the fault"; return; }
  apply "$1" "$tree/$4" >"$build/mutant" || { echo "BROKEN: not exactly one such line"; return; }
  cp "$tree/$4" "$build/original"
  cat "$build/mutant" >"$tree/$4"
  if ! build_suite "$3"; then echo "BROKEN: does not build, see $build/log"
  elif run_row "$2" "$3"; then echo "STILL GREEN"
  else echo red
  fi
  cat "$build/original" >"$tree/$4"
}

# Prints lines of `list`, drawn by the seed.
draw() {
  # Numbers of Park and Miller: the same for every awk.
  list | awk -v x=$(($1 % 2147483646 + 1)) '{ x = x * 16807 % 2147483647; print x, $0 }' | sort -n | head -n "$count" |
    cut -d' ' -f2-
}

# Lines of `list` for the rows that are named.
named() {
  for row in $1; do
    list | grep " $row " || { echo "$faults: no fault point for $row" >&2; return 2; }
  done
}

# mutate <"draw" or "named"> <seed or rows>
mutate() {
  check
  copy_tree
  faults=$tree/$faults  # as it is now, whoever edits the other meanwhile
  points=$("$1" "$2")
  cmake --preset dev -S "$tree" -B "$build" --log-level=ERROR >/dev/null
  red=0 others=0
  while read -r number row suite file; do
    verdict=$(try "$number" "$row" "$suite" "$file")
    printf '%-5s %-12s %-34s %s\n' "$row" "$suite" "$file" "$verdict"
    if [ "$verdict" = red ]; then red=$((red + 1)); else others=$((others + 1)); fi
  done <<END_OF_LIST
$points
END_OF_LIST
  echo "mutate: $1 $2, $((red + others)) rules broken, $red rows red, $others not"
  [ "$others" = 0 ]
}

case ${1:-} in
  --check) check ;;
  --rows) mutate named "${2:?name rows}" ;;
  *[!0-9]*) echo "mutate: the seed is a number, not $1" >&2; exit 2 ;;
  *) mutate draw "${1:-$(date +%s)}" ;;
esac
