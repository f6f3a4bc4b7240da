#!/bin/bash
# Checks what the compiler does not: no heap, output, exit or environment in the library, bounded
# files and functions, file heads, no leftovers. Prints one line per finding.
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
shopt -s lastpipe # so that report counts in this shell
cd "${1:-$(dirname "$0")/..}"

library=()
for folder in base egraph ops pcg onnx rewrites sim exec extract optimize baselines api; do
  [ -d "$folder" ] && library+=("$folder")
done
own=("${library[@]}" include tools tests examples bench)
findings=0

# report MESSAGE: reads findings from standard input
report() {
  local line
  while IFS= read -r line; do
    echo "$line  <- $1"
    findings=$((findings + 1))
  done
}

sources() { find "$@" -name '*.c' -o -name '*.h'; }

# The text of C files without comments and string literals, as file:line:text.
bare() {
  sources "$@" | sort | xargs awk '
    FNR == 1 { comment = 0 }
    {
      text = $0; out = ""
      while (text != "") {
        if (comment) {
          end = index(text, "*/")
          if (!end) break
          text = substr(text, end + 2); comment = 0; continue
        }
        if (!match(text, /\/\/|\/\*|"(\\.|[^"\\])*"|\047(\\.|[^\047\\])+\047/)) { out = out text; break }
        out = out substr(text, 1, RSTART - 1)
        token = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH)
        if (token == "//") break
        if (token == "/*") comment = 1; else out = out "\"\""
      }
      print FILENAME ":" FNR ":" out
    }'
}

code=$(bare "${library[@]}" include)
grep -vE '^base/' <<<"$code" | grep -E '[^_[:alnum:]>.](malloc|calloc|realloc|free|strdup|alloca)\(' |
  report 'memory comes from an allocator (base/memory.h)'
grep -E '[^_[:alnum:]](printf|puts|putchar|perror|vprintf)\(|[^_[:alnum:]]f(printf|puts)\((stdout|stderr)' <<<"$code" |
  report 'the library never prints'
grep -E '[^_[:alnum:]](exit|_exit|abort|quick_exit|getenv|secure_getenv|setenv|putenv|setlocale|signal|rand|srand)\(' <<<"$code" |
  grep -vE '^exec/cuda/kernel_store\.c:.*getenv' |
  report 'the library never exits, nor touches the environment, locale, signals or rand'
grep -E '[^_[:alnum:]](strtod|strtof|atof|atoi|sprintf|vsprintf|gets|strtok)\(' <<<"$code" | grep -vE '^base/number\.c:' |
  report 'depends on the locale or is unsafe; use base/number.h, base/text.h'
grep -E '[^_[:alnum:]]assert\(.*(\+\+|--|[^=!<>]=[^=])' <<<"$code" | report 'a side effect in an assertion'
grep -E '^[^:]+:[0-9]+:(static |)(double|float|int|bool|size_t|uint[0-9]+_t|char|[a-z_]+) \*?[a-z_]+(\[[^]]*\])?( = .*)?;$' <<<"$code" |
  grep -vE '_Thread_local|typedef|extern|const ' |
  report 'a mutable global'

sources "${own[@]}" | sort | xargs wc -l | awk '$2 != "total" && $1 > 800 { print $2 ":" $1 ": " $1 " lines, at most 800" }' |
  report 'split the file'

