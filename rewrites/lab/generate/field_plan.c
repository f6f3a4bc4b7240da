// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/field_plan.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "ops/kernels.h"
#include "rewrites/lab/basis/tensors.h"

// ---- running --------------------------------------------------------------------

uint64_t eg_field_dot(const uint64_t *a, const uint64_t *b, uint32_t count) {
  eg_field_wide sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    sum += (eg_field_wide)a[i] * b[i];
    if (i % EG_FIELD_LAZY == EG_FIELD_LAZY - 1) sum = eg_field_fold(sum);
  }
  return eg_field_reduce(sum);
}

static inline uint64_t at_place(const uint64_t *const *operands, uint32_t place) {
  assert(place >> 24 < EG_FIELD_MAX_OPERANDS);
  return operands[place >> 24][place & 0xffffff];
}

static uint64_t sum_products(const eg_field_terms *t, uint32_t element, const uint64_t *a,
                             const uint64_t *b) {
  eg_field_wide sum = 0;
  uint32_t begin = t->begin[element], end = t->begin[element + 1];
  for (uint32_t i = begin; i < end; i++) {
    sum += (eg_field_wide)a[t->from[i]] * b[t->other[i]];
    if ((i - begin) % EG_FIELD_LAZY == EG_FIELD_LAZY - 1) sum = eg_field_fold(sum);
  }
  return eg_field_reduce(sum);
}

static uint64_t sum_elements(const eg_field_terms *t, uint32_t element,
                             const uint64_t *const *operands) {
  eg_field_wide sum = 0;
  uint32_t begin = t->begin[element], end = t->begin[element + 1];
  for (uint32_t i = begin; i < end; i++) {
    uint64_t value = at_place(operands, t->from[i]);
    sum += t->factors != NULL ? (eg_field_wide)value * t->factors[i] : value;
    if ((i - begin) % EG_FIELD_LAZY == EG_FIELD_LAZY - 1) sum = eg_field_fold(sum);
  }
  return eg_field_reduce(sum);
}

static uint64_t extreme(const eg_field_plan *plan, uint32_t element,
                        const uint64_t *const *operands) {
  const eg_field_terms *t = &plan->sums;
  bool is_max = plan->op != EG_OP_REDUCE_MIN;
  uint32_t begin = t->begin[element];
  uint64_t best = at_place(operands, t->from[begin]);
  for (uint32_t i = begin + 1; i < t->begin[element + 1]; i++) {
    uint64_t other = at_place(operands, t->from[i]);
    bool is_above = eg_field_signed(other) > eg_field_signed(best);
    if (is_above == is_max) best = other;
  }
  return best;
}

// ---- rows -----------------------------------------------------------------------

static void run_softmax(const eg_field_plan *plan, const uint64_t *const *operands,
                        uint64_t *out) {
  const eg_field_terms *t = &plan->sums;
  for (uint32_t row = 0; row < plan->row_count; row++) {
    uint64_t sum = 0;
    for (uint32_t i = t->begin[row]; i < t->begin[row + 1]; i++)
      sum = eg_field_add(sum, eg_field_exp(at_place(operands, t->from[i])));
    uint64_t inverse = eg_field_inverse(sum);
    for (uint32_t i = t->begin[row]; i < t->begin[row + 1]; i++) {
      uint64_t e = eg_field_exp(at_place(operands, t->from[i]));
      out[t->from[i]] = eg_field_mul(e, inverse);
    }
  }
  if (plan->op == EG_OP_LOG_SOFTMAX)
    for (uint32_t i = 0; i < plan->elements; i++)
      out[i] = eg_field_log(out[i]);
}

static uint64_t inverse_root(uint64_t variance, uint64_t epsilon) {
  return eg_field_inverse(eg_field_sqrt(eg_field_add(variance, epsilon)));
}

