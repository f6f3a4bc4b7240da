// Follows values of the result and terms together, from the outputs on. A value is one
// term; a node with an unknown operator is one node of the given graph.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "base/owner.h"
#include "rewrites/replay/replay.h"
#include "rewrites/saturation/rule_eval.h"

#define REFUSE(...) EG_FAIL(EGRAPH_E_ARGUMENT, __VA_ARGS__)

typedef struct follower {
  eg_replay_terms *terms;
  const eg_graph *given, *result;
  eg_record_compare *is_same_record;
  eg_u32s term_of;  // [values] 1 + term, or 0
  eg_u32s tuple_of; // [nodes with several results] 1 + term, or 0
  eg_u32s node_of;  // [terms] 1 + the opaque node that it is, or 0
  eg_u32s waiting;  // values
} follower;

static egraph_status refuse_value(const follower *f, eg_value value, const char *what) {
  return REFUSE("value '%.200s' of the result %s", eg_graph_value(f->result, value)->name,
                what);
}

static egraph_status follow_later(follower *f, eg_value value, uint32_t term) {
  uint32_t *known = &f->term_of.data[value.id];
  if (*known == term + 1) return EGRAPH_OK;
  if (*known != 0) return refuse_value(f, value, "would be two terms");
  *known = term + 1;
  return eg_u32s_push(&f->waiting, value.id);
}

// ---- leaves ----------------------------------------------------------------------

static bool is_same_data(const eg_buffer *a, const eg_buffer *b) {
  if (a == NULL || b == NULL) return a == b;
  size_t size = eg_buffer_size(a);
  return size == eg_buffer_size(b) &&
         (size == 0 || memcmp(eg_buffer_data(a), eg_buffer_data(b), size) == 0);
}

static bool is_plain_type(const eg_type *a, const eg_type *b) {
  return eg_type_same_shape(a, b) && a->dtype == b->dtype;
}

static egraph_status follow_input(const follower *f, eg_value value, uint32_t term) {
  const eg_value_info *info = eg_graph_value(f->result, value);
  const eg_attrs *attrs = eg_replay_terms_attrs(f->terms, term);
  eg_value given;
  if (attrs == NULL || attrs->op != EG_OP_INPUT ||
      strcmp(eg_attr_at(attrs, EG_A_INPUT_NAME)->text, info->name) != 0 ||
      !eg_graph_find_value(f->given, info->name, &given))
    return refuse_value(f, value, "is an input, and not its term");
  const eg_value_info *other = eg_graph_value(f->given, given);
  if (!is_plain_type(&info->type, &other->type) || !is_same_data(info->data, other->data))
    return refuse_value(f, value, "has another type or default than in the given model");
  return EGRAPH_OK;
}

/// Checks a weight of the result whose term is computed: reading a file turns fills of
/// small whole numbers, as shapes have, into weights.
static egraph_status follow_computed(const follower *f, eg_value value, uint32_t term) {
  const eg_value_info *info = eg_graph_value(f->result, value);
  const eg_tensor_fact *fact = eg_replay_terms_fact(f->terms, term);
  if (!fact->typed || fact->part_count != 0 || !fact->weight_only || info->data == NULL)
    return refuse_value(f, value, "is a weight, and not its term");
  if (!is_plain_type(&info->type, &fact->type))
    return refuse_value(f, value, "has another type than its term");
  eg_buffer *data;
  EG_TRY(eg_replay_terms_compute(f->terms, term, &data));
  bool is_same = is_same_data(info->data, data);
  eg_buffer_release(data);
  return is_same ? EGRAPH_OK
                 : refuse_value(f, value, "is a weight with other data than its term");
}

static egraph_status follow_weight(const follower *f, eg_value value, uint32_t term) {
  const eg_value_info *info = eg_graph_value(f->result, value);
  const eg_attrs *attrs = eg_replay_terms_attrs(f->terms, term);
  const eg_buffer *data = eg_replay_terms_data(f->terms, term);
  if (attrs != NULL && attrs->op != EG_OP_WEIGHT) return follow_computed(f, value, term);
  if (!is_plain_type(&info->type, &eg_replay_terms_fact(f->terms, term)->type))
    return refuse_value(f, value, "has another type than its term");
  if (info->data == NULL && data != NULL)
    return refuse_value(
        f, value,
        "is a weight without data, which cannot be compared; write .onnx, "
        "which keeps them");
  bool is_named =
      attrs != NULL && strcmp(eg_attr_at(attrs, EG_A_WEIGHT_NAME)->text, info->name) == 0;
  if (!is_same_data(info->data, data) || (data == NULL && !is_named))
    return refuse_value(f, value, "is a weight with other data than its term");
  return EGRAPH_OK;
}

