// Lists terms after their operands, and terms of the left side first. A forward pass
// computes all values; a backward pass carries cotangents from results to variables. One
// device is a mesh without axes: every tensor is whole and parallel operators do nothing.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/rank_run.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rewrites/lab/basis/tensors.h"
#include "rewrites/lab/claims/rank_parts.h"

/// The largest allowed difference between the ranks' results and one device, relative to
/// the largest number in the run.
#define RANK_BOUND 1e-9

/// The values of a term: stages[m * count + r] is result r after m of the parallel
/// operators around the term. `cotangents` has the same order; `given`: they are set.
typedef struct rank_term {
  eg_rank_value *stages, *cotangents;
  uint32_t count, moves;
  bool given;
} rank_term;

/// A run of an instance of a rule on one mesh of simulated ranks.
typedef struct rank_run {
  const eg_claim_case *of;
  const eg_verify_instance *instance;
  eg_arena *arena;
  eg_rng rng;
  eg_mesh mesh;
  const eg_claim_way *way; // NULL: one device
  const eg_tensor *leaves; // by variable, whole
  rank_term *terms;
  uint32_t *meaning;   // by variable: the term that it names, or EG_RULE_NONE
  eg_rank_value *vars; // by variable: values of leaves; parts NULL: not cut yet
  eg_rank_value *var_cotangents;
  double scale; // largest number in the run
} rank_run;

// ---- terms ---------------------------------------------------------------------------

static eg_claim_term claim_term(const eg_tensor_fact *fact, const eg_attrs *attrs) {
  bool has_parts = fact->part_count != 0;
  return (eg_claim_term){.attrs = attrs,
                         .types = has_parts ? fact->parts : &fact->type,
                         .type_count = has_parts ? fact->part_count : 1};
}

egraph_status eg_rank_terms(const eg_verify_instance *instance, eg_arena *arena,
                            eg_claim_term **out) {
  const eg_rule *rule = instance->rule;
  eg_claim_term *terms;
  EG_NEW(arena, rule->term_count, terms);
  for (uint32_t t = 0; t < rule->term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    const eg_built_term *built = &instance->builder->terms[t];
    const eg_attrs *attrs = NULL;
    if (t >= rule->pattern_term_count) {
      if (!term->is_var)
        attrs = eg_tensor_egraph_attrs_at(instance->egraph, built->payload);
      terms[t] = claim_term(built->fact, attrs);
      continue;
    }
    eg_class id =
        term->is_var ? instance->env->vars[term->var].tensor : instance->classes[t];
    if (!term->is_var) attrs = instance->attrs[t];
    terms[t] = claim_term(eg_tensor_egraph_fact(instance->egraph, id), attrs);
  }
  *out = terms;
  return EGRAPH_OK;
}

// ---- widening -------------------------------------------------------------------------

egraph_status eg_rank_widen(const eg_rule *rule, eg_arena *arena, eg_claim_term *terms) {
  for (uint32_t t = 0; t < rule->term_count; t++)
    if (!rule->terms[t].is_var && rule->terms[t].op == EG_OP_BIT_CAST) return EGRAPH_OK;
  for (uint32_t t = 0; t < rule->term_count; t++) {
    eg_type *types;
    EG_NEW(arena, terms[t].type_count, types);
    for (uint32_t i = 0; i < terms[t].type_count; i++) {
      types[i] = terms[t].types[i];
      types[i].dtype = eg_widened(types[i].dtype);
    }
    terms[t].types = types;
    if (terms[t].attrs != NULL)
      EG_TRY(eg_attrs_widen(arena, terms[t].attrs, &terms[t].attrs));
  }
  return EGRAPH_OK;
}

// ---- data -----------------------------------------------------------------------------

/// Draws a small whole number, or a number that differs from all others.
static double draw_number(eg_rng *rng, bool is_whole, bool is_positive) {
  double unit = eg_rng_unit(rng);
  if (is_whole) return is_positive ? 1 + floor(3 * unit) : floor(7 * unit) - 3;
  return is_positive ? 0.25 + 2 * unit : 4 * unit - 2;
}

