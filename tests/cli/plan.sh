# egraph plan and egraph explain of plans: what they say, and what is said of bad input.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

printf '(egraph-graph 1)\n(input x "float32[8,8]")\n(let y (relu x))\n(output y)\n' >bare.egraph

expect 0 '^usage: egraph plan MODEL' - plan --help
expect 2 - 'a file is missing; usage: egraph plan' plan
expect 2 - "unknown option '--jason'; did you mean '--json'" plan --jason
expect 2 - '--train is one of sgd\|momentum\|adam\|adamw, not .lion.' plan mlp.egraph --train lion
expect 2 - '--micro-batches must' plan mlp.egraph --train sgd --micro-batches 0
expect 2 - 'are of training; give --train too' plan mlp.egraph --bf16

# A plan, its table, its file, and what is said of it.
train='--no-measure --machine host*4 --train adam --loss mean-squared-error'
# A baseline's bound is of its plans alone.
expect 0 '^plan +optimal: proven, over all variants, of its plans \(zero-1\)$' - plan mlp.egraph $train --baseline zero-1
expect 0 '^bound +no plan of zero-1 takes less than ' - plan mlp.egraph $train --baseline zero-1
expect 0 '^plan +optimal: proven, over all variants$' - plan mlp.egraph $train -o plan.json
matches stdout '^step +[0-9.]+ us on (cpu=4|outer=2,inner=2): 4 devices$'
matches stdout '^memory +[0-9.]+ kB of [0-9.]+ [GT]B on every device$'
matches stdout '^bottleneck +computing [0-9.]+ % of the seconds, exchanges over cpu '
matches stdout '^warning +[0-9.]+ % of the seconds are costs of operators guessed'
matches stdout '^  weights +w1: columns .dimension 1. over cpu$'
matches stdout '^forward +all-reduce +cpu +1 '
[ "$(sed -n 1p stdout | cut -c1-4)" = plan ] || fail 'the answer stands first'
if grep -q 'w1[.]m' stdout; then fail 'states are told on demand only'; fi
present plan.json
expect 0 '^step +[0-9.]+ us on cpu=4: 4 devices$' - explain plan.json
matches stdout '^  activations +h: columns .dimension 1. over cpu$'
matches stdout '^               y: partial sums over cpu; then whole on every device$'
if grep -q '^STEPS' stdout; then fail 'steps are told on demand only'; fi
expect 0 '^STEPS on cpu=4$' - explain plan.json --text
matches stdout 'all-reduce y P -> R over cpu, 4.1 kB'
matches stdout ' .gradient of w1. = matmul '
matches stdout '^  weights, optimizer states '
expect 0 'Reduce\(4\) y P -> R' - explain plan.json --unity
expect 0 '"collectives": \[\{"phase"' - explain plan.json --json
keys devices seconds memory_bytes memory
expect 0 '"status":"optimal"' - plan mlp.egraph $train --json
keys status cost bound gap mesh devices memory_bytes collectives memory seconds.total least_memory_bytes
matches stdout '"collectives":\[\{"phase":"forward","kind":"all-reduce","axis":"cpu","count":1,"bytes":4096,'
expect 0 '^step .* on outer=2,inner=2: ' - plan mlp.egraph $train --mesh outer=2,inner=2 -o other.json --text
matches stdout '^inputs, weights and states$'
expect 0 '' - explain plan.json --against other.json
[ -s stdout ] || fail 'two plans on different meshes differ'
expect 0 '^the plans are the same: ' - explain plan.json --against plan.json
expect 0 '"layouts": \[' - explain plan.json --against other.json --json
keys layouts moves before after
expect 0 '' - explain plan.json --against plan.json --json
keys layouts moves
matches stdout '"layouts": \[\], "outputs": \[\], "moves": \[\]'
expect 0 '^plan +optimal' - plan mlp.egraph --machine 'dgx-h100*2' --mesh node=2,gpu=8 --train sgd --bf16 --micro-batches 2 --clip 1
expect 0 '"devices":1,' - plan mlp.egraph --machine 'host*1' --json --no-measure