// ---- nodes -----------------------------------------------------------------------

static bool is_same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/// True when a number of the result equals the number of the term, exactly, rounded to
/// float32 as in files, or rounded to the element type of the node as for an operand. The
/// sign of a zero counts.
static bool is_same_number(double mine, double term, egraph_dtype dtype) {
  double stored = term;
  eg_tensor tensor = {.type = eg_type_of(dtype, 0, NULL), .data = &stored};
  if (is_same_bits(mine, term) || is_same_bits(mine, (double)(float)term)) return true;
  if (!eg_dtype_is_float(dtype)) return false;
  eg_tensor_set_double(&tensor, 0, term);
  return is_same_bits(mine, eg_tensor_get_double(&tensor, 0));
}

static bool is_same_attr(const eg_attr *a, const eg_attr *b, egraph_dtype dtype) {
  if (a->kind == EG_ATTR_FLOAT && b->kind == EG_ATTR_FLOAT)
    return is_same_number(a->f, b->f, dtype);
  if (a->kind != EG_ATTR_FLOATS || b->kind != EG_ATTR_FLOATS) return eg_attr_same(a, b);
  bool is_same = a->floats.len == b->floats.len;
  for (uint32_t i = 0; is_same && i < a->floats.len; i++)
    is_same = is_same_number(a->floats.data[i], b->floats.data[i], dtype);
  return is_same;
}

static bool is_same_operator(const eg_attrs *a, const eg_attrs *b, egraph_dtype dtype) {
  if (a->op != b->op || a->count != b->count) return false;
  for (uint16_t i = 0; i < a->count; i++)
    if (!is_same_attr(&a->slots[i], &b->slots[i], dtype)) return false;
  return true;
}

/// True when the results of an unknown operator have the declared types of the given
/// results; nothing else determines these types.
static bool has_same_results(const follower *f, eg_graph_node node, eg_graph_node given) {
  eg_graph_node_info mine = eg_graph_node_at(f->result, node);
  eg_graph_node_info other = eg_graph_node_at(f->given, given);
  bool is_same = mine.result_count == other.result_count;
  for (uint32_t i = 0; is_same && i < mine.result_count; i++) {
    const eg_value_info *a = eg_graph_value(f->result, mine.results[i]);
    const eg_value_info *b = eg_graph_value(f->given, other.results[i]);
    is_same = !a->typed || (b->typed && is_plain_type(&a->type, &b->type));
  }
  return is_same;
}

/// Checks that an unknown operator is the given one, and occurs only once in the result.
static egraph_status is_same_opaque(follower *f, eg_graph_node node, uint32_t term,
                                    const eg_attrs *attrs, bool *out) {
  eg_graph_node given;
  uint32_t *known = &f->node_of.data[term];
  *out =
      eg_graph_find_opaque(f->given, eg_attr_at(attrs, EG_A_OPAQUE_KEY)->text, &given) &&
      (*known == 0 || *known == node.id + 1) &&
      strcmp(eg_graph_opaque_type(f->result, node),
             eg_graph_opaque_type(f->given, given)) == 0 &&
      has_same_results(f, node, given);
  *known = node.id + 1;
  if (!*out) return EGRAPH_OK;
  size_t size, given_size;
  const void *record = eg_graph_opaque_record(f->result, node, &size);
  const void *given_record = eg_graph_opaque_record(f->given, given, &given_size);
  if (f->is_same_record != NULL)
    return f->is_same_record(f->terms->alloc, record, size, given_record, given_size,
                             out);
  *out = size == given_size && (size == 0 || memcmp(record, given_record, size) == 0);
  return EGRAPH_OK;
}

