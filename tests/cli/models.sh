# Models good and bad, through optimize, run and explain.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
quick="--no-measure --db estimates.db"

expect 0 '^predicted .*2 -> 1 operators' - optimize layer.egraph $quick -o layer.onnx
present layer.onnx
expect 0 '^\{' - optimize layer.egraph $quick -o again.onnx --json
keys cost_before cost_after bound gap status nodes classes iterations stop nodes_before \
  nodes_after measured seconds.saturate seconds.profile seconds.extract seconds.total rules
same layer.onnx again.onnx
expect 0 '^\{' - optimize layer.egraph $quick -o two.onnx --json --threads 2
same layer.onnx two.onnx
expect 0 'outputs equal' - run --compare layer.egraph layer.onnx
expect 0 '"equal":true' - run --compare layer.egraph layer.onnx --json --repeats 2 --threads 2
keys max_error equal time_a time_b max_steps quanta_differ quanta_unexplained
cat >steps.egraph <<'X'
(egraph-graph 1)
(input x "float32[16,16]")
(weight s "float32[]" [0.0125])
(weight z "int8[]" [3])
(weight o "int8[]" [3])
(let q (quantize-linear x s z))
(let y (dequantize-linear q s o))
(output y)
X
expect 0 '^outputs equal: largest error 0 ' - run --compare steps.egraph steps.egraph --repeats 1
sed 's/(weight z "int8\[\]" \[3\])/(weight z "int8[]" [4])/' steps.egraph >off.egraph
expect 1 '^quantized: 256 elements differ, by 1 steps .* rounding does not explain 256$' - run --compare steps.egraph off.egraph --repeats 1
expect 1 '"equal":false,"max_steps":1,"quanta_differ":256,"quanta_unexplained":256,' - run --compare steps.egraph off.egraph --repeats 1 --json
expect 0 'GFLOP/s \(median of 10 runs\)' - run layer.egraph
expect 0 '^\{' - run layer.onnx --json --repeats 3 --seed 9 --backend reference
keys time flops repeats
expect 0 'relu' - run layer.egraph --steps --repeats 2
expect 0 '^\{' - run layer.egraph --steps --json --repeats 2
keys time flops repeats steps steps.0.node steps.0.op steps.0.kernel steps.0.seconds
expect 0 'made by' - explain layer.egraph $quick
expect 0 'rejected' - explain layer.egraph $quick
expect 0 '^\{' - explain layer.egraph $quick --json
keys explanation

# Text as output: small weights are written out, large ones only declared.
expect 0 '^predicted' - optimize layer.egraph $quick -o text.egraph
grep -q '^(egraph-graph 1)' text.egraph || fail "text.egraph is no graph"
expect 0 'outputs equal' - run --compare layer.egraph text.egraph
expect 0 '^predicted' '^egraph: note: conv.text.egraph: the data of 1 weights is left out' \
  optimize "$SOURCE/tests/fuzz/corpus/onnx/conv" $quick -o conv.text.egraph
expect 0 '^predicted' - optimize layer.egraph $quick -o /dev/null

# Raw tensors.
head -c 128 /dev/zero >zeros.raw
expect 0 '' - run layer.egraph --input x=zeros.raw --output y=y.raw --repeats 1
[ "$(wc -c <y.raw)" -eq 96 ] || fail "y.raw has 96 bytes"
head -c 96 /dev/zero | cmp -s - y.raw || fail "zeros give zeros"
expect 1 - 'short.raw: cannot be read, or is not exactly the 128 bytes' run layer.egraph --input x=short.raw
head -c 129 /dev/zero >long.raw
expect 1 - 'long.raw: cannot be read' run layer.egraph --input x=long.raw
expect 1 - 'input z=zeros.raw: write NAME=FILE .* they are: x' run layer.egraph --input z=zeros.raw
expect 1 - 'output y: write NAME=FILE .* they are: y' run layer.egraph --output y
expect 1 '' 'no/such/y.raw: cannot be written' run layer.egraph --repeats 1 --output y=no/such/y.raw
[ ! -w /dev/full ] || expect 1 '' '/dev/full: cannot be written' run layer.egraph --repeats 1 --output y=/dev/full

