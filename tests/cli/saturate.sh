# egraph saturate and egraph bench saturate: results, limits, counts, mistakes.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# ---- egraph saturate
cat >ring.rules <<'X'
(egraph-rules 1 symbolic)
(rule commute (lhs (* ?a ?b)) (rhs (* ?b ?a)))
(rule one (lhs (* ?a 1)) (rhs ?a))
(rule zero (lhs (+ ?a 0)) (rhs ?a))
X
cat >some.terms <<'X'
; Two terms, and lines that are none.

(* 1 (+ x 0))
  (f (* y 1))
X
expect 0 '^usage: egraph saturate RULES' - saturate --help
expect 0 '^  saturate ' - help
expect 2 - 'a file is missing; usage: egraph saturate' saturate
expect 2 - "unknown option '--jason'; did you mean '--json'" saturate --jason
expect 2 - '--scheduler is one of backoff\|simple' saturate ring.rules --term a --scheduler best
expect 2 - '--threads must lie between 1 and 1024' saturate ring.rules --term a --threads 0
expect 2 - '--node-limit must' saturate ring.rules --term a --node-limit 5000000000
expect 2 - '--time-limit must' saturate ring.rules --term a --time-limit -1

expect 0 '^stop +saturated after [1-9][0-9]* iterations' - saturate ring.rules some.terms --term '(* a 1)'
matches stdout '^smallest +\(\* 1 \(\+ x 0\)\) -> x$'
matches stdout '^smallest +\(f \(\* y 1\)\) -> \(f y\)$'
matches stdout '^smallest +\(\* a 1\) -> a$'
matches stdout '^one +[1-9]'
if grep -q '^iteration' stdout; then fail 'iterations without --statistics'; fi
expect 0 '^iteration +nodes' - saturate ring.rules some.terms --statistics --scheduler simple --naive --threads 2
expect 0 '^\{"stop":"saturated",' - saturate ring.rules some.terms --json --dot graph.dot
keys stop iterations nodes classes matches seconds bytes peak_bytes terms.0.smallest terms.1.size rules.2.name \
  rules.0.matches per_iteration.0.nodes per_iteration.0.search_seconds
present graph.dot
grep -q '^digraph' graph.dot || fail 'graph.dot is no graph'
expect 1 '' 'nowhere/graph.dot: cannot be written: No such file' saturate ring.rules some.terms --dot nowhere/graph.dot

# Why two terms are equal.
expect 0 '^explain +\(\* 1 \(\+ x 0\)\) = x$' - saturate ring.rules some.terms --explain '(* 1 (+ x 0)) x'
matches stdout '^  zero, at 0$'
matches stdout '^steps +3$'
expect 0 '^steps +0$' - saturate ring.rules some.terms --explain ' a  a'
expect 0 '"rule":"zero","backward":false,"position":\[0\],"term":"\(\* x 1\)"' - saturate ring.rules some.terms --json \
  --explain '(* 1 (+ x 0)) x' --explain '(f (* y 1)) (f y)'
keys explanations.0.from explanations.0.steps.2.rule explanations.1.steps.0.position
expect 1 '' 'the two terms are not known to be equal' saturate ring.rules some.terms --explain 'x y'
expect 1 '' 'from:1:1: ' saturate ring.rules some.terms --explain '?x y'
expect 2 - '--explain wants two terms' saturate ring.rules some.terms --explain '(f x)'

# Limits are results, that of zero too.
expect 0 '^stop +iteration-limit after 0 iterations' - saturate ring.rules some.terms --iteration-limit 0
matches stdout '-> \(\* 1 \(\+ x 0\)\)$'
expect 0 '^stop +node-limit' - saturate ring.rules --term '(* a b)' --node-limit 0
expect 0 '^stop +time-limit' - saturate ring.rules some.terms --time-limit 0
expect 0 '^stop +byte-limit' - saturate ring.rules some.terms --byte-limit 0
expect 0 '^stop +iteration-limit after 1 iterations' - saturate ring.rules some.terms --iteration-limit 1

# More rules; and Ctrl-C, which keeps what was found.
B=$SOURCE/tools/bench/saturate
expect 0 '^stop +iteration-limit after 3 iterations' - saturate "$B/math24.rules" --rules "$B/math26.rules" \
  "$B/math.terms" --scheduler simple --iteration-limit 3
