#!/bin/bash
# Installs the build into an empty prefix, moves it, and builds and runs a program against it:
# through pkg-config (shared and static) and through find_package. Then checks what the shared
# library exports. Usage: check_install.sh BUILD-FOLDER C-COMPILER
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(cd "$1" && pwd)
compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/first" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
mv "$scratch/first" "$scratch/prefix" # nothing may depend on where it was installed
prefix=$scratch/prefix
pc=$(find "$prefix" -name egraph.pc)
libraries=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*} LD_LIBRARY_PATH=$libraries
version=$(pkg-config --modversion egraph)

expect() { # expect PROGRAM...: runs it and compares its output
  local output
  output=$("$@")
  [ "$output" = "egraph $version: 1 node" ] || { echo "unexpected output: $output"; exit 1; }
}

# The flags are meant to be split into words.
# shellcheck disable=SC2046
"$compiler" -std=c17 -Wall -Wextra -Wpedantic -Werror "$here/consumer.c" -o "$scratch/shared" \
  $(pkg-config --cflags --libs egraph)
expect "$scratch/shared"
mkdir "$scratch/static-only"
cp "$libraries"/libegraph.a "$scratch/static-only"
# shellcheck disable=SC2046
"$compiler" -std=c17 "$here/consumer.c" -o "$scratch/static" -L"$scratch/static-only" \
  $(pkg-config --cflags egraph) $(pkg-config --libs --static egraph | sed "s#-L[^ ]*##")
LD_LIBRARY_PATH="" expect "$scratch/static"

cmake -S "$here" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" \
  >"$scratch/log" && cmake --build "$scratch/build" >>"$scratch/log" || { cat "$scratch/log"; exit 1; }
expect "$scratch/build/consumer_egraph"
LD_LIBRARY_PATH="" expect "$scratch/build/consumer_static"

# The program of the README, and the function of docs/terms.md.
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$here/../../README.md" "$here/../../docs/terms.md" >"$scratch/readme.c"
# shellcheck disable=SC2046
"$compiler" -std=c17 -Wall -Wextra -Wpedantic -Werror "$scratch/readme.c" -o "$scratch/readme" \
  $(pkg-config --cflags --libs egraph)

# Manual pages and completion are as the command prints them.
for file in man/man1/egraph.1 man/man1/egraph-bench-saturate.1 bash-completion/completions/egraph zsh/site-functions/_egraph; do
  [ -s "$prefix/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
done
"$prefix/bin/egraph" help --man plan | cmp - "$prefix/share/man/man1/egraph-plan.1"

[ "$("$prefix/bin/egraph" --version)" = "egraph $version" ] || { echo "egraph --version"; exit 1; }

# The channel between processes is a plugin: neither the library nor the command needs MPI. The command, called
# by its name only, and a program that uses the library find the plugin where it is installed; without it they
# name the file, the folder and the remedy.
for file in "$libraries/libegraph.so" "$prefix/bin/egraph"; do
  if ldd "$file" | grep -E 'libmpi|libopen-(rte|pal)|hwloc'; then
    echo "$file needs MPI"
    exit 1
  fi
done
printf '(egraph-graph 1)\n(input x "float32[16,8]")\n(let y (relu x))\n(output y)\n' >"$scratch/relu.egraph"
export PATH=$prefix/bin:$PATH XDG_CACHE_HOME=$scratch
egraph plan "$scratch/relu.egraph" --machine 'host*2' -o "$scratch/plan.json" >"$scratch/log"
expect_failure() { # expect_failure REGEX: of the rank of a plan, run by the command and by the program
  egraph run "$scratch/plan.json" --channel mpi >"$scratch/log" 2>&1 && { echo "one process ran a plan of two"; exit 1; }
  "$scratch/shared" "$scratch/plan.json" >>"$scratch/log" 2>&1 && { echo "one process ran a plan of two"; exit 1; }
  [ "$(grep -cE "$1" "$scratch/log")" -eq 2 ] || { echo "not twice '$1':"; cat "$scratch/log"; exit 1; }
}
plugin=$libraries/libegraph_mpi.so channel="without MPI"
if [ -e "$plugin" ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  expect_failure 'mpirun started 1 processes; use mpirun -n 2'
  rm "$plugin"
  channel="with MPI"
fi
expect_failure "channel 'mpi': its plugin .*libegraph_mpi\.so.*$prefix/.*MPI .*beside"

# Programs ask for what the package promises: 0.2 as long as minor versions may break them.
soname=$(objdump -p "$libraries/libegraph.so" | awk '$1 == "SONAME" { print $2 }')
major=${version%%.*}
case $major in 0) promised=${version%.*} ;; *) promised=$major ;; esac
[ "$soname" = "libegraph.so.$promised" ] || { echo "SONAME $soname, not libegraph.so.$promised"; exit 1; }

# What public headers cite is installed: headers, and files of documentation.
sed -nE 's@^[[:space:]]*//+(.*)@\1@p; s@.*;[[:space:]]*//+(.*)@\1@p' "$prefix"/include/egraph/*.h |
  grep -oE '[A-Za-z_-]+(/[A-Za-z_-]+)*\.(h|c|md|def|json)\b' | sort -u | while IFS= read -r cited; do
  [ -e "$prefix/include/egraph/$cited" ] || [ -e "$prefix/share/doc/egraph/$cited" ] ||
    [ -e "$prefix/share/egraph/$cited" ] || echo "$cited"
done >"$scratch/cited"
if [ -s "$scratch/cited" ]; then
  echo "public headers cite files that are not installed:"
  cat "$scratch/cited"
  exit 1
fi

# The shared library exports what the public headers declare, all of it and nothing else.
nm -D --defined-only "$libraries/libegraph.so" | awk '{ print $3 }' | sort >"$scratch/exported"
cat "$prefix"/include/egraph/*.h | tr "\n" " " | grep -oE 'EGRAPH_API[^;]*\(' |
  grep -oE 'egraph_[a-z0-9_]+\(' | tr -d ' (' | sort -u >"$scratch/declared"
if ! diff "$scratch/declared" "$scratch/exported"; then
  echo "declared (<) and exported (>) functions differ"
  exit 1
fi
echo "installed package works, $channel; $(wc -l <"$scratch/exported") functions exported"
