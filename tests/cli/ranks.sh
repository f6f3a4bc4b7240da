# egraph run of plans: on ranks, trained, timed, verified, and what does not fit.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

cat >mlp.egraph <<'X'
(egraph-graph 1)
(input x "float32[16,8]")
(weight w1 "float32[8,32]")
(weight w2 "float32[32,4]")
(let m (matmul x w1))
(let h (relu m))
(let y (matmul h w2))
(output y)
X
square='--loss mean-squared-error'

# A plan from a file, and a model that is planned for as many ranks of this host.
expect 0 '^plan ' - plan mlp.egraph --machine 'host*2' --train adam $square --micro-batches 2 -o plan.json
expect 0 '^plan +cpu=2: 2 ranks, 2 micro-batches, predicted' - run plan.json --train 3 --verify
matches stdout '^step 3 +loss [0-9.]+ +[0-9.]+ [mu]s$'
matches stdout '^time +median [0-9.]+ [mu]?s, least [0-9.]+ [mu]s, of the processor [0-9.]+ [mu]s; predicted [0-9.]+ us'
matches stdout '^verify +outputs equal: largest error '
expect 0 '^\{' - run plan.json --ranks 2 --train 2 --json --verify
keys mesh ranks micro_batches channel time time_min time_busy predicted max_error equal time_alone
matches stdout '"steps":\[\{"step":1,"loss":[0-9.]+,"seconds":[0-9.e-]+\},\{"step":2,'
cp stdout once
expect 0 '^\{' - run plan.json --train 2 --json --verify --threads 2
[ "$(sed 's/"seconds"[^}]*//g; s/"time".*//' once)" = "$(sed 's/"seconds"[^}]*//g; s/"time".*//' stdout)" ] ||
  fail 'the same seed gives the same losses'
for optimizer in sgd momentum adam adamw; do
  expect 0 'outputs equal' - run mlp.egraph --ranks 2 --train 3 --optimizer $optimizer $square --verify --rate 0.05
done
expect 0 'outputs equal' - run mlp.egraph --ranks 3 --verify --repeats 2
expect 0 '^plan +one device: 1 rank, 1 micro-batch, ' - run mlp.egraph --train 2 $square
expect 0 'outputs equal' - run mlp.egraph --ranks 4 --channel local --backend reference --verify --repeats 1

# A model is planned as egraph plan does for as many ranks: with rules, to the same cost.
cat >turned.egraph <<'X'
(egraph-graph 1)
(input x "float32[64,128]")
(weight w1 "float32[256,128]")
(weight w2 "float32[256,64]")
(let a (transpose :perm [1 0] x))
(let m (matmul w1 a))
(let h (relu m))
(let b (transpose :perm [1 0] h))
(let y (matmul b w2))
(output y)
X
predicted() { # KEY: the figure of the last output, to nine digits
  sed -n "s/.*\"$1\":\([0-9.e-]*\)[,}].*/\1/p" stdout | head -n 1 | xargs printf '%.9g'
}
for ranks in 1 2; do
  expect 0 '^\{' - plan turned.egraph --machine "host*$ranks" --no-measure --json --no-builtin
  plain=$(predicted cost)
  expect 0 '^\{' - plan turned.egraph --machine "host*$ranks" --no-measure --json
  planned=$(predicted cost)
  [ "$plain" != "$planned" ] || fail "rules earn nothing: $plain"
  expect 0 '"equal":true' - run turned.egraph --ranks $ranks --no-measure --repeats 1 --verify --json
  [ "$(predicted predicted)" = "$planned" ] || fail "predicted $(predicted predicted), egraph plan has $planned"
done
expect 0 '^\{' - plan turned.egraph --machine 'host*2' --no-measure --json --train adam $square
planned=$(predicted cost)
expect 0 '"equal":true' - run turned.egraph --ranks 2 --no-measure --train 2 --optimizer adam $square --verify --json
[ "$(predicted predicted)" = "$planned" ] || fail "predicted $(predicted predicted), egraph plan has $planned"

# Exchanges beside computing: the same losses.
for issue in ahead-4 ahead-2 ahead reductions in-order; do
  expect 0 '^\{' - run plan.json --train 2 --json --verify --issue $issue
  [ "$(sed 's/"seconds"[^}]*//g; s/"time".*//' once)" = "$(sed 's/"seconds"[^}]*//g; s/"time".*//' stdout)" ] ||
    fail "the losses differ with --issue $issue"
done
expect 2 - '--issue is one of ahead' run plan.json --issue never
expect 0 'outputs equal' - run mlp.egraph --ranks 4 --train 2 $square --verify --issue ahead

# Tensors from and to files: two micro-batches of x, one behind the other.
head -c 1024 /dev/zero >x.raw
expect 0 '^step 1 ' - run plan.json --train 1 --input x=x.raw --output w1=w1.raw
[ "$(wc -c <w1.raw)" -eq 1024 ] || fail 'w1.raw is a whole weight'
expect 1 - 'short.raw: cannot be read' run plan.json --train 1 --input x=short.raw
expect 1 - 'input z=x.raw: write NAME=FILE .* they are: x ' run plan.json --input z=x.raw

# What does not fit.
expect 2 - '^egraph: --dim, --batch, --fix-defaults, --db and --no-measure are of models' run plan.json --batch 4
expect 2 - '^egraph: --steps times the operators of a model on one device' run mlp.egraph --ranks 2 --steps
expect 2 - '^egraph: --compare runs two models on one device' run --compare mlp.egraph mlp.egraph --ranks 2
echo '(egraph-graph 1)' >empty.egraph
expect 0 'predicted 0 s$' 'empty.egraph has no outputs' run empty.egraph --ranks 2
expect 1 - '^egraph: plan.json is a plan for 2 devices, not for --ranks 4; plan it again' run plan.json --ranks 4
expect 0 '' - plan mlp.egraph --machine 'host*2' -o forward.json
expect 1 - '^egraph: forward.json is no plan of a training step; make one with' run forward.json --train 2
expect 2 - '^egraph: processes run a plan that is there' run mlp.egraph --channel mpi --ranks 2
expect 2 - '^egraph: --optimizer and --loss are of models that are trained' run plan.json --optimizer sgd
expect 2 - '--channel is one of local\|mpi\|nccl' run plan.json --channel pigeons
expect 2 - '--deadline must lie between 0.001 and 1000000' run plan.json --deadline 0
expect 1 - "^egraph: there is no loss 'hinge'" run mlp.egraph --ranks 2 --train 1 --loss hinge
expect 1 - '^egraph: nowhere.json: No such file' run nowhere.json
# Open MPI keeps memory of its own until the end.
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
expect 1 - '^egraph: .*(mpirun started 1 processes; use mpirun -n 2|its plugin cannot be loaded)' run plan.json --channel mpi
expect 1 - '1 processes; use mpirun -n 2|plugin cannot be loaded' profile --collectives --channel mpi --db measured.db
finish
