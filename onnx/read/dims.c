// Symbolic dimensions of a model's inputs, and the sizes that a caller gives them.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "onnx/read/reader.h"

static bool is_fixed(const Onnx__TensorShapeProto__Dimension *dim) {
  return dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
}

static bool is_named(const Onnx__TensorShapeProto__Dimension *dim) {
  return dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
         dim->dim_param[0] != '\0';
}

/// True when a symbol names the dimension, by its name in the file or as "INPUT.AXIS".
static bool is_of(const char *symbol, const Onnx__TensorShapeProto__Dimension *dim,
                  const char *input, uint32_t axis) {
  char number[16];
  if (is_named(dim)) return strcmp(symbol, dim->dim_param) == 0;
  size_t length = strlen(input);
  (void)snprintf(number, sizeof number, ".%" PRIu32, axis);
  return strncmp(symbol, input, length) == 0 && strcmp(symbol + length, number) == 0;
}

static egraph_status name_dimension(eg_arena *arena,
                                    const Onnx__TensorShapeProto__Dimension *dim,
                                    const char *input, uint32_t axis, const char **out) {
  size_t room = strlen(input) + 16;
  char *name;
  if (is_named(dim))
    return eg_arena_string(arena, dim->dim_param, strlen(dim->dim_param), out);
  EG_NEW(arena, room, name);
  (void)snprintf(name, room, "%s.%" PRIu32, input, axis);
  *out = name;
  return EGRAPH_OK;
}

// ---- the list -------------------------------------------------------------------------

static bool is_listed(const eg_onnx_symbols *list,
                      const Onnx__TensorShapeProto__Dimension *dim, const char *input,
                      uint32_t axis) {
  for (size_t i = 0; i < list->len; i++)
    if (list->data[i].is_named == is_named(dim) &&
        is_of(list->data[i].name, dim, input, axis))
      return true;
  return false;
}

