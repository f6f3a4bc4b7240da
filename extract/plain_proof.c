// Explains rows. All rows except one kind are explained in the same way. Without the
// nodes on the row's greater side ("above"), some needed class, or some child of every
// node on the other side, has no derivation. From this class grows a set S of classes
// without derivations: every node of S that is not above has a child without derivation,
// which joins S.
// SPDX-License-Identifier: Apache-2.0
#include "extract/plain_proof.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_BYTES = 64 << 20 };

egraph_status eg_plain_proof_init(eg_plain_proof *proof, egraph_allocator alloc,
                                  const eg_extract_problem *problem, double target) {
  *proof = (eg_plain_proof){
      .problem = problem, .target = target, .max_bytes = MAX_BYTES, .best = -INFINITY};
  eg_plain_proof_init_members(proof, alloc);
  uint32_t nodes = eg_extract_node_count(problem);
  EG_TRY(eg_class_index_build(&proof->index, problem));
  EG_TRY(eg_u32s_resize(&proof->gone_at, nodes));
  EG_TRY(eg_u32s_resize(&proof->needed_at, problem->class_count));
  EG_TRY(eg_u32s_resize(&proof->waiting, nodes));
  EG_TRY(eg_u32s_resize(&proof->queue, problem->class_count));
  EG_TRY(eg_u32s_resize(&proof->cut_stamp, nodes));
  EG_TRY(eg_u32s_resize(&proof->set_stamp, problem->class_count));
  EG_TRY(eg_bytes_resize(&proof->derived, problem->class_count));
  for (size_t i = 0; i < problem->roots.len; i++)
    proof->needed_at.data[problem->roots.data[i]] = 1;
  return EGRAPH_OK;
}

static void drop_node(eg_plain_proof *proof, uint32_t node) {
  if (proof->gone_at.data[node] == 0)
    proof->gone_at.data[node] = (uint32_t)proof->splits.len + 1;
}

static bool in_set(const eg_plain_proof *proof, uint32_t class) {
  return proof->set_stamp.data[class] == proof->stamp;
}

// Writes an integer times a power of two, because %a would write the locale's decimal
// point. Whole numbers stay readable.
egraph_status eg_certificate_double(eg_text *text, double value) {
  int exponent = 0;
  if (!isfinite(value))
    return eg_text_append(text, value > 0 ? " inf" : value < 0 ? " -inf" : " nan");
  if (fabs(value) < 0x1p53 && value == floor(value))
    return eg_text_printf(text, " %" PRId64, (int64_t)value);
  int64_t digits = (int64_t)ldexp(frexp(value, &exponent), 53);
  exponent -= 53;
  for (; digits % 16 == 0; exponent += 4)
    digits /= 16;
  return eg_text_printf(text, " %s0x%" PRIx64 "p%d", digits < 0 ? "-" : "",
                        (uint64_t)(digits < 0 ? -digits : digits), exponent);
}

// ---- derivations ------------------------------------------------------------------

static bool is_usable(const eg_plain_proof *proof, uint32_t node) {
  return proof->gone_at.data[node] == 0 && proof->cut_stamp.data[node] != proof->stamp;
}

static void derive_by(eg_plain_proof *proof, uint32_t node, uint32_t *count) {
  uint32_t class = proof->problem->node_class.data[node];
  if (proof->waiting.data[node] != 0 || !is_usable(proof, node) ||
      proof->derived.data[class])
    return;
  proof->derived.data[class] = 1;
  proof->queue.data[(*count)++] = class;
}

/// Flags the classes that can be derived without the nodes of the cut.
static void derive_all(eg_plain_proof *proof) {
  const eg_extract_problem *problem = proof->problem;
  uint32_t count = 0;
  memset(proof->derived.data, 0, proof->derived.len);
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    proof->waiting.data[n] =
        problem->child_begin.data[n + 1] - problem->child_begin.data[n];
    derive_by(proof, n, &count);
  }
  for (uint32_t at = 0; at < count; at++) {
    uint32_t class = proof->queue.data[at];
    EG_EACH_USER(&proof->index, class, user) {
      proof->waiting.data[user]--;
      derive_by(proof, user, &count);
    }
  }
}

static egraph_status join_set(eg_plain_proof *proof, uint32_t class) {
  if (in_set(proof, class)) return EGRAPH_OK;
  proof->set_stamp.data[class] = proof->stamp;
  return eg_u32s_push(&proof->set, class);
}

/// Ensures that some child of `node` is in proof->set: a child without derivation joins
/// if none is. *out_leans: false when there is no such child.
static egraph_status lean_on_child(eg_plain_proof *proof, uint32_t node,
                                   bool *out_leans) {
  const eg_extract_problem *problem = proof->problem;
  uint32_t child = EG_EXTRACT_NONE;
  EG_EACH_CHILD(problem, node, class) {
    if (in_set(proof, class)) {
      *out_leans = true;
      return EGRAPH_OK;
    }
    if (!proof->derived.data[class]) child = class;
  }
  *out_leans = child != EG_EXTRACT_NONE;
  return *out_leans ? join_set(proof, child) : EGRAPH_OK;
}