static egraph_status fill_leaf(eg_arena *arena, eg_rng *rng, bool is_whole,
                               const eg_verify_leaf *leaf, eg_tensor *out) {
  eg_type type = leaf->type;
  type.dtype = eg_widened(leaf->type.dtype);
  EG_TRY(eg_rank_tensor(arena, type, out));
  int64_t count = eg_type_elements(&out->type);
  bool is_float = eg_dtype_is_float(leaf->type.dtype);
  bool is_bool = leaf->type.dtype == EGRAPH_BOOL;
  for (int64_t i = 0; i < count; i++) {
    if (leaf->splat)
      eg_tensor_set_double(out, i, leaf->splat_value);
    else if (leaf->index_bound > 0)
      eg_tensor_set_int(out, i, (int64_t)eg_rng_below(rng, (uint64_t)leaf->index_bound));
    else if (is_float)
      eg_tensor_set_double(out, i, draw_number(rng, is_whole, leaf->variance));
    else
      eg_tensor_set_int(out, i, (int64_t)eg_rng_below(rng, is_bool ? 2 : 4));
  }
  return EGRAPH_OK;
}

static egraph_status fill_leaves(const eg_verify_instance *instance, eg_arena *arena,
                                 eg_rng *rng, bool is_whole, eg_tensor **out) {
  const eg_rule *rule = instance->rule;
  EG_NEW(arena, rule->var_count, *out);
  for (uint32_t v = 0; v < rule->var_count; v++)
    if (rule->vars[v].kind == EG_RULE_TENSOR &&
        rule->vars[v].origin == EG_RULE_VAR_MATCHED)
      EG_TRY(fill_leaf(arena, rng, is_whole, &instance->leaves[v], &(*out)[v]));
  return EGRAPH_OK;
}

// ---- forward --------------------------------------------------------------------------

static void note_scale(rank_run *run, const eg_rank_value *value) {
  if (run->way != NULL || !eg_dtype_is_float(value->type.dtype)) return;
  int64_t count = eg_type_elements(&value->type);
  for (int64_t i = 0; i < count; i++) {
    double size = fabs(eg_tensor_get_double(&value->parts[0], i));
    if (isfinite(size) && size > run->scale) run->scale = size;
  }
}

/// Returns the values of a term after all parallel operators around it.
static eg_rank_value *outer(const rank_term *term) {
  return term->stages + (size_t)term->moves * term->count;
}

static egraph_status cut_leaf(rank_run *run, uint32_t term, uint32_t var) {
  static const eg_layout whole = {.format = EG_FORMAT_PLAIN};
  const eg_verify_leaf *leaf = &run->instance->leaves[var];
  bool is_plain = leaf->splat || leaf->index_bound > 0 || leaf->constant ||
                  leaf->variance || run->leaves[var].type.dtype == EGRAPH_BOOL;
  const eg_layout *layout = run->way != NULL ? &run->way->layouts[term] : &whole;
  if (run->vars[var].parts != NULL) return EGRAPH_OK;
  return eg_rank_spread(run->arena, &run->mesh, &run->rng, is_plain, &run->leaves[var],
                        layout, &run->vars[var]);
}

static egraph_status node_of(const rank_run *run, uint32_t term, eg_rank_node *out,
                             const eg_rank_value ***out_inputs) {
  static const eg_strategy whole = {.share = 1};
  const eg_rule_term *node = &run->of->rule->terms[term];
  const eg_claim_term *known = &run->of->terms[term];
  eg_type *types;
  const eg_rank_value **inputs;
  size_t room = (size_t)node->child_count + 1;
  EG_NEW(run->arena, room, types);
  EG_NEW(run->arena, room, inputs);
  for (uint32_t i = 0; i < node->child_count; i++) {
    inputs[i] = outer(&run->terms[node->children[i]]);
    types[i] = run->of->terms[node->children[i]].types[0];
  }
  *out_inputs = inputs;
  *out =
      (eg_rank_node){.mesh = &run->mesh,
                     .spec = {.attrs = known->attrs,
                              .inputs = types,
                              .input_count = node->child_count,
                              .results = known->types,
                              .result_count = known->type_count},
                     .strategy = run->way != NULL ? &run->way->strategies[term] : &whole};
  return EGRAPH_OK;
}

/// Returns which result of a tuple (split) the term takes.
static uint32_t part_of(const rank_run *run, uint32_t term) {
  return (uint32_t)run->of->terms[term].attrs->slots[0].i;
}

