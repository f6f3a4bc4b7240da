#!/bin/bash
# Checks that the packages the build needs are installed, and installs the missing ones with apt when that is
# allowed (root, or sudo without a password). Otherwise it prints the command to run by hand and fails. On a
# system that it does not know it names the libraries and the commands to try, and leaves the rest to CMake.
# Usage: tools/setup.sh [MORE-PACKAGES...]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

# The names are the same on all systems that are known: Debian 12 (oneDNN 2.6, Open MPI 4.1), Debian 13
# (oneDNN 3.7, Open MPI 5.0) and Ubuntu 24.04 (oneDNN 3.1, Open MPI 4.1; component universe).
packages=(build-essential cmake ninja-build pkgconf libglpk-dev libcmocka-dev libsqlite3-dev
  libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libdnnl-dev zlib1g-dev
  uthash-dev libopenmpi-dev openmpi-bin "$@")

system=$( ([ -r /etc/os-release ] && . /etc/os-release && echo "${ID:-?} ${VERSION_ID:-?}") || uname -sr)
case $system in
  "debian 12" | "debian 13" | "ubuntu 24.04") ;;
  *)
    cat >&2 <<END
setup: '$system' is not one of the systems this script knows (Debian 12 and 13, Ubuntu 24.04).
Needed: a C17 compiler, CMake 3.24, Ninja, pkg-config; the libraries GLPK, oneDNN (2.6 to 3.x, on GNU's OpenMP),
SQLite, protobuf-c with protoc-c, zlib, uthash; cmocka for the tests; MPI for ranks in processes.
Try one of these; the names are other systems' and may differ here:
  apt-get install ${packages[*]}
  dnf install gcc cmake ninja-build pkgconf glpk-devel onednn-devel sqlite-devel protobuf-c-devel protobuf-c-compiler
    zlib-devel uthash-devel libcmocka-devel openmpi-devel
  pacman -S base-devel cmake ninja glpk onednn sqlite protobuf-c zlib uthash cmocka openmpi
END
    exit 0 # CMake names whatever is missing
    ;;
esac

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
