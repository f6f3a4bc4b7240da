// Models with open dimensions are written at the sizes of each trial, and the messages
// joined: what is the same in all stays; what differs is computed from the sizes of
// inputs, or, where no formula gives it, from those of a tensor computed before.
//
//   trials     Reshape(x, [11 131 12 64])   [4 28 12 64]   [6 18 12 64]
//   written    batch = Gather(Shape(x), [0]), seq = Gather(Shape(x), [1])
//              Reshape(x, Concat(batch, seq, [12 64]))
//
//   trials     c = Conv(x), strides 2; Resize(c, sizes [11 8 132 138])   ...
//   written    Resize(c, Concat(batch, [8], 2 * Gather(Shape(c), [2]), ...))
//
// SPDX-License-Identifier: Apache-2.0
#include "pcg/onnx/onnx_writer.h"

#include "base/owner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

EG_VEC_DEFINE(eg_onnx_texts, const char *);

/// A dimension of a computed tensor, or the product of two of them, that differs.
typedef struct computed_size {
  const char *tensor;
  uint32_t node;    // that computes the tensor
  uint32_t axes[2]; // the same twice: one dimension
  eg_size size;
  const char *read; // the size as a list of one element, or NULL
} computed_size;
EG_VEC_DEFINE(computed_sizes, computed_size);

typedef struct join {
  eg_onnx_body *const *trials; // [EG_TRIALS]; the first one is changed
  const eg_open_sizes *sizes;
  eg_onnx_body head; // nodes that compute sizes
  eg_u32s places;    // the node that each of these comes before
  computed_sizes computed;
  const char *dim_tensor[EG_MAX_OPEN_DIMS]; // the size of a dimension, or NULL
  eg_strmap formulas;                       // their text to an index of `tensors`
  eg_onnx_texts tensors;
} join;

static egraph_status depends(const char *what, const char *name) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s '%.200s' depends on the size of an open dimension, and ONNX has it "
                 "fixed; fix the sizes of dimensions (--dim NAME=N)",
                 what, name);
}

// ---- sizes of computed tensors -------------------------------------------------------

static egraph_status add_computed(join *j, const char *tensor, uint32_t node,
                                  const eg_size *dims, uint32_t rank) {
  for (uint32_t a = 0; a < rank; a++)
    for (uint32_t b = a; b < rank; b++) {
      computed_size c = {.tensor = tensor, .node = node, .axes = {a, b}, .size = dims[a]};
      if (eg_size_is_constant(&dims[a]) || eg_size_is_constant(&dims[b])) continue;
      for (uint32_t t = 0; a != b && t < EG_TRIALS; t++)
        c.size.at[t] *= dims[b].at[t];
      EG_TRY(computed_sizes_push(&j->computed, c));
    }
  return EGRAPH_OK;
}

static const Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto *type = info->type;
  return type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
             ? type->tensor_type->shape
             : NULL;
}

static egraph_status collect_info(join *j, const eg_strmap *nodes,
                                  eg_onnx_infos *const infos[EG_TRIALS], size_t i) {
  const char *name = infos[0]->data[i]->name;
  const Onnx__TensorShapeProto *shape = shape_of(infos[0]->data[i]);
  uint32_t node;
  eg_size *dims;
  if (shape == NULL || !eg_strmap_find(nodes, name, &node)) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(&j->head.writer->arena, shape->n_dim, sizeof *dims, &dims));
  for (uint32_t t = 0; t < EG_TRIALS; t++) {
    if (i >= infos[t]->len || strcmp(infos[t]->data[i]->name, name) != 0)
      return depends("tensor", name);
    shape = shape_of(infos[t]->data[i]);
    for (size_t k = 0; k < shape->n_dim; k++) // 0 where the file has a symbol
      dims[k].at[t] = shape->dim[k]->dim_value;
  }
  return add_computed(j, name, node, dims, (uint32_t)shape->n_dim);
}

