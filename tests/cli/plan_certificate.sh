# Certificates of plans: check_certificate derives them again, but not those that were changed.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# The plan of folded blocks (deep) is certified as that of the whole step.
machine='--no-measure --machine host*4 --work 200'
train="$machine --train adam --loss mean-squared-error"

# With rules, on the cheapest of all meshes; without; the forward graph alone; what a user demands. Prices prove all of a
# bound without groups, a part of it with them.
expect 0 '^proof +grouped.cert' - plan mlp.egraph $train --certificate grouped.cert
check 0 '^verified' - grouped.cert
expect 0 '^proof +mlp.cert, of cpu=4 alone' - plan mlp.egraph $train --groups 0 --certificate mlp.cert
check 0 '^verified$' - mlp.cert
expect 0 '"checked":[0-9.e-]+,"bound_unchecked":false,' - plan mlp.egraph $train --groups 0 --mesh cpu=4 --json --certificate mlp.cert
keys cost bound checked bound_unchecked seconds.certify
check 0 '^verified$' - mlp.cert
expect 0 '"bound_unchecked":true,.*"meshes":2,' - plan mlp.egraph $train --groups 0 --json --certificate mlp.cert
expect 0 '^proof +plain.cert' - plan mlp.egraph $train --groups 0 --no-builtin --mesh outer=2,inner=2 --certificate plain.cert
check 0 '^verified$' - plain.cert
expect 0 '^proof +forward.cert' - plan deep.egraph $machine --certificate forward.cert
check 0 '^verified' - forward.cert
# Outputs that weights alone make, and a weight that is one.
printf '%s' '(egraph-graph 1)(input x "float32[8,8]")(weight w "float32[8,8]")(weight s "float32[8]")(let ws (mul w s))' \
  '(let y (matmul x ws))(let t (exp ws))(output y)(output t)(output w)' >made.egraph
expect 0 '^proof +made.cert' - plan made.egraph $machine --certificate made.cert
check 0 '^verified$' - made.cert
expect 0 '^proof +pinned.cert' - plan mlp.egraph $train --pin 'w1 *=S0' --deliver '(all outputs) *=?' --certificate pinned.cert
check 0 '^verified' - pinned.cert
expect 0 '^proof +zero.cert' - plan mlp.egraph $train --baseline zero-1 --mesh cpu=4 --certificate zero.cert
check 0 '^verified' - zero.cert
if cmp -s zero.cert mlp.cert; then fail 'the problem of a baseline has its limits'; fi

# Two attention blocks with a gate: rules merge four products of a block in several ways, so that a value is a part of
# several tuples.
{
  echo '(egraph-graph 1)(input h0 "float32[8,32,64]")'
  for i in 0 1; do
    for w in q k v g o; do echo "(weight w$w$i \"float32[64,64]\")"; done
    for q in q k v; do
      echo "(let $q$i (matmul h$i w$q$i))(let r$q$i (reshape :shape [8 32 4 16] $q$i))(let t$q$i (transpose :perm [0 2 1 3] r$q$i))"
    done
    echo "(let s$i (matmul :transB 1 tq$i tk$i))(let p$i (softmax s$i))(let a$i (matmul p$i tv$i))(let b$i (transpose :perm [0 2 1 3] a$i))"
    echo "(let c$i (reshape :shape [8 32 64] b$i))(let e$i (matmul h$i wg$i))(let g$i (sigmoid e$i))(let m$i (mul g$i c$i))"
    echo "(let o$i (matmul m$i wo$i))(let h$((i + 1)) (add h$i o$i))"
  done
  echo '(output h2)'
} >gate.egraph
for fold in '' --no-fold; do
  expect 0 '^proof +gate.cert' - plan gate.egraph --no-measure --machine 'dgx-h100*1' --mesh gpu=8 --work 200 $fold --certificate gate.cert
  check 0 '^verified' - gate.cert
done

# Batches of 12 on 8 devices: 4 of them are at work, and it takes as long as on 4.
echo '(egraph-graph 1)(input x "float32[12,100003]")(weight s "float32[1]")(let y (mul x s))(let z (tanh y))(output z)' >twelve.egraph
echo '(egraph-machine 1)(name small)(nodes 4)(device (memory 80e9)(bandwidth 2e11)(overhead 1e-6)(peak (float32 6e12)))' \
  '(link near (latency 2e-6)(bandwidth 4e11))(link far (latency 5e-6)(bandwidth 5e10))(axis node nodes far)(axis gpu 2 near)' >small.machine
step='--no-measure --train sgd --train-only s --loss mean-squared-error --work 50 --json'
for groups in 1 0; do
  expect 0 '"status":"optimal",' - plan twelve.egraph --groups $groups --machine 'small.machine*2' $step
  cost=$(sed 's/.*"cost":\([^,]*\),.*/\1/' stdout)
  expect 0 "\"status\":\"optimal\",\"cost\":$cost,.*\"mesh\":\"idle=2,node=2,gpu=2\"" - plan twelve.egraph --groups $groups \
    --machine small.machine $step --certificate twelve.cert
  check 0 '^verified' - twelve.cert
done
check 0 '^verified$' - twelve.cert

# Blocks, with a limit of memory that binds, and on a mesh with an axis of one device.
expect 0 '^memory .* of 90 kB on every device$' - plan deep.egraph $train --mesh cpu=4 --no-builtin --memory 90000 --certificate tight.cert
matches stdout '^proof +tight.cert'
check 0 '^verified' - tight.cert
matches tight.cert '^limits 9e\+04 9e\+04$'
expect 0 '^proof +deep.cert' - plan deep.egraph $train --mesh outer=1,inner=4 --no-builtin --certificate deep.cert
check 0 '^verified' - deep.cert

# What was changed is refused: the bound by 0.1 %, the cost, a limit that the plan exceeds, a choice.
for cert in mlp grouped plain tight deep; do
  awk '$1 == "bound" { printf "bound %.17g\n", $2 * 1.001; next } 1' $cert.cert >changed.cert
  check 1 - '^check_certificate: changed.cert:[0-9]+: ' changed.cert
  awk '$1 == "cost" { printf "cost %.17g\n", $2 * 0.999; next } 1' $cert.cert >changed.cert
  check 1 - '^check_certificate: changed.cert:[0-9]+: ' changed.cert
done
sed 's/^limits .*/limits 20000 20000/' tight.cert >changed.cert
check 1 - '^check_certificate: changed.cert:[0-9]+: ' changed.cert
sed '/^choose 0 /d' mlp.cert >changed.cert
check 1 - '^check_certificate: changed.cert:' changed.cert

# Without a plan there is no certificate, nor that of another run; a plan that cannot be made again is told, then why it has none.
cp mlp.cert none.cert
expect 1 - 'the least peak that is known' plan mlp.egraph $train --memory 1000 --certificate none.cert
absent none.cert
expect 1 '^step ' '^egraph: no certificate: .* raise the limits of nodes' plan deep.egraph $train --groups 0 --mesh cpu=4 --node-limit 110 --certificate none.cert -o lost.json
absent none.cert
present lost.json
expect 1 '"checked":null,"bound_unchecked":true,' '^egraph: no certificate: ' plan deep.egraph $train --groups 0 --mesh cpu=4 --node-limit 110 --json --certificate none.cert
expect 1 - '^egraph: no/folder.cert: cannot be written' plan mlp.egraph $train --certificate no/folder.cert
finish
