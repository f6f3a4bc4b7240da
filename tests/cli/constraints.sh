# What a user demands of egraph plan, what it is compared with, and plans edited by hand.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

cat >mlp.egraph <<'X'
(egraph-graph 1)
(input x "float32[64,32]")
(weight w1 "float32[32,128]")
(weight w2 "float32[128,10]")
(let m (matmul x w1))
(let h (relu m))
(let y (matmul h w2))
(output y)
X
printf '(egraph-graph 1)\n(input x "float32[64,64]")\n(let y (relu x))\n(output y)\n' >bare.egraph
train='--no-measure --machine host*4 --mesh cpu=4 --train adam --loss mean-squared-error'

# Statements on the command line and in a file.
expect 0 '^  w1@S0: float32\[8,128\]' - plan mlp.egraph $train --pin 'w1 cpu=S0' --text
expect 0 '^  w1.m@S1: float32\[32,32\]' - plan mlp.egraph $train --pin '(all states) *=S1' --forbid '(all weights) R' --text
cat >rules.constraints <<'X'
(egraph-constraints 1)
; rows
(pin w1 cpu=S0)
(forbid h all-gather (axis cpu) (phase backward))
X
expect 0 '^  w1@S0: ' - plan mlp.egraph $train --constraints rules.constraints --text
expect 1 - '^egraph: --forbid .w1 S0.: this leaves .w1. ' plan mlp.egraph $train --constraints rules.constraints --forbid 'w1 S0'
printf '(egraph-constraints 1)\n(pin w9 cpu=S0)\n' >constraints
expect 1 - '^egraph: ./constraints:2:.*no value .w9.' plan mlp.egraph $train --constraints constraints --pin 'w1 cpu=S0' --pin 'w2 cpu=S0'
expect 1 - '^egraph: --pin .w9' plan mlp.egraph $train --pin "$(printf 'w1\ncpu=S0')" --pin 'w9 cpu=S0' --forbid 'w1 S1'
expect 1 - "^egraph: --pin .w9 cpu=S0.: there is no value 'w9' in the step; did you mean 'w1'" plan mlp.egraph $train --pin 'w9 cpu=S0'
expect 1 - "^egraph: --forbid .w1 R .axis gpu..: there is no axis 'gpu' in the mesh cpu=4; name one" plan mlp.egraph $train --pin 'w1 cpu=S0' --forbid 'w1 R (axis gpu)'
expect 1 - '^egraph: --pin .w2 cpu=S2.: .*no layout on axis cpu=4: a dimension is not there or does not divide' plan mlp.egraph $train --pin 'w2 cpu=S2'
expect 1 - '^egraph: --forbid .y R.: .* output .y. may be delivered; outputs are delivered as R unless [(]deliver y cpu=S[)]' plan bare.egraph --machine 'host*4' --mesh cpu=4 --forbid 'y R'
expect 1 - '^egraph: --forbid .x S P.: with this statement .* there is no plan; loosen' plan bare.egraph --machine 'host*4' --mesh cpu=4 --forbid 'x S P' --pin 'y cpu=S1' --deliver 'y cpu=S1' --forbid 'x slice'
expect 1 - '^egraph: --pin .w1 cpu.: expected AXIS=LAYOUT' plan mlp.egraph $train --pin 'w1 cpu'
sed 's/rows/rows)/' rules.constraints | sed 's/^;.*/)/' >wrong.constraints
expect 1 - '^egraph: wrong.constraints:2:1: ' plan mlp.egraph $train --constraints wrong.constraints
expect 1 - '^egraph: none.constraints: No such file' plan mlp.egraph $train --constraints none.constraints

# A value that rules have made part of another operator has no layout: that is said.
expect 0 '^plan ' '^egraph: note: --pin .m cpu=S1.: the plan has no value m; it is equal to another value' plan mlp.egraph $train --pin 'm cpu=S1'
expect 0 '^plan ' - plan mlp.egraph $train --pin 'm cpu=S1' --no-builtin

# Outputs, delivered as told; what ranks hand out is put together all the same.
sed 's/^(output y)/(output y)(output hidden h)/' mlp.egraph >two.egraph
four='--no-measure --machine host*4 --mesh cpu=4'
expect 0 '^  y@R$' - plan two.egraph $four --text -o whole.json
for layout in S0 S1; do
  expect 0 "^  h@$layout as hidden$" - plan two.egraph $four --deliver "hidden cpu=$layout" --text -o delivered.json
  expect 0 'outputs equal' - run delivered.json --ranks 4 --verify --repeats 1
