// Computes facts. Splat values follow data only through operators that move elements:
// rules need scales, epsilons and exponents that were expanded or reshaped, and moving
// never rounds.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/tensor_facts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "ops/tensor.h"

#define OWNED (eg_arena, arena), (eg_type_list_vec, lists), (eg_flatmap, map)

void eg_tensor_facts_init(eg_tensor_facts *facts, egraph_allocator alloc,
                          const eg_graph *graph) {
  *facts = (eg_tensor_facts){.alloc = alloc, .graph = graph};
  EG_INIT_MEMBERS(facts, alloc, OWNED);
}

void eg_tensor_facts_deinit(eg_tensor_facts *facts) { EG_DEINIT_MEMBERS(facts, OWNED); }

// ---- lists of types -------------------------------------------------------------

static bool same_list(const void *user, uint32_t id, const void *key) {
  const eg_tensor_facts *facts = user;
  const eg_type_list *a = &facts->lists.data[id], *b = key;
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (!eg_type_same(&a->types[i], &b->types[i])) return false;
  return true;
}

// Interns a list of types: *out is borrowed and stays valid for the life of the facts.
static egraph_status intern_type_list(eg_tensor_facts *facts, const eg_type *types,
                                      uint32_t count, const eg_type **out) {
  eg_type_list list = {.types = types, .count = count};
  uint64_t hash = eg_hash_combine(0, count);
  for (uint32_t i = 0; i < count; i++)
    hash = eg_hash_combine(hash, eg_type_hash(&types[i]));
  uint32_t id;
  if (eg_flatmap_find(&facts->map, hash, &list, same_list, facts, &id)) {
    *out = facts->lists.data[id].types;
    return EGRAPH_OK;
  }
  eg_type *copy;
  EG_TRY(eg_arena_alloc(&facts->arena, count, sizeof *copy, &copy));
  if (count != 0) memcpy(copy, types, count * sizeof *copy);
  list.types = copy;
  EG_TRY(eg_flatmap_reserve_one(&facts->map));
  EG_TRY(eg_type_list_vec_push(&facts->lists, list));
  (void)eg_flatmap_insert(&facts->map, hash, (uint32_t)facts->lists.len - 1);
  *out = copy;
  return EGRAPH_OK;
}

size_t eg_tensor_facts_bytes(const eg_tensor_facts *facts) {
  return facts->arena.bytes + facts->lists.cap * sizeof *facts->lists.data +
         facts->map.capacity * sizeof *facts->map.slots;
}

enum { MAX_SPLAT_ELEMENTS = 1000000, INLINE_CHILDREN = 8 };
/// A double holds integers below this magnitude exactly.
#define MAX_SPLAT_INT 0x1p53

// ---- unknown types --------------------------------------------------------------

static eg_type unknown_type(void) { return (eg_type){.dtype = EGRAPH_DTYPE_COUNT}; }
bool eg_tensor_part_is_unknown(const eg_type *part) {
  return part->dtype == EGRAPH_DTYPE_COUNT;
}

static eg_type plain(const eg_type *type) {
  return eg_type_of(type->dtype, type->rank, type->dims);
}

static void set_type(eg_tensor_fact *fact, const eg_type *type) {
  fact->typed = !eg_tensor_part_is_unknown(type);
  fact->type = fact->typed ? plain(type) : (eg_type){.rank = 0};
}

// ---- leaves ---------------------------------------------------------------------

void eg_tensor_facts_of_leaf(const eg_type *type, bool is_weight, eg_tensor_fact *out) {
  memset(out, 0, sizeof *out);
  set_type(out, type);
  out->weight_only = is_weight;
}

/// Stores the value of `element` in the fact. Marks the fact as a splat (all elements are
/// equal), unless `element` is an integer of magnitude 2^53 or more, which a double may
/// round.
static void note_splat(const eg_tensor *element, eg_tensor_fact *fact) {
  assert(eg_type_elements(&element->type) == 1);
  fact->splat_value = eg_tensor_get_double(element, 0);
  fact->splat =
      eg_dtype_is_float(element->type.dtype) || fabs(fact->splat_value) < MAX_SPLAT_INT;
}

static bool may_be_splat(const eg_type *type) {
  int64_t count = eg_type_elements(type);
  return count >= 1 && count <= MAX_SPLAT_ELEMENTS;
}

void eg_tensor_facts_of_splat(const eg_type *type, double value, eg_tensor_fact *out) {
  uint64_t data = 0;
  eg_tensor element = {.type = eg_type_of(type->dtype, 0, NULL), .data = &data};
  eg_tensor_facts_of_leaf(type, true, out);
  if (!may_be_splat(type)) return;
  eg_tensor_set_double(&element, 0, value);
  note_splat(&element, out);
}

