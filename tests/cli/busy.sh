# A machine on which others leave the command next to no time (fast_clock.c): where work is limited, or no time is,
# searches of others find the same.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

awk 'BEGIN {
  print "(egraph-graph 1)\n(input x0 \"float32[64,512]\")"
  for (i = 0; i < 4; i++) printf "(weight w%d \"float32[512,512]\")\n", i
  for (i = 0; i < 4; i++) printf "(let p%d (matmul x%d w%d))(let x%d (tanh p%d))\n", i, i, i, i + 1, i
  print "(output x4)"
}' >chain.egraph
cat >quad.machine <<'M'
(egraph-machine 1)
(name quad)
(nodes 2)
(device (kind "a device") (memory 7e9) (bandwidth 1e12) (overhead 4e-6) (peak (float32 6e13)))
(link far (latency 5e-6) (bandwidth 1e10))
(link near (latency 2e-6) (bandwidth 4.5e11))
(axis node nodes far)
(axis gpu 2 near)
M

busily() { # OUT arguments...: on a busy machine
  out=$1
  shift
  last="egraph $*, busy" cases=$((cases + 1))
  LD_PRELOAD=$CLI_FAST_CLOCK ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 "$EGRAPH" "$@" >stdout 2>stderr </dev/null
  judge $? 0 "$out" ''
}
plan="plan chain.egraph --machine ./quad.machine --train sgd --loss mean-squared-error"

# Pipelines: no clock limits the plan of a stage unless it is asked to.
for search in alpa-stages megatron-grid min-cut; do
  expect 0 '"best": ' - $plan --micro-batches 4 --search $search --json
  cp stdout idle
  busily '"best": ' $plan --micro-batches 4 --search $search --json
  same idle stdout
done

# Plans. Saturation has a clock of its own.
limits="--mesh node=2,gpu=2 --work 100 --saturate-time-limit 1e6"
for search in alpa-intra algebra-first mcmc optcnn unity; do
  expect 0 '' '' $plan $limits --search $search -o idle.json
  busily '' $plan $limits --search $search -o busy.json
  same idle.json busy.json
done

# Graphs: the same are visited.
for search in greedy backtracking; do
  expect 0 '' '' optimize deep.egraph --no-measure --search $search --work 40 -o idle.egraph
  sed -n '/visited/s/[0-9.]* seconds//p' stdout >idle
  busily '' optimize deep.egraph --no-measure --search $search --work 40 -o busy.egraph
  sed -n '/visited/s/[0-9.]* seconds//p' stdout >busy
  same idle.egraph busy.egraph
  same idle busy
done

# Rows of a comparison, of graphs and of plans.
rows() { cut -d, -f1-22 "$1"; }
compare="bench compare --machine ./quad.machine --nodes 1 --models mlp,tensat-squeezenet --work 40 --search egraph,zero-1,backtracking,megatron-grid"
expect 0 '^5 of 5 rows' '' $compare --csv idle.csv
busily '^5 of 5 rows' $compare --csv busy.csv
rows idle.csv >idle
rows busy.csv >busy
same idle busy
finish
