// The variants are walked twice in the same order: once to ask for their costs, once to
// price them and build the problem. Nothing is stored between the walks but the numbering
// of (class, format).
// SPDX-License-Identifier: Apache-2.0
#include "optimize/expand.h"

#include <math.h>

#include "optimize/format_region.h"
#include "optimize/predict.h"
#include "pcg/spec_copy.h"

typedef struct walker {
  eg_expansion *expansion;
  eg_tensor_egraph *egraph;
  const eg_engine *engine;
  eg_cost_model *costs;
  const bool *again; // [entries] those to be measured again, or NULL
  bool pricing;
  eg_types inputs, results; // of the node at hand
  eg_u32s children;         // problem classes
  eg_attrs_id identity;     // attributes of a reorder
} walker;

static uint32_t *place_at(const eg_expansion *expansion, eg_class class,
                          unsigned format) {
  return &expansion->place[(size_t) class.id * EG_FORMAT_COUNT + format];
}

static const eg_tensor_fact *fact_of(const walker *w, eg_class class) {
  return eg_tensor_egraph_fact(w->egraph, class);
}

// ---- places ---------------------------------------------------------------------

static egraph_status number_class(walker *w, eg_class class, unsigned format) {
  eg_expansion *x = w->expansion;
  uint32_t number;
  EG_TRY(eg_extract_problem_add_class(&x->problem, &number));
  EG_TRY(eg_u32s_push(&x->class_of, class.id));
  EG_TRY(eg_u32s_push(&x->format_of, format));
  *place_at(x, class, format) = number;
  return EGRAPH_OK;
}

