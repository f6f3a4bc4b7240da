// What factors promise, checked by running the reference kernels on parts:
//
//   parallel, window   the result of a part is that part of the result (windows with
//   their halo) sum, max           the results of the parts add up to the result, or
//   their maximum is it linear             sums of operands go to sums of results,
//   addends of joint_linear split too
//
// All values are small whole numbers in float64 (or the case's integers), so that sums
// are exact; only means divide, hence the relative tolerance.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>

#include "ops/attention.h"
#include "tests/unit/ops_fixture.h"

static const double tolerance = 1e-12;

/// A case with its operands' values and its results.
typedef struct node {
  fixture f;
  const ops_case *row;
  eg_tensor inputs[FIXTURE_MAX_TYPES], results[FIXTURE_MAX_TYPES];
  uint32_t result_count;
  eg_factors factors;
} node;

// One byte more than needed, so that empty tensors have a pointer, too.
static eg_tensor tensor_of(eg_type type) {
  eg_tensor tensor = {.type = type};
  assert_ok(eg_alloc(eg_allocator_heap(), eg_type_bytes(&type) + 1, 1, &tensor.data));
  return tensor;
}

static void tensor_free(eg_tensor *tensor) {
  eg_free(eg_allocator_heap(), tensor->data, eg_type_bytes(&tensor->type) + 1, 1);
}

static void tensors_free(eg_tensor *tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    tensor_free(&tensors[i]);
}

static void run_kernel(const eg_attrs *attrs, const eg_tensor *inputs, uint32_t count,
                       eg_tensor *out) {
  eg_type types[FIXTURE_MAX_TYPES], results[FIXTURE_MAX_TYPES];
  for (uint32_t i = 0; i < count; i++)
    types[i] = inputs[i].type;
  uint32_t result_count = eg_op_results(attrs);
  assert_ok(eg_op_infer(attrs, types, count, results));
  for (uint32_t i = 0; i < result_count; i++)
    out[i] = tensor_of(results[i]);
  eg_kernel_call call = {.attrs = attrs,
                         .inputs = inputs,
                         .input_count = count,
                         .outputs = out,
                         .output_count = result_count,
                         .alloc = eg_allocator_heap()};
  assert_ok(eg_op_run(&call));
}

static void draw(eg_rng *rng, const eg_tensor *tensor, int64_t low, int64_t high) {
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++)
    eg_tensor_set_int(tensor, i,
                      low + (int64_t)eg_rng_below(rng, (uint64_t)(high - low + 1)));
}

// False for cases that have no factors to check: those of nothing.
static bool node_init(node *n, const ops_case *row, eg_rng *rng) {
  fixture_init(&n->f, row);
  n->row = row;
  n->result_count = eg_op_results(&n->f.attrs);
  assert_true(n->result_count <= FIXTURE_MAX_TYPES);
  for (uint32_t i = 0; i < n->f.count; i++) {
    eg_type *type = &n->f.inputs[i];
    if (eg_type_elements(type) == 0 || eg_type_elements(type) > 100000) return false;
    if (eg_dtype_is_float(type->dtype) && row->op != EG_OP_BIT_CAST)
      type->dtype = EGRAPH_FLOAT64;
  }
  assert_ok(eg_op_factors(&n->f.attrs, n->f.inputs, n->f.count, &n->factors));
  int64_t indexed = 0; // entries of the axis that operand 1 has indices of
  if (row->op == EG_OP_GATHER)
    indexed = n->f.inputs[0].dims[eg_attr_at(&n->f.attrs, EG_A_GATHER_AXIS)->i];
  if (row->op == EG_OP_GATHER_GRAD)
    indexed = eg_attr_at(&n->f.attrs, EG_A_GATHER_GRAD_SIZE)->i;
  if (row->op == EG_OP_GATHER && eg_attr_at(&n->f.attrs, EG_A_GATHER_WHOLE)->i != 0)
    indexed = eg_attr_at(&n->f.attrs, EG_A_GATHER_WHOLE)->i;
  if (row->op == EG_OP_GATHER_GRAD &&
      eg_attr_at(&n->f.attrs, EG_A_GATHER_GRAD_WHOLE)->i != 0)
    indexed = eg_attr_at(&n->f.attrs, EG_A_GATHER_GRAD_WHOLE)->i;
  for (uint32_t i = 0; i < n->f.count; i++) {
    n->inputs[i] = tensor_of(n->f.inputs[i]);
    bool indices = indexed != 0 && i == 1;
    draw(rng, &n->inputs[i],
         indices                               ? 0
         : n->f.inputs[i].dtype == EGRAPH_BOOL ? 0
                                               : 1,
         indices ? indexed - 1 : 6);
  }
  run_kernel(&n->f.attrs, n->inputs, n->f.count, n->results);
  return true;
}

