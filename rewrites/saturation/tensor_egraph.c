// Seeding an e-graph with a graph, and look-ups.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/tensor_egraph.h"

#include <assert.h>

#include "rewrites/saturation/tensor_facts.h"

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
};

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

static egraph_status set_up(eg_tensor_egraph *egraph) {
  EG_TRY(eg_attr_pool_create(&egraph->alloc, &egraph->attrs));
  egraph->facts.attrs = egraph->attrs;
  eg_analysis analysis = eg_tensor_facts_analysis(&egraph->facts);
  eg_engine_options options = {.analysis = &analysis, .record = true};
  EG_TRY(eg_engine_create(&egraph->alloc, &options, &egraph->engine));
  return seed(egraph);
}

egraph_status eg_tensor_egraph_create(const egraph_allocator *alloc,
                                      const eg_graph *graph, eg_tensor_egraph **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_tensor_egraph *egraph;
  EG_TRY(eg_alloc(heap, 1, sizeof *egraph, &egraph));
  egraph->alloc = heap;
  egraph->graph = graph;
  egraph->facts = (eg_tensor_facts){.alloc = heap, .graph = graph};
  eg_type_lists_init(&egraph->facts.lists, heap);
  eg_classes_init(&egraph->values, heap);
  eg_classes_init(&egraph->scratch, heap);
  seed_entries_init(&egraph->seeds, heap);
  egraph_status status = set_up(egraph);
  if (status != EGRAPH_OK) {
    eg_tensor_egraph_destroy(egraph);
    return status;
  }
  *out = egraph;
  return EGRAPH_OK;
}

void eg_tensor_egraph_destroy(eg_tensor_egraph *egraph) {
  if (egraph == NULL) return;
  eg_engine_destroy(egraph->engine);
  eg_attr_pool_destroy(egraph->attrs);
  eg_type_lists_deinit(&egraph->facts.lists);
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
         eg_type_lists_bytes(&egraph->facts.lists) +
         (egraph->values.cap + egraph->scratch.cap) * sizeof(eg_class) +
         egraph->seeds.cap * sizeof(seed_entry);
}
