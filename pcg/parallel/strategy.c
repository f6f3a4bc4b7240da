// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/strategy.h"

#include <math.h>
#include <string.h>

static eg_op op_of(const eg_spread *spread) { return (eg_op)spread->spec.attrs->op; }

static bool has_bit(uint32_t bits, uint32_t i) { return (bits >> i & 1) != 0; }

egraph_status eg_spread_init(const eg_node_spec *spec, eg_spread *out) {
  assert(spec->attrs->op < EG_OP_COUNT);
  *out = (eg_spread){.spec = *spec};
  eg_op op = (eg_op)spec->attrs->op;
  bool is_known = op != EG_OP_OPAQUE && op != EG_OP_INPUT && op != EG_OP_WEIGHT;
  if (!is_known) return EGRAPH_OK; // no factors
  return eg_op_factors(spec->attrs, spec->inputs, spec->input_count, &out->factors);
}

// ---- one axis ---------------------------------------------------------------------

/// True for the positions within the window of a convolution: a part of them reads a
/// shifted window, which needs other pads instead of other data.
static bool is_kernel_tap(const eg_spread *spread, const eg_factor *factor) {
  if (factor->kind != EG_FACTOR_SUM || factor->input_dim[0] != EG_NO_DIM) return false;
  for (uint32_t i = 0; i < spread->factors.count; i++)
    if (spread->factors.factor[i].kind == EG_FACTOR_WINDOW &&
        spread->factors.factor[i].input_dim[1] == EG_NO_DIM && factor->input_dim[1] >= 2)
      return true;
  return false;
}

/// Finds the sharding of result 0 when a factor is split; false when it cannot be.
static bool result_digit(const eg_spread *spread, const eg_factor *factor, uint8_t *out) {
  switch (factor->kind) {
  case EG_FACTOR_BLOCKED: return false;
  case EG_FACTOR_SUM: *out = EG_SHARD_P_SUM; return !is_kernel_tap(spread, factor);
  case EG_FACTOR_MAX: *out = EG_SHARD_P_MAX; return true;
  case EG_FACTOR_WINDOW:
    if (factor->output_dim[0] != EG_NO_DIM) break;
    // The result (the gradient of a convolution's weights) is a sum over the positions of
    // the window, so a split leaves partial sums.
    *out = EG_SHARD_P_SUM;
    return true;
  case EG_FACTOR_PARALLEL: break;
  }
  int dim = factor->output_dim[0];
  for (uint32_t r = 1; r < spread->spec.result_count; r++)
    if (factor->output_dim[eg_factor_row(r)] == EG_NO_DIM &&
        factor->absent == EG_ABSENT_REFUSED)
      return false;
  if (dim == EG_NO_DIM) return false;
  *out = eg_digit_shard((uint32_t)dim);
  return true;
}

// ---- layouts of further results -----------------------------------------------------

/// Returns the factor that an axis of `size` devices splits where it splits dimension
/// `dim` of result 0: coarser factors are split completely before finer ones. `parts` has
/// the parts of each factor so far, and is updated.
static const eg_factor *split_of_dim(const eg_factors *factors, uint32_t dim,
                                     int64_t size, int64_t parts[EG_MAX_FACTORS]) {
  for (uint32_t f = 0; f < factors->count; f++) {
    const eg_factor *factor = &factors->factor[f];
    bool is_of_dim = factor->kind == EG_FACTOR_PARALLEL &&
                     factor->output_dim[0] == (int)dim && factor->size != parts[f];
    if (!is_of_dim) continue;
    parts[f] *= size;
    return factor;
  }
  return NULL;
}

static uint8_t digit_of_result(const eg_factor *factor, uint32_t result, uint8_t digit) {
  if (factor == NULL) return digit;
  int dim = factor->output_dim[eg_factor_row(result)];
  if (dim != EG_NO_DIM) return eg_digit_shard((uint32_t)dim);
  return factor->absent == EG_ABSENT_SUM ? EG_SHARD_P_SUM : EG_SHARD_R;
}

