# egraph simulate: figures, trace, report, and what is said of bad input.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

expect 0 '^usage: egraph simulate PLAN.json' - simulate --help
expect 2 - 'a file is missing; usage: egraph simulate' simulate
expect 1 - 'none.json: No such file' simulate none.json
expect 1 - '' simulate mlp.egraph
train='--no-measure --machine host*4 --train adam --loss mean-squared-error'
expect 0 '^plan +optimal' - plan mlp.egraph $train -o plan.json

# Overlapped is never longer than in order; with the bound and the waits everything adds up.
expect 0 '^step ' - simulate plan.json
matches stdout '^at least +[0-9.]+ us in any order of issue'
matches stdout '^streams +compute +busy '
matches stdout '^ +exchanges +busy '
matches stdout '^memory +[0-9.]+ kB at the peak'
expect 0 '"seconds":' - simulate plan.json --json
keys seconds in_order most_busy critical_path tasks devices
"$CMAKE" -E cat stdout >overlapped.json
expect 0 '^step ' - simulate plan.json --issue reductions
expect 2 - 'ahead' simulate plan.json --issue never
expect 0 '"seconds":' - simulate plan.json --issue in-order --json
matches stdout '"streams":\[\{"name":"compute","busy":[^,]+,"idle":0\}'
expect 0 '' - simulate plan.json --machine 'host*4' --no-measure
matches stdout '^ +message +busy |^ +[a-z]+ +busy '
expect 1 - "has 64 devices|64" simulate plan.json --machine dgx-h100
expect 1 - 'none.machine' simulate plan.json --machine none.machine

# Rounds of messages over the ports of a machine; without ports closed forms, and it is said.
cat >two.machine <<'X'
(egraph-machine 1) (name two) (nodes 2)
(device (memory 1e9) (bandwidth 1e8) (overhead 1e-6) (peak (float32 1e9)) (beside 1.25))
(link nic (latency 1e-6) (bandwidth 1e8) (shared 2) (ports switch))
(link wire (latency 1e-6) (bandwidth 1e9) (ports switch))
(axis node nodes nic) (axis gpu 2 wire)
X
two='--machine two.machine --no-measure'
expect 0 '^plan ' - plan mlp.egraph $two --train adam --loss mean-squared-error --baseline data-parallel -o two.json
expect 0 '^step ' - simulate two.json $two
matches stdout '^computing +takes 1.25 times as long while its device exchanges'
expect 0 '^step ' - simulate two.json $two --rounds auto
matches stdout '^rounds +[0-9]+ messages of 4 devices, simulated for 1; all exchanges in closed form [0-9.]+ [mu]?s'
matches stdout '^ +node +busy '
expect 0 '"beside":1.25,"beside_known":true' - simulate two.json $two --rounds levels --json
keys closed_form messages kinds closed_exchanges
sed 's/(ports switch)//; s/(beside 1.25)//' two.machine >plain.machine # of the NIC alone
expect 0 '^step ' - simulate two.json --machine plain.machine --no-measure --rounds ring
matches stdout '[0-9]+ exchanges in closed form: the machine does not say their ports'
matches stdout '^computing +is not slowed down'
expect 2 - 'over the links of a machine; add --machine' simulate two.json --rounds auto
expect 2 - 'none|auto' simulate two.json $two --rounds star

# Files: a trace whose events are complete, a report without anything from elsewhere.
expect 0 '' - simulate plan.json --trace trace.json --html report.html
"$CMAKE" -E cat trace.json >stdout
keys displayTimeUnit traceEvents
grep -q '"ph":"X"' trace.json || fail 'the trace has no events'
grep -q '"ph":"C"' trace.json || fail 'the trace has no memory'
grep -q '@DATA@' report.html && fail 'the report has no data'
grep -Eq 'https?://|src=|<link' report.html && fail 'the report asks for something'
[ "$(grep -o '"tasks":' report.html | wc -l)" -eq 1 ] || fail 'a key stands twice in the data of the report'
grep -q 'gradient of w1' report.html || fail 'the report does not name values as people do'
[ "$(wc -c <report.html)" -lt 200000 ] || fail 'the report is large'
expect 1 - 'cannot be written' simulate plan.json --trace no/such/folder.json
expect 1 - 'cannot be written' simulate plan.json --html no/such/folder.html
[ -s stdout ] && fail 'nothing is printed where a file could not be written'

# Micro-batches that repeat are left out of the files of a long step; figures count them.
expect 0 '' - plan mlp.egraph $train --groups 0 --micro-batches 5000 -o long.json
expect 0 '^waits .* in 5000 exchanges' - simulate long.json --trace trace.json --html report.html
for file in trace.json report.html; do
  [ "$(wc -c <$file)" -lt 5000000 ] || fail "$file is large"
done
grep -q '"name":"micro-batches 2 to 4996 repeat the one before"' trace.json || fail 'the trace does not say what it leaves out'
grep -q '"left_out":{"first":2,"count":4995,' report.html || fail 'the report does not say what it leaves out'
[ "$(grep -o '"ph":"X"' trace.json | wc -l)" -lt 200 ] || fail 'the trace has what it leaves out'
expect 0 '"tasks":85011' - simulate long.json --json

# The plan whose overlapped step is shortest, with a bound; no certificate of it.
expect 0 '^overlapped +[0-9.]+ us with exchanges beside computing, within ' - plan mlp.egraph $train --overlap --work 200 -o short.json
expect 0 '"overlap":\{"seconds":' - plan mlp.egraph $train --overlap --work 200 --json
keys overlap.seconds overlap.bound overlap.plans
expect 1 - 'ask for it without overlap' plan mlp.egraph $train --overlap --certificate proof.txt
expect 0 '^step ' - simulate short.json --machine 'host*4' --no-measure

# Where the machine says how much exchanges slow computing down, the choice knows it, too.
awk 'BEGIN {
  print "(egraph-graph 1)\n(input x0 \"float32[64,512]\")"
  for (i = 0; i < 4; i++) printf "(weight w%d \"float32[512,512]\")\n", i
  for (i = 0; i < 4; i++) printf "(let p%d (matmul x%d w%d))(let x%d (tanh p%d))\n", i, i, i, i + 1, i
  print "(output x4)"
}' >chain.egraph
cat >slow.machine <<'M'
(egraph-machine 1)
(name slow)
(nodes 4)
(device (memory 1e9) (bandwidth 1e11) (overhead 1e-6) (peak (float32 1e11)) (beside 1.3))
(link wire (latency 1e-6) (bandwidth 1e9))
(axis cpu nodes wire)
M
expect 0 '' '' plan chain.egraph --no-measure --machine ./slow.machine --train sgd --loss mean-squared-error --overlap --work 200 --json -o slow.json
chosen=$(sed 's/.*"overlap":{"seconds":\([0-9.e+-]*\).*/\1/' stdout)
expect 0 "\"seconds\":$chosen," - simulate slow.json --machine ./slow.machine --json

expect 2 - 'three files' simulate plan.json --trace both --html both
expect 2 - 'three files' simulate plan.json --trace plan.json

# A name must not end the page's data.
sed -E 's/([^a-z])w1([^a-z0-9])/\1"<!--<script>"\2/g' mlp.egraph >odd.egraph
expect 0 '' '' plan odd.egraph $train -o odd.json
expect 0 '' '' simulate odd.json --html odd.html
[ "$(grep -c '<script' odd.html)" -eq 2 ] || fail 'a name opens a tag'
finish
