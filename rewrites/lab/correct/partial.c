// Evaluates both sides on whole numbers, which float64 holds exactly; an element differs
// when its values differ for one of several draws. The box of an instance is the largest
// box grown, axis by axis, from an element that agrees. Sums of products of numbers drawn
// from two thousand agree by chance in at most one of a hundred draws, and hardly ever in
// several (Schwartz-Zippel). Elements outside of the box may agree, too, for example
// windows at the corners of an image.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/correct/partial.h"

#include <assert.h>
#include <string.h>

#include "base/owner.h"
#include "rewrites/lab/basis/tensors.h"
#include "rewrites/lab/claims/rank_run.h"

// LARGEST: largest whole number in an operand. ENOUGH_ROWS: number of instances with a
// box that suffices. SEEDS: number of elements from which boxes grow.
enum {
  DRAWS = 6000,
  ROWS = 240,
  ENOUGH_ROWS = 24,
  DATA = 3,
  LARGEST = 1000,
  MOST_ELEMENTS = 1 << 15,
  MOST_ATOMS = 64,
  SEEDS = 48,
  MOST_ENTRIES = 6
};

// Operators that are linear in each operand, or move data.
static const eg_op linear_ops[] = {EG_OP_CONV,       EG_OP_CONV_TRANSPOSE,
                                   EG_OP_MATMUL,     EG_OP_EINSUM,
                                   EG_OP_ADD,        EG_OP_SUB,
                                   EG_OP_NEG,        EG_OP_MUL,
                                   EG_OP_PAD,        EG_OP_SLICE,
                                   EG_OP_RESHAPE,    EG_OP_TRANSPOSE,
                                   EG_OP_CONCAT,     EG_OP_SPLIT,
                                   EG_OP_PART,       EG_OP_EXPAND,
                                   EG_OP_SQUEEZE,    EG_OP_UNSQUEEZE,
                                   EG_OP_FLATTEN,    EG_OP_IDENTITY,
                                   EG_OP_REDUCE_SUM, EG_OP_AVERAGE_POOL,
                                   EG_OP_TILE};

typedef struct finder {
  eg_partial *to;
  eg_arena arena; // memory of one instance
  eg_verify_draws_own draws;
  eg_rng rng;
  const char *whole;
  uint32_t tensors; // number of atoms that are sizes of the result; they come first
  // By element of the result: `differs` when some draw of data gives the sides different
  // numbers, `says` when some draw gives a number other than 0. An element that is always
  // 0 is no evidence.
  bool *differs, *says;
  int64_t elements;
  uint32_t *lens; // by variable: length of a list, the same in all instances
  bool is_first;
  uint32_t everywhere, nowhere, small; // numbers of instances; small: without a large box
} finder;

EG_OWNER_DEFINE_STATIC(finder, (eg_arena, arena), (eg_verify_draws_own, draws))
EG_OWNER_DEFINE(eg_partial, (eg_partial_atoms, atoms), (eg_partial_rows, rows),
                (eg_text, why), (eg_arena, arena))

// ---- which pairs are compared ---------------------------------------------------------

/// Appends to to->why the reason when the sides of a rule cannot be compared.
static egraph_status check_fit(eg_partial *to) {
  const eg_rule *rule = to->rule;
  if (rule->root_count != 1)
    return eg_text_append(&to->why, "it has several results; write one pair for each");
  if (rule->move_count != 0)
    return eg_text_append(&to->why, "it has parallel operators; leave them out");
  if (rule->schema != NULL)
    return eg_text_append(&to->why, "it has parameters; write out one case");
  for (uint32_t t = 0; t < rule->term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    bool is_linear = term->is_var;
    for (size_t i = 0; i < sizeof linear_ops / sizeof *linear_ops; i++)
      is_linear = is_linear || linear_ops[i] == term->op;
    if (is_linear) continue;
    return eg_text_printf(&to->why,
                          "%s is neither linear in each operand nor data movement; "
                          "leave it out of both sides",
                          eg_op_info_of(term->op)->name);
  }
  return EGRAPH_OK;
}

// ---- one instance ---------------------------------------------------------------------

