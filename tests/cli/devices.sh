# egraph run of plans on devices without host memory, which a plugin stands in for: through host memory
# and from device to device, on threads and processes; what is missing, and what never comes.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
DISTANT=$5

cat >mlp.egraph <<'X'
(egraph-graph 1)
(input x "float32[16,8]")
(weight w1 "float32[8,32]")
(weight w2 "float32[32,4]")
(let m (matmul x w1))
(let h (relu m))
(let y (matmul h w2))
(output y)
X
expect 0 '^plan ' - plan mlp.egraph --machine 'host*2' --train adam --loss mean-squared-error \
  --micro-batches 2 --baseline data-parallel -o plan.json

# Nothing of a device is here.
EGRAPH_CUDA_PLUGIN=$WORK/none.so EGRAPH_NCCL_PLUGIN=$WORK/none.so
export EGRAPH_CUDA_PLUGIN EGRAPH_NCCL_PLUGIN
expect 1 - "^egraph: rank [01] failed: back-end 'cuda': its plugin cannot be loaded: .*none.so" run plan.json --backend cuda --train 1
expect 1 - "back-end 'cuda': its plugin cannot be loaded" run plan.json --channel nccl --train 1
expect 2 - '^egraph: --channel nccl is between devices; give --backend cuda, or' run plan.json --channel nccl --backend cpu
expect 2 - '--deadline must lie between' run plan.json --channel nccl --deadline 0
EGRAPH_CUDA_PLUGIN=$DISTANT
expect 1 - "^egraph: rank [01] failed: transport 'nccl': its plugin cannot be loaded" run plan.json --channel nccl --train 1

# A plugin whose end is missing would kill the process that loads it.
for bytes in 700 9000 $(($(wc -c <"$DISTANT") / 2)) $(($(wc -c <"$DISTANT") - 1)); do
  head -c "$bytes" "$DISTANT" >cut.so
  expect 1 - "^egraph: back-end 'cuda': the end of ./cut.so is missing; copy or build it again$" run mlp.egraph --draw-weights --backend cuda:./cut.so
done

# Devices in this process.
EGRAPH_NCCL_PLUGIN=$DISTANT
expect 0 '^verify +outputs equal' - run plan.json --backend cuda --train 3 --verify
expect 0 '^verify +outputs equal' - run plan.json --channel nccl --train 3 --verify
expect 0 '"channel":"nccl"' - run mlp.egraph --ranks 4 --channel nccl --verify --repeats 1 --json

# A plan for devices of this host has their memory, and no share of a peak that nobody knows.
for ranks in 1 4; do
  for measures in '' --no-measure; do
    expect 0 '^memory +.* of 3 GB( on every device)?$' - plan mlp.egraph --machine "host*$ranks" --backend cuda $measures
    matches stdout '^peak +unknown: no peak of the machine is known$'
  done
done

# Ranks that never come are given up at the deadline.
DISTANT_TROUBLE=waits
export DISTANT_TROUBLE
expect 1 - 'begun to join their group, but it was not done within 0.3 s' run plan.json --channel nccl --train 1 --deadline 0.3
DISTANT_TROUBLE=hangs
expect 1 - 'but it was not done within 0.3 s' run plan.json --channel nccl --train 1 --deadline 0.3
DISTANT_TROUBLE=breaks
expect 1 - '^egraph: rank [01] failed: ' run plan.json --channel nccl --train 1
unset DISTANT_TROUBLE

# Processes. The stand-in for the transport is between threads, so that processes never join.
OMPI_COMM_WORLD_SIZE=2
export OMPI_COMM_WORLD_SIZE
expect 2 - '^egraph: mpirun started several processes, and each would run the whole plan; give --channel mpi' run plan.json --train 1
expect 2 - '^egraph: processes run a plan that is there' run mlp.egraph --channel nccl --train 1
unset OMPI_COMM_WORLD_SIZE
if ! command -v mpirun >/dev/null || "$EGRAPH" run plan.json --channel mpi 2>&1 | grep -q 'its plugin cannot be loaded'; then
  echo 'no mpirun, or no MPI in this build: devices of processes are skipped'
  finish
fi
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 # Open MPI keeps memory of its own until the end
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
for channel in 'mpi --backend cuda' 'nccl --deadline 0.3'; do
  last="mpirun -n 2 egraph run plan.json --channel $channel" cases=$((cases + 1))
  # shellcheck disable=SC2086
  mpirun -n 2 "$EGRAPH" run plan.json --train 2 --verify --channel $channel >stdout 2>stderr </dev/null
  case $channel in
  mpi*) matches stdout '^verify +outputs equal' ;;
  *) matches stderr 'but it was not done within 0.3 s' ;;
  esac
done
finish
