// One rule after the other: draw, type, evaluate, compare, until enough instances agree
// or one does not.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/verify/verify.h"

#include "rewrites/claims/layout_check.h"
#include "rewrites/language/rule_class.h"
#include "rewrites/verify/verify_values.h"

// Of the instances that are wanted: how many are enough to judge, and draws for each.
enum { LEAST_SHARE = 12, DRAWS_PER_INSTANCE = 160 };

typedef struct verification {
  const eg_rule *rule;
  eg_verify_draws *draws;
  eg_verify_options options;
  uint32_t drawn, found, ill_typed, vacuous, equal, exact;
  uint32_t dtypes[EGRAPH_DTYPE_COUNT]; // instances
  egraph_math math;                    // found so far
  bool rejected;
  eg_text text; // the detail
} verification;

// ---- counterexamples ------------------------------------------------------------

static egraph_status print_value(eg_text *text, const eg_rule_value *value) {
  switch (value->kind) {
  case EG_RULE_INT:
  case EG_RULE_BOOL: return eg_text_printf(text, "%lld", (long long)value->i);
  case EG_RULE_FLOAT: return eg_text_double(text, value->f);
  case EG_RULE_SYMBOL:
  case EG_RULE_STRING: return eg_text_append(text, value->text);
  case EG_RULE_DTYPE: return eg_text_append(text, eg_dtype_name((egraph_dtype)value->i));
  case EG_RULE_INTS: break;
  case EG_RULE_FLOATS:
  case EG_RULE_TENSOR: return EGRAPH_OK;
  }
  EG_TRY(eg_text_append(text, "["));
  for (uint32_t i = 0; i < value->ints.len; i++)
    EG_TRY(eg_text_printf(text, "%s%lld", i == 0 ? "" : " ",
                          (long long)value->ints.data[i]));
  return eg_text_append(text, "]");
}

static egraph_status print_leaf(eg_text *text, const eg_verify_leaf *leaf) {
  EG_TRY(eg_type_print(text, &leaf->type));
  if (leaf->splat) {
    EG_TRY(eg_text_append(text, " all "));
    return eg_text_double(text, leaf->splat_value);
  }
  return eg_text_append(text, leaf->weight ? " weight" : "");
}

static egraph_status print_instance(eg_text *text, const eg_verify_instance *instance) {
  const eg_rule *rule = instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    if (rule->vars[i].origin != EG_RULE_VAR_MATCHED) continue;
    EG_TRY(eg_text_printf(text, "; %s ", rule->vars[i].name));
    if (rule->vars[i].kind == EG_RULE_TENSOR)
      EG_TRY(print_leaf(text, &instance->leaves[i]));
    else
      EG_TRY(print_value(text, &instance->env->vars[i]));
  }
  return EGRAPH_OK;
}

// ---- one instance ---------------------------------------------------------------

static egraph_status check_types(verification *run, const eg_verify_instance *instance) {
  const eg_rule *rule = run->rule;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    const eg_tensor_fact *left =
        eg_tensor_egraph_fact(instance->egraph, instance->classes[rule->lhs[i].term]);
    const eg_tensor_fact *right = instance->builder->terms[rule->rhs[i].term].fact;
    if (eg_tensor_fact_same_type(left, right)) continue;
    run->rejected = true;
    EG_TRY(eg_text_printf(&run->text, "result %u: the left side is ", i));
    EG_TRY(eg_tensor_fact_print(&run->text, left));
    EG_TRY(eg_text_append(&run->text, ", the right side "));
    return eg_tensor_fact_print(&run->text, right);
  }
  return EGRAPH_OK;
}

static void count(verification *run, const eg_verify_result *result) {
  run->vacuous += result->verdict == EG_VERIFY_VACUOUS;
  run->equal += result->verdict == EG_VERIFY_EQUAL;
  run->exact += result->verdict == EG_VERIFY_EXACT;
  run->dtypes[result->dtype] += result->verdict != EG_VERIFY_VACUOUS;
}

/// The text says what is different; a class that the rule does not declare is no mistake.
static egraph_status check_data(verification *run, const eg_verify_instance *instance,
                                eg_verify_data data) {
  static const char *const names[EG_VERIFY_DATA_COUNT] = {
      [EG_VERIFY_ORDINARY] = "on ordinary data: ",
      [EG_VERIFY_NOT_FINITE] = "on data with NaN or infinities: ",
      [EG_VERIFY_LARGE] = "on large data: ",
      [EG_VERIFY_EXTREME] = "at the ends of the range: "};
  eg_verify_result result;
  uint64_t seed = run->options.seed + UINT64_C(0x9e3779b9) * run->drawn;
  EG_TRY(eg_verify_compare(&run->text.chars.alloc, instance, data, seed, &result,
                           &run->text));
  if (data == EG_VERIFY_ORDINARY) count(run, &result);
  if (result.math > run->math) run->math = result.math;
  bool is_out = result.math > run->rule->math;
  run->rejected = is_out || result.verdict == EG_VERIFY_DIFFERENT;
  if (!run->rejected) {
    eg_text_clear(&run->text);
    return EGRAPH_OK;
  }
  eg_text where;
  eg_text_init(&where, run->text.chars.alloc);
  egraph_status status = eg_text_append(&where, eg_text_of(&run->text));
  eg_text_clear(&run->text);
  if (status == EGRAPH_OK && result.verdict != EG_VERIFY_DIFFERENT)
    status = eg_text_printf(
        &run->text, "its sides differ as only class %s allows, but it claims class %s, ",
        eg_rule_class_name(result.math), eg_rule_class_name(run->rule->math));
  if (status == EGRAPH_OK && data != EG_VERIFY_ORDINARY)
    status = eg_text_append(&run->text, names[data]);
  if (status == EGRAPH_OK) status = eg_text_append(&run->text, eg_text_of(&where));
  eg_text_deinit(&where);
  return status;
}

