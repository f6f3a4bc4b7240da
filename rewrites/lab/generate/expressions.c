// Enumerates expressions by the nesting depth of functions. An expression of depth n has
// an argument of depth n - 1; its other arguments are atoms, or have any depth when the
// function joins two similar values.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/infer.h"

#include <assert.h>
#include <string.h>

#include "base/flatmap.h"
#include "base/hash.h"
#include "base/owner.h"
#include "base/text.h"
#include "rewrites/language/rule_ast.h"
#include "rewrites/saturation/rule_eval.h"

enum { MAX_DEPTH = 3, MAX_ARGS = 3, MAX_NODES = 6000, MAX_TRIALS = 400000 };

// ---- forms of several functions -----------------------------------------------------

#define CALL1(NAME, a) eg_rule_eval_##NAME(env, (const eg_rule_value[]){a}, 1, out)
#define CALL2(NAME, a, b) eg_rule_eval_##NAME(env, (const eg_rule_value[]){a, b}, 2, out)

#define FORM_EVALUATOR(name)                                                             \
  static bool name(eg_rule_env *env, const eg_rule_value *args,                          \
                   EG_MAYBE_UNUSED uint32_t count, eg_rule_value *out)

/// Computes the dimensions of the operand that a transpose moves to given dimensions:
/// result[i] = a[b[i]].
FORM_EVALUATOR(eval_moved_axes) {
  const eg_ints *perm = &args[0].ints, *axes = &args[1].ints;
  int64_t *moved = eg_rule_ints(env, axes->len);
  if (axes->len == 0 || axes->len > 2 || moved == NULL) return false;
  for (uint32_t i = 0; i < axes->len; i++) {
    uint32_t at;
    if (!eg_rule_index(axes->data[i], perm->len, &at)) return false;
    moved[i] = perm->data[at];
  }
  *out = (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = moved, .len = axes->len}};
  return true;
}
FORM_EVALUATOR(eval_moved_axis) {
  return args[1].ints.len == 1 && eval_moved_axes(env, args, count, out);
}
FORM_EVALUATOR(eval_two_moved_axes) {
  eg_rule_value moved;
  return args[1].ints.len == 2 && eval_moved_axes(env, args, count, &moved) &&
         CALL1(sort, moved);
}

/// Permutes both halves of a list, such as pads.
FORM_EVALUATOR(eval_moved_halves) {
  uint32_t half = args[0].ints.len;
  eg_rule_value halves[2] = {args[1], args[1]}, moved[2];
  if (args[1].ints.len != 2 * half || half == 0) return false;
  halves[0].ints.len = halves[1].ints.len = half;
  halves[1].ints.data += half;
  for (int i = 0; i < 2; i++)
    if (!eg_rule_eval_perm_apply(env, (const eg_rule_value[]){args[0], halves[i]}, 2,
                                 &moved[i]))
      return false;
  return CALL2(append, moved[0], moved[1]);
}

/// Removes the pads of batch and channels, which are 0, from the pads of an image.
FORM_EVALUATOR(eval_image_pads) {
  eg_rule_value first = args[0], second = args[0];
  uint32_t half = args[0].ints.len / 2;
  if (args[0].ints.len % 2 != 0 || half < 3) return false;
  for (uint32_t i = 0; i < 2; i++)
    if (args[0].ints.data[i] != 0 || args[0].ints.data[half + i] != 0) return false;
  first.ints = (eg_ints){.data = args[0].ints.data + 2, .len = half - 2};
  second.ints = (eg_ints){.data = args[0].ints.data + half + 2, .len = half - 2};
  return CALL2(append, first, second);
}

/// Exchanges the last two dimensions in a permutation.
FORM_EVALUATOR(eval_swapped_last) {
  uint32_t len = args[0].ints.len;
  if (len < 2) return false;
  eg_rule_value end[2] = {eg_rule_int(args[0].ints.data[len - 1]),
                          eg_rule_int(args[0].ints.data[len - 2])};
  eg_rule_value rest = args[0], swapped;
  rest.ints.len = len - 2;
  return eg_rule_eval_list(env, end, 2, &swapped) && CALL2(append, rest, swapped);
}

/// Makes the permutation that exchanges the last two of args[0] dimensions.
FORM_EVALUATOR(eval_swap_last) {
  const eg_rule_value three[] = {args[0], eg_rule_int(args[0].i - 2),
                                 eg_rule_int(args[0].i - 1)};
  return args[0].i >= 2 && eg_rule_eval_perm_swap(env, three, 3, out);
}

