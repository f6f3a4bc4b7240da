// Verifies one rule after the other: draws an instance, types and evaluates it with the
// reference kernels, and compares both sides, until enough instances agree or one does
// not. The first draws are random; later ones are steered to each class of instances of
// which the rule still lacks some.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/verify/verify.h"

#include <assert.h>
#include <inttypes.h>

#include "base/hash.h"
#include "onnx/sets/versions.h"
#include "rewrites/lab/claims/layout_check.h"
#include "rewrites/lab/verify/compare.h"
#include "rewrites/lab/verify/coverage.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/language/rules.h"

// A rule is judged if 1/LEAST_SHARE of the requested instances were found, in at most
// DRAWS_PER_INSTANCE draws for each. Cases with many operands, whose draws are slow, use
// the two LARGE_ values.
enum {
  LEAST_SHARE = 12,
  DRAWS_PER_INSTANCE = 160,
  LARGE_INSTANCES = 20,
  LARGE_DRAWS_PER_INSTANCE = 16
};

/// For each kind of class of instances: the instances to compare, and draws to find them.
/// Attributes depend on each other more than dimensions and types do.
typedef struct effort {
  uint32_t instances, draws;
} effort;
static const effort efforts[] = {
    [EG_INSTANCE_ATTR] = {64, 192},     [EG_INSTANCE_KERNEL] = {8, 64},
    [EG_INSTANCE_OPERANDS] = {32, 160}, [EG_INSTANCE_DIMS] = {20, 80},
    [EG_INSTANCE_RANK] = {8, 64},       [EG_INSTANCE_VALUE] = {8, 64},
    [EG_INSTANCE_WAY] = {24, 96},       [EG_INSTANCE_NAMED] = {20, 80},
    [EG_INSTANCE_BETWEEN] = {20, 80},   [EG_INSTANCE_SPECIAL] = {20, 80},
    [EG_INSTANCE_DTYPE] = {8, 64}};
/// For a rule that is loaded; for classes that are large, or that other classes cover.
static const effort loading = {1, 3}, reduced = {12, 48};
// The number of draws after which a class of instances is given up: more for operands
// that depend on each other and for special constants, which are rare; fewer for ranks,
// which a draw hits at once; very few for classes that conditions are known to exclude.
enum { HOPELESS = 24, HOPELESS_OPERANDS = 80, HOPELESS_RANK = 12, HOPELESS_EXCLUDED = 2 };

typedef struct verification {
  const eg_rule *rule;
  eg_rule as_claimed; // the rule with the class that is verified
  eg_verify_draws_own draws;
  eg_arena arena; // memory of a comparison
  eg_verify_options options;
  uint32_t drawn, found, ill_typed, equal, exact;
  uint32_t near; // number of evaluations with data near the numbers of the rule
  bool is_large_case;
  // Numbers of instances in which no value could be compared, and of those that are
  // too large.
  uint32_t vacuous, large;
  uint32_t dtypes[EGRAPH_DTYPE_COUNT]; // numbers of instances
  uint32_t largest_rank;               // largest rank of operands that were compared
  int64_t largest_dim;
  egraph_math math; // class found so far
  eg_coverage coverage;
  eg_rank_evidence ranks; // results for rules with parallel operators
  eg_text layouts;        // results for their layouts
  bool rejected;
  bool is_of_other_class;     // rejected only because of the declared class
  bool is_unseen;             // rejected because there were too few instances
  eg_text text;               // detail of the report
  eg_verify_witness *witness; // receives instances, which then reject nothing; NULL: none
  void *user;
} verification;

#define OWNED                                                                            \
  (eg_coverage, coverage), (eg_arena, arena), (eg_verify_draws_own, draws),              \
      (eg_text, text, layouts, ranks.no_backward)

static void verification_init(verification *run, egraph_allocator alloc) {
  *run = (verification){.math = EGRAPH_MATH_EXACT};
  EG_INIT_MEMBERS(run, alloc, OWNED)
}