static egraph_status number_places(walker *w, const bool *may_have, uint32_t formats) {
  for (eg_class c = eg_engine_first(w->engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(w->engine, c)) {
    const eg_tensor_fact *fact = fact_of(w, c);
    if (fact->weight_only) continue;
    EG_TRY(number_class(w, c, EG_FORMAT_PLAIN));
    for (unsigned f = EG_FORMAT_PLAIN + 1; f < EG_FORMAT_COUNT; f++)
      if (may_have[c.id] && (formats >> f & 1u) &&
          eg_format_fits_fact(fact, (eg_format)f))
        EG_TRY(number_class(w, c, f));
  }
  return EGRAPH_OK;
}

static egraph_status make_places(walker *w, uint32_t formats) {
  egraph_allocator alloc = w->expansion->alloc;
  uint32_t limit = w->expansion->class_limit;
  bool *may_have = NULL;
  EG_TRY(eg_alloc(alloc, limit, sizeof *may_have, &may_have));
  egraph_status status =
      formats != 0 ? eg_format_region_find(w->egraph, alloc, may_have) : EGRAPH_OK;
  if (status == EGRAPH_OK) status = number_places(w, may_have, formats);
  eg_free(alloc, may_have, limit, sizeof *may_have);
  return status;
}

// ---- the walk -------------------------------------------------------------------

static egraph_status add_variant(walker *w, uint32_t place, eg_variant variant) {
  eg_expansion *x = w->expansion;
  uint32_t number;
  EG_TRY(eg_extract_problem_add_node(&x->problem, place, variant.seconds,
                                     w->children.data, (uint32_t)w->children.len,
                                     &number));
  return eg_variants_push(&x->variants, variant);
}

static egraph_status ask_again(walker *w, const eg_node_spec *spec) {
  uint32_t entry = EG_COST_NO_ENTRY;
  if (spec != NULL) EG_TRY(eg_cost_measured_entry(w->costs, spec, &entry));
  if (entry == EG_COST_NO_ENTRY || !w->again[entry]) return EGRAPH_OK;
  return eg_cost_request_again(w->costs, spec, EG_AGAIN_SMALLER);
}

/// One variant: asks for its cost, or prices and adds it. Row-major variants
/// are always kept.
static egraph_status visit(walker *w, uint32_t place, eg_variant variant,
                           const eg_node_spec *spec, bool plain) {
  variant.entry = EG_COST_NO_ENTRY;
  if (w->again != NULL) return ask_again(w, spec);
  if (!w->pricing) return spec == NULL ? EGRAPH_OK : eg_cost_request(w->costs, spec);
  if (spec != NULL) {
    EG_TRY(eg_cost_measured_entry(w->costs, spec, &variant.entry));
    EG_TRY(eg_cost_seconds(w->costs, spec, &variant.seconds, &variant.source));
    variant.is_guess =
        variant.source == EG_COST_ESTIMATED && !eg_cost_is_calibrated(w->costs, spec);
    if (!isfinite(variant.seconds)) {
      w->expansion->unsupported++;
      if (!plain) return EGRAPH_OK;
      variant.seconds = EG_UNPRICED_SECONDS; // keeps the original graph feasible
      variant.is_guess = true;
      variant.entry = EG_COST_NO_ENTRY;
    }
  }
  return add_variant(w, place, variant);
}

/// Children in their chosen formats; false when a needed (class, format) does not exist.
static egraph_status collect_children(walker *w, const eg_term *term,
                                      const eg_format_choice *choice, bool *out_exist) {
  w->children.len = 0;
  *out_exist = true;
  for (uint32_t i = 0; i < term->arity; i++) {
    eg_class child = eg_engine_find(w->engine, term->children[i]);
    unsigned format = i < EG_MAX_FORMAT_OPERANDS ? choice->input[i] : EG_FORMAT_PLAIN;
    if (fact_of(w, child)->weight_only) {
      *out_exist = *out_exist && format == EG_FORMAT_PLAIN;
      continue;
    }
    uint32_t place = *place_at(w->expansion, child, format);
    if (place == EG_EXTRACT_NONE)
      *out_exist = false;
    else
      EG_TRY(eg_u32s_push(&w->children, place));
  }
  return EGRAPH_OK;
}

static bool choice_is_plain(const eg_format_choice *choice, uint32_t arity) {
  bool plain = choice->output == EG_FORMAT_PLAIN;
  for (uint32_t i = 0; i < arity && i < EG_MAX_FORMAT_OPERANDS; i++)
    plain = plain && choice->input[i] == EG_FORMAT_PLAIN;
  return plain;
}

static void set_formats(walker *w, const eg_format_choice *choice) {
  for (size_t i = 0; i < w->inputs.len; i++)
    w->inputs.data[i].layout.format =
        i < EG_MAX_FORMAT_OPERANDS ? choice->input[i] : (uint8_t)EG_FORMAT_PLAIN;
  for (size_t i = 0; i < w->results.len; i++)
    w->results.data[i].layout.format = choice->output;
}

static egraph_status collect_types(walker *w, eg_class class, const eg_term *term,
                                   uint64_t *out_weight_mask) {
  *out_weight_mask = 0;
  w->inputs.len = w->results.len = 0;
  for (uint32_t i = 0; i < term->arity; i++) {
    const eg_tensor_fact *fact = fact_of(w, term->children[i]);
    EG_TRY(eg_types_push(&w->inputs, fact->type));
    if (fact->weight_only) *out_weight_mask |= eg_operand_bit(i);
  }
  const eg_tensor_fact *fact = fact_of(w, class);
  if (fact->part_count == 0) return eg_types_push(&w->results, fact->type);
  return eg_types_append(&w->results, fact->parts, fact->part_count);
}

static egraph_status walk_operator(walker *w, eg_class class, eg_node node,
                                   const eg_term *term) {
  eg_node_spec spec = {.attrs = eg_attr_pool_get(eg_tensor_egraph_attrs(w->egraph),
                                                 (eg_attrs_id){term->payload})};
  EG_TRY(collect_types(w, class, term, &spec.weight_mask));
  spec.input_count = (uint32_t)w->inputs.len;
  spec.result_count = (uint32_t)w->results.len;
  eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
  uint32_t count = eg_op_formats(spec.attrs, w->inputs.data, spec.input_count,
                                 w->results.data, spec.result_count, UINT32_MAX, choices);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t place = *place_at(w->expansion, class, choices[i].output);
    bool exist;
    EG_TRY(collect_children(w, term, &choices[i], &exist));
    if (place == EG_EXTRACT_NONE || !exist) continue;
    set_formats(w, &choices[i]);
    spec.inputs = w->inputs.data;
    spec.results = w->results.data;
    eg_variant variant = {.node = node, .format = choices[i].output};
    EG_TRY(visit(w, place, variant, &spec, choice_is_plain(&choices[i], term->arity)));
  }
  return EGRAPH_OK;
}

