# Help of every command, its manual page, and the completion of shells.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

expect 0 '^egraph [0-9]+\.[0-9]+\.[0-9]+$' - -V
expect 0 '^usage: egraph COMMAND' - help
sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p' stdout >commands
[ "$(wc -l <commands)" -eq 21 ] || fail "21 commands are listed: $(cat commands)"

# Lines of 90 columns; -h, --help and help say the same; a page without complaints.
check_page() { # COMMAND...
  expect 0 '^\.SH SYNOPSIS' - help --man "$@"
  if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning stdout | grep -v 'missing date' >complaints
    [ ! -s complaints ] || fail "mandoc: $(head -n 3 complaints)"
  fi
  if command -v man >/dev/null && command -v groff >/dev/null; then
    man --warnings -E UTF-8 -l -Tutf8 -Z stdout 2>complaints >/dev/null
    [ ! -s complaints ] || fail "man: $(head -n 3 complaints)"
  fi
}
while read -r command; do
  expect 0 "^usage: egraph $command" - $command --help
  awk 'length > 90' stdout >long
  [ ! -s long ] || fail "lines of more than 90 columns: $(head -n 2 long)"
  cp stdout text
  expect 0 '' - $command -h
  same stdout text
  expect 0 '' - help $command
  same stdout text
  grep -oE '^  --?[a-z0-9-]+' text | tr -d ' ' | sort >flags
  check_page $command
  sed -nE 's/^\\fB(.*)\\fR.*/\1/p' stdout | tr -d '\\' | sort >others
  same flags others
done <commands
check_page
expect 0 '^  bench extract ' - bench -h
if grep -q '^  plan' stdout; then fail 'the help of bench lists other commands'; fi

# Headings, defaults, and the machines that are shipped.
expect 0 '^Constraints of a plan$' - plan --help
matches stdout '^  --node-limit X .*$'
matches stdout '\(default 12\)'
matches stdout 'dgx-h100 is 8 nodes, 64 devices'
tr -s '\n ' ' ' <stdout >flat
for file in "$SOURCE"/machines/*.machine; do
  name=$(basename "$file" .machine)
  grep -q " $name,.*or a file" flat || fail "the help of --machine lacks $name"
done

# Close words.
expect 2 - "unknown command 'plam'; did you mean 'plan'\?$" plam
expect 2 - "unknown command 'bench saturat'; did you mean 'bench saturate'\?$" bench saturat
expect 2 - "unknown command 'plam'; did you mean" help plam
expect 2 - "^egraph: unknown command 'machine -o'" help -- machine -o
expect 2 - "^egraph: unknown command 'machine -o'" help --man -- machine -o
expect 2 - "unknown command 'bench saturat'; did you mean 'bench saturate'\?$" help bench saturat
absent --help
expect 2 - "unknown option '--machin'; did you mean '--machine'\?$" plan m.onnx --machin dgx-h100
expect 2 - "unknown option '--itertion-limit=3'; did you mean '--iteration-limit'\?$" optimize --itertion-limit=3
expect 2 - "not 'adamm'; did you mean 'adam'\?$" plan m.onnx --train adamm
expect 2 - "not 'quick'; see egraph optimize --help$" optimize m.onnx --math quick
expect 2 - '--completion is one of bash\|zsh' help --completion fish

# Completion.
expect 0 '^#compdef egraph$' - help --completion zsh
if command -v zsh >/dev/null; then zsh -n stdout || fail 'zsh does not read it'; fi
expect 0 '^complete ' - help --completion bash
cp stdout completion
complete_word() { # WANTED-REGEX WORDS...: the last word is completed
  wanted=$1 last="complete: $*" cases=$((cases + 1))
  shift
  bash -c 'source ./completion; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _egraph; echo "${COMPREPLY[*]}"' \
    complete "$@" >stdout 2>stderr
  matches stdout "$wanted"
  [ ! -s stderr ] || fail 'complaints'
}
if command -v bash >/dev/null; then
  sed -i 's/^complete -o/: complete -o/' completion # of an interactive shell
  complete_word '^plan$' egraph pl
  complete_word '^extract saturate compare$' egraph bench ''
  complete_word '^saturate$' egraph bench s
  complete_word '^--machine$' egraph plan m.onnx --machi
  complete_word '^adam adamw$' egraph plan m.onnx --train ad
  complete_word '^--repeat$' egraph bench saturate ac7 --rep
  complete_word '^$' egraph plan m
  complete_word '^dgx-a100 dgx-h100 dgx-h200$' egraph plan m.onnx --machine dgx
  complete_word '^mean-squared-error$' egraph run m.onnx --loss mean
  complete_word '^zero-1 zero-2 zero-3$' egraph plan m.onnx --baseline zero
  complete_word '^alpa-intra alpa-stages$' egraph plan m.onnx --search alpa
  complete_word '^egraph egraph-overlap exhaustive$' egraph bench compare --search e
  complete_word '^mlp moe$' egraph bench compare --models m
  complete_word '^cpu cuda$' egraph optimize m.onnx --backend c
  complete_word '^plan profile$' egraph help p
  complete_word '^--man$' egraph help --m
  for file in "$SOURCE"/machines/*.machine; do
    complete_word "^$(basename "$file" .machine)\$" egraph plan m.onnx --machine "$(basename "$file" .machine)"
  done
  for file in "$SOURCE"/rewrites/rules/explore-*.rules; do
    complete_word "^$(basename "$file" .rules)\$" egraph plan m.onnx --enable "$(basename "$file" .rules)"
  done
fi
finish