static void verification_deinit(verification *run) { EG_DEINIT_MEMBERS(run, OWNED) }

// ---- counterexamples ------------------------------------------------------------

static void print_value(eg_text *text, const eg_rule_value *value) {
  const char *separator = "[";
  switch (value->kind) {
  case EG_RULE_INT:
  case EG_RULE_BOOL: eg_text_printf(text, "%lld", (long long)value->i); return;
  case EG_RULE_FLOAT: eg_text_double(text, value->f); return;
  case EG_RULE_SYMBOL:
  case EG_RULE_STRING: eg_text_append(text, value->text); return;
  case EG_RULE_DTYPE: eg_text_append(text, eg_dtype_name((egraph_dtype)value->i)); return;
  case EG_RULE_TENSOR: return;
  case EG_RULE_INTS:
    for (uint32_t i = 0; i < value->ints.len; i++, separator = " ")
      eg_text_printf(text, "%s%lld", separator, (long long)value->ints.data[i]);
    break;
  case EG_RULE_FLOATS:
    for (uint32_t i = 0; i < value->floats.len; i++, separator = " ") {
      eg_text_append(text, separator);
      eg_text_double(text, value->floats.data[i]);
    }
  }
  eg_text_append(text, *separator == '[' ? "[]" : "]");
}

static egraph_status print_instance(eg_text *text, const eg_verify_instance *instance) {
  const eg_rule *rule = instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    const eg_verify_leaf *leaf = &instance->leaves[i];
    if (rule->vars[i].origin != EG_RULE_VAR_MATCHED) continue;
    eg_text_printf(text, "; %s ", rule->vars[i].name);
    if (rule->vars[i].kind != EG_RULE_TENSOR) {
      print_value(text, &instance->env->vars[i]);
      continue;
    }
    EG_TRY(eg_type_print(text, &leaf->type));
    eg_text_append(text, leaf->splat ? " all " : leaf->weight ? " weight" : "");
    if (leaf->splat) eg_text_double(text, leaf->splat_value);
  }
  return eg_text_status(text);
}

// ---- one instance ---------------------------------------------------------------

static bool has_floats(const eg_verify_instance *instance) {
  for (uint32_t i = 0; i < instance->rule->var_count; i++)
    if (instance->rule->vars[i].kind == EG_RULE_TENSOR &&
        eg_dtype_is_float(instance->leaves[i].type.dtype))
      return true;
  return false;
}

static egraph_status compare_types(verification *run,
                                   const eg_verify_instance *instance) {
  const eg_rule *rule = run->rule;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    const eg_tensor_fact *left =
        eg_tensor_egraph_fact(instance->egraph, instance->classes[rule->lhs[i].term]);
    const eg_tensor_fact *right = instance->builder->terms[rule->rhs[i].term].fact;
    if (eg_tensor_fact_same_type(left, right)) continue;
    run->rejected = true;
    eg_text_printf(&run->text, "result %u: the left side is ", i);
    EG_TRY(eg_tensor_fact_print(&run->text, left));
    eg_text_append(&run->text, ", the right side ");
    return eg_tensor_fact_print(&run->text, right);
  }
  return EGRAPH_OK;
}

