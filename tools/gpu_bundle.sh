#!/bin/bash
# Packs the command, the plugins and the tests of label gpu from a build folder into one archive that runs
# on a machine with a GPU: gpu_bundle.sh BUILD-FOLDER OUT.txz. There: unpack, and egraph-gpu/run.sh (gpu_check.sh)
# Libraries that are not part of every system come along; those of CUDA are expected on the target, or in
# the folders that LD_LIBRARY_PATH names.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
if [ $# -ne 2 ]; then
  echo "gpu_bundle: give the build folder and the archive to write" >&2
  exit 2
fi
build=$1 archive=$2
command -v patchelf >/dev/null || { echo "gpu_bundle: apt-get install patchelf" >&2; exit 1; }
plugins=(libegraph_cuda.so)
[ -e "$build/libegraph_nccl.so" ] && plugins+=(libegraph_nccl.so)
tests=(test_backend_conformance test_device_channel test_ranks_graphs gpu/test_device_attention gpu/test_device_bodies
       gpu/test_device_rows gpu/test_device_training)
for file in "${plugins[@]}" tools/egraph "${tests[@]/#/tests/}"; do
  [ -e "$build/$file" ] || { echo "gpu_bundle: $build/$file is missing; build it where nvcc is found" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/egraph-gpu
mkdir -p "$top/bin" "$top/lib"
cp "$build/tools/egraph" "${tests[@]/#/$build/tests/}" "$top/bin/"
cp "${plugins[@]/#/$build/}" "$top/lib/"

system='^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)[.-]'
vendor='^lib(cuda|cudart|cublas|cublasLt|cudnn|nccl|nvrtc)[._]'
todo=("$top"/bin/* "$top"/lib/*)
while [ ${#todo[@]} -gt 0 ]; do
  found=()
  for file in "${todo[@]}"; do
    while read -r name path; do
      [[ $name =~ $system || $name =~ $vendor || -e $top/lib/$name ]] && continue
      cp -L "$path" "$top/lib/$name"
      found+=("$top/lib/$name")
    done < <(ldd "$file" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }')
  done
  todo=("${found[@]}")
done
strip --strip-unneeded "$top"/bin/* "$top"/lib/*
for file in "$top"/lib/*; do patchelf --set-rpath '$ORIGIN' "$file"; done
for file in "$top"/bin/*; do patchelf --set-rpath '$ORIGIN/../lib' "$file"; done

cp "$(dirname "$0")/gpu_check.sh" "$top/run.sh"
XZ_OPT="-1 -T0" tar -C "$work" -cJf "$archive" egraph-gpu
bytes=$(stat -c %s "$archive")
echo "$archive: $((bytes / 1024)) KiB"
if [ "$bytes" -gt $((20 << 20)) ]; then
  echo "gpu_bundle: more than 20 MiB" >&2
  exit 1
fi
