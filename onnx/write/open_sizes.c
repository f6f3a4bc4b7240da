// Models with open dimensions are first written with handles of expressions as sizes.
// Then each list with open sizes is replaced by nodes that compute the list from the
// dimensions of inputs, and of results of opaque nodes.
//
//   graph      Reshape(x, [batch seq 12 64])
//   written    batch = Gather(Shape(x), [0]), seq = Gather(Shape(x), [1])
//              Reshape(x, Concat(batch, seq, [12 64]))
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/write/writer.h"

#include "base/flatmap.h"
#include "base/hash.h"
#include "base/owner.h"

#include <inttypes.h>
#include <string.h>

/// The first sets in which Max takes integers, and in which Reshape can take 0 as a size.
enum { MAX_OF_INTEGERS = 12, ALLOWZERO = 14 };

/// The size of a dimension as a tensor of one element, computed before node `place`.
typedef struct computed {
  int64_t size;
  const char *tensor;
  uint32_t place;
} computed;
EG_VEC_DEFINE(computed_list, computed);

typedef struct opener {
  eg_onnx_body *body;
  eg_onnx_writer *writer;
  eg_onnx_body head;      // nodes that compute sizes
  eg_u32s places;         // [head.nodes] the node before which each is inserted
  computed_list computed; // sizes that have a tensor, each once
  eg_strmap makers;       // result of a node -> the node
} opener;
EG_OWNER_DEFINE_STATIC(opener, (eg_onnx_nodes, head.nodes), (eg_u32s, places),
                       (computed_list, computed), (eg_strmap, makers))

static egraph_status depends(const char *what, const char *name) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s '%.200s' depends on the size of an open dimension, and ONNX has it "
                 "fixed; fix the sizes of dimensions (--dim NAME=N)",
                 what, name);
}

/// Fails: this set lacks the needed form of an operator, but another set may have it.
static egraph_status needs_set(opener *o, const char *what, const char *name) {
  o->writer->is_faulty = true;
  return depends(what, name);
}

// ---- sizes as tensors -----------------------------------------------------------------

static egraph_status put_size(opener *o, int64_t size, computed *out);

/// Writes an operator on two sizes. Its position in the list of nodes is the later one of
/// the positions of its operands.
static egraph_status put_on(opener *o, const char *op, const computed *a,
                            const computed *b, computed *out) {
  const char *const operands[2] = {a->tensor, b->tensor};
  out->place = a->place > b->place ? a->place : b->place;
  EG_TRY(eg_onnx_put(&o->head, op, operands, 2, NULL, &out->tensor, NULL));
  return eg_u32s_push(&o->places, out->place);
}

static egraph_status put_number(opener *o, int64_t number, computed *out) {
  *out = (computed){.size = number};
  return eg_onnx_constant_ints(&o->head, &number, 1, &out->tensor);
}

static egraph_status read_dim(opener *o, const char *tensor, uint32_t axis,
                              computed *inout) {
  computed shape = {.place = inout->place}, index;
  EG_TRY(eg_onnx_put(&o->head, "Shape", &tensor, 1, NULL, &shape.tensor, NULL));
  EG_TRY(eg_u32s_push(&o->places, shape.place));
  EG_TRY(put_number(o, axis, &index));
  return put_on(o, "Gather", &shape, &index, inout);
}

static egraph_status put_unknown(opener *o, const eg_size_atom *atom, computed *out) {
  eg_value value;
  uint32_t maker;
  if (!eg_graph_find_value(o->writer->graph, atom->tensor, &value))
    return depends("a dimension of", atom->tensor);
  const char *tensor = o->writer->value_names[value.id];
  out->place = eg_strmap_find(&o->makers, tensor, &maker) ? maker + 1 : 0;
  return read_dim(o, tensor, atom->index, out);
}

/// Writes floor(a / b). Div of ONNX rounds towards zero; a - Mod(a, b), where Mod has the
/// sign of the divisor, is divided without remainder.
static egraph_status put_floor(opener *o, const eg_size_atom *atom, computed *out) {
  computed a, b, rest;
  EG_TRY(put_size(o, atom->a, &a));
  EG_TRY(put_size(o, atom->b, &b));
  if (!eg_size_at_least(atom->a, 0)) {
    EG_TRY(put_on(o, "Mod", &a, &b, &rest));
    EG_TRY(put_on(o, "Sub", &a, &rest, &a));
  }
  return put_on(o, "Div", &a, &b, out);
}

