// An instance with many distinct sizes is good evidence, so the best of the drawn
// instances are kept. The rules that an instance needs are found by leaving other
// rules out.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/implied.h"

#include <assert.h>
#include <stdio.h>

#include "rewrites/lab/instances/instance_draw.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/saturation/saturate.h"
#include "rewrites/saturation/tensor_facts.h"

// The sides of a rule must be found equal on INSTANCES instances, and on more when a rule
// of the set is left out because of the result.
enum {
  DRAWS = 600,
  MOST_DRAWS = 20 * DRAWS,
  INSTANCES = 2,
  MOST_INSTANCES = 8,
  MAX_DISTINCT = 32,
  MAX_VARIABLES = 64,
  MAX_ROOTS = 16
};

/// Selects the rules that a stage may use: with operators of the tested rule only, also
/// with operators that split and join values, or with any operators.
typedef enum stage_filter {
  OWN_OPERATORS,
  RELATED_OPERATORS,
  ANY_OPERATORS
} stage_filter;

/// A stage of the test whether rules imply a rule: its rules and limits. Rules with
/// other operators seldom help and fill the e-graph, so they come later. Generated sets
/// are large.
typedef struct stage {
  bool is_exploring, is_of_sets;
  stage_filter filter;
  uint32_t node_limit, iteration_limit;
} stage;

static const stage stages[] = {{false, true, OWN_OPERATORS, 6000, 4},
                               {false, false, RELATED_OPERATORS, 4000, 10},
                               {false, false, ANY_OPERATORS, 3000, 8},
                               {true, false, RELATED_OPERATORS, 8000, 10},
                               {true, false, ANY_OPERATORS, 3000, 6}};
enum { STAGES = sizeof stages / sizeof *stages };

static const char *const implied_words[EG_IMPLIED_NOT] = {
#define IMPLIED_WORDS(id, words) [id] = words,
    EG_IMPLIED_LIST(IMPLIED_WORDS)
#undef IMPLIED_WORDS
};

const char *eg_implied_words(eg_implied how) {
  return how < EG_IMPLIED_NOT ? implied_words[how] : NULL;
}

EG_OWNER_DEFINE(eg_implied_checker, (eg_rules_own, rules), (eg_arena, arena))

egraph_status eg_implied_checker_load(eg_implied_checker *checker) {
  EG_TRY(eg_rules_create_checked(&checker->arena.alloc, &checker->rules));
  eg_rules *rules = checker->rules;
  EG_TRY(eg_rules_add_builtin(rules));
  uint32_t count = eg_rules_count(rules);
  EG_NEW(&checker->arena, count, checker->is_default);
  for (uint32_t i = 0; i < count; i++)
    checker->is_default[i] = eg_rules_at(rules, i)->enabled;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_rules_enable(rules, eg_rule_name(rules, i), true));
  return EGRAPH_OK;
}

egraph_status eg_implied_checker_copy(eg_implied_checker *checker,
                                      const eg_rules *rules) {
  checker->is_alone = true;
  EG_TRY(eg_rules_copy_all_on(rules, checker->arena.alloc, &checker->rules));
  uint32_t count = eg_rules_count(checker->rules);
  EG_NEW(&checker->arena, count, checker->is_default);
  for (uint32_t i = 0; i < count; i++)
    checker->is_default[i] = true;
  return EGRAPH_OK;
}

// ---- instances ------------------------------------------------------------------------

/// An instance of the tested rule: its tensors and the values of its other variables.
typedef struct sample {
  uint32_t merit;
  eg_verify_leaf *leaves; // [var_count]
  eg_attrs *attrs;        // [pattern_term_count] set for operators
  eg_rule_value *values;  // [var_count]
} sample;

typedef struct check {
  const eg_implied_checker *checker;
  const eg_rule *rule;
  eg_arena arena;
  sample samples[MOST_INSTANCES];
  uint32_t sample_count, most; // numbers of samples, and of samples wanted
  bool is_kernel[MAX_VARIABLES];
  const stage *stage;
  bool *is_used;            // [rules] rules that may be used
  eg_rule_value *vars;      // [var_count] of the current trial
  eg_rule_scratch *scratch; // memory of the current trial
} check;

EG_OWNER_DEFINE_STATIC(check, (eg_arena, arena))