static egraph_status collect_infos(join *j, const eg_strmap *nodes,
                                   eg_onnx_infos *const infos[EG_TRIALS]) {
  for (size_t i = 0; i < infos[0]->len; i++)
    EG_TRY(collect_info(j, nodes, infos, i));
  return EGRAPH_OK;
}

static egraph_status collect_computed(join *j) {
  eg_onnx_infos *outputs[EG_TRIALS], *infos[EG_TRIALS];
  const eg_onnx_nodes *nodes = &j->trials[0]->nodes;
  eg_strmap of_result;
  egraph_status status = EGRAPH_OK;
  for (uint32_t t = 0; t < EG_TRIALS; t++)
    outputs[t] = &j->trials[t]->writer->outputs, infos[t] = &j->trials[t]->writer->infos;
  eg_strmap_init(&of_result, j->head.writer->alloc);
  for (uint32_t n = 0; n < nodes->len; n++)
    for (size_t i = 0; status == EGRAPH_OK && i < nodes->data[n]->n_output; i++)
      status = eg_strmap_put(&of_result, nodes->data[n]->output[i], n);
  if (status == EGRAPH_OK) status = collect_infos(j, &of_result, infos);
  if (status == EGRAPH_OK) status = collect_infos(j, &of_result, outputs);
  eg_strmap_deinit(&of_result);
  return status;
}

/// The size of which `size` is the simplest multiple, among those known before a node.
static computed_size *find_computed(const join *j, const eg_size *size, uint32_t before,
                                    int64_t *out_factor, int64_t *out_offset) {
  computed_size *best = NULL;
  uint32_t least = UINT32_MAX;
  for (size_t i = 0; i < j->computed.len; i++) {
    computed_size *c = &j->computed.data[i];
    int64_t factor, offset;
    if (c->node >= before || !eg_size_is_multiple(size, &c->size, &factor, &offset))
      continue;
    uint32_t steps = (offset != 0 ? 4U : 0U) + (c->axes[0] != c->axes[1] ? 2U : 0U) +
                     (factor != 1 ? 1U : 0U);
    if (steps >= least) continue;
    best = c, least = steps;
    *out_factor = factor, *out_offset = offset;
  }
  return best;
}

// ---- sizes as tensors -----------------------------------------------------------------

/// A tensor that is known before the node `place`.
typedef struct placed {
  const char *tensor;
  uint32_t place;
} placed;

/// New nodes come before this one.
static egraph_status place_nodes(join *j, uint32_t place) {
  while (j->places.len < j->head.nodes.len)
    EG_TRY(eg_u32s_push(&j->places, place));
  return EGRAPH_OK;
}

/// The size of a dimension: a list of one element.
static egraph_status read_dim(join *j, const char *tensor, uint32_t axis,
                              const char **out) {
  const char *operands[2];
  EG_TRY(eg_onnx_put(&j->head, "Shape", &tensor, 1, NULL, &operands[0], NULL));
  EG_TRY(eg_onnx_constant_ints(&j->head, (const int64_t[]){axis}, 1, &operands[1]));
  return eg_onnx_put(&j->head, "Gather", operands, 2, NULL, out, NULL);
}

static egraph_status put_dim(join *j, uint32_t dim, const char **out) {
  const eg_open_dim *d = &j->sizes->dims[dim];
  if (j->dim_tensor[dim] == NULL)
    EG_TRY(read_dim(j, d->input, d->axis, &j->dim_tensor[dim]));
  *out = j->dim_tensor[dim];
  return EGRAPH_OK;
}

static egraph_status put_with_constant(join *j, const char *op, const char *tensor,
                                       int64_t number, const char **out) {
  const char *operands[2] = {tensor, NULL};
  EG_TRY(eg_onnx_constant_ints(&j->head, &number, 1, &operands[1]));
  return eg_onnx_put(&j->head, op, operands, 2, NULL, out, NULL);
}

