#!/bin/bash
# Checks by symbols that what optimizing links needs nothing of the rule laboratory.
# Usage: tools/check_links.sh BUILD_FOLDER
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "${1:?the build folder}"
command -v nm >/dev/null || { echo "check_links: skipped, nm is not there"; exit 77; }
laboratory=libeg_rewrites_lab.a
made=$(nm --defined-only -g "$laboratory" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
bad=0
for library in libeg_*.a; do
  [ "$library" = "$laboratory" ] || [ "$library" = libeg_api.a ] && continue
  wanted=$(nm -u "$library" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u)
  found=$(comm -12 <(echo "$made") <(echo "$wanted"))
  [ -z "$found" ] && continue
  echo "$library needs of the rule laboratory:" $found
  bad=1
done
[ "$bad" -eq 0 ] || exit 1
echo "check_links: $(wc -l <<<"$made") symbols of the rule laboratory, which api alone needs"
