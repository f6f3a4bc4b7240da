// The trials of an optimized graph: its nodes one after the other, with the numbers that
// come from open dimensions replaced.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/trials.h"

#include <inttypes.h>
#include <string.h>

#include "pcg/graph/attr_list.h"

typedef struct follower {
  const eg_graph *original, *result;
  const eg_graph *like; // the original's trial
  uint32_t trial;
  const eg_size_table *table;
  eg_graph *to;
  eg_value *map; // [values of the result]
  eg_arena arena;
} follower;

static egraph_status is_of_the_example(const char *what, const char *name) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s '%.200s' of the optimized graph holds for the sizes of the example "
                 "only; fix the sizes of dimensions (--dim NAME=N)",
                 what, name);
}

static egraph_status follow_number(const follower *f, int64_t number, const char *name,
                                   int64_t *out) {
  eg_size size;
  if (!eg_size_table_find(f->table, number, &size))
    return is_of_the_example("a number of", name);
  *out = size.at[f->trial];
  return EGRAPH_OK;
}

// ---- leaves ---------------------------------------------------------------------------

static egraph_status follow_leaf(follower *f, uint32_t id) {
  const eg_value_info *info = eg_graph_value(f->result, (eg_value){id});
  eg_value same;
  if (info->kind == EG_VALUE_INPUT) {
    if (!eg_graph_find_value(f->like, info->name, &same))
      return EG_FAIL(EGRAPH_E_INTERNAL, "input '%s' is new", info->name);
    EG_TRY(eg_graph_add_input(f->to, info->name, &eg_graph_value(f->like, same)->type,
                              &f->map[id]));
    return eg_graph_set_default(f->to, f->map[id], info->data);
  }
  // What the original has is the same at all sizes; what was folded since, if its type
  // is.
  bool is_given = eg_graph_find_value(f->original, info->name, &same) &&
                  eg_graph_value(f->original, same)->data == info->data;
  if (!is_given && eg_size_table_is_open(f->table, info->type.dims, info->type.rank))
    return is_of_the_example("the constant", info->name);
  return eg_graph_add_weight(f->to, info->name, &info->type, info->data, &f->map[id]);
}

// ---- nodes ----------------------------------------------------------------------------

static egraph_status follow_ints(follower *f, eg_ints list, const char *name,
                                 eg_ints *out) {
  int64_t *data;
  EG_TRY(eg_arena_alloc(&f->arena, list.len, sizeof *data, &data));
  for (uint32_t i = 0; i < list.len; i++)
    EG_TRY(follow_number(f, list.data[i], name, &data[i]));
  *out = (eg_ints){.data = data, .len = list.len};
  return EGRAPH_OK;
}

/// A slice of the last elements begins at a number that stands nowhere in the original:
/// where this would lie beyond the end, the length is what stays.
static egraph_status follow_slice(follower *f, const eg_attrs *attrs, eg_attrs *moved) {
  eg_ints starts = eg_attr_at(attrs, EG_A_SLICE_STARTS)->ints;
  eg_ints ends = eg_attr_at(attrs, EG_A_SLICE_ENDS)->ints;
  eg_ints new_ends = eg_attr_at(moved, EG_A_SLICE_ENDS)->ints;
  eg_attr *slot = (eg_attr *)(uintptr_t)eg_attr_at(moved, EG_A_SLICE_STARTS); // of ours
  int64_t *data;
  EG_TRY(eg_arena_alloc(&f->arena, starts.len, sizeof *data, &data));
  for (uint32_t i = 0; i < starts.len; i++) {
    int64_t length = ends.data[i] - starts.data[i];
    data[i] = slot->ints.data[i];
    if (data[i] == starts.data[i] && data[i] > new_ends.data[i] && length > 0)
      data[i] = new_ends.data[i] - length;
  }
  slot->ints = (eg_ints){.data = data, .len = starts.len};
  return EGRAPH_OK;
}

static egraph_status follow_attrs(follower *f, const eg_attrs *attrs, const char *name,
                                  eg_attrs *out) {
  eg_attr *slots;
  EG_TRY(eg_arena_alloc(&f->arena, attrs->count, sizeof *slots, &slots));
  for (uint16_t i = 0; i < attrs->count; i++) {
    slots[i] = attrs->slots[i];
    if (slots[i].kind == EG_ATTR_INT)
      EG_TRY(follow_number(f, attrs->slots[i].i, name, &slots[i].i));
    if (slots[i].kind == EG_ATTR_INTS)
      EG_TRY(follow_ints(f, attrs->slots[i].ints, name, &slots[i].ints));
  }
  *out = (eg_attrs){.op = attrs->op, .count = attrs->count, .slots = slots};
  return attrs->op == EG_OP_SLICE ? follow_slice(f, attrs, out) : EGRAPH_OK;
}

