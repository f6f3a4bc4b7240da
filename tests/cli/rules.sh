# Rule files: listing, printing, verifying, using, and mistakes in them.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"
quick="--no-measure --db estimates.db"

expect 0 '^matmul-|^conv-' - rules
# Class, and whether a rule is applied where no flag says otherwise.
matches stdout '^rule +class +default +from$'
matches stdout '^neg-neg +exact +on '
matches stdout ' off +[^ ]*explore-matmul'
if grep ' on  .*explore-' stdout; then fail 'rules of explore-* are off'; fi
if grep ' fast  *on ' stdout; then fail 'rules of class fast are off'; fi
expect 0 '^\{' - rules --json
keys rules rules.0.class rules.0.on rules.0.name rules.0.file rules.0.line rules.0.source
expect 0 '^\(egraph-rules 1\)' - rules --print
cp stdout printed.rules
expect 0 '^\(egraph-rules 1\)' - rules printed.rules --print --trust
same printed.rules stdout
expect 0 '^\{' - rules --print --json
keys text
expect 0 '^conv +2..' - rules --operators
expect 0 '^\{' - rules --operators --json
keys operators

cat >mine.rules <<'X'
(egraph-rules 1)
(rule fuse (source "mine") (lhs (relu (matmul ?x ?w))) (rhs (matmul :act relu ?x ?w)))
X
expect 0 '^fuse +associative +on +mine.rules:2 +mine$' - rules mine.rules
expect 0 '^1 accepted, 0 rejected$' - rules mine.rules --verify
expect 0 '^\{' - rules mine.rules --verify --json --seed 3
keys rules accepted rejected evidence.0.name evidence.0.instances evidence.0.reached evidence.0.classes.0.name
expect 0 'conv-' - rules mine.rules --builtin
expect 0 '2 -> 1 operators' - optimize layer.egraph $quick --no-builtin --rules mine.rules
expect 0 '2 -> 2 operators' - optimize layer.egraph $quick --no-builtin
expect 0 '2 -> 2 operators' - optimize layer.egraph $quick --no-builtin --rules mine.rules --disable fuse
expect 0 '2 -> 2 operators' - optimize layer.egraph $quick --no-builtin --rules mine.rules --disable mine

# The rule and the graph of the README.
sed -n '/^(egraph-rules 1)/,/^```/p' "$SOURCE/README.md" | sed '$d' >readme.rules
expect 0 '^1 accepted, 0 rejected$' - rules readme.rules --verify
expect 0 '^predicted' 'note: readme.rules:3: rule max-absorbs-min is of class fast and is not applied; --math fast' optimize layer.egraph $quick --rules readme.rules
expect 0 '^predicted' - optimize layer.egraph $quick --rules readme.rules --math fast

sed -n '/^(egraph-graph 1)/,/^```/p' "$SOURCE/README.md" | sed '$d' >readme.egraph
expect 0 '2 -> 1 operators' - optimize readme.egraph $quick
expect 0 GFLOP - run readme.egraph