static void run_normalization(const eg_field_plan *plan, const uint64_t *const *operands,
                              uint64_t *out) {
  const eg_field_terms *t = &plan->sums;
  bool is_centred = plan->op != EG_OP_RMS_NORM;
  for (uint32_t row = 0; row < plan->row_count; row++) {
    uint32_t begin = t->begin[row], end = t->begin[row + 1];
    uint64_t share = eg_field_inverse(end - begin), mean = 0, square = 0;
    for (uint32_t i = begin; is_centred && i < end; i++)
      mean = eg_field_add(mean, at_place(operands, t->from[i]));
    mean = eg_field_mul(mean, share);
    for (uint32_t i = begin; i < end; i++) {
      uint64_t off = eg_field_sub(at_place(operands, t->from[i]), mean);
      square = eg_field_add(square, eg_field_mul(off, off));
    }
    uint64_t scale = inverse_root(eg_field_mul(square, share), plan->epsilon);
    for (uint32_t i = begin; i < end; i++) {
      uint32_t at = t->from[i], c = plan->channel[at];
      uint64_t off = eg_field_sub(operands[0][at], mean);
      out[at] = eg_field_mul(eg_field_mul(off, scale), operands[1][c]);
      if (plan->operand_count > 2) out[at] = eg_field_add(out[at], operands[2][c]);
    }
  }
}

static void run_batch_norm(const eg_field_plan *plan, const uint64_t *const *operands,
                           uint64_t *out) {
  for (uint32_t i = 0; i < plan->elements; i++) {
    uint32_t c = plan->channel[i];
    uint64_t off = eg_field_sub(operands[0][i], operands[3][c]);
    uint64_t scale =
        eg_field_mul(operands[1][c], inverse_root(operands[4][c], plan->epsilon));
    out[i] = eg_field_add(eg_field_mul(off, scale), operands[2][c]);
  }
}

static void run_row_plan(const eg_field_plan *plan, const uint64_t *const *operands,
                         uint64_t *out) {
  if (plan->op == EG_OP_BATCH_NORM)
    run_batch_norm(plan, operands, out);
  else if (plan->op == EG_OP_SOFTMAX || plan->op == EG_OP_LOG_SOFTMAX)
    run_softmax(plan, operands, out);
  else
    run_normalization(plan, operands, out);
}

void eg_field_plan_run(const eg_field_plan *plan, const uint64_t *const *operands,
                       uint64_t *out) {
  if (plan->kind == EG_FIELD_ROWS) {
    run_row_plan(plan, operands, out);
    return;
  }
  if (plan->kind == EG_FIELD_CONSTANT) {
    memcpy(out, plan->constants, plan->elements * sizeof *out);
    return;
  }
  const uint32_t *from = plan->sums.from, *begin = plan->sums.begin;
  for (uint32_t i = 0; i < plan->elements; i++) {
    if (plan->kind == EG_FIELD_PAIRWISE || plan->kind == EG_FIELD_CHOICE) {
      uint64_t elements[EG_FORMULA_OPERANDS];
      for (uint32_t k = 0; k < plan->operand_count; k++)
        elements[k] = at_place(operands, from[begin[i] + k]);
      out[i] = eg_field_apply(&plan->function, elements);
      continue;
    } else if (plan->kind == EG_FIELD_LATTICE) {
      out[i] = extreme(plan, i, operands);
    } else {
      out[i] = begin != NULL ? sum_elements(&plan->sums, i, operands) : 0;
      if (plan->has_products)
        out[i] = eg_field_add(out[i],
                              sum_products(&plan->products, i, operands[0], operands[1]));
    }
    if (plan->has_function) out[i] = eg_field_apply(&plan->function, &out[i]);
  }
}