/// Marks variables of the rule from which the left side computes kernels of convolutions.
static void mark_kernels(check *c) {
  const eg_rule *rule = c->rule;
  for (uint32_t i = rule->pattern_term_count; i-- > 0;) {
    const eg_rule_term *term = &rule->terms[i];
    if (term->is_var || term->op != EG_OP_CONV || term->child_count < 2) continue;
    // Children precede their parents: terms below the kernel are marked on the way.
    bool below[256] = {false};
    if (i >= 256) continue;
    below[term->children[1]] = true;
    for (uint32_t k = i; k-- > 0;) {
      const eg_rule_term *part = &rule->terms[k];
      if (!below[k]) continue;
      if (part->is_var) c->is_kernel[part->var] = true;
      for (uint32_t n = 0; !part->is_var && n < part->child_count; n++)
        below[part->children[n]] = true;
    }
  }
}

/// Returns how good an instance is as evidence: the number of distinct sizes above 1 of
/// its float64 tensors, plus one if it has any. Instances of other types are worse; they
/// serve rules without float64. 0 when a tensor is empty.
static uint32_t merit_of(const eg_verify_instance *instance) {
  const eg_rule *rule = instance->rule;
  int64_t sizes[MAX_DISTINCT];
  uint32_t count = 0;
  bool is_ordinary = true;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    const eg_verify_leaf *leaf = &instance->leaves[i];
    if (!eg_verify_is_leaf(rule, i)) continue;
    is_ordinary = is_ordinary && leaf->type.dtype == EGRAPH_FLOAT64;
    for (uint32_t d = 0; d < leaf->type.rank; d++) {
      uint32_t at = 0;
      if (leaf->type.dims[d] == 0) return 0;
      while (at < count && sizes[at] != leaf->type.dims[d])
        at++;
      if (at == count && count < MAX_DISTINCT && leaf->type.dims[d] > 1)
        sizes[count++] = leaf->type.dims[d];
    }
  }
  return is_ordinary ? 2 + count : 1;
}

static egraph_status keep_value(check *c, const eg_rule_value *from, eg_rule_value *to) {
  *to = *from;
  if (from->kind != EG_RULE_INTS || from->ints.len == 0) return EGRAPH_OK;
  int64_t *data;
  EG_NEW(&c->arena, from->ints.len, data);
  memcpy(data, from->ints.data, from->ints.len * sizeof *data);
  to->ints.data = data;
  return EGRAPH_OK;
}

/// Copies the attributes of an instance's operator, also those that the pattern leaves
/// open (`_`).
static egraph_status keep_attrs(check *c, const eg_attrs *from, eg_attrs *to) {
  eg_attr *slots;
  EG_NEW(&c->arena, from->count, slots);
  for (uint16_t i = 0; i < from->count; i++)
    EG_TRY(eg_attr_copy(&c->arena, &from->slots[i], &slots[i]));
  *to = (eg_attrs){.op = from->op, .count = from->count, .slots = slots};
  return EGRAPH_OK;
}

static egraph_status keep_sample(check *c, const eg_verify_instance *instance,
                                 uint32_t merit, sample *to) {
  uint32_t count = c->rule->var_count;
  EG_NEW(&c->arena, count, to->leaves);
  EG_NEW(&c->arena, count, to->values);
  EG_NEW(&c->arena, c->rule->pattern_term_count, to->attrs);
  to->merit = merit;
  for (uint32_t i = 0; i < c->rule->pattern_term_count; i++)
    if (!c->rule->terms[i].is_var)
      EG_TRY(keep_attrs(c, instance->attrs[i], &to->attrs[i]));
  for (uint32_t i = 0; i < count; i++) {
    to->leaves[i] = instance->leaves[i];
    if (c->rule->vars[i].kind != EG_RULE_TENSOR)
      EG_TRY(keep_value(c, &instance->env->vars[i], &to->values[i]));
  }
  return EGRAPH_OK;
}

/// Inserts an instance into the list of the best instances, in order.
static egraph_status offer_sample(check *c, const eg_verify_instance *instance) {
  uint32_t merit = merit_of(instance), at = c->sample_count;
  while (at > 0 && c->samples[at - 1].merit < merit)
    at--;
  if (merit == 0 || at == c->most) return EGRAPH_OK;
  for (uint32_t i = c->most - 1; i > at; i--)
    c->samples[i] = c->samples[i - 1];
  if (c->sample_count < c->most) c->sample_count++;
  return keep_sample(c, instance, merit, &c->samples[at]);
}

