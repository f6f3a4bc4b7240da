// Seeds an e-graph with a graph, and has the engine compute the facts of nodes from the
// facts of their operands (tensor_facts.h).
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/tensor_egraph.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/owner.h"

enum { INLINE_CHILDREN = 8 };

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
  eg_tensor_facts facts;
  eg_classes values;  // class of each graph value
  eg_classes scratch; // operands of the node being seeded
  seed_entries seeds;
  bool is_explained;
  // Terms that prove a fact; EG_WITNESS_CLASS: the term that created a class.
  eg_ground_terms witnesses;
  eg_u32s operands; // operands of a witness
};

#define OWNED                                                                            \
  (eg_ground, witnesses), (eg_u32s, operands), (eg_classes, values, scratch),            \
      (seed_entries, seeds)

// ---- the analysis ---------------------------------------------------------------

/// Returns 1 + the number of the term that proves an operand's fact, or 0. Operators move
/// the splat of their first operand only.
static uint32_t shown_by(const eg_tensor_fact *fact, uint32_t operand, bool of_splat) {
  if (!of_splat) return fact->weight_term;
  return operand == 0 ? fact->splat_term : 0;
}

/// Adds the term that proves a fact. Operands that have the fact, too, are represented by
/// the terms that prove it; other operands by the terms that created their classes.
static egraph_status add_witness(eg_tensor_egraph *egraph, const eg_term *term,
                                 bool of_splat, uint32_t *out) {
  EG_TRY(eg_u32s_resize(&egraph->operands, term->arity));
  for (uint32_t i = 0; i < term->arity; i++) {
    const eg_tensor_fact *fact = eg_engine_data(egraph->engine, term->children[i]);
    uint32_t known = shown_by(fact, i, of_splat), *operand = &egraph->operands.data[i];
    const eg_ground made = {.op = EG_WITNESS_CLASS, .payload = term->children[i].id};
    if (known != 0)
      *operand = known - 1;
    else
      EG_TRY(eg_ground_add(&egraph->witnesses, &made, operand));
  }
  const eg_ground ground = {.op = term->op,
                            .payload = term->payload,
                            .arity = term->arity,
                            .children = egraph->operands.data};
  EG_TRY(eg_ground_add(&egraph->witnesses, &ground, out));
  ++*out;
  return EGRAPH_OK;
}

static egraph_status note_witnesses(eg_tensor_egraph *egraph, const eg_term *term,
                                    eg_tensor_fact *fact) {
  if (fact->weight_only) EG_TRY(add_witness(egraph, term, false, &fact->weight_term));
  if (fact->splat) EG_TRY(add_witness(egraph, term, true, &fact->splat_term));
  return EGRAPH_OK;
}

static egraph_status make_fact(void *self, const eg_engine *engine, const eg_term *term,
                               void *out_data) {
  eg_tensor_egraph *egraph = self;
  egraph_allocator alloc = egraph->alloc;
  const eg_tensor_fact *few[INLINE_CHILDREN], **children = few;
  if (term->arity > INLINE_CHILDREN)
    EG_TRY(eg_alloc(alloc, term->arity, sizeof *children, &children));
  for (uint32_t i = 0; i < term->arity; i++)
    children[i] = eg_engine_data(engine, term->children[i]);
  eg_tensor_fact fact;
  egraph_status status = eg_tensor_facts_of_node(
      &egraph->facts, eg_tensor_egraph_attrs_at(egraph, term->payload), children,
      term->arity, &fact);
  if (children != few) eg_free(alloc, children, term->arity, sizeof *children);
  if (status == EGRAPH_OK && egraph->is_explained)
    status = note_witnesses(egraph, term, &fact);
  if (status == EGRAPH_OK) memcpy(out_data, &fact, sizeof fact);
  return status;
}

// True when two splats agree up to rounding: values computed in different ways in float32
// differ by rounding. A larger difference means that a rule is wrong.
static bool splats_agree(double a, double b) {
  if (a == b || (isnan(a) && isnan(b))) return true;
  return fabs(a - b) <= 1e-3 * fmax(fabs(a), fabs(b));
}

static egraph_status contradiction(egraph_allocator alloc, const eg_tensor_fact *a,
                                   const eg_tensor_fact *b) {
  if (eg_tensor_fact_same_type(a, b))
    return EG_FAIL(EGRAPH_E_TYPE,
                   "tensors filled with %g and with %g cannot be equal; a rule is wrong",
                   a->splat_value, b->splat_value);
  EG_LOCAL(eg_text, text, alloc);
  eg_tensor_fact_print(&text, a);
  eg_text_append(&text, " and ");
  EG_TRY(eg_tensor_fact_print(&text, b));
  return EG_FAIL(EGRAPH_E_TYPE, "%s cannot be equal; a rule is wrong", eg_text_of(&text));
}

static egraph_status join_facts(void *self, void *into_data, const void *from_data,
                                bool *out_changed) {
  eg_tensor_fact *into = into_data;
  const eg_tensor_fact *from = from_data;
  assert(into->part_count == 0 || into->parts != NULL);
  if (!eg_tensor_fact_same_type(into, from) ||
      (into->splat && from->splat && !splats_agree(into->splat_value, from->splat_value)))
    return contradiction(((eg_tensor_egraph *)self)->alloc, into, from);
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
    into->weight_term = from->weight_term;
    changed = true;
  }
  if (!into->splat && from->splat) {
    into->splat = true;
    into->splat_value = from->splat_value;
    into->splat_term = from->splat_term;
    changed = true;
  }
  into->is_sealed = into->is_sealed || from->is_sealed; // no fact of terms above
  *out_changed = changed;
  return EGRAPH_OK;
}