void eg_tensor_facts_of_data(const eg_type *type, const eg_buffer *data,
                             eg_tensor_fact *out) {
  eg_tensor_facts_of_leaf(type, true, out);
  if (data == NULL || !may_be_splat(type)) return;
  const unsigned char *bytes = eg_buffer_data(data);
  size_t size = eg_dtype_bytes(type->dtype),
         total = size * (size_t)eg_type_elements(type);
  if (eg_buffer_size(data) < total) return;
  // All elements equal the first one exactly when the data equals itself
  // moved by one element.
  if (memcmp(bytes, bytes + size, total - size) != 0) return;
  uint64_t element = 0; // a copy, because tensors cannot borrow constant bytes
  memcpy(&element, bytes, size);
  eg_tensor first = {.type = eg_type_of(type->dtype, 0, NULL), .data = &element};
  note_splat(&first, out);
}

static egraph_status leaf_fact(const eg_tensor_facts *facts, const eg_attrs *attrs,
                               eg_tensor_fact *out) {
  bool is_weight = attrs->op == EG_OP_WEIGHT;
  const char *name =
      eg_attr_at(attrs, is_weight ? EG_A_WEIGHT_NAME : EG_A_INPUT_NAME)->text;
  eg_value value;
  if (!eg_graph_find_value(facts->graph, name, &value))
    return EG_FAIL(EGRAPH_E_TYPE, "the graph has no value '%s'", name);
  const eg_value_info *info = eg_graph_value(facts->graph, value);
  if (info->kind != (is_weight ? EG_VALUE_WEIGHT : EG_VALUE_INPUT))
    return EG_FAIL(EGRAPH_E_TYPE, "the graph's value '%s' is no %s", name,
                   is_weight ? "weight" : "input");
  if (is_weight)
    eg_tensor_facts_of_data(&info->type, info->data, out);
  else
    eg_tensor_facts_of_leaf(&info->type, false, out);
  return EGRAPH_OK;
}

// ---- opaque nodes ---------------------------------------------------------------

static egraph_status opaque_parts(eg_tensor_facts *facts, const eg_graph_node_info *node,
                                  eg_tensor_fact *out) {
  EG_LOCAL(eg_arena, arena, facts->alloc);
  eg_type *types;
  EG_TRY(eg_arena_alloc(&arena, node->result_count, sizeof *types, &types));
  for (uint32_t i = 0; i < node->result_count; i++) {
    const eg_value_info *result = eg_graph_value(facts->graph, node->results[i]);
    types[i] = result->typed ? plain(&result->type) : unknown_type();
  }
  out->typed = true;
  out->part_count = node->result_count;
  return intern_type_list(facts, types, node->result_count, &out->parts);
}

// Sets the fact of an opaque operator, which is never weight-only, because it may
// be random.
static egraph_status opaque_fact(eg_tensor_facts *facts, const eg_attrs *attrs,
                                 eg_tensor_fact *out) {
  const char *key = eg_attr_at(attrs, EG_A_OPAQUE_KEY)->text;
  eg_graph_node id;
  if (!eg_graph_find_opaque(facts->graph, key, &id))
    return EG_FAIL(EGRAPH_E_TYPE, "the graph has no opaque node '%s'", key);
  eg_graph_node_info node = eg_graph_node_at(facts->graph, id);
  if (node.result_count != 1) return opaque_parts(facts, &node, out);
  const eg_value_info *result = eg_graph_value(facts->graph, node.results[0]);
  if (result->typed) set_type(out, &result->type);
  return EGRAPH_OK;
}

// ---- operators ------------------------------------------------------------------

static egraph_status part_fact(const eg_attrs *attrs, const eg_tensor_fact *tuple,
                               eg_tensor_fact *out) {
  int64_t index = eg_attr_at(attrs, EG_A_PART_INDEX)->i;
  if (tuple->part_count == 0)
    return EG_FAIL(EGRAPH_E_TYPE, "part: the operand has one result; use it directly");
  if (index < 0 || index >= (int64_t)tuple->part_count)
    return EG_FAIL(EGRAPH_E_TYPE, "part: index %lld of a node with %u results",
                   (long long)index, tuple->part_count);
  set_type(out, &tuple->parts[index]);
  out->weight_only = tuple->weight_only;
  out->splat = tuple->splat;
  out->splat_value = tuple->splat_value;
  return EGRAPH_OK;
}

static bool moves_elements(eg_op op) {
  static const eg_op movers[] = {EG_OP_IDENTITY,  EG_OP_RESHAPE, EG_OP_SQUEEZE,
                                 EG_OP_UNSQUEEZE, EG_OP_FLATTEN, EG_OP_TRANSPOSE,
                                 EG_OP_EXPAND,    EG_OP_TILE,    EG_OP_SLICE,
                                 EG_OP_SPLIT,     EG_OP_GATHER};
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
    if (movers[i] == op) return true;
  return false;
}

