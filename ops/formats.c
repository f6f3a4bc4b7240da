// Memory formats: lists the assignments of formats to operands and results that a
// node allows.
//
// Weights and biases stay plain here: a back-end packs them when it loads them. Any other
// operand may be plain next to data in another format only if it is one value or one
// value per channel, because such an operand reads the same in every format.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/body.h"
#include "ops/kernels.h"
#include "ops/ops.h"

/// A convolution of fewer channels may read plain memory instead of a padded block.
enum { FEW_CHANNELS = 8 };

typedef struct node_types {
  const eg_attrs *attrs;
  const eg_type *inputs;
  uint32_t count;
  const eg_type *results;
  uint32_t result_count;
} node_types;

bool eg_format_fits(const eg_type *type, eg_format format) {
  if (format == EG_FORMAT_PLAIN) return true;
  bool has_kernels = type->dtype == EGRAPH_FLOAT32 || type->dtype == EGRAPH_BOOL;
  return type->rank == 4 && has_kernels &&
         eg_size_at_least(type->dims[1], (int64_t)eg_format_block(format));
}

static bool all_fit(const eg_type *types, uint32_t count, eg_format format) {
  for (uint32_t i = 0; i < count; i++)
    if (!eg_format_fits(&types[i], format)) return false;
  return true;
}

// True when an operand is one value, or has shape [1,C,1,1] or [C,1,1] for the result's
// C channels.
static bool reads_alike(const eg_type *operand, const eg_type *result) {
  if (eg_type_elements(operand) == 1) return true;
  uint32_t rank = operand->rank;
  return (rank == 3 || (rank == 4 && operand->dims[0] == 1)) &&
         operand->dims[rank - 3] == result->dims[1] && operand->dims[rank - 2] == 1 &&
         operand->dims[rank - 1] == 1;
}

static bool same_allows(const node_types *node, eg_format format,
                        eg_format_choice *choice) {
  if (!eg_format_fits(node->results, format)) return false;
  for (uint32_t i = 0; i < node->count; i++) {
    const eg_type *operand = &node->inputs[i];
    if (eg_type_same_shape(operand, node->results)) {
      if (!eg_format_fits(operand, format)) return false;
      choice->input[i] = (uint8_t)format;
    } else if (!reads_alike(operand, node->results)) {
      return false;
    }
  }
  return true;
}

// Allows a format to fused pointwise operators. There must be no padding channels,
// because a body may make other numbers than zero of zeros.
static bool fused_allows(const node_types *node, eg_format format,
                         eg_format_choice *choice) {
  eg_body body;
  return same_allows(node, format, choice) &&
         node->results->dims[1] % eg_format_block(format) == 0 &&
         eg_body_read(&body, node->attrs, node->inputs, node->count) == EGRAPH_OK &&
         body.coupled == 0 && eg_type_same_shape(&body.space, node->results);
}

static bool first_allows(const node_types *node, eg_format format,
                         eg_format_choice *choice) {
  choice->input[0] = (uint8_t)format;
  return all_fit(node->inputs, 1, format) && all_fit(node->results, 1, format);
}

static bool operands_allow(const node_types *node, eg_format format,
                           eg_format_choice *choice) {
  memset(choice->input, (int)format, node->count);
  return all_fit(node->inputs, node->count, format);
}

static bool all_allow(const node_types *node, eg_format format,
                      eg_format_choice *choice) {
  return operands_allow(node, format, choice) &&
         all_fit(node->results, node->result_count, format);
}

// Allows blocked parts of a concatenation along the channels only if each part has whole
// blocks, so that no block holds channels of two parts.
static bool concat_allows(const node_types *node, eg_format format,
                          eg_format_choice *choice) {
  bool splits = node->attrs->op == EG_OP_SPLIT;
  const eg_type *parts = splits ? node->results : node->inputs;
  uint32_t part_count = splits ? node->result_count : node->count;
  int64_t axis = eg_attr_at(node->attrs, splits ? EG_A_SPLIT_AXIS : EG_A_CONCAT_AXIS)->i;
  int64_t block = eg_format_block(format);
  if (!all_allow(node, format, choice)) return false;
  bool channels = axis == 1 || axis == 1 - (int64_t)parts[0].rank;
  for (uint32_t i = 0; i < part_count && channels; i++)
    if (parts[i].dims[1] % block != 0) return false;
  return true;
}