static egraph_status draw_samples(check *c) {
  EG_LOCAL(eg_verify_draws_own, draws, c->arena.alloc);
  egraph_status status = eg_verify_draws_create(&c->arena.alloc, c->rule, 1, &draws);
  if (status == EGRAPH_E_UNSUPPORTED) return EGRAPH_OK; // too many variables
  EG_TRY(status);
  for (uint32_t i = 0; i < MOST_DRAWS; i++) {
    if (i >= DRAWS && c->sample_count == c->most) break;
    bool found, typed;
    eg_verify_instance instance;
    EG_TRY(eg_verify_draw(draws, &found, &typed, &instance));
    if (found && typed) EG_TRY(offer_sample(c, &instance));
  }
  return EGRAPH_OK;
}

// ---- one e-graph ----------------------------------------------------------------------

typedef struct trial {
  check *check;
  const sample *sample;
  eg_graph_own graph;
  eg_tensor_egraph_own egraph;
  eg_rule_env env;
  eg_rule_builder builder;
  eg_class roots[2][MAX_ROOTS];
  bool *was_useful; // [rules] rules that changed the e-graph; NULL: not recorded
} trial;
EG_OWNER_DEFINE_STATIC(trial, (eg_rule_builder, builder), (eg_tensor_egraph_own, egraph),
                       (eg_graph_own, graph))

static egraph_status declare_leaves(trial *t) {
  const eg_rule *rule = t->check->rule;
  EG_TRY(eg_graph_create(&t->check->arena.alloc, &t->graph));
  for (uint32_t i = 0; i < rule->var_count; i++) {
    eg_value value;
    const char *name = rule->vars[i].name + 1;
    if (!eg_verify_is_leaf(rule, i)) continue;
    const eg_verify_leaf *leaf = &t->sample->leaves[i];
    if (leaf->splat)
      EG_TRY(eg_graph_add_splat(t->graph, name, &leaf->type, leaf->splat_value, &value));
    else
      EG_TRY(t->check->is_kernel[i] || leaf->constant
                 ? eg_graph_add_weight(t->graph, name, &leaf->type, NULL, &value)
                 : eg_graph_add_input(t->graph, name, &leaf->type, &value));
  }
  return EGRAPH_OK;
}

static egraph_status build_instance(trial *t) {
  const eg_rule *rule = t->check->rule;
  uint32_t seen = 0;
  EG_TRY(declare_leaves(t));
  EG_TRY(eg_tensor_egraph_create(&t->check->arena.alloc, t->graph, &t->egraph));
  EG_TRY(eg_rule_builder_reserve(&t->builder, rule));
  t->env = (eg_rule_env){.egraph = t->egraph,
                         .rule = rule,
                         .vars = t->check->vars,
                         .scratch = t->check->scratch};
  for (uint32_t i = 0; i < rule->var_count; i++) {
    t->env.vars[i] = t->sample->values[i];
    if (!eg_verify_is_leaf(rule, i)) continue;
    eg_value value = {.id = seen++}; // values have the order in which they were added
    t->env.vars[i] = (eg_rule_value){
        .kind = EG_RULE_TENSOR, .tensor = eg_tensor_egraph_value_class(t->egraph, value)};
  }
  return EGRAPH_OK;
}

/// Updates facts and classes of the right side's terms: facts move when nodes are added,
/// and saturation unites classes.
static void refresh(trial *t, uint32_t end) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(t->egraph);
  for (uint32_t i = 0; i < end; i++) {
    eg_built_term *built = &t->builder.terms[i];
    built->class = eg_engine_find(engine, built->class);
    built->fact = eg_tensor_egraph_fact(t->egraph, built->class);
  }
}

/// Adds the left side of the instance to the e-graph; names then refer to classes.
static egraph_status add_left(trial *t) {
  const eg_rule *rule = t->check->rule;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    eg_built_term *built = &t->builder.terms[i];
    if (term->is_var) {
      built->class = t->env.vars[term->var].tensor;
      continue;
    }
    for (uint32_t k = 0; k < term->child_count; k++)
      t->builder.classes[k] = t->builder.terms[term->children[k]].class;
    EG_TRY(eg_tensor_egraph_add(t->egraph, &t->sample->attrs[i], t->builder.classes,
                                term->child_count, EG_REASON_SEED, &built->class));
    if (term->var != EG_RULE_NONE)
      t->env.vars[term->var] =
          (eg_rule_value){.kind = EG_RULE_TENSOR, .tensor = built->class};
  }
  return EGRAPH_OK;
}