/// Makes the shape of a matrix that has all rows of a shape.
FORM_EVALUATOR(eval_all_rows) {
  eg_rule_value rows = args[0], size[2];
  if (rows.ints.len == 0) return false;
  rows.ints.len--;
  size[1] = eg_rule_int(args[0].ints.data[rows.ints.len]);
  return eg_rule_eval_product(env, &rows, 1, &size[0]) &&
         eg_rule_eval_list(env, size, 2, out);
}

FORM_EVALUATOR(eval_last) { return CALL2(at, args[0], eg_rule_int(-1)); }
FORM_EVALUATOR(eval_set_last) {
  const eg_rule_value three[] = {args[0], eg_rule_int(-1), args[1]};
  return eg_rule_eval_set_at(env, three, 3, out);
}

/// Changes one element of a list by `by` (plus or minus).
static bool eval_moved_element(eg_rule_env *env, const eg_rule_value *args,
                               eg_rule_evaluator *by, eg_rule_value *out) {
  eg_rule_value pair[2] = {args[0], args[2]}, three[3] = {args[0], args[1], args[2]};
  return eg_rule_eval_at(env, args, 2, &pair[0]) && by(env, pair, 2, &three[2]) &&
         eg_rule_eval_set_at(env, three, 3, out);
}
FORM_EVALUATOR(eval_raised) {
  return eval_moved_element(env, args, eg_rule_eval_add, out);
}
FORM_EVALUATOR(eval_lowered) {
  return eval_moved_element(env, args, eg_rule_eval_sub, out);
}

/// Makes the shape, of rank args[1], of a vector with a number per channel, for the
/// result and for the image of a convolution.
FORM_EVALUATOR(eval_of_results) {
  const eg_rule_value ones[] = {eg_rule_int(1), eg_rule_int(args[1].i - 1)};
  eg_rule_value first, rest;
  return args[1].i >= 1 && eg_rule_eval_list(env, args, 1, &first) &&
         eg_rule_eval_repeat(env, ones, 2, &rest) && CALL2(append, first, rest);
}
FORM_EVALUATOR(eval_of_images) {
  const eg_rule_value two[] = {eg_rule_int(1), args[0]};
  const eg_rule_value ones[] = {eg_rule_int(1), eg_rule_int(args[1].i - 2)};
  eg_rule_value first, rest;
  return args[1].i >= 2 && eg_rule_eval_list(env, two, 2, &first) &&
         eg_rule_eval_repeat(env, ones, 2, &rest) && CALL2(append, first, rest);
}

FORM_EVALUATOR(eval_inverse) {
  const eg_rule_value one = {.kind = EG_RULE_FLOAT, .f = 1};
  return CALL2(div, one, args[0]);
}
FORM_EVALUATOR(eval_opposite) { return CALL1(sub, args[0]); }

// ---- the table --------------------------------------------------------------------

/// The table of functions to try. Letters: i whole number, l list, f number. `joins`:
/// both arguments may be nested calls. A row is a function of the rule language, or a
/// form of several functions with the arguments $a and $b.
typedef struct trial_row {
  eg_rule_function function;
  const char *letters;
  eg_rule_evaluator *eval;
  bool joins;
  const char *form;
} trial_row;

#define FORM(text, letters, eval)                                                        \
  { EG_RULE_FN_COUNT, letters, eval, false, text }

