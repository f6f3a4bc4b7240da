// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/flatmap.h"
#include "base/hash.h"
#include "base/owner.h"
#include "rewrites/lab/basis/tensors.h"

enum { SECOND_POINT = 2, MORE_POINTS = 2, MAX_SUBTERMS = 32 };

// ---- floating-point numbers -----------------------------------------------------

// Drops pairs that are no rules. Terms that are equal in the field GF(p) because of the
// signs of its numbers, or because of how the field extends a function, may differ in
// floating point.

/// A range of random numbers, from `least` on, in steps of `step` (0: any). Ranges cover
/// both signs, one sign, ties, small and large numbers.
typedef struct number_range {
  double least, width, step;
} number_range;
static const number_range RANGES[] = {
    {-3, 6, 0}, {0.25, 2, 0}, {-2, 5, 1}, {-0.5, 1, 0}, {-40, 80, 0}};
static const double TOLERANCE = 1e-6;

typedef struct evaluation {
  const eg_term_space *space;
  eg_arena *arena;
  const number_range *range;
  uint64_t seed;
} evaluation;

/// Fills the tensor of a leaf with random numbers, the same in every term.
static egraph_status fill_leaf(evaluation *e, uint32_t number, eg_tensor *out) {
  const eg_family_leaf *leaf = &eg_term_space_family(e->space)->leaves[number];
  const number_range *range = e->range;
  eg_rng rng = {.state = eg_hash_combine(e->seed, number)};
  eg_type type = leaf->type;
  if (eg_dtype_is_float(type.dtype)) type.dtype = EGRAPH_FLOAT64;
  EG_TRY(eg_arena_tensor(e->arena, &type, out));
  for (int64_t i = 0; i < eg_type_elements(&type); i++) {
    double drawn = range->width * eg_rng_unit(&rng);
    if (range->step != 0) drawn = floor(drawn);
    eg_tensor_set_double(out, i, leaf->is_constant ? leaf->number : range->least + drawn);
  }
  return EGRAPH_OK;
}

static egraph_status compute_term(evaluation *e, const eg_space_term *term,
                                  eg_tensor *out);

/// Runs an operator on its operands. The recursion is at most EG_TERM_MAX_SIZE deep.
static egraph_status run_operator(evaluation *e, const eg_space_term *term,
                                  eg_tensor *out) {
  const eg_variant *v = eg_term_space_variant(e->space, term->variant);
  const eg_attrs *attrs = &eg_term_space_family(e->space)->templates[v->template].attrs;
  eg_tensor inputs[EG_FIELD_MAX_OPERANDS], *results;
  eg_type types[EG_FIELD_MAX_OPERANDS], *result_types;
  uint32_t count = eg_op_results(attrs);
  for (uint32_t i = 0; i < v->operand_count; i++) {
    uint32_t operand = eg_variant_operand(v, i, term->a, term->b);
    EG_TRY(compute_term(e, eg_term_space_at(e->space, operand), &inputs[i]));
    types[i] = inputs[i].type;
  }
  EG_NEW(e->arena, count, results);
  EG_NEW(e->arena, count, result_types);
  EG_TRY(eg_op_infer(attrs, types, v->operand_count, result_types));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_arena_tensor(e->arena, &result_types[i], &results[i]));
  EG_TRY(eg_kernel_run(e->arena, attrs, inputs, v->operand_count, results, count));
  *out = results[v->result];
  return EGRAPH_OK;
}

static egraph_status compute_term(evaluation *e, const eg_space_term *term,
                                  eg_tensor *out) {
  return term->variant == EG_TERM_NONE ? fill_leaf(e, term->a, out)
                                       : run_operator(e, term, out);
}

static egraph_status compute_code(evaluation *e, eg_term_code code, eg_tensor *out) {
  eg_space_term term;
  if (!eg_term_space_decode(e->space, code, &term))
    return EG_FAIL(EGRAPH_E_INTERNAL, "there is no term of that code");
  return compute_term(e, &term, out);
}

