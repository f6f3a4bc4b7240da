// Seeds an e-graph with a graph, computes the facts of nodes from those of their operands
// (leaves and opaque nodes are typed by the graph), and looks up.
//
// Splat values follow data only through operators that move elements: the rules ask for
// scales, epsilons and exponents that were expanded or reshaped, and moving never rounds.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/tensor_egraph.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/flatmap.h"
#include "base/hash.h"
#include "base/owner.h"
#include "ops/tensor.h"
#include "pcg/onnx/onnx_versions.h"

// ---- facts of nodes ----------------------------------------------------------

/// Interned lists of tensor types, of the results of nodes with several: equal lists have
/// one address. The map goes from the hash of a list to its place in `lists`.
typedef struct type_list {
  const eg_type *types;
  uint32_t count;
} type_list;
EG_VEC_DEFINE(type_list_vec, type_list);

typedef struct type_lists {
  eg_arena arena;
  type_list_vec lists;
  eg_flatmap map;
} type_lists;
EG_OWNER_DEFINE_STATIC(type_lists, (eg_arena, arena), (type_list_vec, lists),
                       (eg_flatmap, map))

/// What the facts of terms are computed from.
typedef struct tensor_facts {
  egraph_allocator alloc;
  const eg_graph *graph;
  const eg_attr_pool *attrs;
  type_lists lists;
  bool is_restricted; // to nodes that ONNX Runtime loads
} tensor_facts;

static bool same_list(const void *user, uint32_t id, const void *key) {
  const type_lists *lists = user;
  const type_list *a = &lists->lists.data[id], *b = key;
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (!eg_type_same(&a->types[i], &b->types[i])) return false;
  return true;
}

// *out is borrowed and stays valid for the life of `lists`.
static egraph_status intern_type_list(type_lists *lists, const eg_type *types,
                                      uint32_t count, const eg_type **out) {
  type_list list = {.types = types, .count = count};
  uint64_t hash = eg_hash_combine(0, count);
  for (uint32_t i = 0; i < count; i++)
    hash = eg_hash_combine(hash, eg_type_hash(&types[i]));
  uint32_t id;
  if (eg_flatmap_find(&lists->map, hash, &list, same_list, lists, &id)) {
    *out = lists->lists.data[id].types;
    return EGRAPH_OK;
  }
  eg_type *copy;
  EG_TRY(eg_arena_alloc(&lists->arena, count, sizeof *copy, &copy));
  if (count != 0) memcpy(copy, types, count * sizeof *copy);
  list.types = copy;
  EG_TRY(eg_flatmap_reserve_one(&lists->map));
  EG_TRY(type_list_vec_push(&lists->lists, list));
  (void)eg_flatmap_insert(&lists->map, hash, (uint32_t)lists->lists.len - 1);
  *out = copy;
  return EGRAPH_OK;
}

static size_t type_list_bytes(const type_lists *lists) {
  return lists->arena.bytes + lists->lists.cap * sizeof *lists->lists.data +
         lists->map.capacity * sizeof *lists->map.slots;
}

enum { MAX_SPLAT_ELEMENTS = 1000000, INLINE_CHILDREN = 8 };
/// Integers up to this one are held by a double.
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

static void read_splat(const eg_value_info *value, eg_tensor_fact *out) {
  int64_t count = eg_type_elements(&value->type);
  if (value->data == NULL || count < 1 || count > MAX_SPLAT_ELEMENTS) return;
  const unsigned char *bytes = eg_buffer_data(value->data);
  size_t size = eg_dtype_bytes(value->type.dtype), total = size * (size_t)count;
  if (eg_buffer_size(value->data) < total) return;
  // All elements equal the first one exactly when the data equals itself
  // moved by one element.
  if (memcmp(bytes, bytes + size, total - size) != 0) return;
  uint64_t element = 0; // a copy, because tensors cannot borrow constant bytes
  memcpy(&element, bytes, size);
  eg_tensor first = {.type = eg_type_of(value->type.dtype, 0, NULL), .data = &element};
  out->splat_value = eg_tensor_get_double(&first, 0);
  out->splat = // a number that is known
      eg_dtype_is_float(value->type.dtype) || fabs(out->splat_value) <= MAX_SPLAT_INT;
}