/// Compares both sides of an instance on one kind of data; when they differ, rejects the
/// rule and describes the difference in run->text. Sets is_of_other_class when the rule
/// only declares a class that is too strict.
static egraph_status check_data(verification *run, const eg_verify_instance *instance,
                                eg_verify_data data, eg_verify_comparison *out) {
  static const char *const names[EG_VERIFY_DATA_COUNT] = {
      [EG_VERIFY_ORDINARY] = "on ordinary data: ",
      [EG_VERIFY_WIDE] = "on numbers of all sizes: ",
      [EG_VERIFY_TINY] = "on small numbers: ",
      [EG_VERIFY_TIES] = "on few different numbers: ",
      [EG_VERIFY_NEAR] = "on numbers near those of the rule: ",
      [EG_VERIFY_NOT_FINITE] = "on data with NaN or infinities: ",
      [EG_VERIFY_LARGE] = "on large data: ",
      [EG_VERIFY_EXTREME] = "at the ends of the range: "};
  uint64_t seed = run->options.seed + UINT64_C(0x9e3779b9) * run->drawn;
  eg_verify_source source = eg_verify_source_of(instance, data, seed, run->near);
  run->near += data == EG_VERIFY_NEAR;
  EG_TRY(eg_verify_compare(&run->arena, instance, &source, out, &run->text));
  eg_verify_comparison result = *out;
  if (data == EG_VERIFY_ORDINARY) {
    run->vacuous += result.verdict == EG_VERIFY_VACUOUS;
    run->large += result.is_large;
    run->equal += result.verdict == EG_VERIFY_EQUAL;
    run->exact += result.verdict == EG_VERIFY_EXACT;
    run->dtypes[result.dtype] += result.verdict != EG_VERIFY_VACUOUS;
  }
  if (result.math > run->math) run->math = result.math;
  bool is_out = result.math > run->rule->math;
  run->rejected = is_out || result.verdict == EG_VERIFY_DIFFERENT;
  run->is_of_other_class = is_out && result.verdict != EG_VERIFY_DIFFERENT;
  EG_LOCAL(eg_text, where, run->text.chars.alloc);
  EG_TRY(eg_text_append(&where, eg_text_of(&run->text)));
  eg_text_clear(&run->text);
  if (!run->rejected) return EGRAPH_OK;
  if (result.verdict != EG_VERIFY_DIFFERENT)
    eg_text_printf(&run->text,
                   "its sides differ as only class %s allows, but it claims class %s, ",
                   eg_rule_class_name(result.math), eg_rule_class_name(run->rule->math));
  // For integers, data with NaN are drawn as extreme data instead.
  bool is_whole = data == EG_VERIFY_NOT_FINITE && !has_floats(instance);
  if (data != EG_VERIFY_ORDINARY)
    eg_text_append(&run->text, names[is_whole ? EG_VERIFY_EXTREME : data]);
  return eg_text_append(&run->text, eg_text_of(&where));
}

/// The kinds of data on which an instance is compared in addition to ordinary data; over
/// the instances, the kinds take turns. Constants at the ends of their range use one
/// kind; infinite constants also use data with zeros.
typedef struct data_kinds {
  eg_verify_data kinds[2];
  uint32_t count;
} data_kinds;

/// True when an operand is empty: infinity times an empty sum is NaN, which no other
/// data show.
static bool has_empty_leaf(const eg_verify_instance *instance) {
  const eg_rule *rule = instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (eg_verify_is_leaf(rule, i) && eg_type_elements(&instance->leaves[i].type) == 0)
      return true;
  return false;
}

static data_kinds other_data(const verification *run,
                             const eg_verify_instance *instance) {
  static const eg_verify_data special[] = {EG_VERIFY_NOT_FINITE, EG_VERIFY_EXTREME,
                                           EG_VERIFY_NOT_FINITE, EG_VERIFY_LARGE};
  static const eg_verify_data plain[] = {EG_VERIFY_WIDE, EG_VERIFY_TINY, EG_VERIFY_WIDE,
                                         EG_VERIFY_TIES};
  static const eg_verify_data named[] = {EG_VERIFY_NEAR, EG_VERIFY_WIDE, EG_VERIFY_NEAR,
                                         EG_VERIFY_TINY, EG_VERIFY_NEAR, EG_VERIFY_TIES};
  // The kinds of data for rules that must keep the sign of zero.
  static const eg_verify_data exact[] = {EG_VERIFY_WIDE, EG_VERIFY_TIES, EG_VERIFY_TINY,
                                         EG_VERIFY_TIES, EG_VERIFY_NEAR, EG_VERIFY_TIES};
  bool is_exact = run->rule->math == EGRAPH_MATH_EXACT;
  eg_verify_data second = is_exact ? exact[run->found % 6]
                          : eg_verify_largest_number(instance) > 0
                              ? named[run->found % 6]
                              : plain[run->found % 4];
  if (instance->special == EG_SPECIAL_NOT_FINITE)
    return (data_kinds){{EG_VERIFY_NOT_FINITE, EG_VERIFY_TIES}, 2};
  eg_verify_data third =
      has_empty_leaf(instance) ? EG_VERIFY_NOT_FINITE : special[run->found % 4];
  return (data_kinds){{second, third}, instance->special == EG_SPECIAL_NONE ? 2 : 1};
}