static void node_deinit(node *n) {
  tensors_free(n->inputs, n->f.count);
  tensors_free(n->results, n->result_count);
  fixture_deinit(&n->f);
}

// ---- parts ----------------------------------------------------------------------

/// Indices i of a dimension with lo <= i / minor % size < hi.
typedef struct range {
  int64_t minor, size, lo, hi;
} range;

static eg_tensor take_range(const eg_tensor *from, int dim, range r) {
  eg_type type = from->type;
  if (dim == EG_NO_DIM) r = (range){1, 1, 0, 1}, dim = 0;
  int64_t inner = 1, outer = 1;
  bool scalar = type.rank == 0;
  for (uint32_t i = (uint32_t)dim + 1; i < type.rank; i++)
    inner *= type.dims[i];
  for (uint32_t i = 0; i < (uint32_t)dim; i++)
    outer *= type.dims[i];
  int64_t dims = scalar ? 1 : type.dims[dim];
  if (!scalar) type.dims[dim] = r.size == 1 ? dims : dims / r.size * (r.hi - r.lo);
  eg_tensor to = tensor_of(type);
  int64_t at = 0;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t d = 0; d < dims; d++) {
      int64_t position = d / r.minor % r.size;
      if (position < r.lo || position >= r.hi) continue;
      for (int64_t i = 0; i < inner; i++)
        eg_tensor_set_double(&to, at++,
                             eg_tensor_get_double(from, (o * dims + d) * inner + i));
    }
  assert_int_equal(at, eg_type_elements(&to.type));
  return to;
}

// The part [lo, hi) of factor `index` in a dimension: later factors of that dimension are
// minor.
static range range_of(const eg_factors *factors, uint32_t index, bool result,
                      uint32_t which, int64_t lo, int64_t hi) {
  const eg_factor *factor = &factors->factor[index];
  int dim = result ? factor->output_dim[eg_factor_row(which)]
                   : factor->input_dim[eg_factor_row(which)];
  int64_t minor = 1;
  for (uint32_t i = index + 1; i < factors->count; i++) {
    const eg_factor *later = &factors->factor[i];
    int at = result ? later->output_dim[eg_factor_row(which)]
                    : later->input_dim[eg_factor_row(which)];
    if (at == dim) minor *= later->size;
  }
  return (range){minor, factor->size, lo, hi};
}

/// Attributes of a part: lists are copied before they are changed.
typedef struct part_attrs {
  eg_attr slots[FIXTURE_MAX_SLOTS];
  int64_t list[32];
  eg_attrs attrs;
} part_attrs;

static void set_entry(part_attrs *part, uint16_t slot, int at, int64_t value) {
  eg_ints ints = part->slots[slot].ints;
  assert_true(ints.len <= 32 && at < (int)ints.len);
  if (ints.data != part->list)
    memcpy(part->list, ints.data, ints.len * sizeof *ints.data);
  part->list[at] = value;
  part->slots[slot].ints.data = part->list;
}

