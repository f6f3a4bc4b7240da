#!/bin/bash
# Checks that every public function is called in an example, the command, a benchmark or a test: the tests of
# misuse, which call all of them, do not count. Usage: tools/check_callers.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
calls=$(grep -rhoE '\begraph_[a-z0-9_]+ ?\(' examples tools bench tests --include='*.c' --include='*.h' --include='*.inc' \
  --exclude=test_api_misuse.c | tr -d ' (' | sort -u)
declared=$(cat include/*.h | tr '\n' ' ' | grep -oE 'EGRAPH_API[^;{]*\(' | grep -oE 'egraph_[a-z0-9_]+\(' | tr -d '(' | sort -u)
missing=$(comm -23 <(echo "$declared") <(echo "$calls"))
if [ -n "$missing" ]; then
  echo "public functions that no example, tool or test calls:"
  echo "$missing"
  exit 1
fi
echo "check_callers: $(wc -l <<<"$declared") public functions, each with a caller"
