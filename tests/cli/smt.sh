# egraph rules --smt, and what Z3 says: it agrees with the shipped rules wherever its answer decides, and
# refutes wrong ones.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

mkdir one
printf '(egraph-rules 1)(rule parts (source "t") (class fast) (lhs (mul ?x (add ?y ?z))) (rhs (add (mul ?x ?y) (mul ?x ?z))))(rule odd (source "t") (lhs (sin (neg ?x))) (rhs (neg (sin ?x))))(rule wide (source "t") (lhs (cos (softmax :axis ?a ?x))) (rhs (sin (softmax :axis ?a ?x))))' >some.rules
expect 0 '^asked      parts$' - rules some.rules --trust --smt one
matches stdout '^asked      odd: with functions that are not defined$'
matches stdout '^not asked  wide: operator softmax$'
matches stdout '^2 of 3 rules asked in files of one$'
[ -f one/parts.smt2 ] && [ -f one/odd.smt2 ] || fail 'the files of the questions'
expect 0 '"name":"odd","asked":true,"decisive":false' - rules some.rules --trust --smt one --json

# What the script cannot say is not asked; constants are exact, or told.
mkdir strict
cat >strict.rules <<'X'
(egraph-rules 1)
(rule casts (source "t") (class fast) (lhs (cast :to float32 (cast :to int32 ?x))) (rhs ?x) (when (= (dtype ?x) float32)))
(rule truths (source "t") (class fast) (lhs (cast :to float32 (cast :to bool ?x))) (rhs ?x) (when (= (dtype ?x) float32)))
(rule nearly (source "t") (class fast) (lhs (mul ?x (fill :dtype float32 :shape [] :value 1.0000001))) (rhs ?x))
(rule thirds (source "t") (class fast) (lhs (mul ?x (fill :dtype float32 :shape [] :value 0.33333334))) (rhs (div ?x (fill :dtype float32 :shape [] :value 3.0))))
(rule slopes (source "t") (class fast) (lhs (leaky-relu :alpha 1.0000001 ?x)) (rhs ?x))
(rule shapes (source "t") (class fast) (lhs (transpose :perm [1 0] ?x)) (rhs ?x) (when (!= (dim ?x 0) (dim ?x 1))))
X
expect 0 '^3 of 6 rules asked' - rules strict.rules --trust --smt strict
matches stdout '^not asked  casts: operator cast has results of integers$'
matches stdout '^not asked  truths: operator cast rounds to bool$'
matches stdout '^not asked  shapes: the sides of an instance have different shapes$'
matches stdout '^asked      nearly: with constants that may be rounded$'
matches stdout '^asked      slopes: with constants that may be rounded$'
matches stdout '^asked      thirds: with rounded constants, taken as quotients'
grep -qF '(/ 8388609.0 8388608.0)' strict/nearly.smt2 || fail 'the constant is exact'
expect 0 '"name":"thirds","asked":true,"decisive":false,"reason":"with rounded' - rules strict.rules --trust --smt strict --json
expect 1 '^0 of 3 rules asked' 'none/parts.smt2' rules some.rules --trust --smt none

command -v z3 >/dev/null || {
  echo 'no z3: what it says of the rules is skipped'
  finish
}
answers() { # answers FOLDER FILE: the answer, and the rule, of each question
  find "$1" -name '*.smt2' -print0 | xargs -0 -P 2 -I {} sh -c \
    'printf "%s %s\n" "$(z3 -T:2 "$1" 2>&1 | head -n 1)" "$(basename "$1" .smt2)"' sh {} | sort >"$2"
}
decisive() { # decisive ANSWER FILE JSON: rules with this answer where it decides
  while read -r answer rule; do
    [ "$answer" = "$1" ] && grep -q "\"name\":\"$rule\",\"asked\":true,\"decisive\":true" "$3" && echo "$rule"
  done <"$2"
}

answers strict strict.txt
[ "$(cat strict.txt)" = "$(printf 'sat nearly\nsat slopes\nunsat thirds')" ] || fail "Z3 says $(cat strict.txt)"

mkdir shipped wrong
expect 0 '"decisive":true' - rules --smt shipped --json
cp stdout shipped.json
answers shipped shipped.txt
[ -z "$(decisive sat shipped.txt shipped.json)" ] || fail "Z3 refutes $(decisive sat shipped.txt shipped.json)"
grep -q '^(error' shipped.txt && fail "no SMT-LIB: $(grep '^(error' shipped.txt)"
agreed=$(grep -c '^unsat ' shipped.txt)
echo "Z3 agrees with $agreed of $(wc -l <shipped.txt) shipped rules"
[ "$agreed" -ge 300 ] || fail "Z3 agrees with $agreed rules only"

expect 0 '"decisive":true' - rules "$SOURCE/tests/data/wrong.rules" --trust --smt wrong --json
cp stdout wrong.json
answers wrong wrong.txt
refuted=$(decisive sat wrong.txt wrong.json | wc -l)
echo "Z3 refutes $refuted of $(wc -l <wrong.txt) wrong rules that it was asked about"
[ "$refuted" -ge 60 ] || fail "Z3 refutes $refuted wrong rules only"
finish
