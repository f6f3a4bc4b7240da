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

valid() { # SCHEMA FILE
  last="schema/$1.json $2" cases=$((cases + 1))
  "$PYTHON" "$CLI/schemas.py" "$SOURCE/schema/$1.json" "$2" >stdout 2>stderr || fail "$(cat stdout)"
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
plans --machine 'host*4' --train adam --loss mean-squared-error --baselines --certificate proof.json
expect 1 '' '' plan mlp.egraph --machine 'host*2' --memory 1000 --no-measure --json
cp stdout none.json
valid plan-report none.json

printf '(egraph-rules 1 symbolic)\n(rule one (lhs (* ?x 1)) (rhs ?x))\n' >one.rules
expect 0 '' '' saturate one.rules --json-egraph egraph.json --term '(+ a (* b 1))'
valid egraph egraph.json
finish
