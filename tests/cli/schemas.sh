# What the command writes as JSON is what the schemas say, and the schemas notice what is not.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
PYTHON=$5
"$PYTHON" "$CLI/schemas.py" --has || exit $?

cat >mlp.egraph <<'X'
(egraph-graph 1)
(input x "float32[64,96]")
(weight w1 "float32[96,255]")
(weight w2 "float32[255,32]")
(let m (matmul x w1))
(let h (relu m))
(let y (matmul h w2))
(output y)
X

# Documents are kept, and validated together: Python starts slowly.
mkdir documents
valid() { # SCHEMA FILE
  cases=$((cases + 1))
  kept=documents/$cases.$2
  cp "$2" "$kept"
  set -- "$1" "$kept"
  echo "$SOURCE/schema/$1.json $2" >>pairs
}

plans() { # ARGUMENTS...
  expect 0 '' '' plan mlp.egraph --no-measure --json -o plan.json "$@"
  cp stdout report.json
  valid plan-report report.json
  valid plan plan.json
  expect 0 '' - explain plan.json --json
  cp stdout summary.json
  valid plan-summary summary.json
}
plans --machine 'host*1'
plans --machine 'host*2' --search alpa-intra
plans --machine 'host*2' --baseline zero-1
plans --machine 'host*4' --train adam --loss mean-squared-error --baselines --certificate proof.json
expect 1 '' '' plan mlp.egraph --machine 'host*2' --memory 1000 --no-measure --json
cp stdout none.json
valid plan-report none.json

report() { # SCHEMA ARGUMENTS...
  schema=$1
  shift
  expect 0 '' '' "$@" --json
  cp stdout "$schema.json"
  valid "$schema" "$schema.json"
}
report optimize-report optimize mlp.egraph --no-measure -o best.egraph
report optimize-report optimize mlp.egraph --no-measure --search backtracking
report profile-report profile mlp.egraph --db costs.db --show --validate 2
report optimize-report optimize mlp.egraph --db costs.db --read-only
report optimize-report explain mlp.egraph --db costs.db --read-only
expect 0 '' '' optimize mlp.egraph --no-measure -o best.egraph --explanation why
report replay-report replay mlp.egraph best.egraph why
report run-report run mlp.egraph --draw-weights --steps
report generate-report rules generate --family lattice --operators 1 --candidates 16 -o lattice.rules
report run-report run --compare mlp.egraph best.egraph --draw-weights
report run-report run plan.json --draw-weights --verify
expect 0 '' '' plan mlp.egraph --no-measure --machine 'host*2' -o forward.json
report run-report run forward.json --draw-weights
report simulate-report simulate plan.json --machine 'host*4' --no-measure
report simulate-report simulate plan.json --machine 'host*4' --no-measure --rounds auto
report simulate-report simulate plan.json
cat >four.machine <<'M'
(egraph-machine 1)
(name four)
(nodes 4)
(device (memory 1e9) (bandwidth 1e11) (overhead 1e-6) (peak (float32 1e11)))
(link wire (latency 1e-6) (bandwidth 1e9))
(axis cpu nodes wire)
M
report simulate-report simulate plan.json --machine ./four.machine
report exchanges-report profile --collectives --ranks 2 --db costs.db
expect 0 '' '' plan mlp.egraph --db costs.db --read-only --machine 'host*2' -o two.json
report simulate-report simulate two.json --machine 'host*2' --db costs.db --read-only
matches simulate-report.json '"exchanges":\{"basis":"measured","channel":"local","ranks":2,"date":"20'
for search in alpa-stages megatron-grid min-cut; do
  report stages-report plan mlp.egraph --machine 'host*2' --no-measure --train sgd --loss mean-squared-error --micro-batches 2 --search $search
done
report plan-report plan mlp.egraph --no-measure --machine 'host*2' --train sgd --loss mean-squared-error --overlap --work 200
expect 0 '' '' bench compare --models mlp,tensat-squeezenet --machine ./four.machine --nodes 2 --work 10 --search egraph,single-device --json compare.json
valid compare-report compare.json
report rules-report rules
cat >sides.json <<'X'
{"nodes": {"r": {"children": ["a"], "eclass": "R", "cost": 0}, "a": {"eclass": "A", "cost": 1},
  "b": {"eclass": "A", "cost": 3}}, "root_eclasses": ["R"]}
X
report extract-report extract sides.json --choices --statistics --certificate sides.proof
cat >shards.json <<'X'
{"problem": {"name": "two", "edges": {"costs": [[30, 40]], "nodes": [[0, 1]]},
  "nodes": {"costs": [[15], [55, 65]], "intervals": [[0, 9], [0, 9]], "usages": [[10], [25, 25]]}}}
X
report shard-report shard shards.json

printf '(egraph-rules 1 symbolic)\n(rule one (lhs (* ?x 1)) (rhs ?x))\n' >one.rules
expect 0 '' '' saturate one.rules --json-egraph egraph.json --term '(+ a (* b 1))'
valid egraph egraph.json
printf '(egraph-rules 1)(rule mine (source "test")(lhs (relu (relu ?x)))(rhs (relu ?x)))\n' >mine.rules
report saturate-report saturate one.rules --term '(+ a (* b 1))'
report rules-report rules mine.rules --verify
report rules-report rules mine.rules --guards
cat >pair.rules <<'X'
(egraph-rules 1)
(rule shifted (source "test") (lhs (add (pad :pads ?p ?x) ?y))
  (rhs (add (pad :pads ?p ?x) (slice :starts [0] :ends [(dim ?y 0)] :steps [1] (pad :pads ?p (slice :starts [(at ?p 0)] :ends [(dim ?y 0)]
    :steps [1] ?y))))) (when (= (rank ?x) 1) (= (rank ?y) 1) (= (dim ?y 0) (+ (+ (dim ?x 0) (at ?p 0)) (at ?p 1))) (> (at ?p 0) 0) (= (at ?p 1) 0)))
X
report rules-report rules correct pair.rules
report rules-report rules minimize mine.rules
report rules-report rules found mine.rules --of mine.rules
report rules-report rules stats mlp.egraph --no-measure
report rules-report rules mine.rules --prove
report rules-report rules mine.rules --derive
mkdir questions
report rules-report rules mine.rules --smt questions
printf 'relu(input_1)==tanh(input_1)relu(relu(input_1))==relu(input_1)' >published.txt
report rules-report rules --import published.txt

last='schemas.py'
# shellcheck disable=SC2046
"$PYTHON" "$CLI/schemas.py" $(cat pairs) >stdout 2>stderr || fail "$(cat stdout)"
finish