static egraph_status list_input(eg_arena *arena, const Onnx__ValueInfoProto *input,
                                eg_onnx_symbols *out) {
  const Onnx__TypeProto__Tensor *tensor = eg_onnx_declared_tensor(input);
  if (tensor == NULL || tensor->shape == NULL) return EGRAPH_OK;
  const Onnx__TensorShapeProto *shape = tensor->shape;
  for (uint32_t i = 0; i < shape->n_dim && i < EGRAPH_MAX_RANK; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
    if (is_fixed(dim) || is_listed(out, dim, input->name, i)) continue;
    eg_onnx_symbol symbol = {
        .is_named = is_named(dim), .axis = i, .rank = (uint32_t)shape->n_dim};
    EG_TRY(eg_arena_string(arena, input->name, strlen(input->name), &symbol.input));
    EG_TRY(name_dimension(arena, dim, input->name, i, &symbol.name));
    EG_TRY(eg_onnx_symbols_push(out, symbol));
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_list_symbols(eg_arena *arena, const Onnx__ModelProto *model,
                                   eg_onnx_symbols *out) {
  EG_LOCAL(eg_strmap, weights, arena->alloc);
  const Onnx__GraphProto *graph = model->graph;
  uint32_t ignored;
  if (graph == NULL) return EGRAPH_OK;
  for (size_t i = 0; i < graph->n_initializer; i++)
    EG_TRY(eg_strmap_put(&weights, graph->initializer[i]->name, 0));
  for (size_t i = 0; i < graph->n_input; i++)
    if (!eg_strmap_find(&weights, graph->input[i]->name, &ignored))
      EG_TRY(list_input(arena, graph->input[i], out));
  return EGRAPH_OK;
}

// ---- sizes ----------------------------------------------------------------------------

bool eg_onnx_has_size(const eg_onnx_import_options *options, const char *name) {
  for (uint32_t i = 0; i < options->dim_count; i++)
    if (strcmp(options->dims[i].name, name) == 0) return true;
  return false;
}

static egraph_status refuse_symbol(const eg_onnx_reader *r,
                                   const eg_onnx_symbols *symbols, const char *what,
                                   const char *name) {
  EG_LOCAL(eg_text, names, r->alloc);
  for (size_t i = 0; i < symbols->len; i++)
    EG_TRY(eg_text_printf(&names, "%s%.100s", i == 0 ? "" : ", ", symbols->data[i].name));
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%s: %s%s%.100s%s; symbolic dimensions are: %s",
                 r->file, what, name != NULL ? " '" : "", name != NULL ? name : "",
                 name != NULL ? "'" : "",
                 symbols->len != 0 ? eg_text_of(&names) : "(none)");
}

/// Reads sizes given by name; then the batch size, for the only dimension without one.
static egraph_status take_sizes(eg_onnx_reader *r, const eg_onnx_symbols *symbols) {
  const eg_onnx_import_options *o = &r->options;
  for (uint32_t i = 0; i < o->dim_count; i++) {
    if (o->dims[i].size < 1)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "%s: the size of dimension '%.100s' is %" PRId64
                     "; it must be 1 or more (--dim NAME=N)",
                     r->file, o->dims[i].name, o->dims[i].size);
    bool is_there = false;
    for (size_t s = 0; s < symbols->len; s++)
      is_there = is_there || strcmp(symbols->data[s].name, o->dims[i].name) == 0;
    // Without symbolic dimensions this name is the batch of the model (read/open.c).
    if (symbols->len == 0 && strcmp(o->dims[i].name, "batch") == 0) continue;
    if (!is_there)
      return refuse_symbol(r, symbols, "the inputs have no symbolic dimension",
                           o->dims[i].name);
    EG_TRY(eg_onnx_dims_push(&r->dims, o->dims[i]));
  }
  uint32_t left = 0;
  const char *name = NULL;
  for (size_t s = 0; s < symbols->len; s++)
    if (!eg_onnx_has_size(o, symbols->data[s].name)) name = symbols->data[s].name, left++;
  if (o->out_symbolic != NULL) *o->out_symbolic = (uint32_t)symbols->len;
  if (o->out_open != NULL) *o->out_open = o->batch > 0 && left == 1 ? 0 : left;
  if (o->batch <= 0 || left == 0) return EGRAPH_OK;
  if (left > 1)
    return refuse_symbol(
        r, symbols,
        "the batch is the size of the only symbolic dimension, and there are "
        "several; give each its size (--dim NAME=N)",
        NULL);
  return eg_onnx_dims_push(&r->dims, (eg_onnx_dim){.name = name, .size = o->batch});
}

egraph_status eg_onnx_resolve_dims(eg_onnx_reader *reader) {
  EG_LOCAL(eg_onnx_symbols, symbols, reader->alloc);
  EG_TRY(eg_onnx_list_symbols(&reader->arena, reader->model, &symbols));
  return take_sizes(reader, &symbols);
}

bool eg_onnx_dim_size(const eg_onnx_reader *reader,
                      const Onnx__TensorShapeProto__Dimension *dim, const char *input,
                      uint32_t axis, int64_t *out) {
  if (is_fixed(dim)) {
    *out = dim->dim_value;
    return true;
  }
  for (size_t i = 0; i < reader->dims.len; i++)
    if (is_of(reader->dims.data[i].name, dim, input, axis)) {
      *out = reader->dims.data[i].size;
      return true;
    }
  return false;
}

egraph_status eg_onnx_refuse_open(const Onnx__TensorShapeProto__Dimension *dim,
                                  const char *input, uint32_t axis) {
  char place[16] = "";
  bool named = is_named(dim);
  if (!named) (void)snprintf(place, sizeof place, ".%" PRIu32, axis);
  const char *name = named ? dim->dim_param : input;
  return EG_FAIL(EGRAPH_E_PARSE,
                 "dimension %" PRIu32
                 " is symbolic ('%.100s%s'); give its size (--dim %.100s%s=N)",
                 axis, name, place, name, place);
}