static egraph_status check_values(verification *run, const eg_verify_instance *instance,
                                  eg_instance_outcome *out) {
  data_kinds others = other_data(run, instance);
  eg_verify_comparison first, other;
  EG_TRY(check_data(run, instance, EG_VERIFY_ORDINARY, &first));
  bool is_compared = first.verdict != EG_VERIFY_VACUOUS || first.is_empty;
  *out = is_compared ? EG_INSTANCE_COMPARED : EG_INSTANCE_VACUOUS;
  for (uint32_t i = 0; i < others.count && !run->rejected; i++)
    EG_TRY(check_data(run, instance, others.kinds[i], &other));
  return EGRAPH_OK;
}

// ---- types in ONNX --------------------------------------------------------------------

static bool is_taken(eg_op op, const eg_type *types, uint32_t count, uint32_t *out) {
  for (*out = 0; *out < count; ++*out)
    if (!eg_onnx_takes(op, *out, types[*out].dtype)) return false;
  return true;
}

/// True when ONNX supports the element types of every term of the left side.
static bool is_left_legal(const eg_verify_instance *instance) {
  const eg_rule *rule = instance->rule;
  eg_type types[EG_VERIFY_MAX_OPERANDS];
  uint32_t operand;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (term->is_var) continue;
    eg_verify_operand_types(instance, i, types);
    if (!is_taken(term->op, types, term->child_count, &operand)) return false;
  }
  return true;
}

/// Rejects a rule whose right side needs an element type that ONNX does not support for
/// an operator, unless the left side does, too.
static egraph_status check_legal(verification *run, const eg_verify_instance *instance) {
  const eg_rule *rule = run->rule;
  eg_type types[EG_VERIFY_MAX_OPERANDS];
  uint32_t operand;
  if (!is_left_legal(instance)) return EGRAPH_OK;
  for (uint32_t i = rule->pattern_term_count; i < rule->term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (term->is_var) continue;
    for (uint32_t k = 0; k < term->child_count; k++)
      types[k] = instance->builder->terms[term->children[k]].fact->type;
    if (is_taken(term->op, types, term->child_count, &operand)) continue;
    run->rejected = true;
    return eg_text_printf(&run->text,
                          "ONNX has no %s of %s, which the right side needs; guard the "
                          "rule with a condition on the element type",
                          eg_op_info_of(term->op)->name,
                          eg_dtype_name(types[operand].dtype));
  }
  return EGRAPH_OK;
}

/// Records the largest ranks and dimensions of compared instances.
static void note_largest_sizes(verification *run, const eg_verify_instance *instance) {
  const eg_rule *rule = run->rule;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    if (!eg_verify_is_leaf(rule, i)) continue;
    const eg_type *type = &instance->leaves[i].type;
    if (type->rank > run->largest_rank) run->largest_rank = type->rank;
    for (uint32_t d = 0; d < type->rank; d++)
      if (type->dims[d] > run->largest_dim) run->largest_dim = type->dims[d];
  }
}

/// Rejects a rule in which only one side has an unsorted top-k: the reference kernel
/// always sorts, other kernels need not, so such sides are not equal.
static egraph_status check_order(verification *run, const eg_verify_instance *instance) {
  const eg_rule *rule = run->rule;
  uint32_t count[2] = {0, 0};
  for (uint32_t i = 0; i < rule->term_count; i++) {
    uint16_t slot;
    bool may_sort = !rule->terms[i].is_var && rule->terms[i].op == EG_OP_TOP_K &&
                    eg_op_find_attr(EG_OP_TOP_K, "sorted", &slot);
    count[i < rule->pattern_term_count] +=
        may_sort && eg_verify_attrs_of(instance, i)->slots[slot].i == 0;
  }
  run->rejected = (count[0] == 0) != (count[1] == 0);
  if (!run->rejected) return EGRAPH_OK;
  return eg_text_printf(
      &run->text,
      "the order of what top-k gives with :sorted 0 is not defined, and "
      "only the %s side has such a node",
      count[1] != 0 ? "left" : "right");
}

