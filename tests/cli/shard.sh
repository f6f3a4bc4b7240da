# egraph shard: good, infeasible and malformed problems, and Ctrl-C.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# The example of the contest, edges first.
cat >example.json <<'X'
{"problem": {
  "edges": {"costs": [[30, 40], [50, 10, 40], [90, 10, 20, 80], [60, 20, 30], [70, 60]],
            "nodes": [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]]},
  "name": "example",
  "nodes": {"costs": [[15], [55, 65], [25, 45, 35], [85, 75], [95]],
            "intervals": [[30, 70], [40, 70], [50, 120], [110, 140], [110, 150]],
            "usages": [[10], [25, 25], [15, 20, 15], [10, 10], [15]]},
  "usage_limit": 50}}
X

expect 0 '^usage: egraph shard FILE' - shard --help
expect 0 '\(default 60000' - shard --help
expect 2 - 'a file is missing; usage: egraph shard' shard
expect 2 - "unexpected argument" shard a b
expect 2 - "unknown option '--jason'; did you mean '--json'" shard --jason
expect 2 - "takes no value: '--json=1'" shard --json=1
expect 2 - '--time-limit must' shard example.json --time-limit 0
expect 2 - "--time-limit is a number .*, not 'many'" shard example.json --time-limit many
expect 2 - "--seed is a whole number|--seed must" shard example.json --seed 1.5

expect 0 '^cost +445, optimal, bound 445, gap 0.0000 %$' - shard example.json
matches stdout '^problem +5 nodes, 5 edges, 9 strategies, 14 table entries$'
matches stdout '^memory +peak [0-9]+, limit 50$'
if grep -q '\[' stdout; then fail 'choices without --choices'; fi
expect 0 '^\[0, 0, 2, 1, 0\]$' - shard example.json --choices --seed 3 --time-limit 20
expect 0 '"cost":445,"bound":445,"gap":0,"status":"optimal"' - shard example.json --json
keys cost bound gap status seconds peak limit choices nodes edges strategies
matches stdout '"limit":50,.*"choices":\[0,0,2,1,0\]}$'
if command -v gzip >/dev/null; then
  gzip -c example.json >example.json.gz
  expect 0 '^cost +445, optimal' - shard example.json.gz
  head -c 100 example.json.gz >cut.json.gz
  expect 1 - '^egraph: cut.json.gz: .*gzip data' shard cut.json.gz
fi

# Without a limit it is cheaper, below the smallest peak there is none.
sed 's/"usage_limit": 50/"usage_limit": 1000000/' example.json >wide.json
expect 0 '^cost +415, optimal' - shard wide.json
sed 's/,$/,/; s/"usage_limit": 50/"more": [null, {"usage_limit": 1}]/' example.json >none.json
expect 0 '^memory +peak 55, no limit$' - shard none.json
expect 0 '"peak":55,"limit":null' - shard none.json --json
sed 's/"usage_limit": 50/"usage_limit": 24/' example.json >tight.json
expect 0 '^cost +none: infeasible$' - shard tight.json --choices
matches stdout '^memory +limit 24$'
matches stdout '^\[\]$'
expect 0 '"cost":null,.*"status":"infeasible",.*"peak":null,"limit":24,.*"choices":\[\]' - shard tight.json --json
keys cost bound gap status seconds peak limit choices
sed 's/\[70, 60\]/[1000000000000000000, 1000000000000000000]/' example.json >forbidden.json
expect 0 '^cost +none: infeasible$' - shard forbidden.json
echo '{"problem": {"nodes": {"intervals": [], "costs": [], "usages": []}, "edges": {"nodes": [], "costs": []}}}' >empty.json
expect 0 '^cost +0, optimal' - shard empty.json --choices

# What is wrong is said with its place.
expect 1 - '^egraph: nowhere.json: No such file' shard nowhere.json
expect 1 - '^egraph: cache: not a regular file' shard cache
expect 1 - '^egraph: layer.egraph:1:1: .* where an object is expected' shard layer.egraph
sed 's/"usages"/"uses"/' example.json >bad.json
expect 1 - '^egraph: bad.json: no "usages" in nodes; is it an IOPDDL problem' shard bad.json
sed 's/\[25, 45, 35\]/[25, 4.5, 35]/' example.json >bad.json
expect 1 - '^egraph: bad.json:5:44: a number with a fraction' shard bad.json --json
sed 's/\[70, 60\]/[70]/' example.json >bad.json
expect 1 - '^egraph: bad.json: the table of edge 4 has 1 entries' shard bad.json
sed 's/\[3, 4\]/[3, 5]/' example.json >bad.json
expect 1 - '^egraph: bad.json: edge 4 ends in node 5 of 5' shard bad.json
head -c 300 example.json >bad.json
expect 1 - '^egraph: bad.json:6:[0-9]+: the file ends' shard bad.json

# A grid with conflicting tables and a limit that binds, so that a proof takes long.
awk 'BEGIN {
  n = 30; k = 6; x = 1
  printf "{\"problem\": {\"nodes\": {\"intervals\": ["
  for (i = 0; i < n * n; i++) printf "%s[%d, %d]", i ? "," : "", i, i + 40
  for (part = 0; part < 2; part++) {
    printf part ? "], \"usages\": [" : "], \"costs\": ["
    for (i = 0; i < n * n; i++) {
      printf "%s[", i ? "," : ""
      for (s = 0; s < k; s++) { x = (x * 16807) % 2147483647; printf "%s%d", s ? "," : "", x % 1000 }
      printf "]"
    }
  }
  printf "]}, \"edges\": {\"nodes\": ["
  for (i = 0; i < n * n; i++) {
    if (i % n) printf "%s[%d, %d]", edges++ ? "," : "", i - 1, i
    if (i >= n) printf "%s[%d, %d]", edges++ ? "," : "", i - n, i
  }
  printf "], \"costs\": ["
  for (e = 0; e < edges; e++) {
    printf "%s[", e ? "," : ""
    for (s = 0; s < k * k; s++) { x = (x * 16807) % 2147483647; printf "%s%d", s ? "," : "", x % 2000 }
    printf "]"
  }
  print "]}, \"usage_limit\": 14000}}"
}' >grid.json

expect 0 '"status":"(feasible|optimal)"' - shard grid.json --time-limit 0.3 --json
keys cost bound gap status seconds peak limit choices
last='egraph shard, interrupted' cases=$((cases + 1))
"$EGRAPH" shard grid.json --time-limit 200 --json >stdout 2>stderr &
until_interruptible $!
sleep 0.3
kill -INT $! 2>/dev/null
wait $!
judge $? 0 '"status":"(feasible|optimal)"' ''
keys cost bound gap status seconds peak limit choices
finish
