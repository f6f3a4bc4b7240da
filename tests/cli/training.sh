# egraph run --train: weights of the model, what is trained, batches, checkpoints, the model
# with trained weights.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# Its weights have data: at most 64 elements each.
cat >net.egraph <<'X'
(egraph-graph 1)
(input x "float32[4,3]")
(weight w1 "float32[3,4]" [0.5 -0.25 0.125 1.0 0.75 -1.5 0.0 0.25 -0.125 2.0 0.0625 -0.5])
(weight b1 "float32[4]" [0.1 0.2 -0.3 0.4])
(weight s "float32[1]" [0.5])
(weight w2 "float32[4,2]" [1.0 -1.0 0.5 0.25 -0.5 0.75 0.125 -0.25])
(let m (matmul x w1))
(let a (add m b1))
(let r (relu a))
(let q (mul r s))
(let y (matmul q w2))
(output y)
X
square='--loss mean-squared-error --no-measure'
printf '\000\000\000\077\000\000\200\276\000\000\000\076\000\000\200\077' >head.raw # 0.5 -0.25 0.125 1
begins() { # FILE: w1 as it is in the model
  head -c 16 "$1" | cmp -s - head.raw || fail "$1 is not the model's weight"
}

# What has data begins with it, on every number of ranks.
for ranks in 1 2; do
  expect 0 '^trains +3 weights of 24 elements; not: s \(one element\)$' - \
    run net.egraph --ranks $ranks --train 2 $square --rate 0 --output w1=w1.raw
  begins w1.raw
done
expect 0 '' - run net.egraph --train 1 $square --rate 0 --optimizer adamw --decay 0.1 --output w1=w1.raw
begins w1.raw
expect 0 '' - run net.egraph --train 1 $square --rate 0.5 --output w1=w1.raw
! head -c 16 w1.raw | cmp -s - head.raw || fail 'w1 is trained'
expect 0 '"trained":3,"trained_elements":24,"untrained":\[\{"name":"s","why":"one element"\}\],"tied":\[\],"drawn_weights":0' - \
  run net.egraph --train 1 $square --json

# Weights without data are drawn, and that is said; a plan's come from a model of the names.
expect 0 '^weights +2 have no data and are drawn from seed 1$' - run mlp.egraph --train 1 $square
expect 0 '^trains +2 weights of 6144 elements$' - plan mlp.egraph --machine 'host*2' --train sgd $square -o mlp.json
expect 0 '^weights +2 have no data and are drawn from seed 1; give the model with --weights$' - run mlp.json --train 1
sed 's/(weight w1 [^)]*)/(weight w1 "float32[3,4]")/' net.egraph >sizes.egraph
expect 0 '' - plan sizes.egraph --machine 'host*2' --train sgd $square -o sizes.json
expect 0 '^step 1' - run sizes.json --weights net.egraph --train 1 --rate 0 --output w1=w1.raw
begins w1.raw
expect 1 - "weight 'w1' is float32\[3,4\] in the model and float32\[32,128\] in the plan; give the model" \
  run mlp.json --weights net.egraph --train 1

# What is trained, by the user.
expect 0 'not: w1, w2 \(frozen\); s \(one element\)$' - run net.egraph --train 1 $square --freeze 'w*'
expect 0 '^trains +1 weight of 8 elements; not: w1, b1 \(frozen\); s \(one element\)$' - \
  run net.egraph --train 1 $square --train-only w2
expect 0 '^trains +1 weight of 1 elements; not: w1, b1, w2 \(frozen\)$' - run net.egraph --train 1 $square --train-only s
expect 1 - "no weight that could be trained has a name like 'w3'; did you mean 'w1'" \
  run net.egraph --train 1 $square --freeze w3
expect 1 - 'there is nothing to train' run net.egraph --train 1 $square --freeze '*'
expect 0 'not: b1 \(frozen\)' - plan net.egraph --machine 'host*2' --train adam $square --freeze b1 -o frozen.json
expect 2 - '^egraph: --freeze, --train-only and --decay are of models that are trained' run frozen.json --freeze w1 --train 1
expect 2 - '^egraph: --loss, .*--freeze, --train-only, .* and --decay are of training' plan net.egraph --freeze w1
# Equal blocks of which one is frozen are not planned as equal ones.
expect 0 '^trains +7 weights of 7168 elements; not: w3 \(frozen\)$' - \
  plan deep.egraph --machine 'host*2' --train sgd $square --freeze w3 -o deep.json
expect 0 'outputs equal' - run deep.json --train 2 --verify

# Four steps are two, a checkpoint, and two: bit by bit, on 1 and 2 ranks, and across.
for ranks in 1 2; do
  run="run net.egraph --ranks $ranks $square --optimizer adam"
  expect 0 '^step 4 ' - $run --train 4 --checkpoint four.npz
  expect 0 '^step 2 ' - $run --train 2 --checkpoint two.npz
  expect 0 '^step 4 ' - $run --train 2 --resume two.npz --checkpoint again.npz
  matches stdout '^step 3 '
  same four.npz again.npz
done
expect 0 '^step 3 ' - run net.egraph --ranks 1 $square --optimizer adam --train 1 --resume two.npz