static void give_witness(verification *run, const eg_verify_instance *instance,
                         eg_instance_outcome *inout) {
  bool holds = !run->rejected;
  if (!holds) *inout = EG_INSTANCE_COMPARED;
  run->equal += !holds;
  run->rejected = false;
  eg_text_clear(&run->text);
  if (*inout == EG_INSTANCE_COMPARED) run->witness(run->user, instance, holds);
}

static egraph_status check_instance(verification *run, const eg_verify_instance *instance,
                                    bool typed) {
  eg_instance_outcome outcome = EG_INSTANCE_UNBUILT;
  if (typed) {
    EG_TRY(compare_types(run, instance));
    if (!run->rejected) EG_TRY(check_legal(run, instance));
    if (!run->rejected) EG_TRY(check_order(run, instance));
    if (!run->rejected) EG_TRY(check_values(run, instance, &outcome));
    if (run->witness != NULL) give_witness(run, instance, &outcome);
    if (run->rejected) return print_instance(&run->text, instance);
    if (outcome == EG_INSTANCE_COMPARED) note_largest_sizes(run, instance);
  }
  eg_coverage_note(&run->coverage, instance, outcome);
  return EGRAPH_OK;
}

static egraph_status verify_draw(verification *run) {
  bool found, typed;
  eg_verify_instance instance;
  EG_TRY(eg_verify_draw(run->draws, &found, &typed, &instance));
  run->drawn++;
  run->found += found;
  run->ill_typed += found && !typed;
  return found ? check_instance(run, &instance, typed) : EGRAPH_OK;
}

/// True when many tries to draw an instance of a class failed, and none succeeded.
static bool is_hopeless(const verification *run, const eg_coverage_row *row,
                        uint32_t draws) {
  eg_verify_obstacle by = eg_verify_obstacle_of(run->draws);
  bool is_known = by.condition != EG_RULE_NONE || by.term != EG_RULE_NONE;
  bool is_rank = row->aim.subject == EG_INSTANCE_RANK;
  bool is_rare =
      row->aim.subject == EG_INSTANCE_OPERANDS || row->aim.subject == EG_INSTANCE_SPECIAL;
  uint32_t most = is_rare                                     ? HOPELESS_OPERANDS
                  : eg_verify_excludes(run->draws, &row->aim) ? HOPELESS_EXCLUDED
                  : is_rank                                   ? HOPELESS_RANK
                                                              : HOPELESS;
  bool is_way = row->aim.subject == EG_INSTANCE_WAY; // only chance finds one
  return draws >= most && (is_known || is_way) &&
         row->compared + row->unbuilt + row->vacuous == 0;
}

/// Draws and compares instances for each class of instances that has too few.
static egraph_status verify_classes(verification *run) {
  for (uint32_t i = 0; i < run->coverage.count; i++) {
    eg_coverage_row *row = &run->coverage.rows[i];
    bool is_reduced = eg_instance_is_fine(&row->aim) || eg_instance_is_large(&row->aim);
    effort most = run->options.is_loading ? loading
                  : is_reduced            ? reduced
                                          : efforts[row->aim.subject];
    eg_verify_aim(run->draws, &row->aim);
    for (uint32_t k = 0; k < most.draws && row->compared < most.instances &&
                         !run->rejected && !is_hopeless(run, row, k);
         k++)
      EG_TRY(verify_draw(run));
    if (run->rejected) return EGRAPH_OK;
    row->obstacle = eg_verify_obstacle_of(run->draws);
  }
  eg_verify_aim(run->draws, NULL);
  return EGRAPH_OK;
}