static egraph_status leaf_fact(const tensor_facts *facts, const eg_attrs *attrs,
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
  set_type(out, &info->type);
  out->weight_only = is_weight;
  if (is_weight) read_splat(info, out);
  return EGRAPH_OK;
}

// ---- opaque nodes ---------------------------------------------------------------

static egraph_status opaque_parts(tensor_facts *facts, const eg_graph_node_info *node,
                                  eg_tensor_fact *out) {
  eg_type *types;
  EG_TRY(eg_alloc(facts->alloc, node->result_count, sizeof *types, &types));
  for (uint32_t i = 0; i < node->result_count; i++) {
    const eg_value_info *result = eg_graph_value(facts->graph, node->results[i]);
    types[i] = result->typed ? plain(&result->type) : unknown_type();
  }
  out->typed = true;
  out->part_count = node->result_count;
  egraph_status status =
      intern_type_list(&facts->lists, types, node->result_count, &out->parts);
  eg_free(facts->alloc, types, node->result_count, sizeof *types);
  return status;
}

// An opaque operator may be random, so that it is never weight-only.
static egraph_status opaque_fact(tensor_facts *facts, const eg_attrs *attrs,
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
  out->is_unloaded = tuple->is_unloaded;
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

// Converting keeps small non-negative integers as they are in every type, and any number
// in floating-point types (up to the rounding that comparisons allow for).
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

static egraph_status set_results(tensor_facts *facts, const eg_attrs *attrs,
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
  eg_type *types;
  EG_TRY(eg_alloc(facts->alloc, results, sizeof *types, &types));
  egraph_status status = eg_op_infer(attrs, inputs, count, types);
  if (status == EGRAPH_OK)
    status = intern_type_list(&facts->lists, types, results, &out->parts);
  eg_free(facts->alloc, types, results, sizeof *types);
  EG_TRY(status);
  out->typed = true;
  out->part_count = results;
  return EGRAPH_OK;
}

/// By the element type that kernels differ in: of the first operand that is not bool.
static bool is_loaded(const eg_attrs *attrs, const eg_type *inputs, uint32_t count) {
  uint32_t i = 0;
  while (i + 1 < count && inputs[i].dtype == EGRAPH_BOOL)
    i++;
  return count == 0 || eg_onnx_is_op_loaded((eg_op)attrs->op, inputs[i].dtype);
}

static egraph_status operator_fact(tensor_facts *facts, const eg_attrs *attrs,
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
  out->is_unloaded = !is_loaded(attrs, inputs, count);
  if (facts->is_restricted && out->is_unloaded)
    return EG_FAIL(EGRAPH_E_TYPE, "%s: ONNX Runtime has no kernel for the element type",
                   name);
  out->weight_only = weight_only;
  splat_of_operator(attrs, children, count, out);
  return EGRAPH_OK;
}

static egraph_status facts_of_node(tensor_facts *facts, const eg_attrs *attrs,
                                   const eg_tensor_fact *const *children, uint32_t count,
                                   eg_tensor_fact *out) {
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

// ---- the analysis ---------------------------------------------------------------

static egraph_status make_fact(void *self, const eg_engine *engine, const eg_term *term,
                               void *out_data) {
  tensor_facts *facts = self;
  const eg_tensor_fact *few[INLINE_CHILDREN], **children = few;
  if (term->arity > INLINE_CHILDREN)
    EG_TRY(eg_alloc(facts->alloc, term->arity, sizeof *children, &children));
  for (uint32_t i = 0; i < term->arity; i++)
    children[i] = eg_engine_data(engine, term->children[i]);
  const eg_attrs *attrs =
      eg_attr_pool_get(facts->attrs, (eg_attrs_id){.id = term->payload});
  eg_tensor_fact fact;
  egraph_status status = facts_of_node(facts, attrs, children, term->arity, &fact);
  if (children != few) eg_free(facts->alloc, children, term->arity, sizeof *children);
  if (status == EGRAPH_OK) memcpy(out_data, &fact, sizeof fact);
  return status;
}

bool eg_tensor_fact_same_type(const eg_tensor_fact *a, const eg_tensor_fact *b) {
  if (!a->typed || !b->typed) return true;
  if (a->part_count != b->part_count) return false;
  if (a->part_count != 0) return a->parts == b->parts;
  return eg_type_same(&a->type, &b->type);
}

// Splat values that come by different ways through float32 differ by rounding; more than
// that means that a rule is wrong.
static bool splats_agree(double a, double b) {
  if (a == b || (isnan(a) && isnan(b))) return true;
  return fabs(a - b) <= 1e-3 * fmax(fabs(a), fabs(b));
}

static egraph_status contradiction(const tensor_facts *facts, const eg_tensor_fact *a,
                                   const eg_tensor_fact *b) {
  if (eg_tensor_fact_same_type(a, b))
    return EG_FAIL(EGRAPH_E_TYPE,
                   "tensors filled with %g and with %g cannot be equal; a rule is wrong",
                   a->splat_value, b->splat_value);
  eg_text text;
  eg_text_init(&text, facts->alloc);
  egraph_status status = eg_tensor_fact_print(&text, a);
  if (status == EGRAPH_OK) status = eg_text_append(&text, " and ");
  if (status == EGRAPH_OK) status = eg_tensor_fact_print(&text, b);
  if (status == EGRAPH_OK)
    status =
        EG_FAIL(EGRAPH_E_TYPE, "%s cannot be equal; a rule is wrong", eg_text_of(&text));
  eg_text_deinit(&text);
  return status;
}

static egraph_status join_facts(void *self, void *into_data, const void *from_data,
                                bool *out_changed) {
  eg_tensor_fact *into = into_data;
  const eg_tensor_fact *from = from_data;
  if (!eg_tensor_fact_same_type(into, from) ||
      (into->splat && from->splat && !splats_agree(into->splat_value, from->splat_value)))
    return contradiction(self, into, from);
  bool changed = false;
  if (!into->typed && from->typed) {
    into->typed = true;
    into->type = from->type;
    into->parts = from->parts;
    into->part_count = from->part_count;
    changed = true;
  }
  if (!into->weight_only && from->weight_only) {
    into->weight_only = true;
    changed = true;
  }
  if (!into->splat && from->splat) {
    into->splat = true;
    into->splat_value = from->splat_value;
    changed = true;
  }
  into->is_sealed = into->is_sealed || from->is_sealed; // of no use to terms above
  *out_changed = changed;
  return EGRAPH_OK;
}

// The analysis; `self` is the tensor_facts, which must outlive the engine.
static eg_analysis analysis_of_facts(tensor_facts *facts) {
  return (eg_analysis){.self = facts,
                       .data_size = sizeof(eg_tensor_fact),
                       .make = make_fact,
                       .join = join_facts};
}

egraph_status eg_tensor_fact_print(eg_text *text, const eg_tensor_fact *fact) {
  if (!fact->typed) return eg_text_append(text, "unknown");
  if (fact->part_count == 0) return eg_type_print(text, &fact->type);
  for (uint32_t i = 0; i < fact->part_count; i++) {
    EG_TRY(eg_text_append(text, i == 0 ? "(" : ", "));
    EG_TRY(eg_tensor_part_is_unknown(&fact->parts[i])
               ? eg_text_append(text, "unknown")
               : eg_type_print(text, &fact->parts[i]));
  }
  return eg_text_append(text, ")");
}

typedef struct seed_entry {
  uint32_t node; // as of eg_node; ascending
  eg_value value;
} seed_entry;
EG_VEC_DEFINE(seed_entries, seed_entry);

struct eg_tensor_egraph {
  egraph_allocator alloc;
  const eg_graph *graph;
  eg_attr_pool *attrs;
  eg_engine *engine;
  tensor_facts facts;
  eg_classes values;  // class of each graph value
  eg_classes scratch; // operands of the node being seeded
  seed_entries seeds;
};

egraph_status eg_tensor_egraph_infer(eg_tensor_egraph *egraph, const eg_attrs *attrs,
                                     const eg_tensor_fact *const *children,
                                     uint32_t count, eg_tensor_fact *out) {
  return facts_of_node(&egraph->facts, attrs, children, count, out);
}

egraph_status eg_tensor_egraph_add(eg_tensor_egraph *egraph, const eg_attrs *attrs,
                                   const eg_class *children, uint32_t count,
                                   uint32_t reason, eg_class *out) {
  eg_attrs_id id;
  EG_TRY(eg_attr_pool_add(egraph->attrs, attrs, &id));
  eg_term term = {
      .op = attrs->op, .payload = id.id, .arity = count, .children = children};
  return eg_engine_add(egraph->engine, &term, reason, out);
}

// ---- seeding --------------------------------------------------------------------

/// Adds a node of the graph and notes which value it stands for.
static egraph_status add_seed(eg_tensor_egraph *egraph, eg_value value,
                              const eg_attrs *attrs, const eg_class *children,
                              uint32_t count, eg_class *out) {
  uint32_t next = eg_engine_node_limit(egraph->engine);
  EG_TRY(eg_tensor_egraph_add(egraph, attrs, children, count, EG_REASON_SEED, out));
  if (eg_engine_node_limit(egraph->engine) == next) return EGRAPH_OK; // it was there
  return seed_entries_push(&egraph->seeds, (seed_entry){.node = next, .value = value});
}

static egraph_status seed_leaf(eg_tensor_egraph *egraph, eg_value value,
                               const eg_value_info *info) {
  eg_attr slot = {.kind = EG_ATTR_STRING, .text = info->name};
  eg_attrs attrs = {.op = info->kind == EG_VALUE_INPUT ? EG_OP_INPUT : EG_OP_WEIGHT,
                    .count = 1,
                    .slots = &slot};
  return add_seed(egraph, value, &attrs, NULL, 0, &egraph->values.data[value.id]);
}

static egraph_status seed_part(eg_tensor_egraph *egraph, eg_class tuple, uint32_t index,
                               eg_value value) {
  eg_attr slot = {.kind = EG_ATTR_INT, .i = index};
  eg_attrs attrs = {.op = EG_OP_PART, .count = 1, .slots = &slot};
  return add_seed(egraph, value, &attrs, &tuple, 1, &egraph->values.data[value.id]);
}

static egraph_status seed_node(eg_tensor_egraph *egraph, eg_graph_node node) {
  eg_graph_node_info info = eg_graph_node_at(egraph->graph, node);
  egraph->scratch.len = 0;
  for (uint32_t i = 0; i < info.input_count; i++)
    EG_TRY(eg_classes_push(&egraph->scratch, egraph->values.data[info.inputs[i].id]));
  eg_class class;
  EG_TRY(add_seed(egraph, info.results[0], info.attrs, egraph->scratch.data,
                  info.input_count, &class));
  if (eg_tensor_egraph_fact(egraph, class)->part_count == 0) {
    egraph->values.data[info.results[0].id] = class;
    return EGRAPH_OK;
  }
  for (uint32_t i = 0; i < info.result_count; i++)
    EG_TRY(seed_part(egraph, class, i, info.results[i]));
  return EGRAPH_OK;
}

// Values are in topological order, and the first result of a node seeds the node.
static egraph_status seed(eg_tensor_egraph *egraph) {
  uint32_t count = eg_graph_value_count(egraph->graph);
  EG_TRY(eg_classes_resize(&egraph->values, count));
  for (uint32_t i = 0; i < count; i++) {
    const eg_value_info *info = eg_graph_value(egraph->graph, (eg_value){.id = i});
    if (info->kind != EG_VALUE_COMPUTED)
      EG_TRY(seed_leaf(egraph, (eg_value){.id = i}, info));
    else if (info->result == 0)
      EG_TRY(seed_node(egraph, info->node));
  }
  return eg_engine_rebuild(egraph->engine);
}

static egraph_status set_up(eg_tensor_egraph *egraph, bool is_seeded) {
  EG_TRY(eg_attr_pool_create(&egraph->alloc, &egraph->attrs));
  egraph->facts.attrs = egraph->attrs;
  eg_analysis analysis = analysis_of_facts(&egraph->facts);
  eg_engine_options options = {.analysis = &analysis, .record = true};
  EG_TRY(eg_engine_create(&egraph->alloc, &options, &egraph->engine));
  return is_seeded ? seed(egraph) : EGRAPH_OK;
}

static egraph_status create(const egraph_allocator *alloc, const eg_graph *graph,
                            bool is_seeded, eg_tensor_egraph **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_tensor_egraph *egraph;
  EG_TRY(eg_alloc(heap, 1, sizeof *egraph, &egraph));
  egraph->alloc = heap;
  egraph->graph = graph;
  egraph->facts = (tensor_facts){.alloc = heap, .graph = graph};
  type_lists_init(&egraph->facts.lists, heap);
  eg_classes_init(&egraph->values, heap);
  eg_classes_init(&egraph->scratch, heap);
  seed_entries_init(&egraph->seeds, heap);
  egraph_status status = set_up(egraph, is_seeded);
  if (status != EGRAPH_OK) {
    eg_tensor_egraph_destroy(egraph);
    return status;
  }
  *out = egraph;
  return EGRAPH_OK;
}

egraph_status eg_tensor_egraph_create(const egraph_allocator *alloc,
                                      const eg_graph *graph, eg_tensor_egraph **out) {
  return create(alloc, graph, true, out);
}

egraph_status eg_tensor_egraph_create_empty(const egraph_allocator *alloc,
                                            const eg_graph *graph,
                                            eg_tensor_egraph **out) {
  return create(alloc, graph, false, out);
}

void eg_tensor_egraph_destroy(eg_tensor_egraph *egraph) {
  if (egraph == NULL) return;
  eg_engine_destroy(egraph->engine);
  eg_attr_pool_destroy(egraph->attrs);
  type_lists_deinit(&egraph->facts.lists);
  eg_classes_deinit(&egraph->values);
  eg_classes_deinit(&egraph->scratch);
  seed_entries_deinit(&egraph->seeds);
  eg_free(egraph->alloc, egraph, 1, sizeof *egraph);
}

void eg_tensor_egraph_restrict(eg_tensor_egraph *egraph) {
  bool is_loaded = true;
  for (size_t i = 0; is_loaded && i < egraph->values.len; i++)
    is_loaded = !eg_tensor_egraph_fact(egraph, egraph->values.data[i])->is_unloaded;
  egraph->facts.is_restricted = is_loaded;
}

// ---- look-ups -------------------------------------------------------------------

egraph_allocator eg_tensor_egraph_allocator(const eg_tensor_egraph *egraph) {
  return egraph->alloc;
}

eg_engine *eg_tensor_egraph_engine(eg_tensor_egraph *egraph) { return egraph->engine; }
const eg_engine *eg_tensor_egraph_engine_of(const eg_tensor_egraph *egraph) {
  return egraph->engine;
}
const eg_graph *eg_tensor_egraph_graph(const eg_tensor_egraph *egraph) {
  return egraph->graph;
}
eg_attr_pool *eg_tensor_egraph_attrs(eg_tensor_egraph *egraph) { return egraph->attrs; }

const eg_attrs *eg_tensor_egraph_attrs_at(const eg_tensor_egraph *egraph,
                                          uint32_t payload) {
  return eg_attr_pool_get(egraph->attrs, (eg_attrs_id){.id = payload});
}

const eg_tensor_fact *eg_tensor_egraph_fact(const eg_tensor_egraph *egraph,
                                            eg_class class) {
  return eg_engine_data(egraph->engine, class);
}

eg_class eg_tensor_egraph_value_class(const eg_tensor_egraph *egraph, eg_value value) {
  return eg_engine_find(egraph->engine, *eg_classes_at(&egraph->values, value.id));
}

eg_class eg_tensor_egraph_root(const eg_tensor_egraph *egraph, uint32_t output) {
  return eg_tensor_egraph_value_class(egraph,
                                      eg_graph_output(egraph->graph, output, NULL));
}

bool eg_tensor_egraph_seed_value(const eg_tensor_egraph *egraph, eg_node node,
                                 eg_value *out) {
  size_t low = 0, high = egraph->seeds.len;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (egraph->seeds.data[middle].node < node.id)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == egraph->seeds.len || egraph->seeds.data[low].node != node.id) return false;
  *out = egraph->seeds.data[low].value;
  return true;
}

egraph_status eg_tensor_egraph_seal(eg_tensor_egraph *egraph, eg_class class) {
  const eg_tensor_fact sealed = {.is_sealed = true};
  return eg_engine_join_data(egraph->engine, class, &sealed);
}

size_t eg_tensor_egraph_bytes(const eg_tensor_egraph *egraph) {
  return eg_engine_bytes(egraph->engine) + eg_attr_pool_bytes(egraph->attrs) +
         type_list_bytes(&egraph->facts.lists) +
         (egraph->values.cap + egraph->scratch.cap) * sizeof(eg_class) +
         egraph->seeds.cap * sizeof(seed_entry);
}