static egraph_status run_core(rank_run *run, uint32_t t) {
  const eg_rule_term *term = &run->of->rule->terms[t];
  rank_term *made = &run->terms[t];
  eg_rank_node node;
  const eg_rank_value **inputs;
  if (term->is_var && run->meaning[term->var] != EG_RULE_NONE) {
    uint32_t of = run->meaning[term->var];
    bool is_let = run->of->rule->vars[term->var].origin == EG_RULE_VAR_LET_TERM;
    const eg_rank_value *values = is_let ? outer(&run->terms[of]) : run->terms[of].stages;
    memcpy(made->stages, values, made->count * sizeof *values);
    return EGRAPH_OK;
  }
  if (term->is_var) {
    EG_TRY(cut_leaf(run, t, term->var));
    made->stages[0] = run->vars[term->var];
    return EGRAPH_OK;
  }
  if (term->op == EG_OP_PART) {
    made->stages[0] = outer(&run->terms[term->children[0]])[part_of(run, t)];
    return EGRAPH_OK;
  }
  EG_TRY(node_of(run, t, &node, &inputs));
  return eg_rank_node_run(run->arena, &node, inputs, made->stages);
}

static egraph_status run_term(rank_run *run, uint32_t t) {
  uint32_t begin, end = eg_rule_moves_of(run->of->rule, t, &begin);
  rank_term *made = &run->terms[t];
  made->count = run->of->terms[t].type_count;
  made->moves = run->way != NULL ? end - begin : 0;
  size_t room = (size_t)(made->moves + 1) * made->count;
  EG_NEW(run->arena, room, made->stages);
  EG_NEW(run->arena, room, made->cotangents);
  EG_TRY(run_core(run, t));
  for (uint32_t i = 0; i < made->count; i++)
    note_scale(run, &made->stages[i]);
  for (uint32_t m = 0; m < made->moves; m++)
    for (uint32_t i = 0; i < made->count; i++)
      EG_TRY(eg_rank_move(run->arena, &run->mesh, &run->of->moves[begin + m],
                          &made->stages[m * made->count + i],
                          &made->stages[(m + 1) * made->count + i]));
  return EGRAPH_OK;
}

static egraph_status run_forward(rank_run *run) {
  const eg_rule *rule = run->of->rule;
  EG_NEW(run->arena, rule->term_count, run->terms);
  EG_NEW(run->arena, rule->var_count, run->vars);
  EG_NEW(run->arena, rule->var_count, run->meaning);
  for (uint32_t v = 0; v < rule->var_count; v++)
    run->meaning[v] = eg_rule_let_term(rule, v);
  for (uint32_t t = 0; t < rule->term_count; t++) {
    EG_TRY(run_term(run, t));
    if (!rule->terms[t].is_var && rule->terms[t].var != EG_RULE_NONE)
      run->meaning[rule->terms[t].var] = t;
  }
  return EGRAPH_OK;
}

// ---- backward -------------------------------------------------------------------------

/// Allocates the cotangents of a term, as zeros, unless they exist.
static egraph_status give(rank_run *run, uint32_t t) {
  rank_term *term = &run->terms[t];
  if (term->given) return EGRAPH_OK;
  term->given = true;
  for (uint32_t i = 0; i < (term->moves + 1) * term->count; i++)
    EG_TRY(eg_rank_zeros(run->arena, &run->mesh, &term->stages[i].type,
                         &term->stages[i].layout, &term->cotangents[i]));
  return EGRAPH_OK;
}

static void add_values(const rank_run *run, const eg_rank_value *of,
                       const eg_rank_value *inout, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t r = 0; r < eg_mesh_devices(&run->mesh); r++)
      if (eg_dtype_is_float(of[i].type.dtype))
        eg_rank_add(&of[i].parts[r], &inout[i].parts[r]);
}

static eg_rank_value *outer_cotangents(const rank_term *term) {
  return term->cotangents + (size_t)term->moves * term->count;
}

static egraph_status back_node(rank_run *run, uint32_t t) {
  const eg_rule_term *term = &run->of->rule->terms[t];
  eg_rank_node node;
  const eg_rank_value **inputs, **cotangents;
  EG_TRY(node_of(run, t, &node, &inputs));
  EG_NEW(run->arena, (size_t)term->child_count + 1, cotangents);
  for (uint32_t i = 0; i < term->child_count; i++) {
    EG_TRY(give(run, term->children[i]));
    if (eg_dtype_is_float(inputs[i]->type.dtype))
      cotangents[i] = outer_cotangents(&run->terms[term->children[i]]);
  }
  return eg_rank_node_back(run->arena, &node, inputs, run->terms[t].cotangents,
                           cotangents);
}

