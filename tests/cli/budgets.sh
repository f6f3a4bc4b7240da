# Budgets of nothing and of far too much.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
quick="--no-measure --db estimates.db"

stops() { # STOP flags...
  stop=$1
  shift
  expect 0 "\"stop\":\"$stop\"" - optimize conv.egraph $quick --json -o o.onnx "$@"
  keys cost_before cost_after bound gap status proven_over stop rounds settled \
    costs.measured costs.estimated costs.guessed costs.given costs_compared.guessed \
    work.saturate work.extract seconds.saturate seconds.extract
  expect 0 'outputs equal' - run --compare conv.egraph o.onnx --repeats 1
}
stops node-limit --node-limit 0
stops iteration-limit --iteration-limit 0
stops time-limit --time-limit 0
stops byte-limit --byte-limit 0
stops saturated --time-limit 0 --saturate-time-limit 60
stops time-limit --node-limit 0 --iteration-limit 0 --time-limit 0 --byte-limit 0
stops node-limit --node-limit 14
expect 0 '"status":"optimal of the variants reached","proven_over":"variants reached"' - optimize conv.egraph $quick \
  --json --node-limit 14
expect 0 '"rounds":1,"settled":false' - optimize conv.egraph $quick --json --rounds 1
# Why the search ended.
expect 0 '"ended":"settled"' - optimize conv.egraph $quick --json
expect 0 '"ended":"round-limit"' - optimize conv.egraph $quick --json --rounds 1
expect 0 '^ended +at its limit of rounds; --rounds N raises it$' - optimize conv.egraph $quick --rounds 1
expect 0 '"ended":"node-limit"' - optimize conv.egraph $quick --json --node-limit 0
expect 0 '^ended +at its limit of e-nodes; --node-limit X raises it$' - optimize conv.egraph $quick --node-limit 0
expect 0 '^ended +at its limit of bytes; --byte-limit N raises it$' - optimize conv.egraph $quick --byte-limit 0
expect 0 '"ended":"time-limit"' - optimize conv.egraph $quick --json --time-limit 0
expect 0 '^ended +with a proof$' - plan deep.egraph --no-measure --machine 'host*2'
step="--no-measure --machine host*4 --train adam --loss mean-squared-error"
expect 0 '^ended +at its work limit; --work N or --time-limit X raises it$' - plan deep.egraph $step --work 1
expect 0 '"ended":"work-limit"' - plan deep.egraph $step --work 1 --json
expect 0 '"ended":"time-limit"' - plan deep.egraph $step --time-limit 0 --json
expect 0 '"ended":"gap"' - plan deep.egraph $step --gap 0.9 --json
expect 0 'proven +optimal of the variants reached: proven; .*saturation stopped at its node limit' - optimize conv.egraph \
  $quick --node-limit 14
expect 0 '"status":"optimal","proven_over":"all variants"' - optimize conv.egraph $quick --json
expect 0 'proven +optimal: proven, over all variants; no less than .*; saturation ended' - optimize conv.egraph $quick
expect 0 'costs +operators: 0 measured, 0 estimated from measurements, [1-9][0-9]* guessed' - optimize conv.egraph $quick
# What is outside the table has no price, and nothing is proven of it.
cat >odd.egraph <<'X'
(egraph-graph 1)
(input b "float32[4,4]")
(let r (relu b))
(let o (opaque Odd r) :types ["float32[4,4]"] :record "00")
(let p (opaque Odd o) :types ["float32[4,4]"] :record "00")
(output p)
X
expect 0 '^proven +optimal of what is priced: proven, over all variants; no less than [1-9]' - optimize odd.egraph $quick
expect 0 '^unpriced +2 operators: Odd \(2\); .* estimated from bytes, proofs are of the others$' - optimize odd.egraph $quick
expect 0 '^run +not by egraph run' - optimize odd.egraph $quick
expect 0 '"status":"optimal of what is priced".*"unpriced":\[\{"operator":"Odd","count":2\}\].*"runnable":false' - \
  optimize odd.egraph $quick --json
# Where nothing else is there, nothing is proven.
cat >alone.egraph <<'X'
(egraph-graph 1)
(input b "float32[4,4]")
(let o (opaque Odd b) :types [none] :record "00")
(output o)
X
expect 0 '^proven +nothing: no operator has a price; saturation ended$' - optimize alone.egraph $quick
expect 0 '^unpriced +1 operator: Odd; .*s estimated from bytes$' - optimize alone.egraph $quick
expect 0 "^unsized +1 value of unknown size in that estimate: 0 bytes; the first is 'o'\$" - optimize alone.egraph $quick
expect 0 '"bound":0,"gap":1,"status":"nothing is priced".*"unsized_values":1,"unsized_value":"o","unknown_trips":0' - \
  optimize alone.egraph $quick --json
# Variants that ONNX Runtime has no kernel for are left out, and that is said.
cat >wide.egraph <<'X'
(egraph-graph 1)
(input x "float64[1,4,8,8]")
(let y (reduce-mean :axes [2 3] :keepdims 1 x))
(output y)
X
expect 0 ': proven, over all variants that ONNX Runtime loads;' - optimize wide.egraph $quick
expect 0 '^left out +variants that ONNX Runtime 1.32 has no kernels for; --loadable 0 takes them in$' - optimize wide.egraph $quick
expect 0 '"proven_over":"all variants that ONNX Runtime loads".*"left_out":[1-9]' - optimize wide.egraph $quick --json
expect 0 '"proven_over":"all variants",.*"left_out":0' - optimize wide.egraph $quick --json --loadable 0
# Views take no time, but something is left.
cat >views.egraph <<'X'
(egraph-graph 1)
(input x "float32[8,8]")
(let y (reshape :shape [64] x))
(output y)
X
expect 0 '^predicted +0 s -> 0 s \(only views are left\), 1 -> 1 operators' - optimize views.egraph $quick
# Optimizing a result again gains nothing, however few nodes there were.
expect 0 '"cost_after":' - optimize conv.egraph $quick --json --node-limit 14 -o few.onnx
cost=$(sed 's/.*"cost_after":\([^,]*\),.*/\1/' stdout)
expect 0 "\"cost_before\":$cost,\"cost_after\":$cost," - optimize few.onnx $quick --json --node-limit 14
stops saturated --work 1
stops iteration-limit --iteration-limit 1
stops saturated --node-limit 4e9 --iteration-limit 1e6 --time-limit 1e6 --byte-limit 1e15 \
  --saturate-time-limit 1e6 --seed 1e18 --fold-bytes 1e15 --gap 1
for extractor in ilp dag tree; do
  stops saturated --extractor $extractor
done
stops saturated --fold-bytes 0
stops saturated --formats 0
stops saturated --scheduler simple
finish