matches stdout '^e-graph +911 nodes, 256 classes'
last='egraph saturate, interrupted' cases=$((cases + 1))
"$EGRAPH" saturate "$B/math24.rules" --rules "$B/math26.rules" "$B/math.terms" --scheduler simple \
  --node-limit 50000000 --iteration-limit 99 --time-limit 60 --byte-limit 400000000 >stdout 2>stderr &
until_interruptible $!
sleep 0.2
kill -INT $! 2>/dev/null
wait $!
judge $? 0 '^stop +(cancelled|byte-limit)' -

# Files of e-graphs: what was saved is there again, with its rules, and is saved alike.
expect 0 '^e-graph +[1-9][0-9]* nodes' - saturate ring.rules some.terms --save ring.eg --json-egraph ring.json
present ring.eg
grep '^e-graph' stdout | cut -d, -f1,2 >before
expect 0 '^stop +saturated after 1 iterations' - saturate --load ring.eg --save again.eg
matches stdout '^terms +the file keeps none to start from; --term'
if grep -q '^smallest' stdout; then fail 'a term that was not asked for'; fi
matches stdout '^zero +1 '
grep '^e-graph' stdout | cut -d, -f1,2 >after
same before after
same ring.eg again.eg
expect 0 '^smallest +\(f \(\* y 1\)\) -> \(f y\)$' - saturate --load ring.eg --term '(f (* y 1))' --iteration-limit 0
expect 0 '^smallest +\(g \(\* 1 z\)\) -> \(g z\)$' - saturate --load ring.eg --term '(g (* 1 z))'
echo '(egraph-rules 1 symbolic) (rule double (lhs (+ ?a ?a)) (rhs (* 2 ?a)))' >more.rules
expect 0 '^smallest +\(f \(\+ y y\)\) -> ' - saturate --load ring.eg more.rules --term '(f (+ y y))'
matches stdout '^double +1 '
matches stdout '^one +[1-9]'
# JSON has roots and no rules; egraph extract reads it too.
expect 0 '^stop +saturated after 1 iterations' - saturate --load ring.json --json-egraph again.json
matches stdout '^smallest +x -> x$'
matches stdout '^smallest +\(f y\) -> \(f y\)$'
expect 0 '^smallest +x -> x$' - saturate --load again.json --json-egraph third.json
same again.json third.json
expect 0 '^cost +3, optimal' - extract ring.json
gzip -c ring.json >ring.json.gz
expect 0 '^smallest +\(f y\) -> \(f y\)$' - saturate ring.rules --load ring.json.gz
expect 0 '"terms":\[\{"term":"x","smallest":"x","size":1\},' - saturate --load ring.json --json
echo ' {"nodes":{"a":{"op":"f","children":["a"],"eclass":"c"}},"root_eclasses":["c"]}' >endless.json
expect 0 '^smallest +\(a term too large to write\) -> \(a term' - saturate --load endless.json

# Files that are none, or of another kind.
for length in 0 1 20 200 "$(($(wc -c <ring.eg) - 1))"; do
  head -c "$length" ring.eg >cut.eg
  expect 1 - '^egraph: cut.eg: .*(name another|save it again)' saturate --load cut.eg
done
for at in 0 9 20 40 150 300 "$(($(wc -c <ring.eg) - 1))"; do
  cp ring.eg flipped.eg
  byte=$(od -An -tu1 -j "$at" -N 1 ring.eg)
  printf "\\$(printf %o $((byte ^ 16)))" | dd of=flipped.eg bs=1 seek="$at" conv=notrunc 2>/dev/null
  expect 1 - '^egraph: flipped.eg: ' saturate --load flipped.eg
done
for length in 1 40 100 "$(($(wc -c <ring.json) - 3))"; do
  head -c "$length" ring.json >cut.json
  expect 1 - '^egraph: cut.json:[0-9]+:[0-9]+: ' saturate --load cut.json