static egraph_status fill_leaves(finder *f, const eg_verify_instance *instance,
                                 eg_tensor *out) {
  const eg_rule *rule = f->to->rule;
  for (uint32_t v = 0; v < rule->var_count; v++) {
    const eg_verify_leaf *leaf = &instance->leaves[v];
    if (!eg_verify_is_leaf(rule, v)) continue;
    eg_type type = leaf->type;
    type.dtype = EGRAPH_FLOAT64;
    EG_TRY(eg_arena_tensor(&f->arena, &type, &out[v]));
    int64_t count = eg_type_elements(&type);
    for (int64_t i = 0; i < count; i++) {
      double drawn = (double)eg_rng_below(&f->rng, 2 * LARGEST + 1) - LARGEST;
      eg_tensor_set_double(&out[v], i, leaf->splat ? leaf->splat_value : drawn);
    }
  }
  return EGRAPH_OK;
}

/// Computes the values of all terms; a term with several results has a tensor for each.
static egraph_status run_terms(finder *f, const eg_verify_instance *instance,
                               const eg_claim_term *terms, eg_tensor *vars,
                               eg_tensor **values) {
  const eg_rule *rule = f->to->rule;
  for (uint32_t t = 0; t < rule->term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    bool is_let = term->is_var && rule->vars[term->var].origin == EG_RULE_VAR_LET_TERM;
    EG_NEW(&f->arena, terms[t].type_count, values[t]);
    if (is_let) values[t] = values[instance->builder->alias[term->var]];
    if (term->is_var && !is_let) *values[t] = vars[term->var];
    if (term->is_var) continue;
    if (term->op == EG_OP_PART) {
      *values[t] = values[term->children[0]][terms[t].attrs->slots[0].i];
      continue;
    }
    eg_tensor *inputs;
    EG_NEW(&f->arena, (size_t)term->child_count + 1, inputs);
    for (uint32_t i = 0; i < term->child_count; i++)
      inputs[i] = values[term->children[i]][0];
    for (uint32_t i = 0; i < terms[t].type_count; i++)
      EG_TRY(eg_arena_tensor(&f->arena, &terms[t].types[i], &values[t][i]));
    EG_TRY(eg_kernel_run(&f->arena, terms[t].attrs, inputs, term->child_count, values[t],
                         terms[t].type_count));
    if (term->var != EG_RULE_NONE) vars[term->var] = values[t][0];
  }
  return EGRAPH_OK;
}

/// Marks the result elements in which the sides differ for one draw of data.
static egraph_status mark_differences(finder *f, const eg_verify_instance *instance,
                                      const eg_claim_term *terms) {
  const eg_rule *rule = f->to->rule;
  eg_tensor *vars, **values;
  EG_NEW(&f->arena, rule->var_count, vars);
  EG_NEW(&f->arena, rule->term_count, values);
  EG_TRY(fill_leaves(f, instance, vars));
  EG_TRY(run_terms(f, instance, terms, vars, values));
  const eg_tensor *left = values[rule->lhs[0].term], *right = values[rule->rhs[0].term];
  for (int64_t i = 0; i < f->elements; i++) {
    double x = eg_tensor_get_double(left, i), y = eg_tensor_get_double(right, i);
    double size = x < 0 ? -x : x, apart = x < y ? y - x : x - y;
    if (!(apart <= 1e-9 * (size > 1 ? size : 1))) f->differs[i] = true;
    if (x != 0 || y != 0) f->says[i] = true;
  }
  return EGRAPH_OK;
}

// ---- boxes ----------------------------------------------------------------------------

typedef struct grown {
  int64_t from[EGRAPH_MAX_RANK], to[EGRAPH_MAX_RANK];
} grown;

/// Counts the elements of a box that are evidence (not 0 in some draw); returns -1 when
/// the sides differ in some element.
static int64_t count_box(const finder *f, const eg_type *type, const grown *box) {
  int64_t strides[EGRAPH_MAX_RANK], at[EGRAPH_MAX_RANK], count = 0;
  eg_type_strides(type, strides);
  memcpy(at, box->from, sizeof at);
  for (;;) {
    int64_t i = 0;
    uint32_t d = type->rank;
    for (uint32_t k = 0; k < type->rank; k++)
      i += at[k] * strides[k];
    if (f->differs[i]) return -1;
    count += f->says[i];
    while (d > 0 && ++at[d - 1] == box->to[d - 1]) {
      d--;
      at[d] = box->from[d];
    }
    if (d == 0) return count;
  }
}

