// Memory formats: which assignments of formats to operands and results a node allows.
//
// Weights and biases stay plain here: a back-end packs them when it loads them. An
// operand beside the data operands may be plain only if it is one value or one value per
// channel, because those read the same from every format.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/ops.h"

/// A first convolution reads its few channels from plain memory rather than
/// from a padded block.
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

// One value, or shape [1,C,1,1] or [C,1,1] for the result's C channels.
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

// Blocked parts of a concatenation along the channels must be whole blocks, so that no
// block holds channels of two parts.
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

// In channels-last memory the two transpositions between [N,C,H,W] and [N,H,W,C] move
// nothing: what is stored of one is what is stored of the other.
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

// Sums over all pixels, of a channel or of an image's channel: few numbers, which are
// plain. Padding channels would be among them.
static bool sum_allows(const node_types *node, eg_format format,
                       eg_format_choice *choice) {
  eg_ints axes = eg_attr_at(node->attrs, EG_A_REDUCE_SUM_AXES)->ints;
  const eg_type *x = &node->inputs[0];
  bool reduced[EGRAPH_MAX_RANK] = {false};
  if (!all_fit(x, 1, format) || x->dims[1] % eg_format_block(format) != 0) return false;
  for (uint32_t i = 0; i < axes.len; i++)
    reduced[axes.data[i]] = true;
  choice->input[0] = (uint8_t)format;
  choice->output = EG_FORMAT_PLAIN;
  return !reduced[1] && reduced[2] && reduced[3];
}

// The group structure must not cut blocks: whole blocks per group, or one
// channel per group.
static bool groups_allow(int64_t group, int64_t in, int64_t made, int64_t block) {
  if (group == 1) return true;
  bool depthwise = group == in && group == made;
  return depthwise || (in / group % block == 0 && made / group % block == 0);
}

// Winograd kernels transform whole blocks of channels; elsewhere the
// algorithm is not offered.
static bool algorithm_allows(const node_types *node, eg_attr_slot algorithm,
                             eg_format format) {
  return eg_attr_at(node->attrs, algorithm)->i == EG_CONV_DIRECT ||
         format == EG_FORMAT_NCHW16C;
}

// With 4x4 results there are kernels for blocks of 8 channels, too.
static bool conv_algorithm_allows(const node_types *node, eg_format format) {
  return algorithm_allows(node, EG_A_CONV_ALGORITHM, format) ||
         (eg_attr_at(node->attrs, EG_A_CONV_ALGORITHM)->i == EG_CONV_WINOGRAD_4X4 &&
          format == EG_FORMAT_NCHW8C);
}

static bool conv_allows(const node_types *node, eg_format format,
                        eg_format_choice *choice) {
  if (node->count > 3) choice->input[3] = (uint8_t)format;
  return first_allows(node, format, choice) &&
         groups_allow(eg_attr_at(node->attrs, EG_A_CONV_GROUP)->i,
                      node->inputs[0].dims[1], node->results->dims[1],
                      eg_format_block(format)) &&
         conv_algorithm_allows(node, format);
}

static bool has_few_channels(const eg_type *x) {
  return x->rank == 4 && x->dims[1] < FEW_CHANNELS && x->dtype == EGRAPH_FLOAT32;
}

static bool first_conv_allows(const node_types *node, eg_format format,
                              eg_format_choice *choice) {
  if (node->count > 3) choice->input[3] = (uint8_t)format;
  return has_few_channels(&node->inputs[0]) && eg_format_fits(node->results, format) &&
         eg_attr_at(node->attrs, EG_A_CONV_GROUP)->i == 1 &&
         algorithm_allows(node, EG_A_CONV_ALGORITHM, format);
}

static bool conv_transpose_allows(const node_types *node, eg_format format,
                                  eg_format_choice *choice) {
  return first_allows(node, format, choice) &&
         algorithm_allows(node, EG_A_CONV_TRANSPOSE_ALGORITHM, format) &&
         groups_allow(eg_attr_at(node->attrs, EG_A_CONV_TRANSPOSE_GROUP)->i,
                      node->inputs[0].dims[1], node->results->dims[1],
                      eg_format_block(format));
}

// The gradient of the weights is plain, as they are.
static bool grad_weight_allows(const node_types *node, eg_format format,
                               eg_format_choice *choice) {
  bool fits = operands_allow(node, format, choice);
  choice->output = EG_FORMAT_PLAIN;
  return fits && algorithm_allows(node, EG_A_CONV_GRAD_WEIGHT_ALGORITHM, format) &&
         groups_allow(eg_attr_at(node->attrs, EG_A_CONV_GRAD_WEIGHT_GROUP)->i,
                      node->inputs[0].dims[1], node->inputs[1].dims[1],
                      eg_format_block(format));
}

static bool first_grad_weight_allows(const node_types *node, eg_format format,
                                     eg_format_choice *choice) {
  choice->input[1] = (uint8_t)format;
  choice->output = EG_FORMAT_PLAIN;
  return has_few_channels(&node->inputs[0]) && eg_format_fits(&node->inputs[1], format) &&
         algorithm_allows(node, EG_A_CONV_GRAD_WEIGHT_ALGORITHM, format) &&
         eg_attr_at(node->attrs, EG_A_CONV_GRAD_WEIGHT_GROUP)->i == 1;
}

typedef bool (*allows_fn)(const node_types *node, eg_format format,
                          eg_format_choice *choice);

/// A row of choices, a format each, and a second one for what reads few channels.
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
    [EG_FORMATS_SUM] = {sum_allows, NULL},
    [EG_FORMATS_CONV] = {conv_allows, first_conv_allows},
    [EG_FORMATS_CONV_TRANSPOSE] = {conv_transpose_allows, NULL},
    [EG_FORMATS_CONV_GRAD_WEIGHT] = {grad_weight_allows, first_grad_weight_allows},
};

// Appends the choices of one rule, a format each.
static uint32_t append(const node_types *node, allows_fn allows, uint32_t mask,
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
  uint32_t found = append(&node, rule.allows, mask, 1, out);
  return append(&node, rule.few_allow, mask, found, out);
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