// Attributes that hold sizes follow the part, as the contract of eg_factors says.
static void part_attrs_init(part_attrs *part, const node *n, const eg_factor *factor,
                            int64_t size) {
  *part = (part_attrs){.attrs = n->f.attrs};
  memcpy(part->slots, n->f.slots, sizeof part->slots);
  part->attrs.slots = part->slots;
  int dim = factor->output_dim[0];
  int64_t whole = dim == EG_NO_DIM ? 0 : n->results[0].type.dims[dim];
  eg_op op = n->row->op;
  uint16_t slot = 0;
  bool shaped =
      op == EG_OP_RESHAPE || op == EG_OP_EXPAND || op == EG_OP_RESIZE || op == EG_OP_FILL;
  if (shaped && dim != EG_NO_DIM) {
    assert_true(eg_op_find_attr(op, "shape", &slot));
    set_entry(part, slot, dim, whole / factor->size * size);
  }
  if (op == EG_OP_AVERAGE_POOL_GRAD && dim >= 2) {
    assert_true(eg_op_find_attr(op, "spatial_shape", &slot));
    set_entry(part, slot, dim - 2, whole / factor->size * size);
  }
  if (op == EG_OP_SLICE) set_entry(part, 1, dim, size);
  if (op == EG_OP_TILE && factor->input_dim[0] == EG_NO_DIM)
    set_entry(part, 0, dim, size);
  if (op == EG_OP_POOL_KERNEL)
    part->slots[EG_A_POOL_KERNEL_CHANNELS - EG_A_BASE_POOL_KERNEL].i = size;
  if (op == EG_OP_MERGE_GCONV && factor->input_dim[0] == 0)
    part->slots[0].i = size * n->f.slots[1].i;
  if (op == EG_OP_GROUP_NORM && dim == 1) part->slots[0].i = size;
  bool grad = op == EG_OP_CONV_GRAD_WEIGHT;
  bool groups = factor->input_dim[0] == 1 && factor->input_dim[1] == (grad ? 1 : 0) &&
                dim == (grad ? 0 : 1);
  bool grouped = op == EG_OP_CONV || op == EG_OP_CONV_TRANSPOSE || grad;
  if (grouped && groups) {
    assert_true(eg_op_find_attr(op, "group", &slot));
    part->slots[slot].i = size;
  }
}

/// Beside the attributes above: what the part [lo, hi) of a factor is a part of.
static void part_attrs_of(part_attrs *part, const node *n, const eg_factor *factor,
                          int64_t lo, int64_t hi) {
  static const int64_t places[] = {2, 3, 4, 5};
  eg_op op = n->row->op;
  part_attrs_init(part, n, factor, hi - lo);
  bool is_sum = factor->kind == EG_FACTOR_SUM;
  if (op == EG_OP_GLOBAL_AVERAGE_POOL && is_sum) {
    part->attrs.op = EG_OP_REDUCE_MEAN;
    part->attrs.count = 3;
    part->slots[0] = (eg_attr){.kind = EG_ATTR_INTS,
                               .ints = {.data = places, .len = n->f.inputs[0].rank - 2}};
    part->slots[1] = (eg_attr){.kind = EG_ATTR_INT, .i = 1};
    part->slots[2] = (eg_attr){.kind = EG_ATTR_INT};
  }
  if (part->attrs.op == EG_OP_REDUCE_MEAN && is_sum && part->slots[2].i == 0)
    part->slots[2].i =
        eg_type_elements(&n->f.inputs[0]) / eg_type_elements(&n->results[0].type);
  uint16_t whole = 0, offset = 0;
  uint32_t queries = op == EG_OP_ATTENTION_GRAD ? 1 : 0;
  bool attends = op == EG_OP_ATTENTION || op == EG_OP_ATTENTION_GRAD;
  if (attends) {
    const eg_attention a = eg_attention_of(&part->attrs, &n->f.inputs[queries]);
    assert_true(eg_op_find_attr(op, "offset", &offset));
    if (factor->input_dim[queries] ==
        (int)eg_attention_row_dim(&a, n->f.inputs[queries].rank))
      part->slots[offset].i += lo;
  }
  bool is_entry =
      op == EG_OP_GATHER ? is_sum : op == EG_OP_GATHER_GRAD && factor->is_no_loop;
  if (!is_entry) return;
  assert_true(eg_op_find_attr(op, "whole", &whole));
  if (part->slots[whole].i == 0) part->slots[whole].i = factor->size;
  part->slots[whole + 1].i += lo;
  if (op == EG_OP_GATHER_GRAD) part->slots[whole - 1].i = hi - lo;
}

static bool same_values(const eg_tensor *a, const eg_tensor *b) {
  if (!eg_type_same(&a->type, &b->type)) return false;
  for (int64_t i = 0; i < eg_type_elements(&a->type); i++) {
    double x = eg_tensor_get_double(a, i), y = eg_tensor_get_double(b, i);
    bool close = x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance * fabs(x);
    if (!close) return false;
  }
  return true;
}

static void expect(bool holds, const node *n, uint32_t factor, const char *what) {
  if (!holds)
    fail_msg("%s %s %s: factor %u is not %s", eg_op_info_of(n->row->op)->name,
             n->row->attrs, n->row->inputs, factor, what);
}

