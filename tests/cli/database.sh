# The profile database: kept, read-only, shared, locked, foreign, absent.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# Measured once per machine; the second run reads, and gives the same bytes at any thread count.
kept="--db p.db --settle-limit 0"
expect 0 '"measured":[1-9]' - optimize layer.egraph $kept -o a.onnx --json
expect 0 '"measured":0' - optimize layer.egraph $kept -o b.onnx --json
expect 0 '"measured":0' - optimize layer.egraph $kept -o c.onnx --json --threads 2
same a.onnx b.onnx
same a.onnx c.onnx
# What is optimized is not made worse by optimizing it again.
expect 0 '\(1.00x\)' - optimize a.onnx --db p.db --no-measure -o again.onnx
expect 0 'outputs equal' - run --compare layer.egraph again.onnx --repeats 1
expect 0 '^0 operators measured' - profile layer.egraph --db p.db
matches stdout '^estimates of the [1-9][0-9]* operators that are measured are off by [0-9]+ % in the mean; --show'
expect 0 '^optimized +predicted' - profile layer.egraph --db p.db --validate 2
expect 0 '^ +[0-9.]+ +[0-9.]+ +[1-9][0-9]* +[0-9.]+  20[0-9-]+T[0-9:]+Z +measured ' - profile layer.egraph --db p.db --show
expect 0 '^\{' - profile layer.egraph --db p.db --show --json
keys original_costs optimized_costs original_costs.0.samples optimized_costs.0.spread
expect 0 '^[1-9][0-9]* operators measured' '' profile layer.egraph --db p.db --again
expect 0 '^\{' - profile layer.egraph --db p.db --validate 2 --json
keys machine measured entries seconds original.predicted original.measured original.steps \
  original.rank_correlation original.mean_error original.operators optimized.operators
expect 0 '^\{' - profile layer.egraph --db p.db --json
keys machine measured entries seconds
# Without --db, below the cache folder.
expect 0 '^[1-9][0-9]* operators measured' - profile layer.egraph
present cache/egraph/profile.db
expect 0 '^0 operators measured' - profile layer.egraph

# Read-only: used, never written.
cp p.db q.db
expect 0 '"measured":[1-9]' - optimize conv.egraph --db q.db --read-only --json
same p.db q.db
expect 1 - '^egraph: absent.db: there is no such file, and one that is only read is not created; measure into it first' optimize layer.egraph \
  --db absent.db --read-only
absent absent.db

# Another's database, one of another version, no database at all: refused and left alone.
"$DATABASE" foreign.db exec 'CREATE TABLE recipes (x)'
cp p.db version.db
"$DATABASE" version.db exec 'PRAGMA user_version = 4711'
printf 'certainly no database, but a text of some length' >text.db
for db in foreign.db version.db text.db; do
  cp $db before
  expect 1 - "^egraph: $db: .*(name another file|delete)" optimize layer.egraph --db $db
  same before $db
done
head -c 3000 p.db >cut.db
expect 1 - '^egraph: cut.db: ' optimize layer.egraph --db cut.db
expect 1 - '^egraph: .*no/such/p.db: ' optimize layer.egraph --db no/such/p.db
mkdir folder.db
expect 1 - '^egraph: folder.db: ' optimize layer.egraph --db folder.db
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked_folder && chmod 555 locked_folder
  expect 1 - '^egraph: locked_folder/p.db: .*writable' optimize layer.egraph --db locked_folder/p.db
fi
# A cache folder that cannot be made costs the memory of measurements, not the run.
last='no cache folder' cases=$((cases + 1))
XDG_CACHE_HOME=$WORK/layer.egraph "$EGRAPH" optimize layer.egraph --no-measure >stdout 2>stderr
judge $? 0 '^predicted' '^egraph: note: .*--db'
last='no home' cases=$((cases + 1))
env -u XDG_CACHE_HOME -u HOME "$EGRAPH" optimize layer.egraph --no-measure >stdout 2>stderr
judge $? 0 '^predicted' -

# Held by another process.
mkfifo until
"$DATABASE" p.db hold <until >held &
exec 3>until
while [ ! -s held ]; do sleep 0.05; done
last='egraph optimize, another holds its database' cases=$((cases + 1))
LD_PRELOAD=$CLI_HURRY ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 \
  "$EGRAPH" optimize layer.egraph --db p.db >stdout 2>stderr </dev/null
judge $? 1 - '^egraph: p.db: another process holds the profile database'
exec 3>&-
wait
expect 0 '^predicted' - optimize layer.egraph --db p.db

# Two at once.
"$EGRAPH" profile conv.egraph --db both.db >first.out 2>first.err &
expect 0 'operators measured' - profile conv.egraph --db both.db
wait $! || fail "$(cat first.err)"
expect 0 '^0 operators measured' - profile conv.egraph --db both.db
finish
