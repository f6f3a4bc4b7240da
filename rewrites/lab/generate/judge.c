// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/judge.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/saturation/saturate.h"
#include "rewrites/saturation/tensor_facts.h"

// ---- implied --------------------------------------------------------------------

EG_VEC_DEFINE(value_vec, eg_value);

/// A graph with both sides of drafts over the leaves of their family.
typedef struct side_graph {
  eg_graph_own graph;
  const eg_term_space *space;
  eg_u32s terms; // terms that have a value in the graph
  value_vec values;
} side_graph;

EG_OWNER_DEFINE_STATIC(side_graph, (eg_graph_own, graph), (eg_u32s, terms),
                       (value_vec, values))

static egraph_status add_leaves(side_graph *g) {
  const eg_family *family = eg_term_space_family(g->space);
  for (uint32_t i = 0; i < family->leaf_count; i++) {
    const eg_family_leaf *leaf = &family->leaves[i];
    eg_value value;
    if (leaf->is_constant)
      EG_TRY(eg_graph_add_splat(g->graph, leaf->name, &leaf->type, leaf->number, &value));
    else
      EG_TRY(leaf->is_weight
                 ? eg_graph_add_weight(g->graph, leaf->name, &leaf->type, NULL, &value)
                 : eg_graph_add_input(g->graph, leaf->name, &leaf->type, &value));
    EG_TRY(eg_u32s_push(&g->terms, i)); // leaves are the first terms of the space
    EG_TRY(value_vec_push(&g->values, value));
  }
  return EGRAPH_OK;
}

static egraph_status add_side_term(side_graph *g, uint32_t id, eg_value *out);

// Adds the nodes of a term. The recursion is at most EG_TERM_MAX_SIZE deep.
static egraph_status add_side_operator(side_graph *g, const eg_space_term *term,
                                       eg_value *out) {
  const eg_variant *v = eg_term_space_variant(g->space, term->variant);
  const eg_attrs *attrs = &eg_term_space_family(g->space)->templates[v->template].attrs;
  eg_value inputs[EG_FIELD_MAX_OPERANDS], results[16];
  if (eg_op_results(attrs) > sizeof results / sizeof *results)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "an operator of more than 16 results");
  for (uint32_t i = 0; i < v->operand_count; i++)
    EG_TRY(add_side_term(g, eg_variant_operand(v, i, term->a, term->b), &inputs[i]));
  EG_TRY(
      eg_graph_add_node(g->graph, NULL, attrs, inputs, v->operand_count, NULL, results));
  *out = results[v->result];
  return EGRAPH_OK;
}

static egraph_status add_side_term(side_graph *g, uint32_t id, eg_value *out) {
  for (size_t i = 0; i < g->terms.len; i++)
    if (g->terms.data[i] == id) {
      *out = g->values.data[i];
      return EGRAPH_OK;
    }
  EG_TRY(add_side_operator(g, eg_term_space_at(g->space, id), out));
  EG_TRY(eg_u32s_push(&g->terms, id));
  return value_vec_push(&g->values, *out);
}

static egraph_status add_side(side_graph *g, eg_term_code code) {
  eg_space_term term;
  eg_value value;
  if (!eg_term_space_decode(g->space, code, &term))
    return EG_FAIL(EGRAPH_E_INTERNAL, "a draft of terms that are not there");
  EG_TRY(code >> 52 == 0xfff ? add_side_term(g, (uint32_t)code, &value)
                             : add_side_operator(g, &term, &value));
  char name[32];
  (void)snprintf(name, sizeof name, "side%u", (unsigned)eg_graph_output_count(g->graph));
  return eg_graph_add_output(g->graph, name, value);
}

static egraph_status compare_sides(side_graph *g, const eg_rules *rules,
                                   const eg_judge_options *options, uint32_t count,
                                   bool *out_implied) {
  egraph_allocator alloc = eg_graph_allocator(g->graph);
  EG_LOCAL(eg_tensor_egraph_own, egraph, alloc);
  EG_TRY(eg_tensor_egraph_create(&alloc, g->graph, &egraph));
  eg_saturation_options limits = EG_SATURATION_OPTIONS_DEFAULT;
  limits.iteration_limit = options->iterations;
  limits.node_limit = options->nodes_of_a_pair * count;
  limits.time_limit_seconds = 3600; // the other limits end it: results are reproducible
  limits.math = options->math;
  eg_saturation_report report;
  egraph_status status = eg_saturate(egraph, rules, &limits, &report);
  eg_saturation_report_deinit(&report);
  EG_TRY(status);
  for (uint32_t i = 0; i < count; i++)
    out_implied[i] = eg_are_united(egraph, eg_tensor_egraph_root(egraph, 2 * i),
                                   eg_tensor_egraph_root(egraph, 2 * i + 1));
  return EGRAPH_OK;
}