static egraph_status back_term(rank_run *run, uint32_t t) {
  const eg_rule_term *term = &run->of->rule->terms[t];
  rank_term *made = &run->terms[t];
  uint32_t begin;
  (void)eg_rule_moves_of(run->of->rule, t, &begin);
  for (uint32_t m = made->moves; m-- > 0;)
    for (uint32_t i = 0; i < made->count; i++) {
      size_t from = m * made->count + i, to = from + made->count;
      if (eg_dtype_is_float(made->stages[from].type.dtype))
        eg_rank_move_back(&run->mesh, &run->of->moves[begin + m], &made->stages[from],
                          &made->stages[to], &made->cotangents[to],
                          &made->cotangents[from]);
    }
  if (term->is_var && run->meaning[term->var] != EG_RULE_NONE) {
    uint32_t of = run->meaning[term->var];
    bool is_let = run->of->rule->vars[term->var].origin == EG_RULE_VAR_LET_TERM;
    EG_TRY(give(run, of));
    add_values(run, made->cotangents,
               is_let ? outer_cotangents(&run->terms[of]) : run->terms[of].cotangents,
               made->count);
    return EGRAPH_OK;
  }
  if (term->is_var) {
    add_values(run, made->cotangents, &run->var_cotangents[term->var], 1);
    return EGRAPH_OK;
  }
  if (term->op != EG_OP_PART) return back_node(run, t);
  EG_TRY(give(run, term->children[0]));
  add_values(run, made->cotangents,
             &outer_cotangents(&run->terms[term->children[0]])[part_of(run, t)], 1);
  return EGRAPH_OK;
}

/// Computes the cotangents of the variables from the cotangents of the results of one
/// side. `seeds`: whole cotangents, by result.
static egraph_status run_backward(rank_run *run, const eg_rule_root *roots,
                                  const eg_tensor *seeds) {
  const eg_rule *rule = run->of->rule;
  EG_NEW(run->arena, rule->var_count, run->var_cotangents);
  for (uint32_t v = 0; v < rule->var_count; v++)
    if (run->vars[v].parts != NULL)
      EG_TRY(eg_rank_zeros(run->arena, &run->mesh, &run->vars[v].type,
                           &run->vars[v].layout, &run->var_cotangents[v]));
  for (uint32_t t = 0; t < rule->term_count; t++)
    run->terms[t].given = false;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    eg_rank_value cut;
    EG_TRY(give(run, roots[i].term));
    const eg_rank_value *value = outer(&run->terms[roots[i].term]);
    EG_TRY(eg_rank_spread_cotangent(run->arena, &run->mesh, &run->rng, &seeds[i],
                                    &value->layout, &cut));
    add_values(run, &cut, outer_cotangents(&run->terms[roots[i].term]), 1);
  }
  for (uint32_t t = rule->term_count; t-- > 0;)
    if (run->terms[t].given) EG_TRY(back_term(run, t));
  return EGRAPH_OK;
}

// ---- comparing ------------------------------------------------------------------------

/// Appends the first element that differs between both tensors and sets *out_differ.
static egraph_status compare_tensors(const eg_tensor *ranks, const eg_tensor *one,
                                     double bound, eg_text *text, bool *out_differ) {
  int64_t count = eg_type_elements(&one->type);
  bool is_float = eg_dtype_is_float(one->type.dtype);
  assert(eg_type_elements(&ranks->type) == count);
  *out_differ = false;
  for (int64_t i = 0; i < count && !*out_differ; i++) {
    double x = eg_tensor_get_double(ranks, i), y = eg_tensor_get_double(one, i);
    if (!is_float)
      *out_differ = eg_tensor_get_int(ranks, i) != eg_tensor_get_int(one, i);
    else if (isfinite(x) && isfinite(y))
      *out_differ = fabs(x - y) > bound;
    else
      *out_differ = isfinite(x) || isfinite(y);
    if (*out_differ)
      EG_TRY(
          eg_text_printf(text, "element %" PRId64 ": %.9g, on one device %.9g", i, x, y));
  }
  return EGRAPH_OK;
}

typedef struct rank_pair {
  rank_run *many, *one;
  eg_text *text;
  bool differs;
} rank_pair;

/// Inserts in front of a difference's text where the results differ.
static egraph_status print_difference(rank_pair *pair, const char *what, uint32_t index,
                                      const char *name) {
  EG_LOCAL(eg_text, where, pair->text->chars.alloc);
  EG_TRY(eg_text_status(pair->text));
  EG_TRY(eg_text_append(&where, eg_text_of(pair->text)));
  eg_text_clear(pair->text);
  eg_text_printf(pair->text, "on %" PRIu32 " ranks %s ",
                 eg_mesh_devices(&pair->many->mesh), what);
  if (name != NULL)
    eg_text_printf(pair->text, "%s ", name);
  else
    eg_text_printf(pair->text, "%" PRIu32 ", ", index);
  return eg_text_append(pair->text, eg_text_of(&where));
}