/// Ordinary data, and special data of one kind after the other.
static egraph_status check_values(verification *run, const eg_verify_instance *instance) {
  static const eg_verify_data special[] = {EG_VERIFY_NOT_FINITE, EG_VERIFY_EXTREME,
                                           EG_VERIFY_NOT_FINITE, EG_VERIFY_LARGE};
  EG_TRY(check_data(run, instance, EG_VERIFY_ORDINARY));
  if (run->rejected) return EGRAPH_OK;
  return check_data(run, instance, special[run->found % 4]);
}

static egraph_status verify_draw(verification *run) {
  bool found, typed;
  eg_verify_instance instance;
  EG_TRY(eg_verify_draw(run->draws, &found, &typed, &instance));
  run->drawn++;
  run->found += found;
  run->ill_typed += found && !typed;
  if (!found || !typed) return EGRAPH_OK;
  EG_TRY(check_types(run, &instance));
  if (!run->rejected) EG_TRY(check_values(run, &instance));
  return run->rejected ? print_instance(&run->text, &instance) : EGRAPH_OK;
}

// ---- one rule -------------------------------------------------------------------

static egraph_status print_acceptance(verification *run) {
  EG_TRY(eg_text_printf(&run->text, "%u instances, %u of them exact (",
                        run->equal + run->exact, run->exact));
  const char *comma = "";
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++) {
    if (run->dtypes[i] == 0) continue;
    EG_TRY(eg_text_printf(&run->text, "%s%u %s", comma, run->dtypes[i],
                          eg_dtype_name((egraph_dtype)i)));
    comma = ", ";
  }
  EG_TRY(eg_text_printf(&run->text, "); class %s", eg_rule_class_name(run->rule->math)));
  if (run->math == run->rule->math) return EGRAPH_OK;
  return eg_text_printf(&run->text, ", found %s", eg_rule_class_name(run->math));
}

static egraph_status judge(verification *run) {
  uint32_t accepted = run->equal + run->exact;
  if (run->rejected) return EGRAPH_OK;
  run->rejected = accepted == 0 || accepted < run->options.instances / LEAST_SHARE;
  if (!run->rejected) return print_acceptance(run);
  run->rejected = !run->options.is_loading;
  if (run->found == 0)
    return eg_text_printf(&run->text, "no instance found after %u draws", run->drawn);
  return eg_text_printf(&run->text,
                        "only %u instances found after %u draws (%u ill-typed on the "
                        "right, %u without a finite result)",
                        accepted, run->drawn, run->ill_typed, run->vacuous);
}

static egraph_status verify_rule(verification *run) {
  uint32_t wanted = run->options.instances;
  while (run->drawn < DRAWS_PER_INSTANCE * wanted && run->equal + run->exact < wanted &&
         !run->rejected)
    EG_TRY(verify_draw(run));
  return judge(run);
}

/// An implied rule has no values to compare: its sides are the same, or those of a rule
/// that is verified itself.
static egraph_status verify_layouts(verification *run, egraph_allocator alloc) {
  eg_layout_finding finding;
  EG_TRY(eg_layout_verify(&alloc, run->rule, run->options.seed, &run->text, &finding));
  run->rejected = !finding.holds;
  if (run->rejected || eg_rule_is_implied(run->rule)) return EGRAPH_OK;
  return eg_text_append(&run->text, ", ");
}

static egraph_status verify_values(verification *run, egraph_allocator alloc) {
  egraph_status status =
      eg_verify_draws_create(&alloc, run->rule, run->options.seed, &run->draws);
  if (status == EGRAPH_E_UNSUPPORTED) {
    run->rejected = !run->options.is_loading;
    return eg_text_append(&run->text, egraph_last_error());
  }
  EG_TRY(status);
  status = verify_rule(run);
  eg_verify_draws_destroy(run->draws);
  return status;
}

static egraph_status verify_one(verification *run, egraph_allocator alloc) {
  if (run->rule->move_count != 0) EG_TRY(verify_layouts(run, alloc));
  if (run->rejected || eg_rule_is_implied(run->rule)) return EGRAPH_OK;
  return verify_values(run, alloc);
}

egraph_status eg_rules_verify(const eg_rules *rules, const eg_verify_options *options,
                              eg_verify_report *report, void *user,
                              uint32_t *out_rejected) {
  egraph_allocator alloc = eg_rules_allocator(rules);
  egraph_status status = EGRAPH_OK;
  uint32_t rejected = 0, count = eg_rules_count(rules);
  uint32_t implied = options->is_loading ? 0 : eg_rules_implied_count(rules);
  for (uint32_t i = options->first; i < count + implied && status == EGRAPH_OK; i++) {
    verification run = {.options = *options, .math = EGRAPH_MATH_EXACT};
    run.rule = i < count ? eg_rules_at(rules, i) : eg_rules_implied_at(rules, i - count);
    eg_text_init(&run.text, alloc);
    status = verify_one(&run, alloc);
    if (status == EGRAPH_OK && report != NULL)
      report(user, run.rule->name, !run.rejected, eg_text_of(&run.text));
    rejected += run.rejected;
    eg_text_deinit(&run.text);
  }
  if (status == EGRAPH_OK && out_rejected != NULL) *out_rejected = rejected;
  return status;
}
