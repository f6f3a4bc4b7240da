// Draws a node's operand first, so that attributes can be drawn for its shape, then the
// other operands for both. Shapes are small (at most MAX_ELEMENTS), and ranks fit the
// known attributes; ones and equal sizes are frequent, because rules require them.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_choose.h"

#include <assert.h>
#include <string.h>

// ---- operand types -----------------------------------------------------------

// EG_VERIFY_FRESH_RANK: the largest rank that is drawn, unless the operator or the rule
// requires a larger rank. FEW_PARTS: if a concatenation has more operands, its operands
// get equal sizes more often, because chance seldom gives many operands equal sizes.
enum { EG_VERIFY_FRESH_RANK = 5, FEW_PARTS = 4 };

typedef struct rank_range {
  uint32_t low, high;
} rank_range;

static void at_least(rank_range *range, uint32_t rank) {
  if (range->low < rank) range->low = rank;
}

static void exactly(rank_range *range, uint32_t rank) { range->low = range->high = rank; }

// Returns the ranks that suit an operator, whatever its attributes are.
static rank_range ranks_of_op(eg_op op) {
  static const rank_range ranks[EG_OP_COUNT] = {
      [EG_OP_CONV] = {3, 5},        [EG_OP_CONV_TRANSPOSE] = {3, 5},
      [EG_OP_MAX_POOL] = {3, 5},    [EG_OP_AVERAGE_POOL] = {3, 5},
      [EG_OP_LRN] = {3, 5},         [EG_OP_GLOBAL_AVERAGE_POOL] = {3, 5},
      [EG_OP_GROUP_NORM] = {3, 5},  [EG_OP_GLOBAL_MAX_POOL] = {3, 5},
      [EG_OP_ENLARGE] = {3, 5},     [EG_OP_INSTANCE_NORM] = {3, 5},
      [EG_OP_MERGE_GCONV] = {3, 5}, [EG_OP_BATCH_NORM] = {2, 5},
      [EG_OP_GEMM] = {2, 2},        [EG_OP_COL2IM] = {3, 3},
      [EG_OP_MATMUL] = {1, 4},      [EG_OP_CONCAT] = {1, 4},
      [EG_OP_SPLIT] = {1, 4},       [EG_OP_GATHER] = {1, 4},
      [EG_OP_LAYER_NORM] = {1, 4},  [EG_OP_RMS_NORM] = {1, 4},
      [EG_OP_SOFTMAX] = {1, 4},     [EG_OP_LOG_SOFTMAX] = {1, 4},
      [EG_OP_SQUEEZE] = {1, 4}};
  return ranks[op].high != 0 ? ranks[op] : (rank_range){0, 4};
}

static void fit_list(const eg_verify_choice *choice, const char *name, uint32_t divisor,
                     uint32_t extra, rank_range *range) {
  const eg_attr *list = eg_verify_known(choice, name);
  if (list != NULL && list->kind == EG_ATTR_INTS)
    exactly(range, list->ints.len / divisor + extra);
}

static void fit_axes(const eg_verify_choice *choice, rank_range *range) {
  const eg_attr *axes = eg_verify_known(choice, "axes");
  for (uint32_t i = 0; axes != NULL && i < axes->ints.len; i++)
    if (axes->ints.data[i] >= 0 && choice->op != EG_OP_UNSQUEEZE)
      at_least(range, (uint32_t)axes->ints.data[i] + 1);
  const eg_attr *axis = eg_verify_known(choice, "axis");
  if (axis != NULL) {
    uint64_t number = (uint64_t)axis->i; // may be any number
    at_least(range, (uint32_t)(axis->i < 0 ? 0 - number : number + 1));
  }
}

// Returns the ranks that also suit the known attributes and the required rank.
static rank_range ranks_of_first(const eg_verify_choice *choice) {
  rank_range range = ranks_of_op(choice->op);
  bool is_pad = choice->op == EG_OP_PAD;
  fit_axes(choice, &range);
  fit_list(choice, "perm", 1, 0, &range);
  fit_list(choice, "starts", 1, 0, &range);
  fit_list(choice, "repeats", 1, 0, &range);
  fit_list(choice, "strides", 1, 2, &range);
  fit_list(choice, "dilations", 1, 2, &range);
  fit_list(choice, "kernel_shape", 1, 2, &range);
  fit_list(choice, "pads", 2, is_pad ? 0 : 2, &range);
  at_least(&range, choice->min_rank[0]);
  if (choice->min_rank[0] == choice->max_rank[0]) exactly(&range, choice->min_rank[0]);
  if (range.high > choice->max_rank[0]) range.high = choice->max_rank[0];
  uint32_t most = EG_VERIFY_FRESH_RANK; // unless more is required
  if (choice->min_rank[0] > most) most = choice->min_rank[0];
  if (range.low > most && range.low <= EGRAPH_MAX_RANK) most = range.low;
  if (range.high > most) range.high = most;
  if (range.low > range.high) range.low = range.high;
  return range;
}

