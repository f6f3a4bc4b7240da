#!/bin/bash
# Compiles every header alone: as C17, the public one also as C++. A header must bring along what
# it needs. Usage: check_headers.sh C-COMPILER C++-COMPILER-or-"" GENERATED-FOLDER
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
compiler=${1:-cc} cxx=${2:-} generated=${3:-build/release}
cd "$(dirname "$0")/.."
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0 count=0
while IFS= read -r header; do
  case $header in exec/cuda/* | exec/mpi/* | exec/nccl/* | tests/gpu/*) continue ;; esac
  # Twice, so that a missing include guard shows.
  printf '#include "%s"\n#include "%s"\ntypedef int not_empty;\n' "$header" "$header" >"$scratch/alone.c"
  "$compiler" -std=c17 "${warnings[@]}" -Wstrict-prototypes -Wno-unused-function -fsyntax-only -I. \
    -I"$generated" "$scratch/alone.c" || { echo "$header does not compile alone"; bad=$((bad + 1)); }
  count=$((count + 1))
done < <(find include base egraph ops pcg rewrites sim exec extract optimize api tools tests -name '*.h' | sort)
if [ -n "$cxx" ]; then
  printf '#include <egraph.h>\nint main() { return egraph_version() == nullptr; }\n' >"$scratch/alone.cpp"
  "$cxx" -std=c++17 "${warnings[@]}" -fsyntax-only -Iinclude "$scratch/alone.cpp" ||
    { echo "include/egraph.h is not valid C++"; bad=$((bad + 1)); }
fi
# Every public function that takes a pointer is among the tests of misuse.
declarations=$(sed ':all;N;$!b all;s/\n */ /g' include/*.h | grep -oE 'EGRAPH_API [^;]*;' | grep '\*')
while IFS= read -r function; do
  grep -q "\b$function\b" tests/unit/test_api_misuse.c ||
    { echo "tests/unit/test_api_misuse.c lacks $function"; bad=$((bad + 1)); }
done < <(sed -nE 's/^EGRAPH_API (EGRAPH_NODISCARD )?[^(]*[ *](egraph_[a-z0-9_]+) ?\(.*\*.*/\2/p' <<<"$declarations" | sort -u)
echo "$count headers, $bad bad"
[ "$bad" -eq 0 ]