/// Extends a box by the plane of elements before or behind it along dimension d when both
/// sides agree on the plane.
static bool grow_by_plane(const finder *f, const eg_type *type, uint32_t d,
                          bool is_behind, grown *box) {
  grown plane = *box;
  if (is_behind ? box->to[d] == type->dims[d] : box->from[d] == 0) return false;
  plane.from[d] = is_behind ? box->to[d] : box->from[d] - 1;
  plane.to[d] = plane.from[d] + 1;
  if (count_box(f, type, &plane) < 0) return false;
  *(is_behind ? &box->to[d] : &box->from[d]) += is_behind ? 1 : -1;
  return true;
}

/// Grows a box in which both sides agree from an element, axis by axis from `first` on.
static grown grow_from(const finder *f, const eg_type *type, const int64_t *element,
                       uint32_t first) {
  grown box = {{0}, {0}};
  for (uint32_t d = 0; d < type->rank; d++) {
    box.from[d] = element[d];
    box.to[d] = element[d] + 1;
  }
  for (uint32_t k = 0; k < type->rank; k++) {
    uint32_t d = (first + k) % type->rank;
    while (grow_by_plane(f, type, d, false, &box))
      ;
    while (grow_by_plane(f, type, d, true, &box))
      ;
  }
  return box;
}

/// Grows boxes in which both sides agree from some elements, and finds the largest box.
/// Returns false when it has at most half of the elements that are evidence, because
/// there may then be another box.
static bool find_box(const finder *f, const eg_type *type, eg_partial_row *out) {
  int64_t at[EGRAPH_MAX_RANK] = {0}, most = 0, all = 0, step = f->elements / SEEDS + 1,
          passed = 0;
  grown best = {{0}, {0}};
  for (int64_t i = 0; i < f->elements; i++) {
    bool is_seed = f->says[i] && !f->differs[i] && --passed < 0;
    all += f->says[i];
    if (is_seed) passed = step;
    for (uint32_t first = 0; is_seed && first < type->rank; first++) {
      grown box = grow_from(f, type, at, first);
      int64_t volume = count_box(f, type, &box);
      if (volume <= most) continue;
      most = volume;
      best = box;
    }
    for (uint32_t d = type->rank; d-- > 0 && ++at[d] == type->dims[d];)
      at[d] = 0;
  }
  for (uint32_t d = 0; d < type->rank; d++) {
    out->size[d] = type->dims[d];
    out->from[d] = best.from[d];
    out->to[d] = best.to[d];
  }
  return 2 * most > all;
}

// ---- numbers of instances -------------------------------------------------------------

/// Adds the name of a number of the instance: "?n", or "(dim ?x 2)" with a function.
static egraph_status push_atom(finder *f, const char *name, const char *function,
                               uint32_t index) {
  const char *kept;
  EG_LOCAL(eg_text, text, f->arena.alloc);
  if (function == NULL)
    eg_text_append(&text, name);
  else
    eg_text_printf(&text, "(%s %s %u)", function, name, index);
  EG_TRY(eg_text_status(&text));
  EG_TRY(eg_arena_string(&f->to->arena, eg_text_of(&text), text.chars.len, &kept));
  return f->to->atoms.len < MOST_ATOMS ? eg_partial_atoms_push(&f->to->atoms, kept)
                                       : EGRAPH_OK;
}

/// Returns how many sizes or attribute values of a variable every instance has; requires
/// that the rank of a tensor is the same in all instances.
static uint32_t numbers_of(const finder *f, const eg_verify_instance *instance,
                           uint32_t v) {
  const eg_rule_var *var = &f->to->rule->vars[v];
  const eg_rule_value *value = &instance->env->vars[v];
  if (var->origin == EG_RULE_VAR_LAYOUT || var->origin == EG_RULE_VAR_LET_TERM) return 0;
  if (var->kind == EG_RULE_INT) return 1;
  if (var->kind == EG_RULE_INTS)
    return value->ints.len < MOST_ENTRIES ? value->ints.len : MOST_ENTRIES;
  if (var->kind != EG_RULE_TENSOR || var->origin != EG_RULE_VAR_MATCHED) return 0;
  return instance->leaves[v].type.rank;
}