// Allows the two transpositions between plain [N,H,W,C] and channels-last [N,C,H,W]: both
// are stored in the same order, so no data moves.
static bool transpose_allows(const node_types *node, eg_format format,
                             eg_format_choice *choice) {
  static const int64_t to_last[] = {0, 2, 3, 1}, to_second[] = {0, 3, 1, 2};
  eg_ints perm = eg_attr_at(node->attrs, EG_A_TRANSPOSE_PERM)->ints;
  if (format != EG_FORMAT_NHWC || perm.len != 4) return false;
  choice->output = EG_FORMAT_PLAIN;
  if (memcmp(perm.data, to_last, sizeof to_last) == 0) {
    choice->input[0] = (uint8_t)format;
    return all_fit(node->inputs, 1, format);
  }
  choice->output = (uint8_t)format;
  return memcmp(perm.data, to_second, sizeof to_second) == 0 &&
         all_fit(node->results, 1, format);
}

// Allows sums over all pixels, with or without the images; the few results are plain.
// There must be no padding channels, because they would be among the results.
static bool sum_allows(const node_types *node, eg_format format,
                       eg_format_choice *choice) {
  eg_ints axes = eg_attr_at(node->attrs, EG_A_REDUCE_SUM_AXES)->ints;
  const eg_type *x = &node->inputs[0];
  if (!all_fit(x, 1, format) || x->dims[1] % eg_format_block(format) != 0) return false;
  choice->input[0] = (uint8_t)format;
  choice->output = EG_FORMAT_PLAIN;
  return (eg_axis_bits(x, axes) & ~UINT32_C(1)) == (4U | 8U);
}

static int64_t int_of_role(const node_types *node, eg_attr_role role) {
  return eg_attr_of_role(node->attrs, role)->i;
}

// True when groups do not cut blocks of the `in` and `made` channels: there are whole
// blocks per group, or one channel per group.
static bool groups_allow(const node_types *node, int64_t in, int64_t made,
                         eg_format format) {
  int64_t group = int_of_role(node, EG_AR_GROUPS), block = eg_format_block(format);
  bool depthwise = group == in && group == made;
  return group == 1 || depthwise ||
         (in / group % block == 0 && made / group % block == 0);
}

// Allows Winograd only for blocks of 16 channels, which its kernels transform as a whole.
static bool algorithm_allows(const node_types *node, eg_format format) {
  return int_of_role(node, EG_AR_ALGORITHM) == EG_CONV_DIRECT ||
         format == EG_FORMAT_NCHW16C;
}

static bool conv_allows(const node_types *node, eg_format format,
                        eg_format_choice *choice) {
  // Winograd with 4x4 results also has kernels for blocks of 8 channels.
  bool has_4x4 = int_of_role(node, EG_AR_ALGORITHM) == EG_CONV_WINOGRAD_4X4 &&
                 format == EG_FORMAT_NCHW8C;
  if (node->count > 3) choice->input[3] = (uint8_t)format;
  return first_allows(node, format, choice) &&
         groups_allow(node, node->inputs[0].dims[1], node->results->dims[1], format) &&
         (has_4x4 || algorithm_allows(node, format));
}

static bool has_few_channels(const eg_type *x) {
  return x->rank == 4 && x->dims[1] < FEW_CHANNELS && x->dtype == EGRAPH_FLOAT32;
}

static bool first_conv_allows(const node_types *node, eg_format format,
                              eg_format_choice *choice) {
  if (node->count > 3) choice->input[3] = (uint8_t)format;
  return has_few_channels(&node->inputs[0]) && eg_format_fits(node->results, format) &&
         int_of_role(node, EG_AR_GROUPS) == 1 && algorithm_allows(node, format);
}

static bool conv_transpose_allows(const node_types *node, eg_format format,
                                  eg_format_choice *choice) {
  return first_allows(node, format, choice) && algorithm_allows(node, format) &&
         groups_allow(node, node->inputs[0].dims[1], node->results->dims[1], format);
}