void eg_field_plan_adjoint(const eg_field_plan *plan, const uint64_t *const *operands,
                           const uint64_t *weights, uint32_t count, uint64_t *out,
                           uint64_t *out_rest) {
  assert(plan->kind == EG_FIELD_POLYNOMIAL && !plan->has_function);
  memset(out, 0, count * sizeof *out);
  uint64_t rest = 0;
  const eg_field_terms *products = &plan->products, *sums = &plan->sums;
  for (uint32_t i = 0; i < plan->elements; i++) {
    if (plan->has_products)
      for (uint32_t k = products->begin[i]; k < products->begin[i + 1]; k++)
        out[products->from[k]] =
            eg_field_add(out[products->from[k]],
                         eg_field_mul(weights[i], operands[1][products->other[k]]));
    if (sums->begin == NULL) continue;
    for (uint32_t k = sums->begin[i]; k < sums->begin[i + 1]; k++) {
      uint64_t factor =
          sums->factors == NULL ? weights[i] : eg_field_mul(weights[i], sums->factors[k]);
      uint32_t place = sums->from[k];
      if (place >> 24 == 0)
        out[place] = eg_field_add(out[place], factor);
      else
        rest = eg_field_add(rest, eg_field_mul(factor, at_place(operands, place)));
    }
  }
  *out_rest = rest;
}

// ---- reading off kernels --------------------------------------------------------

/// A kernel that is run to find which elements it reads: operands and results are float64
/// (indices and bool keep their type).
typedef struct probe {
  eg_arena *arena; // arena of the plan
  eg_arena scratch;
  const eg_attrs *attrs;
  uint32_t count, result, result_count;
  eg_tensor inputs[EG_FIELD_MAX_OPERANDS];
  eg_tensor *results;
  uint32_t sizes[EG_FIELD_MAX_OPERANDS];
  uint32_t elements;
} probe;

EG_OWNER_DEFINE_STATIC(probe, (eg_arena, scratch))

static egraph_status run_probe(probe *p) {
  return eg_kernel_run(&p->scratch, p->attrs, p->inputs, p->count, p->results,
                       p->result_count);
}

static double *data_of(const probe *p, uint32_t operand) {
  return p->inputs[operand].data;
}
/// Returns an element of the kernel's result as double; casts have other result types.
static double result_at(const probe *p, uint32_t element) {
  return eg_tensor_get_double(&p->results[p->result], element);
}

static egraph_status open_probe(probe *p, const eg_type *types) {
  eg_type wide[EG_FIELD_MAX_OPERANDS] = {{0}};
  for (uint32_t i = 0; i < p->count; i++) {
    wide[i] = types[i];
    wide[i].dtype = EGRAPH_FLOAT64;
    p->sizes[i] = (uint32_t)eg_type_elements(&wide[i]);
    EG_TRY(eg_arena_tensor(&p->scratch, &wide[i], &p->inputs[i]));
  }
  p->result_count = eg_op_results(p->attrs);
  eg_type *result_types;
  EG_NEW(&p->scratch, p->result_count, p->results);
  EG_NEW(&p->scratch, p->result_count, result_types);
  EG_TRY(eg_op_infer(p->attrs, wide, p->count, result_types));
  for (uint32_t r = 0; r < p->result_count; r++)
    EG_TRY(eg_arena_tensor(&p->scratch, &result_types[r], &p->results[r]));
  p->elements = (uint32_t)eg_type_elements(&result_types[p->result]);
  return EGRAPH_OK;
}

typedef struct entry {
  uint32_t element, from, other;
  double factor;
} entry;
EG_VEC_DEFINE(entries, entry);

/// Sorts the entries of sums by result element, in the order in which they were found.
static egraph_status sort_entries(probe *p, const entries *all, eg_field_terms *out) {
  bool has_factors = false;
  for (size_t i = 0; i < all->len; i++)
    has_factors = has_factors || all->data[i].factor != 1;
  EG_NEW(p->arena, p->elements + 1u, out->begin);
  EG_NEW(p->arena, all->len, out->from);
  EG_NEW(p->arena, all->len, out->other);
  if (has_factors) EG_NEW(p->arena, all->len, out->factors);
  for (size_t i = 0; i < all->len; i++)
    out->begin[all->data[i].element + 1]++;
  for (uint32_t e = 0; e < p->elements; e++)
    out->begin[e + 1] += out->begin[e];
  uint32_t *next;
  EG_NEW(&p->scratch, p->elements, next);
  for (size_t i = 0; i < all->len; i++) {
    const entry *from = &all->data[i];
    uint32_t at = out->begin[from->element] + next[from->element]++;
    out->from[at] = from->from;
    out->other[at] = from->other;
    if (has_factors && !eg_field_of_double(from->factor, false, &out->factors[at]))
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "%s: %.17g is no quotient of small integers; leave that attribute "
                     "out of the family",
                     eg_op_info_of((eg_op)p->attrs->op)->name, from->factor);
  }
  return EGRAPH_OK;
}

