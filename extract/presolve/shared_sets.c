// In half words a subtree with middle c covers (c - s, c + s), where s is the lowest bit
// of c: the lower half is left, the upper half right. So one number gives place and size.
// The node that joins two disjoint parts has, as its code, the bits on which they agree,
// followed by a one.
// SPDX-License-Identifier: Apache-2.0
#include "extract/presolve/shared_sets.h"

#include "base/hash.h"

enum { MEMO_ENTRIES = 1 << 15 };
static const uint32_t INTERSECTION = UINT32_C(1) << 31;

void eg_sets_finish(eg_sets *sets) {
  eg_flatmap_deinit(&sets->known);
  eg_set_memos_deinit(&sets->memo);
}

egraph_status eg_sets_start(eg_sets *sets) {
  eg_flatmap_clear(&sets->known);
  sets->steps = 0;
  sets->nodes.len = sets->memo.len = 0;
  EG_TRY(eg_set_memos_resize(&sets->memo, MEMO_ENTRIES));
  return eg_set_nodes_push(&sets->nodes, (eg_set_node){.code = 0});
}

// ---- nodes -----------------------------------------------------------------------

static uint64_t hash_set_node(eg_set_node node) {
  return eg_hash_combine(eg_hash_combine(node.code, node.left), node.right);
}

static bool is_set_node(const void *user, uint32_t id, const void *key) {
  const eg_sets *sets = user;
  return memcmp(&sets->nodes.data[id], key, sizeof(eg_set_node)) == 0;
}

static egraph_status intern(eg_sets *sets, eg_set_node node, uint32_t *out) {
  uint64_t hash = hash_set_node(node);
  if (eg_flatmap_find(&sets->known, hash, &node, is_set_node, sets, out))
    return EGRAPH_OK;
  uint32_t id = (uint32_t)sets->nodes.len;
  if (id >= INTERSECTION - 1)
    return EG_FAIL(EGRAPH_E_MEMORY, "more than 2^31 parts of landmark sets");
  EG_TRY(eg_flatmap_reserve_one(&sets->known));
  EG_TRY(eg_set_nodes_push(&sets->nodes, node));
  *out = id;
  return eg_flatmap_insert(&sets->known, hash, id);
}

static egraph_status intern_leaf(eg_sets *sets, uint32_t code, uint64_t word,
                                 uint32_t *out) {
  *out = 0;
  if (word == 0) return EGRAPH_OK;
  return intern(sets, (eg_set_node){code, (uint32_t)word, (uint32_t)(word >> 32)}, out);
}

static egraph_status intern_branch(eg_sets *sets, uint32_t code, uint32_t left,
                                   uint32_t right, uint32_t *out) {
  *out = left == 0 ? right : left;
  if (left == 0 || right == 0) return EGRAPH_OK;
  return intern(sets, (eg_set_node){code, left, right}, out);
}

static uint32_t span_of(uint32_t code) { return code & (0 - code); }

/// True when the range of `inner` lies in one half of the range of `outer`.
static bool holds(uint32_t outer, uint32_t inner) {
  uint32_t span = span_of(outer);
  return span > span_of(inner) && inner - (outer - span) < 2 * span;
}

static uint32_t highest_bit(uint32_t x) {
#if defined(__GNUC__)
  return UINT32_C(1) << (31 - __builtin_clz(x));
#else
  while ((x & (x - 1)) != 0)
    x &= x - 1;
  return x;
#endif
}

/// Finds or makes the trie node that joins two sets with disjoint ranges.
static egraph_status join_disjoint(eg_sets *sets, uint32_t a, uint32_t b, uint32_t *out) {
  assert(a != 0 && b != 0);
  uint32_t x = sets->nodes.data[a].code, y = sets->nodes.data[b].code;
  uint32_t bit = highest_bit(x ^ y), code = (x & ~(2 * bit - 1)) | bit;
  return x < y ? intern_branch(sets, code, a, b, out)
               : intern_branch(sets, code, b, a, out);
}

// ---- operations ------------------------------------------------------------------

