// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/derive/derive.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "rewrites/explain/explain_rounds.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rules.h"
#include "rewrites/replay/replay.h"
#include "rewrites/saturation/saturate.h"

enum { DRAWS = 400, INSTANCES = 12, BEST = 4, MAX_BYTES = 1 << 24 };

/// The limits of an e-graph in each stage of a derivation. The second stage also uses
/// rules with operators that the derived rule does not have.
static const struct {
  bool is_filtered;
  uint32_t nodes, iterations;
} stages[] = {{true, 6000, 10}, {false, 4000, 8}};
enum { STAGES = sizeof stages / sizeof *stages };

typedef struct derivation {
  const eg_axioms *axioms;
  const eg_rule *rule;
  egraph_allocator alloc;
  eg_arena arena;
  bool *is_used; // [rules] used in the current stage
  eg_side_graphs kept[INSTANCES];
  uint32_t merits[INSTANCES], count;
  eg_derivation_verdict *out;
  eg_text *names;
} derivation;

static void derivation_init(derivation *d, egraph_allocator alloc) {
  *d = (derivation){.alloc = alloc};
  eg_arena_init(&d->arena, alloc);
}

static void derivation_deinit(derivation *d) {
  for (uint32_t i = 0; i < d->count; i++)
    eg_side_graphs_deinit(&d->kept[i]);
  eg_arena_deinit(&d->arena);
}

// ---- instances ------------------------------------------------------------------------

/// Keeps the instances that are the best evidence, in order, followed by the first
/// instances of any merit.
static egraph_status offer_instance(derivation *d, const eg_verify_instance *instance) {
  eg_side_graphs sides;
  egraph_status status = eg_side_graphs_make(d->alloc, instance, &sides);
  if (status == EGRAPH_E_TYPE) return EGRAPH_OK; // a graph cannot contain such a value
  EG_TRY(status);
  uint32_t merit = eg_side_graphs_merit(&sides), at = 0;
  while (at < BEST && at < d->count && d->merits[at] >= merit)
    at++;
  if (at == BEST) at = d->count; // kept as an instance of any merit
  if (merit == 0 || at == INSTANCES) {
    eg_side_graphs_deinit(&sides);
    return EGRAPH_OK;
  }
  if (d->count == INSTANCES)
    eg_side_graphs_deinit(&d->kept[INSTANCES - 1]);
  else
    d->count++;
  for (uint32_t i = d->count - 1; i > at; i--) {
    d->kept[i] = d->kept[i - 1];
    d->merits[i] = d->merits[i - 1];
  }
  d->kept[at] = sides;
  d->merits[at] = merit;
  return EGRAPH_OK;
}

static egraph_status draw_instances(derivation *d, uint64_t seed) {
  EG_LOCAL(eg_verify_draws_own, draws, d->alloc);
  egraph_status status = eg_verify_draws_create(&d->alloc, d->rule, seed, &draws);
  if (status == EGRAPH_E_UNSUPPORTED) return EGRAPH_OK; // too many variables
  EG_TRY(status);
  for (uint32_t i = 0; i < DRAWS; i++) {
    bool found, typed;
    eg_verify_instance instance;
    EG_TRY(eg_verify_draw(draws, &found, &typed, &instance));
    if (found && typed) EG_TRY(offer_instance(d, &instance));
  }
  return EGRAPH_OK;
}

// ---- one instance ---------------------------------------------------------------------

/// An e-graph of the left side, to which the nodes of the right side are added.
typedef struct union_of_sides {
  const eg_side_graphs *sides;
  eg_tensor_egraph_own egraph;
  eg_u32s classes; // [values of the right side]
} union_of_sides;

EG_OWNER_DEFINE_STATIC(union_of_sides, (eg_tensor_egraph_own, egraph), (eg_u32s, classes))

static egraph_status find_leaf_class(union_of_sides *u, uint32_t value) {
  const eg_value_info *info = eg_graph_value(u->sides->right, (eg_value){value});
  eg_value same;
  if (!eg_graph_find_value(u->sides->left, info->name, &same))
    return EG_FAIL(EGRAPH_E_INTERNAL, "'%.200s' is on one side only", info->name);
  u->classes.data[value] = eg_tensor_egraph_value_class(u->egraph, same).id;
  return EGRAPH_OK;
}