# Files that are no models: the file, what is wrong.
printf '' >empty.onnx
printf '' >empty.egraph
printf 'certainly no model' >garbage.onnx
mkdir folder.onnx
head -c 60 layer.onnx >cut.onnx
head -c 100000 /dev/urandom >noise.onnx
for model in absent.onnx absent.egraph empty.onnx empty.egraph garbage.onnx folder.onnx cut.onnx noise.onnx; do
  expect 1 - "^egraph: $model:" optimize $model $quick -o never.onnx
  expect 1 - "^egraph: $model:" run $model
  expect 1 - "^egraph: $model:" run --compare layer.egraph $model
  absent never.onnx
done
last='cat layer.onnx | egraph run /dev/stdin' cases=$((cases + 1))
cat layer.onnx | "$EGRAPH" run /dev/stdin >stdout 2>stderr
judge $? 1 - '^egraph: /dev/stdin: not a regular file'

bad() { # TEXT REGEX
  printf '(egraph-graph 1)\n%s' "$1" >bad.egraph
  expect 1 - "^egraph: bad.egraph:[0-9]+:[0-9]+: .*$2" optimize bad.egraph $quick
  expect 1 - "^egraph: bad.egraph:[0-9]+:[0-9]+: .*$2" run bad.egraph
}
bad '(let a (relu b)) (let b (relu a)) (output a)' 'b'
bad '(input x "float32[2]") (let y (rellu x)) (output y)' "no operator 'rellu'"
bad '(input x "float32[2,3]") (let y (matmul x x)) (output y)' 'matmul'
bad '(input x "float32[2,3]") (let y (relu x)) (let y (relu x)) (output y)' "y"
bad '(input x "float33[2]") (output x)' 'float33'
bad '(input x "float32[-2]") (output x)' '-2'
bad '(input x "float32[4000000000,4000000000,4000000000]") (output x)' ''
bad '(input x "float32[2]"' ''
bad '(weight w "float32[2]" :data [1 2 3]) (output w)' ''

# A tensor that no machine holds is typed, but not run.
cat >huge.egraph <<'X'
(egraph-graph 1)
(input x "float32[1000000,1000000,100]")
(let y (relu x))
(output y)
X
expect 0 predicted - optimize huge.egraph $quick
expect 1 - '^egraph: ' run huge.egraph --repeats 1

# Graphs of nothing.
printf '(egraph-graph 1)\n(input x "float32[2]")\n(output x)\n' >through.egraph
expect 0 '0 -> 0 operators' - optimize through.egraph $quick -o through.onnx
expect 0 'outputs equal' - run --compare through.egraph through.onnx
expect 0 'GFLOP' - run through.egraph
expect 0 '^\{' - explain through.egraph $quick --json

printf '(egraph-graph 1)\n(input x "float32[2]")\n(let y (relu x))\n' >useless.egraph
expect 0 '0 operators' '^egraph: note: useless.egraph has no outputs' optimize useless.egraph $quick
expect 0 'GFLOP' '' run useless.egraph
expect 0 'outputs equal' '' run --compare useless.egraph useless.egraph

# An operator of which nothing is known is kept, and cannot be run.
cat >opaque.egraph <<'X'
(egraph-graph 1)
(input x "float32[2,3]")
(let a (relu x))
(let b (relu a))
(let z (opaque "Mystery" b))
(output z)
X
expect 0 '^predicted' - optimize opaque.egraph $quick -o opaque.out.egraph
grep -q Mystery opaque.out.egraph || fail "the operator is kept"
[ "$(grep -c relu opaque.out.egraph)" -eq 1 ] || fail "what is around it is optimized"
expect 1 - "^egraph: .*'Mystery'" run opaque.egraph
expect 1 - "^egraph: .*Mystery" run --compare opaque.egraph opaque.egraph
expect 0 '^predicted' - optimize "$SOURCE/tests/fuzz/corpus/onnx/unknown" $quick -o unknown.onnx
expect 1 - "^egraph: .*'Mystery' cannot be executed" run unknown.onnx
present unknown.onnx
expect 0 '^predicted' - optimize unknown.onnx $quick

# A model that names more than it gives.
expect 0 '^open +N \(example 8\)' - optimize "$SOURCE/tests/fuzz/corpus/onnx/symbolic" $quick -o open.onnx
expect 1 - '^egraph: a session needs the sizes of all dimensions, and .N. is open; .*--dim N=N' run open.onnx
expect 1 - "^egraph: .*: the inputs have no symbolic dimension 'nobody'; symbolic dimensions are: N" \
  optimize open.onnx $quick --dim nobody=3