// ---- one rule -------------------------------------------------------------------

static egraph_status print_acceptance(verification *run) {
  eg_text *text = &run->text;
  eg_text_append(text, eg_text_of(&run->layouts));
  eg_text_printf(text, "%u instances, %u of them exact (", run->equal + run->exact,
                 run->exact);
  const char *comma = "";
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++) {
    if (run->dtypes[i] == 0) continue;
    eg_text_printf(text, "%s%u %s", comma, run->dtypes[i],
                   eg_dtype_name((egraph_dtype)i));
    comma = ", ";
  }
  eg_text_append(text, ")");
  if (run->large != 0) eg_text_printf(text, ", %u more too large to compute", run->large);
  eg_text_printf(
      text,
      ", %u of %u classes of instances, ranks to %u, dimensions to %" PRId64 "; class %s",
      eg_coverage_reached(&run->coverage), run->coverage.count, run->largest_rank,
      run->largest_dim, eg_rule_class_name(run->rule->math));
  if (run->math != run->rule->math)
    eg_text_printf(text, ", found %s", eg_rule_class_name(run->math));
  return eg_text_status(text);
}

/// Rejects a rule with too few instances to judge it.
static egraph_status judge_draws(verification *run) {
  uint32_t accepted = run->equal + run->exact;
  if (run->rejected) return EGRAPH_OK;
  run->rejected = accepted == 0 || accepted < run->options.instances / LEAST_SHARE;
  if (!run->rejected) return print_acceptance(run);
  run->rejected = run->is_unseen = !run->options.is_loading;
  if (run->found == 0)
    return eg_text_printf(&run->text, "no instance found after %u draws", run->drawn);
  return eg_text_printf(&run->text,
                        "only %u instances found after %u draws (%u ill-typed on the "
                        "right, %u without a finite result, %u too large to compute)",
                        accepted, run->drawn, run->ill_typed, run->vacuous - run->large,
                        run->large);
}

static egraph_status verify_rule(verification *run) {
  uint32_t wanted = run->options.instances;
  uint32_t draws = run->is_large_case ? LARGE_DRAWS_PER_INSTANCE : DRAWS_PER_INSTANCE;
  while (run->drawn < draws * wanted && run->equal + run->exact < wanted &&
         !run->rejected)
    EG_TRY(verify_draw(run));
  if (!run->rejected && !run->is_large_case) EG_TRY(verify_classes(run));
  return judge_draws(run);
}

/// Verifies the layouts of an implied rule. It has no values to compare: its sides are
/// equal, or are sides of a rule that is verified itself.
static egraph_status verify_layouts(verification *run, egraph_allocator alloc) {
  eg_layout_finding finding;
  eg_rank_evidence *ranks = run->options.is_loading ? NULL : &run->ranks;
  EG_TRY(eg_layout_verify(&alloc, run->rule, run->options.seed, &run->text, ranks,
                          &finding));
  run->rejected = !finding.holds;
  if (run->rejected || eg_rule_is_implied(run->rule)) return EGRAPH_OK;
  EG_TRY(eg_text_printf(&run->layouts, "%s, ", eg_text_of(&run->text)));
  eg_text_clear(&run->text);
  return EGRAPH_OK;
}

static egraph_status verify_values(verification *run, egraph_allocator alloc) {
  egraph_status status =
      eg_verify_draws_create(&alloc, run->rule, run->options.seed, &run->draws);
  if (status == EGRAPH_E_UNSUPPORTED) {
    run->rejected = !run->options.is_loading;
    return eg_text_append(&run->text, egraph_last_error());
  }
  EG_TRY(status);
  EG_TRY(eg_coverage_open(&run->coverage, run->rule));
  return verify_rule(run);
}

static egraph_status verify_one(verification *run, egraph_allocator alloc) {
  if (run->rule->move_count != 0) EG_TRY(verify_layouts(run, alloc));
  if (run->rejected || eg_rule_is_implied(run->rule)) return EGRAPH_OK;
  return verify_values(run, alloc);
}

