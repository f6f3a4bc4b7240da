// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/recognize.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/owner.h"
#include "pcg/graph/graph_copy.h"
#include "rewrites/saturation/saturate.h"
#include "rewrites/saturation/tensor_egraph.h"

enum {
  MOST_OPERANDS = 4,
  ITERATIONS = 8,
  GROWTH = 8,
  FEWEST_NODES = 2000,
  MOST_STEPS = 4
};
static const uint64_t MOST_WORK = 4000000000; // steps (base/work.h): some seconds

// ---- rules ----------------------------------------------------------------------------

/// The operators that are found, and the nodes that they replace.
static const struct {
  eg_op made, node;
} found_at[] = {{EG_OP_ATTENTION, EG_OP_MATMUL}, {EG_OP_ATTENTION, EG_OP_TRANSPOSE},
                {EG_OP_ROPE, EG_OP_ADD},         {EG_OP_ROPE, EG_OP_CONCAT},
                {EG_OP_LAYER_NORM, EG_OP_ADD},   {EG_OP_LAYER_NORM, EG_OP_MUL},
                {EG_OP_LAYER_NORM, EG_OP_DIV},   {EG_OP_RMS_NORM, EG_OP_MUL},
                {EG_OP_RMS_NORM, EG_OP_DIV},     {EG_OP_GELU, EG_OP_MUL},
                {EG_OP_SILU, EG_OP_MUL},         {EG_OP_SILU, EG_OP_DIV},
                {EG_OP_MISH, EG_OP_MUL},         {EG_OP_HARD_SWISH, EG_OP_MUL},
                {EG_OP_HARD_SWISH, EG_OP_DIV}};

static bool is_found(uint32_t op) {
  for (size_t i = 0; i < sizeof found_at / sizeof *found_at; i++)
    if (found_at[i].made == op) return true;
  return false;
}

static bool mentions_found(const eg_rule *rule) {
  for (uint32_t t = 0; t < rule->term_count; t++)
    if (!rule->terms[t].is_var && is_found(rule->terms[t].op)) return true;
  return false;
}

/// True for a rule of few operators that changes the order of operands, turns a quotient
/// by a number into a product, transposes or reshapes.
static bool prepares(const eg_rule *rule) {
  static const eg_op known[] = {
      EG_OP_ADD,    EG_OP_MUL,     EG_OP_DIV,       EG_OP_FILL, EG_OP_TRANSPOSE,
      EG_OP_MATMUL, EG_OP_RESHAPE, EG_OP_UNSQUEEZE, EG_OP_POW,  EG_OP_SQUARE,
      EG_OP_SQRT,   EG_OP_RSQRT,   EG_OP_RECIPROCAL};
  for (uint32_t t = 0; t < rule->term_count; t++) {
    bool is_known = rule->terms[t].is_var;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      is_known = is_known || rule->terms[t].op == known[i];
    if (!is_known) return false;
  }
  return rule->term_count <= 6;
}

static bool is_used(void *user, uint32_t rule) {
  const eg_rule *of = eg_rules_at(user, rule);
  return mentions_found(of) || prepares(of);
}

static bool has_rule(const eg_rules *rules) {
  for (uint32_t r = 0; r < eg_rules_count(rules); r++)
    if (eg_rules_at(rules, r)->enabled && mentions_found(eg_rules_at(rules, r)))
      return true;
  return false;
}

// ---- what is found --------------------------------------------------------------------

/// A copy of the graph under construction.
typedef struct recognizer {
  const eg_graph *graph;
  eg_tensor_egraph *egraph; // NULL: nothing is replaced
  const eg_engine *engine;
  const bool *kept;    // [values] trained weights
  const bool *trained; // [values] computed from trained weights; NULL: not known
  bool has_no_data;    // kept weights are copied without data
  eg_graph *out;       // owned
  eg_value *map;       // [values] of the copy; EG_VALUE_NONE: not made yet
  uint32_t found, named;
  eg_arena arena;
} recognizer;