static int64_t instance_number(const finder *f, const eg_verify_instance *instance,
                               uint32_t v, uint32_t k) {
  eg_rule_kind kind = f->to->rule->vars[v].kind;
  if (kind == EG_RULE_INT) return instance->env->vars[v].i;
  if (kind == EG_RULE_INTS) return instance->env->vars[v].ints.data[k];
  return instance->leaves[v].type.dims[k];
}

/// Names the sizes and attribute values of the first instance.
static egraph_status name_atoms(finder *f, const eg_verify_instance *instance,
                                const eg_type *type) {
  const eg_rule *rule = f->to->rule;
  f->to->rank = type->rank;
  EG_NEW(&f->to->arena, rule->var_count, f->lens);
  for (uint32_t d = 0; d < type->rank; d++)
    EG_TRY(push_atom(f, f->whole, "dim", d));
  for (uint32_t v = 0; v < rule->var_count; v++) {
    eg_rule_kind kind = rule->vars[v].kind;
    f->lens[v] = numbers_of(f, instance, v);
    const char *function = kind == EG_RULE_TENSOR ? "dim"
                           : kind == EG_RULE_INTS ? "at"
                                                  : NULL;
    for (uint32_t k = 0; k < f->lens[v]; k++)
      EG_TRY(push_atom(f, rule->vars[v].name, function, k));
  }
  return EGRAPH_OK;
}

/// Adds an instance with its box to the rows.
static egraph_status push_row(finder *f, const eg_verify_instance *instance,
                              const eg_type *type, eg_partial_row *row) {
  int64_t *atoms;
  uint32_t count = 0;
  EG_NEW(&f->to->arena, MOST_ATOMS, atoms);
  for (uint32_t d = 0; d < type->rank; d++)
    atoms[count++] = type->dims[d];
  for (uint32_t v = 0; v < f->to->rule->var_count; v++)
    for (uint32_t k = 0; k < f->lens[v] && count < MOST_ATOMS; k++)
      atoms[count++] = instance_number(f, instance, v, k);
  row->atoms = atoms;
  return eg_partial_rows_push(&f->to->rows, *row);
}

static void note_terms(finder *f, const eg_claim_term *terms) {
  const eg_rule *rule = f->to->rule;
  for (uint32_t t = 0; t < rule->pattern_term_count; t++) {
    const eg_type *type = &terms[t].types[0];
    if (f->is_first) f->to->ranks[t] = type->rank;
    if (f->is_first) f->to->same_shape[t] = true;
    if (f->to->ranks[t] != type->rank) f->to->ranks[t] = EG_RULE_NONE;
    for (uint32_t i = 0; i < rule->terms[t].child_count; i++)
      if (!eg_type_same_shape(type, &terms[rule->terms[t].children[i]].types[0]))
        f->to->same_shape[t] = false;
  }
  f->is_first = false;
}

static egraph_status note_instance(finder *f, const eg_verify_instance *instance,
                                   const eg_claim_term *terms) {
  const eg_type *type = &terms[f->to->rule->lhs[0].term].types[0];
  eg_partial_row row = {.atoms = NULL};
  if (f->lens == NULL) EG_TRY(name_atoms(f, instance, type));
  // Skips an instance whose ranks or lengths of lists differ from the first instance's.
  bool is_like_first = type->rank == f->to->rank;
  for (uint32_t v = 0; v < f->to->rule->var_count; v++)
    is_like_first = is_like_first && numbers_of(f, instance, v) == f->lens[v];
  if (!is_like_first) return EGRAPH_OK;
  note_terms(f, terms);
  f->to->instances++;
  int64_t differing = 0;
  for (int64_t i = 0; i < f->elements; i++)
    differing += f->differs[i];
  f->everywhere += differing == 0;
  f->nowhere += differing == f->elements;
  if (differing == f->elements) return EGRAPH_OK;
  bool is_large = find_box(f, type, &row);
  f->small += !is_large;
  return is_large ? push_row(f, instance, type, &row) : EGRAPH_OK;
}