cat >wrong.rules <<'X'
(egraph-rules 1)
(rule wrong (source "nobody") (lhs (relu (neg ?x))) (rhs (neg (relu ?x))))
X
expect 1 '^refuted  wrong: .*' '' rules wrong.rules --verify
# One verdict of each rule.
cat >verdicts.rules <<'X'
(egraph-rules 1)
(rule flips (source "s") (class exact) (lhs (transpose :perm [1 0] (transpose :perm [1 0] ?x))) (rhs ?x))
(rule shift (source "s") (lhs (softmax :axis ?a (add ?x ?c))) (rhs (softmax :axis ?a ?x)) (when (splat? ?c) (broadcasts-to ?c ?x)))
(rule never (source "s") (lhs (relu ?x)) (rhs (abs ?x)) (when (= (rank ?x) 1) (= (rank ?x) 2)))
(rule wide (source "s") (class fast) (lhs (mul (relu ?x) ?k)) (rhs (relu (mul ?x ?k))))
X
expect 1 '^tested  flips: ' '' rules verdicts.rules --verify
matches stdout '^holds as class fast  shift: its sides differ'
matches stdout '^untested  never: no instance found'
matches stdout '^refuted  wide: '
expect 1 '^proved  flips: ' '' rules verdicts.rules --verify --prove
expect 1 '^\{' '' rules verdicts.rules --verify --json
keys evidence.0.verdict evidence.0.class evidence.1.verdict
cat >shrink.rules <<'X'
(egraph-rules 1)
(rule shrink (source "nobody") (lhs (relu ?x)) (rhs (reduce-sum :axes [0] ?x)))
X
expect 1 '^refuted  shrink: ' '' rules shrink.rules --verify
expect 1 - '^egraph: .*shrink' optimize layer.egraph $quick --rules shrink.rules
expect 1 - '^egraph: wrong.rules:2: rule wrong does not hold: result 0, element ' rules wrong.rules
expect 1 - '^egraph: wrong.rules:2: rule wrong does not hold: ' optimize layer.egraph $quick --rules wrong.rules
expect 0 '^predicted' - optimize layer.egraph $quick --rules wrong.rules --trust
expect 0 '^wrong ' - rules wrong.rules --trust
expect 1 '"rejected":1' '' rules wrong.rules --verify --json
keys rules accepted rejected

# What a rule was compared on, and what its conditions keep from it.
cat >stride.rules <<'X'
(egraph-rules 1)
(rule stride-1 (source "mine") (lhs (relu (max-pool :kernel_shape ?k :strides ?s :pads ?p :dilations ?d ?x)))
  (rhs (max-pool :kernel_shape ?k :strides ?s :pads ?p :dilations ?d (relu ?x))) (when (all-equal ?d 1) (all-equal ?s 1) (> (elements ?x) 0)))
X
expect 0 '^  not reached, .all-equal .s 1.: stride 2 of max-pool, stride 3 of max-pool' - rules stride.rules --verify
expect 0 '"name":"stride 3 of max-pool","instances":0,"reason":"\(all-equal \?s 1\)"' - rules stride.rules --verify --json

cat >tested.rules <<'X'
(egraph-rules 1)
(rule twice (source "nobody") (lhs (relu (relu (neg ?x)))) (rhs (relu (neg ?x))))
(test it-is-not (given (?x "float32[2]")) (rules twice) (term (neg (neg ?x))) (equals (neg ?x)))
X
expect 1 '^refuted  .test.: tested.rules:3.*test it-is-not' '' rules tested.rules --verify
expect 1 '"rejected":1' '' rules tested.rules --verify --json

# Classes: a rule that is not finite-safe is off unless it is asked for, and must say so.
cat >fast.rules <<'X'
(egraph-rules 1)
(rule gone (source "mine") (class fast) (lhs (cos (sub ?x ?x))) (rhs (fill :dtype (dtype ?x) :shape (shape ?x) :value 1.0)))
X
cat >gone.egraph <<'X'
(egraph-graph 1)
(input x "float32[4096]")
(let d (sub x x))
(let y (cos d))
(output y)
X
expect 0 '^tested  gone: [0-9]+ instances, .*float16.*, [0-9]+ of [0-9]+ classes of instances, ranks to [0-9]+, dimensions to [0-9]+; class fast$' - rules fast.rules --verify
for math in exact associative; do
  expect 0 '"name":"gone"|"rules":\[\]' - optimize gone.egraph $quick --no-builtin --rules fast.rules --math $math --json
  grep -q '"name":"gone"' stdout && fail "gone fired with --math $math"