static egraph_status add_right_node(union_of_sides *u, eg_graph_node id) {
  eg_graph_node_info node = eg_graph_node_at(u->sides->right, id);
  eg_class operands[256], made;
  if (node.input_count > 256)
    return EG_FAIL(EGRAPH_E_TYPE, "a node with more than 256 operands");
  for (uint32_t i = 0; i < node.input_count; i++)
    operands[i] = (eg_class){u->classes.data[node.inputs[i].id]};
  EG_TRY(eg_tensor_egraph_add(u->egraph, node.attrs, operands, node.input_count,
                              EG_REASON_SEED, &made));
  if (node.result_count == 1) u->classes.data[node.results[0].id] = made.id;
  for (uint32_t i = 0; node.result_count > 1 && i < node.result_count; i++) {
    eg_attr slot = {.kind = EG_ATTR_INT, .i = i};
    const eg_attrs part = {.op = EG_OP_PART, .count = 1, .slots = &slot};
    eg_class result;
    EG_TRY(eg_tensor_egraph_add(u->egraph, &part, &made, 1, EG_REASON_SEED, &result));
    u->classes.data[node.results[i].id] = result.id;
  }
  return EGRAPH_OK;
}

static egraph_status add_right(union_of_sides *u) {
  const eg_graph *right = u->sides->right;
  uint32_t count = eg_graph_value_count(right);
  EG_TRY(eg_u32s_resize(&u->classes, count));
  for (uint32_t v = 0; v < count; v++) {
    const eg_value_info *info = eg_graph_value(right, (eg_value){v});
    if (info->kind != EG_VALUE_COMPUTED)
      EG_TRY(find_leaf_class(u, v));
    else if (info->result == 0)
      EG_TRY(add_right_node(u, info->node));
  }
  return eg_engine_rebuild(eg_tensor_egraph_engine(u->egraph));
}

static bool are_equal(const union_of_sides *u) {
  for (uint32_t i = 0; i < eg_graph_output_count(u->sides->right); i++) {
    eg_class right = {u->classes.data[eg_graph_output(u->sides->right, i, NULL).id]};
    if (!eg_are_united(u->egraph, eg_tensor_egraph_root(u->egraph, i), right))
      return false;
  }
  return true;
}

static bool uses_rule(void *user, uint32_t rule) { return ((bool *)user)[rule]; }

static egraph_status saturate_sides(derivation *d, eg_tensor_egraph *egraph,
                                    uint32_t stage) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.node_limit = stages[stage].nodes;
  options.iteration_limit = stages[stage].iterations;
  options.time_limit_seconds = 600; // limits independent of the machine end it first
  options.math = d->rule->math;
  options.use_rule = uses_rule;
  options.use_rule_user = d->is_used;
  eg_saturation_report report;
  egraph_status status = eg_saturate(egraph, d->axioms->rules, &options, &report);
  eg_saturation_report_deinit(&report);
  return status;
}

static bool has_name(const eg_text *names, const char *name) {
  size_t length = strlen(name);
  for (const char *at = eg_text_of(names); (at = strstr(at, name)) != NULL; at += length)
    if ((at == eg_text_of(names) || at[-1] == ' ') &&
        (at[length] == '\0' || at[length] == ','))
      return true;
  return false;
}

static egraph_status name_axioms(derivation *d, const eg_explained *explained) {
  for (size_t i = 0; i < explained->steps.len; i++) {
    const char *name = explained->steps.data[i].rule;
    if (has_name(d->names, name)) continue;
    EG_TRY(eg_text_printf(d->names, "%s%s", eg_text_of(d->names)[0] == '\0' ? "" : ", ",
                          name));
  }
  return EGRAPH_OK;
}