// Runs the part [lo, hi) of a factor.
static void run_part(const node *n, uint32_t index, int64_t lo, int64_t hi,
                     eg_tensor *results) {
  const eg_factor *factor = &n->factors.factor[index];
  eg_tensor inputs[FIXTURE_MAX_TYPES];
  part_attrs part;
  part_attrs_of(&part, n, factor, lo, hi);
  for (uint32_t i = 0; i < n->f.count; i++)
    inputs[i] = take_range(&n->inputs[i], factor->input_dim[eg_factor_row(i)],
                           range_of(&n->factors, index, false, i, lo, hi));
  run_kernel(&part.attrs, inputs, n->f.count, results);
  tensors_free(inputs, n->f.count);
}

// True for a result that a PARALLEL factor does not index, and whose parts are added.
static bool is_absent_sum(const eg_factor *factor, uint32_t result) {
  return factor->absent == EG_ABSENT_SUM &&
         factor->output_dim[eg_factor_row(result)] == EG_NO_DIM;
}

// Results that a factor does not index are sums of both parts, if it says so.
static void check_absent(const node *n, uint32_t index, int64_t cut) {
  const eg_factor *factor = &n->factors.factor[index];
  eg_tensor halves[2][FIXTURE_MAX_TYPES];
  run_part(n, index, 0, cut, halves[0]);
  run_part(n, index, cut, factor->size, halves[1]);
  for (uint32_t r = 0; r < n->result_count; r++) {
    if (!is_absent_sum(factor, r)) continue;
    for (int64_t i = 0; i < eg_type_elements(&halves[0][r].type); i++)
      eg_tensor_set_double(&halves[0][r], i,
                           eg_tensor_get_double(&halves[0][r], i) +
                               eg_tensor_get_double(&halves[1][r], i));
    expect(same_values(&halves[0][r], &n->results[r]), n, index, "a sum of its parts");
  }
  tensors_free(halves[0], n->result_count);
  tensors_free(halves[1], n->result_count);
}

static void check_parallel(const node *n, uint32_t index, int64_t lo, int64_t hi) {
  const eg_factor *factor = &n->factors.factor[index];
  eg_tensor results[FIXTURE_MAX_TYPES];
  run_part(n, index, lo, hi, results);
  for (uint32_t i = 0; i < n->result_count; i++) {
    if (is_absent_sum(factor, i)) continue;
    eg_tensor wanted = take_range(&n->results[i], factor->output_dim[eg_factor_row(i)],
                                  range_of(&n->factors, index, true, i, lo, hi));
    expect(same_values(&results[i], &wanted), n, index, "parallel");
    tensor_free(&wanted);
  }
  tensors_free(results, n->result_count);
}

// Positions [lo, hi) read their windows only; what hangs over the ends stays padding. A
// transposed convolution cuts what it adds; there the ends are cut as much less.
static eg_tensor run_window(const node *n, uint32_t index, int64_t lo, int64_t hi) {
  const eg_factor *factor = &n->factors.factor[index];
  int dim = factor->input_dim[0];
  int64_t size = n->f.inputs[0].dims[dim];
  int64_t from = lo * factor->stride - factor->pad;
  int64_t to = (hi - 1) * factor->stride - factor->pad + factor->window;
  int64_t before = from < 0 ? -from : 0, after = to > size ? to - size : 0;
  range halo = {1, size, before == 0 ? from : 0, after == 0 ? to : size};
  bool cuts = n->row->op == EG_OP_CONV_TRANSPOSE;
  eg_tensor inputs[FIXTURE_MAX_TYPES], result;
  part_attrs part;
  part_attrs_init(&part, n, factor, hi - lo);
  uint16_t pads = 0;
  assert_true(eg_op_find_attr(n->row->op, "pads", &pads));
  int spatial = (int)n->f.inputs[0].rank - 2;
  eg_ints given = part.slots[pads].ints;
  int64_t begin = cuts ? given.data[dim - 2] : 0,
          end = cuts ? given.data[dim - 2 + spatial] : 0;
  if (cuts) {
    int64_t stride =
        eg_attr_at(&n->f.attrs, EG_A_CONV_TRANSPOSE_STRIDES)->ints.data[dim - 2];
    before = begin + (factor->pad - before) * stride;
    after = end + (factor->window - 1 - factor->pad - after) * stride;
  }
  set_entry(&part, pads, dim - 2, before);
  set_entry(&part, pads, dim - 2 + spatial, after);
  range rows = {1, factor->size, lo, hi};
  for (uint32_t i = 0; i < n->f.count; i++)
    inputs[i] = take_range(&n->inputs[i], factor->input_dim[eg_factor_row(i)],
                           i == 0 ? halo : rows);
  run_kernel(&part.attrs, inputs, n->f.count, &result);
  tensors_free(inputs, n->f.count);
  return result;
}

