# Plans for this host are priced with what is measured: operators, exchanges between ranks, the host as a file.
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

# Plans for this host are made of what is measured, once, and kept.
expect 0 '^measured +[0-9]+ operators of this host, ' - plan mlp.egraph --machine 'host*2' --db measured.db -o first.json
present measured.db
expect 0 '"measured":0,' - plan mlp.egraph --machine 'host*2' --db measured.db -o second.json --json
same first.json second.json
expect 0 '"measured":0,' - plan mlp.egraph --machine 'host*2' --no-measure --db measured.db --json
mv measured.db kept.db
expect 0 '^plan +cpu=2: ' - run mlp.egraph --ranks 2 --repeats 1 --no-measure
absent measured.db
expect 0 '^plan +cpu=2: ' - run mlp.egraph --ranks 2 --repeats 1 --db measured.db
present measured.db
expect 1 - '^egraph: nowhere/p.db: ' run mlp.egraph --ranks 2 --db nowhere/p.db
expect 1 - '^egraph: mlp.egraph: ' plan mlp.egraph --machine 'host*2' --db mlp.egraph

# Exchanges by kind and size: measured, kept, told, and what plans for this host are priced with.
expect 2 - 'profile takes a model, or --collectives' profile
expect 2 - 'profile takes a model, or --collectives' profile mlp.egraph --collectives
expect 0 'priced by two figures of messages.*; egraph profile --collectives --ranks 2 measures them' - \
  simulate first.json --machine 'host*2' --db measured.db
expect 1 - "exchanges of 'host-mpi\*2' are not measured; run mpirun -n 2 egraph profile --collectives" \
  simulate first.json --machine 'host-mpi*2' --db measured.db
expect 0 '^2 ranks over local' - profile --collectives --ranks 2 --db measured.db
matches stdout '^all-reduce +2  small +[0-9.]+ [num]?s '
matches stdout '^halo +2  huge '
matches stdout "^computing (takes [0-9.e+]+ times as long|stood still) while an exchange r[au]n(s)? beside it"
expect 0 '^exchanges   measured 20[0-9-]+ between 2 ranks over local$' - simulate first.json --machine 'host*2' --db measured.db
expect 0 '"measured":0,' - plan mlp.egraph --machine 'host*2' --no-measure --db measured.db --json
expect 0 '^\{' - profile --collectives --ranks 2 --db measured.db --json
keys machine channel ranks exchanges exchanges.0.latency exchanges.0.worst_error beside

# This host, measured, as a file.
expect 0 '^\(egraph-machine 1\)$' - machine
matches stdout '^\(axis cpu 2 memory\)$'
expect 0 - - machine --ranks 3 -o my.machine
expect 0 '^step .* on cpu=3: 3 devices' - plan mlp.egraph --machine my.machine -o measured.json
expect 0 'outputs equal' - run measured.json --verify --repeats 2
# With curves of the operators that the database has; by them a plan needs no measurement.
expect 1 - 'has no operator of this host .* that takes 10 us or more; run egraph profile' machine --from measured.db
sed 's/\[16,/[512,/; s/\[8,32\]/[8,512]/; s/\[32,4\]/[512,64]/' mlp.egraph >wide.egraph
expect 0 'operators measured' - profile wide.egraph --db measured.db
expect 0 '^\(efficiency (product|bytes)' - machine --from measured.db
expect 0 - - machine --from measured.db --ranks 2 -o curves.machine
expect 0 '^reached .* of the seconds are costs' - plan wide.egraph --machine curves.machine:reached --no-measure
expect 0 '"reached":[1-9]' - plan wide.egraph --machine curves.machine:reached --no-measure --json
expect 1 - 'does not say what it reaches; add \(efficiency' plan mlp.egraph --machine my.machine:reached --no-measure
expect 1 - '^egraph: none.db: there is no such file' machine --from none.db
expect 1 - 'not a profile database' machine --from mlp.egraph
expect 1 - '^egraph: nowhere/m.machine: cannot be written' machine --ranks 1 -o nowhere/m.machine
expect 2 - '--ranks must lie between 1 and 256' machine --ranks 0
finish