// True when converting keeps a value: every type keeps small non-negative integers, and
// floating-point types keep any number (up to the rounding that comparisons allow).
static bool cast_keeps(egraph_dtype to, double value) {
  if (eg_dtype_is_float(to)) return true;
  double most = to == EGRAPH_BOOL ? 1 : 100;
  return value >= 0 && value <= most && floor(value) == value;
}

static void splat_of_operator(const eg_attrs *attrs,
                              const eg_tensor_fact *const *children, uint32_t count,
                              eg_tensor_fact *out) {
  if (attrs->op == EG_OP_FILL) {
    out->splat = cast_keeps((egraph_dtype)eg_attr_at(attrs, EG_A_FILL_DTYPE)->i,
                            eg_attr_at(attrs, EG_A_FILL_VALUE)->f);
    out->splat_value = eg_attr_at(attrs, EG_A_FILL_VALUE)->f;
    return;
  }
  if (count == 0 || !children[0]->splat) return;
  bool keeps = moves_elements((eg_op)attrs->op);
  if (attrs->op == EG_OP_CAST)
    keeps = cast_keeps((egraph_dtype)eg_attr_at(attrs, EG_A_CAST_TO)->i,
                       children[0]->splat_value);
  out->splat = keeps;
  out->splat_value = keeps ? children[0]->splat_value : 0;
}

static egraph_status set_results(eg_tensor_facts *facts, const eg_attrs *attrs,
                                 const eg_type *inputs, uint32_t count,
                                 eg_tensor_fact *out) {
  uint32_t results = eg_op_results(attrs);
  if (eg_op_info_of((eg_op)attrs->op)->results == 1) {
    eg_type type;
    EG_TRY(eg_op_infer(attrs, inputs, count, &type));
    set_type(out, &type);
    return EGRAPH_OK;
  }
  if (results == 0)
    return EG_FAIL(EGRAPH_E_TYPE, "%s: a node needs at least one result",
                   eg_op_info_of((eg_op)attrs->op)->name);
  EG_LOCAL(eg_arena, arena, facts->alloc);
  eg_type *types;
  EG_TRY(eg_arena_alloc(&arena, results, sizeof *types, &types));
  EG_TRY(eg_op_infer(attrs, inputs, count, types));
  EG_TRY(intern_type_list(facts, types, results, &out->parts));
  out->typed = true;
  out->part_count = results;
  return EGRAPH_OK;
}

static bool has_kernel_for(const eg_tensor_facts *facts, eg_op op, const eg_type *inputs,
                           uint32_t count) {
  uint32_t i = 0;
  assert(op < EG_OP_COUNT && facts->is_restricted);
  while (i + 1 < count && inputs[i].dtype == EGRAPH_BOOL)
    i++;
  return count == 0 || (facts->kernels[op] >> inputs[i].dtype & 1) != 0;
}

static egraph_status operator_fact(eg_tensor_facts *facts, const eg_attrs *attrs,
                                   const eg_tensor_fact *const *children, uint32_t count,
                                   eg_type *inputs, eg_tensor_fact *out) {
  const char *name = eg_op_info_of((eg_op)attrs->op)->name;
  bool weight_only = true;
  for (uint32_t i = 0; i < count; i++) {
    if (!children[i]->typed)
      return EG_FAIL(EGRAPH_E_TYPE, "%s: operand %u has no known type", name, i);
    if (children[i]->part_count != 0)
      return EG_FAIL(EGRAPH_E_TYPE, "%s: operand %u has several results; take a part",
                     name, i);
    inputs[i] = children[i]->type;
    weight_only = weight_only && children[i]->weight_only;
  }
  EG_TRY(set_results(facts, attrs, inputs, count, out));
  if (facts->is_restricted && !has_kernel_for(facts, (eg_op)attrs->op, inputs, count)) {
    facts->left_out++;
    return EG_FAIL(EGRAPH_E_TYPE, "%s: there is no kernel for the element type", name);
  }
  out->weight_only = weight_only;
  splat_of_operator(attrs, children, count, out);
  return EGRAPH_OK;
}