static void check_window(const node *n, uint32_t index, int64_t lo, int64_t hi) {
  const eg_factor *factor = &n->factors.factor[index];
  eg_tensor result = run_window(n, index, lo, hi);
  eg_tensor wanted = take_range(&n->results[0], factor->output_dim[0],
                                range_of(&n->factors, index, true, 0, lo, hi));
  expect(same_values(&result, &wanted), n, index, "a window");
  tensor_free(&wanted);
  tensor_free(&result);
}

static void check_window_sum(const node *n, uint32_t index, int64_t cut) {
  eg_tensor a = run_window(n, index, 0, cut);
  eg_tensor b = run_window(n, index, cut, n->factors.factor[index].size);
  for (int64_t i = 0; i < eg_type_elements(&a.type); i++)
    eg_tensor_set_double(&a, i,
                         eg_tensor_get_double(&a, i) + eg_tensor_get_double(&b, i));
  expect(same_values(&a, &n->results[0]), n, index, "a sum over windows");
  tensor_free(&a);
  tensor_free(&b);
}

static bool is_joint(const node *n, uint32_t operand) {
  return (n->factors.joint_linear >> eg_factor_row(operand) & 1) != 0;
}

static void clear(const eg_tensor *tensor) {
  memset(tensor->data, 0, eg_type_bytes(&tensor->type));
}

// Runs both parts of a sum or maximum; addends take part in the first part only.
static void check_reduction(const node *n, uint32_t index, int64_t cut) {
  const eg_factor *factor = &n->factors.factor[index];
  bool max = factor->kind == EG_FACTOR_MAX;
  eg_tensor inputs[FIXTURE_MAX_TYPES], halves[2];
  for (int half = 0; half < 2; half++) {
    int64_t lo = half == 0 ? 0 : cut, hi = half == 0 ? cut : factor->size;
    for (uint32_t i = 0; i < n->f.count; i++) {
      inputs[i] = take_range(&n->inputs[i], factor->input_dim[eg_factor_row(i)],
                             range_of(&n->factors, index, false, i, lo, hi));
      if (half == 1 && is_joint(n, i)) clear(&inputs[i]);
    }
    part_attrs part;
    part_attrs_of(&part, n, factor, lo, hi);
    run_kernel(&part.attrs, inputs, n->f.count, &halves[half]);
    tensors_free(inputs, n->f.count);
  }
  for (int64_t i = 0; i < eg_type_elements(&halves[0].type); i++) {
    double a = eg_tensor_get_double(&halves[0], i);
    double b = eg_tensor_get_double(&halves[1], i);
    eg_tensor_set_double(&halves[0], i, max ? (a > b ? a : b) : a + b);
  }
  expect(same_values(&halves[0], &n->results[0]), n, index, max ? "a maximum" : "a sum");
  tensors_free(halves, 2);
}

static bool moves_kernel_tap(const node *n, const eg_factor *factor) {
  // A part of a convolution's kernel reads a shifted window: it needs other pads, not
  // other data.
  return n->row->op == EG_OP_CONV && factor->input_dim[0] == EG_NO_DIM &&
         factor->input_dim[1] >= 2;
}

static uint32_t check_factor(const node *n, uint32_t index, eg_rng *rng) {
  const eg_factor *factor = &n->factors.factor[index];
  if (factor->size < 2 || n->row->op == EG_OP_LRN) return 0;
  int64_t cut = 1 + (int64_t)eg_rng_below(rng, (uint64_t)factor->size - 1);
  switch (factor->kind) {
  case EG_FACTOR_PARALLEL:
    check_parallel(n, index, 0, cut);
    check_parallel(n, index, cut, factor->size);
    check_absent(n, index, cut);
    return 1;
  case EG_FACTOR_WINDOW:
    if (factor->output_dim[0] == EG_NO_DIM) {
      check_window_sum(n, index, cut);
      return 1;
    }
    check_window(n, index, 0, cut);
    check_window(n, index, cut, factor->size);
    return 1;
  case EG_FACTOR_SUM:
  case EG_FACTOR_MAX:
    if (moves_kernel_tap(n, factor)) return 0;
    check_reduction(n, index, cut);
    return 1;
  case EG_FACTOR_BLOCKED: return 0;
  }
  return 0;
}