# Before the search: whether the name says what is to be written.
for command in plan optimize; do
  expect 1 - '^egraph: p.txt: the name does not say what is to be written; end it in .json .a plan., .onnx or' $command mlp.egraph --no-measure -o p.txt
  absent p.txt
done

# Names that a terminal would obey are shown.
printf '(egraph-graph 1)\n(input "x\033[2J" "float32[8,8]")\n(weight "w\302\233" "float32[8,8]")\n(let "y\033" (matmul "x\033[2J" "w\302\233"))\n(output "y\033")\n' >odd.egraph
shows() { # REGEX ARGUMENTS...
  wanted=$1
  shift
  expect 0 "$wanted" '' "$@"
  if LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177\233\377')]" stdout stderr; then fail 'control characters reach the terminal'; fi
}
shows 'x.x1b.2J' plan odd.egraph --no-measure --machine 'host*2' -o odd.json --text
shows 'w.xc2.x9b' explain odd.json --text
shows 'y.x1b' explain odd.egraph --no-measure
shows 'y.x1b' run odd.egraph --steps --draw-weights
expect 1 - 'they are: x.x1b.2J' run odd.egraph --draw-weights --input z=none

# A line end in a name does not end the line.
printf '(egraph-graph 1)\n(input "x\nbound 0" "float32[8,8]")\n(weight "w\nbound 1" "float32[8,8]")\n(let "y\nbound 2" (matmul "x\nbound 0" "w\nbound 1"))\n(let z (relu "y\nbound 2"))\n(output "y\nbound 2")\n(output z)\n' >lines.egraph
on_lines() { # REGEX ARGUMENTS...
  wanted=$1
  shift
  expect 0 "$wanted" '' "$@"
  if grep -Eq '^bound [012]' stdout stderr; then fail 'a name makes a line of its own'; fi
}
on_lines 'w.x0abound 1' plan lines.egraph $train -o lines.json --text
on_lines 'w.x0abound 1' explain lines.json --text
on_lines 'w.x0abound 1' simulate lines.json
on_lines 'y.x0abound 2' explain lines.egraph --no-measure
on_lines 'y.x0abound 2' run lines.egraph --steps --draw-weights
expect 1 - 'they are: x.x0abound 0' run lines.egraph --draw-weights --input z=none

# A file of a plan says what its costs rest on, and what a device holds; older files do not.
expect 0 '^memory +[0-9.]+ kB of [0-9.]+ GB on every device$' - explain plan.json
matches stdout '^warning .* guessed'
grep -q '"basis": "guessed"' plan.json || fail 'steps have no basis'
grep -q '"memory_limit_bytes": ' plan.json || fail 'the plan has no limit of memory'
sed -e 's/, "basis": "guessed"//' -e 's/"peak_seconds"/"peak_seconds"/' -e '/memory_limit_bytes/d' -e 's/\("peak_seconds": [0-9.e-]*\),$/\1}/' plan.json >older.json
expect 0 '^memory +[0-9.]+ kB on every device$' - explain older.json
if grep guessed stdout; then fail 'an older file does not know'; fi
edited() { # FROM TO REGEX
  sed "s/$1/$2/" plan.json >edited.json
  expect 1 - "^egraph: edited.json:.*$3" explain edited.json
}
edited '"single_device_seconds": [0-9.e-]*' '"single_device_seconds": -1' 'a number below zero; at ..single_device_seconds'
edited '"single_device_seconds": [0-9.e-]*' '"single_device_seconds": 1e300' 'a number above 1e.21, .*; at ..single_device_seconds'
edited '"single_device_seconds": [0-9.e-]*' '"single_device_seconds": "NaN"' 'at ..single_device_seconds'
edited '"memory_limit_bytes": [0-9.e+]*' '"memory_limit_bytes": -8' 'at ..memory_limit_bytes'
edited '"basis": "guessed"' '"basis": "dreamt"' 'dreamt. is no basis of a cost; .*; at ..steps.[0-9]+..basis'
echo '{"nodes": {}}' >other.json
expect 1 - '^egraph: other.json:1:10: unknown key "nodes"; .*; is it a plan\? egraph plan -o writes such files, which begin with "egraph-plan"$' explain other.json
expect 1 - 'is it a plan\?' run other.json