// Allows formats for the operands; the gradient of the weights is plain, as the
// weights are.
static bool grad_weight_allows(const node_types *node, eg_format format,
                               eg_format_choice *choice) {
  bool fits = operands_allow(node, format, choice);
  choice->output = EG_FORMAT_PLAIN;
  return fits && algorithm_allows(node, format) &&
         groups_allow(node, node->inputs[0].dims[1], node->inputs[1].dims[1], format);
}

static bool first_grad_weight_allows(const node_types *node, eg_format format,
                                     eg_format_choice *choice) {
  choice->input[1] = (uint8_t)format;
  choice->output = EG_FORMAT_PLAIN;
  return has_few_channels(&node->inputs[0]) && eg_format_fits(&node->inputs[1], format) &&
         algorithm_allows(node, format) && int_of_role(node, EG_AR_GROUPS) == 1;
}

typedef bool (*allows_fn)(const node_types *node, eg_format format,
                          eg_format_choice *choice);

/// The memory formats that a rule of the operator table allows to all nodes, and those
/// that it allows to nodes that read few channels.
typedef struct format_rule {
  allows_fn allows, few_allow;
} format_rule;

static const format_rule rules[] = {
    [EG_FORMATS_PLAIN] = {NULL, NULL},
    [EG_FORMATS_SAME] = {same_allows, NULL},
    [EG_FORMATS_SAME_FIRST] = {first_allows, NULL},
    [EG_FORMATS_ALL] = {all_allow, NULL},
    [EG_FORMATS_CONCAT] = {concat_allows, NULL},
    [EG_FORMATS_TRANSPOSE] = {transpose_allows, NULL},
    [EG_FORMATS_FUSED] = {fused_allows, NULL},
    [EG_FORMATS_SUM] = {sum_allows, NULL},
    [EG_FORMATS_CONV] = {conv_allows, first_conv_allows},
    [EG_FORMATS_CONV_TRANSPOSE] = {conv_transpose_allows, NULL},
    [EG_FORMATS_CONV_GRAD_WEIGHT] = {grad_weight_allows, first_grad_weight_allows},
};

// Appends the assignments of formats that one rule allows, at most one per format.
static uint32_t append_choice(const node_types *node, allows_fn allows, uint32_t mask,
                              uint32_t found, eg_format_choice *out) {
  for (int i = EG_FORMAT_PLAIN + 1; i < EG_FORMAT_COUNT && allows != NULL; i++) {
    eg_format_choice choice = {.output = (uint8_t)i};
    if ((mask >> i & 1) == 0 || !allows(node, (eg_format)i, &choice)) continue;
    assert(found < EG_MAX_FORMAT_CHOICES);
    out[found++] = choice;
  }
  return found;
}

uint32_t eg_op_formats(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                       const eg_type *results, uint32_t result_count, uint32_t mask,
                       eg_format_choice out[EG_MAX_FORMAT_CHOICES]) {
  node_types node = {attrs, inputs, count, results, result_count};
  format_rule rule = rules[eg_op_info_of((eg_op)attrs->op)->formats];
  out[0] = (eg_format_choice){.output = EG_FORMAT_PLAIN};
  if (count == 0 || count > EG_MAX_FORMAT_OPERANDS || result_count == 0) return 1;
  uint32_t found = append_choice(&node, rule.allows, mask, 1, out);
  return append_choice(&node, rule.few_allow, mask, found, out);
}

static bool has_choice(const eg_type *inputs, uint32_t count, const eg_type *results,
                       uint32_t result_count, const eg_format_choice *choice) {
  for (uint32_t i = 0; i < count; i++)
    if (inputs[i].layout.format !=
        (i < EG_MAX_FORMAT_OPERANDS ? choice->input[i] : EG_FORMAT_PLAIN))
      return false;
  for (uint32_t i = 0; i < result_count; i++)
    if (results[i].layout.format != choice->output) return false;
  return true;
}

bool eg_op_allows_formats(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                          const eg_type *results, uint32_t result_count) {
  eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
  if (attrs->op == EG_OP_IDENTITY) return true;
  uint32_t found =
      eg_op_formats(attrs, inputs, count, results, result_count, UINT32_MAX, choices);
  for (uint32_t i = 0; i < found; i++)
    if (has_choice(inputs, count, results, result_count, &choices[i])) return true;
  return false;
}

// ---- copies between formats -----------------------------------------------------------