static void claim_class(verification *run, const eg_rule *rule, egraph_math math) {
  run->as_claimed = *rule;
  run->as_claimed.math = math;
  run->rule = &run->as_claimed;
}

/// Verifies another case of a rule with parameters, with as few draws as for loading.
static egraph_status verify_case(verification *run, const eg_rule *rule, bool is_large,
                                 eg_text *unreached) {
  egraph_allocator alloc = run->text.chars.alloc;
  EG_LOCAL(verification, one, alloc);
  one.options = run->options;
  claim_class(&one, rule, run->rule->math);
  one.options.is_loading = true;
  one.is_large_case = is_large;
  uint32_t most = is_large ? LARGE_INSTANCES : EG_VERIFY_LOAD_INSTANCES;
  if (one.options.instances > most) one.options.instances = most;
  EG_TRY(verify_one(&one, alloc));
  if (!one.rejected && one.equal + one.exact == 0)
    eg_text_printf(unreached, " %s", rule->name);
  if (one.rejected) {
    run->rejected = true;
    run->is_of_other_class = one.is_of_other_class;
    eg_text_clear(&run->text);
    eg_text_printf(&run->text, "case %s: %s", rule->name, eg_text_of(&one.text));
  }
  run->equal += one.equal;
  run->exact += one.exact;
  if (one.math > run->math) run->math = one.math;
  return eg_text_status(&run->text);
}

/// Verifies the cases that represent a rule with parameters.
static egraph_status verify_cases(verification *run, const eg_rules *rules,
                                  uint32_t number) {
  const eg_rule_schema *schema = run->rule->schema;
  egraph_allocator alloc = run->text.chars.alloc;
  bool is_all = false;
  EG_LOCAL(eg_rule_cases_own, cases, alloc);
  EG_LOCAL(eg_u32s, values, alloc);
  EG_LOCAL(eg_text, unreached, alloc);
  EG_TRY(eg_rule_cases_create(alloc, rules, &cases));
  EG_TRY(eg_rule_cases_sample(run->rule, &values, &is_all));
  size_t usual = values.len;
  if (!is_all) EG_TRY(eg_rule_cases_sample_large(run->rule, &values));
  for (size_t i = 0; i < values.len && !run->rejected; i += schema->parameter_count) {
    const eg_rule *rule;
    EG_TRY(eg_rule_cases_get(cases, number, values.data + i, &rule));
    if (rule != NULL) EG_TRY(verify_case(run, rule, i >= usual, &unreached));
  }
  if (run->rejected) return EGRAPH_OK;
  eg_text_printf(&run->text, "; %zu cases more", values.len / schema->parameter_count);
  EG_TRY(eg_text_status(&unreached));
  if (unreached.chars.len != 0)
    eg_text_printf(&run->text, ", without an instance:%s", eg_text_of(&unreached));
  return eg_text_status(&run->text);
}

/// Verifies rule `number` (rules that layouts imply come last) with `math` as its class.
static egraph_status verify_as(verification *run, const eg_rules *rules, uint32_t number,
                               egraph_math math) {
  uint32_t count = eg_rules_count(rules);
  claim_class(run,
              number < count ? eg_rules_at(rules, number)
                             : eg_rules_implied_at(rules, number - count),
              math);
  EG_TRY(verify_one(run, eg_rules_allocator(rules)));
  // The first case may lack instances because its conditions never hold.
  bool is_left = run->rejected && run->rule->schema != NULL &&
                 run->rule->condition_count != 0 && run->found == 0;
  if (is_left) run->rejected = run->is_unseen = false;
  if (!run->rejected && run->rule->schema != NULL)
    EG_TRY(verify_cases(run, rules, number));
  if (is_left && run->equal + run->exact == 0) run->rejected = run->is_unseen = true;
  return EGRAPH_OK;
}