static const trial_row TRIED[] = {
    FORM("[(at $a (at $b 0))]", "ll", eval_moved_axis),
    FORM("(sort [(at $a (at $b 0)) (at $a (at $b 1))])", "ll", eval_two_moved_axes),
    FORM("(append (perm-apply $a (take $b (len $a))) (perm-apply $a (drop $b (len $a))))",
         "ll", eval_moved_halves),
    FORM(
        "(append (take (drop $a 2) (- (/ (len $a) 2) 2)) (drop $a (+ (/ (len $a) 2) 2)))",
        "l", eval_image_pads),
    FORM("(perm-compose (perm-swap (len $a) (- (len $a) 2) (- (len $a) 1)) $a)", "l",
         eval_swapped_last),
    FORM("(perm-swap $a (- $a 2) (- $a 1))", "i", eval_swap_last),
    FORM("[(product (take $a (- (len $a) 1))) (at $a -1)]", "l", eval_all_rows),
    FORM("(at $a -1)", "l", eval_last),
    FORM("(set-at $a -1 $b)", "li", eval_set_last),
    FORM("(append [$a] (repeat 1 (- $b 1)))", "ii", eval_of_results),
    FORM("(append [1 $a] (repeat 1 (- $b 2)))", "ii", eval_of_images),
    FORM("(/ 1.0 $a)", "f", eval_inverse),
    FORM("(- $a)", "f", eval_opposite),
    {EG_RULE_FN_PERM_APPLY, "ll", eg_rule_eval_perm_apply, true, NULL},
    {EG_RULE_FN_APPEND, "ll", eg_rule_eval_append, true, NULL},
    {EG_RULE_FN_ADD, "ll", eg_rule_eval_add, true, NULL},
    {EG_RULE_FN_SUB, "ll", eg_rule_eval_sub, false, NULL},
    {EG_RULE_FN_PERM_INVERSE, "l", eg_rule_eval_perm_inverse, false, NULL},
    {EG_RULE_FN_ADD, "ii", eg_rule_eval_add, true, NULL},
    {EG_RULE_FN_SUB, "ii", eg_rule_eval_sub, false, NULL},
    {EG_RULE_FN_MUL, "ii", eg_rule_eval_mul, true, NULL},
    {EG_RULE_FN_AT, "li", eg_rule_eval_at, false, NULL},
    {EG_RULE_FN_SUB, "li", eg_rule_eval_sub, false, NULL},
    {EG_RULE_FN_LEN, "l", eg_rule_eval_len, false, NULL},
    {EG_RULE_FN_SORT, "l", eg_rule_eval_sort, false, NULL},
    {EG_RULE_FN_REVERSE, "l", eg_rule_eval_reverse, false, NULL},
    {EG_RULE_FN_PRODUCT, "l", eg_rule_eval_product, false, NULL},
    {EG_RULE_FN_TAKE, "li", eg_rule_eval_take, false, NULL},
    {EG_RULE_FN_DROP, "li", eg_rule_eval_drop, false, NULL},
    {EG_RULE_FN_REMOVE_AT, "li", eg_rule_eval_remove_at, false, NULL},
    {EG_RULE_FN_REPEAT, "ii", eg_rule_eval_repeat, false, NULL},
    {EG_RULE_FN_RANGE, "ii", eg_rule_eval_range, false, NULL},
    {EG_RULE_FN_LIST, "i", eg_rule_eval_list, false, NULL},
    {EG_RULE_FN_LIST, "ii", eg_rule_eval_list, true, NULL},
    {EG_RULE_FN_SET_AT, "lii", eg_rule_eval_set_at, false, NULL},
    {EG_RULE_FN_INSERT_AT, "lii", eg_rule_eval_insert_at, false, NULL},
    {EG_RULE_FN_FLOOR_DIV, "ii", eg_rule_eval_floor_div, false, NULL},
    {EG_RULE_FN_ADD, "ff", eg_rule_eval_add, true, NULL},
    {EG_RULE_FN_MUL, "ff", eg_rule_eval_mul, true, NULL},
    {EG_RULE_FN_SUB, "ff", eg_rule_eval_sub, false, NULL},
    {EG_RULE_FN_MAX, "ff", eg_rule_eval_max, true, NULL},
    {EG_RULE_FN_MIN, "ff", eg_rule_eval_min, true, NULL},
    FORM("(set-at $a $b (+ (at $a $b) $c))", "lii", eval_raised),
    FORM("(set-at $a $b (- (at $a $b) $c))", "lii", eval_lowered),
};

/// An expression: an atom, or a row of the function table applied to other expressions.
typedef struct node {
  const char *text;     // text of an atom, or NULL
  const trial_row *row; // table row of a call, or NULL
  uint32_t args[MAX_ARGS];
  uint32_t depth;
  eg_rule_kind kind;
  const eg_rule_value *values;
} node;
EG_VEC_DEFINE(node_vec, node);

typedef struct search {
  eg_arena *arena; // holds the texts
  eg_arena own;    // holds values
  const eg_fit *fit;
  node_vec nodes;                // by depth
  uint32_t first[MAX_DEPTH + 1]; // first node of each depth
  uint64_t *hashes;              // [target_count]
  eg_flatmap seen;               // by values
  eg_rule_scratch *scratch;
  uint64_t trials;
} search;
EG_OWNER_DEFINE_STATIC(search, (eg_arena, own), (node_vec, nodes), (eg_flatmap, seen))

static bool is_same_value(const eg_rule_value *a, const eg_rule_value *b) {
  return a->kind == b->kind && eg_rule_values_identical(a, b);
}

