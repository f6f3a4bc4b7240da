# Help, flags, exit statuses, and what is said of bad usage.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

"$EGRAPH" >stdout 2>stderr; status=$? last=egraph
[ $status -eq 2 ] && grep -q '^usage: egraph COMMAND' stderr || fail "bare call"
expect 0 'usage: egraph COMMAND' - --help
expect 0 'usage: egraph COMMAND' - help
expect 0 '^egraph [0-9]+\.[0-9]+\.[0-9]+$' - --version
expect 2 - "unknown command 'optimise'; did you mean 'optimize'\?$" optimise
expect 2 - "unknown command 'abracadabra'; see egraph help$" abracadabra
for command in optimize run profile rules explain extract 'bench extract'; do
  expect 0 "^usage: egraph $command" - $command --help
  expect 0 '  --json ' - $command --help
  expect 2 - "unknown option '--jason'; did you mean '--json'\?$" $command --jason
  expect 2 - "takes no value: '--json=1'" $command --json=1
  expect 2 - "unknown option '--abracadabra=1'; see egraph $command --help$" $command --abracadabra=1
  expect 0 '' '' $command --help --jason
done
for command in optimize run explain; do
  expect 2 - "a file is missing; usage: egraph $command" $command
  expect 2 - "unexpected argument|--compare takes two models" $command a b c
done
expect 2 - 'profile takes a model, or --collectives' profile
expect 2 - 'unexpected argument' profile a b c
expect 2 - "unexpected argument" rules $(seq 257)

# Each message names the culprit, and what to do.
cat >unknown.egraph <<'X'
(egraph-graph 1)
(input x "float32[2]")
(let y (matmull x x))
X
expect 1 - "unknown.egraph:3:8: there is no operator 'matmull'; did you mean 'matmul'\?$" optimize unknown.egraph
sed 's/matmull/wombat/' unknown.egraph >wombat.egraph
expect 1 - "there is no operator 'wombat'; egraph rules --operators lists them$" optimize wombat.egraph
sed 's/float32/flaot/' unknown.egraph >typo.egraph
expect 1 - "typo.egraph:2:10: unknown element type 'flaot' in 'flaot\[2\]'; there are float32, .*, bool$" optimize typo.egraph
sed 's/float32/float33/' unknown.egraph >typo.egraph
expect 1 - "unknown element type 'float33' in 'float33\[2\]'; did you mean float32\?$" optimize typo.egraph
cat >other.egraph <<'X'
(egraph-graph 1)
(input x "float32[3]")
(output x)
X
sed 's/\[3/[4/' other.egraph >another.egraph
expect 1 - "input 0 .'x'. differs in type between the graphs: float32\[3\] and float32\[4\]; compare forms" \
  run --compare other.egraph another.egraph
expect 2 - "unknown option '--seeds'; did you mean '--seed'\?$" rules --seeds 3
expect 2 - "unknown option '--devices'; see egraph plan --help$" plan layer.egraph --devices 4
expect 2 - "there is no file 'verify'; did you mean '--verify'\?$" rules verify layer.rules
expect 2 - "reads no file 'layer.rules'$" rules --operators layer.rules
expect 2 - "--memory is a number .*, not '40GB'; see egraph plan --help$" plan layer.egraph --memory 40GB
expect 2 - "'bench' needs one more word: bench extract, .*; see egraph help bench$" bench

# Every flag with a number: what is no number, and what is out of range.
"$EGRAPH" optimize --help >help
for flag in $(sed -n 's/^  \(--[a-z-]*\) [NX] .*/\1/p' help); do
  expect 2 - "$flag is a number .*, not 'many'; see egraph optimize --help" optimize layer.egraph $flag many
  expect 2 - "$flag is a number .*, not ''" optimize layer.egraph $flag=
  expect 2 - "$flag is a number .*, not 'nan'" optimize layer.egraph $flag nan
  expect 2 - "$flag is a number .*, not '1e999'" optimize layer.egraph $flag 1e999
  expect 2 - "$flag must" optimize layer.egraph $flag -1
  expect 2 - "$flag must|below 2.64" optimize layer.egraph $flag 1e300
  expect 2 - "a value is missing after '$flag'" optimize layer.egraph $flag
done
[ "$(grep -c '^  --[a-z-]* [NX] ' help)" -ge 12 ] || fail "the flags of egraph_search.def are in the help"
for flag in $(sed -n 's/^  \(--[a-z-]*\) N .*/\1/p' help); do
  expect 2 - "is a whole number|must lie" optimize layer.egraph $flag 1.5
done
expect 2 - '--extractor is one of ilp\|dag\|tree, not .guess.' optimize layer.egraph --extractor guess
expect 2 - "--extractor is one of ilp\|dag\|tree, not 'il'; did you mean 'ilp'\?$" optimize layer.egraph --extractor il
expect 2 - '--extractor is one of' optimize layer.egraph --extractor 'ilp|dag'
expect 2 - '--scheduler is one of backoff\|simple' optimize layer.egraph --scheduler=
expect 2 - '--threads must lie between 1 and 1024' run layer.egraph --threads 0
expect 2 - '--repeats must lie between 1 and' run layer.egraph --repeats 0
expect 2 - '--compare takes two models' run --compare layer.egraph
expect 2 - '--compare takes two models' run layer.egraph layer.egraph

# Every flag of optimize with a value that is fine.
expect 0 predicted - optimize layer.egraph --no-measure --run-threads 2 --batch 4 --extractor dag \
  --scheduler simple --node-limit 1e3 --iteration-limit=4 --time-limit 2.5 --byte-limit 1000000000 \
  --saturate-time-limit 1 --gap 0.01 --seed 12345678901234567 --threads 2 --formats 0 \
  --fold-bytes 0 --backend reference --db new.db -o out.onnx
present out.onnx
expect 0 predicted - optimize --no-measure --db new.db -- layer.egraph
expect 1 - '^egraph: no back-end .abacus. in this build; there are ' optimize layer.egraph --backend abacus
expect 1 - '^egraph: no back-end .abacus.' run layer.egraph --backend abacus
expect 1 - "abracadabra" optimize layer.egraph --no-measure --disable abracadabra

# A disk that is full.
if [ -w /dev/full ]; then
  last='egraph rules > /dev/full' cases=$((cases + 1))
  "$EGRAPH" rules >/dev/full 2>stderr
  [ $? -eq 1 ] && grep -q '^egraph: standard output cannot be written' stderr || fail "not noticed"
fi
finish