done
expect 0 '"name":"gone"' - optimize gone.egraph $quick --no-builtin --rules fast.rules --math fast --json
expect 2 - 'math' optimize gone.egraph --math loose
sed 's/(class fast) //' fast.rules >claims.rules
expect 1 - '^egraph: claims.rules:2: rule gone does not hold: its sides differ as only class fast allows, but it claims class associative, on data with NaN' optimize gone.egraph $quick --rules claims.rules

bad() { # TEXT REGEX
  printf '(egraph-rules 1)\n%s\n' "$1" >bad.rules
  expect 1 - "^egraph: bad.rules:[0-9]+:[0-9]+: .*$2" rules bad.rules
  expect 1 - "^egraph: bad.rules:[0-9]+:[0-9]+: .*$2" optimize layer.egraph $quick --rules bad.rules
}
bad '(rule a (source "s") (lhs (rellu ?x)) (rhs ?x))' "rellu"
bad '(rule a (source "s") (lhs (relu ?x)) (rhs ?y))' '\?y'
bad '(rule a (source "s") (lhs (relu ?x)))' 'rhs'
bad '(rule a (lhs (relu ?x)) (rhs ?x))' 'source'
bad '(rule a (source "s") (lhs (relu ?x)) (rhs ?x)' ''
bad '(rule a (source "s") (lhs (relu ?x ?y)) (rhs ?x))' 'relu'
bad '(rule a (source "s") (lhs (softmax :axes 1 ?x)) (rhs ?x))' 'axes'
bad '(rule a (source "s") (lhs (relu ?x)) (rhs ?x) (when (prime ?x)))' 'prime'
bad '(rule a (source "s") (lhs (cos (neg ?x))) (rhs (cos ?x))) (rule b (source "s") (lhs (cos (neg ?y))) (rhs (cos ?y)))' ''
bad '(rule a (source "s") (lhs (cos (neg ?x))) (rhs (cos ?x))) (rule a (source "s") (lhs (cos (abs ?y))) (rhs (cos ?y)))' "a"
bad '(rulle a)' 'unknown form'
# Axes from the end match nothing.
from_front='graphs count axes from the front; for the last one write'
bad '(rule a (source "s") (lhs (neg (concat :axis -1 ?x ?y))) (rhs (concat :axis -1 (neg ?x) (neg ?y))))' \
  "concat has :axis from the end, but $from_front :axis .a and .when .= .axis "
bad '(rule a (source "s") (lhs (neg (softmax ?x))) (rhs (neg (softmax ?x))))' 'softmax has :axis from the end by default'
bad '(rule a (source "s") (lhs (neg (reduce-sum :axes [0 -1] ?x))) (rhs ?x))' "reduce-sum has :axes from the end, but $from_front :axes .a"
bad '(rule a (source "s") (lhs (neg ?x)) (rhs (unsqueeze :axes [-1] ?x)))' 'write :axes .\(- \(rank .x\) 1\)'
bad '(rule a (source "s") (lhs (relu ?x)) (rhs (relu (partition :dim 0 ?x))))' 'layouts of rule a: .*add \(combine :dim 0 \.\.\.\)'
# A rule that is shipped is a note.
printf '(egraph-rules 1)\n(rule mine (source "s") (lhs (neg (neg ?x))) (rhs ?x))\n' >mine.rules
expect 0 '^predicted' '^egraph: note: mine.rules:2: rule mine is neg-neg, which is there already$' optimize layer.egraph $quick --rules mine.rules
printf '' >bad.rules
expect 1 - '^egraph: bad.rules' rules bad.rules
expect 1 - '^egraph: absent.rules: ' rules absent.rules
expect 1 - '^egraph: absent.rules: ' optimize layer.egraph $quick --rules absent.rules
mkdir folder.rules
expect 1 - '^egraph: folder.rules: ' rules folder.rules
head -c 5000 /dev/urandom >noise.rules
expect 1 - '^egraph: noise.rules' rules noise.rules

