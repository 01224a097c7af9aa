#!/bin/sh
# Builds CAF's core under ThreadSanitizer from Debian's source package, once, into build/tsan-caf: without it every message
# that an actor of the packaged CAF receives looks like a race.
set -eu
cd "$(dirname "$0")/.."
prefix=$PWD/build/tsan-caf
[ ! -f "$prefix/lib/libcaf_core.a" ] || exit 0
work=$PWD/build/tsan-caf-work
rm -rf "$work"
mkdir -p "$work/lists/partial"
cd "$work"
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb-src [signed-by=$keys] http://deb.debian.org/debian $release main" >sources
# Lists of our own: the machine's stay as they are.
apt() { apt-get -qq -o Dir::Etc::SourceList="$work/sources" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" "$@"; }
apt update
apt source --tar-only actor-framework
tar xf actor-framework_*.orig.tar.gz
cmake -S actor-framework-* -B build -G Ninja -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS="-O1 -g1 -fsanitize=thread -w" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="${TROUPE_COMPILER_LAUNCHER:-}" -DCMAKE_INSTALL_PREFIX="$prefix" -DCAF_BUILD_STATIC_ONLY=yes \
  -DCAF_NO_MEM_MANAGEMENT=yes -DCAF_NO_IO=yes -DCAF_NO_TOOLS=yes -DCAF_NO_EXAMPLES=yes -DCAF_NO_UNIT_TESTS=yes \
  -DCAF_NO_OPENSSL=yes -DCAF_NO_OPENCL=yes -DCAF_NO_PYTHON=yes -DCAF_NO_COMPILER_CHECK=yes -DCAF_NO_SUMMARY=yes
cmake --build build --parallel "$(nproc)"
cmake --install build
cp "$prefix/lib/libcaf_core_static.a" "$prefix/lib/libcaf_core.a"