eg_layout eg_factors_result_layout(const eg_factors *factors, const eg_mesh *mesh,
                                   const eg_layout *first, uint32_t result) {
  eg_layout layout = *first;
  int64_t parts[EG_MAX_FACTORS];
  for (uint32_t f = 0; f < EG_MAX_FACTORS; f++)
    parts[f] = 1;
  for (uint32_t a = 0; result != 0 && a < mesh->axis_count; a++) {
    if (!eg_digit_is_shard(first->sharding[a])) continue;
    const eg_factor *factor = split_of_dim(factors, eg_digit_dim(first->sharding[a]),
                                           mesh->axes[a].size, parts);
    layout.sharding[a] = digit_of_result(factor, result, first->sharding[a]);
  }
  return layout;
}

static uint32_t count_rows(const eg_spread *spread) {
  uint32_t operands = spread->spec.input_count;
  return operands < EG_FACTOR_ROWS ? operands : EG_FACTOR_ROWS;
}

static bool split_factor(const eg_spread *spread, const eg_mesh *mesh, uint32_t axis,
                         const eg_factor *factor, eg_strategy *inout) {
  if (!result_digit(spread, factor, &inout->result.sharding[axis])) return false;
  for (uint32_t i = 0; i < count_rows(spread); i++) {
    int dim = factor->input_dim[i];
    bool is_addend =
        factor->kind == EG_FACTOR_SUM && has_bit(spread->factors.joint_linear, i);
    if (dim != EG_NO_DIM)
      inout->inputs[i].sharding[axis] = eg_digit_shard((uint32_t)dim);
    else if (is_addend)
      inout->inputs[i].sharding[axis] = EG_SHARD_P_SUM;
  }
  inout->share /= mesh->axes[axis].size;
  return true;
}

static bool has_sum(const eg_factors *factors) {
  for (uint32_t i = 0; i < factors->count; i++)
    if (factors->factor[i].kind == EG_FACTOR_SUM) return true;
  return false;
}

/// Lets partial sums of an operand pass to the result; EG_NO_DIM: of joint operands.
static bool pass_operand(const eg_spread *spread, uint32_t axis, int operand,
                         eg_strategy *inout) {
  const eg_factors *factors = &spread->factors;
  uint32_t passed = factors->joint_linear;
  if (operand == EG_NO_DIM) {
    if (passed == 0 || factors->linear != 0 || has_sum(factors)) return false;
  } else {
    if (!has_bit(factors->linear, (uint32_t)operand)) return false;
    passed |= UINT32_C(1) << operand;
  }
  for (uint32_t i = 0; i < count_rows(spread); i++)
    if (has_bit(passed, i)) inout->inputs[i].sharding[axis] = EG_SHARD_P_SUM;
  inout->result.sharding[axis] = EG_SHARD_P_SUM;
  return true;
}

static bool take_action(const eg_spread *spread, const eg_mesh *mesh, uint32_t axis,
                        uint8_t action, eg_strategy *inout) {
  inout->action[axis] = action;
  if (action == EG_ACTION_REPLICATE) return true;
  if (action == EG_ACTION_PASS_JOINT) return pass_operand(spread, axis, EG_NO_DIM, inout);
  if (action < EG_ACTION_SPLIT)
    return pass_operand(spread, axis, action - EG_ACTION_PASS, inout);
  uint32_t factor = (uint32_t)action - EG_ACTION_SPLIT;
  return factor < spread->factors.count &&
         split_factor(spread, mesh, axis, &spread->factors.factor[factor], inout);
}

// ---- all axes ---------------------------------------------------------------------

/// Counts the parts into which a factor (loop index) is split, and finds the first and
/// last axis that split it.
static int64_t count_parts(const eg_mesh *mesh, const eg_strategy *strategy,
                           uint32_t factor, uint32_t *out_first, uint32_t *out_last) {
  int64_t parts = 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (strategy->action[a] != EG_ACTION_SPLIT + factor) continue;
    if (parts == 1) *out_first = a;
    parts *= mesh->axes[a].size;
    *out_last = a;
  }
  return parts;
}

