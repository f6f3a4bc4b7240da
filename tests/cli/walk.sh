# The example that walks models and plans prints what egraph explain prints of them, to the byte.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
WALK=$5

cat >mlp.egraph <<'X'
(egraph-graph 1)
(input x "float32[64,96]")
(weight w1 "float32[96,256]")
(weight w2 "float32[256,32]")
(let m (matmul x w1))
(let h (relu m))
(let s (slice :starts [0 0] :ends [64 128] :steps [1 1] h))
(let p (pad :pads [0 0 0 128] s))
(let y (matmul p w2))
(output z y)
X

# Of a graph: operator, value and type of every node; operands and attributes are the example's own.
expect 0 '' - explain mlp.egraph --no-builtin --formats 0 --no-measure
sed -E '1,/^ *cost  operator/d; /^$/,$d; s/^.{13} {2}(.{20}) {2}.{32}(.*)$/\1\2/' stdout >wanted
last="10_walk mlp.egraph" cases=$((cases + 1))
"$WALK" mlp.egraph >walked 2>stderr || fail 'the example fails'
grep -v '^    ' walked >stdout
same stdout wanted
[ -s wanted ] || fail 'there is nothing to compare'
grep -q '^    :ends 64 128$' walked || fail 'the example prints no attribute'

# Of a plan: its steps, but for the words that say what a step splits (loops have numbers there) and what a made-up name
# is. Nothing repeats in these plans, so no line is left out.
bare() { sed -E '/^ /{s/ \([^)]*\) / /g; s/ \([^)]*\) / /g; s/ \[.*\]//}' "$1"; }
plans() { # MODEL ARGUMENTS...
  expect 0 '^plan ' '' plan "$@" --no-measure -o plan.json
  expect 0 '^STEPS on ' - explain plan.json --text --no-measure
  sed -n '/^STEPS/,/^SECONDS/p' stdout | sed '$d' >steps
  "$WALK" plan.json >walked 2>stderr || fail 'the example fails'
  if grep -q ' times more the same' steps; then fail 'a line is left out: nothing to compare with'; fi
  bare steps >wanted
  bare walked >walked.bare
  same walked.bare wanted
}
plans mlp.egraph --machine 'host*1'
plans mlp.egraph --machine 'host*4' --mesh a=2,b=2
plans mlp.egraph --machine 'host*4' --train adam --loss mean-squared-error --micro-batches 2 --baseline zero-1
plans mlp.egraph --machine dgx-h100 --baseline megatron
"$WALK" none.json 2>stderr && fail 'a file that is not there is none'
grep -q 'none.json' stderr || fail 'the error does not name the file'
finish