// Limits of a tensor's elements. LARGE_ELEMENTS: if large dimensions or windows
// are required.
enum { FEW_ELEMENTS = 100, MAX_ELEMENTS = 400, LARGE_ELEMENTS = 1500 };

// ---- fresh types ----------------------------------------------------------------

static egraph_dtype dtype_for(const eg_verify_choice *choice) {
  bool is_mask = eg_op_role(choice->op, 0) == EG_ROLE_MASK;
  bool is_bool = (choice->info->flags & EG_OPF_BOOL) != 0;
  return is_mask || (is_bool && !choice->is_dtype_aimed) ? EGRAPH_BOOL : choice->dtype;
}

/// Draws a dimension of a tensor; most dimensions of a high rank are ones.
static int64_t dim_of_rank(eg_verify_choice *choice, uint32_t rank) {
  bool is_one = rank > EG_VERIFY_FRESH_RANK && eg_verify_chance(choice, 60);
  return is_one ? 1 : eg_verify_dim(choice);
}

/// Draws a dimension at a random position of the shape, position first: compilers may
/// evaluate the sides of an assignment in either order.
static void set_one_dim(eg_verify_choice *choice, eg_type *type) {
  uint32_t at = eg_verify_below(choice, type->rank);
  type->dims[at] = eg_verify_dim(choice);
}

static eg_type random_type(eg_verify_choice *choice, egraph_dtype dtype,
                           rank_range range) {
  eg_type type = {.dtype = dtype};
  if (range.low == 0 && range.high > 0 && eg_verify_chance(choice, 80)) range.low = 1;
  type.rank = range.low + eg_verify_below(choice, range.high - range.low + 1);
  int64_t elements, most = type.rank > 6 ? FEW_ELEMENTS : MAX_ELEMENTS;
  if (choice->dim_count > 0 || choice->is_roomy) most = LARGE_ELEMENTS;
  for (uint32_t i = 0; choice->same_dim > 0 && i < type.rank; i++)
    type.dims[i] = choice->same_dim;
  if (choice->same_dim > 0) return type;
  do {
    elements = 1;
    for (uint32_t i = 0; i < type.rank; i++)
      elements *= type.dims[i] = dim_of_rank(choice, type.rank);
  } while (elements > most);
  return type;
}

// Draws an image whose channels can be grouped and which is large enough for a kernel.
static eg_type random_image(eg_verify_choice *choice, rank_range range) {
  static const int64_t channels[] = {1, 2, 2, 3, 4, 4, 6};
  if (range.low < range.high && range.low <= 4 && range.high >= 4 &&
      eg_verify_chance(choice, 70))
    range = (rank_range){4, 4};
  eg_type type = random_type(choice, choice->dtype, range);
  if (type.rank < 3) return type;
  bool is_weight = choice->op == EG_OP_MERGE_GCONV || choice->op == EG_OP_ENLARGE;
  bool is_roomy = choice->is_roomy || eg_verify_chance(choice, 10);
  if (choice->dim_count > 0 && eg_verify_chance(choice, 50)) return type;
  type.dims[0] =
      is_weight ? channels[eg_verify_below(choice, 7)] : 1 + eg_verify_below(choice, 2);
  type.dims[1] = channels[eg_verify_below(choice, is_weight ? 4 : 7)];
  if (choice->is_grouped) type.dims[1] = eg_verify_chance(choice, 50) ? 4 : 6;
  if (choice->channels > 0) type.dims[1] = choice->channels;
  for (uint32_t i = 2; i < type.rank; i++)
    type.dims[i] =
        i > 4 ? 1 + (int64_t)eg_verify_chance(choice, 20)
              : (is_roomy ? 4 : 1) + eg_verify_below(choice, type.rank >= 5 ? 3 : 5);
  if (choice->dim_count > 0) // one of the preferred dimensions
    set_one_dim(choice, &type);
  return type;
}