/// True when a device's part of every dimension is one block.
static bool is_contiguous(const eg_spread *spread, const eg_mesh *mesh,
                          const eg_strategy *strategy, bool is_result, uint32_t which,
                          uint32_t rank) {
  const eg_factors *factors = &spread->factors;
  for (uint32_t dim = 0; dim < rank; dim++) {
    bool is_open = false; // a coarser factor is not split completely
    uint32_t last = 0;
    for (uint32_t f = 0; f < factors->count; f++) {
      const eg_factor *factor = &factors->factor[f];
      uint32_t row = eg_factor_row(which);
      int at = is_result ? factor->output_dim[row] : factor->input_dim[row];
      if (at != (int)dim || factor->kind == EG_FACTOR_BLOCKED) {
        is_open = is_open || (at == (int)dim && factor->size > 1);
        continue;
      }
      uint32_t first_axis = 0, last_axis = 0;
      int64_t parts = count_parts(mesh, strategy, f, &first_axis, &last_axis);
      if (parts > 1 && (is_open || first_axis < last)) return false;
      if (parts > 1) last = last_axis;
      is_open = is_open || parts != factor->size;
    }
  }
  return true;
}

/// True when the sizes of all factors (loop indexes) are multiples of their parts.
static bool factors_divide(const eg_spread *spread, const eg_mesh *mesh,
                           const eg_strategy *strategy) {
  for (uint32_t f = 0; f < spread->factors.count; f++) {
    uint32_t first, last;
    if (spread->factors.factor[f].size % count_parts(mesh, strategy, f, &first, &last) !=
        0)
      return false;
  }
  return true;
}

static bool is_legal(const eg_mesh *mesh, const eg_type *type, const eg_layout *layout) {
  return eg_sharding_check(mesh, type, layout) == EG_SHARDING_LEGAL;
}

static bool layouts_fit(const eg_spread *spread, const eg_mesh *mesh,
                        const eg_strategy *strategy) {
  const eg_node_spec *spec = &spread->spec;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (!is_legal(mesh, &spec->inputs[i], eg_strategy_input(strategy, i)) ||
        !is_contiguous(spread, mesh, strategy, false, i, spec->inputs[i].rank))
      return false;
  for (uint32_t r = 0; r < spec->result_count; r++) {
    eg_layout layout =
        eg_factors_result_layout(&spread->factors, mesh, &strategy->result, r);
    if (!is_legal(mesh, &spec->results[r], &layout) ||
        !is_contiguous(spread, mesh, strategy, true, r, spec->results[r].rank))
      return false;
  }
  return true;
}

// ---- windows ----------------------------------------------------------------------

static const eg_factor *window_of(const eg_spread *spread, uint8_t action) {
  if (action < EG_ACTION_SPLIT) return NULL;
  const eg_factor *factor = &spread->factors.factor[action - EG_ACTION_SPLIT];
  return factor->kind == EG_FACTOR_WINDOW ? factor : NULL;
}

/// True when rows filled with `*out_fill` can replace the padding of a sliding window.
static bool can_fill(const eg_spread *spread, const eg_factor *window, double *out_fill) {
  const eg_attrs *attrs = spread->spec.attrs;
  *out_fill = op_of(spread) == EG_OP_MAX_POOL ? -(double)INFINITY : 0;
  switch ((int)op_of(spread)) {
  case EG_OP_CONV:
  case EG_OP_CONV_TRANSPOSE:
  case EG_OP_CONV_GRAD_WEIGHT:
  case EG_OP_MAX_POOL: return true;
  case EG_OP_AVERAGE_POOL:
    return eg_attr_at(attrs, EG_A_AVERAGE_POOL_COUNT_INCLUDE_PAD)->i != 0 ||
           (window->pad == 0 && window->window <= window->stride);
  default: return false;
  }
}

