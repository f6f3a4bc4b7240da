#!/bin/bash
# Checks that every public function has a caller among the examples, the command, the benchmarks and the functions that
# the headers define; one that is passed on counts as called. Tests do not count: a function that only they call has no user. Usage: tools/check_callers.sh
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
calls=$( (grep -rhoE '\begraph_[a-z0-9_]+ ?[(,)]' examples tools bench --include='*.c' --include='*.h'
  grep -hoE '^    egraph_[a-z0-9_]+\(' include/*.h) | tr -d ' (,)' | sort -u)
declared=$(cat include/*.h | tr '\n' ' ' | grep -oE 'EGRAPH_API[^;{]*\(' | grep -oE 'egraph_[a-z0-9_]+\(' | tr -d '(' | sort -u)
missing=$(comm -23 <(echo "$declared") <(echo "$calls"))
if [ -n "$missing" ]; then
  echo "public functions that no example, command or benchmark calls:"
  echo "$missing"
  exit 1
fi
echo "check_callers: $(wc -l <<<"$declared") public functions, each with a caller"
