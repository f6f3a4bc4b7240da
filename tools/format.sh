#!/bin/bash
# Formats all own C files in place; with --check only reports those that would change. Operator
# and option tables (.def) are aligned by hand.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
formatter=${CLANG_FORMAT:-clang-format}
if ! command -v "$formatter" >/dev/null; then
  echo "format: clang-format is not installed; apt-get install clang-format" >&2
  exit 77 # skipped, when run as a test
fi
mapfile -t files < <(git ls-files -co --exclude-standard '*.c' '*.h' 2>/dev/null |
  grep -v '^third_party/' || true)
if [ ${#files[@]} -eq 0 ]; then # not a git checkout
  mapfile -t files < <(find . -path ./build -prune -o -path ./third_party -prune -o \
    \( -name '*.c' -o -name '*.h' \) -print)
fi
if [ "${1:-}" = --check ]; then
  "$formatter" --dry-run -Werror "${files[@]}"
else
  # The line that names the licence stands alone, also where a comment was reflowed around it.
  perl -0pi -e 's{^(//[^\n]*\S) SPDX-License-Identifier:(?: |\n// )Apache-2\.0[ \t]*$}{$1\n// SPDX-License-Identifier: Apache-2.0}m' "${files[@]}"
  "$formatter" -i "${files[@]}"
fi
