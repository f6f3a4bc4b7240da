# Budgets of nothing and of far too much.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
quick="--no-measure --db estimates.db"

stops() { # STOP flags...
  stop=$1
  shift
  expect 0 "\"stop\":\"$stop\"" - optimize conv.egraph $quick --json -o o.onnx "$@"
  keys cost_before cost_after bound gap status
  expect 0 'outputs equal' - run --compare conv.egraph o.onnx --repeats 1
}
stops node-limit --node-limit 0
stops iteration-limit --iteration-limit 0
stops time-limit --time-limit 0
stops byte-limit --byte-limit 0
stops saturated --extract-time-limit 0
stops time-limit --node-limit 0 --iteration-limit 0 --time-limit 0 --extract-time-limit 0 --byte-limit 0
stops node-limit --node-limit 14
stops iteration-limit --iteration-limit 1
stops saturated --node-limit 4e9 --iteration-limit 1e6 --time-limit 1e6 --byte-limit 1e15 \
  --extract-time-limit 1e6 --seed 1e18 --fold-bytes 1e15 --relative-gap 1
for extractor in ilp dag tree; do
  stops saturated --extractor $extractor
done
stops saturated --fold-bytes 0
stops saturated --formats 0
stops saturated --scheduler simple
finish
