// Chooses attributes of a random node by name: a name means the same for all operators.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ops/recurrent.h"
#include "ops/resize.h"
#include "rewrites/lab/instances/instance_choose.h"
#include "rewrites/lab/instances/instance_numbers.h"

enum { MOST_SMALL = 1 << 20, MOST_SIZE = 1 << 30, MOST_ACTIVATIONS = 16 };

/// Creates a list of `len` numbers as the attribute's value; the caller fills it.
static int64_t *new_list(eg_verify_choice *choice, eg_attr *attr, uint32_t len) {
  int64_t *list = eg_verify_list(choice, len);
  attr->ints = (eg_ints){.data = list, .len = len};
  return list;
}

/// Limits a number in an attribute: rules may name numbers of any size, but sums with
/// them must stay small.
static int64_t within(int64_t number, int64_t most) {
  return number > most ? most : number < -most ? -most : number;
}

static uint32_t rank_of(const eg_verify_choice *choice) {
  return choice->count > 0 ? choice->types[0].rank : 0;
}

/// Returns the number of spatial dimensions of the operand. The columns of col2im do not
/// determine it; the attribute `block` does.
static uint32_t spatial_of(const eg_verify_choice *choice) {
  uint32_t rank = rank_of(choice);
  if (choice->op == EG_OP_COL2IM) {
    const eg_attr *block = eg_verify_known(choice, "block_shape");
    return block == NULL ? 1 : (uint32_t)within(block->ints.len, EGRAPH_MAX_RANK);
  }
  return rank > 2 ? rank - 2 : 0;
}

// ---- axes and permutations ------------------------------------------------------

/// Returns the last dimension in which known operands differ, or `rank`.
static uint32_t differing_axis(const eg_verify_choice *choice, uint32_t rank) {
  uint32_t axis = rank;
  for (uint32_t i = 1; i < choice->count; i++)
    for (uint32_t d = 0; choice->type_set[i] && d < rank && d < choice->types[i].rank;
         d++)
      if (choice->types[i].dims[d] != choice->types[0].dims[d]) axis = d;
  return axis;
}

static void choose_axis(eg_verify_choice *choice, eg_attr *attr) {
  uint32_t rank = rank_of(choice);
  if (choice->op == EG_OP_FLATTEN) {
    attr->i = eg_verify_below(choice, rank + 1);
    return;
  }
  if (rank == 0) return;
  uint32_t axis =
      eg_op_role(choice->op, 0) == EG_ROLE_PART ? differing_axis(choice, rank) : rank;
  attr->i = axis < rank ? axis : eg_verify_below(choice, rank);
  if (eg_verify_chance(choice, 30)) attr->i -= rank;
}

static bool may_take_axis(const eg_verify_choice *choice, uint32_t axis) {
  return choice->op != EG_OP_SQUEEZE || choice->types[0].dims[axis] == 1;
}

static void choose_axes(eg_verify_choice *choice, eg_attr *attr) {
  uint32_t rank = rank_of(choice), len = 0;
  if (choice->op == EG_OP_UNSQUEEZE) rank += 1 + eg_verify_below(choice, 2);
  uint32_t wanted = rank - (choice->op == EG_OP_UNSQUEEZE ? rank_of(choice) : 0);
  int64_t *axes = new_list(choice, attr, rank + 1);
  if (choice->op == EG_OP_UNSQUEEZE) { // exactly `wanted` axes, ascending
    for (uint32_t i = 0; i < rank && len < wanted; i++)
      if (eg_verify_below(choice, rank - i) < wanted - len) axes[len++] = i;
  } else if (rank > 0 && eg_verify_chance(choice, 60)) {
    bool is_last = choice->dim_count == 0 && eg_verify_chance(choice, 50);
    uint32_t axis = is_last ? rank - 1 : eg_verify_below(choice, rank);
    if (may_take_axis(choice, axis)) axes[len++] = axis;
  }
  bool several = len == 0;
  for (uint32_t i = 0; several && i < rank; i++)
    if (may_take_axis(choice, i) && eg_verify_chance(choice, 60)) axes[len++] = i;
  attr->ints.len = len;
}