/// Leaves, parts of tuples and opaque nodes: no cost of their own, the format of
/// their only operand.
static egraph_status walk_free(walker *w, eg_class class, eg_node node,
                               const eg_term *term) {
  for (unsigned f = 0; f < EG_FORMAT_COUNT; f++) {
    uint32_t place = *place_at(w->expansion, class, f);
    if (place == EG_EXTRACT_NONE || (f != EG_FORMAT_PLAIN && term->op != EG_OP_PART))
      continue;
    eg_format_choice choice = {.output = (uint8_t)f};
    for (uint32_t i = 0; i < EG_MAX_FORMAT_OPERANDS; i++)
      choice.input[i] = (uint8_t)f;
    bool exist;
    EG_TRY(collect_children(w, term, &choice, &exist));
    if (!exist) continue;
    eg_variant variant = {.node = node, .format = (uint8_t)f, .source = EG_COST_FREE};
    EG_TRY(visit(w, place, variant, NULL, f == EG_FORMAT_PLAIN));
  }
  return EGRAPH_OK;
}

static egraph_status walk_nodes(walker *w, eg_class class) {
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(w->engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(w->engine, nodes[i]);
    bool is_free =
        term.op == EG_OP_INPUT || term.op == EG_OP_PART || term.op == EG_OP_OPAQUE;
    EG_TRY(is_free ? walk_free(w, class, nodes[i], &term)
                   : walk_operator(w, class, nodes[i], &term));
  }
  return EGRAPH_OK;
}

static egraph_status walk_reorders(walker *w, eg_class class) {
  const eg_tensor_fact *fact = fact_of(w, class);
  if (fact->part_count != 0) return EGRAPH_OK;
  eg_type from = fact->type, to = fact->type;
  eg_node_spec spec = {
      .attrs = eg_attr_pool_get(eg_tensor_egraph_attrs(w->egraph), w->identity),
      .inputs = &from,
      .input_count = 1,
      .results = &to,
      .result_count = 1};
  for (unsigned f = 0; f < EG_FORMAT_COUNT; f++)
    for (unsigned g = 0; g < EG_FORMAT_COUNT; g++) {
      uint32_t source = *place_at(w->expansion, class, f);
      uint32_t place = *place_at(w->expansion, class, g);
      if (f == g || source == EG_EXTRACT_NONE || place == EG_EXTRACT_NONE) continue;
      from.layout.format = (uint8_t)f;
      to.layout.format = (uint8_t)g;
      w->children.len = 0;
      EG_TRY(eg_u32s_push(&w->children, source));
      eg_variant variant = {
          .node = EG_NODE_NONE, .from_format = (uint8_t)f, .format = (uint8_t)g};
      EG_TRY(visit(w, place, variant, &spec, false));
    }
  return EGRAPH_OK;
}