/// Checks a node of the result, whose operator must be that of its term, and later its
/// operands. Ignores its results.
static egraph_status follow_node(follower *f, eg_value value, uint32_t term) {
  eg_graph_node id = eg_graph_value(f->result, value)->node;
  eg_graph_node_info node = eg_graph_node_at(f->result, id);
  const eg_attrs *attrs = eg_replay_terms_attrs(f->terms, term);
  eg_ground ground = eg_ground_at(&f->terms->ground, term);
  bool is_same = attrs != NULL && ground.arity == node.input_count;
  const egraph_dtype dtype = eg_graph_value(f->result, value)->type.dtype;
  if (is_same && attrs->op == EG_OP_OPAQUE && node.attrs->op == EG_OP_OPAQUE)
    EG_TRY(is_same_opaque(f, id, term, attrs, &is_same));
  else
    is_same = is_same && is_same_operator(node.attrs, attrs, dtype);
  if (!is_same)
    return refuse_value(f, value, "is made by another operator than its term");
  for (uint32_t i = 0; i < ground.arity; i++)
    EG_TRY(follow_later(f, node.inputs[i], ground.children[i]));
  return EGRAPH_OK;
}

/// Checks a value that is one of several results of a node: its term must be a PART.
static egraph_status follow_part(follower *f, eg_value value, uint32_t term) {
  const eg_value_info *info = eg_graph_value(f->result, value);
  const eg_attrs *attrs = eg_replay_terms_attrs(f->terms, term);
  uint32_t *known = &f->tuple_of.data[info->node.id];
  if (attrs == NULL || attrs->op != EG_OP_PART ||
      eg_attr_at(attrs, EG_A_PART_INDEX)->i != info->result)
    return refuse_value(f, value, "is one of several results, and not its term");
  uint32_t tuple = eg_ground_at(&f->terms->ground, term).children[0];
  if (*known == tuple + 1) return EGRAPH_OK;
  if (*known != 0) return refuse_value(f, value, "would be of two terms");
  *known = tuple + 1;
  return follow_node(f, value, tuple);
}

static egraph_status follow_value(follower *f, eg_value value) {
  const eg_value_info *info = eg_graph_value(f->result, value);
  uint32_t term = f->term_of.data[value.id] - 1;
  assert(term < eg_ground_count(&f->terms->ground));
  if (info->kind == EG_VALUE_INPUT) return follow_input(f, value, term);
  if (info->kind == EG_VALUE_WEIGHT) return follow_weight(f, value, term);
  eg_graph_node_info node = eg_graph_node_at(f->result, info->node);
  // An identity, which also represents a change of memory format, has the term of
  // its operand.
  if (node.attrs->op == EG_OP_IDENTITY) return follow_later(f, node.inputs[0], term);
  return node.result_count == 1 ? follow_node(f, value, term)
                                : follow_part(f, value, term);
}

// ---- all -------------------------------------------------------------------------

EG_OWNER_DEFINE_STATIC(follower, (eg_u32s, term_of, tuple_of, node_of, waiting))

egraph_status eg_replay_follow(eg_replay_terms *terms, const eg_graph *result,
                               eg_record_compare *is_same_record,
                               const uint32_t *outputs) {
  EG_LOCAL_WITH(follower, f, terms->alloc, .terms = terms, .given = terms->given,
                .result = result, .is_same_record = is_same_record);
  EG_TRY(eg_u32s_resize(&f.term_of, eg_graph_value_count(result)));
  EG_TRY(eg_u32s_resize(&f.tuple_of, eg_graph_node_count(result)));
  EG_TRY(eg_u32s_resize(&f.node_of, eg_ground_count(&terms->ground)));
  for (uint32_t i = 0; i < eg_graph_output_count(result); i++) {
    const char *name, *given;
    eg_value value = eg_graph_output(result, i, &name);
    (void)eg_graph_output(f.given, i, &given);
    if (strcmp(name, given) != 0)
      return REFUSE(
          "output %u is '%.100s' in the result, and '%.100s' in the given model", i + 1,
          name, given);
    EG_TRY(follow_later(&f, value, outputs[i]));
  }
  while (f.waiting.len != 0)
    EG_TRY(follow_value(&f, (eg_value){eg_u32s_pop(&f.waiting)}));
  return EGRAPH_OK;
}