static egraph_status compare_instance(finder *f, const eg_verify_instance *instance,
                                      bool *out_has_types) {
  const eg_rule *rule = f->to->rule;
  eg_claim_term *terms;
  *out_has_types = true;
  EG_TRY(eg_rank_terms(instance, &f->arena, &terms));
  for (uint32_t v = 0; v < rule->var_count; v++)
    if (eg_verify_is_leaf(rule, v) &&
        (!eg_dtype_is_float(instance->leaves[v].type.dtype) || instance->leaves[v].splat))
      return EGRAPH_OK;
  EG_TRY(eg_rank_widen(rule, &f->arena, terms));
  for (uint32_t t = 0; t < rule->term_count; t++) {
    const eg_type *type = &terms[t].types[0];
    for (uint32_t d = 0; d < type->rank; d++)
      if (type->dims[d] > 1 << 10) return EGRAPH_OK;
    if (eg_type_elements(type) == 0 || eg_type_elements(type) > MOST_ELEMENTS)
      return EGRAPH_OK;
  }
  const eg_claim_term *left = &terms[rule->lhs[0].term],
                      *right = &terms[rule->rhs[0].term];
  if (left->type_count != 1 || right->type_count != 1 ||
      !eg_type_same_shape(&left->types[0], &right->types[0])) {
    *out_has_types = false;
    return eg_text_append(&f->to->why, "its sides have different types, so that no part "
                                       "of one is a part of the other");
  }
  f->elements = eg_type_elements(&left->types[0]);
  EG_NEW(&f->arena, (size_t)f->elements, f->differs);
  EG_NEW(&f->arena, (size_t)f->elements, f->says);
  for (int d = 0; d < DATA; d++) {
    egraph_status status = mark_differences(f, instance, terms);
    if (status == EGRAPH_E_UNSUPPORTED || status == EGRAPH_E_ARGUMENT) return EGRAPH_OK;
    EG_TRY(status);
  }
  return note_instance(f, instance, terms);
}

static eg_partial_outcome outcome_of(const finder *f) {
  uint32_t seen = f->to->instances;
  if (seen < ENOUGH_ROWS) return EG_PARTIAL_FEW;
  if (f->nowhere == seen) return EG_PARTIAL_NOWHERE;
  if (f->everywhere == seen) return EG_PARTIAL_EVERYWHERE;
  if (f->to->rows.len >= ENOUGH_ROWS) return EG_PARTIAL_BOXES;
  return f->small >= ENOUGH_ROWS ? EG_PARTIAL_NO_BOX : EG_PARTIAL_FEW;
}

static egraph_status draw_instances(finder *f, eg_partial_outcome *out) {
  // Half of the dimensions of instances come from this list, because some dimensions must
  // be larger than windows.
  static const int64_t preferred[] = {0, 5, 7, 9, 11, 13, 15, 12};
  for (uint32_t i = 0; i < DRAWS && f->to->rows.len < ROWS; i++) {
    bool found, typed, has_types = true;
    eg_verify_instance instance;
    eg_verify_prefer_dim(f->draws, preferred[i % (sizeof preferred / sizeof *preferred)]);
    EG_TRY(eg_verify_draw(f->draws, &found, &typed, &instance));
    if (!found || !typed) continue;
    egraph_status status = compare_instance(f, &instance, &has_types);
    eg_arena_deinit(&f->arena);
    EG_TRY(status);
    *out = EG_PARTIAL_UNFIT;
    if (!has_types) return EGRAPH_OK;
  }
  *out = outcome_of(f);
  return EGRAPH_OK;
}

egraph_status eg_partial_find(eg_partial *inout, const char *whole, uint64_t seed,
                              eg_partial_outcome *out) {
  egraph_allocator alloc = inout->arena.alloc;
  EG_LOCAL(finder, f, alloc);
  uint32_t terms = inout->rule->term_count;
  assert(inout->rule != NULL);
  f.to = inout;
  f.rng.state = seed;
  f.whole = whole;
  f.is_first = true;
  *out = EG_PARTIAL_UNFIT;
  EG_TRY(check_fit(inout));
  if (inout->why.chars.len != 0) return EGRAPH_OK;
  EG_NEW(&inout->arena, terms, inout->same_shape);
  EG_NEW(&inout->arena, terms, inout->ranks);
  egraph_status status = eg_verify_draws_create(&alloc, inout->rule, seed, &f.draws);
  if (status == EGRAPH_E_UNSUPPORTED)
    return eg_text_append(&inout->why, egraph_last_error());
  EG_TRY(status);
  return draw_instances(&f, out);
}