static void choose_perm(eg_verify_choice *choice, eg_attr *attr) {
  uint32_t rank = rank_of(choice);
  int64_t *perm = new_list(choice, attr, rank);
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i;
  uint32_t kind = eg_verify_below(choice, 100);
  uint32_t swaps = kind < 15 ? 0 : kind < 65 ? 1 : rank;
  for (uint32_t i = 0; i < swaps && rank > 1; i++) {
    bool last = kind < 40;
    uint32_t a = last ? rank - 1 : eg_verify_below(choice, rank);
    uint32_t b = last ? rank - 2 : eg_verify_below(choice, rank);
    int64_t kept = perm[a];
    perm[a] = perm[b];
    perm[b] = kept;
  }
}

// ---- windows --------------------------------------------------------------------

static void choose_pads(eg_verify_choice *choice, eg_attr *attr) {
  uint16_t slot;
  bool is_pad = eg_op_find_role(choice->op, EG_AR_MARGINS, &slot);
  uint32_t half = is_pad ? rank_of(choice) : spatial_of(choice);
  int64_t *pads = new_list(choice, attr, 2 * half);
  uint32_t kind = eg_verify_below(choice, 100);
  if (choice->is_window && is_pad && kind < 25) kind += 25;
  for (uint32_t i = 0; i < half; i++) {
    bool leading = is_pad && i < 2 && eg_verify_chance(choice, 80); // mostly images
    uint32_t most = kind >= 85 ? 6 : 3;
    int64_t begin = eg_verify_below(choice, most), end = eg_verify_below(choice, most);
    if (kind < 25 || leading) begin = end = 0;
    if (kind >= 25 && kind < 50 && !leading) begin = end = 1;
    pads[i] = begin;
    pads[i + half] = end;
  }
}

static void choose_steps(eg_verify_choice *choice, eg_attr *attr, uint32_t one_percent) {
  uint32_t len = spatial_of(choice);
  int64_t *list = new_list(choice, attr, len);
  bool ones = eg_verify_chance(choice, choice->is_window ? 40 : one_percent);
  for (uint32_t i = 0; i < len; i++)
    list[i] = ones ? 1 : 1 + eg_verify_below(choice, 3);
}

static void choose_strides(eg_verify_choice *choice, eg_attr *attr) {
  choose_steps(choice, attr, 60);
}

static void choose_dilations(eg_verify_choice *choice, eg_attr *attr) {
  choose_steps(choice, attr, 75);
}

/// Draws an output padding below the stride, if the stride is known.
static void choose_output_padding(eg_verify_choice *choice, eg_attr *attr) {
  uint32_t len = spatial_of(choice);
  int64_t *list = new_list(choice, attr, len);
  const eg_attr *strides = eg_verify_known(choice, "strides");
  for (uint32_t i = 0; i < len; i++) {
    bool is_known = strides != NULL && i < strides->ints.len;
    int64_t most = is_known ? within(strides->ints.data[i], MOST_SMALL) : 2;
    bool is_some = most > 1 && eg_verify_chance(choice, 40);
    list[i] = is_some ? 1 + eg_verify_below(choice, (uint32_t)most - 1) : 0;
  }
}

static void choose_group(eg_verify_choice *choice, eg_attr *attr) {
  static const int64_t groups[] = {1, 1, 2, 2, 3, 4, 6};
  attr->i = groups[eg_verify_below(choice, 7)];
  if (choice->op != EG_OP_CONV || rank_of(choice) < 2) return;
  int64_t channels = choice->types[0].dims[1];
  if (choice->type_set[1] && choice->types[1].rank > 1 && choice->types[1].dims[1] > 0)
    attr->i = channels / choice->types[1].dims[1];
  else if (eg_verify_chance(choice, 25))
    attr->i = channels;
  else if (channels % attr->i != 0 || eg_verify_chance(choice, 30))
    attr->i = 1;
}