/// Grows proof->set until every node of its classes is in the cut or has a child in the
/// set. Classes of the set have no derivation, so such a child always exists.
static egraph_status grow_set(eg_plain_proof *proof) {
  for (size_t at = 0; at < proof->set.len; at++) {
    uint32_t class = proof->set.data[at];
    EG_EACH_MEMBER(&proof->index, class, node) {
      bool leans;
      if (is_usable(proof, node)) EG_TRY(lean_on_child(proof, node, &leans));
    }
  }
  return EGRAPH_OK;
}

static void start_cut(eg_plain_proof *proof, const uint32_t *nodes, uint32_t count) {
  assert(count == 0 || nodes[0] < eg_extract_node_count(proof->problem));
  proof->stamp++;
  proof->set.len = 0;
  for (uint32_t i = 0; i < count; i++)
    proof->cut_stamp.data[nodes[i]] = proof->stamp;
}

static bool has_child(const eg_extract_problem *problem, uint32_t node, uint32_t class) {
  EG_EACH_CHILD(problem, node, child) {
    if (child == class) return true;
  }
  return false;
}

// ---- sums -------------------------------------------------------------------------

egraph_status eg_plain_proof_begin(eg_plain_proof *proof) {
  proof->sum = 0;
  proof->sum_begin = proof->text.chars.len;
  proof->rest.len = 0;
  return eg_doubles_append(&proof->rest, proof->problem->cost.data,
                           proof->problem->cost.len);
}

static void write_set(eg_plain_proof *proof) {
  for (size_t i = 0; i < proof->set.len; i++)
    eg_text_printf(&proof->text, " %u", proof->set.data[i]);
  if (proof->text.chars.len > proof->max_bytes) proof->failed = true;
  eg_text_append(&proof->text, "\n");
}

static bool has_child_in_set(const eg_plain_proof *proof, uint32_t node) {
  const eg_extract_problem *problem = proof->problem;
  EG_EACH_CHILD(problem, node, child) {
    if (in_set(proof, child)) return true;
  }
  return false;
}

/// Subtracts `weight` from the nodes of the cut (not dropped, in the set, without a child
/// in the set), as the checker will.
static void take_off_cut(eg_plain_proof *proof, double weight, uint32_t except) {
  for (size_t s = 0; s < proof->set.len; s++) {
    uint32_t class = proof->set.data[s];
    for (uint32_t m = proof->index.member_begin.data[class];
         class != except && m < proof->index.member_begin.data[class + 1]; m++) {
      uint32_t node = proof->index.members.data[m];
      if (proof->gone_at.data[node] == 0 && !has_child_in_set(proof, node))
        proof->rest.data[node] -= weight;
    }
  }
}

static egraph_status add_cut_record(eg_plain_proof *proof, double weight) {
  assert(weight > 0);
  derive_all(proof);
  for (uint32_t class = 0; class < proof->problem->class_count && proof->set.len == 0;
       class ++)
    if (proof->needed_at.data[class] != 0 && !proof->derived.data[class])
      EG_TRY(join_set(proof, class));
  if (proof->set.len == 0) return EGRAPH_OK;
  EG_TRY(grow_set(proof));
  eg_text_append(&proof->text, "cut");
  eg_certificate_double(&proof->text, weight);
  write_set(proof);
  proof->sum += weight;
  take_off_cut(proof, weight, EG_EXTRACT_NONE);
  return eg_text_status(&proof->text);
}

static egraph_status write_row_record(eg_plain_proof *proof, double weight,
                                      uint32_t class) {
  eg_text_append(&proof->text, "row");
  eg_certificate_double(&proof->text, weight);
  eg_text_printf(&proof->text, " %u", class);
  write_set(proof);
  take_off_cut(proof, weight, class);
  EG_EACH_MEMBER(&proof->index, class, member) {
    if (has_child_in_set(proof, member)) proof->rest.data[member] += weight;
  }
  return eg_text_status(&proof->text);
}

/// True when a row is (sum of a class's alive nodes) >= (sum of nodes that use the
/// class), the common case.
static bool is_child_row(const eg_plain_proof *proof, uint32_t child,
                         const uint32_t *below, uint32_t below_count) {
  EG_EACH_MEMBER(&proof->index, child, member) {
    if (is_usable(proof, member)) return false;
  }
  for (uint32_t i = 0; i < below_count; i++)
    if (!has_child(proof->problem, below[i], child)) return false;
  return true;
}