static bool has_same_values(const search *s, const eg_rule_value *a,
                            const eg_rule_value *b) {
  for (uint32_t i = 0; i < s->fit->members; i++)
    if (!is_same_value(&a[i], &b[i])) return false;
  return true;
}

static bool is_node_of(const void *user, uint32_t id, const void *key) {
  const search *s = user;
  return has_same_values(s, s->nodes.data[id].values, key);
}

static uint64_t hash_values(const search *s, const eg_rule_value *values) {
  uint64_t hash = 0;
  for (uint32_t i = 0; i < s->fit->members; i++) {
    const eg_rule_value *v = &values[i];
    hash = eg_hash_combine(hash, (uint64_t)v->kind);
    if (v->kind == EG_RULE_INTS)
      hash = eg_hash_bytes(hash, v->ints.data, v->ints.len * sizeof *v->ints.data);
    else if (v->kind == EG_RULE_FLOAT)
      hash = eg_hash_bytes(hash, &(double){v->f + 0.0}, sizeof v->f); // -0 counts as 0
    else
      hash = eg_hash_combine(hash, (uint64_t)v->i);
  }
  return hash;
}

// ---- texts ------------------------------------------------------------------------

// Appends an expression as text. The recursion is at most MAX_DEPTH deep.
static void print_expression(const search *s, const node *n, eg_text *out) {
  if (n->text != NULL) {
    eg_text_append(out, n->text);
    return;
  }
  if (n->row->form != NULL) {
    for (const char *c = n->row->form; *c != '\0'; c++)
      if (*c == '$')
        print_expression(s, &s->nodes.data[n->args[*++c - 'a']], out);
      else
        eg_text_append_bytes(out, c, 1);
    return;
  }
  eg_text_printf(out, "(%s", eg_rule_function_info_of(n->row->function)->name);
  for (uint32_t i = 0; n->row->letters[i] != '\0'; i++) {
    eg_text_append(out, " ");
    print_expression(s, &s->nodes.data[n->args[i]], out);
  }
  eg_text_append(out, ")");
}

static egraph_status add_option(search *s, const node *n, eg_fit_target *target) {
  EG_LOCAL(eg_text, text, s->own.alloc);
  const char **to = &target->options[target->option_count];
  print_expression(s, n, &text);
  EG_TRY(eg_text_status(&text));
  EG_TRY(eg_arena_string(s->arena, eg_text_of(&text), text.chars.len, to));
  target->option_count++;
  return EGRAPH_OK;
}

static egraph_status offer_to_targets(search *s, const node *n, uint64_t hash) {
  for (uint32_t i = 0; i < s->fit->target_count; i++) {
    eg_fit_target *target = &s->fit->targets[i];
    if (hash == s->hashes[i] && target->option_count < EG_FIT_OPTIONS &&
        has_same_values(s, n->values, target->values))
      EG_TRY(add_option(s, n, target));
  }
  return EGRAPH_OK;
}

/// Records the instances that these values fit, unless an earlier expression fits
/// as many.
static void note_most(const search *s, const eg_rule_value *values) {
  for (uint32_t i = 0; i < s->fit->target_count; i++) {
    eg_fit_target *target = &s->fit->targets[i];
    if (!is_same_value(&values[s->fit->must], &target->values[s->fit->must])) continue;
    uint32_t bits = 0;
    for (uint32_t k = 0; k < s->fit->members; k++)
      if (is_same_value(&values[k], &target->values[k])) bits |= 1u << k;
    if (__builtin_popcount(bits) > __builtin_popcount(target->most)) target->most = bits;
  }
}

// ---- nodes ------------------------------------------------------------------------

static egraph_status keep_values(search *s, const eg_rule_value *values,
                                 const eg_rule_value **out) {
  eg_rule_value *kept;
  EG_NEW(&s->own, s->fit->members, kept);
  for (uint32_t i = 0; i < s->fit->members; i++) {
    kept[i] = values[i];
    if (values[i].kind != EG_RULE_INTS || values[i].ints.len == 0) continue;
    int64_t *data;
    EG_NEW(&s->own, values[i].ints.len, data);
    memcpy(data, values[i].ints.data, values[i].ints.len * sizeof *data);
    kept[i].ints.data = data;
  }
  *out = kept;
  return EGRAPH_OK;
}