egraph_status eg_tensor_egraph_infer(eg_tensor_egraph *egraph, const eg_attrs *attrs,
                                     const eg_tensor_fact *const *children,
                                     uint32_t count, eg_tensor_fact *out) {
  return eg_tensor_facts_of_node(&egraph->facts, attrs, children, count, out);
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

/// Adds a node of the graph and records the value that it computes.
static egraph_status add_seed(eg_tensor_egraph *egraph, eg_value value,
                              const eg_attrs *attrs, const eg_class *children,
                              uint32_t count, eg_class *out) {
  uint32_t next = eg_engine_node_limit(egraph->engine);
  EG_TRY(eg_tensor_egraph_add(egraph, attrs, children, count, EG_REASON_SEED, out));
  if (eg_engine_node_limit(egraph->engine) == next) return EGRAPH_OK; // the node existed
  assert(egraph->seeds.len == 0 || egraph->seeds.data[egraph->seeds.len - 1].node < next);
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
  for (uint32_t i = 0; i < info.result_count; i++) {
    eg_attr slot = {.kind = EG_ATTR_INT, .i = i};
    eg_attrs part = {.op = EG_OP_PART, .count = 1, .slots = &slot};
    eg_value value = info.results[i];
    EG_TRY(add_seed(egraph, value, &part, &class, 1, &egraph->values.data[value.id]));
  }
  return EGRAPH_OK;
}

// Adds the graph's values in topological order; a node's first result adds the node.
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

static egraph_status start_engine(eg_tensor_egraph *egraph, bool is_seeded) {
  EG_TRY(eg_attr_pool_create(&egraph->alloc, &egraph->attrs));
  const eg_analysis analysis = {.self = egraph,
                                .data_size = sizeof(eg_tensor_fact),
                                .make = make_fact,
                                .join = join_facts};
  eg_engine_options options = {.analysis = &analysis, .record = true};
  EG_TRY(eg_engine_create(&egraph->alloc, &options, &egraph->engine));
  if (egraph->is_explained) EG_TRY(eg_engine_start_log(egraph->engine, EG_REASON_SEED));
  return is_seeded ? seed(egraph) : EGRAPH_OK;
}

static egraph_status create_egraph(const egraph_allocator *alloc, const eg_graph *graph,
                                   bool is_seeded, bool is_explained,
                                   eg_tensor_egraph **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_HELD(eg_tensor_egraph, egraph);
  EG_TRY(eg_alloc(heap, 1, sizeof *egraph, &egraph));
  egraph->alloc = heap;
  egraph->graph = graph;
  egraph->is_explained = is_explained;
  eg_tensor_facts_init(&egraph->facts, heap, graph);
  EG_INIT_MEMBERS(egraph, heap, OWNED);
  EG_HAND_OVER(start_engine(egraph, is_seeded), egraph, out);
}

egraph_status eg_tensor_egraph_create(const egraph_allocator *alloc,
                                      const eg_graph *graph, eg_tensor_egraph **out) {
  return create_egraph(alloc, graph, true, false, out);
}

egraph_status eg_tensor_egraph_create_explained(const egraph_allocator *alloc,
                                                const eg_graph *graph,
                                                eg_tensor_egraph **out) {
  return create_egraph(alloc, graph, true, true, out);
}

egraph_status eg_tensor_egraph_create_empty(const egraph_allocator *alloc,
                                            const eg_graph *graph,
                                            eg_tensor_egraph **out) {
  return create_egraph(alloc, graph, false, false, out);
}

void eg_tensor_egraph_destroy(eg_tensor_egraph *egraph) {
  if (egraph == NULL) return;
  eg_engine_destroy(egraph->engine);
  eg_attr_pool_destroy(egraph->attrs);
  eg_tensor_facts_deinit(&egraph->facts);
  EG_DEINIT_MEMBERS(egraph, OWNED);
  eg_free(egraph->alloc, egraph, 1, sizeof *egraph);
}

egraph_status eg_tensor_egraph_restrict(eg_tensor_egraph *egraph,
                                        eg_kernel_types *kernels) {
  return kernels(egraph->graph, egraph->facts.kernels, &egraph->facts.is_restricted);
}

uint64_t eg_tensor_egraph_left_out(const eg_tensor_egraph *egraph) {
  return egraph->facts.left_out;
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

bool eg_tensor_egraph_is_explained(const eg_tensor_egraph *egraph) {
  return egraph->is_explained;
}

const eg_ground_terms *eg_tensor_egraph_witnesses(const eg_tensor_egraph *egraph) {
  return &egraph->witnesses;
}

size_t eg_tensor_egraph_bytes(const eg_tensor_egraph *egraph) {
  return eg_engine_bytes(egraph->engine) + eg_attr_pool_bytes(egraph->attrs) +
         eg_tensor_facts_bytes(&egraph->facts) +
         (egraph->witnesses.words.cap + egraph->witnesses.offsets.cap) *
             sizeof(uint32_t) +
         (egraph->values.cap + egraph->scratch.cap) * sizeof(eg_class) +
         egraph->seeds.cap * sizeof(seed_entry);
}