/// Finds the terms that an operand adds to the results while the other operands are zero.
/// An operator that moves elements is run once, on elements that are numbered.
static egraph_status read_linear(probe *p, uint32_t operand, bool moves, entries *all) {
  double *data = data_of(p, operand);
  for (uint32_t j = 0; j < (moves ? 1 : p->sizes[operand]); j++) {
    for (uint32_t i = 0; i < p->sizes[operand]; i++)
      data[i] = moves ? i + 1 : i == j;
    EG_TRY(run_probe(p));
    for (uint32_t e = 0; e < p->elements; e++) {
      double value = result_at(p, e);
      if (value == 0) continue;
      if (moves && !(value >= 1 && value <= p->sizes[operand]))
        return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                       "%s puts %g where no element is; leave that attribute out of the "
                       "family",
                       eg_op_info_of((eg_op)p->attrs->op)->name, value);
      uint32_t from = moves ? (uint32_t)value - 1 : j;
      entry found = {.element = e,
                     .from = EG_FIELD_PLACE(operand, from),
                     .factor = moves ? 1 : value};
      EG_TRY(entries_push(all, found));
    }
  }
  memset(data, 0, p->sizes[operand] * sizeof *data);
  return EGRAPH_OK;
}

/// Finds the products in the results: sets one element of operand 1 at a time; each
/// result is then one element of operand 0, or 0.
static egraph_status read_products(probe *p, entries *all) {
  double *a = data_of(p, 0), *b = data_of(p, 1);
  for (uint32_t i = 0; i < p->sizes[0]; i++)
    a[i] = i + 1;
  for (uint32_t j = 0; j < p->sizes[1]; j++) {
    b[j] = 1;
    EG_TRY(run_probe(p));
    for (uint32_t e = 0; e < p->elements; e++) {
      double value = result_at(p, e);
      if (value < 1 || value > p->sizes[0]) continue;
      entry found = {.element = e, .from = (uint32_t)value - 1, .other = j, .factor = 1};
      EG_TRY(entries_push(all, found));
    }
    b[j] = 0;
  }
  memset(a, 0, p->sizes[0] * sizeof *a);
  return EGRAPH_OK;
}

static egraph_status read_terms(probe *p, bool has_products, bool moves,
                                eg_field_plan *out) {
  EG_LOCAL(entries, products, p->scratch.alloc);
  EG_LOCAL(entries, sums, p->scratch.alloc);
  if (has_products) EG_TRY(read_products(p, &products));
  for (uint32_t i = has_products ? 2 : 0; i < p->count; i++)
    EG_TRY(read_linear(p, i, moves, &sums));
  if (has_products) EG_TRY(sort_entries(p, &products, &out->products));
  if (sums.len != 0 || !has_products) EG_TRY(sort_entries(p, &sums, &out->sums));
  out->has_products = has_products;
  return EGRAPH_OK;
}

// ---- comparing with the kernel --------------------------------------------------

/// Compares the plan with the kernel on random integers: all results must be equal. A
/// result of the kernel that is a fraction, such as a mean, is read as a quotient
/// (eg_field_of_double).
static egraph_status compare_with_kernel(probe *p, const eg_field_plan *plan) {
  uint64_t *operands[EG_FIELD_MAX_OPERANDS], *out;
  eg_rng rng = {.state = 1};
  for (uint32_t i = 0; i < p->count; i++) {
    EG_NEW(&p->scratch, p->sizes[i], operands[i]);
    for (uint32_t k = 0; k < p->sizes[i]; k++) {
      int64_t value = (int64_t)eg_rng_below(&rng, 19) - 9;
      data_of(p, i)[k] = (double)value;
      operands[i][k] = eg_field_of_int(value);
    }
  }
  EG_NEW(&p->scratch, p->elements, out);
  EG_TRY(run_probe(p));
  eg_field_plan bare = *plan;
  bare.has_function = false;
  eg_field_plan_run(&bare, (const uint64_t *const *)operands, out);
  for (uint32_t e = 0; e < p->elements; e++) {
    uint64_t wanted;
    if (eg_field_of_double(result_at(p, e), false, &wanted) && wanted == out[e]) continue;
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s is no polynomial as the field knows them; leave it out of the "
                   "family",
                   eg_op_info_of((eg_op)p->attrs->op)->name);
  }
  return EGRAPH_OK;
}

