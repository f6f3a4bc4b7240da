# egraph optimize --explanation and egraph replay: what is explained, and what is refused.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

cat >model.egraph <<'X'
(egraph-graph 1)
(input x "float32[2,3]") (weight w "float32[3,3]" [1 2 3 4 5 6 7 8 9]) (weight b "float32[3]" [0.5 1 2])
(let a (matmul x w)) (let c (add a b)) (let d (relu c)) (let e (transpose :perm [1 0] d)) (output e)
X
sed 's/relu/tanh/' model.egraph >other.egraph
sed 's/9]/8]/' model.egraph >weight.egraph
expect 0 '^predicted' - optimize model.egraph --no-measure -o out.onnx --explanation why
matches why '^\(egraph-explanation 1\)$'
matches why '^ \(matmul-'
expect 0 '^equal by [1-9][0-9]* steps of [1-9]' - replay model.egraph out.onnx why
expect 0 '"equal":true,"steps":[1-9]' - replay model.egraph out.onnx why --json
keys equal steps rules constants math seconds
expect 1 - "output 'e' of the given model does not follow" replay other.egraph out.onnx why
expect 1 - "weight with other data" replay weight.egraph out.onnx why
expect 1 - "value '.*' of the result" replay model.egraph other.egraph why
sed '/^ (matmul-.* [0-9]*)$/d' why >less
expect 1 - 'does not follow|expected' replay model.egraph out.onnx less
sed 's/^ (matmul-\([a-z-]*\) / (matmul-nothing-\1 /' why >named
expect 1 - 'step [0-9]+ \(matmul-nothing-.*\): there is no such rule; give the file' replay model.egraph out.onnx named
sed 's/(relu \([0-9]*\))/(relu 99)/' why >number
expect 1 - '^egraph: number:[0-9]+:[0-9]+: expected the number of a term before' replay model.egraph out.onnx number
expect 1 - 'begins with \(egraph-explanation 1\)' replay model.egraph out.onnx model.egraph
expect 1 - 'nowhere' replay model.egraph out.onnx nowhere
expect 2 - 'missing' replay model.egraph out.onnx
expect 1 - 'the model itself' optimize model.egraph --no-measure --explanation model.egraph
expect 1 - 'the output, too' optimize model.egraph --no-measure -o o.onnx --explanation o.onnx
expect 1 - 'this search finds a plan: it takes no explanation' plan model.egraph --no-measure \
  --explanation no
expect 1 - "search algorithm 'greedy' finds a graph for one device, no plan: it takes no explanation" optimize model.egraph --no-measure --search greedy --explanation no
absent no why-not

# A rule counts the axis of a concat from the end, and the written model from the front.
cat >sum.egraph <<'X'
(egraph-graph 1)
(input x "float32[8,4]") (input z "float32[8,6]") (weight w "float32[4,6]") (weight v "float32[6,6]")
(let m (matmul x w)) (let n (matmul z v)) (let y (add m n)) (output y)
X
expect 0 '^predicted' - optimize sum.egraph --no-measure -o sum.onnx --explanation sums
matches sums 'concat :axis 1 '
expect 0 '^equal by [1-9]' - replay sum.egraph sum.onnx sums

# Rules of files are read again, and the wrong file has none of them.
cat >mine.rules <<'X'
(egraph-rules 1)
(rule my-double-negation (source "definition") (class exact) (lhs (sub ?x (sub ?x ?y))) (rhs ?y) (when (same-type ?x ?y) (is-int ?x)))
X
cat >ints.egraph <<'X'
(egraph-graph 1) (input x "int64[4]") (input y "int64[4]") (let a (sub x y)) (let b (sub x a)) (let c (neg b)) (output c)
X
expect 0 '^predicted' - optimize ints.egraph --no-measure --rules mine.rules -o ints.onnx --explanation ints
matches ints 'my-double-negation'
expect 0 '^equal by 1 steps of 1 rules \(math exact\)' - replay ints.egraph ints.onnx ints --rules mine.rules
expect 1 - 'there is no such rule' replay ints.egraph ints.onnx ints