static eg_set_memo *memo_of(eg_sets *sets, uint32_t a, uint32_t b) {
  return &sets->memo.data[eg_hash_combine(a, b) % MEMO_ENTRIES];
}

static egraph_status unite_sets(eg_sets *sets, uint32_t a, uint32_t b, uint32_t *out) {
  assert(a < sets->nodes.len && b < sets->nodes.len);
  eg_set_node x = sets->nodes.data[a], y = sets->nodes.data[b];
  uint32_t left = x.left, right = x.right;
  if (x.code == y.code && eg_sets_is_leaf(&x))
    return intern_leaf(sets, x.code, eg_sets_word(&x) | eg_sets_word(&y), out);
  if (x.code == y.code) {
    EG_TRY(eg_sets_union(sets, x.left, y.left, &left));
    EG_TRY(eg_sets_union(sets, x.right, y.right, &right));
  } else if (holds(x.code, y.code)) {
    if (y.code < x.code)
      EG_TRY(eg_sets_union(sets, x.left, b, &left));
    else
      EG_TRY(eg_sets_union(sets, x.right, b, &right));
  } else if (holds(y.code, x.code)) {
    return eg_sets_union(sets, b, a, out);
  } else {
    return join_disjoint(sets, a, b, out);
  }
  return intern_branch(sets, x.code, left, right, out);
}

egraph_status eg_sets_union(eg_sets *sets, uint32_t a, uint32_t b, uint32_t *out) {
  assert(a < sets->nodes.len && b < sets->nodes.len);
  sets->steps++;
  *out = a == 0 ? b : a;
  if (a == b || a == 0 || b == 0) return EGRAPH_OK;
  uint32_t small = a < b ? a : b, large = a < b ? b : a;
  const eg_set_memo *memo = memo_of(sets, small, large);
  if (memo->a == small && memo->b == large) {
    *out = memo->result;
    return EGRAPH_OK;
  }
  EG_TRY(unite_sets(sets, a, b, out));
  *memo_of(sets, small, large) = (eg_set_memo){small, large, *out};
  return EGRAPH_OK;
}

static egraph_status intersect_sets(eg_sets *sets, uint32_t a, uint32_t b,
                                    uint32_t *out) {
  eg_set_node x = sets->nodes.data[a], y = sets->nodes.data[b];
  *out = 0;
  if (x.code == y.code && eg_sets_is_leaf(&x))
    return intern_leaf(sets, x.code, eg_sets_word(&x) & eg_sets_word(&y), out);
  if (x.code == y.code) {
    uint32_t left, right;
    EG_TRY(eg_sets_intersection(sets, x.left, y.left, &left));
    EG_TRY(eg_sets_intersection(sets, x.right, y.right, &right));
    return intern_branch(sets, x.code, left, right, out);
  }
  if (holds(x.code, y.code))
    return eg_sets_intersection(sets, y.code < x.code ? x.left : x.right, b, out);
  if (holds(y.code, x.code))
    return eg_sets_intersection(sets, a, x.code < y.code ? y.left : y.right, out);
  return EGRAPH_OK;
}

egraph_status eg_sets_intersection(eg_sets *sets, uint32_t a, uint32_t b, uint32_t *out) {
  assert(a < sets->nodes.len && b < sets->nodes.len);
  sets->steps++;
  *out = a;
  if (a == b) return EGRAPH_OK;
  *out = 0;
  if (a == 0 || b == 0) return EGRAPH_OK;
  uint32_t small = a < b ? a : b, large = (a < b ? b : a) | INTERSECTION;
  const eg_set_memo *memo = memo_of(sets, small, large);
  if (memo->a == small && memo->b == large) {
    *out = memo->result;
    return EGRAPH_OK;
  }
  EG_TRY(intersect_sets(sets, a, b, out));
  *memo_of(sets, small, large) = (eg_set_memo){small, large, *out};
  return EGRAPH_OK;
}

egraph_status eg_sets_single(eg_sets *sets, uint32_t member, uint32_t *out) {
  return intern_leaf(sets, 2 * (member / 64) + 1, UINT64_C(1) << (member % 64), out);
}

