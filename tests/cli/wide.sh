# Operators of many operands and results, split like those of few.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

wide() { # N: x through N matrices side by side, whose results are put together; w: cut apart again
  awk -v n="$1" 'BEGIN {
    print "(egraph-graph 1)\n(input x \"float32[8,4]\")"
    for (i = 0; i < n; i++) {
      printf "(weight w%d \"float32[4,2]\")\n(let m%d (matmul x w%d))\n(let h%d (relu m%d))\n", i, i, i, i, i
      parts = parts " h" i; sizes = sizes (i == 0 ? "" : " ") 2; names = names " s" i
    }
    printf "(let c (concat :axis 1%s))\n(let g (tanh c))\n(let [%s] (split :axis 1 :sizes [%s] g))\n", parts, substr(names, 2), sizes
    printf "(let y (add s0 s%d))\n(output y)\n", n - 1
  }'
}

# Everything is split along the batch: gathers of one layout or another there are none.
for n in 17 200; do
  wide $n >wide$n.egraph
  expect 0 '^plan +optimal' - plan wide$n.egraph --machine 'host*2' --no-measure --no-builtin --baseline data-parallel --text -o forward.json
  matches stdout '^ *c@S0 = concat '
  expect 0 'outputs equal' - run forward.json --ranks 2 --verify --repeats 1
  expect 0 '^plan +optimal' - plan wide$n.egraph --machine 'host*2' --no-measure --baseline data-parallel --train sgd --loss mean-squared-error -o step.json
  expect 0 'outputs equal' - run step.json --ranks 2 --train 2 --verify
done

finish
