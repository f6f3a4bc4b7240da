# Shared by the tests of the command; sourced with the test's own arguments.
#
#   expect STATUS 'regex on standard output' 'regex on standard error' arguments...
#   keys NAME[.NAME] ...     the last output is one JSON object that has these keys
#   same FILE FILE, absent FILE, present FILE
#   until_interruptible PID  waits until a command in the background handles Ctrl-C, or ends
#
# A regex of '-' wants nothing on that stream, '' does not look. Every failing command must say
# "egraph: ..." on its last line, and no command may print sanitizer reports.
# SPDX-License-Identifier: Apache-2.0
EGRAPH=$1 DATABASE=$2 CMAKE=$3 SOURCE=$4
CLI=$SOURCE/tests/cli
WORK=$(mktemp -d "${TMPDIR:-/tmp}/egraph_cli.XXXXXX") || exit 1
cd "$WORK" || exit 1
trap 'cd /; chmod -R u+w "$WORK"; rm -rf "$WORK"' EXIT
XDG_CACHE_HOME=$WORK/cache
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1
export XDG_CACHE_HOME ASAN_OPTIONS
mkdir cache
failures=0 cases=0

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n  %s\n' "$last" "$1"
  printf '  stdout: %s\n  stderr: %s\n' "$(head -c 600 stdout)" "$(head -c 900 stderr)"
}

matches() { # STREAM REGEX
  case $2 in
  '') ;;
  -) [ ! -s "$1" ] || fail "$1 is not empty" ;;
  *) grep -Eq -e "$2" "$1" || fail "$1 does not match: $2" ;;
  esac
}

judge() { # STATUS WANTED OUT ERR
  [ "$1" -eq "$2" ] || fail "exit status $1 instead of $2"
  matches stdout "$3"
  matches stderr "$4"
  if grep -Eq 'ERROR: .*Sanitizer|runtime error:' stderr; then fail "sanitizer report"; fi
  # A verdict (outputs differ, a rule is rejected) stands on standard output; errors do not.
  if [ "$1" -ne 0 ] && [ ! -s stdout ] && ! tail -n 1 stderr | grep -q '^egraph: '; then
    fail "the error does not begin with 'egraph: '"
  fi
}

expect() {
  wanted=$1 out=$2 err=$3
  shift 3
  last="egraph $*" cases=$((cases + 1))
  "$EGRAPH" "$@" >stdout 2>stderr </dev/null
  judge $? "$wanted" "$out" "$err"
}

keys() {
  "$CMAKE" -DFILE=stdout "-DKEYS=$(printf '%s;' "$@")" -P "$CLI/json_keys.cmake" >json_log 2>&1 ||
    fail "JSON: $(cat json_log)"
}

# The signal is in the mask of those that are caught: bit 1 of the last digit.
until_interruptible() { # PID
  while kill -0 "$1" 2>/dev/null && ! grep -q '^SigCgt:.*[2367abef]$' "/proc/$1/status" 2>/dev/null; do sleep 0.02; done
}

same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }
absent() { [ ! -e "$1" ] || fail "$1 exists"; }
present() { [ -s "$1" ] || fail "$1 is absent or empty"; }

check() { # STATUS OUT ERR arguments...
  wanted=$1 out=$2 err=$3
  shift 3
  last="check_certificate $*" cases=$((cases + 1))
  "$(dirname "$EGRAPH")/check_certificate" "$@" >stdout 2>stderr </dev/null
  got=$?
  [ "$got" -eq "$wanted" ] || fail "exit status $got instead of $wanted"
  matches stdout "$out"
  matches stderr "$err"
}

finish() {
  echo "$cases cases, $failures failures"
  [ "$failures" -eq 0 ]
  exit
}

# Models. layer: 2 operators that fuse; conv: choices of memory formats; mlp; deep: eight
# equal layers, of which those in the middle get the same choices at first.
cat >layer.egraph <<'X'
(egraph-graph 1)
(input x "float32[4,8]")
(weight w "float32[8,6]")
(let m (matmul x w))
(let y (relu m))
(output y)
X
cat >conv.egraph <<'X'
(egraph-graph 1)
(input x "float32[1,16,12,12]")
(weight w "float32[16,16,3,3]")
(weight s "float32[16]")
(weight b "float32[16]")
(weight m "float32[16]")
(weight v "float32[16]")
(let c (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w))
(let n (batch-normalization c s b m v))
(let y (relu n))
(output y)
X
cat >mlp.egraph <<'X'
(egraph-graph 1)
(input x "float32[64,32]")
(weight w1 "float32[32,128]")
(weight w2 "float32[128,16]")
(let m (matmul x w1))
(let h (relu m))
(let y (matmul h w2))
(output y)
X
awk 'BEGIN {
  print "(egraph-graph 1)\n(input x0 \"float32[64,32]\")"
  for (i = 0; i < 8; i++) printf "(weight w%d \"float32[32,32]\")\n", i
  for (i = 0; i < 8; i++) {
    printf "(let m%d (matmul x%d w%d))\n(let h%d (relu m%d))\n(let x%d (add h%d x%d))\n", i, i, i, i, i, i + 1, i, i
  }
  print "(output x8)"
}' >deep.egraph
