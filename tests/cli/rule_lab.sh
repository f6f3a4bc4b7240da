# The laboratory of rules: made by machine, guarded, corrected, minimized, found again, counted.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# Rules made by machine: a family of its own, in two runs and in one; they verify.
cat >tiny.family <<'X'
(egraph-families 1)
(family tiny (about "of a test") (inputs (x 2 "float32[2,3]")) (operators (neg) (abs) (max) (transpose :perm [1 0])))
X
expect 0 '^taso +26 templates, 20 inputs' - rules generate --families
expect 0 '^rules +[1-9]' - rules generate --family tiny.family --alone -o whole.rules
expect 0 '^rules +[1-9]' - rules generate --family tiny.family --alone --state tiny.state --candidates 1 -o part.rules
expect 0 '^rules +[1-9]' - rules generate --family tiny.family --alone --state tiny.state --threads 2 -o part.rules
same whole.rules part.rules
expect 0 ' 0 rejected$' - rules whole.rules --verify
expect 0 '^\(egraph-rules 1\)' '^candidates ' rules generate --family tiny.family --alone
expect 0 '^\{' - rules generate --family tiny.family --alone --json -o whole.rules
keys terms values pairs accidents instances repeated candidates judged implied refused unsound implied_later rules both_ways complete passes peak_bytes seconds.judge
expect 2 - '^egraph: --family is missing' rules generate
cp tiny.family kept.family
expect 2 - '^egraph: tiny.family is the family, and would be overwritten' rules generate --family tiny.family -o tiny.family
expect 2 - '^egraph: tiny.state is the state, and would be overwritten' rules generate --family tiny.family --state tiny.state -o tiny.state
expect 2 - '^egraph: tiny.family is the family, and would be overwritten' rules generate --family tiny.family --state tiny.family
cmp -s tiny.family kept.family || fail 'the family is not as it was'
expect 1 - '^egraph: there is no family atention \(did you mean attention\?\); --families lists' rules generate --family atention
expect 1 - 'raise --byte-limit' rules generate --family tiny.family --byte-limit 100
sed 's/run tiny/run other/' tiny.state >other.state
expect 1 - '^egraph: other.state: it is the state of another run' rules generate --family tiny.family --alone --state other.state

# Guards: what a rule needs, and what it does not.
cat >guards.rules <<'X'
(egraph-rules 1)
(rule wide (source "x") (class fast) (lhs (mul ?x ?k)) (rhs ?x) (when (splat-is ?k 1.0)))
(rule weak (source "x") (class fast) (lhs (mul ?x ?y)) (rhs (mul ?y ?x)) (when (same-type ?x ?y)))
(rule never (source "x") (class fast) (lhs (exp ?x)) (rhs (sin ?x)) (when (> (elements ?x) 0)))
X
expect 1 '^holds-if +wide: \(broadcasts-to \?k \?x\); kept by [0-9]+ of [0-9]+ instances' - rules guards.rules --guards
matches stdout '^weaker +weak: \(same-type \?x \?y\) is not needed'
matches stdout '^refuted +never: result 0'
expect 1 '"outcome":"holds-if","guard":"\(broadcasts-to \?k \?x\)"' - rules guards.rules --guards --json

# Pairs that are equal on a part of their result.
cat >pair.rules <<'X'
(egraph-rules 1)
(rule half (source "x") (lhs (conv :strides ?one :pads ?p :dilations ?one ?x ?w))
  (rhs (conv :strides ?one :pads ?p :dilations ?one (pad :pads [0 0 0 0 0 0 0 1]
    (slice :starts [0 0 0 0] :ends [(dim ?x 0) (dim ?x 1) (dim ?x 2) (- (dim ?x 3) 1)] :steps [1 1 1 1] ?x)) ?w))
  (when (= (rank ?x) 4) (all-equal ?one 1) (all-equal ?p 0) (> (dim ?x 3) (+ (dim ?w 3) 1))))
X
expect 0 '^1 pair, 1 corrected rule$' - rules correct pair.rules -o corrected.rules
matches stdout '^corrected +half: equal within dimension 3 from 0 to '
matches corrected.rules '\(rule half-corrected'
expect 0 '^1 accepted, 0 rejected$' - rules corrected.rules --verify
expect 0 '^\(egraph-rules 1\)$' '^1 pair, 1 corrected rule$' rules correct pair.rules
printf '(egraph-rules 1)(rule none (source "x")(lhs (neg ?x))(rhs ?x)(when (> (elements ?x) 3)))\n' >none.rules
expect 1 'none: the sides agree nowhere' - rules correct none.rules -o kept.rules
expect 1 '"corrected":false,"detail":"the sides agree nowhere' - rules correct none.rules --json
expect 2 - 'a file is missing; usage: egraph rules correct FILE' rules correct
printf '(egraph-rules 1)' >nothing.rules
expect 1 - '^egraph: nothing.rules: there is no rule to correct$' rules correct nothing.rules
expect 1 - '^egraph: nowhere/x.rules: cannot be written' rules correct pair.rules -o nowhere/x.rules
expect 2 - 'would be overwritten' rules correct pair.rules -o pair.rules
printf '(egraph-rules 1)(rule broken (source "x")(lhs (conv ?x' >broken.rules
expect 1 - 'broken.rules:1:' rules correct broken.rules
printf '\000\377((((\001[[["' >noise.rules
expect 1 - 'noise.rules' rules correct noise.rules

# The smallest set that implies a set.
cat >set.rules <<'X'
(egraph-rules 1)
(rule swap (source "x") (class exact) (lhs (add ?x ?y)) (rhs (add ?y ?x)))
(rule negations (source "x") (class exact) (lhs (neg (neg ?x))) (rhs ?x))
(rule four (source "x") (class exact) (lhs (neg (neg (neg (neg ?x))))) (rhs ?x))
(rule swapped (source "x") (class exact) (lhs (add (neg (neg ?x)) ?y)) (rhs (add ?y ?x)))
(rule rectified (source "x") (class exact) (lhs (relu (relu ?x))) (rhs (relu ?x)))
X
expect 0 '^3 of 5 rules kept, found greedily; 2 implied' - rules minimize set.rules -o small.rules
matches stdout '^implied +four: negations'
matches stdout '^implied +swapped: (swap, negations|negations, swap)'
matches small.rules '\(rule rectified'
expect 0 '^3 of 3 rules kept' - rules minimize small.rules
expect 2 - 'a file of rules that is read, and would be overwritten' rules minimize set.rules -o set.rules
expect 1 - '^egraph: nowhere/x.rules: cannot be written' rules minimize set.rules -o nowhere/x.rules

# What a set finds again.
expect 0 '^all +5 rules, 5 found$' - rules found set.rules --of set.rules --operators 4
matches stdout '^found +four: negations-'
expect 0 '^all +4 rules, 4 found$' - rules found small.rules small.rules --of set.rules
expect 0 '^not found +relu-abs: an operator that no other rule has' - rules found small.rules
expect 0 '"found":4,"not_found":0' - rules found small.rules --of set.rules --json
expect 2 - . rules found

# Which rules models need.
cat >twice.egraph <<'X'
(egraph-graph 1) (input x "float32[4,4]") (let a (neg x)) (let b (neg a)) (let c (relu b)) (output y c)
X
expect 0 '^neg-neg +1 ' - rules stats twice.egraph --no-measure
matches stdout '^never fired: .*matmul-add-bias'
matches stdout '^[0-9]+ rules: 1 on the path to a result'
expect 0 '"rule":"neg-neg","use":"on the path","models":1' - rules stats twice.egraph --no-measure --json
finish
