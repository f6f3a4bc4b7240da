// Tests whether shapes, sizes and dimensions are in a class of instances.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_tests.h"

#include <string.h>

EG_CLASS_HOLDS(holds_same_sizes) {
  const eg_type *x = &node->types[0];
  bool same = attr->ints.len == x->rank;
  for (uint32_t i = 0; same && i < x->rank; i++)
    same = attr->ints.data[i] == x->dims[i];
  return same;
}

EG_CLASS_PUT(put_same_sizes) {
  attr->ints = (eg_ints){.data = choice->types[0].dims, .len = choice->types[0].rank};
  (void)eg_own_list(choice, attr);
}

/// True when some size in the attribute is larger than the operand's (low > 0), or
/// smaller. Shapes are aligned at their last dimensions.
EG_CLASS_HOLDS(holds_sizes) {
  const eg_type *x = &node->types[0];
  if (attr->ints.len < x->rank) return false;
  uint32_t shift = attr->ints.len - x->rank;
  for (uint32_t i = 0; i < x->rank; i++) {
    int64_t to = attr->ints.data[i + shift];
    if (row->low > 0 ? to > x->dims[i] : to < x->dims[i]) return true;
  }
  return false;
}

EG_CLASS_PUT(put_sizes) {
  put_same_sizes(row, choice, attr);
  const eg_type *x = &choice->types[0];
  int64_t *list = eg_own_list(choice, attr);
  uint32_t first = choice->op == EG_OP_RESIZE && x->rank > 2 ? 2 : 0;
  for (uint32_t i = first; i < x->rank; i++) {
    if (choice->op == EG_OP_EXPAND && x->dims[i] != 1) continue;
    if (i > first && eg_verify_chance(choice, 40)) continue;
    if (row->low > 0)
      list[i] = x->dims[i] + 1 + eg_verify_below(choice, (uint32_t)x->dims[i] + 2);
    else if (x->dims[i] > 1)
      list[i] = 1 + eg_verify_below(choice, (uint32_t)x->dims[i] - 1);
  }
}

EG_CLASS_HOLDS(holds_more_dims) {
  return eg_is_between(row, (double)attr->ints.len - (double)node->types[0].rank);
}

EG_CLASS_PUT(put_more_dims) {
  const eg_type *x = &choice->types[0];
  int64_t *list = eg_verify_list(choice, x->rank + 1);
  uint32_t len = 0;
  if (row->low > 0) list[len++] = choice->op == EG_OP_EXPAND ? eg_verify_dim(choice) : 1;
  uint32_t merged = row->low < 0 && x->rank > 1 ? eg_verify_below(choice, x->rank - 1)
                                                : EGRAPH_MAX_RANK;
  for (uint32_t i = 0; i < x->rank; i++)
    if (i == merged + 1)
      list[len - 1] *= x->dims[i];
    else
      list[len++] = x->dims[i];
  attr->ints = (eg_ints){.data = list, .len = len};
}

// ---- resized images -------------------------------------------------------------------

enum { SCALES_NONE, SCALES_EXACT, SCALES_BESIDE };

/// True when some scale of a resize gives a size other than the size attribute.
static bool is_beside_size(const eg_instance_node *node, eg_floats scales) {
  uint16_t slot;
  if (!eg_op_find_attr(node->op, "shape", &slot)) return false;
  const eg_attr *shape = &node->slots[slot];
  const eg_type *x = &node->types[0];
  for (uint32_t i = 0; i < scales.len && i < shape->ints.len && i < x->rank; i++)
    if ((float)scales.data[i] * (float)x->dims[i] != (float)shape->ints.data[i])
      return true;
  return false;
}

EG_CLASS_HOLDS(holds_scales) {
  int kind = attr->floats.len == 0                ? SCALES_NONE
             : is_beside_size(node, attr->floats) ? SCALES_BESIDE
                                                  : SCALES_EXACT;
  return kind == (int)row->low;
}