/// Finds a value of the copy that has the class of an operand, and is made already.
static bool find_made(const recognizer *r, eg_class class, eg_value *out) {
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(r->engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_value value;
    if (!eg_tensor_egraph_seed_value(r->egraph, nodes[i], &value)) continue;
    if (r->map[value.id].id == EG_VALUE_NONE.id) continue;
    *out = r->map[value.id];
    return true;
  }
  return false;
}

/// Makes a name that no value of the graph has, as values that are copied keep theirs.
static egraph_status fresh_name(recognizer *r, uint32_t op, const char **out) {
  enum { ROOM = 48 };
  char *name;
  eg_value taken;
  EG_NEW(&r->arena, ROOM, name);
  do
    (void)snprintf(name, ROOM, "%s.%" PRIu32, eg_op_info_of((eg_op)op)->name, r->named++);
  while (eg_graph_find_value(r->graph, name, &taken));
  *out = name;
  return EGRAPH_OK;
}

static bool may_be_added(eg_op op) {
  return op == EG_OP_TRANSPOSE || op == EG_OP_RESHAPE || op == EG_OP_NOT ||
         op == EG_OP_ROPE;
}

static egraph_status reach(recognizer *r, eg_class class, uint32_t steps, eg_value *out);

/// Finds or makes the operands of a term; *out_all is false when one cannot be reached.
static egraph_status reach_operands(recognizer *r, const eg_term *term, uint32_t steps,
                                    eg_value *out, bool *out_all) {
  *out_all = true;
  for (uint32_t i = 0; i < term->arity && *out_all; i++) {
    EG_TRY(reach(r, term->children[i], steps, &out[i]));
    *out_all = out[i].id != EG_VALUE_NONE.id;
  }
  return EGRAPH_OK;
}

/// Finds or makes a value of a class, by at most `steps` further operators. *out is
/// EG_VALUE_NONE when there is no such value.
static egraph_status reach(recognizer *r, eg_class class, uint32_t steps, eg_value *out) {
  uint32_t count;
  *out = EG_VALUE_NONE;
  if (find_made(r, class, out) || steps == 0) return EGRAPH_OK;
  const eg_node *nodes = eg_engine_class_nodes(r->engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(r->engine, nodes[i]);
    eg_value operands[MOST_OPERANDS];
    const char *name;
    bool all;
    if (!may_be_added((eg_op)term.op)) continue;
    EG_TRY(reach_operands(r, &term, steps - 1, operands, &all));
    if (!all) continue;
    EG_TRY(fresh_name(r, term.op, &name));
    return eg_graph_add_node(r->out, NULL,
                             eg_tensor_egraph_attrs_at(r->egraph, term.payload), operands,
                             term.arity, &name, out);
  }
  return EGRAPH_OK;
}

/// Returns the bytes of the operands: the fewest where heads share keys and positions
/// replace a mask, or where a whole row is rotated.
static double operand_bytes(const recognizer *r, const eg_term *term) {
  double bytes = 0;
  for (uint32_t i = 0; i < term->arity; i++)
    bytes +=
        (double)eg_type_bytes(&eg_tensor_egraph_fact(r->egraph, term->children[i])->type);
  return bytes;
}

/// A search for the operator with the fewest bytes that makes a value.
typedef struct finding {
  eg_op op;
  bool done;
  double bytes;
  eg_term term;
} finding;

static void find_in(const recognizer *r, eg_class class, finding *f) {
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(r->engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(r->engine, nodes[i]);
    if (term.op != f->op) continue;
    double bytes = operand_bytes(r, &term);
    if (f->done && bytes >= f->bytes) continue;
    *f = (finding){.op = f->op, .done = true, .bytes = bytes, .term = term};
  }
}

/// Finds the operator of which a class is the only or the first result.
static void find_operator(const recognizer *r, eg_class class, finding *f) {
  uint32_t parts;
  find_in(r, class, f);
  const eg_node *nodes = eg_engine_class_nodes(r->engine, class, &parts);
  for (uint32_t p = 0; p < parts; p++) {
    eg_term part = eg_engine_term(r->engine, nodes[p]);
    if (part.op == EG_OP_PART &&
        eg_attr_at(eg_tensor_egraph_attrs_at(r->egraph, part.payload), EG_A_PART_INDEX)
                ->i == 0)
      find_in(r, part.children[0], f);
  }
}