egraph_status eg_sets_range(eg_sets *sets, uint32_t count, uint32_t *out) {
  uint32_t all = 0, part;
  for (uint32_t first = 0; first < count; first += 64) {
    uint64_t word = UINT64_MAX;
    if (count - first < 64) word = (UINT64_C(1) << (count - first)) - 1;
    EG_TRY(intern_leaf(sets, 2 * (first / 64) + 1, word, &part));
    EG_TRY(eg_sets_union(sets, all, part, &all));
  }
  *out = all;
  return EGRAPH_OK;
}

// ---- compaction ------------------------------------------------------------------

/// Sets number[id] = 1 for all parts of the sets ids[0 .. count).
static void mark_parts(const eg_sets *sets, const uint32_t *ids, size_t count,
                       eg_u32s *number) {
  for (size_t i = 0; i < count; i++)
    number->data[ids[i]] = 1;
  for (size_t id = sets->nodes.len; id-- > 1;) {
    const eg_set_node *node = &sets->nodes.data[id];
    if (number->data[id] == 0 || eg_sets_is_leaf(node)) continue;
    number->data[node->left] = number->data[node->right] = 1;
  }
}

static egraph_status renumber_sets(eg_sets *sets, eg_u32s *number) {
  assert(number->len == sets->nodes.len);
  uint32_t kept = 1;
  number->data[0] = 0;
  eg_flatmap_clear(&sets->known);
  for (size_t id = 1; id < sets->nodes.len; id++) {
    eg_set_node node = sets->nodes.data[id];
    if (number->data[id] == 0) continue;
    if (!eg_sets_is_leaf(&node)) {
      node.left = number->data[node.left];
      node.right = number->data[node.right];
    }
    EG_TRY(eg_flatmap_insert(&sets->known, hash_set_node(node), kept));
    sets->nodes.data[kept] = node;
    number->data[id] = kept++;
  }
  sets->nodes.len = kept;
  sets->memo.len = 0;
  return eg_set_memos_resize(&sets->memo, MEMO_ENTRIES);
}

egraph_status eg_sets_compact(eg_sets *sets, uint32_t *ids, size_t count) {
  EG_LOCAL(eg_u32s, number, sets->nodes.alloc);
  EG_TRY(eg_u32s_resize(&number, sets->nodes.len));
  mark_parts(sets, ids, count, &number);
  EG_TRY(renumber_sets(sets, &number));
  for (size_t i = 0; i < count; i++)
    ids[i] = number.data[ids[i]];
  return EGRAPH_OK;
}

// ---- reading ---------------------------------------------------------------------

uint32_t eg_sets_narrow(const eg_sets *sets, uint32_t set, uint32_t code) {
  assert(set < sets->nodes.len);
  while (set != 0) {
    const eg_set_node *node = &sets->nodes.data[set];
    if (node->code == code || holds(code, node->code)) return set;
    if (!holds(node->code, code)) return 0;
    set = code < node->code ? node->left : node->right;
  }
  return 0;
}

bool eg_sets_has(const eg_sets *sets, uint32_t set, uint32_t member) {
  uint32_t code = 2 * (member / 64) + 1;
  set = eg_sets_narrow(sets, set, code);
  return set != 0 && (eg_sets_word(&sets->nodes.data[set]) >> (member % 64)) & 1;
}

egraph_status eg_sets_list(const eg_sets *sets, uint32_t set, eg_u32s *out) {
  assert(set < sets->nodes.len);
  if (set == 0) return EGRAPH_OK;
  const eg_set_node *node = &sets->nodes.data[set];
  if (!eg_sets_is_leaf(node)) {
    EG_TRY(eg_sets_list(sets, node->left, out));
    return eg_sets_list(sets, node->right, out);
  }
  uint32_t first = (node->code >> 1) * 64;
  for (uint64_t word = eg_sets_word(node); word != 0; word &= word - 1)
    EG_TRY(eg_u32s_push(out, first + eg_bits_lowest(word)));
  return EGRAPH_OK;
}