/// Adds terms [first, end) of the right side to the e-graph, one by one.
static egraph_status add_right_terms(trial *t, uint32_t first, uint32_t end,
                                     bool *out_ok) {
  const eg_rule *rule = t->check->rule;
  *out_ok = true;
  for (uint32_t i = first; i < end && *out_ok; i++) {
    uint32_t missing;
    t->env.scratch->int_count = 0;
    t->env.scratch->value_count = 0;
    refresh(t, i);
    EG_TRY(eg_rule_plan(&t->builder, &t->env, t->egraph, i, i + 1, out_ok, &missing));
    if (!*out_ok) return EGRAPH_OK;
    EG_TRY(eg_rule_commit(&t->builder, rule, t->egraph, i, i + 1, EG_REASON_SEED));
  }
  return EGRAPH_OK;
}

static void note_roots(trial *t, const eg_rule_root *roots, eg_class *out) {
  for (uint32_t i = 0; i < t->check->rule->root_count; i++)
    out[i] = t->builder.terms[roots[i].term].class;
}

static bool are_equal(const trial *t) {
  for (uint32_t i = 0; i < t->check->rule->root_count; i++)
    if (!eg_are_united(t->egraph, t->roots[0][i], t->roots[1][i])) return false;
  return true;
}

static bool uses_rule(void *user, uint32_t rule) { return ((bool *)user)[rule]; }

static egraph_status saturate_trial(trial *t) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.node_limit = t->check->stage->node_limit;
  options.iteration_limit = t->check->stage->iteration_limit;
  options.time_limit_seconds = 600; // limits independent of the machine end it first
  options.math = EGRAPH_MATH_FAST;
  options.use_rule = uses_rule;
  options.use_rule_user = t->check->is_used;
  eg_saturation_report report;
  egraph_status status =
      eg_saturate(t->egraph, t->check->checker->rules, &options, &report);
  for (uint32_t i = 0; t->was_useful != NULL && i < report.rule_count; i++)
    if (report.rules[i].nodes != 0 || report.rules[i].unions != 0)
      t->was_useful[i] = true;
  eg_saturation_report_deinit(&report);
  return status;
}

/// Saturates the e-graph of one instance. *out_level: 0 when rewriting the left side
/// reaches the right side, 1 when both sides meet, 2 otherwise.
static egraph_status run_trial(trial *t, uint32_t most, uint32_t *out_level) {
  const eg_rule *rule = t->check->rule;
  bool ok;
  *out_level = 2;
  EG_TRY(build_instance(t));
  EG_TRY(add_left(t));
  note_roots(t, rule->lhs, t->roots[0]);
  EG_TRY(saturate_trial(t));
  EG_TRY(add_right_terms(t, rule->pattern_term_count, rule->term_count, &ok));
  if (!ok) return EGRAPH_OK;
  note_roots(t, rule->rhs, t->roots[1]);
  if (are_equal(t)) *out_level = 0;
  if (*out_level == 0 || most == 0) return EGRAPH_OK;
  EG_TRY(saturate_trial(t));
  if (are_equal(t)) *out_level = 1;
  return EGRAPH_OK;
}

static egraph_status try_sample(check *c, const sample *s, uint32_t most,
                                bool *was_useful, uint32_t *out_level) {
  EG_LOCAL(trial, t, c->arena.alloc);
  t.check = c;
  t.sample = s;
  t.was_useful = was_useful;
  egraph_status status = run_trial(&t, most, out_level);
  if (status != EGRAPH_E_TYPE) return status;
  *out_level = 2; // a limit of attributes, or a rule does not fit
  return EGRAPH_OK;
}

// ---- which rules ----------------------------------------------------------------------

