// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/term_numbers.h"

#include <math.h>

#include "base/hash.h"

/// Numbers from `least` on, `step` apart or (0) any: of both signs, of one, ties, small
/// and large ones.
typedef struct number_range {
  double least, width, step;
} number_range;
static const number_range RANGES[] = {
    {-3, 6, 0}, {0.25, 2, 0}, {-2, 5, 1}, {-0.5, 1, 0}, {-40, 80, 0}};
static const double TOLERANCE = 1e-6;

typedef struct evaluation {
  const eg_term_space *space;
  eg_arena arena;
  const number_range *range;
  uint64_t seed;
} evaluation;

static egraph_status new_tensor(evaluation *e, const eg_type *type, eg_tensor *out) {
  size_t bytes = eg_type_bytes(type);
  out->type = *type;
  return eg_arena_alloc(&e->arena, bytes > 0 ? bytes : 1, 1, &out->data);
}

/// A leaf has the same numbers wherever it stands.
static egraph_status fill_leaf(evaluation *e, uint32_t number, eg_tensor *out) {
  const eg_family_leaf *leaf = &eg_term_space_family(e->space)->leaves[number];
  const number_range *range = e->range;
  eg_rng rng = {.state = eg_hash_combine(e->seed, number)};
  eg_type type = leaf->type;
  if (eg_dtype_is_float(type.dtype)) type.dtype = EGRAPH_FLOAT64;
  EG_TRY(new_tensor(e, &type, out));
  for (int64_t i = 0; i < eg_type_elements(&type); i++) {
    double drawn = range->width * eg_rng_unit(&rng);
    if (range->step != 0) drawn = floor(drawn);
    eg_tensor_set_double(out, i, leaf->is_constant ? leaf->number : range->least + drawn);
  }
  return EGRAPH_OK;
}

static egraph_status compute(evaluation *e, const eg_space_term *term, eg_tensor *out);

/// At most EG_TERM_MAX_SIZE deep.
static egraph_status run_operator(evaluation *e, const eg_space_term *term,
                                  eg_tensor *out) {
  const eg_variant *v = eg_term_space_variant(e->space, term->variant);
  const eg_attrs *attrs = &eg_term_space_family(e->space)->templates[v->template].attrs;
  eg_tensor inputs[EG_FIELD_MAX_OPERANDS], *results;
  eg_type types[EG_FIELD_MAX_OPERANDS], *result_types;
  uint32_t count = eg_op_results(attrs);
  for (uint32_t i = 0; i < v->operand_count; i++) {
    uint32_t operand = eg_variant_operand(v, i, term->a, term->b);
    EG_TRY(compute(e, eg_term_space_at(e->space, operand), &inputs[i]));
    types[i] = inputs[i].type;
  }
  EG_TRY(eg_arena_alloc(&e->arena, count, sizeof *results, &results));
  EG_TRY(eg_arena_alloc(&e->arena, count, sizeof *result_types, &result_types));
  EG_TRY(eg_op_infer(attrs, types, v->operand_count, result_types));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(new_tensor(e, &result_types[i], &results[i]));
  const eg_kernel_call call = {.attrs = attrs,
                               .inputs = inputs,
                               .input_count = v->operand_count,
                               .outputs = results,
                               .output_count = count,
                               .alloc = e->arena.alloc};
  EG_TRY(eg_op_run(&call));
  *out = results[v->result];
  return EGRAPH_OK;
}

static egraph_status compute(evaluation *e, const eg_space_term *term, eg_tensor *out) {
  return term->variant == EG_TERM_NONE ? fill_leaf(e, term->a, out)
                                       : run_operator(e, term, out);
}

static egraph_status compute_code(evaluation *e, eg_term_code code, eg_tensor *out) {
  eg_space_term term;
  if (!eg_term_space_decode(e->space, code, &term))
    return EG_FAIL(EGRAPH_E_INTERNAL, "there is no term of that code");
  return compute(e, &term, out);
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

egraph_status eg_terms_differ(const eg_term_space *space, eg_term_code a, eg_term_code b,
                              uint64_t seed, bool *out_differ) {
  egraph_status status = EGRAPH_OK;
  *out_differ = false;
  for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES && !*out_differ; i++) {
    evaluation e = {
        .space = space, .range = &RANGES[i], .seed = eg_hash_combine(seed, i)};
    eg_tensor first, second;
    eg_arena_init(&e.arena, eg_allocator_heap());
    status = compute_code(&e, a, &first);
    if (status == EGRAPH_OK) status = compute_code(&e, b, &second);
    if (status == EGRAPH_OK) *out_differ = are_apart(&first, &second);
    eg_arena_deinit(&e.arena);
    if (status != EGRAPH_OK) break;
  }
  return status == EGRAPH_E_MEMORY ? status : EGRAPH_OK;
}