/// True when a mask is added that is computed from trained weights: its gradient needs a
/// table of scores, so that the parts are as good.
static bool has_trained_mask(const recognizer *r, const eg_term *term) {
  if (term->arity < MOST_OPERANDS) return false;
  eg_class mask = term->children[MOST_OPERANDS - 1];
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(r->engine, mask, &count);
  if (!eg_dtype_is_float(eg_tensor_egraph_fact(r->egraph, mask)->type.dtype))
    return false;
  for (uint32_t i = 0; i < count; i++) {
    eg_value value;
    if (eg_tensor_egraph_seed_value(r->egraph, nodes[i], &value) && r->trained[value.id])
      return true;
  }
  return false;
}

/// Adds the operator in place of a node; *out_done is false when none is found.
static egraph_status replace_by(recognizer *r, const eg_graph_node_info *node, eg_op op,
                                bool *out_done) {
  finding f = {.op = op};
  eg_value operands[MOST_OPERANDS], results[2];
  bool all;
  find_operator(r, eg_tensor_egraph_value_class(r->egraph, node->results[0]), &f);
  if (!f.done || (op == EG_OP_ATTENTION && has_trained_mask(r, &f.term)))
    return EGRAPH_OK;
  EG_TRY(reach_operands(r, &f.term, MOST_STEPS, operands, &all));
  if (!all) return EGRAPH_OK;
  const eg_attrs *attrs = eg_tensor_egraph_attrs_at(r->egraph, f.term.payload);
  const char *names[2] = {eg_graph_value(r->graph, node->results[0])->name};
  if (eg_op_results(attrs) > 1) EG_TRY(fresh_name(r, op, &names[1]));
  EG_TRY(eg_graph_add_node(r->out, NULL, attrs, operands, f.term.arity, names, results));
  r->map[node->results[0].id] = results[0];
  r->found++;
  *out_done = true;
  return EGRAPH_OK;
}

/// Replaces a node where an operator is found; *out_done is false when it is copied as it
/// is. A transpose after attention makes way for attention on rows before heads;
/// attention on heads before rows, which the product became, is pruned.
static egraph_status replace(recognizer *r, const eg_graph_node_info *node,
                             bool *out_done) {
  *out_done = false;
  if (r->egraph == NULL) return EGRAPH_OK;
  for (size_t i = 0; i < sizeof found_at / sizeof *found_at && !*out_done; i++)
    if (node->attrs->op == found_at[i].node)
      EG_TRY(replace_by(r, node, found_at[i].made, out_done));
  return EGRAPH_OK;
}

// ---- the copy -------------------------------------------------------------------------

static egraph_status copy_leaf(recognizer *r, uint32_t v) {
  const eg_value_info *info = eg_graph_value(r->graph, (eg_value){v});
  if (info->kind == EG_VALUE_WEIGHT)
    return eg_graph_add_weight(r->out, info->name, &info->type,
                               r->has_no_data && r->kept[v] ? NULL : info->data,
                               &r->map[v]);
  EG_TRY(eg_graph_add_input(r->out, info->name, &info->type, &r->map[v]));
  return eg_graph_set_default(r->out, r->map[v], info->data);
}

static egraph_status copy_or_replace(recognizer *r, eg_graph_node n) {
  const eg_graph_node_info node = eg_graph_node_at(r->graph, n);
  eg_value *operands, *results;
  bool done;
  EG_TRY(replace(r, &node, &done));
  if (done) return EGRAPH_OK;
  EG_NEW(&r->arena, node.input_count, operands);
  EG_NEW(&r->arena, node.result_count, results);
  for (uint32_t i = 0; i < node.input_count; i++)
    operands[i] = r->map[node.inputs[i].id];
  EG_TRY(eg_graph_add_named_copy(r->out, r->graph, n, operands, results));
  for (uint32_t i = 0; i < node.result_count; i++)
    r->map[node.results[i].id] = results[i];
  return EGRAPH_OK;
}