egraph_status eg_judge_implied(const eg_rules *rules, const eg_judge_options *options,
                               const eg_draft *const *drafts, uint32_t count,
                               bool *out_implied) {
  if (count == 0) return EGRAPH_OK;
  egraph_allocator alloc = eg_rules_allocator(rules);
  EG_LOCAL(side_graph, g, alloc);
  g.space = drafts[0]->space;
  EG_TRY(eg_graph_create(&alloc, &g.graph));
  EG_TRY(add_leaves(&g));
  for (uint32_t i = 0; i < count; i++) {
    assert(drafts[i]->space == g.space);
    EG_TRY(add_side(&g, drafts[i]->left));
    EG_TRY(add_side(&g, drafts[i]->right));
  }
  return compare_sides(&g, rules, options, count, out_implied);
}

// ---- accepted -------------------------------------------------------------------

egraph_status eg_judge_read(const eg_draft *draft, eg_rules **out) {
  EG_LOCAL(eg_text, text, eg_allocator_heap());
  *out = NULL;
  eg_text_append(&text, "(egraph-rules 1)\n");
  EG_TRY(eg_draft_print(draft, "draft", "draft", &text));
  return eg_rules_try_text(eg_allocator_heap(), "draft.rules", &text, out);
}

/// Sets *out to true when the verifier accepts the rule of the draft; false for a text
/// that it cannot read.
static egraph_status is_accepted(const eg_verify_options *how, const eg_draft *draft,
                                 bool *out) {
  EG_LOCAL(eg_rules_own, rules, eg_allocator_heap());
  uint32_t rejected = 0;
  *out = false;
  EG_TRY(eg_judge_read(draft, &rules));
  if (rules == NULL) return EGRAPH_OK;
  EG_TRY(eg_rules_verify(rules, how, NULL, NULL, &rejected));
  *out = rejected == 0;
  return EGRAPH_OK;
}

enum { MAX_TRIES = 48, CONFIRMATIONS = 3 };

egraph_status eg_judge_may_hold(const eg_judge_options *options, const eg_draft *draft,
                                bool *out) {
  const eg_verify_options few = {
      .seed = options->seed, .instances = EG_VERIFY_LOAD_INSTANCES, .is_loading = true};
  return is_accepted(&few, draft, out);
}

egraph_status eg_judge_accepts(const eg_judge_options *options, const eg_draft *draft,
                               bool *out_accepted) {
  const eg_verify_options all = {
      .seed = options->seed, .instances = options->instances, .is_loading = true};
  EG_TRY(eg_judge_may_hold(options, draft, out_accepted));
  return *out_accepted ? is_accepted(&all, draft, out_accepted) : EGRAPH_OK;
}

/// The texts of rejected drafts, as hashes: another guard may give the same text.
typedef struct tries {
  const eg_judge_options *options;
  uint64_t refused[MAX_TRIES];
  uint32_t count;
} tries;

static egraph_status try_draft(tries *t, eg_draft *draft, eg_guard guard, uint32_t lifted,
                               bool *out_accepted) {
  EG_LOCAL(eg_text, text, eg_allocator_heap());
  draft->guard = guard;
  draft->lifted = lifted;
  *out_accepted = false;
  EG_TRY(eg_draft_print(draft, "draft", "draft", &text));
  uint64_t hash = eg_hash_bytes(0, text.chars.data, text.chars.len);
  for (uint32_t i = 0; i < t->count; i++)
    if (t->refused[i] == hash) return EGRAPH_OK;
  EG_TRY(eg_judge_may_hold(t->options, draft, out_accepted));
  if (!*out_accepted && t->count < MAX_TRIES) t->refused[t->count++] = hash;
  return EGRAPH_OK;
}

/// Finds a guard under which the draft passes with all attribute values fixed: first the
/// ranks of the instance, then stronger guards.
static egraph_status find_passing_guard(tries *t, eg_draft *draft, bool *out_accepted) {
  static const eg_guard ORDER[] = {EG_GUARD_RANK, EG_GUARD_RANK_FLOAT,
                                   EG_GUARD_RANK_SAME_SHAPE, EG_GUARD_KERNEL};
  *out_accepted = false;
  for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER && !*out_accepted; i++) {
    EG_TRY(try_draft(t, draft, ORDER[i], 0, out_accepted));
    if (*out_accepted) EG_TRY(eg_judge_accepts(t->options, draft, out_accepted));
  }
  return EGRAPH_OK;
}

