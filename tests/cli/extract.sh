# Extraction from e-graphs in files, their models as LP text, and the table of many.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# Two ways to make the root; sharing "s" makes the dearer-looking one cheaper (5, not 6).
cat >share.json <<'X'
{"nodes": {"r": {"op": "f", "children": ["a", "b"], "eclass": "root class", "cost": 0},
  "a": {"op": "g", "children": ["s"], "eclass": "A", "cost": 1}, "a2": {"op": "h", "eclass": "A", "cost": 3},
  "b": {"op": "g", "children": ["s"], "eclass": "B", "cost": 1}, "b2": {"op": "h", "eclass": "B", "cost": 3},
  "s": {"op": "x", "eclass": "S", "cost": 3}}, "root_eclasses": ["root class"]}
X
cat >cycle.json <<'X'
{"nodes": {"a": {"eclass": "c", "children": ["b"], "cost": 0}, "b": {"eclass": "d", "children": ["a"], "cost": 0},
  "x": {"eclass": "c", "cost": 5}, "y": {"eclass": "d", "cost": 4}}, "root_eclasses": ["c", "d"]}
X
cat >negative.json <<'X'
{"nodes": {"r": {"eclass": "r", "children": ["a", "b"], "cost": 0}, "a0": {"eclass": "a", "cost": 0},
  "a": {"eclass": "a", "children": ["p"], "cost": 2}, "b0": {"eclass": "b", "cost": 0},
  "b": {"eclass": "b", "children": ["p"], "cost": 1.5}, "p": {"eclass": "p", "cost": -2},
  "far": {"eclass": "far", "cost": -9}}, "root_eclasses": ["r"]}
X
printf '{"nodes": {"a": {"eclass": "c", "children": ["b"]}, "b": {"eclass": "d", "children": ["a"]}}, "root_eclasses": ["c"]}' >none.json
gzip -c share.json >share2.json.gz

expect 0 '^usage: egraph extract' - extract --help
expect 0 'reach,( +dominated,)?$' - extract --help
expect 2 - 'a file is missing; usage: egraph extract' extract
expect 2 - '--extractor is one of ilp\|dag\|tree' extract share.json --extractor best
expect 2 - '--time-limit must lie' extract share.json --time-limit 0

expect 0 '^cost +5, optimal$' - extract share.json
expect 0 '^e-graph +6 nodes, 4 classes' - extract share2.json.gz
expect 0 '^\{' - extract share.json --json
keys cost bound gap status seconds nodes classes reduced_nodes tree_cost dag_cost peak_bytes
matches stdout '"cost":5,"bound":5,"gap":0,"status":"optimal"'
expect 0 '"choices":\{"root class":"r","A":"a","B":"b","S":"s"\}' - extract share.json --json --choices
keys "choices.root class" choices.A
expect 0 '^S s$' - extract share.json --choices
expect 0 '^cost +(5|6|8), feasible' - extract share.json --extractor tree
expect 0 '"tree_cost":null,.*"dag_cost":[56]' - extract share.json --extractor dag --json
expect 0 '^cost +4, optimal$' - extract cycle.json
expect 0 '^cost +-0.5, optimal$' - extract negative.json
expect 0 '"choices":\{"r":"r","a":"a0","b":"b","p":"p"\}' - extract negative.json --json --choices
expect 0 'infeasible: some root has no acyclic derivation' - extract none.json
expect 0 '"cost":null,"bound":null,"gap":null,"status":"infeasible"' - extract none.json --json --choices
for passes in reach,merge -dual,-bound -reach cyclic ''; do
  expect 0 '"cost":5,' - extract share.json --passes "$passes" --json
done
expect 0 '^reach +[1-9]' - extract share.json --statistics
expect 0 '^separation +0\.[0-9]{4} ' - extract share.json --statistics
expect 0 '"greedy_seconds":[0-9.e-]+,"presolve_seconds":[0-9]' - extract share.json --json
expect 0 '"passes":\[\{"name":"reach","runs":[1-9]' - extract share.json --statistics --json --choices
keys passes.0.seconds passes.1.nodes choices.A
expect 0 '^merge +0 ' - extract share.json --statistics --passes -merge
expect 1 '^pass ' '^egraph: presolve needs costs >= 0' extract negative.json --statistics
expect 1 - "^egraph: no presolve pass 'rich'" extract share.json --passes rich
expect 1 - "not both" extract share.json --passes reach,-merge

# A root that is the class of no node is left out; when none is left, that is an error.
sed 's/"root class"]/"root class", "gone"]/' share.json >gone.json
expect 0 '^roots +1 left out' - extract gone.json
expect 0 '"roots_left_out":1' - extract gone.json --json
sed 's/"root class"]/"gone"]/' share.json >lost.json
expect 1 - "^egraph: lost.json: root 0 \('gone'\) is not the class of any node" extract lost.json

# LP text: the same optimum, by another solver where there is one.
glpsol=$(command -v glpsol)
for model in share cycle negative; do
  for passes in '' reach; do
    expect 0 '"status":"optimal"' - extract $model.json --json --passes "$passes" --write-lp $model.lp
    present $model.lp
    cost=$(sed 's/.*"cost":\([^,]*\),.*/\1/' stdout)
    [ "$(head -n 5 $model.lp | grep -c '^Minimize')" -eq 1 ] && [ "$(tail -n 1 $model.lp)" = End ] ||
      fail "no LP text"
    [ -z "$glpsol" ] && continue
    "$glpsol" --lp $model.lp -o $model.sol >glpsol.log 2>&1
    grep -Eq "^Objective: +cost = $cost \(MINimum\)" $model.sol || fail "glpsol does not reach $cost"
  done