expect 1 - "^egraph: .*: the size of dimension 'N' is 0; it must be 1 or more" optimize open.onnx $quick --dim N
expect 0 '^predicted' - optimize open.onnx $quick --dim N=3 -o three.onnx
expect 0 'outputs equal' - run --compare open.onnx three.onnx --dim N=3
expect 0 '^predicted' - optimize "$SOURCE/tests/fuzz/corpus/onnx/symbolic" $quick --batch 2
for command in 'optimize --no-measure' run explain 'plan --machine host*2' 'run --ranks 2'; do
  expect 1 - "^egraph: layer.egraph: the text form of a graph has all its sizes" $command layer.egraph --batch 8
done

# Every element type; half-precision results may differ by a rounding.
for dtype in float64 float16 bfloat16 int32 int64; do
  cat >"$dtype.egraph" <<X
(egraph-graph 1)
(input x "$dtype[4,8]")
(weight w "$dtype[8,8]")
(let m (matmul x w))
(let n (matmul m w))
(let r (relu n))
(let a (add r r))
(output a)
X
  expect 0 '^predicted' - optimize $dtype.egraph $quick -o $dtype.onnx
  expect 0 'outputs equal' - run --compare $dtype.egraph $dtype.onnx --repeats 1
done
for dtype in float16 uint8 int8 bool; do
  cat >"moved_$dtype.egraph" <<X
(egraph-graph 1)
(input x "$dtype[4,8]")
(input z "$dtype[4,8]")
(let t (transpose :perm [1 0] x))
(let u (transpose :perm [1 0] t))
(let y (concat :axis 0 u z))
(let s (slice :starts [0 0] :ends [4 8] :steps [1 1] y))
(output y)
(output s)
X
  expect 0 '4 -> 1 operators' - optimize moved_$dtype.egraph $quick -o moved_$dtype.onnx
  expect 0 'outputs equal: largest error 0 ' - run --compare moved_$dtype.egraph moved_$dtype.onnx --repeats 1
done

# Names of outputs that are inputs or weights; dead operators; empty tensors.
cat >odd.egraph <<'X'
(egraph-graph 1)
(input x "float32[2,3]")
(input unused "float32[5]")
(weight w "float32[2,3]")
(weight g "float32[2]" [1 2])
(weight e "float32[3,0]")
(let y (relu x))
(let dead (neg x))
(let lost (opaque "Nothing" x))
(let none (matmul y e))
(output y)
(output x)
(output w)
(output second y)
(output g)
(output none)
X
expect 0 '^predicted' - optimize odd.egraph $quick -o odd.onnx
expect 0 'outputs equal' - run --compare odd.egraph odd.onnx

# Models that cannot be compared.
printf '(egraph-graph 1)\n(input x "float32[4,9]")\n(let y (relu x))\n(output y)\n' >wide.egraph
printf '(egraph-graph 1)\n(input x "float32[4,8]")\n(let y (relu x))\n(output y)\n' >other.egraph
printf '(egraph-graph 1)\n(input x "float32[4,8]")\n(let y (relu x))\n(let z (neg x))\n(output y)\n(output z)\n' >more.egraph
expect 1 - '^egraph: .*number of inputs or outputs' run --compare other.egraph more.egraph
expect 1 - "^egraph: input 0 \('x'\) differs in type" run --compare layer.egraph wide.egraph
expect 1 - "^egraph: output 0 \('y'\) differs in type" run --compare layer.egraph other.egraph
printf '(egraph-graph 1)\n(input x "float32[4,8]")\n(let y (neg x))\n(output y)\n' >negated.egraph
expect 1 'outputs DIFFER' - run --compare other.egraph negated.egraph
expect 1 '"equal":false' - run --compare other.egraph negated.egraph --json

# Outputs that cannot be written leave nothing behind.
mkdir folder
for output in no/such/folder/o.onnx folder layer.egraph/o.onnx /proc/o.onnx; do
  expect 1 - "^egraph: $output" optimize layer.egraph $quick -o $output
done
[ ! -w /dev/full ] || expect 1 - '^egraph: /dev/full: ' optimize layer.egraph $quick -o /dev/full
[ -z "$(ls folder)" ] || fail "the folder stays empty"
[ -z "$(ls | grep -i tmp)" ] || fail "a temporary file stays: $(ls)"
finish