/// Replaces attribute values of a passing draft by variables, then tries weaker guards.
static egraph_status loosen(tries *t, eg_draft *draft) {
  static const eg_guard ORDER[] = {EG_GUARD_NONE, EG_GUARD_FLOAT, EG_GUARD_BROADCASTS,
                                   EG_GUARD_BROADCASTS_FLOAT, EG_GUARD_SAME_SHAPE};
  eg_guard guard = draft->guard;
  uint32_t lifted = 0;
  bool accepted;
  for (uint32_t i = 0; i < draft->group_count; i++) {
    if (draft->groups[i].is_default) continue;
    EG_TRY(try_draft(t, draft, guard, lifted | 1u << i, &accepted));
    if (accepted) lifted |= 1u << i;
  }
  for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER; i++) {
    EG_TRY(try_draft(t, draft, ORDER[i], lifted, &accepted));
    if (accepted) return EGRAPH_OK;
  }
  draft->guard = guard;
  draft->lifted = lifted;
  return EGRAPH_OK;
}

/// Verifies a rule with further seeds, each on instances of every class: another seed
/// refutes 1 to 2 % of the rules that pass one seed.
static egraph_status confirm(const eg_judge_options *options, const eg_draft *draft,
                             bool *out) {
  *out = true;
  for (uint64_t i = 1; i <= CONFIRMATIONS && *out; i++) {
    const eg_verify_options thorough = {.seed = options->seed + i,
                                        .instances = EG_VERIFY_INSTANCES};
    EG_TRY(is_accepted(&thorough, draft, out));
  }
  return EGRAPH_OK;
}

egraph_status eg_judge_settle(const eg_judge_options *options, eg_draft *draft,
                              bool *out_accepted) {
  static const char *const CLASSES[] = {"exact", "associative", "associative spreads",
                                        "fast"};
  bool can_turn = eg_draft_can_turn(draft);
  *out_accepted = false;
  for (int turned = can_turn ? 1 : 0; turned >= 0 && !*out_accepted; turned--)
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES && !*out_accepted; i++) {
      draft->both_ways = turned != 0;
      draft->class_text = CLASSES[i];
      EG_TRY(confirm(options, draft, out_accepted));
    }
  return EGRAPH_OK;
}

/// Replaces default attribute values by variables: all that few instances do not refute,
/// or those that the verifier accepts one by one, or none.
static egraph_status lift_defaults(const eg_judge_options *options, eg_draft *draft,
                                   eg_lift_care care) {
  bool can_turn = eg_draft_can_turn(draft), holds; // a rule that can be turned stays so
  for (uint32_t i = 0; i < draft->group_count && care != EG_LIFT_NOTHING; i++) {
    const eg_draft_group *group = &draft->groups[i];
    if (!group->is_default || (can_turn && !group->on_right)) continue;
    draft->lifted |= 1u << i;
    EG_TRY(care == EG_LIFT_ACCEPTED ? eg_judge_accepts(options, draft, &holds)
                                    : eg_judge_may_hold(options, draft, &holds));
    if (!holds) draft->lifted &= ~(1u << i);
  }
  return EGRAPH_OK;
}

static egraph_status lift_and_settle(const eg_judge_options *options, eg_draft *draft,
                                     bool *out_accepted) {
  const eg_draft before = *draft;
  *out_accepted = false;
  for (int care = 0; care <= EG_LIFT_NOTHING && !*out_accepted; care++) {
    *draft = before;
    EG_TRY(lift_defaults(options, draft, (eg_lift_care)care));
    if (care != EG_LIFT_NOTHING && draft->lifted == before.lifted) continue;
    EG_TRY(eg_judge_settle(options, draft, out_accepted));
  }
  return EGRAPH_OK;
}

egraph_status eg_judge_generalize(const eg_judge_options *options, eg_draft *draft,
                                  bool *out_accepted) {
  EG_TRY(eg_draft_list_groups(draft));
  draft->class_text = "fast";
  draft->lifted = eg_draft_groups_of(draft, false);
  EG_TRY(eg_judge_accepts(options, draft, out_accepted));
  return *out_accepted ? lift_and_settle(options, draft, out_accepted) : EGRAPH_OK;
}

egraph_status eg_judge_guard(const eg_judge_options *options, eg_draft *draft,
                             bool *out_accepted) {
  tries t = {.options = options};
  EG_TRY(eg_draft_list_groups(draft));
  draft->class_text = "fast";
  draft->both_ways = false;
  EG_TRY(find_passing_guard(&t, draft, out_accepted));
  if (!*out_accepted) return EGRAPH_OK;
  eg_draft narrow = *draft; // kept in case the looser draft fails
  EG_TRY(loosen(&t, draft));
  EG_TRY(lift_and_settle(options, draft, out_accepted));
  if (*out_accepted) return EGRAPH_OK;
  *draft = narrow;
  return lift_and_settle(options, draft, out_accepted);
}