# Parallel operators: what layouts imply is listed apart; published rules are imported.
cat >parallel.rules <<'X'
(egraph-rules 1)
(rule blocks (source "s") (lhs (relu ?x)) (rhs (combine :dim ?d (relu (partition :dim ?d ?x)))))
X
expect 0 '^1 says nothing that layouts do not imply, or repeats a rule:$' - rules parallel.rules
expect 0 '"implied":\[\{"name":"blocks"' - rules parallel.rules --json
expect 0 '^1 accepted, 0 rejected$' - rules parallel.rules --verify
printf '\n\044\n\013\010\010\022\007\010\377\377\377\177\020\000' >cut.pb
expect 1 - '^egraph: cut.pb: this is no file of substitutions' rules --import cut.pb
expect 1 - '^egraph: absent.pb: ' rules --import absent.pb
printf '' >empty.pb
expect 1 - '^egraph: empty.pb: there is no substitution in it$' rules --import empty.pb

# Tensat's texts: a verdict each, and a file of ours with what is new.
cat >some.txt <<'X'
(relu (conv2d 1 1 0 0 ?input_7 ?input_10))=>(conv2d 1 1 0 2 ?input_7 ?input_10)
(relu ?input_1)=>(tanh ?input_1)
X
printf 'poolavg(3,1,1,1,0,poolavg(1,3,1,1,0,input_7))==poolavg(3,3,1,1,0,input_7)' >means.txt
expect 0 '^implied  *some.txt:0: on by default: conv-relu$' - rules --import some.txt
expect 0 '^refuted  *some.txt:1: result 0, element' - rules --import some.txt
expect 0 '^3 substitutions: 1 tested, 0 holds-if, 1 implied, 0 duplicate, 1 refuted, 0 not-convertible$' - rules --import some.txt --import means.txt -o new.rules
expect 0 '^1 accepted, 0 rejected$' - rules new.rules --verify
expect 0 "Tensat \(MLSys'21\), means.txt, substitution 0" - rules new.rules
expect 0 '"file":"means.txt","number":0,"outcome":"tested"' - rules --import means.txt --json
printf 'relu(input_1)==sin(input_1)' >wrong.txt
expect 1 - '^egraph: wrong.txt:1: sin is no operator' rules --import wrong.txt

# Proofs: of all sizes, or the reason why not.
printf '(egraph-rules 1)(rule one (source "t") (lhs (neg (neg ?x))) (rhs ?x))(rule two (source "t") (lhs (sin (neg ?x))) (rhs (sin ?x)))' >claims.rules
expect 0 '^proved for all sizes  one: 2 cases of ranks, axes and flags$' - rules claims.rules --prove
matches stdout '^not proved            two: no proof that elements are equal, with ranks [?]x 0$'
matches stdout '^1 of 2 rules proved for all sizes; none was tested [(]--verify does[)]$'
expect 0 '"name":"two","proved":false,"reason":"no proof' - rules claims.rules --prove --json

# What is not proved, derived from what is: instances, by steps that are replayed.
printf '(egraph-rules 1)(rule merge (source "t") (class associative) (lhs (matmul (add ?x ?y) ?w)) (rhs (add (matmul ?x ?w) (matmul ?y ?w))) (when (= (shape ?x) (shape ?y))))(rule turn (source "t") (class exact) (lhs (add ?x ?y)) (rhs (add ?y ?x)))(rule sines (source "t") (lhs (sin (add ?x ?y))) (rhs (sin (sub ?y (neg ?x)))))(rule two (source "t") (lhs (sin (neg ?x))) (rhs (sin ?x)))' >axioms.rules
expect 0 '^neither               two: an instance does not follow from rules that are proved$' - rules axioms.rules --trust --derive
matches stdout '^[0-3] of 4 rules proved for all sizes, [0-3] derived from them at instances$'
expect 0 '"name":"two","proved":false,"derived":false,"reason":"an instance' - rules axioms.rules --trust --derive --json

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