static void factors_hold_on_parts(void **state) {
  (void)state;
  eg_rng rng = {test_seed(7)};
  size_t rounds = test_rounds(3);
  uint32_t checked = 0;
  for (size_t round = 0; round < rounds; round++)
    for (int c = 0; c < OPS_CASES; c++) {
      node n;
      if (!node_init(&n, &ops_cases[c], &rng)) {
        fixture_deinit(&n.f);
        continue;
      }
      for (uint32_t i = 0; i < n.factors.count; i++)
        checked += check_factor(&n, i, &rng);
      node_deinit(&n);
    }
  print_message("%" PRIu32 " factors split\n", checked);
  assert_true(checked > 150);
}

// ---- linearity ------------------------------------------------------------------

// to = a + b elementwise, for any dtype with small whole numbers.
static eg_tensor sum_of(const eg_tensor *a, const eg_tensor *b) {
  eg_tensor to = tensor_of(a->type);
  for (int64_t i = 0; i < eg_type_elements(&a->type); i++)
    eg_tensor_set_double(&to, i, eg_tensor_get_double(a, i) + eg_tensor_get_double(b, i));
  return to;
}

// Operands whose bit is set are x in one run, y in another, x + y in the third.
static void check_linear(const node *n, uint32_t operands, eg_rng *rng) {
  eg_tensor x[FIXTURE_MAX_TYPES], y[FIXTURE_MAX_TYPES], both[FIXTURE_MAX_TYPES],
      of_x[FIXTURE_MAX_TYPES], of_y[FIXTURE_MAX_TYPES], of_both[FIXTURE_MAX_TYPES];
  range all = {1, 1, 0, 1};
  for (uint32_t i = 0; i < n->f.count; i++) {
    bool varies = (operands >> eg_factor_row(i) & 1) != 0;
    x[i] = take_range(&n->inputs[i], EG_NO_DIM, all);
    y[i] = take_range(&n->inputs[i], EG_NO_DIM, all);
    if (varies) draw(rng, &y[i], 1, 6);
    both[i] = varies ? sum_of(&x[i], &y[i]) : take_range(&x[i], EG_NO_DIM, all);
  }
  run_kernel(&n->f.attrs, x, n->f.count, of_x);
  run_kernel(&n->f.attrs, y, n->f.count, of_y);
  run_kernel(&n->f.attrs, both, n->f.count, of_both);
  for (uint32_t i = 0; i < n->result_count; i++) {
    eg_tensor sum = sum_of(&of_x[i], &of_y[i]);
    expect(same_values(&sum, &of_both[i]), n, operands, "a set of linear operands");
    tensor_free(&sum);
  }
  eg_tensor *const inputs[] = {x, y, both}, *const results[] = {of_x, of_y, of_both};
  for (int i = 0; i < 3; i++) {
    tensors_free(inputs[i], n->f.count);
    tensors_free(results[i], n->result_count);
  }
}

static void linear_operands_are_linear(void **state) {
  (void)state;
  eg_rng rng = {test_seed(11)};
  uint32_t checked = 0;
  for (int c = 0; c < OPS_CASES; c++) {
    node n;
    if (!node_init(&n, &ops_cases[c], &rng)) {
      fixture_deinit(&n.f);
      continue;
    }
    bool logic =
        n.f.count != 0 && n.f.inputs[0].dtype == EGRAPH_BOOL && n.row->op != EG_OP_WHERE;
    uint32_t joint = n.factors.joint_linear, linear = logic ? 0 : n.factors.linear;
    for (uint32_t i = 0; i < n.f.count && i < EG_FACTOR_ROWS; i++)
      if ((linear >> i & 1) != 0) {
        check_linear(&n, UINT32_C(1) << i | joint, &rng);
        checked++;
      }
    if (n.factors.linear == 0 && joint != 0 && !logic) {
      check_linear(&n, joint, &rng);
      checked++;
    }
    node_deinit(&n);
  }
  print_message("%" PRIu32 " sets of linear operands\n", checked);
  assert_true(checked > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_hold_on_parts),
      cmocka_unit_test(linear_operands_are_linear),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
