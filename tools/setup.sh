#!/bin/bash
# Checks that the Debian packages the build needs are installed, and installs the missing ones
# with apt when that is allowed (root, or sudo without a password). Otherwise it prints the
# command to run by hand and fails. Usage: tools/setup.sh [MORE-PACKAGES...]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

packages=(build-essential cmake ninja-build pkg-config libglpk-dev libcmocka-dev libsqlite3-dev
  libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libdnnl-dev zlib1g-dev
  uthash-dev libopenmpi-dev openmpi-bin "$@")

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; install the equivalents of: ${packages[*]}" >&2
  exit 0 # CMake names whatever is missing
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  else
    echo "setup: missing packages, and no right to install them. Run by hand:" >&2
    echo "  sudo apt-get update" >&2
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
fi

echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install() {
  "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The package lists may be absent or out of date: bring them up to date once, then try again.
if ! install >"$log" 2>&1 &&
  ! { "${as_root[@]}" apt-get update -q && install; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "setup: apt could not install the packages; its last lines stand above. Run by hand:" >&2
  echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "setup: done"