/// Adds an expression to the targets that have its values. Keeps it for larger
/// expressions unless another one has these values, which are borrowed.
static egraph_status offer_values(search *s, node n, const eg_rule_value *values) {
  uint32_t id;
  uint64_t hash = hash_values(s, values);
  n.values = values;
  n.kind = values[0].kind;
  EG_TRY(offer_to_targets(s, &n, hash));
  if (s->nodes.len == MAX_NODES ||
      eg_flatmap_find(&s->seen, hash, values, is_node_of, s, &id))
    return EGRAPH_OK;
  note_most(s, values);
  EG_TRY(keep_values(s, values, &n.values));
  EG_TRY(eg_flatmap_reserve_one(&s->seen));
  EG_TRY(node_vec_push(&s->nodes, n));
  eg_flatmap_put(&s->seen, hash, (uint32_t)s->nodes.len - 1);
  return EGRAPH_OK;
}

static egraph_status try_call(search *s, const trial_row *row, const uint32_t *args,
                              uint32_t depth) {
  eg_rule_env env = {.scratch = s->scratch};
  eg_rule_value values[EG_FIT_MEMBERS];
  uint32_t count = (uint32_t)strlen(row->letters);
  s->trials++;
  s->scratch->int_count = 0;
  for (uint32_t i = 0; i < s->fit->members; i++) {
    eg_rule_value operands[MAX_ARGS];
    for (uint32_t k = 0; k < count; k++)
      operands[k] = s->nodes.data[args[k]].values[i];
    if (!row->eval(&env, operands, count, &values[i])) return EGRAPH_OK; // has no value
  }
  node n = {.row = row, .depth = depth};
  memcpy(n.args, args, count * sizeof *args);
  return offer_values(s, n, values);
}

/// Tries calls of a function on expressions before `end`, the deepest of depth - 1. The
/// recursion is at most MAX_ARGS deep.
static egraph_status try_row(search *s, const trial_row *row, uint32_t *args, uint32_t at,
                             uint32_t deep, uint32_t depth, uint32_t end) {
  if (at == MAX_ARGS || row->letters[at] == '\0')
    return deep == 0 ? EGRAPH_OK : try_call(s, row, args, depth);
  char letter = row->letters[at];
  eg_rule_kind kind = letter == 'l'   ? EG_RULE_INTS
                      : letter == 'i' ? EG_RULE_INT
                                      : EG_RULE_FLOAT;
  bool is_last = at + 1 == MAX_ARGS || row->letters[at + 1] == '\0';
  uint32_t deepest = s->first[depth - 1], atoms = s->first[1];
  for (uint32_t i = is_last && deep == 0 ? deepest : 0; i < end && s->trials < MAX_TRIALS;
       i++) {
    if (!row->joins && i >= atoms && deep != 0) break;
    if (!row->joins && i >= atoms && i < deepest) i = deepest;
    const node *n = &s->nodes.data[i];
    if (n->kind != kind) continue;
    args[at] = i;
    EG_TRY(try_row(s, row, args, at + 1, deep + (n->depth == depth - 1), depth, end));
  }
  return EGRAPH_OK;
}

egraph_status eg_expressions_fit(eg_arena *arena, const eg_fit *fit) {
  if (fit->target_count == 0 || fit->members == 0) return EGRAPH_OK;
  assert(fit->members <= EG_FIT_MEMBERS && fit->must < fit->members);
  EG_LOCAL(search, s, arena->alloc);
  s.arena = arena;
  s.fit = fit;
  EG_NEW(&s.own, 1, s.scratch);
  EG_NEW(&s.own, fit->target_count, s.hashes);
  for (uint32_t i = 0; i < fit->target_count; i++)
    s.hashes[i] = hash_values(&s, fit->targets[i].values);
  for (uint32_t i = 0; i < fit->atom_count; i++)
    EG_TRY(offer_values(&s, (node){.text = fit->atoms[i].text}, fit->atoms[i].values));
  for (uint32_t depth = 1; depth <= MAX_DEPTH && s.trials < MAX_TRIALS; depth++) {
    bool is_done = depth > fit->depth;
    for (uint32_t i = 0; i < fit->target_count; i++)
      is_done = is_done && fit->targets[i].option_count != 0;
    if (is_done) return EGRAPH_OK;
    uint32_t args[MAX_ARGS], end = (uint32_t)s.nodes.len;
    s.first[depth] = end;
    for (size_t i = 0; i < sizeof TRIED / sizeof *TRIED; i++)
      EG_TRY(try_row(&s, &TRIED[i], args, 0, 0, depth, end));
  }
  return EGRAPH_OK;
}
