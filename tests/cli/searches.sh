# Searches of others, to compare with: what they say, in which form, and what they refuse.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
quick="--no-measure --db estimates.db"

cat >deep.rules <<'X'
(egraph-rules 1)
(rule fuse (source "test") (lhs (relu (matmul ?x ?w))) (rhs (matmul :act relu ?x ?w)))
X
# Eight equal layers. Greedy descent fuses them one by one; with a large alpha every subset of fused layers is visited.
only="--no-builtin --rules deep.rules"
for search in greedy backtracking; do
  expect 0 "proven +nothing: search $search looks at single graphs" - optimize deep.egraph $quick $only --search $search
done
expect 0 'search +greedy: [0-9.]+ us, 9 graphs visited, 9 queued, 36 rewrites tried, [0-9.]+ seconds; it ended: no single' \
  - optimize deep.egraph $quick $only --search greedy -o greedy.egraph
expect 0 'outputs equal' - run --compare deep.egraph greedy.egraph --draw-weights --repeats 1
expect 0 'search +backtracking: [0-9.]+ us, 256 graphs visited, 256 queued, 1024 rewrites tried, .*; it ended: no graph is left' \
  - optimize deep.egraph $quick $only --search backtracking --alpha 2 -o all.egraph
same greedy.egraph all.egraph
expect 0 'search +backtracking: .* 5 graphs visited, .*; it stopped at its graph limit' - optimize deep.egraph $quick $only \
  --search backtracking --graph-limit 5
expect 0 '"bound":0,"gap":1,"status":"feasible","proven_over":"variants reached","ended":"graph-limit","stop":"graph-limit"' - optimize conv.egraph \
  $quick --search backtracking --alpha 1.2 --graph-limit 1 --json
keys search.algorithm search.graphs_visited search.graphs_queued search.rewrites_tried search.work search.seconds
expect 0 '"made_by":"conv-batch-norm"' - explain conv.egraph $quick --search greedy --json
expect 0 '"stop":"work-limit"' - optimize deep.egraph $quick --search backtracking --work 1 --json
expect 0 '"stop":"saturated","math"' - optimize layer.egraph $quick --json

# Open dimensions stay open, and operators that nobody knows stay as they are.
for search in greedy backtracking; do
  expect 0 '^open +N \(example 8\)' - optimize "$SOURCE/tests/fuzz/corpus/onnx/symbolic" $quick --search $search -o open.onnx
  for size in 3 8; do
    expect 0 'outputs equal' - run --compare "$SOURCE/tests/fuzz/corpus/onnx/symbolic" open.onnx --dim N=$size --draw-weights \
      --repeats 1
  done
done

expect 1 - "there is no search algorithm 'best'; leave it out, or choose one of: backtracking, greedy, " optimize layer.egraph \
  $quick --search best
expect 1 - "search algorithm 'greedy' finds a graph for one device, no plan" optimize layer.egraph $quick --search greedy \
  --machine 'host*2'
expect 1 - "search algorithm 'greedy' finds a graph for one device, no plan" optimize mlp.egraph $quick --search greedy \
  --train sgd
expect 2 - '--alpha' optimize layer.egraph $quick --search backtracking --alpha 0.5

# Plans.
for search in algebra-first alpa-intra mcmc optcnn unity; do
  expect 0 "search +$search: [0-9]+ plans compared, [0-9]+ million steps, [0-9.]+ seconds; meshes tried: 1; no bound is known" - \
    plan mlp.egraph $quick --machine 'host*2' --mesh cpu=2 --train sgd --work 200 --search $search -o $search.json
  expect 0 'step +[0-9.]+ us' - simulate $search.json
  expect 0 '"excess_bytes":0' - plan mlp.egraph $quick --machine 'host*2' --mesh cpu=2 --train sgd --work 200 --search $search --json
  keys search.algorithm search.proposals search.work search.seconds search.excess_bytes overlap.seconds overlap.plans
  expect 0 'too large +by [0-9]+ bytes of a device' - plan mlp.egraph $quick --machine 'host*2' --mesh cpu=2 --train sgd \
    --work 200 --search $search --memory 10000
done
expect 1 - "all plans of a tiny step" plan mlp.egraph $quick --machine 'host*2' --train sgd --search exhaustive --work 20
expect 1 - "search algorithm 'alpa-intra' finds a plan, no graph for one device" optimize layer.egraph $quick --search alpa-intra
expect 1 - "search algorithm 'alpa-intra' finds a plan, no graph for one device: it takes no baselines" plan mlp.egraph $quick --machine 'host*2' --search alpa-intra \
  --baselines

# Pipelines, simulated.
plan="plan mlp.egraph $quick --machine host*2 --train sgd --loss mean-squared-error"
for search in alpa-stages megatron-grid; do
  expect 0 "$search: 4 micro-batches, 2 devices, [0-9]+ layers; [0-9]+ stages wanted, [0-9]+ planned" - \
    $plan --micro-batches 4 --search $search
  expect 0 's simulated +[0-9.e-]+ s formula +[0-9.]+ GB' - $plan --micro-batches 4 --search $search --text
  expect 0 '"algorithm": "'$search'", "micro_batches": 4' - $plan --micro-batches 4 --search $search --json
done
expect 0 'too large by [0-9.]+ GB' - $plan --micro-batches 4 --search alpa-stages --memory 1000
expect 0 's simulated +[0-9.e-]+ s on one device' - $plan --micro-batches 4 --search min-cut
expect 0 'too large by' - $plan --search min-cut --memory 1000
expect 1 - 'staged.json: staged plans are simulated only, there is nothing to write' $plan --search megatron-grid -o staged.json
expect 1 - "search algorithm 'min-cut' finds stages of a training step" plan mlp.egraph $quick --machine 'host*2' --search min-cut
expect 1 - "search algorithm 'alpa-stages' finds stages of a training step: it takes no mesh" $plan --search alpa-stages --mesh cpu=2
finish
