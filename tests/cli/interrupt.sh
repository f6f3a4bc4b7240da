# Ctrl-C keeps what was found, or says how far a run came; a killed profiler leaves a database that can be used.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# Convolutions of many shapes: measuring their variants takes seconds.
{
  echo '(egraph-graph 1)'
  echo '(input x0 "float32[1,16,64,64]")'
  i=0
  while [ $i -lt 12 ]; do
    to=$((16 * (2 + i % 5))) from=$((i == 0 ? 16 : 16 * (2 + (i - 1) % 5)))
    echo "(weight w$i \"float32[$to,$from,3,3]\")"
    echo "(let c$i (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x$i w$i))"
    echo "(let x$((i + 1)) (relu c$i))"
    i=$((i + 1))
  done
  echo "(output x$i)"
} >slow.egraph

# Waits until the database of a run in the background holds something, or the run ends.
until_measuring() { # PID DATABASE
  while kill -0 "$1" 2>/dev/null && [ ! -s "$2" ]; do sleep 0.05; done
  sleep 0.1
}

last='egraph optimize, interrupted' cases=$((cases + 1))
"$EGRAPH" optimize slow.egraph --db slow.db -o slow.onnx --json >stdout 2>stderr &
until_measuring $! slow.db
kill -INT $! 2>/dev/null
wait $!
judge $? 0 '^\{' ''
matches stdout '"stop":"(cancelled|saturated)"' # saturated: too late
keys cost_before cost_after status stop measured
present slow.onnx
expect 0 'outputs equal' - run --compare slow.egraph slow.onnx --repeats 1

last='egraph profile, killed' cases=$((cases + 1))
"$EGRAPH" profile slow.egraph --db killed.db >stdout 2>stderr &
until_measuring $! killed.db
sleep 0.2
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
expect 0 '^predicted' - optimize layer.egraph --db killed.db
expect 0 'the database holds [1-9]' - profile layer.egraph --db killed.db

# Interrupted before anything is measured, and twice.
last='egraph optimize, interrupted at once' cases=$((cases + 1))
"$EGRAPH" optimize slow.egraph --db none.db -o none.onnx >stdout 2>stderr &
sleep 0.1
kill -INT $! 2>/dev/null
kill -INT $! 2>/dev/null
wait $!
status=$?
[ $status -eq 0 ] || [ $status -eq 130 ] || fail "exit status $status"
[ $status -eq 0 ] || absent none.onnx

# Training that is interrupted tells how far it came, and ends what it has printed.
"$EGRAPH" plan layer.egraph --machine 'host*2' --train sgd --loss mean-squared-error --no-measure -o plan.json >stdout 2>stderr
until_training() { # PID
  while kill -0 "$1" 2>/dev/null && ! grep -q '"step":1,' stdout; do sleep 0.05; done
}
last='egraph run, interrupted' cases=$((cases + 1))
"$EGRAPH" run plan.json --train 1000000 --json >stdout 2>stderr &
until_training $!
kill -INT $! 2>/dev/null
wait $!
judge $? 1 '"step":1,' '^egraph: interrupted after step [0-9]+; no outputs are written$'
keys mesh ranks steps time predicted

# Rules that are made by machine: what is done is kept.
last='egraph rules generate, interrupted' cases=$((cases + 1))
"$EGRAPH" rules generate --family taso --operators 2 --alone --state made.state -o made.rules >stdout 2>stderr &
until_measuring $! made.state
kill -INT $! 2>/dev/null
wait $!
judge $? 0 '; interrupted: the same command goes on from made.state$' ''
finish