# Rules with parameters are replayed as the case that was applied, and as no other.
{
  echo '(egraph-graph 1) (weight w "float32[256,16]")'
  for i in 1 2 3 4 5; do
    echo "(input x$i \"float32[$((i + 3)),256]\") (let y$i (matmul x$i w)) (output y$i)"
  done
} >towers.egraph
expect 0 '^predicted' - optimize towers.egraph --no-measure -o towers2.egraph --explanation towers
matches towers '^ \(matmul-share-weight:5 '
expect 0 '^equal by 1 steps of 1 rules \(math exact\)' - replay towers.egraph towers2.egraph towers
for case in matmul-share-weight:4 matmul-share-weight:65 matmul-share-weight matmul-share-left:5; do
  sed "s/^ (matmul-share-weight:5 / ($case /" towers >tampered
  expect 1 - "step 1 \($case\)" replay towers.egraph towers2.egraph tampered
done

# A factor next to one is no one, and whole numbers are compared exactly.
cat >near.egraph <<'X'
(egraph-graph 1) (input x "bfloat16[4]") (weight k "bfloat16[1]" [1.0078125]) (let m (mul x k)) (let y (abs m)) (output y)
X
expect 0 '2 -> 2 operators' - optimize near.egraph --no-measure --math exact -o near.onnx
cat >whole.egraph <<'X'
(egraph-graph 1) (input x "int64[4]") (let k (fill :dtype int64 :shape [4] :value 1000000007)) (let y (add x k)) (output y)
X
expect 0 '^predicted' - optimize whole.egraph --no-measure -o whole2.egraph --explanation whole
sed 's/1000000007/1000000040/' whole2.egraph >whole3.egraph
expect 0 '^equal' - replay whole.egraph whole2.egraph whole
expect 1 - 'result' replay whole.egraph whole3.egraph whole

# Whole numbers that fills make are weights where ONNX is read; the largest that float64 holds are numbers, too.
for value in 3.0 16777217.0 9007199254740992.0; do
  cat >fill.egraph <<X
(egraph-graph 1) (input x "int64[2,3]") (let k (fill :dtype int64 :shape [2 3] :value $value))
(let a (add x k)) (let n (neg a)) (let b (neg n)) (output y b)
X
  expect 0 '^predicted' - optimize fill.egraph --no-measure -o fill.onnx --explanation fill
  expect 0 '^equal by' - replay fill.egraph fill.onnx fill
  expect 0 'runs' - run fill.onnx
done
sed 's/9007199254740992/9007199254740996/' fill.egraph >other.egraph
expect 1 - 'does not follow' replay other.egraph fill.onnx fill

# Operators that nobody knows, in another operator set, and with branches.
corpus="$SOURCE/tests/fuzz/corpus/onnx"
expect 0 '^predicted' - optimize "$corpus/branches" --no-measure -o branches.onnx --explanation branches
expect 0 '^equal by 2 steps' - replay "$corpus/branches" branches.onnx branches
sed 's/Relu/Tanh/' branches.onnx >tampered.onnx
expect 1 - 'is made by another operator than its term' replay "$corpus/branches" tampered.onnx branches

# An explanation needs all sizes.
expect 1 - "'L' is open; give it when the model is loaded \\(--dim L=N\\)" optimize "$corpus/two_sizes" --no-measure --dim N=3 -o sizes.onnx --explanation sizes
dims='--dim N=3 --dim L=2'
expect 0 '^predicted' - optimize "$corpus/two_sizes" --no-measure $dims -o sizes.onnx --explanation sizes
expect 0 '^equal by 1 steps' - replay "$corpus/two_sizes" sizes.onnx sizes $dims
expect 1 - 'give the same --dim and --batch' replay "$corpus/two_sizes" sizes.onnx sizes --dim N=4 --dim L=2
finish