// ---- kinds ----------------------------------------------------------------------

static const eg_op PRODUCTS[] = {
    EG_OP_MUL,  EG_OP_MATMUL,         EG_OP_GEMM,
    EG_OP_CONV, EG_OP_CONV_TRANSPOSE, EG_OP_CONV_GRAD_WEIGHT};
static const eg_op SUMS[] = {EG_OP_ADD,          EG_OP_SUB,
                             EG_OP_REDUCE_SUM,   EG_OP_REDUCE_MEAN,
                             EG_OP_AVERAGE_POOL, EG_OP_GLOBAL_AVERAGE_POOL,
                             EG_OP_CUM_SUM,      EG_OP_AVERAGE_POOL_GRAD,
                             EG_OP_RESIZE};
static const eg_op ROWS[] = {EG_OP_SOFTMAX,      EG_OP_LOG_SOFTMAX, EG_OP_LAYER_NORM,
                             EG_OP_RMS_NORM,     EG_OP_BATCH_NORM,  EG_OP_GROUP_NORM,
                             EG_OP_INSTANCE_NORM};
static const eg_op LATTICES[] = {EG_OP_REDUCE_MAX, EG_OP_REDUCE_MIN, EG_OP_MAX_POOL,
                                 EG_OP_GLOBAL_MAX_POOL};
#define IS_ONE_OF(list, op) is_one_of(list, sizeof(list) / sizeof *(list), op)

static bool is_one_of(const eg_op *list, size_t count, eg_op op) {
  for (size_t i = 0; i < count; i++)
    if (list[i] == op) return true;
  return false;
}

/// Finds the elements that another operator sums on the same operands. *out_elements is
/// the size of its result.
static egraph_status read_as(const probe *p, const eg_attrs *attrs, const eg_type *types,
                             eg_field_terms *out, uint32_t *out_elements) {
  EG_LOCAL(probe, other, p->scratch.alloc);
  eg_field_plan plan = {.kind = EG_FIELD_POLYNOMIAL};
  other.arena = p->arena;
  other.attrs = attrs;
  other.count = p->count;
  EG_TRY(open_probe(&other, types));
  EG_TRY(read_terms(&other, false, false, &plan));
  *out = plan.sums;
  *out_elements = other.elements;
  return EGRAPH_OK;
}

/// Finds the elements that a pointwise operator reads: the same as identity (or addition)
/// with as many operands.
static egraph_status read_pointwise(const probe *p, const eg_type *types,
                                    eg_field_terms *out) {
  uint32_t elements;
  const eg_attrs like = {.op = p->count == 1 ? EG_OP_IDENTITY : EG_OP_ADD};
  return read_as(p, &like, types, out, &elements);
}

/// Returns the element of an operand that is broadcast to an element of the result.
static uint32_t broadcast_place(const eg_type *operand, const eg_type *result,
                                const int64_t *index) {
  uint32_t at = 0, first = result->rank - operand->rank;
  for (uint32_t d = 0; d < operand->rank; d++) {
    int64_t i = operand->dims[d] == 1 ? 0 : index[first + d];
    at = at * (uint32_t)operand->dims[d] + (uint32_t)i;
  }
  return at;
}