done
expect 0 infeasible - extract none.json --write-lp none.lp
[ -z "$glpsol" ] || { "$glpsol" --lp none.lp >glpsol.log 2>&1; grep -q 'NO .*FEASIBLE SOLUTION' glpsol.log || fail "none.lp is feasible"; }
expect 1 - '^egraph: .*folder/x.lp' extract share.json --write-lp no/folder/x.lp

# Files that are none.
expect 1 - '^egraph: absent.json: ' extract absent.json
expect 1 - "^egraph: layer.egraph:1:" extract layer.egraph
printf '{"nodes": {"a": {"eclass": "c", "children": ["zz"]}}, "root_eclasses": ["c"]}' >bad.json
expect 1 - "^egraph: bad.json: node 'a' has child 'zz'" extract bad.json
printf '{"problem": {"name": "x"}}' >problem.json
expect 1 - 'problem.json:1:[0-9]+: a sharding problem' extract problem.json
head -c 40 share2.json.gz >cut.json.gz
expect 1 - '^egraph: cut.json.gz: ' extract cut.json.gz

# Satisfiability of many random clauses: no proof in time. Ctrl-C keeps the best.
awk 'BEGIN {
  srand(7); printf "{\"nodes\": {\"r\": {\"eclass\": \"r\", \"cost\": 0, \"children\": ["
  for (v = 0; v < 70; v++) printf "%s\"p%d\"", v ? ", " : "", v
  printf "]}"
  for (c = 0; c < 900; c++) {
    for (i = 0; i < 2; i++) { l = int(rand() * 140); has[l] = has[l] (has[l] ? ", " : "") "\"c" c "\"" }
    printf ", \"c%d\": {\"eclass\": \"c%d\", \"cost\": -1}", c, c
  }
  for (v = 0; v < 70; v++) for (i = 0; i < 2; i++)
    printf ", \"%s%d\": {\"eclass\": \"v%d\", \"cost\": 0, \"children\": [%s]}", i ? "n" : "p", v, v, has[2 * v + i]
  print "}, \"root_eclasses\": [\"r\"]}"
}' >clauses.json
last='egraph extract, interrupted' cases=$((cases + 1))
"$EGRAPH" extract clauses.json --json --choices --time-limit 100 >stdout 2>stderr &
until_interruptible $!
sleep 0.3
kill -INT $! 2>/dev/null
wait $!
judge $? 0 '"status":"feasible"' -
keys cost bound choices.r choices.v0
expect 0 '"status":"feasible"' - extract clauses.json --json --time-limit 0.2

# Work ends a search before the clock does, and always at the same place.
figures() { sed 's/.*"cost":\([^,]*\),"bound":\([^,]*\),.*"work":\([^,]*\),.*/\1 \2 \3/' stdout; }
expect 0 '"status":"feasible"' - extract clauses.json --json --time-limit 200 --work 100
first=$(figures)
expect 0 '"status":"feasible"' - extract clauses.json --json --time-limit 100 --work 100
[ "$first" = "$(figures)" ] || fail "not the same with the same work: $first"

# Tables.
mkdir -p many/deep many/other
cp share.json many && cp share2.json.gz negative.json many/deep && cp none.json bad.json many/other
expect 0 '5 instances, 5 measured now: 3 optimal, 0 feasible, 1 infeasible, 1 failed' - \
  bench extract many --output table.csv --time-limit 5 --jobs 2
[ "$(wc -l <table.csv)" -eq 6 ] || fail "not one row per instance"
head -n 1 table.csv | grep -q '^name,kind,status,nodes,classes,' || fail "no header"
grep -q '^deep/negative,extract,optimal,7,5,.*,-0.5,' table.csv || fail "no row of deep/negative"
grep -q "^other/bad,extract,failed,.*'zz'" table.csv || fail "the failure is not explained"
cp table.csv whole.csv
head -c 500 whole.csv >table.csv
expect 0 '5 instances, [1-5] measured now: 3 optimal' - bench extract many/ --output table.csv
[ "$(wc -l <table.csv)" -eq 6 ] || fail "not gone on with"
expect 0 '5 instances, 0 measured now: 3 optimal' - bench extract many --output table.csv
printf 'cost,name\n5,share\n-1,deep/negative\n' >peer.csv
expect 0 '"worse_than_peer":1' - bench extract many --peer peer.csv --json
keys instances measured optimal feasible infeasible failed worse_than_peer cpu_seconds
expect 0 '^share,extract,optimal,.*,5,,$' '^5 instances' bench extract many --peer peer.csv
expect 0 '2 instances, 2 measured' - bench extract many/other --output /dev/null
expect 1 'measured now' '^egraph: /dev/full: No space' bench extract many/other --output /dev/full
expect 1 - 'peer.csv: no table of this command' bench extract many --output peer.csv
expect 1 - 'stdout: the first row has no columns' bench extract many --peer stdout
expect 1 - '^egraph: nowhere: ' bench extract nowhere
mkdir empty
expect 1 - '^egraph: empty: no file ' bench extract empty
expect 2 - 'unknown command .bench dance.; see egraph help bench' bench dance many
expect 2 - 'a file is missing' bench extract
finish