# Flags without effect are named.
expect 2 - '^egraph: --node-limit has no effect on a plan that is there; give it to egraph plan$' explain plan.json --node-limit 5
expect 2 - '^egraph: --rate has no effect on a run without training; give --train' run plan.json --rate 3
expect 2 - '^egraph: --optimizer has no effect on a model on one device; ' run mlp.egraph --draw-weights --optimizer adam
expect 2 - '^egraph: --steps has no effect on a comparison of two models; ' run --compare mlp.egraph mlp.egraph --draw-weights --steps
expect 2 - '--dim, --batch, --fix-defaults, --db and --no-measure are of models' run plan.json --fix-defaults

# optimize is the same command: for one device of this host where no flag names a target.
expect 0 '^plan +optimal: ' - optimize mlp.egraph $train
expect 0 '^step .* on one device$' - optimize mlp.egraph --no-measure --train adam --loss mean-squared-error
expect 0 '^step .* on cpu=2' - optimize mlp.egraph --no-measure --machine 'host*2' -o split.egraph
expect 0 '^predicted' - optimize split.egraph --no-measure
expect 0 '^predicted' - optimize mlp.egraph --no-measure -o one.json
expect 0 '^step .* on one device$' - explain one.json
expect 0 '^time ' - run one.json
cp one.json before.json
expect 0 '^predicted' - optimize mlp.egraph --no-measure -o one.json
cmp -s one.json before.json || fail 'the plan of one device is the same again'

# Rules: the shipped ones, none, one's own; graph and layouts together, or the graph first.
expect 0 '^e-graph +[0-9]+ nodes, [0-9]+ classes, [1-9][0-9]* iterations; saturation ended$' - plan mlp.egraph $train
expect 0 '^e-graph +([0-9]+) nodes, \1 classes, ' - plan mlp.egraph $train --groups 0 --no-builtin
expect 0 '"egraph":\{"nodes":' - plan mlp.egraph $train --algebra-first --json
keys egraph.nodes egraph.classes egraph.iterations egraph.stop
expect 0 'saturation stopped at its node limit; --node-limit X raises it$' - plan mlp.egraph $train --node-limit 30
printf '(egraph-rules 1)\n(rule none (source "t") (lhs (relu ?x)) (rhs (relu (relu ?x))) (when (= (rank ?x) 9)))\n' >mine.rules
expect 0 '^plan +optimal' - plan mlp.egraph $train --no-builtin --rules mine.rules --enable none
expect 0 '^plan +optimal' - plan mlp.egraph $train --disable matmul-activation --enable explore-parallel
expect 1 - "^egraph: .*no-rule" plan mlp.egraph $train --disable no-rule
expect 1 - '^egraph: nowhere.rules: No such file' plan mlp.egraph $train --rules nowhere.rules
expect 1 - '^egraph: nowhere/p.db: ' plan mlp.egraph $train --db nowhere/p.db

# Blocks: the same choices for those in the middle, or for each its own; told once.
expect 0 '^blocks +3 equal ones were planned as one in the first search' - plan deep.egraph $train --work 10 -o deep.json
expect 0 '"blocks":0,' - plan deep.egraph $train --no-fold --work 10 --json