/// Draws resize scales that cut off up to one element.
EG_CLASS_PUT(put_scales) {
  static const double beside[] = {0.25, 0.5, 0.75, -0.25};
  const eg_type *x = &choice->types[0];
  eg_verify_choose_slot(choice, "shape");
  const eg_attr *shape = eg_verify_known(choice, "shape");
  attr->floats = (eg_floats){0};
  if ((int)row->low == SCALES_NONE || shape->ints.len != x->rank) return;
  double *scales = eg_verify_floats(choice, x->rank);
  for (uint32_t i = 0; i < x->rank; i++) {
    bool is_off = (int)row->low == SCALES_BESIDE && (i > 1 || x->rank < 3);
    double size = (double)shape->ints.data[i];
    if (is_off) size += beside[eg_verify_below(choice, size > 1 ? 4 : 3)];
    scales[i] = x->dims[i] > 0 ? (double)(float)(size / (double)x->dims[i]) : 1.0;
  }
  attr->floats = (eg_floats){.data = scales, .len = x->rank};
}

/// Resize sizes for which from * (to / from), rounded to float32, is not `to`. Some
/// positions are in the middle between two elements, others on one.
static const struct {
  int64_t from, to;
} rounded_sizes[] = {{22, 13}, {14, 31}, {22, 29}, {11, 13}, {13, 7}};
enum { ROUNDED_SIZES = sizeof rounded_sizes / sizeof *rounded_sizes };

EG_CLASS_HOLDS(holds_rounded_size) {
  const eg_type *x = &node->types[0];
  for (uint32_t i = 0; i < x->rank && i < attr->ints.len; i++) {
    volatile float scale = (float)attr->ints.data[i] / (float)x->dims[i];
    if (x->dims[i] > 0 && scale * (float)x->dims[i] != (float)attr->ints.data[i])
      return true;
  }
  return false;
}

EG_CLASS_PUT(put_rounded_size) {
  put_same_sizes(row, choice, attr);
  const eg_type *x = &choice->types[0];
  int64_t *list = eg_own_list(choice, attr);
  uint32_t first = eg_verify_below(choice, ROUNDED_SIZES);
  for (uint32_t i = 0; i < x->rank; i++)
    for (uint32_t k = 0; k < ROUNDED_SIZES; k++) {
      uint32_t at = (first + k) % ROUNDED_SIZES;
      if (x->dims[i] == rounded_sizes[at].from) list[i] = rounded_sizes[at].to;
    }
}

EG_CLASS_PREPARE(prepare_rounded_size) {
  uint32_t at = eg_verify_below(choice, ROUNDED_SIZES);
  choice->dims[choice->dim_count++] = rounded_sizes[at].from;
  choice->dims[choice->dim_count++] = 1;
  choice->rank = 1 + eg_verify_below(choice, 4);
}

// ---- dimensions of a class variable: a list, too -------------------------------------

EG_CLASS_HOLDS(holds_equal) {
  for (uint32_t i = 0; i < attr->ints.len; i++)
    for (uint32_t k = 0; k < i; k++)
      if (attr->ints.data[i] == attr->ints.data[k] &&
          eg_is_between(row, (double)attr->ints.data[i]))
        return true;
  return false;
}

EG_CLASS_HOLDS(holds_different) {
  for (uint32_t i = 0; i < attr->ints.len; i++)
    for (uint32_t k = 0; k < i; k++)
      if (attr->ints.data[i] == attr->ints.data[k]) return false;
  return attr->ints.len > 1 && eg_is_between(row, (double)attr->ints.data[0]);
}

static bool is_prime(int64_t n) {
  for (int64_t i = 2; i * i <= n; i++)
    if (n % i == 0) return false;
  return n > 1;
}

EG_CLASS_HOLDS(holds_prime) {
  for (uint32_t i = 0; i < attr->ints.len; i++)
    if (eg_is_between(row, (double)attr->ints.data[i]) && is_prime(attr->ints.data[i]))
      return true;
  return false;
}

// ---- operands that broadcast ----------------------------------------------------------

/// Which operand is broadcast: 0, 1, or both.
enum { BOTH_OPERANDS = 2 };

/// Returns dimension `i` of the shape aligned to `rank` dimensions; a missing dimension
/// is 1.
static int64_t aligned(const eg_type *type, uint32_t rank, uint32_t i) {
  uint32_t missing = rank - type->rank;
  return i < missing ? 1 : type->dims[i - missing];
}

/// True when broadcasting with the type `by` makes `type` larger.
static bool is_stretched(const eg_type *type, const eg_type *by) {
  uint32_t rank = type->rank > by->rank ? type->rank : by->rank;
  bool is = rank > type->rank;
  for (uint32_t i = 0; i < rank; i++)
    is = is || (aligned(type, rank, i) == 1 && aligned(by, rank, i) != 1);
  return is;
}