done
printf '(egraph-constraints 1)\n(deliver (all outputs) *=?)\n' >any.constraints
expect 0 '^  y@S0$' - plan two.egraph $four --constraints any.constraints --text -o delivered.json
matches stdout '^  h@S0 as hidden$'
matches stdout '^delivered +hidden: rows .dimension 0. over cpu$'
if grep -q all-gather stdout; then fail 'nothing is put together that may stay in parts'; fi
expect 0 'outputs equal' - run delivered.json --ranks 4 --verify --repeats 1
expect 0 '' - run delivered.json --ranks 4 --repeats 1 --output y=delivered.raw --output hidden=hidden.raw
expect 0 '' - run whole.json --ranks 4 --repeats 1 --output y=whole.raw
same delivered.raw whole.raw
expect 0 '^output y, delivered: R -> S0$' - explain whole.json --against delivered.json
expect 0 '"outputs": .{"output": "y", "before": "R", "after": "S0"}' - explain whole.json --against delivered.json --json
expect 0 '"delivered": .{"output": "y", "layout": "S0"}, {"output": "hidden", "layout": "S0"}' - explain delivered.json --json
expect 1 - "^egraph: --deliver .hiden cpu=S.: there is no output 'hiden' in the step; did you mean 'hidden'" plan two.egraph $four --deliver 'hiden cpu=S'
expect 1 - "^egraph: --deliver .x cpu=S0.: 'x' is no output of the step, .*; pin says in which layout it is made" plan two.egraph $four --deliver 'x cpu=S0'
expect 1 - '^egraph: --deliver .y cpu=P.: output .y. would be delivered as partial results, .*; deliver it as R or S' plan two.egraph $four --deliver 'y cpu=P'
expect 1 - '^egraph: --deliver ..all weights. cpu=S.: expected the name of an output, or [(]all outputs[)]' plan two.egraph $four --deliver '(all weights) cpu=S'

# Baselines, in the text, in the JSON, and in the file; sizes that do not divide.
expect 0 '^baseline +data-parallel: .* fits' - plan mlp.egraph $train --baselines -o plan.json
matches stdout '^baseline +zero-3: .*; more seconds: '
matches stdout '^uneven +[0-9]+ splits of [0-9]+ operators in all do not divide$'
expect 0 '^baseline +megatron: ' - explain plan.json
expect 0 '"baselines": \[' - explain plan.json --json
keys devices baselines uneven.operators uneven.worst
expect 0 '"name": "zero-2", "outcome": "fits"' - plan mlp.egraph $train --baselines --json
keys status remarks.baselines remarks.uneven.splits
expect 0 '"remarks":\{"baselines": \[\]' - plan mlp.egraph $train --json
expect 0 '^baseline +single-device: does not fit: it takes at least ' - plan mlp.egraph $train --baselines --memory 45000

expect 0 '' - plan mlp.egraph $train --baseline data-parallel -o data.json
expect 0 '^[+] backward all-reduce .* P -> R over cpu' - explain plan.json --against data.json
expect 1 - "^egraph: there is no baseline 'fsdp'; choose single-device, " plan mlp.egraph $train --baseline fsdp
expect 1 - "^egraph: there is no baseline 'gpu=zero-1'; " plan mlp.egraph $train --baseline gpu=zero-1
expect 0 '^plan +optimal' - plan mlp.egraph $train --baseline cpu=zero-1
# One device is told to be as good; what a split wins is told.
expect 0 '^warning +all devices along cpu=4 repeat the same work: 1 device of 4 would do' - plan mlp.egraph $train --baseline single-device
matches stdout '^warning +this plan wins nothing over one device'
# What is delivered in parts is so in every baseline.
expect 0 '^baseline +single-device: .* fits' - plan bare.egraph --no-measure --machine 'host*4' --mesh cpu=4 --deliver 'y cpu=S1' --baselines
# A batch that does not divide is said, not split in another way.
sed 's/64,32/6,32/' mlp.egraph >six.egraph
expect 1 - '^egraph: there is no plan of baseline data-parallel: the batch of 6 does not divide by 4; ' plan six.egraph $train --baseline data-parallel
expect 0 '^baseline +data-parallel: the batch of 6 does not divide by 4$' - plan six.egraph $train --baselines -o six.json
matches stdout '^baseline +megatron: .* fits'
expect 0 '^baseline +zero-3: the batch of 6 does not divide by 4$' - explain six.json
expect 0 '"name": "zero-2", "outcome": "does not divide", .* "batch": 6, "parts": 4' - explain six.json --json
# Sums run over the batch, whose parts may not be put together.
printf '(egraph-graph 1)\n(input x "float32[4,8]")\n(weight w "float32[8,8]")\n(let y (matmul x w))\n(let z (cum-sum :axis 0 y))\n(output z)\n' >sums.egraph
expect 1 - '^egraph: there is no plan: no operators of this step can be split so' plan sums.egraph --machine 'host*4' --mesh cpu=4 --baseline data-parallel

# A plan edited by hand: all of y on every device instead of half of it, gathered.
expect 0 '' - plan bare.egraph --no-measure --machine 'host*2' --mesh cpu=2 --pin 'x cpu=S0' -o split.json
sed -e 's/"cpu": "split 0"//' -e 's/"layout": "S0"/"layout": "R"/' -e '/all-gather/d' \
  -e '/"actions"/s/,$/],/' -e '/"value": "y"/{N;s/},\n.*/}],/;}' -e 's/"outputs": \[2\]/"outputs": [1]/' \
  split.json >whole.json
expect 0 '^    y@R = relu x@R|^  y@R = relu x@R' - explain whole.json --text
expect 0 '"seconds":' - explain split.json --machine 'host*2' --json
expect 1 - 'multiply to 2 devices, but the machine' explain split.json --machine 'host*4'
expect 0 '^warning .* guessed' - explain whole.json --machine 'host*2' --no-measure
expect 0 '^- forward all-gather y S0 -> R over cpu' - explain split.json --against whole.json --machine 'host*2'
sed 's/"to": 2/"to": 1/' split.json >broken.json
expect 1 - '^egraph: broken.json: state 1 is made by step 0 already' explain broken.json
expect 2 - 'mlp.egraph is no plan' explain mlp.egraph --machine host

finish