static egraph_status plan_choice(probe *p, const eg_type *types, eg_field_plan *out) {
  int64_t index[EGRAPH_MAX_RANK] = {0};
  uint32_t count = p->count, *begin, *from;
  EG_NEW(p->arena, (size_t)out->elements + 1, begin);
  EG_NEW(p->arena, (size_t)out->elements * count, from);
  for (uint32_t e = 0; e <= out->elements; e++)
    begin[e] = e * count;
  for (uint32_t e = 0; e < out->elements; e++) {
    for (uint32_t k = 0; k < count; k++)
      from[e * count + k] =
          EG_FIELD_PLACE(k, broadcast_place(&types[k], &out->type, index));
    (void)eg_index_next(out->type.rank, out->type.dims, index);
  }
  out->sums = (eg_field_terms){.begin = begin, .from = from};
  return EGRAPH_OK;
}

/// Plans a maximum or minimum (reduction or pooling), which reads the elements that a sum
/// with the same attributes reads.
static egraph_status plan_lattice(probe *p, const eg_type *types, eg_field_plan *out) {
  eg_attr slots[8];
  eg_attrs sum = {.op = EG_OP_REDUCE_SUM, .slots = slots};
  const eg_attr *from = p->attrs->slots;
  if (out->op == EG_OP_MAX_POOL) {
    const eg_ints *dilations = &from[3].ints;
    for (uint32_t i = 0; i < dilations->len; i++)
      if (dilations->data[i] != 1)
        return EG_FAIL(
            EGRAPH_E_UNSUPPORTED,
            "max-pool: dilations have no meaning in the field; leave them out");
    sum.op = EG_OP_AVERAGE_POOL;
    eg_attrs_defaults(EG_OP_AVERAGE_POOL, slots);
    for (int i = 0; i < 3; i++)
      slots[i] = from[i];
    slots[3] = from[4]; // ceil_mode
    sum.count = 5;
  } else if (out->op == EG_OP_GLOBAL_MAX_POOL) {
    sum.op = EG_OP_GLOBAL_AVERAGE_POOL;
  } else {
    memcpy(slots, from, p->attrs->count * sizeof *slots);
    sum.count = p->attrs->count;
  }
  uint32_t elements;
  return read_as(p, &sum, types, &out->sums, &elements);
}

/// Lists the elements that softmax or layer-normalization normalizes together: those that
/// a sum over the axes reads.
static egraph_status read_row_sums(probe *p, const eg_type *types, int64_t first,
                                   int64_t last, eg_field_plan *out) {
  int64_t axes[EGRAPH_MAX_RANK];
  uint32_t count = 0;
  for (int64_t axis = first; axis <= last; axis++)
    axes[count++] = axis;
  eg_attr slots[2] = {{.kind = EG_ATTR_INTS, .ints = {.data = axes, .len = count}},
                      {.kind = EG_ATTR_INT, .i = 1}};
  const eg_attrs sum = {.op = EG_OP_REDUCE_SUM, .count = 2, .slots = slots};
  probe alone = *p;
  alone.count = 1;
  return read_as(&alone, &sum, types, &out->sums, &out->row_count);
}

/// Lists the elements of each group of channels to normalize; they are contiguous.
static egraph_status read_groups(probe *p, const eg_type *x, uint32_t groups,
                                 eg_field_plan *out) {
  uint32_t *begin, *from;
  out->row_count = (uint32_t)x->dims[0] * groups;
  EG_NEW(p->arena, (size_t)out->row_count + 1, begin);
  EG_NEW(p->arena, out->elements, from);
  for (uint32_t row = 0; row <= out->row_count; row++)
    begin[row] = row * (out->elements / out->row_count);
  for (uint32_t i = 0; i < out->elements; i++)
    from[i] = EG_FIELD_PLACE(0, i);
  out->sums = (eg_field_terms){.begin = begin, .from = from};
  return EGRAPH_OK;
}