// Draws a shape with as many elements as the given shape.
static eg_type type_for_shape(eg_verify_choice *choice, eg_ints shape) {
  eg_type type = {.dtype = choice->dtype};
  int64_t elements = 1;
  for (uint32_t i = 0; i < shape.len; i++)
    elements *= shape.data[i];
  type.rank = 1 + eg_verify_below(choice, 3);
  for (uint32_t i = 0; i + 1 < type.rank; i++) {
    int64_t dim = eg_verify_dim(choice);
    type.dims[i] = dim > 0 && elements % dim == 0 ? dim : 1;
    elements /= type.dims[i];
  }
  type.dims[type.rank - 1] = elements;
  return type;
}

// ---- operands that go with another one ------------------------------------------

static void keep_last(eg_type *type, uint32_t count) {
  if (count > type->rank) count = type->rank;
  memmove(type->dims, type->dims + (type->rank - count), count * sizeof *type->dims);
  type->rank = count;
}

static void ones_but(eg_type *type, uint32_t dim) {
  for (uint32_t i = 0; i < type->rank; i++)
    if (i != dim) type->dims[i] = 1;
}

static eg_type scalar_like(eg_verify_choice *choice, eg_type type) {
  keep_last(&type, eg_verify_below(choice, 3));
  ones_but(&type, type.rank);
  return type;
}

static eg_type random_broadcast(eg_verify_choice *choice, eg_type type) {
  keep_last(&type, eg_verify_below(choice, type.rank + 1));
  for (uint32_t i = 0; i < type.rank; i++)
    if (eg_verify_chance(choice, 40)) type.dims[i] = 1;
  return type;
}

static eg_type random_stretch(eg_verify_choice *choice, eg_type type) {
  for (uint32_t i = 0; i < type.rank; i++)
    if (type.dims[i] == 1) type.dims[i] = eg_verify_dim(choice);
  if (type.rank >= EG_VERIFY_FRESH_RANK || eg_verify_chance(choice, 50)) return type;
  memmove(type.dims + 1, type.dims, type.rank * sizeof *type.dims);
  type.dims[0] = eg_verify_dim(choice);
  type.rank++;
  return type;
}

// Draws a shape that broadcasts with `type`: the same, a scalar, a vector, one number per
// channel, or another one.
static eg_type companion(eg_verify_choice *choice, eg_type type) {
  uint32_t kind = eg_verify_below(choice, 100);
  if (kind < 34) return type;
  if (kind < 50) return scalar_like(choice, type);
  if (kind < 62) {
    keep_last(&type, 1);
    return type;
  }
  if (kind < 82 && type.rank >= 2) {
    ones_but(&type, 1);
    if (eg_verify_chance(choice, 60)) keep_last(&type, type.rank - 1);
    return type;
  }
  return kind < 92 ? random_broadcast(choice, type) : random_stretch(choice, type);
}

static bool known_operand(const eg_verify_choice *choice, uint32_t *out) {
  for (uint32_t i = 0; i < choice->count; i++) {
    if (!choice->type_set[i]) continue;
    *out = i;
    return true;
  }
  return false;
}

static int64_t flag(const eg_verify_choice *choice, const char *name) {
  const eg_attr *attr = eg_verify_known(choice, name);
  return attr != NULL ? attr->i : 0;
}

// ---- matrix products ------------------------------------------------------------

// Draws the other operand of a matrix product, given `known`; they share a
// dimension `summed`.
static eg_type other_factor(eg_verify_choice *choice, const eg_type *known,
                            int64_t summed, bool sum_is_last) {
  eg_type type = {.dtype = known->dtype};
  bool flat = choice->op == EG_OP_GEMM || eg_verify_chance(choice, 60);
  if (choice->op == EG_OP_MATMUL && eg_verify_chance(choice, 6)) {
    type.rank = 1;
    type.dims[0] = summed;
    return type;
  }
  if (!flat && known->rank > 2) {
    type.rank = known->rank - 2;
    memcpy(type.dims, known->dims, type.rank * sizeof *type.dims);
    for (uint32_t i = 0; i < type.rank; i++)
      if (eg_verify_chance(choice, 12)) type.dims[i] = 1;
  } else if (!flat && eg_verify_chance(choice, 40)) {
    type.rank = 1;
    type.dims[0] = eg_verify_dim(choice);
  }
  int64_t fresh = eg_verify_dim(choice);
  type.dims[type.rank] = sum_is_last ? fresh : summed;
  type.dims[type.rank + 1] = sum_is_last ? summed : fresh;
  type.rank += 2;
  return type;
}