/// The kept node of the original with the same record: it has the names of the file, so
/// that no two are equal.
static egraph_status find_kept(const follower *f, eg_graph_node node, const char *name,
                               eg_graph_node *out) {
  size_t size, other;
  const void *record = eg_graph_opaque_record(f->result, node, &size);
  for (out->id = 0; out->id < eg_graph_node_count(f->original); out->id++) {
    if (eg_graph_node_at(f->original, *out).attrs->op != EG_OP_OPAQUE) continue;
    const void *bytes = eg_graph_opaque_record(f->original, *out, &other);
    if (size == other && memcmp(record, bytes, size) == 0) return EGRAPH_OK;
  }
  return EG_FAIL(EGRAPH_E_INTERNAL, "the kept node '%s' is new", name);
}

static egraph_status add_node(follower *f, eg_graph_node id,
                              const eg_graph_node_info *node, const eg_value *operands,
                              const char *const *names, eg_value *results) {
  const char *name = node->result_count != 0 ? names[0] : node->name;
  eg_graph_node same;
  eg_attrs attrs;
  if (node->attrs->op == EG_OP_OPAQUE) {
    // In the same place in all trials of the original.
    EG_TRY(find_kept(f, id, name, &same));
    return eg_graph_add_copy(f->to, f->like, same, operands, names, results);
  }
  EG_TRY(follow_attrs(f, node->attrs, name, &attrs));
  egraph_status status = eg_graph_add_node(f->to, node->name, &attrs, operands,
                                           node->input_count, names, results);
  if (status != EGRAPH_E_TYPE) return status;
  return is_of_the_example(eg_op_info_of((eg_op)node->attrs->op)->name, name);
}

static egraph_status follow_node(follower *f, uint32_t n) {
  eg_graph_node_info node = eg_graph_node_at(f->result, (eg_graph_node){n});
  eg_value *operands, *results;
  const char **names;
  EG_TRY(eg_arena_alloc(&f->arena, node.input_count, sizeof *operands, &operands));
  EG_TRY(eg_arena_alloc(&f->arena, node.result_count, sizeof *results, &results));
  EG_TRY(eg_arena_alloc(&f->arena, node.result_count, sizeof *names, &names));
  for (uint32_t i = 0; i < node.input_count; i++)
    operands[i] = f->map[node.inputs[i].id];
  for (uint32_t i = 0; i < node.result_count; i++)
    names[i] = eg_graph_value(f->result, node.results[i])->name;
  EG_TRY(add_node(f, (eg_graph_node){n}, &node, operands, names, results));
  for (uint32_t i = 0; i < node.result_count; i++) {
    const eg_value_info *info = eg_graph_value(f->result, node.results[i]);
    f->map[node.results[i].id] = results[i];
    if (info->typed && info->type.layout.format != EG_FORMAT_PLAIN)
      EG_TRY(eg_graph_set_format(f->to, results[i], (eg_format)info->type.layout.format));
  }
  return EGRAPH_OK;
}

// ---- outputs --------------------------------------------------------------------------

static egraph_status follow_outputs(follower *f) {
  for (uint32_t i = 0; i < eg_graph_output_count(f->result); i++) {
    const char *name;
    eg_value value = f->map[eg_graph_output(f->result, i, &name).id];
    const eg_value_info *now = eg_graph_value(f->to, value);
    const eg_value_info *was = eg_graph_value(f->like, eg_graph_output(f->like, i, NULL));
    EG_TRY(eg_graph_add_output(f->to, name, value));
    if (now->typed && was->typed &&
        (now->type.rank != was->type.rank || now->type.dtype != was->type.dtype ||
         memcmp(now->type.dims, was->type.dims,
                now->type.rank * sizeof *now->type.dims) != 0))
      return is_of_the_example("output", name);
  }
  return EGRAPH_OK;
}

static egraph_status follow(follower *f) {
  egraph_allocator alloc = eg_graph_allocator(f->result);
  uint32_t values = eg_graph_value_count(f->result);
  EG_TRY(eg_graph_create(&alloc, &f->to));
  EG_TRY(eg_arena_alloc(&f->arena, values, sizeof *f->map, &f->map));
  for (uint32_t v = 0; v < values; v++) {
    const eg_value_info *info = eg_graph_value(f->result, (eg_value){v});
    if (info->kind != EG_VALUE_COMPUTED)
      EG_TRY(follow_leaf(f, v));
    else if (info->result == 0)
      EG_TRY(follow_node(f, info->node.id));
  }
  return follow_outputs(f);
}

egraph_status eg_trials_follow(const eg_graph *original, const eg_size_table *table,
                               eg_graph *result) {
  eg_open_sizes *sizes;
  if (eg_graph_open_sizes(original) == NULL) return EGRAPH_OK;
  EG_TRY(eg_open_sizes_like(eg_graph_open_sizes(original), &sizes));
  egraph_status status = EGRAPH_OK;
  for (uint32_t t = 1; status == EGRAPH_OK && t < EG_TRIALS; t++) {
    follower f = {.original = original,
                  .result = result,
                  .like = eg_graph_trial(original, t),
                  .trial = t,
                  .table = table};
    eg_arena_init(&f.arena, eg_graph_allocator(result));
    status = follow(&f);
    sizes->trials[t] = f.to; // a half-made one is freed with the others
    eg_arena_deinit(&f.arena);
  }
  if (status == EGRAPH_OK)
    eg_graph_set_open_sizes(result, sizes);
  else
    eg_open_sizes_destroy(sizes);
  return status;
}