done
expect 1 - '^egraph: ring.rules: this is no saved e-graph; name another' saturate --load ring.rules
expect 1 - '^egraph: layer.egraph: this is no saved e-graph' saturate --load layer.egraph
echo '[1]' >list.json
expect 1 - '^egraph: list.json:1:1: ' saturate --load list.json
head -c 60 ring.json.gz >cut.json.gz
expect 1 - '^egraph: cut.json.gz' saturate --load cut.json.gz
expect 1 - '^egraph: .: not a regular file' saturate --load .
expect 1 - '^egraph: absent.eg: No such file' saturate --load absent.eg
expect 1 - 'ring.eg has 3 rules already; RULES can be left out' saturate ring.rules --load ring.eg
expect 2 - '--explain knows nothing of a loaded e-graph' saturate --load ring.eg --explain 'x x'
expect 2 - 'a file is missing; usage: egraph saturate' saturate --term x

# A file is replaced whole or not at all.
for option in --save --json-egraph; do
  expect 1 '' '^egraph: .: cannot be written: Is a directory' saturate --load ring.eg "$option" .
  expect 1 '' '^egraph: nowhere/f: cannot be written: No such file' saturate --load ring.eg "$option" nowhere/f
  expect 1 '' '^egraph: ring.eg/f: cannot be written: Not a dir' saturate --load ring.eg "$option" ring.eg/f
  cp ring.rules old
  last="egraph saturate $option, no room" cases=$((cases + 1))
  (
    trap '' XFSZ # writing fails then
    ulimit -f 4
    exec "$EGRAPH" saturate "$SOURCE/tools/bench/saturate/math24.rules" "$SOURCE/tools/bench/saturate/math.terms" \
      --iteration-limit 4 --json "$option" old 2>no_room_err >/dev/null
  )
  status=$?
  : >stdout
  mv no_room_err stderr
  judge $status 1 '' '^egraph: .*old: cannot be written: File too large'
  same ring.rules old
  chmod 444 old
  if [ ! -w old ]; then
    expect 1 '' '^egraph: .*old: cannot be written: Permission denied' saturate --load ring.eg "$option" old
    same ring.rules old
  fi
  rm -f old
