#!/bin/sh
# Training on processes: a plan for as many ranks of this host is written to a file, and mpirun
# starts a process for each of them. Rank 0 prints the losses, and compares what all have
# computed with one device.
#
#   09_train_mpi.sh [EGRAPH [RANKS]]      the command, default egraph; default 2
# SPDX-License-Identifier: Apache-2.0
set -eu
egraph=${1:-egraph} ranks=${2:-2}
if ! command -v mpirun >/dev/null; then
  echo "09_train_mpi: mpirun is not installed; apt-get install openmpi-bin" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/mlp.egraph" <<'X'
(egraph-graph 1)
(input x "float32[64,128]")
(weight w1 "float32[128,512]")
(weight w2 "float32[512,64]")
(let m (matmul x w1))
(let h (relu m))
(let y (matmul h w2))
(output y)
X

"$egraph" plan "$work/mlp.egraph" --machine "host*$ranks" --train momentum \
  --loss mean-squared-error --micro-batches 2 -o "$work/plan.json"
# The same file on every host; more of them: mpirun --hostfile.
mpirun -n "$ranks" "$egraph" run "$work/plan.json" --channel mpi --train 5 --rate 0.05 --verify