/// Explains why both sides are equal, and replays the explanation, which shares no code
/// with the e-graph.
static egraph_status replay_equality(derivation *d, const union_of_sides *u) {
  const eg_explained_round round = {.egraph = u->egraph,
                                    .rules = d->axioms->rules,
                                    .emitted = u->sides->right,
                                    .found = u->sides->right};
  eg_explained_rounds rounds;
  eg_replay_report report;
  egraph_status status = eg_explained_rounds_init(&rounds, d->alloc, u->sides->left);
  if (status == EGRAPH_OK) status = eg_explained_rounds_add(&rounds, &round);
  const eg_replay_input input = {.given = u->sides->left,
                                 .result = u->sides->right,
                                 .rules = d->axioms->rules,
                                 .explained = &rounds.explained,
                                 .max_bytes = MAX_BYTES};
  if (status == EGRAPH_OK) status = eg_replay(d->alloc, &input, &report);
  if (status == EGRAPH_OK) status = name_axioms(d, &rounds.explained);
  if (status == EGRAPH_OK) d->out->steps += report.steps;
  eg_explained_rounds_deinit(&rounds);
  if (status == EGRAPH_E_ARGUMENT)
    return eg_fail_context(EGRAPH_E_INTERNAL,
                           "the derivation of '%.100s' is not replayed", d->rule->name);
  return status;
}

/// Derives one instance of the rule. *out_same: both sides are the same term, which is no
/// evidence for the rule.
static egraph_status derive_instance(derivation *d, const eg_side_graphs *sides,
                                     uint32_t stage, bool *out_same, bool *out_equal) {
  EG_LOCAL(union_of_sides, u, d->alloc);
  u.sides = sides;
  *out_same = *out_equal = false;
  EG_TRY(eg_tensor_egraph_create_explained(&d->alloc, sides->left, &u.egraph));
  EG_TRY(add_right(&u));
  *out_same = are_equal(&u);
  if (*out_same) return EGRAPH_OK;
  EG_TRY(saturate_sides(d, u.egraph, stage));
  *out_equal = are_equal(&u);
  return *out_equal ? replay_equality(d, &u) : EGRAPH_OK;
}

// ---- a rule ---------------------------------------------------------------------------

static void choose_axioms(derivation *d, uint32_t stage) {
  const eg_axioms *axioms = d->axioms;
  bool any_way = d->rule->math == EGRAPH_MATH_FAST || axioms->both_ways == NULL;
  for (uint32_t i = 0; i < eg_rules_count(axioms->rules); i++)
    d->is_used[i] = axioms->is_axiom[i] && (any_way || axioms->both_ways[i]) &&
                    (!stages[stage].is_filtered ||
                     eg_rule_is_over(d->rule, eg_rules_at(axioms->rules, i), true));
}

static egraph_status derive_kept(derivation *d) {
  eg_derivation_verdict *out = d->out;
  for (uint32_t i = 0; i < d->count; i++) {
    bool is_same = false, is_equal = false;
    for (uint32_t stage = 0; stage < STAGES && !is_same && !is_equal; stage++) {
      choose_axioms(d, stage);
      EG_TRY(derive_instance(d, &d->kept[i], stage, &is_same, &is_equal));
    }
    if (is_same) continue;
    if (!is_equal) {
      (void)snprintf(out->reason, sizeof out->reason,
                     "an instance does not follow from rules that are proved");
      return EGRAPH_OK;
    }
    out->instances++;
  }
  out->is_derived = out->instances > 0;
  if (!out->is_derived)
    (void)snprintf(
        out->reason, sizeof out->reason,
        "no instance is found with elements, and sides that are not the same terms");
  return EGRAPH_OK;
}

egraph_status eg_rule_derive(const eg_axioms *axioms, const eg_rule *rule,
                             egraph_allocator alloc, uint64_t seed,
                             eg_derivation_verdict *out, eg_text *names) {
  assert(axioms->rules != NULL && axioms->is_axiom != NULL);
  *out = (eg_derivation_verdict){.is_derived = false};
  eg_text_clear(names);
  if (rule->move_count != 0) {
    (void)snprintf(out->reason, sizeof out->reason, "it has parallel operators");
    return EGRAPH_OK;
  }
  EG_LOCAL(derivation, d, alloc);
  d.axioms = axioms;
  d.rule = rule;
  d.out = out;
  d.names = names;
  EG_NEW(&d.arena, eg_rules_count(axioms->rules), d.is_used);
  EG_TRY(draw_instances(&d, seed));
  return derive_kept(&d);
}
