#!/bin/sh
# verdict.sh <results>: counts the results that the suites of `./dev chaos` left there, and ends with the line
# `chaos: N passed, N failed, N skipped`. Fails if a test failed, a listed test has no end, or too few passed. Every
# suite lists the tests of all suites, so a suite that did not run is noticed.
set -eu
exec awk '
  $1 == "test" && $0 " " ~ / chaos / { listed[$2]; if ($0 " " ~ / privileged /) privileged[$2] }
  $1 == "passed" || $1 == "failed" || $1 == "skipped" { end[$2] = $1 }
  $1 == "skipped" && $2 in listed { reason = $0; sub(/^skipped [^ ]+ ?/, "", reason); print "chaos: " $2 " skipped: " reason }
  END {
    for (test in listed) {
      if (end[test] == "passed") { ++passed; plain += !(test in privileged) }
      else if (end[test] == "skipped") ++skipped
      else { ++failed; print "chaos: " test (end[test] == "failed" ? " failed" : " has no end") }
    }
    if (passed < 25) print "chaos: at least 25 tests must pass"
    if (plain < 15) print "chaos: at least 15 tests that need no privilege must pass"
    printf "chaos: %d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed < 25 || plain < 15
  }' "$1"/*
