#!/bin/sh
# Prints the Debian packages whose libraries PROGRAM... load: packages_of.sh PROGRAM...
set -eu
ldd "$@" | awk '$2 == "=>" { print $3 }' | sort -u | while read -r library; do
  file=$(readlink -f "$library")
  for name in "$file" "${file#/usr}"; do
    dpkg-query -S "$name" 2>/dev/null | cut -d: -f1
  done | head -n 1
done | sort -u