/// True when broadcasting enlarges operand `which` and, if `is_empty`, it has
/// no elements.
static bool are_stretched(const eg_type *types, uint32_t which, bool is_empty) {
  bool is[2] = {is_stretched(&types[0], &types[1]), is_stretched(&types[1], &types[0])};
  if (which == BOTH_OPERANDS) return is[0] && is[1];
  return is[which] && (!is_empty || eg_type_elements(&types[which]) == 0);
}

/// Returns the batch dimensions of an operand of a matrix product.
static eg_type batch_of(const eg_type *type) {
  eg_type batch = *type;
  batch.rank = type->rank > 2 ? type->rank - 2 : 0;
  return batch;
}

/// Makes `other` larger than `like` in one dimension that is 1 in `like`, or in a
/// new one.
static void stretch(eg_verify_choice *choice, const eg_type *like, eg_type *other) {
  uint32_t ones[EGRAPH_MAX_RANK], count = 0;
  for (uint32_t i = 0; i < other->rank; i++)
    if (aligned(like, like->rank > other->rank ? like->rank : other->rank, i) == 1)
      ones[count++] = i;
  int64_t size = 2 + eg_verify_below(choice, 3);
  if (count > 0 && !eg_verify_chance(choice, 30)) {
    other->dims[ones[eg_verify_below(choice, count)]] = size;
  } else if (other->rank < EGRAPH_MAX_RANK) {
    memmove(other->dims + 1, other->dims, other->rank * sizeof *other->dims);
    other->dims[0] = size;
    other->rank++;
  }
}

/// Makes `type` smaller than the other operand in one dimension, or drops
/// some dimensions.
static void shrink(eg_verify_choice *choice, eg_type *type) {
  if (type->rank == 0) return;
  uint32_t at = eg_verify_below(choice, type->rank);
  if (eg_verify_chance(choice, 60)) {
    type->dims[at] = 1;
    return;
  }
  memmove(type->dims, type->dims + at + 1, (type->rank - at - 1) * sizeof *type->dims);
  type->rank -= at + 1;
}

/// True for operand 0 or 1 when the type of the other of these two operands is known.
static bool has_other(const eg_verify_choice *choice, uint32_t operand) {
  return operand < 2 && (operand > 0 || choice->type_set[1]);
}

/// Keeps the matrices of an operand of a matrix product, and makes its batch dimensions
/// broadcast with those of the other operand.
EG_CLASS_FIT(fit_stretched_batch) {
  if (!has_other(choice, operand)) return;
  eg_type *type = &choice->types[operand];
  const eg_type *beside = &choice->types[operand == 0];
  if (type->rank < 2 || beside->rank > EGRAPH_MAX_RANK - 1) return;
  const eg_type other = batch_of(beside);
  eg_type batch = other;
  if ((uint32_t)row->low == operand)
    shrink(choice, &batch);
  else
    stretch(choice, &other, &batch);
  const int64_t rows = type->dims[type->rank - 2], columns = type->dims[type->rank - 1];
  memcpy(type->dims, batch.dims, batch.rank * sizeof *type->dims);
  type->dims[batch.rank] = rows;
  type->dims[batch.rank + 1] = columns;
  type->rank = batch.rank + 2;
}

EG_CLASS_FIT(fit_one_shape) {
  if (!has_other(choice, operand)) return;
  egraph_dtype dtype = choice->types[operand].dtype;
  choice->types[operand] = choice->types[operand == 0];
  choice->types[operand].dtype = dtype;
}

EG_CLASS_FIT(fit_stretched) {
  uint32_t which = (uint32_t)row->low, other = operand == 0;
  if (!has_other(choice, operand)) return;
  fit_one_shape(row, choice, operand);
  if (which != operand) stretch(choice, &choice->types[other], &choice->types[operand]);
  if (which != other) shrink(choice, &choice->types[operand]);
}