/// factor * size + offset.
static egraph_status put_line(join *j, int64_t factor, int64_t offset,
                              const char **size) {
  if (factor != 1) EG_TRY(put_with_constant(j, "Mul", *size, factor, size));
  if (offset != 0) EG_TRY(put_with_constant(j, "Add", *size, offset, size));
  return EGRAPH_OK;
}

static egraph_status put_formula(join *j, const eg_size_formula *formula,
                                 const char **out) {
  const char *operands[2] = {NULL, NULL};
  for (uint32_t d = 0; d < j->sizes->dim_count; d++)
    for (uint32_t n = 0; n < formula->power[d]; n++) {
      EG_TRY(put_dim(j, d, &operands[1]));
      if (operands[0] != NULL)
        EG_TRY(eg_onnx_put(&j->head, "Mul", operands, 2, NULL, &operands[1], NULL));
      operands[0] = operands[1];
    }
  *out = operands[0];
  return put_line(j, formula->factor, formula->offset, out);
}

/// The value of a formula, as a list of one element; equal ones are computed once.
static egraph_status put_fitted(join *j, const eg_size_formula *formula,
                                const char **out) {
  char text[128];
  uint32_t index;
  int length = snprintf(text, sizeof text, "%" PRId64 " %" PRId64, formula->factor,
                        formula->offset);
  for (uint32_t d = 0; d < EG_MAX_OPEN_DIMS; d++)
    length += snprintf(text + length, sizeof text - (size_t)length, " %u",
                       (unsigned)formula->power[d]);
  if (!eg_strmap_find(&j->formulas, text, &index)) {
    const char *tensor;
    EG_TRY(put_formula(j, formula, &tensor));
    index = (uint32_t)j->tensors.len;
    EG_TRY(eg_onnx_texts_push(&j->tensors, tensor));
    EG_TRY(eg_strmap_put(&j->formulas, text, index));
  }
  *out = j->tensors.data[index];
  return EGRAPH_OK;
}

static egraph_status put_computed(join *j, computed_size *c, const char **out) {
  const char *operands[2];
  if (c->read == NULL) {
    EG_TRY(read_dim(j, c->tensor, c->axes[0], &operands[0]));
    c->read = operands[0];
    if (c->axes[0] != c->axes[1]) {
      EG_TRY(read_dim(j, c->tensor, c->axes[1], &operands[1]));
      EG_TRY(eg_onnx_put(&j->head, "Mul", operands, 2, NULL, &c->read, NULL));
    }
  }
  *out = c->read;
  return EGRAPH_OK;
}

/// A number that differs, as a list of one element.
static egraph_status put_size(join *j, const eg_size *size, const char *user,
                              uint32_t before, placed *out) {
  eg_size_formula formula;
  int64_t factor, offset;
  if (eg_size_fit(j->sizes, size, &formula)) {
    *out = (placed){.place = 0};
    EG_TRY(put_fitted(j, &formula, &out->tensor));
    return place_nodes(j, 0);
  }
  computed_size *c = find_computed(j, size, before, &factor, &offset);
  if (c == NULL) return depends("a number of", user);
  *out = (placed){.place = c->node + 1};
  EG_TRY(put_computed(j, c, &out->tensor));
  EG_TRY(put_line(j, factor, offset, &out->tensor));
  return place_nodes(j, out->place);
}

/// A list of integers that differs between trials, and who has it as an operand.
typedef struct open_ints {
  const char *name;
  eg_size *data;
  uint32_t count;
  uint32_t first_user; // a node, or behind all: an output; 0: bodies of kept nodes
  bool is_shape;       // of reshapes only
  const char *sliced;  // the operand of the only slice that it is the bounds of, or NULL
} open_ints;