static egraph_status walk_classes(walker *w) {
  for (eg_class c = eg_engine_first(w->engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(w->engine, c)) {
    if (fact_of(w, c)->weight_only) continue;
    EG_TRY(walk_nodes(w, c));
    EG_TRY(walk_reorders(w, c));
  }
  return EGRAPH_OK;
}

static egraph_status walk(eg_expansion *expansion, eg_tensor_egraph *egraph,
                          eg_cost_model *costs, bool pricing, const bool *again) {
  walker w = {.again = again,
              .expansion = expansion,
              .egraph = egraph,
              .costs = costs,
              .pricing = pricing,
              .engine = eg_tensor_egraph_engine(egraph)};
  eg_types_init(&w.inputs, expansion->alloc);
  eg_types_init(&w.results, expansion->alloc);
  eg_u32s_init(&w.children, expansion->alloc);
  eg_attrs identity = {.op = EG_OP_IDENTITY};
  egraph_status status =
      eg_attr_pool_add(eg_tensor_egraph_attrs(egraph), &identity, &w.identity);
  if (status == EGRAPH_OK) status = walk_classes(&w);
  eg_types_deinit(&w.inputs);
  eg_types_deinit(&w.results);
  eg_u32s_deinit(&w.children);
  return status;
}

// ---- entry points ---------------------------------------------------------------

static egraph_status build(eg_expansion *x, eg_tensor_egraph *egraph,
                           eg_cost_model *costs, uint32_t formats) {
  EG_TRY(eg_extract_problem_init(&x->problem, x->alloc));
  size_t places = (size_t)x->class_limit * EG_FORMAT_COUNT;
  EG_TRY(eg_alloc(x->alloc, places, sizeof *x->place, &x->place));
  for (size_t i = 0; i < places; i++)
    x->place[i] = EG_EXTRACT_NONE;
  walker w = {
      .expansion = x, .egraph = egraph, .engine = eg_tensor_egraph_engine(egraph)};
  EG_TRY(make_places(&w, formats & ~1u));
  return walk(x, egraph, costs, false, NULL);
}

egraph_status eg_expansion_init(eg_expansion *expansion, egraph_allocator alloc,
                                eg_tensor_egraph *egraph, eg_cost_model *costs,
                                uint32_t formats) {
  *expansion = (eg_expansion){.alloc = alloc,
                              .class_limit =
                                  eg_engine_class_limit(eg_tensor_egraph_engine(egraph))};
  eg_variants_init(&expansion->variants, alloc);
  eg_u32s_init(&expansion->class_of, alloc);
  eg_u32s_init(&expansion->format_of, alloc);
  egraph_status status = build(expansion, egraph, costs, formats);
  if (status != EGRAPH_OK) eg_expansion_deinit(expansion);
  return status;
}

egraph_status eg_expansion_price(eg_expansion *expansion, eg_tensor_egraph *egraph,
                                 eg_cost_model *costs) {
  EG_TRY(walk(expansion, egraph, costs, true, NULL));
  uint32_t outputs = eg_graph_output_count(eg_tensor_egraph_graph(egraph));
  for (uint32_t i = 0; i < outputs; i++) {
    eg_class root = eg_tensor_egraph_root(egraph, i);
    uint32_t place = *place_at(expansion, root, EG_FORMAT_PLAIN);
    if (place != EG_EXTRACT_NONE)
      EG_TRY(eg_extract_problem_add_root(&expansion->problem, place));
  }
  return EGRAPH_OK;
}

egraph_status eg_expansion_request_again(eg_expansion *expansion,
                                         eg_tensor_egraph *egraph, eg_cost_model *costs,
                                         const bool *again) {
  return walk(expansion, egraph, costs, false, again);
}

void eg_expansion_reprice(eg_expansion *expansion, const eg_cost_model *costs) {
  for (size_t v = 0; v < expansion->variants.len; v++) {
    eg_variant *variant = &expansion->variants.data[v];
    if (variant->entry == EG_COST_NO_ENTRY) continue;
    variant->seconds = eg_cost_entry_seconds(costs, variant->entry);
    expansion->problem.cost.data[v] = variant->seconds;
  }
}

void eg_expansion_deinit(eg_expansion *expansion) {
  eg_extract_problem_deinit(&expansion->problem);
  eg_variants_deinit(&expansion->variants);
  eg_u32s_deinit(&expansion->class_of);
  eg_u32s_deinit(&expansion->format_of);
  eg_free(expansion->alloc, expansion->place,
          (size_t)expansion->class_limit * EG_FORMAT_COUNT, sizeof *expansion->place);
  expansion->place = NULL;
}

// ---- the given graph as a choice ------------------------------------------------

// Per class the seed node with the lowest id: nodes were seeded in topological order and
// a class's children hold seeds with lower ids still, so this choice cannot be cyclic.
static void choose_plain(const eg_expansion *expansion, const eg_engine *engine,
                         uint32_t *out_choice) {
  for (uint32_t p = 0; p < expansion->problem.class_count; p++)
    out_choice[p] = EG_EXTRACT_NONE;
  for (uint32_t v = 0; v < expansion->variants.len; v++) {
    const eg_variant *variant = &expansion->variants.data[v];
    uint32_t place = expansion->problem.node_class.data[v];
    if (variant->node.id == EG_NODE_NONE.id || variant->format != EG_FORMAT_PLAIN ||
        eg_engine_node_reason(engine, variant->node) != EG_REASON_SEED)
      continue;
    uint32_t best = out_choice[place];
    if (best == EG_EXTRACT_NONE ||
        variant->node.id < expansion->variants.data[best].node.id)
      out_choice[place] = v;
  }
}

/// Follows the graph from its inputs on, in the formats that it carries. The first node
/// of a place is chosen; its operands were chosen before, so the choice is acyclic.
typedef struct follower {
  const eg_expansion *expansion;
  eg_tensor_egraph *egraph;
  const eg_engine *engine;
  const eg_graph *graph;
  uint32_t *choice;
  uint32_t *begin, *members; // [places + 1], [variants]: the variants of each place
  eg_u32s operands;          // places of the operands at hand, weights left out
  bool fits;                 // up to now all nodes were found
} follower;

static egraph_status index_variants(follower *f) {
  const eg_extract_problem *problem = &f->expansion->problem;
  uint32_t places = problem->class_count, count = eg_extract_node_count(problem);
  EG_TRY(eg_alloc(f->expansion->alloc, (size_t)places + 2, sizeof *f->begin, &f->begin));
  EG_TRY(eg_alloc(f->expansion->alloc, count, sizeof *f->members, &f->members));
  uint32_t *next = f->begin + 1; // becomes begin when it was moved on by the filling
  for (uint32_t v = 0; v < count; v++)
    next[problem->node_class.data[v] + 1]++;
  for (uint32_t p = 0; p < places; p++)
    next[p + 1] += next[p];
  for (uint32_t v = 0; v < count; v++)
    f->members[next[problem->node_class.data[v]]++] = v;
  return EGRAPH_OK;
}

static uint32_t place_of(const follower *f, eg_value value) {
  eg_class class = eg_tensor_egraph_value_class(f->egraph, value);
  return *place_at(f->expansion, class,
                   eg_graph_value(f->graph, value)->type.layout.format);
}

static bool has_operands(const follower *f, uint32_t variant, const uint32_t *operands,
                         size_t count) {
  const eg_extract_problem *problem = &f->expansion->problem;
  uint32_t first = problem->child_begin.data[variant];
  if (problem->child_begin.data[variant + 1] - first != count) return false;
  for (size_t i = 0; i < count; i++)
    if (problem->children.data[first + i] != operands[i]) return false;
  return true;
}

/// Operator, attributes and operands of a graph node; `payload` is its attributes' id.
static bool is_node(const follower *f, eg_node node, const eg_graph_node_info *info,
                    uint32_t payload) {
  eg_term term = eg_engine_term(f->engine, node);
  if (term.op != info->attrs->op || term.payload != payload ||
      term.arity != info->input_count)
    return false;
  for (uint32_t i = 0; i < term.arity; i++)
    if (eg_engine_find(f->engine, term.children[i]).id !=
        eg_tensor_egraph_value_class(f->egraph, info->inputs[i]).id)
      return false;
  return true;
}

static void choose(follower *f, uint32_t place, uint32_t variant) {
  if (f->choice[place] == EG_EXTRACT_NONE) f->choice[place] = variant;
}

/// Chooses a reorder where a node only changes the format of a value.
static bool follow_reorder(follower *f, const eg_graph_node_info *info, uint32_t place) {
  if (info->attrs->op != EG_OP_IDENTITY || f->operands.len != 1) return false;
  uint32_t source = f->operands.data[0];
  if (source == place) return true;
  for (uint32_t i = f->begin[place]; i < f->begin[place + 1]; i++) {
    uint32_t v = f->members[i];
    if (f->expansion->variants.data[v].node.id != EG_NODE_NONE.id ||
        !has_operands(f, v, &source, 1))
      continue;
    choose(f, place, v);
    return true;
  }
  return false;
}

static bool follow_operator(follower *f, const eg_graph_node_info *info, uint32_t payload,
                            uint32_t place) {
  for (uint32_t i = f->begin[place]; i < f->begin[place + 1]; i++) {
    uint32_t v = f->members[i];
    eg_node node = f->expansion->variants.data[v].node;
    if (node.id == EG_NODE_NONE.id || !is_node(f, node, info, payload) ||
        !has_operands(f, v, f->operands.data, f->operands.len))
      continue;
    choose(f, place, v);
    return true;
  }
  return false;
}

/// Result `index` of a node with several: chooses the part, and tells the tuple's place.
static bool follow_part(follower *f, uint32_t place, uint32_t index,
                        uint32_t *out_tuple) {
  for (uint32_t i = f->begin[place]; i < f->begin[place + 1]; i++) {
    uint32_t v = f->members[i];
    eg_node node = f->expansion->variants.data[v].node;
    if (node.id == EG_NODE_NONE.id) continue;
    eg_term term = eg_engine_term(f->engine, node);
    if (term.op != EG_OP_PART ||
        eg_attr_at(eg_tensor_egraph_attrs_at(f->egraph, term.payload), EG_A_PART_INDEX)
                ->i != index)
      continue;
    *out_tuple =
        f->expansion->problem.children.data[f->expansion->problem.child_begin.data[v]];
    choose(f, place, v);
    return true;
  }
  return false;
}

static egraph_status follow_operands(follower *f, const eg_graph_node_info *info) {
  f->operands.len = 0;
  for (uint32_t i = 0; i < info->input_count; i++) {
    eg_class class = eg_tensor_egraph_value_class(f->egraph, info->inputs[i]);
    if (eg_tensor_egraph_fact(f->egraph, class)->weight_only) continue;
    uint32_t place = place_of(f, info->inputs[i]);
    f->fits = f->fits && place != EG_EXTRACT_NONE;
    EG_TRY(eg_u32s_push(&f->operands, place));
  }
  return EGRAPH_OK;
}

static egraph_status follow_node(follower *f, eg_graph_node node) {
  eg_graph_node_info info = eg_graph_node_at(f->graph, node);
  eg_class class = eg_tensor_egraph_value_class(f->egraph, info.results[0]);
  if (eg_tensor_egraph_fact(f->egraph, class)->weight_only) return EGRAPH_OK;
  eg_attrs_id payload;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(f->egraph), info.attrs, &payload));
  EG_TRY(follow_operands(f, &info));
  uint32_t place = place_of(f, info.results[0]);
  f->fits = f->fits && place != EG_EXTRACT_NONE;
  if (!f->fits) return EGRAPH_OK;
  f->fits =
      follow_operator(f, &info, payload.id, place) || follow_reorder(f, &info, place);
  if (f->fits) return EGRAPH_OK;
  uint32_t tuple = place; // a node with several results, perhaps
  for (uint32_t i = 0; i < info.result_count; i++) {
    place = place_of(f, info.results[i]);
    if (place == EG_EXTRACT_NONE || !follow_part(f, place, i, &tuple)) return EGRAPH_OK;
  }
  f->fits = follow_operator(f, &info, payload.id, tuple);
  return EGRAPH_OK;
}