static egraph_status put_positive(opener *o, const eg_size_atom *atom, computed *out) {
  computed a, zero;
  if (o->writer->opset < MAX_OF_INTEGERS) return needs_set(o, "a size of", "Max");
  EG_TRY(put_size(o, atom->a, &a));
  EG_TRY(put_number(o, 0, &zero));
  return put_on(o, "Max", &a, &zero, out);
}

static egraph_status put_stretch(opener *o, const eg_size_atom *atom, computed *out) {
  computed a, b, one, is_one;
  EG_TRY(put_size(o, atom->a, &a));
  EG_TRY(put_size(o, atom->b, &b));
  EG_TRY(put_number(o, 1, &one));
  EG_TRY(put_on(o, "Equal", &a, &one, &is_one));
  const char *const operands[3] = {is_one.tensor, b.tensor, a.tensor};
  out->place = a.place > b.place ? a.place : b.place;
  EG_TRY(eg_onnx_put(&o->head, "Where", operands, 3, NULL, &out->tensor, NULL));
  return eg_u32s_push(&o->places, out->place);
}

static egraph_status put_atom(opener *o, const eg_size_atom *atom, computed *out) {
  const eg_open_dim *dim;
  *out = (computed){.place = 0};
  switch (atom->kind) {
  case EG_SIZE_DIM:
    dim = eg_open_sizes_dim(eg_graph_open_sizes(o->writer->graph), atom->index);
    return read_dim(o, dim->input, dim->axis, out);
  case EG_SIZE_UNKNOWN: return put_unknown(o, atom, out);
  case EG_SIZE_FLOOR: return put_floor(o, atom, out);
  case EG_SIZE_POSITIVE: return put_positive(o, atom, out);
  case EG_SIZE_STRETCH: return put_stretch(o, atom, out);
  }
  return EGRAPH_E_INTERNAL;
}

/// Writes an atom (an indivisible factor of a size expression), or reuses the tensor of a
/// size that is this atom alone.
static egraph_status put_shared_atom(opener *o, const eg_size_atom *atom, computed *out) {
  for (size_t i = 0; i < o->computed.len; i++) {
    eg_size_term term;
    const computed *c = &o->computed.data[i];
    if (eg_size_term_count(c->size) != 1) continue;
    eg_size_term_at(c->size, 0, &term);
    bool is_same = term.coefficient == 1 && term.count == 1 &&
                   term.atoms[0].kind == atom->kind && term.atoms[0].a == atom->a &&
                   term.atoms[0].b == atom->b && term.atoms[0].index == atom->index &&
                   (atom->kind != EG_SIZE_UNKNOWN ||
                    strcmp(term.atoms[0].tensor, atom->tensor) == 0);
    if (!is_same) continue;
    *out = *c;
    return EGRAPH_OK;
  }
  return put_atom(o, atom, out);
}

/// Writes |coefficient| * atoms: one term of the polynomial of a size.
static egraph_status put_term(opener *o, const eg_size_term *term, computed *out) {
  int64_t factor = term->coefficient < 0 ? -term->coefficient : term->coefficient;
  computed next;
  if (term->count == 0) return put_number(o, factor, out);
  EG_TRY(put_shared_atom(o, &term->atoms[0], out));
  for (uint32_t i = 1; i < term->count; i++) {
    EG_TRY(put_shared_atom(o, &term->atoms[i], &next));
    EG_TRY(put_on(o, "Mul", out, &next, out));
  }
  if (factor == 1) return EGRAPH_OK;
  EG_TRY(put_number(o, factor, &next));
  return put_on(o, "Mul", out, &next, out);
}

static egraph_status put_terms(opener *o, int64_t size, computed *out) {
  uint32_t count = eg_size_term_count(size);
  for (uint32_t i = 0; i < count; i++) {
    eg_size_term term;
    computed next, zero;
    eg_size_term_at(size, i, &term);
    bool is_negative = term.coefficient < 0;
    EG_TRY(put_term(o, &term, i == 0 ? out : &next));
    if (i == 0 && is_negative) {
      EG_TRY(put_number(o, 0, &zero));
      EG_TRY(put_on(o, "Sub", &zero, out, out));
    }
    if (i != 0) EG_TRY(put_on(o, is_negative ? "Sub" : "Add", out, &next, out));
  }
  return EGRAPH_OK;
}

