#!/bin/bash
# Runs the suite in an instrumented build and prints line coverage by module. Needs gcovr.
# Usage: coverage.sh [CTEST-ARGUMENTS...]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v gcovr >/dev/null; then
  echo "coverage: gcovr is not installed; apt-get install gcovr" >&2
  exit 1
fi
jobs=$(nproc)
cmake --preset coverage --log-level=WARNING
cmake --build --preset coverage -j "$jobs"
find build/coverage -name '*.gcda' -delete
failed=0
ctest --preset coverage -j "$jobs" --output-on-failure "$@" || failed=1
gcovr -r . build/coverage -j "$jobs" --exclude-unreachable-branches --csv build/coverage/lines.csv \
  -e 'tests/' -e 'build/' -e 'examples/' -e 'bench/' -e 'third_party/' >/dev/null
awk -F, 'NR > 1 {
    module = $1; sub(/\/.*/, "", module)
    lines[module] += $2; covered[module] += $3
    if (module != "tools") { all += $2; all_covered += $3 }
  }
  END {
    printf "%-10s %8s %8s %7s\n", "module", "lines", "covered", "part"
    for (module in lines)
      printf "%-10s %8d %8d %6.1f%%\n", module, lines[module], covered[module], 100 * covered[module] / lines[module] | "sort"
    close("sort")
    printf "%-10s %8d %8d %6.1f%%\n", "library", all, all_covered, 100 * all_covered / all
  }' build/coverage/lines.csv
exit $failed