static egraph_status copy_graph(recognizer *r) {
  uint32_t count = eg_graph_value_count(r->graph);
  EG_NEW(&r->arena, count, r->map);
  for (uint32_t v = 0; v < count; v++)
    r->map[v] = EG_VALUE_NONE;
  for (uint32_t v = 0; v < count; v++) {
    const eg_value_info *info = eg_graph_value(r->graph, (eg_value){v});
    if (info->kind != EG_VALUE_COMPUTED)
      EG_TRY(copy_leaf(r, v));
    else if (info->result == 0)
      EG_TRY(copy_or_replace(r, info->node));
  }
  for (uint32_t o = 0; o < eg_graph_output_count(r->graph); o++) {
    const char *name;
    eg_value value = eg_graph_output(r->graph, o, &name);
    EG_TRY(eg_graph_add_output(r->out, name, r->map[value.id]));
  }
  eg_graph_set_header(r->out, eg_graph_header(r->graph));
  return EGRAPH_OK;
}

static egraph_status run_copy(recognizer *r, eg_graph **out) {
  egraph_allocator alloc = eg_graph_allocator(r->graph);
  EG_TRY(eg_graph_create(&alloc, out));
  r->out = *out;
  eg_arena_init(&r->arena, alloc);
  egraph_status status = copy_graph(r);
  eg_arena_deinit(&r->arena);
  return status;
}

static egraph_status saturate(eg_tensor_egraph *egraph, const eg_rules *rules,
                              egraph_math math) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report;
  options.node_limit = FEWEST_NODES;
  options.node_limit_growth = GROWTH;
  options.iteration_limit = ITERATIONS;
  options.match_limit_share = 1; // commutativity has a match for each node
  options.time_limit_seconds = INFINITY;
  options.work_limit = MOST_WORK;
  options.math = math;
  options.use_rule = is_used;
  options.use_rule_user = (void *)(uintptr_t)rules;
  egraph_status status = eg_saturate(egraph, rules, &options, &report);
  eg_saturation_report_deinit(&report);
  return status;
}

/// Flags the values that are computed from kept weights.
static egraph_status flag_trained(eg_arena *arena, const eg_graph *graph,
                                  const bool *kept, const bool **out) {
  uint32_t count = eg_graph_value_count(graph);
  bool *flags;
  EG_NEW(arena, count, flags);
  for (uint32_t v = 0; v < count; v++)
    flags[v] = kept[v] && eg_graph_value(graph, (eg_value){v})->kind == EG_VALUE_WEIGHT;
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    const eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    bool any = false;
    for (uint32_t i = 0; i < node.input_count; i++)
      any = any || flags[node.inputs[i].id];
    for (uint32_t i = 0; i < node.result_count; i++)
      flags[node.results[i].id] = any;
  }
  *out = flags;
  return EGRAPH_OK;
}

egraph_status eg_recognize(const eg_graph *graph, const eg_rules *rules, egraph_math math,
                           const bool *kept, eg_graph **out) {
  egraph_allocator alloc = eg_graph_allocator(graph);
  *out = NULL;
  if (rules == NULL || !has_rule(rules)) return EGRAPH_OK;
  EG_LOCAL(eg_arena, arena, alloc);
  EG_HELD(eg_graph, bare);
  EG_HELD(eg_graph, copy);
  EG_HELD(eg_tensor_egraph, egraph);
  // Without their data, trained weights are no constants. Values have the same numbers.
  recognizer r = {.graph = graph, .kept = kept, .has_no_data = true};
  EG_TRY(run_copy(&r, &bare));
  EG_TRY(eg_tensor_egraph_create(&alloc, bare, &egraph));
  EG_TRY(saturate(egraph, rules, math));
  r = (recognizer){.graph = graph,
                   .egraph = egraph,
                   .engine = eg_tensor_egraph_engine_of(egraph),
                   .kept = kept};
  EG_TRY(flag_trained(&arena, graph, kept, &r.trained));
  EG_TRY(run_copy(&r, &copy));
  return r.found == 0 ? EGRAPH_OK : eg_graph_pruned(copy, out);
}