static egraph_status put_size(opener *o, int64_t size, computed *out) {
  if (!eg_size_is_open(size)) return put_number(o, size, out);
  for (size_t i = 0; i < o->computed.len; i++)
    if (o->computed.data[i].size == size) {
      *out = o->computed.data[i];
      return EGRAPH_OK;
    }
  EG_TRY(put_terms(o, size, out));
  out->size = size;
  return computed_list_push(&o->computed, *out);
}

// ---- lists ----------------------------------------------------------------------------

/// A list of integers, some of them open sizes, and the nodes that use the list.
typedef struct open_list {
  const char *name;
  int64_t *data;
  uint32_t count;
  uint32_t first_user;    // a node; the number of nodes if none
  bool is_shape;          // all users are reshapes
  Onnx__NodeProto *slice; // the only user, if the list is the ends of a slice
} open_list;

static void find_users(const opener *o, open_list *list) {
  const eg_onnx_nodes *nodes = &o->body->nodes;
  uint32_t users = 0;
  list->is_shape = true;
  list->first_user = (uint32_t)nodes->len;
  for (uint32_t n = 0; n < nodes->len; n++)
    for (size_t i = 0; i < nodes->data[n]->n_input; i++) {
      if (strcmp(nodes->data[n]->input[i], list->name) != 0) continue;
      const char *op = nodes->data[n]->op_type;
      if (users++ == 0) list->first_user = n;
      bool is_end = users == 1 && i == 2 && strcmp(op, "Slice") == 0;
      list->slice = is_end ? nodes->data[n] : NULL;
      list->is_shape = list->is_shape && i == 1 && strcmp(op, "Reshape") == 0;
    }
  list->is_shape = list->is_shape && users != 0;
}

/// Replaces the only open element of the shape of a reshape by -1: ONNX then infers it.
static bool infer_one(open_list *list) {
  uint32_t open = 0, at = 0;
  for (uint32_t i = 0; i < list->count; i++) {
    if (eg_size_is_open(list->data[i]))
      at = i, open++;
    else if (list->data[i] == 0)
      return false;
  }
  if (!list->is_shape || open != 1) return false;
  list->data[at] = -1;
  return true;
}

static const Onnx__TensorShapeProto *shape_among(const eg_onnx_infos *infos,
                                                 const char *name) {
  for (size_t i = 0; i < infos->len; i++) {
    const Onnx__TypeProto__Tensor *tensor = eg_onnx_declared_tensor(infos->data[i]);
    if (strcmp(infos->data[i]->name, name) == 0 && tensor != NULL) return tensor->shape;
  }
  return NULL;
}

static const Onnx__TensorShapeProto *declared_shape(const eg_onnx_writer *w,
                                                    const char *name) {
  const Onnx__TensorShapeProto *shape = shape_among(&w->infos, name);
  if (shape == NULL) shape = shape_among(&w->inputs, name);
  return shape != NULL ? shape : shape_among(&w->outputs, name);
}

/// Replaces ends of a slice over all axes by INT64_MAX if they are the ends of
/// dimensions: these need no size.
static bool end_at_ends(const opener *o, open_list *list) {
  const Onnx__TensorShapeProto *shape =
      list->slice != NULL ? declared_shape(o->writer, list->slice->input[0]) : NULL;
  for (uint32_t i = 0; shape != NULL && i < list->count && i < shape->n_dim; i++)
    if (eg_size_is_open(list->data[i]) && list->data[i] == shape->dim[i]->dim_value)
      list->data[i] = INT64_MAX;
  return !eg_size_any_open(list->data, list->count);
}