/// Compares the ranks' results of a side, joined in the layouts of the left side, with
/// the left side's results on one device.
static egraph_status compare_side(rank_pair *pair, const eg_rule_root *roots,
                                  const char *what) {
  const eg_rule *rule = pair->many->of->rule;
  const eg_mesh *mesh = &pair->many->mesh;
  for (uint32_t i = 0; i < rule->root_count && !pair->differs; i++) {
    const eg_rank_value *left = outer(&pair->many->terms[rule->lhs[i].term]);
    const eg_rank_value *value = outer(&pair->many->terms[roots[i].term]);
    const eg_tensor *one = outer(&pair->one->terms[rule->lhs[i].term])->parts;
    eg_tensor whole;
    EG_TRY(eg_rank_tensor(pair->many->arena, one->type, &whole));
    uint32_t copies = eg_rank_copies(mesh, &left->layout, false);
    for (uint32_t c = 0; c < copies && !pair->differs; c++) {
      pair->differs = !eg_rank_join(mesh, value, &left->layout, c, &whole);
      if (pair->differs)
        EG_TRY(eg_text_append(pair->text, "parts are of another size than those of the "
                                          "left side"));
      else
        EG_TRY(compare_tensors(&whole, one, RANK_BOUND * fmax(1, pair->one->scale),
                               pair->text, &pair->differs));
    }
    if (pair->differs) EG_TRY(print_difference(pair, what, i, NULL));
  }
  return EGRAPH_OK;
}

static double scale_of(const eg_tensor *tensor) {
  double scale = 1;
  int64_t count = eg_type_elements(&tensor->type);
  for (int64_t i = 0; i < count; i++)
    scale = fmax(scale, fabs(eg_tensor_get_double(tensor, i)));
  return isfinite(scale) ? scale : 1;
}

static egraph_status compare_gradients(rank_pair *pair, const char *what,
                                       const eg_rank_value *wanted) {
  const eg_rule *rule = pair->many->of->rule;
  const eg_mesh *mesh = &pair->many->mesh;
  for (uint32_t v = 0; v < rule->var_count && !pair->differs; v++) {
    const eg_rank_value *found = &pair->many->var_cotangents[v];
    if (found->parts == NULL || wanted[v].parts == NULL ||
        !eg_dtype_is_float(found->type.dtype))
      continue;
    const eg_tensor *one = wanted[v].parts;
    eg_tensor whole;
    EG_TRY(eg_rank_tensor(pair->many->arena, one->type, &whole));
    double bound = RANK_BOUND * fmax(pair->one->scale, scale_of(one));
    uint32_t copies = eg_rank_copies(mesh, &found->layout, true);
    for (uint32_t c = 0; c < copies && !pair->differs; c++) {
      eg_rank_join_cotangent(mesh, found, c, &whole);
      EG_TRY(compare_tensors(&whole, one, bound, pair->text, &pair->differs));
    }
    if (pair->differs) EG_TRY(print_difference(pair, what, v, rule->vars[v].name));
  }
  return EGRAPH_OK;
}

static egraph_status draw_seeds(rank_pair *pair, eg_tensor **out) {
  const eg_rule *rule = pair->many->of->rule;
  EG_NEW(pair->many->arena, rule->root_count, *out);
  for (uint32_t i = 0; i < rule->root_count; i++) {
    const eg_tensor *like = outer(&pair->one->terms[rule->lhs[i].term])->parts;
    EG_TRY(eg_rank_tensor(pair->many->arena, like->type, &(*out)[i]));
    int64_t count = eg_type_elements(&like->type);
    for (int64_t k = 0; k < count && eg_dtype_is_float(like->type.dtype); k++)
      eg_tensor_set_double(&(*out)[i], k, draw_number(&pair->many->rng, false, false));
  }
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------------

/// True for partial sums of partial maxima, which are not the maxima of the sums.
/// Instances with such a layout are not run.
static bool is_mixed(const eg_mesh *mesh, const eg_layout *layout) {
  bool has_sum = false, has_most = false;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    has_sum = has_sum || layout->sharding[a] == EG_SHARD_P_SUM;
    has_most = has_most || layout->sharding[a] == EG_SHARD_P_MAX;
  }
  return has_sum && has_most;
}

