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
finish