/// Sets allowzero if an element of a shape may be 0; ONNX would copy a dimension there.
static egraph_status allow_zero(opener *o, const open_list *list) {
  bool may_be_zero = false;
  for (uint32_t i = 0; i < list->count; i++)
    may_be_zero = may_be_zero || !eg_size_at_least(list->data[i], 1);
  if (!list->is_shape || !may_be_zero) return EGRAPH_OK;
  if (o->writer->opset < ALLOWZERO) return needs_set(o, "the shape", list->name);
  for (size_t n = 0; n < o->body->nodes.len; n++) {
    Onnx__NodeProto *node = o->body->nodes.data[n];
    bool is_there = false;
    if (node->n_input < 2 || strcmp(node->input[1], list->name) != 0) continue;
    for (size_t i = 0; i < node->n_attribute; i++)
      is_there = is_there || strcmp(node->attribute[i]->name, "allowzero") == 0;
    if (!is_there) EG_TRY(eg_onnx_put_int(o->body, node, "allowzero", 1));
  }
  return EGRAPH_OK;
}

/// Writes a concatenation of the list's elements under its name; adjacent numbers are
/// one constant.
static egraph_status put_list(opener *o, const open_list *list) {
  const char **parts;
  uint32_t place = 0, count = 0;
  Onnx__NodeProto *node;
  EG_TRY(allow_zero(o, list));
  EG_NEW(&o->writer->arena, list->count, parts);
  for (uint32_t i = 0; i < list->count;) {
    uint32_t end = i;
    while (end < list->count && !eg_size_is_open(list->data[end]))
      end++;
    computed part = {.place = 0};
    if (end > i)
      EG_TRY(eg_onnx_constant_ints(&o->head, list->data + i, end - i, &part.tensor));
    else
      EG_TRY(put_size(o, list->data[i], &part));
    i = end > i ? end : i + 1;
    parts[count++] = part.tensor;
    if (part.place > place) place = part.place;
  }
  if (place > list->first_user) return depends("the list", list->name);
  EG_TRY(eg_onnx_put(&o->head, "Concat", parts, count, list->name, NULL, &node));
  EG_TRY(eg_u32s_push(&o->places, place));
  return eg_onnx_put_int(&o->head, node, "axis", 0);
}

/// Reads a tensor of integers, which may be open sizes; *out_data is NULL if none is
/// open.
static egraph_status read_ints(opener *o, const Onnx__TensorProto *tensor,
                               int64_t **out_data, size_t *out_count) {
  size_t count = tensor->raw_data.len / sizeof(int64_t);
  *out_data = NULL;
  if (tensor->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__INT64 ||
      tensor->raw_data.data == NULL || count == 0)
    return EGRAPH_OK;
  int64_t *data;
  EG_NEW(&o->writer->arena, count, data);
  memcpy(data, tensor->raw_data.data, count * sizeof *data);
  *out_count = count;
  for (size_t i = 0; i < count; i++)
    if (eg_size_is_open(data[i])) *out_data = data;
  return EGRAPH_OK;
}

static egraph_status open_tensor(opener *o, Onnx__TensorProto *tensor, bool *out_stays) {
  open_list list = {.name = tensor->name};
  size_t count;
  *out_stays = true;
  EG_TRY(read_ints(o, tensor, &list.data, &count));
  if (list.data == NULL) return EGRAPH_OK;
  if (tensor->n_dims != 1) return depends("the constant", tensor->name);
  list.count = (uint32_t)count;
  find_users(o, &list);
  *out_stays = infer_one(&list) || end_at_ends(o, &list);
  if (!*out_stays) return put_list(o, &list);
  tensor->raw_data.data = (uint8_t *)list.data; // only numbers now
  return EGRAPH_OK;
}

static egraph_status open_tensors(opener *o) {
  eg_onnx_writer *w = o->writer;
  size_t kept = 0, count = w->initializers.len;
  for (size_t i = 0; i < count; i++) {
    bool stays;
    EG_TRY(open_tensor(o, w->initializers.data[i], &stays));
    if (stays) w->initializers.data[kept++] = w->initializers.data[i];
  }
  // Keeps the initializers that the computation of sizes has added.
  for (size_t i = count; i < w->initializers.len; i++)
    w->initializers.data[kept++] = w->initializers.data[i];
  w->initializers.len = kept;
  return EGRAPH_OK;
}

// ---- sizes that ONNX needs as numbers -------------------------------------------------

static bool is_no_number(int64_t value) {
  return eg_size_is_open(value) || ((uint64_t)value >> 62 == 1 && value < INT64_MAX);
}