# What is wrong is said, and what would help.
expect 1 - "^egraph: .*no-such" plan mlp.egraph --machine no-such
expect 1 - "'cpu' is no mesh; write axes like" plan mlp.egraph --machine 'host*4' --mesh cpu --no-measure
expect 1 - 'multiply to 3 devices, but the machine .host. has 4; .* or name a machine of as many' plan mlp.egraph --machine 'host*4' --mesh cpu=3 --no-measure
expect 1 - "^egraph: there is no loss 'hinge'; choose" plan mlp.egraph --train sgd --loss hinge --no-measure
expect 1 - '^egraph: there is nothing to train' plan bare.egraph --train sgd --no-measure
printf '(egraph-graph 1)\n(input x "float32[8,8]")\n' >blind.egraph
expect 0 '^plan +optimal' '^egraph: note: blind.egraph has no outputs' plan blind.egraph --no-measure
expect 1 - 'the least peak that is known is .* bytes\); raise the limit' plan mlp.egraph $train --memory 1000 -o small.json
absent small.json
least=$(sed -n 's/.*(\([0-9]*\) bytes).*/\1/p' stderr)
expect 0 '^plan +(optimal|within|at most|feasible)' - plan mlp.egraph $train --memory "$least" --work 10
expect 1 '"status":"infeasible","cost":null' 'the least peak that is known' plan mlp.egraph $train --memory 1000 --json
keys status cost collectives least_memory_bytes
matches stdout '"collectives":\[\]'
expect 1 - '^egraph: nowhere/p.json: cannot be written' plan mlp.egraph -o nowhere/p.json
expect 1 - '^egraph: ./mlp.egraph is the model itself' plan mlp.egraph -o ./mlp.egraph
expect 1 - '^egraph: mlp.egraph is the model itself' optimize mlp.egraph --certificate mlp.egraph
expect 1 - '^egraph: mlp.egraph is the model itself' optimize mlp.egraph --certificate c.cert -o mlp.egraph
expect 1 - '^egraph: same.json is the output, too' plan mlp.egraph -o same.json --certificate same.json
present mlp.egraph
echo kept >keep.cert
expect 1 - 'No such file' plan nowhere.egraph --certificate keep.cert
present keep.cert
expect 1 - '^egraph: nowhere.egraph: No such file' plan nowhere.egraph
expect 1 - '^egraph: nowhere.json: No such file' explain nowhere.json
head -c 400 plan.json >cut.json
expect 1 - '^egraph: cut.json:[0-9]+:[0-9]+: ' explain cut.json
expect 1 - '^egraph: cut.json:[0-9]+:[0-9]+: ' explain plan.json --against cut.json
sed 's/"layout": "S0"/"layout": "S7"/' plan.json >wrong.json
expect 1 - '^egraph: wrong.json: ' explain wrong.json
expect 2 - 'mlp.egraph is no plan' explain mlp.egraph --against plan.json
# The figures of Unity's first example: data parallelism moves 2 * 406,528 values, a product split by its
# summands all-reduces 64 * 512, which Unity counts four times.
cat >slow.machine <<'X'
(egraph-machine 1)
(name slow)
(device (memory 16e9) (bandwidth 9e11) (overhead 5e-6) (peak (float32 1e11)))
(link bus (latency 1e-9) (bandwidth 1e8))
(axis gpu 2 bus)
X
unity="$SOURCE/examples/unity_mlp.egraph --machine slow.machine --mesh gpu=2 --train sgd --loss mean-squared-error --json"
expect 0 '"all-gather","axis":"gpu","count":2,"bytes":1626112,.*"reduce-scatter","axis":"gpu","count":2,"bytes":1626112,' - plan $unity --groups 0 --baseline data-parallel
expect 0 '"all-reduce","axis":"gpu","count":1,"bytes":131072,' - plan $unity --pin 'x gpu=S1' --pin 'w1 gpu=S0' --pin 'h gpu=R'
# A block that stands for many hands on what it has cut and joins again; a search that ends early keeps such plans.
if command -v python3 >/dev/null; then
  python3 "$SOURCE/bench/gpt.py" 12 1 1024 4096 32 >gpt.egraph
  for work in 1000 2000; do
    expect 0 '^plan +within' - plan gpt.egraph --machine 'dgx-h100*1' --mesh gpu-outer=4,gpu-inner=2 --train adam --micro-batches 4 --no-measure --no-builtin --work $work
  done
fi
finish