/// True when a row is (sum of the class's alive users) >= (sum of its nodes).
static bool is_usage_row(const eg_plain_proof *proof, uint32_t class) {
  if (proof->needed_at.data[class] != 0) return false;
  EG_EACH_USER(&proof->index, class, user) {
    if (is_usable(proof, user)) return false;
  }
  return true;
}

static egraph_status add_usage(eg_plain_proof *proof, double weight, uint32_t class) {
  eg_text_append(&proof->text, "use");
  eg_certificate_double(&proof->text, weight);
  eg_text_printf(&proof->text, " %u\n", class);
  EG_EACH_USER(&proof->index, class, user) { proof->rest.data[user] -= weight; }
  EG_EACH_MEMBER(&proof->index, class, member) { proof->rest.data[member] += weight; }
  return eg_text_status(&proof->text);
}

static egraph_status add_row_record(eg_plain_proof *proof, double weight,
                                    uint32_t first_above, const uint32_t *below,
                                    uint32_t below_count) {
  const uint32_t *class_of = proof->problem->node_class.data;
  uint32_t class = class_of[below[0]];
  if (is_child_row(proof, class_of[first_above], below, below_count)) {
    EG_TRY(join_set(proof, class_of[first_above]));
    return write_row_record(proof, weight, class);
  }
  derive_all(proof);
  bool leans = true;
  for (uint32_t i = 0; i < below_count && leans; i++)
    EG_TRY(lean_on_child(proof, below[i], &leans));
  if (leans) {
    EG_TRY(grow_set(proof));
    return write_row_record(proof, weight, class);
  }
  return is_usage_row(proof, class) ? add_usage(proof, weight, class) : EGRAPH_OK;
}

egraph_status eg_plain_proof_row(eg_plain_proof *proof, double weight,
                                 const uint32_t *above, uint32_t above_count,
                                 const uint32_t *below, uint32_t below_count) {
  assert(above_count == 0 || above[0] < eg_extract_node_count(proof->problem));
  if (!(weight > 0) || !isfinite(weight) || above_count == 0 || proof->failed)
    return EGRAPH_OK;
  start_cut(proof, above, above_count);
  if (below_count == 0) return add_cut_record(proof, weight);
  return add_row_record(proof, weight, above[0], below, below_count);
}

egraph_status eg_plain_proof_cuts(eg_plain_proof *proof, const uint32_t *part,
                                  const eg_cuts *cuts, double *price) {
  assert(cuts != NULL);
  for (uint32_t r = 0; r < eg_cuts_count(cuts); r++) {
    double charge = INFINITY;
    proof->row.len = 0;
    for (uint32_t i = cuts->begin.data[r]; i < cuts->begin.data[r + 1]; i++) {
      uint32_t node = cuts->nodes.data[i];
      EG_TRY(eg_u32s_push(&proof->row, part[node]));
      if (price[node] < charge) charge = price[node];
    }
    for (uint32_t i = cuts->begin.data[r]; i < cuts->begin.data[r + 1]; i++)
      price[cuts->nodes.data[i]] -= charge;
    EG_TRY(eg_plain_proof_row(proof, charge, proof->row.data, (uint32_t)proof->row.len,
                              NULL, 0));
  }
  return EGRAPH_OK;
}

egraph_status eg_plain_proof_end(eg_plain_proof *proof) {
  const eg_extract_problem *problem = proof->problem;
  double total = proof->sum;
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    double least = 0;
    EG_EACH_MEMBER(&proof->index, class, node) {
      if (proof->gone_at.data[node] == 0 && proof->rest.data[node] < least)
        least = proof->rest.data[node];
    }
    total += least;
  }
  EG_TRY(eg_text_append(&proof->text, "bound\n"));
  if (total > proof->best && proof->splits.len == 0) {
    proof->best = total;
    proof->best_begin = proof->sum_begin;
    proof->best_end = proof->text.chars.len;
  }
  if (total >= proof->target) proof->closed = true;
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    if (proof->rest.data[n] > 0 && total + proof->rest.data[n] >= proof->target)
      drop_node(proof, n);
  return EGRAPH_OK;
}

// ---- nodes that others replace ----------------------------------------------------

/// Explains why a node is dropped: without the nodes of class `needed`, some child of the
/// node has no derivation.
static egraph_status explain_need(eg_plain_proof *proof, uint32_t node, uint32_t needed,
                                  bool *out_done) {
  const eg_extract_problem *problem = proof->problem;
  uint32_t first = proof->index.member_begin.data[needed];
  start_cut(proof, proof->index.members.data + first,
            proof->index.member_begin.data[needed + 1] - first);
  derive_all(proof);
  *out_done = false;
  for (uint32_t i = problem->child_begin.data[node];
       i < problem->child_begin.data[node + 1] && !*out_done; i++) {
    uint32_t child = problem->children.data[i];
    if (proof->derived.data[child]) continue;
    EG_TRY(join_set(proof, child));
    EG_TRY(grow_set(proof));
    eg_text_printf(&proof->text, "needs %u %u", child, needed);
    write_set(proof);
    *out_done = true;
  }
  return eg_text_status(&proof->text);
}