# Copies in bfloat16 begin as their weights; checkpoints have the weights alone.
for precision in bf16-weights bf16-sums; do
  expect 0 '^plan ' - plan net.egraph --machine 'host*2' $square --train adam --precision $precision --micro-batches 2 -o half.json
  run='run half.json --weights net.egraph'
  expect 0 '^verify +outputs equal' - $run --train 2 --verify --checkpoint half.npz
  expect 0 '^step 4 ' - $run --train 2 --resume half.npz --checkpoint end.npz
  expect 0 '' - $run --train 4 --checkpoint whole.npz
  same end.npz whole.npz
done
expect 1 - "there is no precision 'half'; choose model, bf16" plan net.egraph --train sgd $square --precision half
expect 1 - "two.npz has 'w1.m', which the plan does not train" run net.egraph --train 1 $square --resume two.npz
expect 0 '' - run net.egraph --train 1 $square --checkpoint sgd.npz
expect 1 - "sgd.npz has no 'w1.m'; give the checkpoint of the same model" \
  run net.egraph --train 1 $square --optimizer adam --resume sgd.npz
expect 1 - "sgd.npz: array 'w1' is float32\[3,4\] where the plan has float32\[32,128\]" \
  run mlp.egraph --train 1 $square --resume sgd.npz
expect 1 - '^egraph: net.egraph: is no zip archive' run net.egraph --train 1 $square --resume net.egraph
expect 1 - '--save, --checkpoint and --resume are of training' run net.egraph --ranks 2 --no-measure --checkpoint c.npz
expect 1 '' '^egraph: --save would fail after training; nothing was trained' run net.egraph --no-measure --train 1 --loss mean-squared-error --draw-weights --save m.onnx
absent m.onnx
expect 1 - '^egraph: --save writes a copy of the model, and sizes.json is a plan alone' run sizes.json --train 1 --save m.onnx

# Batches: a checkpoint is no data.
expect 1 - "two.npz: array 'w1' is no input of the plan; name arrays as inputs, and labels 'target': x target" \
  run net.egraph --train 1 $square --data two.npz
expect 1 - '^egraph: nowhere.npz: ' run net.egraph --train 1 $square --data nowhere.npz
# Weights that several operators share are told, and trained apart with --untie as those of a model that has them apart.
cat >tied.egraph <<'X'
(egraph-graph 1)
(input x "float32[8,4]")
(weight g "float32[4]" [1.0 1.0 1.0 1.0])
(weight w "float32[4,4]")
(let n (layer-normalization x g))
(let m (matmul n w))
(let h (relu m))
(let y (layer-normalization h g))
(output y)
X
sed 's/^(let h/(weight g_2 "float32[4]" [1.0 1.0 1.0 1.0])\n&/; s/(layer-normalization h g)/(layer-normalization h g_2)/' tied.egraph >apart.egraph
told="^egraph: warning: 1 trained weight is the parameter of several operators, and trained as one: 'g' of layer-normalization 'n', layer-normalization 'y'\\. "
train="--train 3 --no-measure --optimizer adam $square --rate 0.05"
losses() { sed 's/.*"steps":\[//; s/,"seconds":[^}]*//g; s/\].*//' stdout; }
expect 0 '"trained":2,.*"tied":\[{"name":"g","elements":4,"uses":\[{"op":"layer-normalization","node":"n"},{"op":"layer-normalization","node":"y"}\]}\]' \
  "$told" run tied.egraph --json $train
as_one=$(losses)
expect 0 '"trained":3,.*"tied":\[\]' - run apart.egraph --json $train
apart=$(losses)
[ "$as_one" != "$apart" ] || fail 'a weight trained as one is not two'
expect 0 '"trained":3,.*"tied":\[\]' - run tied.egraph --json $train --untie
[ "$(losses)" = "$apart" ] || fail "untied: $(losses), apart: $apart"
expect 0 '"trained":3,' - run tied.egraph --json $train --untie-only 'g*' --ranks 2
[ "$(losses)" = "$apart" ] || fail "untied on 2 ranks: $(losses), apart: $apart"
expect 0 '^trains +2 weights of 20 elements' "$told" plan tied.egraph --train adam $square --no-measure
expect 0 '"tied":\[{"name":"g",' "$told" plan tied.egraph --train adam $square --no-measure --json
expect 0 '^trains +3 weights of 24 elements' - plan tied.egraph --train adam $square --no-measure --untie -o untied.json
# A plan with untied weights begins with those of the model as it is; the model is saved with all of them.
expect 0 '"trained":3,' - run untied.json --weights tied.egraph --json --train 3 --rate 0.05
[ "$(losses)" = "$apart" ] || fail "a plan: $(losses), apart: $apart"
expect 1 - "no tied weight has a name like 'w'" plan tied.egraph --train adam --untie-only w
expect 2 - '--untie has no effect on a model on one device' run tied.egraph --untie
expect 2 - '--untie and --untie-only are of models that are trained' run untied.json --untie --train 1
expect 2 - '--train-only, --untie, --untie-only and --decay are of training' plan tied.egraph --untie

finish
