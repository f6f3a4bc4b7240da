// The store is never rebuilt: what is added is found by its hash and read by its number
// at once; the indexes that a rebuild makes are for matching, which happens elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/term_store.h"

#include <math.h>
#include <stdlib.h>

#include "base/owner.h"
#include "ops/ops.h"
#include "optimize/price/predict.h"

#define MEMBERS (eg_u32s, node, seen, stack), (eg_doubles, seconds)

// ---- terms ----------------------------------------------------------------------------

static const eg_engine *engine_of(const eg_term_store *store) {
  return eg_tensor_egraph_engine_of(store->terms);
}

static egraph_status note_term(eg_term_store *store, uint32_t node) {
  EG_TRY(eg_u32s_push(&store->seen, 0));
  EG_TRY(eg_doubles_push(&store->seconds, -1));
  return eg_u32s_push(&store->node, node);
}

static bool has_convolution(const eg_graph *graph) {
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++) {
    eg_op op = (eg_op)eg_graph_node_at(graph, (eg_graph_node){i}).attrs->op;
    if (eg_op_info_of(op)->formats == EG_FORMATS_CONV) return true;
  }
  return false;
}

egraph_status eg_term_store_init(eg_term_store *store, egraph_allocator alloc,
                                 const eg_graph *given, const eg_term_costs *costs) {
  *store = (eg_term_store){.alloc = alloc, .given = given, .costs = *costs};
  EG_INIT_MEMBERS(store, alloc, MEMBERS)
  // As in the product's own search, formats are for what surrounds convolutions.
  if (!has_convolution(given)) store->costs.formats = 0;
  EG_TRY(eg_tensor_egraph_create(&alloc, given, &store->terms));
  const eg_engine *engine = engine_of(store);
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n)) {
    assert(eg_engine_class_of(engine, n).id == store->node.len);
    EG_TRY(note_term(store, n.id));
  }
  eg_tensor_egraph_restrict(store->terms);
  return EGRAPH_OK;
}

void eg_term_store_deinit(eg_term_store *store) {
  eg_tensor_egraph_destroy(store->terms);
  store->terms = NULL;
  EG_DEINIT_MEMBERS(store, MEMBERS)
}

size_t eg_term_store_bytes(const eg_term_store *store) {
  return eg_tensor_egraph_bytes(store->terms) +
         (store->node.cap + store->seen.cap + store->stack.cap) * sizeof(uint32_t) +
         store->seconds.cap * sizeof(double);
}

uint32_t eg_term_store_root(const eg_term_store *store, uint32_t output) {
  return eg_tensor_egraph_root(store->terms, output).id;
}

eg_term eg_term_store_at(const eg_term_store *store, uint32_t term) {
  return eg_engine_term(engine_of(store), (eg_node){*eg_u32s_at(&store->node, term)});
}

const eg_attrs *eg_term_store_attrs(const eg_term_store *store, uint32_t term) {
  return eg_tensor_egraph_attrs_at(store->terms, eg_term_store_at(store, term).payload);
}

uint32_t eg_term_store_reason(const eg_term_store *store, uint32_t term) {
  return eg_engine_node_reason(engine_of(store),
                               (eg_node){*eg_u32s_at(&store->node, term)});
}

egraph_status eg_term_store_add(eg_term_store *store, const eg_attrs *attrs,
                                const uint32_t *operands, uint32_t count, uint32_t reason,
                                uint32_t *out) {
  _Static_assert(sizeof(eg_class) == sizeof(uint32_t), "a term is a class");
  uint32_t next = eg_engine_node_limit(engine_of(store));
  eg_class class;
  EG_TRY(eg_tensor_egraph_add(store->terms, attrs,
                              (const eg_class *)(const void *)operands, count, reason,
                              &class));
  *out = class.id;
  return class.id == store->node.len ? note_term(store, next) : EGRAPH_OK;
}

/// Whether an operand is made of weights alone is a part of what a cost is of.
static bool is_like(const eg_term_store *store, uint32_t operand, uint32_t like) {
  return eg_tensor_egraph_fact(store->terms, (eg_class){operand})->weight_only ==
         eg_tensor_egraph_fact(store->terms, (eg_class){like})->weight_only;
}

egraph_status eg_term_store_add_like(eg_term_store *store, uint32_t like,
                                     const uint32_t *operands, uint32_t *out) {
  uint32_t arity = eg_term_store_at(store, like).arity;
  EG_TRY(eg_term_store_add(store, eg_term_store_attrs(store, like), operands, arity,
                           eg_term_store_reason(store, like), out));
  eg_term term = eg_term_store_at(store, like);
  bool is_same_cost = store->seconds.data[*out] < 0;
  for (uint32_t i = 0; is_same_cost && i < arity; i++)
    is_same_cost = is_like(store, operands[i], term.children[i].id);
  // Most terms that a search makes only stand above a change.
  if (is_same_cost) store->seconds.data[*out] = store->seconds.data[like];
  return EGRAPH_OK;
}

// ---- costs ----------------------------------------------------------------------------

static egraph_status ask(eg_term_store *store, const eg_node_spec *spec, double *out) {
  const eg_term_costs *costs = &store->costs;
  eg_cost_source source;
  if (costs->measurer != NULL) {
    EG_TRY(eg_cost_request(costs->model, spec));
    uint32_t wanted = eg_cost_requested(costs->model);
    if (wanted != 0) EG_TRY(eg_cost_measure(costs->model, costs->measurer, NULL, NULL));
    store->measured += wanted - eg_cost_requested(costs->model);
  }
  return eg_cost_seconds(costs->model, spec, out, &source);
}