egraph_status eg_plain_proof_worse(eg_plain_proof *proof, uint32_t n, uint32_t m,
                                   bool *out_gone) {
  assert(n != m &&
         proof->problem->node_class.data[n] == proof->problem->node_class.data[m]);
  const eg_extract_problem *problem = proof->problem;
  size_t before = proof->text.chars.len;
  *out_gone = proof->gone_at.data[m] == 0 && !proof->failed;
  for (uint32_t i = problem->child_begin.data[m];
       i < problem->child_begin.data[m + 1] && *out_gone; i++)
    if (!has_child(problem, n, problem->children.data[i]))
      EG_TRY(explain_need(proof, n, problem->children.data[i], out_gone));
  if (!*out_gone) {
    proof->text.chars.len = before;
    return EGRAPH_OK;
  }
  drop_node(proof, n);
  return eg_text_printf(&proof->text, "worse %u %u\n", n, m);
}

// ---- the tree ---------------------------------------------------------------------

static void enter_side(eg_plain_proof *proof, eg_proof_split side, uint32_t item) {
  uint32_t class =
      side == EG_PROOF_NODE_ONLY ? proof->problem->node_class.data[item] : item;
  proof->closed = false;
  switch (side) {
  case EG_PROOF_CLASS_USED:
    if (proof->needed_at.data[class] == 0)
      proof->needed_at.data[class] = (uint32_t)proof->splits.len + 1;
    break;
  case EG_PROOF_NODE_WITHOUT: drop_node(proof, item); break;
  case EG_PROOF_CLASS_UNUSED:
  case EG_PROOF_NODE_ONLY:
    EG_EACH_MEMBER(&proof->index, class, member) {
      if (side == EG_PROOF_CLASS_UNUSED || member != item) drop_node(proof, member);
    }
    break;
  }
}

static eg_proof_split other_side(eg_proof_split side) {
  switch (side) {
  case EG_PROOF_CLASS_USED: return EG_PROOF_CLASS_UNUSED;
  case EG_PROOF_CLASS_UNUSED: return EG_PROOF_CLASS_USED;
  case EG_PROOF_NODE_WITHOUT: return EG_PROOF_NODE_ONLY;
  case EG_PROOF_NODE_ONLY: break;
  }
  return EG_PROOF_NODE_WITHOUT;
}

egraph_status eg_plain_proof_split(eg_plain_proof *proof, eg_proof_split side,
                                   uint32_t item) {
  static const char *const RECORD[] = {"split class %u used\n", "split class %u unused\n",
                                       "split node %u without\n", "split node %u only\n"};
  EG_TRY(eg_text_printf(&proof->text, RECORD[side], item));
  EG_TRY(eg_proof_frames_push(&proof->splits, (eg_proof_frame){side, item, false}));
  enter_side(proof, side, item);
  return EGRAPH_OK;
}

/// Brings back nodes dropped and classes needed since the present depth of splits.
static void undo_below(eg_plain_proof *proof) {
  for (size_t n = 0; n < proof->gone_at.len; n++)
    if (proof->gone_at.data[n] > proof->splits.len) proof->gone_at.data[n] = 0;
  for (size_t class = 0; class < proof->needed_at.len; class ++)
    if (proof->needed_at.data[class] > proof->splits.len)
      proof->needed_at.data[class] = 0;
}

static bool lacks_derivation(eg_plain_proof *proof) {
  start_cut(proof, NULL, 0);
  derive_all(proof);
  for (uint32_t class = 0; class < proof->problem->class_count; class ++)
    if (proof->needed_at.data[class] != 0 && !proof->derived.data[class]) return true;
  return false;
}

egraph_status eg_plain_proof_close(eg_plain_proof *proof) {
  if (!proof->closed && !lacks_derivation(proof)) proof->failed = true;
  if (proof->failed) return EGRAPH_OK;
  EG_TRY(eg_text_append(&proof->text, "closed\n"));
  while (proof->splits.len != 0 && proof->splits.data[proof->splits.len - 1].last) {
    undo_below(proof);
    proof->splits.len--;
  }
  proof->done = proof->splits.len == 0;
  if (proof->done) return EGRAPH_OK;
  eg_proof_frame *top = &proof->splits.data[proof->splits.len - 1];
  undo_below(proof);
  top->last = true;
  top->now = other_side(top->now);
  enter_side(proof, top->now, top->item);
  return EGRAPH_OK;
}