// ---- shapes ---------------------------------------------------------------------

// Draws a shape that merges or splits dimensions, or adds ones.
static void choose_reshape(eg_verify_choice *choice, eg_attr *attr) {
  const eg_type *x = &choice->types[0];
  int64_t *shape = new_list(choice, attr, 3 * EGRAPH_MAX_RANK);
  uint32_t len = 0, kind = eg_verify_below(choice, 100);
  for (uint32_t i = 0; i < x->rank; i++) {
    bool merges = kind >= 20 && len > 0 && eg_verify_chance(choice, kind < 30 ? 100 : 30);
    int64_t part = 2 + eg_verify_below(choice, 2);
    if (merges) {
      shape[len - 1] *= x->dims[i];
    } else if (kind >= 60 && x->dims[i] % part == 0 && len + 2 < 6) {
      shape[len++] = part;
      shape[len++] = x->dims[i] / part;
    } else {
      shape[len++] = x->dims[i];
    }
    if (kind >= 80 && len < 5 && eg_verify_chance(choice, 40)) shape[len++] = 1;
  }
  attr->ints.len = len;
}

// Draws a shape to which operand 0 broadcasts, or the shape of operand 0.
static void choose_expand(eg_verify_choice *choice, eg_attr *attr) {
  const eg_type *x = &choice->types[0];
  int64_t *shape = new_list(choice, attr, EGRAPH_MAX_RANK + 1);
  uint32_t len = 0;
  bool same = eg_verify_chance(choice, 35);
  if (!same && x->rank < 4 && eg_verify_chance(choice, 40))
    shape[len++] = eg_verify_dim(choice);
  for (uint32_t i = 0; i < x->rank; i++)
    shape[len++] = !same && x->dims[i] == 1 ? eg_verify_dim(choice) : x->dims[i];
  attr->ints.len = len;
}

// Draws the new sizes of a resize; images keep batch and channels in most draws.
static void choose_resize(eg_verify_choice *choice, eg_attr *attr) {
  const eg_type *x = &choice->types[0];
  int64_t *shape = new_list(choice, attr, x->rank);
  uint32_t kept = x->rank > 2 && eg_verify_chance(choice, 80) ? 2 : 0;
  uint32_t kind = eg_verify_below(choice, 100);
  for (uint32_t i = 0; i < x->rank; i++) {
    shape[i] = x->dims[i];
    if (kind < 15 || i < kept) continue;
    if (kind < 45) shape[i] *= 2 + eg_verify_below(choice, 2);
    if (kind >= 45) shape[i] = 1 + eg_verify_below(choice, 2 * (uint32_t)x->dims[i] + 1);
  }
}

/// Draws a resize scale for every dimension, near the quotient of the new size and the
/// old size: the fraction that is cut off also matters.
static void choose_scales(eg_verify_choice *choice, eg_attr *attr) {
  static const double beside[] = {0.25, 0.5, 0.75, -0.5};
  const eg_type *x = &choice->types[0];
  eg_verify_choose_slot(choice, "shape");
  const eg_attr *shape = eg_verify_known(choice, "shape");
  if (eg_verify_chance(choice, 40) || shape->ints.len != x->rank) return;
  double *scales = eg_verify_floats(choice, x->rank);
  for (uint32_t i = 0; i < x->rank; i++) {
    double to = (double)shape->ints.data[i], from = (double)x->dims[i];
    bool is_kept = to == from && eg_verify_chance(choice, 80);
    double off = is_kept ? 0 : beside[eg_verify_below(choice, 4)];
    double size = to + off > 0 ? to + off : to + 0.5;
    scales[i] = from > 0 ? (double)(float)(size / from) : 1.0;
  }
  attr->floats = (eg_floats){.data = scales, .len = x->rank};
}

