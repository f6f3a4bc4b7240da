# egraph plan: values of the forward pass that the backward pass makes again, where the
# memory of devices is too small to keep them, unless --no-recompute.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

"$5" "$SOURCE/bench/gpt.py" 2 4 64 128 4 >gpt.egraph
step="gpt.egraph --no-measure --machine host*2 --train sgd --loss mean-squared-error --micro-batches 2 --groups 0 --work 3000"

# A limit that does not bind changes nothing.
expect 0 '^plan ' - plan $step -o free.json
expect 0 '^plan ' - plan $step --no-recompute -o same.json
cmp -s free.json same.json || fail 'a plan that fits is another plan with --no-recompute'

# What fits in no other way, computes the same, in every order of issue.
expect 1 - '^egraph: there is no plan: a device may hold 4 MB' plan $step --memory 4e6 --no-recompute
expect 0 '^memory +3\.' - plan $step --memory 4e6 -o again.json --certificate again.cert
expect 0 '^made again +[1-9][0-9]* operators of the forward pass, in ' - explain again.json
matches again.json '\(let g_1\.again \(gelu f1_1\)\)'
for issue in in-order reductions ahead ahead-4; do
  expect 0 '^verify +outputs equal' - run again.json --train 2 --verify --issue $issue
done
expect 0 '^step ' - simulate again.json --machine 'host*2' --no-measure

# A plan that keeps all values and takes as long as the plan without a limit: no mesh needs another search.
cat >far.machine <<'END'
(egraph-machine 1)
(name far)
(nodes 8)
(device (memory 80e9) (bandwidth 3e12) (overhead 1e-06) (peak (float32 2e12)))
(collectives auto)
(link near (latency 2e-6) (bandwidth 5e10))
(link far (latency 1e-5) (bandwidth 3e9))
(axis node nodes far)
END
{
  echo '(egraph-graph 1)(input x0 "float32[256,96]")'
  for i in 0 1 2; do
    echo "(weight u$i \"float32[96,1024]\")(let a$i (matmul x$i u$i))(let s$i (sigmoid a$i))"
    echo "(weight v$i \"float32[96,1024]\")(let b$i (matmul x$i v$i))(let m$i (mul s$i b$i))"
    echo "(weight w$i \"float32[1024,96]\")(let o$i (matmul m$i w$i))"
    test $i = 2 || echo "(let x$((i + 1)) (add x$i o$i))"
  done
  echo '(output o2)'
} >gates.egraph
expect 0 '^plan ' - plan gates.egraph --machine 'far.machine*8' --no-measure --train momentum \
  --loss mean-squared-error --memory 8699914 --work 300
finish