done
if ls ./*.tmp >/dev/null 2>&1; then fail 'a temporary file is left'; fi

# Mistakes, with their place.
expect 1 - '^egraph: absent.rules: No such file' saturate ring.rules --rules absent.rules --term a
expect 1 - '^egraph: ring.rules:2:1: there is a rule commute already' saturate ring.rules --rules ring.rules --term a
expect 1 - '^egraph: absent.rules: No such file' saturate absent.rules --term a
expect 1 - '^egraph: absent.terms: No such file' saturate ring.rules absent.terms
expect 1 - '^egraph: .: ' saturate ring.rules .
expect 1 - '^egraph: no term to start from' saturate ring.rules
printf 'a\n\n(f ?x)\n' >bad.terms
expect 1 - '^egraph: bad.terms:3:4: \?x is a variable' saturate ring.rules bad.terms
printf 'a b\n' >bad.terms
expect 1 - '^egraph: bad.terms: one term is wanted' saturate ring.rules bad.terms
expect 1 - '^egraph: --term:1:1: ' saturate ring.rules --term '(f a'
printf '(egraph-rules 1 symbolic)\n(rule a (lhs (f ?x)) (rhs ?y))\n' >bad.rules
expect 1 - '^egraph: bad.rules:2:27: \?y is not bound' saturate bad.rules --term a

# ---- egraph bench saturate
expect 0 '^usage: egraph bench saturate' - bench saturate --help
expect 0 '^  bench saturate ' - bench --help
expect 0 '^math26-backoff$' - bench saturate --list
matches stdout '^ac7$'
expect 0 '^ac11$' - bench saturate 'ac*' --list
if grep -q math stdout; then fail 'a pattern lists others'; fi
expect 1 - "no benchmark 'ac77'" bench saturate ac77
expect 1 - "no benchmark like 'x\*'" bench saturate 'x*'
expect 1 - "no benchmark 'add-0'" bench saturate add-0
expect 1 - "no benchmark '../ac7'" bench saturate ../ac7
expect 1 - "absent: No such file" bench saturate --spec absent
expect 1 - "no.txt: No such file" bench saturate --taso no.txt nasrnn2
expect 2 - '--repeat must lie between 1 and' bench saturate ac7 --repeat 0
expect 2 - '--peer knows nothing of --iterations' bench saturate ac7 --peer true --iterations 3

expect 0 '^ac7 +1939 +127 +8 ' - bench saturate ac7 --counts --naive
matches stdout ' 1652/273/3187 1943/176/8259 1939/127/11682 1939/127/12138$'
expect 0 '^math24 +784 +361 +5 ' - bench saturate math24 --iterations 5 --threads 2
expect 0 '^ac7 +13 +13 +0 ' - bench saturate ac7 --iterations 0
expect 0 '^math26-backoff +2179 +772 +4 ' - bench saturate math26-backoff --iterations 4
expect 0 '^ac7 ' - bench saturate ac7 --iterations 3 --spec "$SOURCE/tools/bench/saturate"
expect 0 '^\{"benchmarks":\[\{"bench":"ac7","nodes":1939,"classes":127,"iterations":8,' - \
  bench saturate ac7 math24 --iterations 8 --json --repeat 2
keys benchmarks.0.stop benchmarks.0.cpu_seconds benchmarks.0.cpu_seconds_median benchmarks.0.search_seconds \
  benchmarks.1.peak_bytes benchmarks.1.kept_bytes benchmarks.1.engine_bytes benchmarks.0.runs.1.cpu_seconds \
  benchmarks.1.counts.7.matches measured mismatches
expect 0 '' 'nasrnn2 is left out: it needs TASO' bench saturate nasrnn2
for raw in add-100 hit-100 chain-100 wide-100 wide-each-50 multi-20; do
  expect 0 "^$raw " - bench saturate $raw
done
matches stdout '^multi-20 +180 +180 +1 +320 '

# Other benchmarks, wrong counts, and mistakes in a file.
mkdir mine
cp ring.rules mine
printf 'rules ring.rules\nterm (* a 1)\ncounts 4/2/2 4/2/3\n' >mine/fine.bench
printf '; no such counts\nrules ring.rules\nterm (* a 1)\ncounts 4/2 3/2 3/2\n' >mine/wrong.bench
printf 'rules ring.rules\n\nterm (* a 1)\ncounts 4\n' >mine/bad.bench
printf 'rules none.rules\n' >mine/none.bench
printf 'rules ring.rules\nterm (f\n' >mine/open.bench
printf '(a ?x)=>(b ?x)\n\n(b (a ?x))=>(a ?x)\n' >taso.txt
printf 'taso\nterm (b (a c))\n' >mine/taso.bench
expect 0 '^fine +4 +2 +2 ' - bench saturate fine --spec mine --naive
expect 0 '^taso$' - bench saturate --list --spec mine
expect 1 '^wrong: iteration 1: expected 3/2, found 4/2/' 'counts are not as expected' bench saturate wrong --spec mine
matches stdout '^wrong: expected 3 iterations, found 2$'
expect 1 '"mismatches":2' 'not as expected' bench saturate wrong --spec mine --json
expect 1 - "^egraph: bad.bench:4: 'counts' is unknown, has no such value" bench saturate bad --spec mine
expect 1 - "^egraph: none.bench:1: 'rules' is unknown, .* its file is absent" bench saturate none --spec mine
expect 1 - '^egraph: open:1:1: ' bench saturate open --spec mine
expect 0 '^taso +[1-9]' - bench saturate taso --spec mine --taso taso.txt

# A peer.
cat >peer.sh <<'X'
case $1 in
ac7) echo hello; echo '{"bench":"ac7","nodes":1939,"classes":127,"cpu_seconds":0.5,"peak_bytes":1000}' ;;
multi-9) echo '{"bench":"multi-9","nodes":80,"classes":81,"cpu_seconds":0.5,"peak_bytes":1000}' ;;
multi-8) echo '{"bench":"multi-8"}' ;;
*) exit 3 ;;
esac
X
expect 0 'peer/ours pair by pair [0-9.]+ [0-9.]+$' - bench saturate ac7 --peer 'sh peer.sh' --repeat 2
expect 0 '"peer_cpu_seconds":0.5,"peer_cpu_seconds_median":0.5,"peer_peak_bytes":1000,"ratio":' - \
  bench saturate ac7 --peer 'sh peer.sh' --json
keys benchmarks.0.runs.0.ratio
expect 1 '^multi-9: the peer has 80/81, we have 81/81$' 'not as expected' bench saturate multi-9 --peer 'sh peer.sh'
expect 0 ' absent$' "^egraph: the peer's answer to multi-8 is not understood" bench saturate multi-8 --peer 'sh peer.sh'
expect 0 ' absent$' - bench saturate multi-7 --peer 'sh peer.sh'
finish
