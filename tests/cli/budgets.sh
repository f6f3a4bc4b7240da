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
expect 0 'proven +optimal of the variants reached: proven; .*saturation stopped at its node limit' - optimize conv.egraph \
  $quick --node-limit 14
expect 0 '"status":"optimal","proven_over":"all variants"' - optimize conv.egraph $quick --json
expect 0 'proven +optimal: proven, over all variants; no less than .*; saturation ended' - optimize conv.egraph $quick
expect 0 'costs +operators: 0 measured, 0 estimated from measurements, [1-9][0-9]* guessed' - optimize conv.egraph $quick
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