/// Draws the region that a resize reads: starts, then ends, in the operand or beyond it.
static void choose_roi(eg_verify_choice *choice, eg_attr *attr) {
  static const double starts[] = {0, 0, 0.25, 0.125, -0.25};
  static const double ends[] = {1, 1, 0.75, 0.5, 1.25};
  uint32_t rank = rank_of(choice);
  eg_verify_choose_slot(choice, "coordinates");
  const eg_attr *coordinates = eg_verify_known(choice, "coordinates");
  if (coordinates->i != EG_RESIZE_TF_CROP_AND_RESIZE) return;
  double *roi = eg_verify_floats(choice, 2 * rank);
  for (uint32_t i = 0; i < rank; i++) {
    bool is_all = i < 2 && rank > 2 && eg_verify_chance(choice, 80);
    roi[i] = is_all ? 0 : starts[eg_verify_below(choice, 5)];
    roi[i + rank] = is_all ? 1 : ends[eg_verify_below(choice, 5)];
  }
  attr->floats = (eg_floats){.data = roi, .len = 2 * rank};
}

static void choose_fresh_shape(eg_verify_choice *choice, eg_attr *attr) {
  uint32_t len = eg_verify_below(choice, 4);
  int64_t *shape = new_list(choice, attr, len);
  for (uint32_t i = 0; i < len; i++)
    shape[i] = eg_verify_dim(choice);
}

static int64_t number_at(const eg_verify_choice *choice, const char *name, uint32_t i) {
  const eg_attr *list = eg_verify_known(choice, name);
  return list != NULL && i < list->ints.len ? within(list->ints.data[i], MOST_SMALL) : 0;
}

/// Returns a size, or a little more, on which a window has `places` positions along
/// spatial dimension i.
static int64_t unwindowed(eg_verify_choice *choice, const char *kernel, uint32_t i,
                          int64_t places) {
  int64_t dilation = number_at(choice, "dilations", i);
  int64_t window = (dilation > 1 ? dilation : 1) * (number_at(choice, kernel, i) - 1) + 1;
  return (within(places, MOST_SMALL) - 1) * number_at(choice, "strides", i) + window -
         number_at(choice, "pads", i) -
         number_at(choice, "pads", i + spatial_of(choice)) +
         (int64_t)eg_verify_below(choice, 2);
}

/// Draws the shape before pooling for an unpooling; for a gradient, the spatial
/// dimensions only.
static void choose_unpooled(eg_verify_choice *choice, eg_attr *attr) {
  const eg_type *x = &choice->types[0];
  uint32_t first = choice->op == EG_OP_MAX_UNPOOL ? 0 : 2;
  uint32_t len = x->rank > first ? x->rank - first : 0;
  int64_t *shape = new_list(choice, attr, len);
  for (uint32_t i = 0; i < len; i++) {
    uint32_t d = first + i;
    shape[i] = d < 2 ? x->dims[d] : unwindowed(choice, "kernel_shape", d - 2, x->dims[d]);
  }
}

/// Draws a divisor of the number from 1 to 4.
static int64_t some_divisor(eg_verify_choice *choice, int64_t number) {
  int64_t divisor = 1 + eg_verify_below(choice, 4);
  return number % divisor == 0 ? divisor : 1;
}

/// Draws the block sizes of col2im, which divide the channels of its columns.
static void choose_block(eg_verify_choice *choice, eg_attr *attr) {
  uint32_t len = 1 + (uint32_t)eg_verify_chance(choice, 40);
  int64_t *block = new_list(choice, attr, len);
  int64_t channels = rank_of(choice) > 1 ? choice->types[0].dims[1] : 1;
  for (uint32_t i = 0; i < len; i++) {
    block[i] = some_divisor(choice, channels);
    channels /= block[i];
  }
}

static void choose_kernel(eg_verify_choice *choice, eg_attr *attr) {
  if (choice->op == EG_OP_COL2IM) {
    choose_block(choice, attr);
    return;
  }
  uint32_t len = choice->count > 0 ? spatial_of(choice) : 2;
  int64_t *list = new_list(choice, attr, len);
  for (uint32_t i = 0; i < len; i++) {
    if (choice->op == EG_OP_ENLARGE)
      list[i] = choice->types[0].dims[i + 2] + 2 * (int64_t)eg_verify_below(choice, 2);
    else if (i > 2 && eg_verify_chance(choice, 80))
      list[i] = 1;
    else
      list[i] = 1 + eg_verify_below(choice, choice->is_roomy ? 5 : 3);
  }
}