static egraph_status plan_row_elements(probe *p, const eg_type *types,
                                       eg_field_plan *out) {
  const eg_type *x = &types[0];
  const eg_attr *first = &p->attrs->slots[0];
  if (out->op == EG_OP_BATCH_NORM) return EGRAPH_OK; // no element depends on another one
  if (out->op == EG_OP_INSTANCE_NORM) return read_groups(p, x, (uint32_t)x->dims[1], out);
  if (out->op == EG_OP_GROUP_NORM) return read_groups(p, x, (uint32_t)first->i, out);
  bool is_softmax = out->op == EG_OP_SOFTMAX || out->op == EG_OP_LOG_SOFTMAX;
  int64_t axis = first->i < 0 ? first->i + x->rank : first->i;
  return read_row_sums(p, types, axis, is_softmax ? axis : (int64_t)x->rank - 1, out);
}

static egraph_status plan_rows(probe *p, const eg_type *types, eg_field_plan *out) {
  const eg_type *x = &types[0];
  uint16_t slot;
  EG_TRY(plan_row_elements(p, types, out));
  if (!eg_op_find_attr(out->op, "epsilon", &slot)) return EGRAPH_OK; // true for softmax
  const eg_attr *epsilon = &p->attrs->slots[slot];
  if (!eg_field_of_double(epsilon->f, true, &out->epsilon))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "epsilon %g is no quotient of small integers",
                   epsilon->f);
  EG_NEW(p->arena, out->elements, out->channel);
  bool of_last = out->op == EG_OP_LAYER_NORM || out->op == EG_OP_RMS_NORM;
  uint32_t inner = 1, size = of_last ? p->sizes[1] : (uint32_t)x->dims[1];
  for (uint32_t d = 2; !of_last && d < x->rank; d++)
    inner *= (uint32_t)x->dims[d];
  for (uint32_t i = 0; i < out->elements; i++)
    out->channel[i] = i / inner % size;
  return EGRAPH_OK;
}

static egraph_status plan_constant(probe *p, eg_field_plan *out) {
  out->kind = EG_FIELD_CONSTANT;
  EG_NEW(p->arena, out->elements, out->constants);
  EG_NEW(p->arena, out->elements, out->reals);
  EG_TRY(run_probe(p));
  for (uint32_t i = 0; i < out->elements; i++) {
    double value = out->reals[i] = result_at(p, i);
    if (!eg_field_of_double(value, true, &out->constants[i]))
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%g is no quotient of small integers", value);
  }
  return EGRAPH_OK;
}

static bool is_unary_function(const probe *p, const eg_field_plan *plan) {
  bool pointwise = (eg_op_info_of(plan->op)->flags & EG_OPF_POINTWISE) != 0;
  return plan->has_function && p->count == 1 && pointwise;
}

static egraph_status plan_terms(probe *p, const eg_type *types, eg_field_plan *out) {
  unsigned flags = eg_op_info_of(out->op)->flags;
  bool is_equation = out->op == EG_OP_EINSUM; // one operand: a sum; two: a product
  bool moves = (flags & EG_OPF_MOVES) != 0;
  bool products = IS_ONE_OF(PRODUCTS, out->op) || (is_equation && p->count == 2);
  if (is_unary_function(p, out)) return read_pointwise(p, types, &out->sums);
  bool is_sum = IS_ONE_OF(SUMS, out->op) || (is_equation && p->count == 1);
  if (!moves && !products && !is_sum)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s has no meaning in the field; leave it out of the family",
                   eg_op_info_of(out->op)->name);
  EG_TRY(read_terms(p, products, moves, out));
  return compare_with_kernel(p, out);
}

static egraph_status plan_kind(probe *p, const eg_type *types, eg_field_plan *out) {
  if (p->count == 0) return plan_constant(p, out);
  if (out->kind == EG_FIELD_PAIRWISE) return read_pointwise(p, types, &out->sums);
  if (out->kind == EG_FIELD_CHOICE) return plan_choice(p, types, out);
  if (IS_ONE_OF(LATTICES, out->op)) {
    out->kind = EG_FIELD_LATTICE;
    return plan_lattice(p, types, out);
  }
  if (IS_ONE_OF(ROWS, out->op)) {
    out->kind = EG_FIELD_ROWS;
    return plan_rows(p, types, out);
  }
  return plan_terms(p, types, out);
}