/// The cheapest choice of formats; row-major first, whose cost counts when none is run.
static egraph_status price_formats(eg_term_store *store, eg_node_spec *spec,
                                   eg_type *inputs, eg_type *results, double *out) {
  eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
  uint32_t count = eg_op_formats(spec->attrs, inputs, spec->input_count, results,
                                 spec->result_count, store->costs.formats, choices);
  EG_TRY(ask(store, spec, out));
  for (uint32_t c = 1; c < count; c++) {
    double seconds;
    for (uint32_t i = 0; i < spec->input_count; i++)
      inputs[i].layout.format = (eg_format)choices[c].input[i];
    for (uint32_t i = 0; i < spec->result_count; i++)
      results[i].layout.format = (eg_format)choices[c].output;
    EG_TRY(ask(store, spec, &seconds));
    if (seconds < *out) *out = seconds;
  }
  if (!isfinite(*out)) *out = EG_UNPRICED_SECONDS;
  return EGRAPH_OK;
}

static bool is_free(const eg_tensor_fact *fact, const eg_term *term) {
  return fact->weight_only || term->op == EG_OP_PART || term->op == EG_OP_OPAQUE ||
         (eg_op_info_of((eg_op)term->op)->flags & EG_OPF_LEAF) != 0;
}

static egraph_status price_term(eg_term_store *store, uint32_t number, double *out) {
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(store->terms, (eg_class){number});
  eg_term term = eg_term_store_at(store, number);
  *out = 0;
  if (is_free(fact, &term)) return EGRAPH_OK;
  bool is_tuple = fact->part_count != 0;
  eg_arena arena;
  eg_arena_init(&arena, store->alloc);
  eg_type *inputs = NULL, *results = NULL;
  eg_node_spec spec = {.attrs = eg_term_store_attrs(store, number),
                       .input_count = term.arity,
                       .result_count = is_tuple ? fact->part_count : 1};
  egraph_status status = eg_arena_alloc(&arena, term.arity, sizeof *inputs, &inputs);
  if (status == EGRAPH_OK)
    status = eg_arena_alloc(&arena, spec.result_count, sizeof *results, &results);
  for (uint32_t i = 0; status == EGRAPH_OK && i < term.arity; i++) {
    const eg_tensor_fact *operand = eg_tensor_egraph_fact(store->terms, term.children[i]);
    inputs[i] = operand->type;
    if (operand->weight_only) spec.weight_mask |= eg_operand_bit(i);
  }
  for (uint32_t i = 0; status == EGRAPH_OK && i < spec.result_count; i++)
    results[i] = is_tuple ? fact->parts[i] : fact->type;
  spec.inputs = inputs;
  spec.results = results;
  if (status == EGRAPH_OK) status = price_formats(store, &spec, inputs, results, out);
  eg_arena_deinit(&arena);
  return status;
}

static egraph_status seconds_of(eg_term_store *store, uint32_t term, double *out) {
  if (store->seconds.data[term] < 0)
    EG_TRY(price_term(store, term, &store->seconds.data[term]));
  *out = store->seconds.data[term];
  return EGRAPH_OK;
}

// ---- walks over a graph
// -----------------------------------------------------------------

static void begin_walk(eg_term_store *store) {
  store->stack.len = 0;
  store->walk++;
}

static egraph_status reach(eg_term_store *store, uint32_t term) {
  if (store->seen.data[term] == store->walk) return EGRAPH_OK;
  store->seen.data[term] = store->walk;
  return eg_u32s_push(&store->stack, term);
}

/// Takes a term that the walk has reached, and reaches its operands.
static egraph_status step(eg_term_store *store, uint32_t *out) {
  *out = eg_u32s_pop(&store->stack);
  eg_term term = eg_term_store_at(store, *out);
  for (uint32_t i = 0; i < term.arity; i++)
    EG_TRY(reach(store, term.children[i].id));
  return EGRAPH_OK;
}

egraph_status eg_term_store_price(eg_term_store *store, const uint32_t *roots,
                                  uint32_t count, eg_graph_figures *out) {
  *out = (eg_graph_figures){.seconds = 0};
  begin_walk(store);
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(reach(store, roots[i]));
  while (store->stack.len != 0) {
    uint32_t number;
    double seconds;
    EG_TRY(step(store, &number));
    EG_TRY(seconds_of(store, number, &seconds));
    out->seconds += seconds;
    uint32_t op = eg_term_store_at(store, number).op;
    if (op == EG_OP_PART || (eg_op_info_of((eg_op)op)->flags & EG_OPF_LEAF) != 0)
      continue;
    bool is_weight = eg_tensor_egraph_fact(store->terms, (eg_class){number})->weight_only;
    *(is_weight ? &out->weight_operators : &out->operators) += 1;
  }
  return EGRAPH_OK;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

egraph_status eg_term_store_collect(eg_term_store *store, const uint32_t *roots,
                                    uint32_t count, eg_u32s *out) {
  out->len = 0;
  begin_walk(store);
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(reach(store, roots[i]));
  while (store->stack.len != 0) {
    uint32_t number;
    EG_TRY(step(store, &number));
    EG_TRY(eg_u32s_push(out, number));
  }
  if (out->len != 0) qsort(out->data, out->len, sizeof *out->data, by_number);
  return EGRAPH_OK;
}