// Copies between memory formats. An element (n, c, pixel) of any format is at
//   n * image + c / block * group + c % block * channel + pixel * pixel_step
// so one loop serves all pairs of formats. It runs in tiles of channels by pixels, which
// keeps both sides in the cache, whether channels or pixels are contiguous.

enum { CHANNEL_TILE = 16, PIXEL_TILE = 64 };

typedef struct eg_placement {
  int64_t block, image, group, channel, pixel;
} eg_placement;

static eg_placement placement_of(const eg_type *type) {
  int64_t channels = type->dims[1], pixels = type->dims[2] * type->dims[3];
  int64_t block = (int64_t)eg_format_block((eg_format)type->layout.format);
  int64_t padded = (channels + block - 1) / block * block;
  switch ((eg_format)type->layout.format) {
  case EG_FORMAT_PLAIN: return (eg_placement){1, channels * pixels, pixels, pixels, 1};
  case EG_FORMAT_NHWC: return (eg_placement){1, channels * pixels, 1, 1, channels};
  case EG_FORMAT_NCHW8C:
  case EG_FORMAT_NCHW16C:
    return (eg_placement){block, padded * pixels, block * pixels, 1, block};
  case EG_FORMAT_COUNT: break;
  }
  assert(type->layout.format < EG_FORMAT_COUNT);
  return (eg_placement){1, 0, 0, 0, 0};
}

typedef struct eg_reorder {
  eg_placement from, to;
  int64_t channels, padded, pixels;
  size_t element;
} eg_reorder;

static int64_t channel_offset(const eg_placement *place, int64_t channel) {
  return channel / place->block * place->group + channel % place->block * place->channel;
}

// Copies a tile (channels by pixels); channels from `have` on are padding.
static void copy_tile(const eg_reorder *job, const unsigned char *from, unsigned char *to,
                      int64_t channel, int64_t pixel) {
  int64_t from_at[CHANNEL_TILE], to_at[CHANNEL_TILE];
  int64_t count =
      job->padded - channel < CHANNEL_TILE ? job->padded - channel : CHANNEL_TILE;
  int64_t have = job->channels - channel < count ? job->channels - channel : count;
  int64_t size = (int64_t)job->element;
  for (int64_t c = 0; c < count; c++) {
    from_at[c] = c < have ? channel_offset(&job->from, channel + c) * size : 0;
    to_at[c] = channel_offset(&job->to, channel + c) * size;
  }
  int64_t end = pixel + PIXEL_TILE < job->pixels ? pixel + PIXEL_TILE : job->pixels;
  for (int64_t p = pixel; p < end; p++) {
    const unsigned char *in = from + p * job->from.pixel * size;
    unsigned char *out = to + p * job->to.pixel * size;
    if (size == 4) {
      for (int64_t c = 0; c < have; c++)
        memcpy(out + to_at[c], in + from_at[c], 4);
    } else {
      for (int64_t c = 0; c < have; c++)
        memcpy(out + to_at[c], in + from_at[c], (size_t)size);
    }
    for (int64_t c = have > 0 ? have : 0; c < count; c++)
      memset(out + to_at[c], 0, (size_t)size);
  }
}

egraph_status eg_tensor_reorder(const eg_tensor *from, const eg_tensor *to) {
  const eg_type *type = &from->type;
  if (type->rank != 4 || !eg_type_same_shape(type, &to->type) ||
      type->dtype != to->type.dtype)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "reorder: both tensors must have one shape of rank 4 and one dtype");
  eg_reorder job = {.from = placement_of(type),
                    .to = placement_of(&to->type),
                    .channels = type->dims[1],
                    .pixels = type->dims[2] * type->dims[3],
                    .element = eg_dtype_bytes(type->dtype)};
  job.padded = (job.channels + job.to.block - 1) / job.to.block * job.to.block;
  for (int64_t n = 0; n < type->dims[0]; n++) {
    const unsigned char *in =
        (const unsigned char *)from->data + (size_t)(n * job.from.image) * job.element;
    unsigned char *out =
        (unsigned char *)to->data + (size_t)(n * job.to.image) * job.element;
    for (int64_t c = 0; c < job.padded; c += CHANNEL_TILE)
      for (int64_t p = 0; p < job.pixels; p += PIXEL_TILE)
        copy_tile(&job, in, out, c, p);
  }
  return EGRAPH_OK;
}