/// Moves the fused activation from `slots`, a copy of the attributes, to the plan.
static egraph_status take_activation(eg_arena *arena, eg_attr *slots, uint64_t key,
                                     eg_field_plan *out) {
  uint16_t act, alpha, beta;
  eg_attr own[2];
  if (!eg_op_find_attr(out->op, "act", &act) || slots[act].i == EG_ACT_NONE)
    return EGRAPH_OK;
  (void)eg_op_find_attr(out->op, "act_alpha", &alpha);
  (void)eg_op_find_attr(out->op, "act_beta", &beta);
  const eg_attrs attrs =
      eg_act_attrs((eg_act)slots[act].i, slots[alpha].f, slots[beta].f, own);
  EG_TRY(eg_field_function_of(arena, &attrs, key, &out->function, &out->has_function));
  if (!out->has_function)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s: that activation has no meaning in the field",
                   eg_op_info_of(out->op)->name);
  slots[act].i = EG_ACT_NONE;
  return EGRAPH_OK;
}

static egraph_status check_field_sizes(const eg_attrs *attrs, const eg_type *types,
                                       uint32_t count) {
  const char *name = eg_op_info_of((eg_op)attrs->op)->name;
  if (count > EG_FIELD_MAX_OPERANDS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s has %u operands; at most %d are compared",
                   name, count, EG_FIELD_MAX_OPERANDS);
  for (uint32_t i = 0; i < count; i++)
    if (eg_type_elements(&types[i]) > EG_FIELD_MAX_ELEMENTS)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: more than %d elements", name,
                     EG_FIELD_MAX_ELEMENTS);
  return EGRAPH_OK;
}

static egraph_status plan_operator(probe *p, const eg_type *types, eg_field_plan *out) {
  eg_type *results;
  EG_NEW(&p->scratch, eg_op_results(p->attrs), results);
  EG_TRY(eg_op_infer(p->attrs, types, p->count, results));
  out->type = results[p->result];
  EG_TRY(check_field_sizes(p->attrs, &out->type, 1));
  out->elements = (uint32_t)eg_type_elements(&out->type);
  // Pointwise operators read the elements that a sum reads; their own kernels are
  // not run.
  if (out->kind == EG_FIELD_POLYNOMIAL && !is_unary_function(p, out))
    EG_TRY(open_probe(p, types));
  return plan_kind(p, types, out);
}

egraph_status eg_field_plan_make(eg_arena *arena, const eg_attrs *attrs,
                                 const eg_type *types, uint32_t count, uint32_t result,
                                 uint64_t key, eg_field_plan *out) {
  eg_attr slots[16];
  assert(attrs->count <= sizeof slots / sizeof *slots);
  EG_TRY(check_field_sizes(attrs, types, count));
  if (result >= eg_op_results(attrs))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s has no result %u",
                   eg_op_info_of((eg_op)attrs->op)->name, result);
  if (attrs->count != 0) memcpy(slots, attrs->slots, attrs->count * sizeof *slots);
  eg_field_plan plan = {
      .kind = EG_FIELD_POLYNOMIAL, .op = (eg_op)attrs->op, .operand_count = count};
  EG_TRY(take_activation(arena, slots, key, &plan));
  const eg_attrs bare = {.op = attrs->op, .count = attrs->count, .slots = slots};
  bool is_polynomial =
      count > 1 && (IS_ONE_OF(PRODUCTS, plan.op) || IS_ONE_OF(SUMS, plan.op));
  if (!plan.has_function && !is_polynomial)
    EG_TRY(eg_field_function_of(arena, &bare, key, &plan.function, &plan.has_function));
  bool is_pointwise = (eg_op_info_of(plan.op)->flags & EG_OPF_POINTWISE) != 0;
  if (plan.has_function && count > 1 && is_pointwise)
    plan.kind = count == 2 ? EG_FIELD_PAIRWISE : EG_FIELD_CHOICE;
  EG_LOCAL(probe, p, arena->alloc);
  p.arena = arena;
  p.attrs = &bare;
  p.count = count;
  p.result = result;
  EG_TRY(plan_operator(&p, types, &plan));
  *out = plan;
  return EGRAPH_OK;
}
