#!/bin/bash
# A header must bring along what it needs, and has a guard. One that is the first include of a C file
# is compiled so by the build; every other one is compiled alone here, as C17, the public one also as
# C++. Usage: check_headers.sh C-COMPILER C++-COMPILER-or-"" GENERATED-FOLDER
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
compiler=${1:-cc} cxx=${2:-} generated=${3:-build/release}
cd "$(dirname "$0")/.."
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0 count=0
folders=(include base egraph ops pcg onnx rewrites sim exec extract optimize baselines api tools tests)
skipped='^(exec/(cuda|mpi|nccl)|tests/gpu)/' # need what may be absent
find "${folders[@]}" -name '*.c' | grep -vE "$skipped" | xargs awk '
  FNR == 1 { is_over = 0 }
  !is_over && /^#/ {
    is_over = 1
    if ($1 == "#include" && $2 ~ /^"/) { gsub(/"/, "", $2); print $2 }
  }' | sort -u >"$scratch/first"
find "${folders[@]}" -name '*.h' | grep -vE "$skipped" | sort >"$scratch/headers"
while IFS= read -r unguarded; do
  echo "$unguarded has no include guard"
  bad=$((bad + 1))
done < <(xargs awk '
  FNR == 1 { lines = 0 }
  /^#include "egraph.h"/ { next } # which includes its parts
  /^#/ && ++lines == 1 { name = $2; if ($1 != "#ifndef") print FILENAME }
  /^#/ && lines == 2 && ++lines && ($1 != "#define" || $2 != name) { print FILENAME }' <"$scratch/headers")
while IFS= read -r header; do
  printf '#include "%s"\ntypedef int not_empty;\n' "$header" >"$scratch/alone.c"
  "$compiler" -std=c17 "${warnings[@]}" -Wstrict-prototypes -Wno-unused-function -fsyntax-only -I. \
    -I"$generated" "$scratch/alone.c" || { echo "$header does not compile alone"; bad=$((bad + 1)); }
done < <(comm -23 "$scratch/headers" "$scratch/first")
count=$(wc -l <"$scratch/headers")
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