/// Draws the image sizes of col2im: one window position for each column.
static void choose_image(eg_verify_choice *choice, eg_attr *attr) {
  static const char *const needed[] = {"strides", "pads", "dilations"};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    eg_verify_choose_slot(choice, needed[i]);
  uint32_t len = spatial_of(choice);
  int64_t *image = new_list(choice, attr, len);
  int64_t places = rank_of(choice) > 2 ? choice->types[0].dims[2] : 1;
  for (uint32_t i = 0; i < len; i++) {
    bool is_last = i + 1 == len;
    int64_t here = is_last ? places : some_divisor(choice, places);
    image[i] = unwindowed(choice, "block_shape", i, here);
    if (!is_last) places /= here;
  }
}

static void choose_shape(eg_verify_choice *choice, eg_attr *attr) {
  static void (*const by_op[EG_OP_COUNT])(eg_verify_choice *, eg_attr *) = {
      [EG_OP_RESHAPE] = choose_reshape,     [EG_OP_RESIZE] = choose_resize,
      [EG_OP_MAX_UNPOOL] = choose_unpooled, [EG_OP_FILL] = choose_fresh_shape,
      [EG_OP_COL2IM] = choose_image,        [EG_OP_AVERAGE_POOL_GRAD] = choose_unpooled,
      [EG_OP_EXPAND] = choose_expand};
  if (by_op[choice->op] != NULL) by_op[choice->op](choice, attr);
}

static void choose_sizes(eg_verify_choice *choice, eg_attr *attr) {
  const eg_attr *axis = eg_verify_known(choice, "axis");
  int64_t at = axis != NULL ? axis->i : 0;
  uint32_t rank = rank_of(choice);
  if (at < 0) at += rank;
  int64_t left = at >= 0 && at < (int64_t)rank ? choice->types[0].dims[at] : 1;
  static const uint32_t counts[] = {1, 2, 2, 2, 3, 3, 4, 5, 6};
  int64_t *sizes = new_list(choice, attr, 6);
  uint32_t len = counts[eg_verify_below(choice, sizeof counts / sizeof *counts)];
  for (uint32_t i = 0; i + 1 < len; i++) {
    sizes[i] = eg_verify_below(choice, (uint32_t)left + 1);
    left -= sizes[i];
  }
  sizes[len - 1] = left;
  attr->ints.len = len;
}

// ---- slices ---------------------------------------------------------------------

// Draws slices, mostly of one axis with step 1; steps may be negative.
static void choose_ranges(eg_verify_choice *choice) {
  uint32_t rank = rank_of(choice);
  int64_t *starts = eg_verify_list(choice, rank), *ends = eg_verify_list(choice, rank);
  int64_t *steps = eg_verify_list(choice, rank);
  uint32_t only = rank > 0 ? eg_verify_below(choice, rank) : 0;
  uint32_t kind = eg_verify_below(choice, 100);
  if (choice->step != 0) kind = choice->step > 0 ? 80 : 95;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t size = choice->types[0].dims[i];
    starts[i] = 0;
    ends[i] = size;
    steps[i] = 1;
    if (kind < 10 || (kind < 60 && i != only)) continue;
    bool may_be_empty = size == 0 || eg_verify_chance(choice, 8);
    starts[i] = eg_verify_below(choice, (uint32_t)size + may_be_empty);
    if (choice->start < 0) starts[i] = 0;
    if (choice->start > 0 && size > 1)
      starts[i] = 1 + eg_verify_below(choice, (uint32_t)size - 1);
    ends[i] = size - eg_verify_below(choice, (uint32_t)(size - starts[i]) + may_be_empty);
    if (kind >= 75) steps[i] = 1 + eg_verify_below(choice, 3);
    if (choice->step != 0 && (i == only || eg_verify_chance(choice, 30)))
      steps[i] = choice->step > 0 ? choice->step : -choice->step;
    if (kind < 92) continue;
    steps[i] = -steps[i];
    bool is_whole = size == 0 || eg_verify_chance(choice, 60);
    starts[i] = is_whole ? size - 1 : eg_verify_below(choice, (uint32_t)size);
    ends[i] =
        is_whole ? -1 : (int64_t)eg_verify_below(choice, (uint32_t)starts[i] + 1) - 1;
  }
  static const char *const names[] = {"starts", "ends", "steps"};
  const int64_t *const lists[] = {starts, ends, steps};
  for (size_t i = 0; i < 3; i++) {
    eg_attr *attr = eg_verify_missing(choice, names[i]);
    if (attr != NULL) attr->ints = (eg_ints){.data = lists[i], .len = rank};
  }
}