static egraph_status follow(follower *f) {
  EG_TRY(index_variants(f));
  for (uint32_t p = 0; p < f->expansion->problem.class_count; p++)
    f->choice[p] = EG_EXTRACT_NONE;
  for (uint32_t i = 0; f->fits && i < eg_graph_value_count(f->graph); i++) {
    eg_value value = {.id = i};
    const eg_value_info *info = eg_graph_value(f->graph, value);
    if (info->kind == EG_VALUE_COMPUTED) {
      if (info->result == 0) EG_TRY(follow_node(f, info->node));
      continue;
    }
    uint32_t place = place_of(f, value);
    if (place == EG_EXTRACT_NONE) continue; // a weight
    for (uint32_t k = f->begin[place]; k < f->begin[place + 1]; k++) {
      eg_node node = f->expansion->variants.data[f->members[k]].node;
      eg_value seed;
      if (node.id != EG_NODE_NONE.id &&
          eg_tensor_egraph_seed_value(f->egraph, node, &seed) && seed.id == i)
        choose(f, place, f->members[k]);
    }
    f->fits = f->choice[place] != EG_EXTRACT_NONE;
  }
  return EGRAPH_OK;
}

egraph_status eg_expansion_original(const eg_expansion *expansion,
                                    eg_tensor_egraph *egraph, uint32_t *out_choice,
                                    bool *out_as_given) {
  follower f = {.expansion = expansion,
                .egraph = egraph,
                .engine = eg_tensor_egraph_engine(egraph),
                .graph = eg_tensor_egraph_graph(egraph),
                .choice = out_choice,
                .fits = true};
  eg_u32s_init(&f.operands, expansion->alloc);
  egraph_status status = follow(&f);
  eg_free(expansion->alloc, f.begin, (size_t)expansion->problem.class_count + 2,
          sizeof *f.begin);
  eg_free(expansion->alloc, f.members, expansion->variants.len, sizeof *f.members);
  eg_u32s_deinit(&f.operands);
  EG_TRY(status);
  if (!f.fits) choose_plain(expansion, f.engine, out_choice);
  *out_as_given = f.fits;
  return EGRAPH_OK;
}