static int64_t summed_size(const eg_type *type, bool is_left, bool transposed) {
  if (type->rank == 0) return 1;
  if (type->rank == 1) return type->dims[0];
  bool last = is_left != transposed;
  return type->dims[type->rank - (last ? 1 : 2)];
}

/// Draws an operand (0 or 1) of a matrix product; the other one, `known`, has a type.
static eg_type factor_beside(eg_verify_choice *choice, uint32_t known) {
  bool is_left = known == 0,
       swaps[2] = {flag(choice, "transA") != 0, flag(choice, "transB") != 0};
  int64_t summed = summed_size(&choice->types[known], is_left, swaps[known]);
  return other_factor(choice, &choice->types[known], summed, swaps[is_left] == is_left);
}

// ---- the result of the operands so far ------------------------------------------

static bool result_of(const eg_verify_choice *choice, uint32_t count, eg_type *out) {
  eg_attrs attrs = {.op = (uint16_t)choice->op,
                    .count = choice->info->attr_count,
                    .slots = choice->slots};
  return eg_op_infer(&attrs, choice->types, count, out) == EGRAPH_OK;
}

static eg_type addend(eg_verify_choice *choice, uint32_t index) {
  eg_type result;
  if (!result_of(choice, 2, &result)) return choice->types[0];
  if (index == 3 || result.rank == 0) return result;
  uint32_t kind = eg_verify_below(choice, 100);
  if (kind < 60) {
    keep_last(&result, 1);
    return result;
  }
  if (kind < 75) return scalar_like(choice, result);
  return kind < 85 ? result : random_broadcast(choice, result);
}

// ---- other families -------------------------------------------------------------

static eg_type vector_of(const eg_verify_choice *choice, int64_t size) {
  return (eg_type){.dtype = choice->types[0].dtype, .rank = 1, .dims = {size}};
}

/// Draws a number that must be small because the work grows with it.
static int64_t few(eg_verify_choice *choice) {
  if (choice->few > 0 && eg_verify_chance(choice, 50)) return choice->few;
  return 1 + eg_verify_below(choice, 3);
}

static eg_type conv_weight(eg_verify_choice *choice) {
  const eg_type *x = &choice->types[0];
  eg_type type = *x;
  if (x->rank < 3) return type;
  int64_t group = flag(choice, "group");
  if (group < 1) group = 1;
  type.dims[0] = group * few(choice);
  type.dims[1] = x->dims[1] / group;
  bool point = eg_verify_chance(choice, 25), odd = eg_verify_chance(choice, 50);
  for (uint32_t i = 2; i < type.rank; i++)
    type.dims[i] = point ? 1
                   : odd ? 1 + 2 * (int64_t)eg_verify_below(choice, 2)
                         : 1 + eg_verify_below(choice, 3);
  for (uint32_t i = 5; i < type.rank; i++)
    if (eg_verify_chance(choice, 80)) type.dims[i] = 1;
  for (uint32_t i = 2; i < type.rank; i++)
    if (choice->kernel[i - 2] > 0) type.dims[i] = choice->kernel[i - 2];
  return type;
}

// Draws the input of a convolution whose weight has a type.
static eg_type conv_input(eg_verify_choice *choice) {
  eg_type type = choice->types[1];
  if (type.rank < 3) return type;
  int64_t group = flag(choice, "group");
  type.dims[0] = 1 + eg_verify_below(choice, 2);
  type.dims[1] *= group < 1 ? 1 : group;
  for (uint32_t i = 2; i < type.rank; i++)
    type.dims[i] += eg_verify_below(choice, 4);
  return type;
}

static eg_type concat_operand(eg_verify_choice *choice, const eg_type *like) {
  eg_type type = *like;
  if (type.rank == 0) return type;
  int64_t axis = flag(choice, "axis");
  if (axis < 0) axis += type.rank;
  if (axis < 0 || axis >= (int64_t)type.rank) return type;
  if (!choice->are_parts_alike && eg_verify_chance(choice, 65))
    type.dims[axis] = eg_verify_dim(choice);
  return type;
}