static void choose_repeats(eg_verify_choice *choice, eg_attr *attr) {
  uint32_t rank = rank_of(choice);
  int64_t *repeats = new_list(choice, attr, rank);
  bool ones = eg_verify_chance(choice, 40);
  for (uint32_t i = 0; i < rank; i++)
    repeats[i] = ones                          ? 1
                 : eg_verify_chance(choice, 4) ? 0
                                               : 1 + eg_verify_below(choice, 3);
}

// ---- numbers and symbols --------------------------------------------------------

static double choose_number(eg_verify_choice *choice, const char *name) {
  static const double numbers[] = {-1, 1, 2, 3, 0.5, 0.25, -0.5, -2, 0};
  static const double epsilons[] = {1e-5, 1e-3, 0.1, 1e-6, 1.0};
  if (strcmp(name, "epsilon") == 0) return epsilons[eg_verify_below(choice, 5)];
  if (choice->special != EG_SPECIAL_NONE && eg_verify_chance(choice, 50))
    return eg_special_draw_attr(
        choice->rng, choice->special,
        choice->count > 0 ? choice->types[0].dtype : choice->dtype, name);
  if (choice->is_between) return choice->whole + (1 + eg_verify_below(choice, 7)) / 8.0;
  if (strcmp(name, "min") == 0 || strcmp(name, "act_alpha") == 0) {
    const eg_attr *act = eg_verify_known(choice, "act");
    bool is_bound = act == NULL || act->i == EG_ACT_CLIP;
    if (is_bound && eg_verify_chance(choice, 15)) return -INFINITY;
    return eg_verify_chance(choice, 40) ? 0.0 : -(double)eg_verify_below(choice, 3);
  }
  if (strcmp(name, "max") == 0 || strcmp(name, "act_beta") == 0) {
    if (eg_verify_chance(choice, 25)) return INFINITY;
    return eg_verify_chance(choice, 30) ? 6.0 : (double)(1 + eg_verify_below(choice, 3));
  }
  return numbers[eg_verify_below(choice, 9)];
}

static int64_t choose_symbol(eg_verify_choice *choice, uint16_t slot) {
  const char *const *symbols = choice->info->attrs[slot].symbols;
  uint32_t count = 0;
  while (symbols[count] != NULL)
    count++;
  // Most rules are about the first two symbols (no activation and relu, plain modes).
  uint32_t few = count > 2 ? 2 : count;
  return eg_verify_below(choice, eg_verify_chance(choice, 60) ? few : count);
}

static int64_t choose_dtype(eg_verify_choice *choice) {
  static const egraph_dtype dtypes[] = {EGRAPH_FLOAT64, EGRAPH_FLOAT64, EGRAPH_FLOAT64,
                                        EGRAPH_FLOAT32, EGRAPH_INT64,   EGRAPH_INT32,
                                        EGRAPH_BOOL};
  if (eg_verify_chance(choice, 50)) return (int64_t)choice->dtype;
  return (int64_t)dtypes[eg_verify_below(choice, 7)];
}

static int64_t known_int(const eg_verify_choice *choice, const char *name) {
  const eg_attr *attr = eg_verify_known(choice, name);
  return attr != NULL ? within(attr->i, MOST_SIZE) : 0;
}