# Functions: from a line that ends in `{` at the left margin to the closing brace there.
sources "${own[@]}" | sort | xargs awk '
  FNR == 1 { start = 0 }
  /^[A-Za-z_].*\{$/ && !/^(typedef|struct|enum|union|static const|const|extern)/ { start = FNR; name = $0 }
  /^[A-Za-z_ ].*\) \{$/ { if (!start) { start = FNR; name = $0 } }
  /^    .*\) \{$/ { if (!start && prev ~ /^[A-Za-z_].*[(,]$/) { start = FNR; name = prev } }
  { prev = $0 }
  /^\}/ {
    if (start && FNR - start + 1 > 100) print FILENAME ":" start ": " FNR - start + 1 " lines: " name
    start = 0
  }' | report 'a function has at most 100 lines'

# Public structs of options begin with their size, and are in the list that knows their defaults.
grep -hoE '^\} egraph_([a-z_]+_)?options;' include/*.h | tr -d '};  ' | while IFS= read -r name; do
  grep -hA1 "^typedef struct $name {" include/*.h | grep -q '^  size_t size;' || echo "include: $name begins without size"
  grep -qE "^  X\(EGRAPH_[A-Z_]+, $name\)" include/egraph.h || echo "include: $name is not in EGRAPH_OPTIONS_LIST"
done | report 'options carry their size (egraph.h, options)'

grep -rnE '\b(TODO|FIXME|XXX|HACK)\b' "${own[@]}" --include='*.c' --include='*.h' --include='*.def' --include='*.sh' \
  --include='*.md' --exclude=check_style.sh | report 'finish it or describe the limit'
sources "${own[@]}" | sort | xargs awk '
  FNR == 1 { if (file != "") print file ":1:"; file = FILENAME }
  FNR <= 40 && /SPDX-License-Identifier: Apache-2\.0/ { file = "" }
  END { if (file != "") print file ":1:" }' | report 'the licence line is missing'
grep -rnP '\t' "${own[@]}" --include='*.c' --include='*.h' | report 'a tab'
grep -rnE ' +$' "${own[@]}" --include='*.c' --include='*.h' --include='*.sh' | report 'blanks at the end of a line'
# Machine paths and addresses have no place in the project.
grep -rnE '(^|[^[:alnum:]_.])/(work|home|root|Users)/[[:alnum:]]' . --include='*.c' --include='*.h' --include='*.md' \
  --include='*.sh' --include='*.txt' --include='*.cmake' --include='*.json' --include='*.rules' --include='*.py' \
  --exclude-dir=build --exclude-dir=.git --exclude=check_style.sh | report 'a path of one machine'
for folder in "${library[@]}"; do [ -f "$folder/README.md" ] || echo "$folder:"; done | report 'each module has a README.md'
find "${library[@]}" tools -name README.md | sort | while IFS= read -r readme; do
  words=$(tr -s ' \n|' '\n' <"$readme" | grep -c '[[:alnum:]]')
  [ "$words" -le 400 ] || echo "$readme: $words words"
  awk '/^```/ { code = !code } !code && !/^    / && length > 120 { print FILENAME ":" FNR ": " length " columns" }' "$readme"
done | report 'a README has at most 400 words, in lines of at most 120 columns'

# A file that a document or a comment names exists, under that path or a longer one.
{
  find . -path ./build -prune -o -path ./.git -prune -o -type f -print | sed 's#^\./##'
  echo
  find . -path ./build -prune -o -path ./third_party -prune -o -name '*.md' -print | sort |
    xargs grep -noE '`[A-Za-z0-9][A-Za-z0-9_./-]*\.(c|h|def|cu|table)`' | tr -d '`'
  sources "${own[@]}" | sort | xargs grep -nE '^ *//' |
    awk '{ at = $0; sub(/:[^:]*$/, "", at); rest = $0; split($0, place, ":")
           while (match(rest, /[a-z_0-9]+(\/[a-z_0-9]+)+\.(c|h|def)/)) {
             print place[1] ":" place[2] ":" substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH) } }' |
    awk -F: '$1 != $3'
} | awk -F: '
  !names && $0 == "" { names = 1; next }
  !names { path = $0; known[path]; while (sub(/^[^\/]*\//, "", path)) known[path]; next }
  !($3 in known) && $3 !~ /^(sqlite3|glpk|dnnl|cuda|nccl|mpi|cmocka|egraph)\.h$|^oneapi\// && $1 !~ /CHANGELOG/ { print $1 ":" $2 ": " $3 }' |
  report 'names a file that does not exist'

# A stack trace says what a static function does.
sources "${library[@]}" tools bench | sort | xargs grep -HoE '^static ([a-zA-Z_0-9]+ \**)+[a-z_0-9]+\(' | grep -v ' inline ' |
  sed -E 's/^([^:]*):.*[ *]([a-z_0-9]+)\($/\2 \1/' | sort -u | awk '{ files[$1]++; where[$1] = where[$1] " " $2 }
    END { for (name in files) if (files[name] > 3) print name ":" where[name] }' |
  report 'a static name is shared by at most three files'

if [ "$findings" -ne 0 ]; then
  echo "check_style: $findings findings"
  exit 1
fi
echo "check_style: no findings"