/// Makes the summed dimension of a matrix product's operand empty, and no other one.
EG_CLASS_FIT(fit_empty_sum) {
  if (operand > 1 || choice->op == EG_OP_EINSUM) return;
  eg_type *type = &choice->types[operand];
  const eg_attr *flag = eg_verify_known(choice, operand == 0 ? "transA" : "transB");
  bool is_last = (flag != NULL && flag->i != 0) != (operand == 0);
  uint32_t summed = type->rank > 1 && !is_last ? type->rank - 2 : type->rank - 1;
  for (uint32_t i = 0; i < type->rank; i++)
    if (i == summed)
      type->dims[i] = 0;
    else if (type->dims[i] == 0)
      type->dims[i] = 1 + eg_verify_below(choice, 3);
}

EG_CLASS_HOLDS(holds_one_shape) {
  return eg_type_same_shape(&node->types[0], &node->types[1]);
}

EG_CLASS_HOLDS(holds_stretched) {
  return are_stretched(node->types, (uint32_t)row->low, row->high > 0);
}

EG_CLASS_HOLDS(holds_stretched_batch) {
  const eg_type batches[2] = {batch_of(&node->types[0]), batch_of(&node->types[1])};
  return are_stretched(batches, (uint32_t)row->low, false);
}

/// True when every element of the result is a sum without terms.
EG_CLASS_HOLDS(holds_no_sum) {
  bool is_empty = false;
  eg_type result;
  for (uint32_t i = 0; i < node->count; i++)
    is_empty = is_empty || eg_type_elements(&node->types[i]) == 0;
  eg_attrs attrs = {.op = (uint16_t)node->op,
                    .count = eg_op_info_of(node->op)->attr_count,
                    .slots = node->slots};
  return is_empty &&
         eg_op_infer(&attrs, node->types, node->count, &result) == EGRAPH_OK &&
         eg_type_elements(&result) > 0;
}

// ---- preparing a choice ---------------------------------------------------------------

EG_CLASS_PREPARE(prepare_primes) {
  static const int64_t primes[] = {5, 7, 11, 13};
  memcpy(choice->dims, primes, sizeof primes);
  choice->dim_count = 4;
}

EG_CLASS_PREPARE(prepare_different) {
  static const int64_t few[] = {2, 3, 4, 5, 6};
  memcpy(choice->dims, few, sizeof few);
  choice->dim_count = 5;
}

EG_CLASS_PREPARE(prepare_equal) {
  choice->dims[0] = 2 + eg_verify_below(choice, 4);
  choice->dim_count = 1;
}

/// Makes a random choice prefer a dimension that broadcasts, and an empty one if the
/// class requires it.
EG_CLASS_PREPARE(prepare_stretched) {
  choice->dims[choice->dim_count++] = 1;
  if (row->high > 0) choice->dims[choice->dim_count++] = 0;
}

void eg_prepare_empty(const eg_instance_class *row, eg_verify_choice *choice) {
  (void)row;
  choice->dims[choice->dim_count++] = 0;
  choice->dims[choice->dim_count++] = 2;
}

const eg_class_test eg_test_SAME_SIZES = {.holds = holds_same_sizes,
                                          .put = put_same_sizes};
const eg_class_test eg_test_SIZES = {.holds = holds_sizes, .put = put_sizes};
const eg_class_test eg_test_MORE_DIMS = {.holds = holds_more_dims, .put = put_more_dims};
const eg_class_test eg_test_EQUAL = {.holds = holds_equal, .prepare = prepare_equal};
const eg_class_test eg_test_DIFFERENT = {.holds = holds_different,
                                         .prepare = prepare_different};
const eg_class_test eg_test_PRIME = {.holds = holds_prime, .prepare = prepare_primes};
const eg_class_test eg_test_SCALES = {.holds = holds_scales, .put = put_scales};
const eg_class_test eg_test_ROUNDED_SIZE = {.holds = holds_rounded_size,
                                            .put = put_rounded_size,
                                            .prepare = prepare_rounded_size};
const eg_class_test eg_test_ONE_SHAPE = {.holds = holds_one_shape, .fit = fit_one_shape};
const eg_class_test eg_test_STRETCHED = {
    .holds = holds_stretched, .prepare = prepare_stretched, .fit = fit_stretched};
const eg_class_test eg_test_STRETCHED_BATCH = {.holds = holds_stretched_batch,
                                               .prepare = prepare_stretched,
                                               .fit = fit_stretched_batch};
const eg_class_test eg_test_NO_SUM = {
    .holds = holds_no_sum, .prepare = eg_prepare_empty, .fit = fit_empty_sum};