static bool halo_of(const eg_spread *spread, const eg_mesh *mesh, uint32_t axis,
                    const eg_factor *window, eg_halo *out) {
  int64_t n = mesh->axes[axis].size,
          size = spread->spec.inputs[0].dims[window->input_dim[0]];
  int64_t held = size / n, after = window->window - window->stride - window->pad;
  *out = (eg_halo){.axis = axis,
                   .dim = (uint32_t)window->input_dim[0],
                   .before = window->pad,
                   .after = after > 0 ? after : 0,
                   .window = window->window,
                   .stride = window->stride};
  return can_fill(spread, window, &out->fill) &&
         held == window->size / n * window->stride && out->before <= held &&
         out->after <= held;
}

/// True when every sliding window is split along at most one axis and reads rows of
/// direct neighbours only.
static bool windows_fit(const eg_spread *spread, const eg_mesh *mesh,
                        const eg_strategy *strategy) {
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    const eg_factor *window = window_of(spread, strategy->action[a]);
    eg_halo halo;
    if (window == NULL) continue;
    for (uint32_t b = 0; b < a; b++)
      if (strategy->action[b] == strategy->action[a]) return false;
    if (!halo_of(spread, mesh, a, window, &halo)) return false;
  }
  return true;
}

uint32_t eg_spread_halos(const eg_spread *spread, const eg_mesh *mesh,
                         const eg_strategy *strategy, eg_halo out[EG_MAX_MESH_AXES]) {
  uint32_t count = 0;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    const eg_factor *window = window_of(spread, strategy->action[a]);
    if (window != NULL && halo_of(spread, mesh, a, window, &out[count]))
      count += out[count].before > 0 || out[count].after > 0;
  }
  return count;
}

// ---- strategies -------------------------------------------------------------------

bool eg_spread_combine(const eg_spread *spread, const eg_mesh *mesh,
                       const uint8_t *actions, eg_strategy *out) {
  *out = (eg_strategy){.share = 1};
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (!take_action(spread, mesh, a, actions[a], out)) return false;
  return factors_divide(spread, mesh, out) && layouts_fit(spread, mesh, out) &&
         windows_fit(spread, mesh, out);
}

uint32_t eg_spread_actions(const eg_spread *spread, const eg_mesh *mesh, uint32_t axis,
                           uint8_t out[EG_MAX_ACTIONS]) {
  uint32_t count = 0, last = EG_ACTION_SPLIT + spread->factors.count;
  for (uint32_t action = 0; action < last; action++) {
    eg_strategy strategy = {.share = 1};
    if (take_action(spread, mesh, axis, (uint8_t)action, &strategy))
      out[count++] = (uint8_t)action;
  }
  return count;
}

egraph_status eg_spread_unevens(const eg_spread *spread, const eg_mesh *mesh,
                                eg_unevens *inout) {
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    for (uint32_t f = 0; f < spread->factors.count; f++) {
      const eg_factor *factor = &spread->factors.factor[f];
      eg_strategy strategy = {.share = 1};
      if (factor->size > 1 && factor->size % mesh->axes[a].size != 0 &&
          split_factor(spread, mesh, a, factor, &strategy))
        EG_TRY(eg_unevens_push(inout, (eg_uneven){.axis = a, .factor = f}));
    }
  return EGRAPH_OK;
}

// ---- memory formats -------------------------------------------------------------------

_Static_assert((int)EG_MAX_FORMAT_OPERANDS == (int)EG_FACTOR_ROWS,
               "operands of one row have one format: beyond that many all are plain");

void eg_strategy_set_formats(eg_strategy *strategy, const eg_format_choice *choice) {
  for (uint32_t row = 0; row < EG_FACTOR_ROWS; row++)
    strategy->inputs[row].format = choice->input[row];
  strategy->result.format = choice->output;
}
