# Attention split over ranks by batch, rows and heads: forward and in training, over threads, devices that
# a plugin stands in for, and processes, equal to one device.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
EGRAPH_CUDA_PLUGIN=$5 EGRAPH_NCCL_PLUGIN=$5
export EGRAPH_CUDA_PLUGIN EGRAPH_NCCL_PLUGIN

cat >attention.egraph <<'X'
(egraph-graph 1)
(input x "float32[4,16,32]")
(weight wq "float32[32,64]")
(weight wk "float32[32,32]")
(weight wv "float32[32,32]")
(weight wo "float32[64,32]")
(let qp (matmul x wq))
(let q (reshape :shape [4 16 8 8] qp))
(let kp (matmul x wk))
(let k (reshape :shape [4 16 4 8] kp))
(let vp (matmul x wv))
(let v (reshape :shape [4 16 4 8] vp))
(let qt (transpose :perm [0 2 1 3] q))
(let kt (transpose :perm [0 2 1 3] k))
(let vt (transpose :perm [0 2 1 3] v))
(let [a s] (attention :scale 0.35 :causal 1 qt kt vt))
(let at (transpose :perm [0 2 1 3] a))
(let ar (reshape :shape [4 16 64] at))
(let y (matmul ar wo))
(output y)
X

if command -v mpirun >/dev/null && ! "$EGRAPH" run --ranks 1 --channel mpi attention.egraph 2>&1 | grep -q 'its plugin cannot be loaded'; then
  has_processes=yes
else
  has_processes=
  echo 'no mpirun, or no MPI in this build: ranks that are processes are skipped'
fi
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe

run_everywhere() { # RANKS TRAIN...
  ranks=$1
  shift
  expect 0 'outputs equal' - run plan.json --verify "$@"
  expect 0 'outputs equal' - run plan.json --verify --channel nccl "$@"
  [ -n "$has_processes" ] || return 0
  last="mpirun -n $ranks egraph run plan.json --channel mpi $*" cases=$((cases + 1))
  ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 mpirun -n "$ranks" "$EGRAPH" run plan.json --verify --channel mpi "$@" >stdout 2>stderr </dev/null
  judge $? 0 'outputs equal' ''
}

# Batch, rows and heads of the queries, as a projection computes them.
for ranks in 2 4; do
  for layout in S0 S1 S2; do
    expect 0 '^plan ' - plan attention.egraph --machine "host*$ranks" --no-measure --pin "q cpu=$layout" -o plan.json
    run_everywhere $ranks --repeats 1
    expect 0 '^plan ' - plan attention.egraph --machine "host*$ranks" --no-measure --train adam --loss mean-squared-error \
      --pin "q cpu=$layout" -o plan.json
    grep -q '(attention-grad ' plan.json || fail 'training has the operator'
    run_everywhere $ranks --train 2
  done
done
finish