static bool are_apart(const eg_tensor *a, const eg_tensor *b) {
  int64_t count = eg_type_elements(&a->type);
  double largest = 1;
  if (!eg_type_same_shape(&a->type, &b->type)) return true;
  for (int64_t i = 0; i < count; i++) {
    double size = fabs(eg_tensor_get_double(a, i));
    if (isfinite(size) && size > largest) largest = size;
  }
  for (int64_t i = 0; i < count; i++) {
    double x = eg_tensor_get_double(a, i), y = eg_tensor_get_double(b, i);
    if (isfinite(x) && isfinite(y) && fabs(x - y) > TOLERANCE * largest) return true;
  }
  return false;
}

static egraph_status compare_terms(const evaluation *how, eg_term_code a, eg_term_code b,
                                   bool *out_differ) {
  EG_LOCAL(eg_arena, arena, eg_allocator_heap());
  evaluation e = *how;
  eg_tensor first, second;
  e.arena = &arena;
  EG_TRY(compute_code(&e, a, &first));
  EG_TRY(compute_code(&e, b, &second));
  *out_differ = are_apart(&first, &second);
  return EGRAPH_OK;
}

egraph_status eg_terms_differ(const eg_term_space *space, eg_term_code a, eg_term_code b,
                              uint64_t seed, bool *out_differ) {
  *out_differ = false;
  for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES && !*out_differ; i++) {
    const evaluation how = {
        .space = space, .range = &RANGES[i], .seed = eg_hash_combine(seed, i)};
    egraph_status status = compare_terms(&how, a, b, out_differ);
    if (status != EGRAPH_OK) return status == EGRAPH_E_MEMORY ? status : EGRAPH_OK;
  }
  return EGRAPH_OK;
}

// ---- points of the field --------------------------------------------------------

typedef struct sieve {
  eg_term_space *space;
  eg_values left, right;
  eg_text text;
  eg_flatmap seen; // hash of a candidate's text
  eg_values hashes;
  eg_candidates *out;
  size_t first; // first candidate of this sifting in `out`
  eg_candidate_counts *counts;
} sieve;
EG_OWNER_DEFINE_STATIC(sieve, (eg_values, left, right, hashes), (eg_text, text),
                       (eg_flatmap, seen))

static egraph_status is_equal_at(sieve *s, const eg_term_pair *pair,
                                 const eg_term_point *point, bool *out) {
  EG_TRY(eg_term_space_value(s->space, pair->first, point, &s->left));
  EG_TRY(eg_term_space_value(s->space, pair->other, point, &s->right));
  *out = s->left.len == s->right.len &&
         memcmp(s->left.data, s->right.data, s->left.len * sizeof *s->left.data) == 0;
  return EGRAPH_OK;
}

// ---- subterms -------------------------------------------------------------------

typedef struct subterms {
  uint32_t terms[MAX_SUBTERMS];
  uint32_t count;
} subterms;

// Lists a term and its subterms. The recursion is at most EG_TERM_MAX_SIZE deep.
static void list_below(const eg_term_space *space, uint32_t term, subterms *out) {
  if (term == EG_TERM_NONE) return;
  const eg_space_term *t = eg_term_space_at(space, term);
  bool is_constant =
      t->variant == EG_TERM_NONE && eg_term_space_family(space)->leaves[t->a].is_constant;
  if ((t->size == 0 && !is_constant) || out->count == MAX_SUBTERMS) return;
  for (uint32_t i = 0; i < out->count; i++)
    if (out->terms[i] == term) return;
  if (!is_constant) {
    list_below(space, t->a, out);
    list_below(space, t->b, out);
  }
  if (out->count < MAX_SUBTERMS) out->terms[out->count++] = term;
}

/// Lists operators and constants of a side, and the whole side if it is kept (with a
/// variable in place of the whole, the rule would be the other side alone).
static void list_of(const eg_term_space *space, eg_term_code code, subterms *out) {
  eg_space_term term;
  out->count = 0;
  if (!eg_term_space_decode(space, code, &term)) return;
  if (code >> 52 == 0xfff) {
    list_below(space, (uint32_t)code, out);
    return;
  }
  list_below(space, term.a, out);
  list_below(space, term.b, out);
}