static eg_type where_operand(eg_verify_choice *choice, uint32_t index) {
  const eg_type *like = index == 2 ? &choice->types[1] : &choice->types[0];
  eg_type type = companion(choice, *like);
  type.dtype = index == 2 ? choice->types[1].dtype : choice->dtype;
  return type;
}

// ---- choosing -------------------------------------------------------------------

/// Returns the shape of a normalization's scale or bias: a number for each channel, or
/// for each position of the dimensions from the axis on.
static eg_type normalized_vector(eg_verify_choice *choice) {
  eg_type type = choice->types[0];
  uint16_t slot;
  if (!eg_op_find_role(choice->op, EG_AR_AXIS, &slot))
    return vector_of(choice, type.rank < 2 ? 1 : type.dims[1]);
  int64_t axis = flag(choice, "axis");
  if (axis < 0) axis += type.rank;
  if (axis >= 0 && axis < (int64_t)type.rank)
    keep_last(&type, type.rank - (uint32_t)axis);
  return type;
}

static eg_type index_operand(eg_verify_choice *choice) {
  eg_type type = {.dtype = EGRAPH_INT64, .rank = eg_verify_below(choice, 3)};
  for (uint32_t i = 0; i < type.rank; i++)
    type.dims[i] = few(choice);
  return type;
}

static bool is_product(eg_op op) { return op == EG_OP_MATMUL || op == EG_OP_GEMM; }

// Draws operand `index` > 0 to fit operand 0 and the attributes.
static eg_type other_operand(eg_verify_choice *choice, uint32_t index) {
  eg_op op = choice->op;
  if (is_product(op))
    return index == 1 ? factor_beside(choice, 0) : addend(choice, index);
  if (op == EG_OP_CONV)
    return index == 1   ? conv_weight(choice)
           : index == 2 ? vector_of(choice, choice->types[1].dims[0])
                        : addend(choice, index);
  if (eg_op_role(op, 0) == EG_ROLE_PART) return concat_operand(choice, &choice->types[0]);
  if (eg_op_role(op, 1) == EG_ROLE_SCALE) return normalized_vector(choice);
  if (op == EG_OP_GATHER) return index_operand(choice);
  if (eg_op_role(op, 0) == EG_ROLE_MASK) return where_operand(choice, index);
  eg_type type = companion(choice, choice->types[0]);
  keep_last(&type, choice->max_rank[index]);
  while (type.rank < choice->min_rank[index]) { // ones in front still broadcast
    memmove(type.dims + 1, type.dims, type.rank * sizeof *type.dims);
    type.dims[0] = eg_verify_chance(choice, 50) ? 1 : eg_verify_dim(choice);
    type.rank++;
  }
  return type;
}

// Draws operand 0 to fit operand `known`, which has a type.
static eg_type first_from(eg_verify_choice *choice, uint32_t known) {
  const eg_type *type = &choice->types[known];
  bool is_part = eg_op_role(choice->op, 0) == EG_ROLE_PART;
  if (is_product(choice->op)) return known == 1 ? factor_beside(choice, 1) : *type;
  if (choice->op == EG_OP_CONV) return known == 1 ? conv_input(choice) : *type;
  if (is_part) return concat_operand(choice, type);
  eg_type like = companion(choice, *type);
  if (eg_op_role(choice->op, 0) == EG_ROLE_MASK) like.dtype = EGRAPH_BOOL;
  return like;
}

// Copies the type of another variable of the rule, perhaps with one dimension changed,
// because rules relate their variables.
static bool copy_model(eg_verify_choice *choice, rank_range range, eg_type *out) {
  const eg_type *model = choice->model;
  if (model == NULL || model->rank < range.low || model->rank > range.high ||
      model->dtype != dtype_for(choice) || !eg_verify_chance(choice, 55))
    return false;
  *out = *model;
  if (model->rank > 0 && eg_verify_chance(choice, 45)) set_one_dim(choice, out);
  return true;
}

/// In most draws, copies the type of another operand of the concatenation; else returns
/// false. Mostly keeps a dimension of 1, because it may broadcast.
static bool copy_part(eg_verify_choice *choice, uint32_t operand) {
  const eg_type *like = choice->like[operand];
  if (like == NULL || like->rank < choice->min_rank[operand] ||
      like->rank > choice->max_rank[operand] || eg_verify_chance(choice, 15))
    return false;
  eg_type *type = &choice->types[operand];
  *type = *like;
  if (choice->part_size == 0 || choice->part_axis >= type->rank) return true;
  int64_t *dim = &type->dims[type->rank - 1 - choice->part_axis];
  if (*dim != 1 || eg_verify_chance(choice, 30)) *dim = choice->part_size;
  return true;
}