int64_t eg_verify_entries(const eg_verify_choice *choice) {
  if (choice->op == EG_OP_GATHER_GRAD) return known_int(choice, "size");
  const eg_type *table = &choice->types[0];
  int64_t axis = known_int(choice, "axis"), rank = table->rank;
  if (axis < 0) axis += rank;
  uint16_t slot;
  bool has_axis = eg_op_find_attr(choice->op, "axis", &slot);
  int64_t least = -1;
  for (int64_t i = 0; i < rank; i++)
    if ((!has_axis || i == axis) && (least < 0 || table->dims[i] < least))
      least = table->dims[i];
  return least < 0 ? 0 : within(least, MOST_SIZE);
}

/// Draws the end of a range of dimensions that begins at `start`.
static int64_t choose_end(eg_verify_choice *choice) {
  int64_t rank = rank_of(choice), start = known_int(choice, "start");
  if (start < 0 || start > rank || eg_verify_chance(choice, 60)) return rank;
  return start + eg_verify_below(choice, (uint32_t)(rank - start) + 1);
}

// ---- activations ----------------------------------------------------------------------

const char *eg_default_activations(eg_op op) {
  uint16_t slot;
  return eg_op_find_attr(op, "activations", &slot)
             ? eg_op_info_of(op)->attrs[slot].default_text
             : "";
}

/// Draws as many activations as the layer has by default; half of them take parameters.
const char *eg_activations_draw(eg_verify_choice *choice, bool is_default) {
  static const char *const others[][2] = {
      {"Relu", "HardSigmoid"},
      {"Relu Sigmoid", "LeakyRelu HardSigmoid"},
      {"Sigmoid Relu Softsign", "HardSigmoid Elu HardSigmoid"}};
  if (is_default) return eg_default_activations(choice->op);
  return others[eg_recurrent_activations(choice->op) - 1][eg_verify_below(choice, 2)];
}

static uint32_t count_words(const char *text) {
  uint32_t count = *text != '\0';
  for (; *text != '\0' && count < MOST_ACTIVATIONS; text++)
    count += *text == ' ';
  return count;
}

void eg_activation_numbers_draw(eg_verify_choice *choice, bool is_default,
                                eg_attr *attr) {
  eg_verify_choose_slot(choice, "activations");
  const eg_attr *names = eg_verify_known(choice, "activations");
  uint32_t count = is_default || names == NULL ? 0 : count_words(names->text);
  double *numbers = eg_verify_floats(choice, count);
  for (uint32_t i = 0; i < count; i++)
    numbers[i] = (1 + eg_verify_below(choice, 6)) / 4.0;
  attr->floats = (eg_floats){.data = numbers, .len = count};
}

static int64_t choose_int(eg_verify_choice *choice, const char *name) {
  static const struct {
    const char *name;
    uint32_t low, count;
  } ranges[] = {{"num_groups", 1, 3},
                {"count", 1, 3},
                {"k", 1, 3},
                {"n", 1, 3},
                {"channels", 1, 3},
                {"output_height", 1, 3},
                {"output_width", 1, 3},
                {"size", 1, 5},
                {"depth", 1, 5},
                {"sampling_ratio", 0, 4},
                {"block_size", 0, 4},
                {"p", 1, 3},
                {"batch_dims", 0, 3},
                {"window", 0, 4},
                {"offset", 0, 4}};
  uint32_t rank = rank_of(choice);
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (strcmp(name, ranges[i].name) == 0)
      return ranges[i].low + eg_verify_below(choice, ranges[i].count);
  if (strcmp(name, "start") == 0)
    return eg_verify_chance(choice, 50) ? 0 : eg_verify_below(choice, rank + 1);
  if (strcmp(name, "end") == 0) return choose_end(choice);
  if (strcmp(name, "whole") == 0) // 0, or a whole axis of which the table is a part
    return eg_verify_chance(choice, 60)
               ? 0
               : eg_verify_entries(choice) + 1 + eg_verify_below(choice, 4);
  if (strcmp(name, "first") == 0) {
    int64_t left = known_int(choice, "whole") - eg_verify_entries(choice);
    return left > 0 ? eg_verify_below(choice, (uint32_t)left + 1) : 0;
  }
  return eg_verify_below(choice, 2); // a flag
}