static egraph_status is_instance(sieve *s, const eg_term_pair *pair, bool *out) {
  subterms first, other;
  list_of(s->space, pair->first, &first);
  list_of(s->space, pair->other, &other);
  *out = false;
  for (uint32_t i = 0; i < other.count && !*out; i++) {
    for (uint32_t k = 0; k < first.count && !*out; k++)
      *out = first.terms[k] == other.terms[i];
    for (uint32_t k = 0; k < MORE_POINTS && *out; k++) {
      eg_term_point point = {.seed = SECOND_POINT + k, .given = other.terms[i]};
      EG_TRY(is_equal_at(s, pair, &point, out));
    }
  }
  return EGRAPH_OK;
}

// ---- texts ----------------------------------------------------------------------

static bool same_hash(const void *user, uint32_t id, const void *key) {
  return ((const sieve *)user)->hashes.data[id] == *(const uint64_t *)key;
}

/// Adds a pair of terms that may be a rule unless another has the same text. Texts are
/// compared by 64-bit hashes: a collision loses a pair, with probability n^2 / 2^65.
static egraph_status add_candidate(sieve *s, const eg_draft *draft) {
  eg_text_clear(&s->text);
  EG_TRY(eg_draft_print_sides(draft, &s->text));
  uint64_t hash = eg_hash_bytes(0, s->text.chars.data, s->text.chars.len);
  uint32_t id;
  if (eg_flatmap_find(&s->seen, hash, &hash, same_hash, s, &id)) {
    s->out->data[s->first + id].instances++;
    s->counts->repeated++;
    return EGRAPH_OK;
  }
  eg_space_term left, right;
  (void)eg_term_space_decode(s->space, draft->left, &left);
  (void)eg_term_space_decode(s->space, draft->right, &right);
  eg_candidate made = {.left = draft->left,
                       .right = draft->right,
                       .instances = 1,
                       .size_left = left.size,
                       .size_right = right.size,
                       .variables = left.var_count};
  EG_TRY(eg_flatmap_reserve_one(&s->seen));
  EG_TRY(eg_values_push(&s->hashes, hash));
  EG_TRY(eg_candidates_push(s->out, made));
  eg_flatmap_put(&s->seen, hash, (uint32_t)s->hashes.len - 1);
  return EGRAPH_OK;
}

static egraph_status sift_pair(sieve *s, const eg_term_pair *pair) {
  bool holds = true, is_special, differs;
  eg_draft draft;
  s->counts->pairs++;
  for (uint32_t i = 0; i < MORE_POINTS && holds; i++) {
    const eg_term_point point = {.seed = SECOND_POINT + i, .given = EG_TERM_NONE};
    EG_TRY(is_equal_at(s, pair, &point, &holds));
  }
  if (!holds) {
    s->counts->accidents++;
    return EGRAPH_OK;
  }
  if (!eg_draft_of(s->space, pair->other, pair->first, &draft)) {
    s->counts->undirected++;
    return EGRAPH_OK;
  }
  EG_TRY(is_instance(s, pair, &is_special));
  if (is_special) {
    s->counts->generalized++;
    return EGRAPH_OK;
  }
  EG_TRY(eg_terms_differ(s->space, pair->first, pair->other, SECOND_POINT, &differs));
  if (differs) {
    s->counts->accidents++;
    return EGRAPH_OK;
  }
  return add_candidate(s, &draft);
}

static int by_size(const void *a, const void *b) {
  const eg_candidate *x = a, *y = b;
  int size_x = x->size_left + x->size_right, size_y = y->size_left + y->size_right;
  if (size_x != size_y) return size_x - size_y;
  if (x->variables != y->variables) return y->variables - x->variables;
  if (x->left != y->left) return x->left < y->left ? -1 : 1;
  return x->right < y->right ? -1 : x->right > y->right;
}

egraph_status eg_candidates_sift(eg_term_space *space, const eg_term_pairs *pairs,
                                 eg_candidates *out, eg_candidate_counts *counts) {
  EG_LOCAL(sieve, s, out->alloc);
  s.space = space;
  s.out = out;
  s.first = out->len;
  s.counts = counts;
  for (size_t i = 0; i < pairs->len; i++)
    EG_TRY(sift_pair(&s, &pairs->data[i]));
  if (out->len != s.first)
    qsort(out->data + s.first, out->len - s.first, sizeof *out->data, by_size);
  return EGRAPH_OK;
}