/// The list's elements joined, under its name.
static egraph_status put_list(join *j, const open_ints *list) {
  const char **parts;
  uint32_t place = 0;
  Onnx__NodeProto *node;
  EG_TRY(eg_arena_alloc(&j->head.writer->arena, list->count, sizeof *parts, &parts));
  for (uint32_t i = 0; i < list->count; i++) {
    placed part = {.place = 0};
    if (eg_size_is_constant(&list->data[i]))
      EG_TRY(eg_onnx_constant_ints(&j->head, &list->data[i].at[0], 1, &part.tensor));
    else
      EG_TRY(put_size(j, &list->data[i], list->name, list->first_user, &part));
    parts[i] = part.tensor;
    if (part.place > place) place = part.place;
  }
  EG_TRY(eg_onnx_put(&j->head, "Concat", parts, list->count, list->name, NULL, &node));
  EG_TRY(eg_onnx_put_int(&j->head, node, "axis", 0));
  return place_nodes(j, place);
}

// ---- declared types -------------------------------------------------------------------

static bool is_one_dim(const eg_open_sizes *sizes, const eg_size_formula *formula,
                       uint32_t *out) {
  uint32_t degree = 0;
  for (uint32_t d = 0; d < sizes->dim_count; d++)
    if (formula->power[d] != 0) degree += formula->power[d], *out = d;
  return degree == 1 && formula->factor == 1 && formula->offset == 0;
}

/// A dimension that differs becomes the symbol that it is, or nothing.
static void open_dim(const join *j, Onnx__TensorShapeProto__Dimension *dim,
                     const eg_size *size) {
  eg_size_formula formula;
  uint32_t symbol;
  if (eg_size_is_constant(size)) return;
  dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
  if (!eg_size_fit(j->sizes, size, &formula) || !is_one_dim(j->sizes, &formula, &symbol))
    return;
  if (!j->sizes->dims[symbol].is_named) return;
  dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
  dim->dim_param = (char *)(uintptr_t)j->sizes->dims[symbol].name;
}

