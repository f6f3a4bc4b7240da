# The law of large graphs: what 300 operators gain, 3,000 gain, for ten times the work.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

# A block, transposed and back, of the same weights every time.
blocks_of_one_weight() { # OPERATORS
  awk -v n="$(($1 / 5))" 'BEGIN {
    print "(egraph-graph 1)\n(input v0 \"float32[16,16]\")\n(weight w \"float32[16,16]\")\n(weight b \"float32[16]\")"
    for (i = 0; i < n; i++) {
      printf "(let m%d (matmul v%d w))\n(let a%d (add m%d b))\n(let r%d (relu a%d))\n", i, i, i, i, i, i
      printf "(let t%d (transpose :perm [1 0] r%d))\n(let v%d (transpose :perm [1 0] t%d))\n", i, i, i + 1, i
    }
    printf "(output v%d)\n", n
  }' >"$1.egraph"
}

blocks_of_their_own() { # OPERATORS
  awk -v n="$(($1 / 3))" 'BEGIN {
    print "(egraph-graph 1)\n(input v0 \"float32[8,8]\")"
    for (i = 0; i < n; i++) printf "(weight w%d \"float32[8,8]\")\n(weight b%d \"float32[8]\")\n", i, i
    for (i = 0; i < n; i++)
      printf "(let m%d (matmul v%d w%d))\n(let a%d (add m%d b%d))\n(let v%d (relu a%d))\n", i, i, i, i, i, i, i + 1, i
    printf "(output v%d)\n", n
  }' >"$1.egraph"
}

products_of_one_input() { # OPERATORS
  awk -v n="$(($1 / 3))" 'BEGIN {
    print "(egraph-graph 1)\n(input x \"float32[8,8]\")"
    for (i = 0; i < n; i++) printf "(weight w%d \"float32[8,8]\")\n", i
    for (i = 0; i < n; i++) printf "(let m%d (matmul x w%d))\n(let v%d (relu m%d))\n", i, i, i, i
    for (; i < 2 * n - 1; i++) printf "(let v%d (add v%d v%d))\n", i, 2 * (i - n), 2 * (i - n) + 1
    printf "(output v%d)\n", i - 1
  }' >"$1.egraph"
}

number() { # KEY: of the JSON of the last command
  sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p" stdout
}

same_gain() { # GRAPH MOST_WORK: the large one's, of the small one's
  for size in 300 3000; do
    "$1" $size
    expect 0 '"gap":0,' - optimize $size.egraph --no-measure --db estimates.db --json
    eval "gain$size=$(awk "BEGIN { print $(number cost_before) / ($(number cost_after)) }")"
    eval "left$size=$(number nodes_after) work$size=$(number 'work":{"saturate')"
  done
  last="$1: gains $gain300 $gain3000, operators left $left300 $left3000, work $work300 $work3000"
  cases=$((cases + 1))
  awk "BEGIN { exit !(($gain3000) >= 0.98 * $gain300 && $gain300 > 1.5) }" || fail "the large graph gains less"
  [ "$left3000" -le $((10 * left300 + 10)) ] || fail "more operators are left of the large graph"
  awk "BEGIN { exit !(($work3000) <= $2 * $work300) }" || fail "the work is not in proportion"
}
same_gain blocks_of_their_own 12
same_gain products_of_one_input 12
same_gain blocks_of_one_weight 30 # rules that shrink the large one run twice
finish