/// Tests all instances; *out_level is the worst level of run_trial.
static egraph_status try_samples(check *c, uint32_t *out_level) {
  *out_level = c->sample_count == 0 ? 2 : 0;
  for (uint32_t i = 0; i < c->sample_count && *out_level < 2; i++) {
    uint32_t level;
    EG_TRY(try_sample(c, &c->samples[i], 1, NULL, &level));
    if (level > *out_level) *out_level = level;
  }
  return EGRAPH_OK;
}

/// Removes rules [first, end) from the list if the sides of the first instance are still
/// found equal without them.
static egraph_status leave_out(check *c, uint32_t level, eg_u32s *list, size_t first,
                               size_t end) {
  uint32_t reached;
  for (size_t i = first; i < end; i++)
    c->is_used[list->data[i]] = false;
  EG_TRY(try_sample(c, &c->samples[0], level, NULL, &reached));
  if (reached > level) {
    for (size_t i = first; i < end; i++)
      c->is_used[list->data[i]] = true;
    return EGRAPH_OK;
  }
  memmove(list->data + first, list->data + end, (list->len - end) * sizeof *list->data);
  list->len -= end - first;
  return EGRAPH_OK;
}

/// Tries to remove halves of the list first, then quarters, and so on, because few of the
/// useful rules are needed.
static egraph_status leave_out_all(check *c, uint32_t level, eg_u32s *list) {
  for (size_t size = (list->len + 1) / 2; size >= 1; size /= 2)
    for (size_t end = list->len; end > 0;) {
      size_t first = end > size ? end - size : 0;
      EG_TRY(leave_out(c, level, list, first, end));
      end = first;
    }
  return EGRAPH_OK;
}

static egraph_status list_useful(check *c, uint32_t level, eg_u32s *list) {
  uint32_t count = eg_rules_count(c->checker->rules), reached;
  bool *useful;
  EG_NEW(&c->arena, count, useful);
  EG_TRY(try_sample(c, &c->samples[0], level, useful, &reached));
  for (uint32_t i = 0; i < count; i++) {
    c->is_used[i] = c->is_used[i] && useful[i];
    if (c->is_used[i]) EG_TRY(eg_u32s_push(list, i));
  }
  return EGRAPH_OK;
}

/// Appends the names of a minimal set of rules that make the sides equal.
static egraph_status name_rules(check *c, uint32_t level, eg_text *names) {
  EG_LOCAL(eg_u32s, list, c->arena.alloc);
  EG_TRY(list_useful(c, level, &list));
  EG_TRY(leave_out_all(c, level, &list));
  for (size_t i = 0; i < list.len; i++)
    eg_text_printf(names, "%s%s", i == 0 ? "" : ", ",
                   eg_rule_name(c->checker->rules, list.data[i]));
  return eg_text_status(names);
}

static void choose_rules(check *c, const stage *s) {
  const eg_rules *rules = c->checker->rules;
  c->stage = s;
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    c->is_used[i] = (s->is_exploring || c->checker->is_default[i]) &&
                    (s->filter == ANY_OPERATORS ||
                     eg_rule_is_over(c->rule, rule, s->filter == RELATED_OPERATORS));
  }
}

egraph_status eg_implied_check(const eg_implied_checker *checker, const eg_rule *rule,
                               eg_implied *out, eg_text *names) {
  uint32_t count = eg_rules_count(checker->rules), level;
  assert(checker->rules != NULL);
  *out = EG_IMPLIED_NOT;
  eg_text_clear(names);
  if (rule->var_count > MAX_VARIABLES || rule->root_count > MAX_ROOTS) return EGRAPH_OK;
  EG_LOCAL(check, c, checker->arena.alloc);
  c.checker = checker;
  c.rule = rule;
  c.most = checker->is_alone ? MOST_INSTANCES : INSTANCES;
  mark_kernels(&c);
  EG_NEW(&c.arena, count, c.is_used);
  EG_NEW(&c.arena, rule->var_count, c.vars);
  EG_NEW(&c.arena, 1, c.scratch);
  EG_TRY(draw_samples(&c));
  for (uint32_t i = 0; i < STAGES; i++) {
    if (checker->is_alone ? stages[i].is_exploring : stages[i].is_of_sets) continue;
    choose_rules(&c, &stages[i]);
    EG_TRY(try_samples(&c, &level));
    if (level == 2) continue;
    *out = (eg_implied)(2 * stages[i].is_exploring + level);
    return name_rules(&c, level, names);
  }
  return EGRAPH_OK;
}
