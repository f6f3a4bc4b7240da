# egraph bench compare: the same rows twice, runs that go on, and files that are not its own.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

cat >duo.machine <<'M'
(egraph-machine 1)
(name duo)
(nodes 2)
(device (kind "a device") (memory 7e9) (bandwidth 1e12) (overhead 4e-6) (peak (float32 6e13) (bfloat16 1e15)))
(link wire (latency 2e-6) (bandwidth 4.5e11))
(axis gpu nodes wire)
M
list=egraph,egraph-overlap,single-device,data-parallel,zero-1,mcmc,optcnn
searches=7
compare() { # STATUS OUT ERR arguments...: a small comparison
  status=$1 out=$2 err=$3
  shift 3
  expect "$status" "$out" "$err" bench compare --models mlp --machine ./duo.machine --nodes 2,4 --work 60 --search "$list" "$@"
}
without_seconds() { # FILE: all but the last column
  sed 's/,[^,]*$//' "$1"
}

# Models and searches; weights as their papers count them.
expect 0 '^searches for plans: egraph egraph-overlap single-device data-parallel' - bench compare --list
matches stdout 'candle-uno: 90 operators, 820.9 million weights'
matches stdout 'mlp: 31 operators, 956.3 million weights'
matches stdout 'bert-large: 705 operators, 335.2 million weights'
matches stdout 'gpt-39B: of 64 devices, 1444 operators, 3.909e\+04 million weights'
matches stdout 'moe-70B: of 64 devices, 1412 operators, 7.04e\+04 million weights'
matches stdout 'wide-resnet-1B: of 4 devices, 176 operators, 1006 million weights'
matches stdout '^searches for plans: .* mcmc optcnn unity exhaustive alpa-stages megatron-grid min-cut$'

# Searches on 2 and 4 devices, twice: the same rows but for seconds.
compare 0 "^$((2 * searches)) of $((2 * searches)) rows, $((2 * searches)) made now" - --csv one.csv --json one.json --svg one.svg
cp stdout first
[ "$(wc -l <one.csv)" -eq $((2 * searches + 1)) ] || fail "rows: $(wc -l <one.csv)"
matches first '^mlp +2  float32   single-device +does not fit: 889 MB short$'
matches first '^mlp +4  float32   egraph +[0-9.]+ ms, in order [0-9.]+ ms, [0-9.]+ GB on a device$'
matches one.csv '^mlp,\./duo\.machine\*2,2,weak,float32,egraph,512,1,built-in,1,60,1,fits,'
matches one.csv '^mlp,\./duo\.machine\*4,4,weak,float32,egraph,1024,1,built-in,1,60,1,fits,'
compare 0 '' - --csv two.csv
without_seconds one.csv >one
without_seconds two.csv >two
same one two

# No step takes less than its bound, or more than one thing after the other; no baseline is ahead of both rows of egraph.
awk -F, '$12 == "fits" && ($15 + 0 > $13 * 1.000001 || $16 + 0 > $14 * 1.000001) { print "above its cost: " $0 }
  $12 == "fits" && !($14 > 0 && $14 <= $13 * 1.000001 && $22 > 0) { print "no step: " $0 }' one.csv >wrong
[ ! -s wrong ] || fail "$(cat wrong)"
matches first '^egraph is behind no other search$'

# Pipelines have no plan, and are simulated by their search.
expect 0 '^mlp +2  float32   min-cut +[0-9.]+ ms, in order [0-9.]+ ms, [0-9.]+ GB on a device$' - bench compare --models mlp --machine ./duo.machine --nodes 2 --search min-cut

# A run goes on where it was: after a row, and in the middle of one.
head -n 4 one.csv >part.csv
compare 1 - 'part.csv: there already; give --resume' --csv part.csv
printf 'mlp,./duo.mach' >>part.csv
compare 0 "rows, $((2 * searches - 3)) made now" - --csv part.csv --resume --json two.json
without_seconds part.csv >part
same one part
compare 0 'rows, 0 made now' - --csv part.csv --resume --svg two.svg
cp stdout again
# Rows that are there are printed, too.
head -n $((2 * searches)) first >rows
head -n $((2 * searches)) again >others
same rows others
compare 0 "^$((2 * searches)) of" - --csv new.csv --resume

# Rows of other models are kept, too.
expect 0 'rows, 1 made now' - bench compare --models dlrm --machine ./duo.machine --search data-parallel --csv part.csv --resume --work 60
head -n $((2 * searches + 1)) part.csv >kept.csv
without_seconds kept.csv >kept
same one kept