// ---- by name --------------------------------------------------------------------

static void choose_list(eg_verify_choice *choice, eg_attr_role role, eg_attr *attr) {
  static void (*const by_role[])(eg_verify_choice *, eg_attr *) = {
      [EG_AR_AXES] = choose_axes,
      [EG_AR_PERM] = choose_perm,
      [EG_AR_MARGINS] = choose_pads,
      [EG_AR_PADS] = choose_pads,
      [EG_AR_STRIDES] = choose_strides,
      [EG_AR_DILATIONS] = choose_dilations,
      [EG_AR_KERNEL] = choose_kernel,
      [EG_AR_SHAPE] = choose_shape,
      [EG_AR_SIZES] = choose_sizes,
      [EG_AR_REPEATS] = choose_repeats,
      [EG_AR_OUTPUT_PADDING] = choose_output_padding};
  assert(role < sizeof by_role / sizeof *by_role && by_role[role] != NULL);
  by_role[role](choice, attr);
}

static void choose_attr(eg_verify_choice *choice, uint16_t slot) {
  const eg_attr_info *info = &choice->info->attrs[slot];
  eg_attr *attr = &choice->slots[slot];
  if (choice->op == EG_OP_COL2IM && strcmp(info->name, "block_shape") != 0)
    eg_verify_choose_slot(choice, "block_shape"); // it determines the lengths of lists
  switch (info->kind) {
  case EG_ATTR_INTS: choose_list(choice, info->role, attr); break;
  case EG_ATTR_FLOAT: attr->f = choose_number(choice, info->name); break;
  case EG_ATTR_SYMBOL: attr->i = choose_symbol(choice, slot); break;
  case EG_ATTR_DTYPE: attr->i = choose_dtype(choice); break;
  case EG_ATTR_STRING:
    attr->text = strcmp(info->name, "activations") == 0
                     ? eg_activations_draw(choice, eg_verify_chance(choice, 50))
                     : "";
    break;
  case EG_ATTR_FLOATS:
    attr->floats = (eg_floats){0};
    if (strcmp(info->name, "scales") == 0)
      choose_scales(choice, attr);
    else if (strcmp(info->name, "roi") == 0)
      choose_roi(choice, attr);
    else if (strncmp(info->name, "activation_", 11) == 0)
      eg_activation_numbers_draw(choice, eg_verify_chance(choice, 50), attr);
    break;
  case EG_ATTR_INT:
    if (strcmp(info->name, "axis") == 0)
      choose_axis(choice, attr);
    else if (strcmp(info->name, "group") == 0)
      choose_group(choice, attr);
    else
      attr->i = choose_int(choice, info->name);
    break;
  }
}

static void choose_slot(eg_verify_choice *choice, uint16_t slot) {
  if (choice->slot_set[slot]) return;
  eg_attr_role role = choice->info->attrs[slot].role;
  if (role == EG_AR_STARTS || role == EG_AR_ENDS || role == EG_AR_STEPS) {
    choose_ranges(choice);
    return;
  }
  choice->slots[slot] = (eg_attr){.kind = choice->info->attrs[slot].kind};
  choice->slot_set[slot] = true;
  choose_attr(choice, slot);
}

void eg_verify_choose_slot(eg_verify_choice *choice, const char *name) {
  uint16_t slot;
  if (eg_op_find_attr(choice->op, name, &slot)) choose_slot(choice, slot);
}

void eg_verify_choose_attrs(eg_verify_choice *choice) {
  uint16_t slot;
  if (eg_op_find_role(choice->op, EG_AR_STARTS, &slot)) choose_ranges(choice);
  for (uint16_t i = 0; i < choice->info->attr_count; i++)
    choose_slot(choice, i);
}
