#!/bin/bash
# Builds the fuzz targets with libFuzzer and runs each for some seconds on its corpus. What it finds
# lands in build/fuzz/found/. Usage: fuzz.sh [SECONDS-PER-TARGET] [TARGETS...]; FUZZ_RUNS=N: at most so many
# inputs of each, the same in every run.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
if ! command -v clang >/dev/null; then
  echo "fuzz: clang is not installed; apt-get install clang libclang-rt-14-dev" >&2
  exit 1
fi
cmake --preset fuzz --log-level=WARNING
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in tests/fuzz/fuzz_*.c; do targets+=("$(basename "$source" .c)"); done
fi
cmake --build --preset fuzz --target "${targets[@]}"
fuzz() { # fuzz TARGET: what it prints comes in one piece
  local target=$1 stem=${1#fuzz_} options=() dictionary seeds log status=0
  mkdir -p "build/fuzz/found/$stem" "build/fuzz/corpus/$stem"
  seeds=("tests/fuzz/corpus/$stem")
  [ "$stem" = rules ] && seeds+=(rewrites/rules)
  [ "$stem" = optimize ] && seeds+=(tests/fuzz/corpus/onnx)
  dictionary=$stem
  [ "$stem" = symbolic_json ] && dictionary=gym # the same format
  case $stem in plan_*) dictionary=plan ;; esac
  [ -f "tests/fuzz/$dictionary.dict" ] && options+=("-dict=tests/fuzz/$dictionary.dict")
  log=$("build/fuzz/tests/fuzz/$target" -max_total_time="$seconds" ${FUZZ_RUNS:+-runs="$FUZZ_RUNS" -seed=1} \
    -timeout=25 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="build/fuzz/found/$stem/" "${options[@]}" "build/fuzz/corpus/$stem" "${seeds[@]}" 2>&1) || status=1
  printf '== %s, %s seconds\n%s\n' "$target" "$seconds" "$(tail -n 40 <<<"$log")"
  return $status
}
export -f fuzz
export seconds
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I TARGET bash -c 'fuzz TARGET'
