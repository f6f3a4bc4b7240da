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
finish