static eg_type fresh_first(eg_verify_choice *choice) {
  rank_range range = ranks_of_first(choice);
  eg_type copy;
  if (copy_model(choice, range, &copy)) return copy;
  rank_range of_op = ranks_of_op(choice->op);
  bool is_reshape = choice->op == EG_OP_RESHAPE, is_squeeze = choice->op == EG_OP_SQUEEZE;
  const eg_attr *shape = is_reshape ? eg_verify_known(choice, "shape") : NULL;
  if (shape != NULL) return type_for_shape(choice, shape->ints);
  if (of_op.low == 3) return random_image(choice, range);
  eg_type type = random_type(choice, dtype_for(choice), range);
  if (is_squeeze && type.rank > 0) // a dimension to squeeze
    type.dims[eg_verify_below(choice, type.rank)] = 1;
  const eg_attr *axes = is_squeeze ? eg_verify_known(choice, "axes") : NULL;
  for (uint32_t i = 0; axes != NULL && i < axes->ints.len; i++)
    if (axes->ints.data[i] >= 0 && axes->ints.data[i] < (int64_t)type.rank)
      type.dims[axes->ints.data[i]] = 1;
  return type;
}

static void choose_flag(eg_verify_choice *choice, const char *name, uint32_t percent) {
  eg_attr *attr = eg_verify_missing(choice, name);
  if (attr != NULL) attr->i = eg_verify_chance(choice, percent);
}

static void choose_first_operand(eg_verify_choice *choice) {
  if (choice->type_set[0]) return;
  uint32_t known;
  bool related = known_operand(choice, &known);
  if (choice->aim != NULL && !related) choice->put(choice->aim, choice);
  choose_flag(choice, "transA", 35);
  choose_flag(choice, "transB", 35);
  eg_attr *group =
      related && choice->op == EG_OP_CONV ? eg_verify_missing(choice, "group") : NULL;
  if (group != NULL) group->i = 1 + eg_verify_below(choice, 2);
  eg_attr *axis = related && eg_op_role(choice->op, 0) == EG_ROLE_PART
                      ? eg_verify_missing(choice, "axis")
                      : NULL;
  if (axis != NULL && choice->types[known].rank > 0)
    axis->i = eg_verify_below(choice, choice->types[known].rank);
  if (choice->wanted[0] != NULL)
    choice->types[0] = *choice->wanted[0];
  else if (!copy_part(choice, 0))
    choice->types[0] = related ? first_from(choice, known) : fresh_first(choice);
  if (choice->fit_aim[0] != NULL) choice->fit(choice->fit_aim[0], choice, 0);
  choice->type_set[0] = true;
}

static void choose_other_operands(eg_verify_choice *choice) {
  for (uint32_t i = 1; i < choice->count; i++) {
    if (choice->type_set[i]) continue;
    if (choice->wanted[i] != NULL)
      choice->types[i] = *choice->wanted[i];
    else if (!copy_part(choice, i))
      choice->types[i] = other_operand(choice, i);
    if (choice->fit_aim[i] != NULL) choice->fit(choice->fit_aim[i], choice, i);
    choice->type_set[i] = true;
  }
}

/// Decides, before operands are drawn, whether all operands of a concatenation have equal
/// sizes, or else which size they may have along the axis in which they differ.
static void choose_part_size(eg_verify_choice *choice) {
  bool is_part = false;
  for (uint32_t i = 0; i < choice->count; i++)
    is_part = is_part || choice->like[i] != NULL;
  uint32_t percent = choice->count > FEW_PARTS ? 50 : 15;
  choice->are_parts_alike =
      eg_op_role(choice->op, 0) == EG_ROLE_PART && eg_verify_chance(choice, percent);
  choice->part_size = is_part && eg_verify_chance(choice, 60) ? eg_verify_dim(choice) : 0;
}

void eg_verify_choose(eg_verify_choice *choice) {
  assert(choice->count <= EG_VERIFY_MAX_OPERANDS);
  choose_part_size(choice);
  if (choice->count > 0) choose_first_operand(choice);
  if (choice->aim != NULL) choice->put(choice->aim, choice);
  eg_verify_choose_attrs(choice);
  if (choice->count > 1) choose_other_operands(choice);
}