# Ctrl-C: what is done is kept, and the rest is made later.
last='egraph bench compare, interrupted' cases=$((cases + 1))
"$EGRAPH" bench compare --models candle-uno --machine ./duo.machine --nodes 2 --work 100000 --csv stop.csv >stdout 2>stderr &
until_interruptible $!
until [ -s stop.csv ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -INT $!
wait $!
judge $? 1 '' '^egraph: interrupted; --resume goes on$'
expect 0 'rows, 1 made now' - bench compare --models candle-uno --machine ./duo.machine --nodes 2 --search data-parallel --work 100000 --csv stop.csv --resume

# A changed configuration is told.
compare 1 - 'was made with seed 1, not 2; go on with that, or choose another --csv' --csv one.csv --resume --seed 2
expect 1 - 'was made with work_limit 60, not 30' bench compare --models mlp --machine ./duo.machine --nodes 2,4 --work 30 --csv one.csv --resume

# What fails is a row, not the end: no plan of this machine's devices, not enough patience.
expect 0 '^mlp +2  float32   egraph +failed: took more than 0\.01 seconds' - bench compare --models mlp --machine ./duo.machine \
  --search egraph,data-parallel --work 100000 --patience 0.01 --csv failed.csv
matches stdout '2 failed'
matches failed.csv ',failed,'
# A search that has a plan where egraph has none is told; where egraph was not asked there is nothing to compare.
four="bench compare --models mlp --machine ./duo.machine --nodes 4 --work 60"
expect 0 ' failed: took more' - $four --search egraph --patience 0.01 --csv none.csv
expect 0 '^zero-3 has a plan of mlp, 4 devices, float32, where egraph has none$' - $four --search egraph,zero-3 \
  --csv none.csv --resume
expect 0 '^egraph is behind no other search$' - $four --search zero-3

# Where egraph's own row failed, bars are relative to the best row that is there.
expect 0 ' failed: took more' - $four --search egraph --patience 0.01 --csv behind.csv
expect 0 '' - $four --search egraph,zero-3,optcnn --csv behind.csv --resume --svg behind.svg
matches behind.svg '>1\.00x, '
matches behind.svg '>1\.[0-9]*[1-9][0-9]*x, '
[ "$(grep '<rect.*class="bar' behind.svg | sed 's/.* width="//; s/".*//' | sort -u | wc -l)" -eq 2 ] || fail "bars: $(grep bar behind.svg)"

# Graphs for one device, and types.
expect 0 '^tensat-squeezenet +1  float32   backtracking ' - bench compare --models tensat-squeezenet --work 50
matches stdout '^3 of 3 rows, 3 made now: 3 fits'
compare 0 '^mlp +4  bfloat16  data-parallel ' - --types float32,bfloat16 --search data-parallel

# JSON and chart of what was kept are those of what was made; nothing in the chart is outside of it.
cp one.json stdout
keys rows fits does_not_fit none_found failed
sed 's/"search_seconds":[^}]*//g' one.json >one
sed 's/"search_seconds":[^}]*//g' two.json >two
same one two
same one.svg two.svg
matches one.svg '^<svg xmlns="http://www.w3.org/2000/svg"'
grep -E 'href|url\(|@import|<script|<image' one.svg >outside
[ ! -s outside ] || fail "the chart refers to: $(cat outside)"

# Files that are none of this command, or hostile.
hostile() { # WANTED < FILE
  cat >hostile.csv
  compare 1 - "$1" --csv hostile.csv --resume --search single-device
}
edited() { # SED-SCRIPT: a table of one row, edited
  echo "$header"
  echo "$row" | sed "$1"
}
header=$(head -n 1 one.csv)
row=$(grep ',2,weak,float32,egraph,' one.csv)
printf 'name,cost\na,1\n' | hostile 'no table of egraph bench compare'
head -c 100000 /dev/zero | hostile 'no table of egraph bench compare'
edited 's/$/,more/' | hostile 'row 1: it has 26 cells, not 25'
edited 's/,2,weak/,-2,weak/' | hostile 'row 1: its devices is "-2"'
edited 's/,fits,[^,]*/,fits,inf/' | hostile 'row 1: its cost_seconds is "inf"'
edited 's/,fits,[^,]*/,fits,1e999/' | hostile 'row 1: its cost_seconds is "1e999"'
edited 's/,fits,/,<script>,/' | hostile 'row 1: its status is "<script>"'
edited 's/,weak,/,,/' | hostile 'row 1: its scaling is ""'
# A quote that never ends: no whole row.
edited 's/^mlp/"mlp/' >open.csv
compare 0 'rows, 2 made now' - --csv open.csv --resume --search single-device
[ "$(wc -l <open.csv)" -eq 3 ] || fail "rows: $(cat open.csv)"
# What a row says is quoted wherever it is written.
edited 's/,egraph,/,single-device,/; s/gpu=2/"<b>\&"""/; s/^mlp/mlp/' >quoted.csv
compare 0 'rows, 1 made now' - --csv quoted.csv --resume --search single-device --json quoted.json --svg quoted.svg
matches quoted.json '"mesh":"\\u003cb>&\\""'
edited 's/,egraph,/,single-device,/; s/,60,1,fits,/,60,1,failed,/; s/"*gpu=2"*/"a\tb"/; s/^mlp,/"mlp",/' >quoted.csv
compare 0 'failed: ' - --csv quoted.csv --resume --search single-device
mkdir folder
compare 1 - 'folder: ' --csv folder
compare 1 - '/dev/null: no plain file' --csv /dev/null
compare 1 - 'none/x.svg: ' --search data-parallel --svg none/x.svg

# Usage.
expect 2 - "^egraph: --models: there is no 'mpl'; did you mean 'mlp'\?$" bench compare --models mpl
expect 2 - "^egraph: --search: there is no 'zero-4'; did you mean 'zero-[123]'\?$" bench compare --search zero-4
expect 2 - "^egraph: --types: there is no 'int8'; " bench compare --types int8
expect 2 - "^egraph: --models: 'mlp' stands there twice$" bench compare --models mlp,mlp
expect 2 - "^egraph: --nodes: '0' is no number of nodes" bench compare --nodes 0
expect 2 - "^egraph: --nodes: '' is no number of nodes" bench compare --nodes 1,,2
expect 2 - '^egraph: --resume goes on with the rows of --csv FILE' bench compare --resume
expect 1 - "^egraph: .*no machine" bench compare --models mlp --machine cloud
expect 1 - '^egraph: no search of --search plans a model' bench compare --models tensat-bert --search zero-1
finish