static egraph_status check_node(opener *o, const Onnx__NodeProto *node) {
  const char *result = node->n_output != 0 ? node->output[0] : node->name;
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *attr = node->attribute[i];
    bool is_open = attr->has_i && is_no_number(attr->i);
    for (size_t k = 0; k < attr->n_ints; k++)
      is_open = is_open || is_no_number(attr->ints[k]);
    int64_t *data = NULL;
    size_t count;
    if (attr->t != NULL) EG_TRY(read_ints(o, attr->t, &data, &count));
    if (is_open || data != NULL) return depends(node->op_type, result);
  }
  return EGRAPH_OK;
}

static egraph_status check_nodes(opener *o) {
  const eg_onnx_functions *functions = &o->writer->functions;
  for (size_t i = 0; i < o->body->nodes.len; i++)
    EG_TRY(check_node(o, o->body->nodes.data[i]));
  for (size_t f = 0; f < functions->len; f++)
    for (size_t i = 0; i < functions->data[f]->n_node; i++)
      EG_TRY(check_node(o, functions->data[f]->node[i]));
  return EGRAPH_OK;
}

// ---- declared types -------------------------------------------------------------------

/// Returns the name of the open dimension that a size is, or NULL.
static const char *symbol_of(const opener *o, int64_t size) {
  eg_size_term term;
  if (eg_size_term_count(size) != 1) return NULL;
  eg_size_term_at(size, 0, &term);
  if (term.coefficient != 1 || term.count != 1 || term.atoms[0].kind != EG_SIZE_DIM)
    return NULL;
  const eg_open_dim *dim =
      eg_open_sizes_dim(eg_graph_open_sizes(o->writer->graph), term.atoms[0].index);
  return dim->is_named ? dim->name : NULL;
}

static void open_infos(const opener *o, const eg_onnx_infos *infos) {
  for (size_t i = 0; i < infos->len; i++) {
    const Onnx__TensorShapeProto *shape = shape_among(infos, infos->data[i]->name);
    for (size_t k = 0; shape != NULL && k < shape->n_dim; k++) {
      Onnx__TensorShapeProto__Dimension *dim = shape->dim[k];
      if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE ||
          !eg_size_is_open(dim->dim_value))
        continue;
      const char *symbol = symbol_of(o, dim->dim_value);
      dim->value_case = symbol != NULL
                            ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                            : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
      if (symbol != NULL) dim->dim_param = eg_onnx_borrowed(symbol);
    }
  }
}

// ---- the model ------------------------------------------------------------------------

static egraph_status note_makers(opener *o) {
  const eg_onnx_nodes *nodes = &o->body->nodes;
  for (uint32_t n = 0; n < nodes->len; n++)
    for (size_t i = 0; i < nodes->data[n]->n_output; i++)
      EG_TRY(eg_strmap_put(&o->makers, nodes->data[n]->output[i], n));
  return EGRAPH_OK;
}

/// Inserts the nodes that compute sizes at their positions in the list of nodes.
static egraph_status merge_nodes(opener *o) {
  EG_LOCAL(eg_onnx_nodes, all, o->writer->alloc);
  eg_onnx_nodes *nodes = &o->body->nodes, old = *nodes;
  for (uint32_t n = 0; n <= old.len; n++) {
    for (size_t i = 0; i < o->head.nodes.len; i++)
      if (o->places.data[i] == n) EG_TRY(eg_onnx_nodes_push(&all, o->head.nodes.data[i]));
    if (n < old.len) EG_TRY(eg_onnx_nodes_push(&all, old.data[n]));
  }
  *nodes = all;
  all = old; // freed at the end
  return EGRAPH_OK;
}

egraph_status eg_onnx_open_body(eg_onnx_body *body) {
  EG_LOCAL(opener, o, body->writer->alloc);
  o.body = body;
  o.writer = o.head.writer = body->writer;
  o.head.stem = "size";
  EG_TRY(note_makers(&o));
  EG_TRY(check_nodes(&o));
  EG_TRY(open_tensors(&o));
  open_infos(&o, &o.writer->inputs);
  open_infos(&o, &o.writer->outputs);
  open_infos(&o, &o.writer->infos);
  return merge_nodes(&o);
}