static egraph_status open_infos(join *j, eg_onnx_infos *const infos[EG_TRIALS]) {
  for (size_t i = 0; i < infos[0]->len; i++) {
    const Onnx__TensorShapeProto *shapes[EG_TRIALS];
    for (uint32_t t = 0; t < EG_TRIALS; t++) {
      if (i >= infos[t]->len ||
          strcmp(infos[t]->data[i]->name, infos[0]->data[i]->name) != 0)
        return depends("tensor", infos[0]->data[i]->name);
      shapes[t] = shape_of(infos[t]->data[i]);
    }
    for (size_t k = 0; shapes[0] != NULL && k < shapes[0]->n_dim; k++) {
      eg_size size;
      // What the file declares of the result of a kept node may be symbolic as it is.
      if (shapes[0]->dim[k]->value_case !=
          ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        continue;
      for (uint32_t t = 0; t < EG_TRIALS; t++)
        size.at[t] = shapes[t]->dim[k]->dim_value;
      open_dim(j, shapes[0]->dim[k], &size);
    }
  }
  return EGRAPH_OK;
}

static egraph_status open_types(join *j) {
  eg_onnx_infos *inputs[EG_TRIALS], *outputs[EG_TRIALS], *infos[EG_TRIALS];
  for (uint32_t t = 0; t < EG_TRIALS; t++) {
    inputs[t] = &j->trials[t]->writer->inputs;
    outputs[t] = &j->trials[t]->writer->outputs;
    infos[t] = &j->trials[t]->writer->infos;
  }
  EG_TRY(open_infos(j, inputs));
  EG_TRY(open_infos(j, outputs));
  return open_infos(j, infos);
}

// ---- constants ------------------------------------------------------------------------

static bool same_tensor(const Onnx__TensorProto *a, const Onnx__TensorProto *b) {
  if (a->n_dims != b->n_dims || a->data_type != b->data_type ||
      (a->n_dims != 0 && memcmp(a->dims, b->dims, a->n_dims * sizeof *a->dims) != 0) ||
      a->raw_data.len != b->raw_data.len)
    return false;
  return a->raw_data.data == b->raw_data.data || a->raw_data.len == 0 ||
         memcmp(a->raw_data.data, b->raw_data.data, a->raw_data.len) == 0;
}

static bool is_list(const Onnx__TensorProto *t) {
  return t->n_dims == 1 && t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
}

/// Where the shape of a reshape has one element that differs, ONNX infers it.
static bool infer_one(Onnx__TensorProto *tensor, const open_ints *list) {
  uint32_t at = list->count;
  for (uint32_t i = 0; i < list->count; i++) {
    if (eg_size_is_constant(&list->data[i])) {
      if (list->data[i].at[0] == 0) return false;
      continue;
    }
    if (at != list->count) return false;
    at = i;
  }
  if (!list->is_shape) return false;
  int64_t inferred = -1;
  memcpy(tensor->raw_data.data + at * sizeof inferred, &inferred, sizeof inferred);
  return true;
}

static const Onnx__TensorShapeProto *shape_among(const eg_onnx_infos *infos,
                                                 const char *name) {
  for (size_t i = 0; i < infos->len; i++)
    if (strcmp(infos->data[i]->name, name) == 0) return shape_of(infos->data[i]);
  return NULL;
}

/// What the writer of a trial declares of a tensor, or NULL.
static const Onnx__TensorShapeProto *declared_shape(const eg_onnx_writer *w,
                                                    const char *name) {
  const Onnx__TensorShapeProto *shape = shape_among(&w->infos, name);
  if (shape == NULL) shape = shape_among(&w->inputs, name);
  return shape != NULL ? shape : shape_among(&w->outputs, name);
}

/// The distance of a bound from the end of an axis of `sliced`, where all trials have it.
static bool is_from_end(const join *j, const char *sliced, uint32_t axis,
                        const eg_size *bound, int64_t *out) {
  for (uint32_t t = 0; t < EG_TRIALS; t++) {
    const Onnx__TensorShapeProto *shape = declared_shape(j->trials[t]->writer, sliced);
    if (shape == NULL || axis >= shape->n_dim) return false;
    int64_t distance = bound->at[t] - shape->dim[axis]->dim_value;
    if (t != 0 && distance != *out) return false;
    *out = distance;
  }
  return true;
}

/// Bounds of slices, of all axes in order, that lie at a distance from the end are
/// counted from there: the last four elements are three of three, and n - 4 would be the
/// last one.
static bool count_from_end(const join *j, Onnx__TensorProto *tensor, open_ints *list) {
  bool is_constant = true;
  for (uint32_t i = 0; i < list->count; i++) {
    int64_t distance;
    if (list->sliced != NULL && !eg_size_is_constant(&list->data[i]) &&
        is_from_end(j, list->sliced, i, &list->data[i], &distance) && distance <= 0) {
      if (distance == 0) distance = INT64_MAX;
      for (uint32_t t = 0; t < EG_TRIALS; t++)
        list->data[i].at[t] = distance;
      memcpy(tensor->raw_data.data + i * sizeof distance, &distance, sizeof distance);
    }
    is_constant = is_constant && eg_size_is_constant(&list->data[i]);
  }
  return is_constant;
}

static bool is_output(const join *j, const char *name) {
  const eg_onnx_infos *outputs = &j->trials[0]->writer->outputs;
  for (size_t i = 0; i < outputs->len; i++)
    if (strcmp(outputs->data[i]->name, name) == 0) return true;
  return false;
}

static void find_users(const join *j, open_ints *list) {
  const eg_onnx_nodes *nodes = &j->trials[0]->nodes;
  uint32_t users = 0;
  list->is_shape = !is_output(j, list->name);
  list->first_user = list->is_shape ? 0 : (uint32_t)nodes->len;
  for (uint32_t n = 0; n < nodes->len; n++)
    for (size_t i = 0; i < nodes->data[n]->n_input; i++) {
      if (strcmp(nodes->data[n]->input[i], list->name) != 0) continue;
      const char *op = nodes->data[n]->op_type;
      if (users++ == 0) list->first_user = n;
      list->sliced = users == 1 && i != 0 && strcmp(op, "Slice") == 0
                         ? nodes->data[n]->input[0]
                         : NULL;
      list->is_shape = list->is_shape && i == 1 && strcmp(op, "Reshape") == 0;
    }
  list->is_shape = list->is_shape && users != 0;
}

static egraph_status open_list(join *j, Onnx__TensorProto *const tensors[EG_TRIALS],
                               bool *out_stays) {
  open_ints list = {.name = tensors[0]->name, .count = (uint32_t)tensors[0]->dims[0]};
  eg_size *data;
  EG_TRY(eg_arena_alloc(&j->head.writer->arena, list.count, sizeof *data, &data));
  for (uint32_t i = 0; i < list.count; i++)
    for (uint32_t t = 0; t < EG_TRIALS; t++)
      memcpy(&data[i].at[t], tensors[t]->raw_data.data + i * sizeof(int64_t),
             sizeof(int64_t));
  list.data = data;
  find_users(j, &list);
  *out_stays = infer_one(tensors[0], &list) || count_from_end(j, tensors[0], &list);
  return *out_stays ? EGRAPH_OK : put_list(j, &list);
}

static egraph_status open_tensor(join *j, Onnx__TensorProto *const tensors[EG_TRIALS],
                                 bool *out_stays) {
  bool same = true, lists = true;
  const Onnx__TensorProto *a = tensors[0];
  for (uint32_t t = 1; t < EG_TRIALS; t++) {
    const Onnx__TensorProto *b = tensors[t];
    if (strcmp(a->name, b->name) != 0) return depends("tensor", a->name);
    same = same && same_tensor(a, b);
    lists = lists && is_list(a) && is_list(b) && a->dims[0] == b->dims[0];
  }
  *out_stays = true;
  if (same) return EGRAPH_OK;
  return lists ? open_list(j, tensors, out_stays) : depends("tensor", a->name);
}

static egraph_status open_tensors(join *j) {
  eg_onnx_writer *w = j->trials[0]->writer;
  size_t kept = 0, count = w->initializers.len;
  for (size_t i = 0; i < count; i++) {
    Onnx__TensorProto *tensors[EG_TRIALS];
    bool stays;
    for (uint32_t t = 0; t < EG_TRIALS; t++) {
      const eg_onnx_initializers *list = &j->trials[t]->writer->initializers;
      if (t != 0 && i >= list->len)
        return depends("tensor", w->initializers.data[i]->name);
      tensors[t] = list->data[i];
    }
    EG_TRY(open_tensor(j, tensors, &stays));
    if (stays) w->initializers.data[kept++] = tensors[0];
  }
  // Those that computing sizes has added.
  for (size_t i = count; i < w->initializers.len; i++)
    w->initializers.data[kept++] = w->initializers.data[i];
  w->initializers.len = kept;
  return EGRAPH_OK;
}

// ---- nodes ----------------------------------------------------------------------------

static egraph_status check_same(join *j, const ProtobufCMessage *a,
                                const ProtobufCMessage *b, const char *what,
                                const char *name) {
  egraph_allocator alloc = j->head.writer->alloc;
  unsigned char *bytes[2] = {NULL, NULL};
  size_t sizes[2] = {0, 0};
  egraph_status status = eg_onnx_message_pack(alloc, a, &bytes[0], &sizes[0]);
  if (status == EGRAPH_OK) status = eg_onnx_message_pack(alloc, b, &bytes[1], &sizes[1]);
  if (status == EGRAPH_OK &&
      (sizes[0] != sizes[1] || memcmp(bytes[0], bytes[1], sizes[0]) != 0))
    status = depends(what, name);
  for (uint32_t i = 0; i < 2; i++)
    eg_free(alloc, bytes[i], sizes[i], 1);
  return status;
}

static egraph_status check_node(join *j, const Onnx__NodeProto *a,
                                const Onnx__NodeProto *b) {
  const char *result = a->n_output != 0 ? a->output[0] : a->name;
  if (a->n_attribute != b->n_attribute) return depends(a->op_type, result);
  for (size_t i = 0; i < a->n_attribute; i++) {
    char what[160];
    (void)snprintf(what, sizeof what, "attribute %.60s of %.60s", a->attribute[i]->name,
                   a->op_type);
    EG_TRY(check_same(j, &a->attribute[i]->base, &b->attribute[i]->base, what, result));
  }
  return check_same(j, &a->base, &b->base, a->op_type, result);
}

static egraph_status check_nodes(join *j, const eg_onnx_body *trial) {
  const eg_onnx_nodes *nodes = &j->trials[0]->nodes;
  const eg_onnx_functions *functions = &j->trials[0]->writer->functions;
  if (nodes->len != trial->nodes.len || functions->len != trial->writer->functions.len)
    return depends("the number of nodes of", j->trials[0]->stem);
  for (size_t i = 0; i < nodes->len; i++)
    EG_TRY(check_node(j, nodes->data[i], trial->nodes.data[i]));
  for (size_t i = 0; i < functions->len; i++)
    EG_TRY(check_same(j, &functions->data[i]->base,
                      &trial->writer->functions.data[i]->base, "function",
                      functions->data[i]->name));
  return EGRAPH_OK;
}

/// Nodes that compute sizes come before the node of their place, in their own order.
static egraph_status merge_nodes(join *j, eg_onnx_nodes *all) {
  eg_onnx_nodes *nodes = &j->trials[0]->nodes;
  for (uint32_t n = 0; n < nodes->len; n++) {
    for (size_t i = 0; i < j->head.nodes.len; i++)
      if (j->places.data[i] == n) EG_TRY(eg_onnx_nodes_push(all, j->head.nodes.data[i]));
    EG_TRY(eg_onnx_nodes_push(all, nodes->data[n]));
  }
  return EGRAPH_OK;
}

static egraph_status add_head(join *j) {
  eg_onnx_nodes all, *nodes = &j->trials[0]->nodes;
  eg_onnx_nodes_init(&all, j->head.writer->alloc);
  egraph_status status = merge_nodes(j, &all);
  eg_onnx_nodes old = *nodes;
  *nodes = all;
  eg_onnx_nodes_deinit(&old);
  return status;
}

static egraph_status join_trials(join *j) {
  for (uint32_t t = 1; t < EG_TRIALS; t++)
    EG_TRY(check_nodes(j, j->trials[t]));
  EG_TRY(collect_computed(j));
  EG_TRY(open_tensors(j));
  EG_TRY(open_types(j));
  return add_head(j);
}

#define OWNED                                                                            \
  (eg_onnx_texts, tensors), (eg_u32s, places), (computed_sizes, computed),               \
      (eg_strmap, formulas)

egraph_status eg_onnx_join_trials(eg_onnx_body *const trials[EG_TRIALS],
                                  const eg_open_sizes *sizes) {
  egraph_allocator alloc = trials[0]->writer->alloc;
  join j = {.trials = trials,
            .sizes = sizes,
            .head = {.writer = trials[0]->writer, .stem = "size"}};
  eg_onnx_nodes_init(&j.head.nodes, alloc);
  EG_INIT_MEMBERS(&j, alloc, OWNED);
  egraph_status status = join_trials(&j);
  EG_DEINIT_MEMBERS(&j, OWNED);
  eg_onnx_nodes_deinit(&j.head.nodes);
  return status;
}
