# Ranks that are processes, and lost: stopped, killed, too many, each with another plan; two runs at once.
# Every run ends by itself, long before the time that is allowed here, with an error that says why.
# Usage: lost_ranks.sh EGRAPH MPIEXEC
# SPDX-License-Identifier: Apache-2.0
EGRAPH=$1 MPIEXEC=$2
WORK=$(mktemp -d "${TMPDIR:-/tmp}/egraph_mpi.XXXXXX") || exit 1
cd "$WORK" || exit 1
trap 'cd /; rm -rf "$WORK"' EXIT
failures=0

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n  %s\n  stdout: %s\n  stderr: %s\n' "$last" "$1" "$(tail -n 3 stdout)" "$(head -c 2000 stderr)"
}

# A rank tells its process before it becomes the command; ranks from $OTHERS_FROM on run another plan.
cat >rank.sh <<'X2'
#!/bin/sh
echo $$ >"pid.$OMPI_COMM_WORLD_RANK"
plan=plan.json
[ "$OMPI_COMM_WORLD_RANK" -lt "${OTHERS_FROM:-99}" ] || plan=other.json
exec "$EGRAPH" run $plan --channel mpi "$@"
X2
chmod +x rank.sh
export EGRAPH

start() { # RANKS arguments...
  ranks=$1
  last="$*"
  shift
  rm -f pid.*
  : >stdout
  timeout 100 "$MPIEXEC" --allow-run-as-root --oversubscribe -n "$ranks" ./rank.sh "$@" >stdout 2>stderr </dev/null &
  run=$!
}

ends() { # REGEX: with a failure that is not our patience
  wait $run
  status=$?
  [ $status -ne 0 ] && [ $status -ne 124 ] || fail "exit status $status"
  grep -Eq -e "$1" stderr || fail "stderr does not match: $1"
  for file in pid.*; do
    polls=0
    while kill -0 "$(cat "$file")" 2>/dev/null; do # mpirun ends a little before the last of them
      polls=$((polls + 1))
      [ $polls -lt 100 ] || { fail "the rank of $file is still there"; break; }
      sleep 0.1
    done
  done
}

until_step() { # STEP
  polls=0
  until grep -q "^step $1 " stdout; do
    polls=$((polls + 1))
    [ $polls -lt 600 ] || { fail 'no step is reported'; break; }
    sleep 0.1
  done
}

cat >mlp.egraph <<'X2'
(egraph-graph 1)
(input x "float32[16,8]")
(weight w1 "float32[8,32]")
(weight w2 "float32[32,4]")
(let m (matmul x w1))
(let h (relu m))
(let y (matmul h w2))
(output y)
X2
sed 's/relu/tanh/' mlp.egraph >tanh.egraph
for model in mlp:plan tanh:other; do
  "$EGRAPH" plan "${model%:*}.egraph" --machine 'host*4' --train adam --loss mean-squared-error -o "${model#*:}.json" >stdout || exit 1
done

for rank in 0 2 1; do
  # One of them while exchanges run beside computing.
  [ $rank -ne 1 ] || issue='--issue ahead'
  # shellcheck disable=SC2086
  start 4 --train 1000000 --deadline 1 ${issue-}
  until_step 3
  kill -STOP "$(cat pid.$rank)"
  ends "^egraph: .*rank $rank did not come to .* within 1 s"
  # shellcheck disable=SC2086
  start 4 --train 1000000 --deadline 60 ${issue-}
  until_step 3
  kill -KILL "$(cat pid.$rank)"
  ends 'rank'
done
start 3 --train 3
ends '^egraph: the mesh has 4 devices, but mpirun started 3 processes; use mpirun -n 4'
# Both plans have the same collectives.
OTHERS_FROM=2
export OTHERS_FROM
start 4 --train 3
ends "^egraph: .*the ranks along '[a-z]*' have different plans, numbers of steps, orders of issue or seeds"

# Two at once do not hear each other. Each has a folder of its own: in one, Open MPI 4 may fail to make what the other makes.
for run in 1 2; do
  mkdir "tmp.$run"
  TMPDIR=$WORK/tmp.$run "$MPIEXEC" --allow-run-as-root --oversubscribe -n 4 "$EGRAPH" run plan.json --channel mpi --train 20 --verify >out.$run 2>&1 </dev/null &
done
wait
last='two runs at once'
for run in 1 2; do
  grep -q 'outputs equal' out.$run || fail "$(cat out.$run)"
done
[ "$(grep '^step' out.1 | cut -c1-20)" = "$(grep '^step' out.2 | cut -c1-20)" ] || fail 'the losses differ'

echo "$failures failures"
[ $failures -eq 0 ]