/// Looks for a class (exact, associative, fast) in which a rule holds that does not hold
/// in its declared class. It may hold in no class; the text then becomes the reason.
static egraph_status find_class(verification *run, const eg_rules *rules, uint32_t number,
                                egraph_rule_evidence *inout) {
  bool is_open = run->rejected && run->is_of_other_class;
  for (egraph_math found = run->math; is_open;) {
    EG_LOCAL(verification, again, run->text.chars.alloc);
    again.options = run->options;
    EG_TRY(verify_as(&again, rules, number, found));
    is_open = again.rejected && again.is_of_other_class;
    if (!again.rejected) {
      inout->verdict = "holds-as";
      inout->math = found;
    } else if (!is_open) {
      eg_text_clear(&run->text);
      EG_TRY(eg_text_append(&run->text, eg_text_of(&again.text)));
    }
    found = again.math;
  }
  inout->detail = eg_text_of(&run->text);
  return EGRAPH_OK;
}

static egraph_status report_evidence(verification *run, const eg_rules *rules,
                                     uint32_t number) {
  egraph_rule_evidence evidence = {.rule = run->rule->name,
                                   .is_accepted = !run->rejected,
                                   .detail = eg_text_of(&run->text),
                                   .instances = run->equal + run->exact,
                                   .exact = run->exact,
                                   .class_count = run->coverage.count,
                                   .reached = eg_coverage_reached(&run->coverage),
                                   .largest_rank = run->largest_rank,
                                   .largest_dim = run->largest_dim,
                                   .rank_run_count = run->ranks.count,
                                   .verdict = !run->rejected   ? "tested"
                                              : run->is_unseen ? "untested"
                                                               : "refuted",
                                   .math = run->rule->math};
  egraph_rank_runs runs[EG_LAYOUT_DEGREES];
  for (uint32_t i = 0; i < run->ranks.count; i++)
    runs[i] = (egraph_rank_runs){.ranks = run->ranks.degree[i],
                                 .forward = run->ranks.forward[i],
                                 .backward = run->ranks.backward[i]};
  evidence.rank_runs = runs;
  if (run->ranks.no_backward.chars.len != 0)
    evidence.no_backward = eg_text_of(&run->ranks.no_backward);
  egraph_rule_class *classes = NULL;
  if (run->options.evidence == NULL) return EGRAPH_OK;
  EG_TRY(find_class(run, rules, number, &evidence));
  if (run->coverage.rule != NULL) EG_TRY(eg_coverage_classes(&run->coverage, &classes));
  evidence.classes = classes;
  run->options.evidence(run->options.evidence_user, &evidence);
  return EGRAPH_OK;
}

egraph_status eg_rules_verify(const eg_rules *rules, const eg_verify_options *options,
                              eg_verify_report *report, void *user,
                              uint32_t *out_rejected) {
  uint32_t rejected = 0, count = eg_rules_count(rules);
  uint32_t implied = options->is_loading ? 0 : eg_rules_implied_count(rules);
  assert(options->instances > 0);
  for (uint32_t i = options->first; i < count + implied; i++) {
    EG_LOCAL(verification, run, eg_rules_allocator(rules));
    run.options = *options;
    egraph_math math = i < count ? eg_rules_at(rules, i)->math
                                 : eg_rules_implied_at(rules, i - count)->math;
    EG_TRY(verify_as(&run, rules, i, math));
    if (report != NULL)
      report(user, run.rule->name, !run.rejected, eg_text_of(&run.text));
    EG_TRY(report_evidence(&run, rules, i));
    rejected += run.rejected;
  }
  if (out_rejected != NULL) *out_rejected = rejected;
  return EGRAPH_OK;
}

egraph_status eg_rule_witness(egraph_allocator alloc, const eg_rule *rule,
                              const eg_verify_options *options,
                              eg_verify_witness *witness, void *user) {
  if (rule->move_count != 0) return EGRAPH_OK;
  EG_LOCAL(verification, run, alloc);
  run.options = *options;
  run.rule = rule;
  run.witness = witness;
  run.user = user;
  return verify_values(&run, alloc);
}