/// Compares the gradients of both sides on ranks with the left side's on one device.
/// Fails with EGRAPH_E_UNSUPPORTED when there is no gradient.
static egraph_status check_backward(rank_pair *pair) {
  const eg_rule *rule = pair->many->of->rule;
  eg_tensor *seeds;
  EG_TRY(draw_seeds(pair, &seeds));
  EG_TRY(run_backward(pair->one, rule->lhs, seeds));
  const eg_rank_value *wanted = pair->one->var_cotangents;
  EG_TRY(run_backward(pair->many, rule->lhs, seeds));
  EG_TRY(compare_gradients(pair, "the gradient of the left side by", wanted));
  if (pair->differs) return EGRAPH_OK;
  EG_TRY(run_backward(pair->many, rule->rhs, seeds));
  return compare_gradients(pair, "the gradient of the right side by", wanted);
}

/// True when there is a gradient to compare: results that are integers or partial maxima
/// have none.
static bool has_gradient(const rank_pair *pair, const char **out_why) {
  const eg_rule *rule = pair->many->of->rule;
  bool is_float = false;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    const eg_rank_value *value = outer(&pair->many->terms[rule->lhs[i].term]);
    is_float = is_float || eg_dtype_is_float(value->type.dtype);
    for (uint32_t a = 0; a < pair->many->mesh.axis_count; a++)
      if (value->layout.sharding[a] == EG_SHARD_P_MAX) {
        *out_why = "its result is partial maxima";
        return false;
      }
  }
  *out_why = "";
  return is_float;
}

static egraph_status check_data(rank_pair *pair, const eg_tensor *leaves, bool backward,
                                eg_rank_verdict *out) {
  const eg_rule *rule = pair->many->of->rule;
  const char *why;
  pair->many->leaves = pair->one->leaves = leaves;
  egraph_status status = run_forward(pair->one);
  if (status == EGRAPH_OK) status = run_forward(pair->many);
  *out = EG_RANK_NOT_RUN;
  // The kernel does not support this type, or an operand is empty that must not be.
  if (status == EGRAPH_E_UNSUPPORTED || status == EGRAPH_E_ARGUMENT) return EGRAPH_OK;
  EG_TRY(status);
  EG_TRY(compare_side(pair, rule->lhs, "left result"));
  if (!pair->differs) EG_TRY(compare_side(pair, rule->rhs, "right result"));
  *out = pair->differs ? EG_RANK_DIFFERENT : EG_RANK_FORWARD;
  if (pair->differs || !backward) return EGRAPH_OK;
  if (!has_gradient(pair, &why)) return eg_text_append(pair->text, why);
  status = check_backward(pair);
  if (status == EGRAPH_E_UNSUPPORTED)
    return eg_text_append(pair->text, egraph_last_error());
  EG_TRY(status);
  *out = pair->differs ? EG_RANK_DIFFERENT : EG_RANK_BOTH;
  return EGRAPH_OK;
}

egraph_status eg_rank_check(const eg_claim_case *of, const eg_verify_instance *instance,
                            const eg_claim_way *way, uint64_t seed, eg_arena *scratch,
                            eg_text *text, eg_rank_verdict *out) {
  assert(of->rule == instance->rule);
  *out = EG_RANK_NOT_RUN;
  if (eg_mesh_devices(&of->mesh) > EG_RANKS_MOST) return EGRAPH_OK;
  for (uint32_t t = 0; t < of->rule->term_count; t++)
    if ((!of->rule->terms[t].is_var && of->rule->terms[t].op == EG_OP_BIT_CAST) ||
        is_mixed(&of->mesh, &way->layouts[t]))
      return EGRAPH_OK;
  for (int is_whole = 1; is_whole >= 0; is_whole--) {
    rank_run many = {.of = of,
                     .instance = instance,
                     .arena = scratch,
                     .mesh = of->mesh,
                     .way = way,
                     .rng.state = seed + (uint64_t)is_whole};
    rank_run one = {.of = of, .instance = instance, .arena = scratch};
    rank_pair pair = {.many = &many, .one = &one, .text = text};
    eg_tensor *leaves;
    EG_TRY(fill_leaves(instance, scratch, &many.rng, is_whole != 0, &leaves));
    EG_TRY(check_data(&pair, leaves, is_whole == 0, out));
    if (*out == EG_RANK_DIFFERENT || *out == EG_RANK_NOT_RUN) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}
