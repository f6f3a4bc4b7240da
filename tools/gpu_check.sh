#!/bin/bash
# Runs the tests that need a device, from an unpacked bundle (tools/gpu_bundle.sh): gpu_check.sh [FOLDER]
# Exit status 77: skipped, because there is no GPU. Where there is one, a library that is missing, a test
# that skips and a test that fails are failures.
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "${1:-$(dirname "$0")}" || exit 2
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$gpus" -eq 0 ] && [ ! -e /dev/nvidia0 ]; then
  echo "gpu_check: skipped: neither nvidia-smi nor /dev/nvidia0 shows a GPU"
  exit 77
fi
export EGRAPH_CUDA_PLUGIN=$PWD/lib/libegraph_cuda.so EGRAPH_NCCL_PLUGIN=$PWD/lib/libegraph_nccl.so
failed=()
check() { # check NAME COMMAND...
  echo "== $1"
  "${@:2}" || failed+=("$1 (exit status $?)")
}
has_libraries() { # has_libraries FILE
  local missing
  missing=$(ldd "$1" | awk '/not found/ { print $1 }')
  [ -z "$missing" ] && return
  echo "$1 needs $missing: install it, or name its folder in LD_LIBRARY_PATH"
  return 1
}

check "libraries of the back-end" has_libraries "$EGRAPH_CUDA_PLUGIN"
# The suite has float16 and bfloat16 cases; the training test replays captured series.
check "conformance" bin/test_backend_conformance "cuda:$EGRAPH_CUDA_PLUGIN"
check "kernels" bin/test_device_rows
check "training" bin/test_device_training
check "attention" bin/test_device_attention
check "fused nodes" bin/test_device_bodies
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck synccheck; do
    check "training under $tool" compute-sanitizer --tool "$tool" --error-exitcode 1 bin/test_device_training
    check "attention under $tool" compute-sanitizer --tool "$tool" --error-exitcode 1 bin/test_device_attention
    check "fused nodes under $tool" compute-sanitizer --tool "$tool" --error-exitcode 1 bin/test_device_bodies
  done
  check "conformance under memcheck" env EG_TEST_SCALE=0 compute-sanitizer --error-exitcode 1 \
    bin/test_backend_conformance "cuda:$EGRAPH_CUDA_PLUGIN"
else
  echo "== no compute-sanitizer here: not run"
fi
if [ "$gpus" -gt 1 ]; then
  check "libraries of the transport" has_libraries "$EGRAPH_NCCL_PLUGIN"
  for name in device_channel ranks_graphs; do
    check "$name over $gpus GPUs" bin/test_$name "$EGRAPH_CUDA_PLUGIN" "$EGRAPH_NCCL_PLUGIN" device
  done
else
  echo "== one GPU: collectives between GPUs not run"
fi

[ ${#failed[@]} -eq 0 ] && echo "gpu_check: all passed" && exit
printf 'gpu_check: FAILED: %s\n' "${failed[@]}"
exit 1