egraph_status eg_tensor_facts_of_node(eg_tensor_facts *facts, const eg_attrs *attrs,
                                      const eg_tensor_fact *const *children,
                                      uint32_t count, eg_tensor_fact *out) {
  eg_tensor_fact fact;
  memset(&fact, 0, sizeof fact);
  egraph_status status;
  if (attrs->op == EG_OP_INPUT || attrs->op == EG_OP_WEIGHT) {
    status = leaf_fact(facts, attrs, &fact);
  } else if (attrs->op == EG_OP_OPAQUE) {
    status = opaque_fact(facts, attrs, &fact);
  } else if (attrs->op == EG_OP_PART) {
    status = count == 1 ? part_fact(attrs, children[0], &fact)
                        : EG_FAIL(EGRAPH_E_TYPE, "part takes one operand");
  } else {
    eg_type few[INLINE_CHILDREN], *inputs = few;
    if (count > INLINE_CHILDREN)
      EG_TRY(eg_alloc(facts->alloc, count, sizeof *inputs, &inputs));
    status = operator_fact(facts, attrs, children, count, inputs, &fact);
    if (inputs != few) eg_free(facts->alloc, inputs, count, sizeof *inputs);
  }
  if (status == EGRAPH_OK) *out = fact;
  return status;
}

// ---- constants ------------------------------------------------------------------

/// False when a fill's number is finite but its type rounds it to infinity or to zero.
static bool fill_fits(const eg_attrs *attrs) {
  double value = eg_attr_at(attrs, EG_A_FILL_VALUE)->f;
  return !isfinite(value) ||
         eg_dtype_holds((egraph_dtype)eg_attr_at(attrs, EG_A_FILL_DTYPE)->i, value);
}

egraph_status eg_tensor_constants_fit(egraph_allocator alloc, const eg_attrs *attrs,
                                      const eg_tensor_fact *const *children,
                                      uint32_t count, const eg_tensor_fact *fact,
                                      bool *out_fit) {
  enum { MOST = 4 };
  *out_fit = attrs->op != EG_OP_FILL || fill_fits(attrs);
  if (!*out_fit || count == 0 || count > MOST) return EGRAPH_OK;
  egraph_dtype dtype = fact->type.dtype;
  uint64_t data[MOST + 1];
  eg_tensor inputs[MOST],
      result = {.type = eg_type_of(dtype, 0, NULL), .data = data + MOST};
  bool is_known = (eg_op_info_of((eg_op)attrs->op)->flags & EG_OPF_POINTWISE) != 0 &&
                  eg_dtype_is_float(dtype);
  bool has_zero = false;
  for (uint32_t i = 0; is_known && i < count; i++) {
    has_zero = has_zero || children[i]->splat_value == 0;
    inputs[i] = (eg_tensor){.type = eg_type_of(children[i]->type.dtype, 0, NULL),
                            .data = data + i};
    is_known = children[i]->splat && children[i]->weight_only &&
               isfinite(children[i]->splat_value);
    if (is_known) eg_tensor_set_double(&inputs[i], 0, children[i]->splat_value);
  }
  if (!is_known) return EGRAPH_OK;
  eg_kernel_call call = {.attrs = attrs,
                         .inputs = inputs,
                         .input_count = count,
                         .outputs = &result,
                         .output_count = 1,
                         .alloc = alloc};
  egraph_status status = eg_op_run(&call);
  if (status == EGRAPH_E_UNSUPPORTED) return EGRAPH_OK;
  double made = eg_tensor_get_double(&result, 0);
  *out_fit = eg_dtype_holds(dtype, made) &&
             (made != 0 || has_zero || !eg_op_makes_products((eg_op)attrs->op));
  return status;
}

// ---- comparing and printing ------------------------------------------------------

bool eg_tensor_fact_same_type(const eg_tensor_fact *a, const eg_tensor_fact *b) {
  if (!a->typed || !b->typed) return true;
  if (a->part_count != b->part_count) return false;
  if (a->part_count != 0) return a->parts == b->parts;
  return eg_type_same(&a->type, &b->type);
}

egraph_status eg_tensor_fact_print(eg_text *text, const eg_tensor_fact *fact) {
  if (!fact->typed) return eg_text_append(text, "unknown");
  if (fact->part_count == 0) return eg_type_print(text, &fact->type);
  for (uint32_t i = 0; i < fact->part_count; i++) {
    eg_text_append(text, i == 0 ? "(" : ", ");
    if (eg_tensor_part_is_unknown(&fact->parts[i]))
      eg_text_append(text, "unknown");
    else
      eg_type_print(text, &fact->parts[i]);
  }
  return eg_text_append(text, ")");
}

// ---- weights of one number -------------------------------------------------------

egraph_status eg_graph_add_splat(eg_graph *graph, const char *name, const eg_type *type,
                                 double number, eg_value *out) {
  egraph_allocator alloc = eg_graph_allocator(graph);
  eg_buffer *data;
  EG_TRY(eg_buffer_create(&alloc, eg_type_bytes(type), &data));
  eg_tensor tensor = {.type = *type, .data = eg_buffer_writable(data)};
  for (int64_t i = 0; i < eg_type_elements(type); i++)
    eg_tensor_set_double(&tensor, i, number);
  egraph_status status = eg_graph_add_weight(graph, name, type, data, out);
  eg_buffer_release(data);
  return status;
}
