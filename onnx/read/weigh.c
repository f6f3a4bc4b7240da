// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx.h"

#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "onnx/read/inner.h"
#include "onnx/read/opaque.h"
#include "onnx/sets/versions.h"
#include "pcg/graph/graph_copy.h"

/// The state of computing the work (bytes moved) of one opaque node.
typedef struct weigher {
  eg_graph *graph;
  eg_graph_node_info node;
  eg_arena *arena;
  const Onnx__ModelProto *record;
  const Onnx__NodeProto *proto; // NULL: a leaf
  double *results;              // = work.results
  eg_opaque_work work;
} weigher;

// ---- bytes of foreign types ---------------------------------------------------------

static const struct {
  int element; // TensorProto.DataType
  double bits;
} foreign[] = {{ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64, 64},
               {ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128, 128},
               {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E4M3FN, 8},
               {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E4M3FNUZ, 8},
               {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E5M2, 8},
               {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E5M2FNUZ, 8},
               {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E8M0, 8},
               {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT6E2M3, 6},
               {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT6E3M2, 6},
               {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT4E2M1, 4},
               {ONNX__TENSOR_PROTO__DATA_TYPE__INT4, 4},
               {ONNX__TENSOR_PROTO__DATA_TYPE__UINT4, 4},
               {ONNX__TENSOR_PROTO__DATA_TYPE__INT2, 2},
               {ONNX__TENSOR_PROTO__DATA_TYPE__UINT2, 2}};

/// Returns the bits of an element; EG_BYTES_UNKNOWN for strings.
static double bits_of(int element) {
  egraph_dtype dtype;
  if (eg_dtype_from_onnx(element, &dtype)) return 8.0 * (double)eg_dtype_bytes(dtype);
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (foreign[i].element == element) return foreign[i].bits;
  return EG_BYTES_UNKNOWN;
}

static double declared_bytes(const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto__Tensor *tensor = eg_onnx_declared_tensor(info);
  if (tensor == NULL) return EG_BYTES_UNKNOWN;
  double bits = bits_of(tensor->elem_type);
  if (bits < 0 || tensor->shape == NULL) return EG_BYTES_UNKNOWN;
  for (size_t i = 0; i < tensor->shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
    if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE ||
        dim->dim_value < 0)
      return EG_BYTES_UNKNOWN;
    bits *= (double)dim->dim_value;
  }
  return ceil(bits / 8);
}

static double initializer_bytes(const Onnx__TensorProto *tensor) {
  double bits = bits_of(tensor->data_type), bytes = 0;
  for (size_t i = 0; i < tensor->n_string_data; i++)
    bytes += (double)tensor->string_data[i].len;
  if (bits < 0) return bytes;
  for (size_t i = 0; i < tensor->n_dims; i++)
    bits *= (double)tensor->dims[i];
  return ceil(bits / 8);
}

/// Returns the name of result `index` of the graph node, which counts only
/// present results.
static const char *result_name(const Onnx__NodeProto *proto, uint32_t index) {
  for (size_t i = 0; i < proto->n_output; i++)
    if (proto->output[i][0] != '\0' && index-- == 0) return proto->output[i];
  return "";
}

static double result_bytes(const weigher *w, uint32_t index) {
  const Onnx__GraphProto *graph = w->record->graph;
  if (graph->n_initializer != 0) return initializer_bytes(graph->initializer[0]);
  if (w->proto == NULL)
    return graph->n_input != 0 ? declared_bytes(graph->input[0]) : EG_BYTES_UNKNOWN;
  const char *name = result_name(w->proto, index);
  for (size_t i = 0; i < graph->n_value_info; i++)
    if (strcmp(graph->value_info[i]->name, name) == 0)
      return declared_bytes(graph->value_info[i]);
  return EG_BYTES_UNKNOWN;
}

static egraph_status weigh_results(weigher *w) {
  const uint32_t count = w->node.result_count;
  EG_NEW(w->arena, count, w->results);
  for (uint32_t i = 0; i < count; i++)
    w->results[i] = result_bytes(w, i);
  w->work.results = w->results;
  return EGRAPH_OK;
}

/// Sets the bytes of an output of the opaque node, found in a graph within the node,
/// unless they are known.
static void learn_output(weigher *w, size_t output, double bytes) {
  uint32_t at = 0;
  if (output >= w->proto->n_output || w->proto->output[output][0] == '\0') return;
  for (size_t i = 0; i < output; i++)
    at += w->proto->output[i][0] != '\0';
  if (at < w->node.result_count && w->results[at] < 0) w->results[at] = bytes;
}

// ---- graphs within ------------------------------------------------------------------

/// A graph within the opaque node (a branch or a loop body), after reading it.
typedef struct inner_graph {
  const Onnx__GraphProto *proto;
  const uint32_t *places;
  eg_graph *graph; // NULL: it cannot be read
  double bytes;    // moved in one trip
} inner_graph;

static egraph_status note_unsized(weigher *w, uint32_t count, const char *name) {
  if (count == 0) return EGRAPH_OK;
  if (w->work.unsized == 0)
    EG_TRY(eg_arena_string(w->arena, name, strlen(name), &w->work.unsized_value));
  w->work.unsized += count;
  return EGRAPH_OK;
}

static egraph_status add_opaque(weigher *w, const eg_graph *graph, eg_graph_node node,
                                double *inout) {
  const eg_opaque_estimate estimate = eg_graph_opaque_estimate(graph, node);
  if (estimate.bytes == 0) return EGRAPH_OK; // a leaf: counted where it is made
  *inout += estimate.bytes;
  w->work.unknown_trips += estimate.unknown_trips;
  return note_unsized(w, estimate.unsized, estimate.unsized_value);
}

static egraph_status add_node(weigher *w, const eg_graph *graph, eg_graph_node node,
                              double *inout) {
  const eg_graph_node_info info = eg_graph_node_at(graph, node);
  eg_type *types;
  if (info.attrs->op == EG_OP_OPAQUE) return add_opaque(w, graph, node, inout);
  EG_NEW(w->arena, (size_t)info.input_count + info.result_count, types);
  for (uint32_t i = 0; i < info.input_count; i++)
    types[i] = eg_graph_value(graph, info.inputs[i])->type;
  for (uint32_t i = 0; i < info.result_count; i++)
    types[info.input_count + i] = eg_graph_value(graph, info.results[i])->type;
  *inout += eg_op_bytes(info.attrs, types, info.input_count, types + info.input_count,
                        info.result_count);
  return EGRAPH_OK;
}

/// Adds the bytes that the nodes of a loop body or branch move in one trip. Values
/// computed only from weights are computed once and are not counted.
static egraph_status add_nodes(weigher *w, const eg_graph *graph, double *inout) {
  bool *is_constant;
  EG_NEW(w->arena, eg_graph_value_count(graph), is_constant);
  EG_TRY(eg_graph_weight_only(graph, is_constant));
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    const eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){n});
    if (info.result_count == 0 || !is_constant[info.results[0].id])
      EG_TRY(add_node(w, graph, (eg_graph_node){n}, inout));
  }
  return EGRAPH_OK;
}

/// Describes an operand that changes from trip to trip, as an input of the loop's body.
/// Its type is stored in `type`.
static eg_onnx_entering state_of(const weigher *w, uint32_t operand, eg_type *type) {
  const eg_value value = w->node.inputs[operand];
  const eg_value_info *info = eg_graph_value(w->graph, value);
  *type = eg_type_at(&info->type, NULL);
  return (eg_onnx_entering){.type = info->typed ? type : NULL,
                            .bytes = eg_graph_value_bytes(w->graph, value)};
}

/// Describes an operand that is the same in all trips, as an input of the loop's body.
static eg_onnx_entering capture_of(const weigher *w, uint32_t operand, eg_type *type) {
  const eg_value_info *info = eg_graph_value(w->graph, w->node.inputs[operand]);
  eg_onnx_entering capture = state_of(w, operand, type);
  capture.is_weight = info->kind == EG_VALUE_WEIGHT;
  capture.content = capture.is_weight ? info->data : NULL;
  return capture;
}

/// Describes an input of a graph within a node as the graph declares it.
static eg_onnx_entering declared_formal(const Onnx__ValueInfoProto *info, eg_type *type) {
  eg_onnx_entering formal = {.bytes = declared_bytes(info)};
  egraph_dtype dtype;
  int64_t dims[EGRAPH_MAX_RANK];
  if (formal.bytes < 0) return formal;
  const Onnx__TypeProto__Tensor *tensor = info->type->tensor_type;
  if (tensor->shape->n_dim > EGRAPH_MAX_RANK ||
      !eg_dtype_from_onnx(tensor->elem_type, &dtype))
    return formal;
  for (size_t i = 0; i < tensor->shape->n_dim; i++)
    dims[i] = tensor->shape->dim[i]->dim_value;
  *type = eg_type_of(dtype, (uint32_t)tensor->shape->n_dim, dims);
  if (eg_type_check(type) == EGRAPH_OK) formal.type = type;
  return formal;
}

/// Reads a graph within the opaque node. `formals` are its first inputs, without names;
/// unknown inputs, and all further inputs, have the type that the graph declares. If the
/// graph cannot be read, its outputs have unknown size.
static egraph_status read_inner(weigher *w, const Onnx__GraphProto *proto,
                                const eg_onnx_entering *formals, size_t formal_count,
                                inner_graph *out) {
  const size_t captures = w->record->graph->n_input, count = proto->n_input + captures;
  eg_onnx_entering *entering;
  eg_type *types;
  *out = (inner_graph){.proto = proto};
  EG_NEW(w->arena, count, entering);
  EG_NEW(w->arena, count, types);
  bool is_whole = w->work.formals + captures == w->node.input_count;
  for (size_t i = 0; i < proto->n_input; i++) {
    bool is_known =
        i < formal_count && (formals[i].type != NULL || formals[i].bytes >= 0);
    entering[i] = is_known ? formals[i] : declared_formal(proto->input[i], &types[i]);
    entering[i].name = proto->input[i]->name;
    is_whole = is_whole && entering[i].name != NULL;
  }
  for (size_t i = 0; is_whole && i < captures; i++) {
    entering[proto->n_input + i] =
        capture_of(w, w->work.formals + (uint32_t)i, &types[proto->n_input + i]);
    entering[proto->n_input + i].name = w->record->graph->input[i]->name;
  }
  const eg_onnx_inner inner = {proto, w->record, entering, (uint32_t)count};
  if (is_whole) EG_TRY(eg_onnx_inner_read(w->arena, &inner, &out->places, &out->graph));
  if (out->graph != NULL) {
    egraph_status status = eg_onnx_weigh(out->graph);
    if (status == EGRAPH_OK) status = add_nodes(w, out->graph, &out->bytes);
    if (status != EGRAPH_OK) eg_graph_destroy(out->graph);
    return status;
  }
  const char *name = proto->n_output != 0 ? proto->output[0]->name : NULL;
  return note_unsized(w, (uint32_t)proto->n_output, name != NULL ? name : "");
}

static const Onnx__AttributeProto *find_attribute(const Onnx__NodeProto *node,
                                                  const char *name) {
  return eg_onnx_find_attribute(node->attribute, node->n_attribute, name);
}

/// Returns the bytes of an output of a graph within the opaque node; EG_BYTES_UNKNOWN if
/// the graph was not read.
static double output_bytes(const inner_graph *inner, size_t index) {
  if (inner->graph == NULL || index >= inner->proto->n_output) return EG_BYTES_UNKNOWN;
  return eg_graph_value_bytes(inner->graph,
                              eg_graph_output(inner->graph, inner->places[index], NULL));
}

/// Weighs an If: the bytes of the more expensive branch, and for each result the
/// larger size.
static egraph_status weigh_if(weigher *w) {
  static const char *const branches[] = {"then_branch", "else_branch"};
  inner_graph inner;
  double *bytes;
  EG_NEW(w->arena, w->proto->n_output, bytes);
  for (size_t b = 0; b < 2; b++) {
    const Onnx__AttributeProto *branch = find_attribute(w->proto, branches[b]);
    if (branch == NULL || branch->g == NULL) continue;
    EG_TRY(read_inner(w, branch->g, NULL, 0, &inner));
    for (size_t i = 0; i < w->proto->n_output; i++) {
      double mine = output_bytes(&inner, i);
      bytes[i] = mine < 0 || bytes[i] < 0 ? EG_BYTES_UNKNOWN : fmax(bytes[i], mine);
    }
    eg_graph_destroy(inner.graph);
    w->work.bytes = fmax(w->work.bytes, inner.bytes);
  }
  for (size_t i = 0; i < w->proto->n_output; i++)
    learn_output(w, i, bytes[i]);
  return EGRAPH_OK;
}

/// Computes the work of graphs within operators other than If, Loop and Scan, whose
/// number of trips is unknown; counts one trip.
static egraph_status weigh_others(weigher *w) {
  for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(w->proto, &g);) {
    inner_graph inner;
    EG_TRY(read_inner(w, g.graph, NULL, 0, &inner));
    eg_graph_destroy(inner.graph);
    w->work.bytes += inner.bytes;
    w->work.unknown_trips++;
  }
  return EGRAPH_OK;
}

// ---- loops --------------------------------------------------------------------------

#define TRIPS_UNKNOWN (-1.0)

/// The body of a loop: states, and rows of sequences, enter and leave it in each trip.
typedef struct loop_body {
  inner_graph inner;
  const eg_onnx_entering *formals;
  size_t first_formal, first_output, states; // states among formals and outputs
  double trips;
} loop_body;

/// Sets the sizes of the loop's results. A state whose size changes makes later trips
/// differ from the first one, and its last size is not known.
static egraph_status weigh_outputs(weigher *w, const loop_body *body) {
  const inner_graph *inner = &body->inner;
  const size_t first = body->first_output;
  for (size_t i = first; inner->graph != NULL && i < inner->proto->n_output; i++) {
    double bytes = output_bytes(inner, i);
    if (i - first >= body->states) {
      bytes = body->trips >= 0 && bytes >= 0 ? body->trips * bytes : EG_BYTES_UNKNOWN;
    } else {
      const eg_onnx_entering *before = &body->formals[body->first_formal + i - first];
      const eg_value_info *after = eg_graph_value(
          inner->graph, eg_graph_output(inner->graph, inner->places[i], NULL));
      bool is_other = before->type != NULL && after->typed &&
                      !eg_type_same(before->type, &after->type);
      if (is_other && body->trips != 0 && body->trips != 1)
        EG_TRY(note_unsized(w, 1, inner->proto->output[i]->name));
      if (is_other && body->trips != 1) bytes = EG_BYTES_UNKNOWN;
    }
    learn_output(w, i - first, bytes);
  }
  return EGRAPH_OK;
}

static egraph_status weigh_body(weigher *w, loop_body *body) {
  egraph_status status = weigh_outputs(w, body);
  eg_graph_destroy(body->inner.graph);
  w->work.bytes += body->inner.bytes * (body->trips >= 0 ? body->trips : 1);
  w->work.unknown_trips += body->trips < 0;
  return status;
}

/// Reads a weight that is one integer; false for any other value.
static bool known_number(const eg_graph *graph, eg_value value, int64_t *out) {
  const eg_value_info *info = eg_graph_value(graph, value);
  if (info->kind != EG_VALUE_WEIGHT || info->data == NULL ||
      eg_type_elements(&info->type) != 1 || eg_dtype_is_float(info->type.dtype))
    return false;
  const eg_tensor view = {.type = info->type, // only read through
                          .data = (void *)(uintptr_t)eg_buffer_data(info->data)};
  *out = eg_tensor_get_int(&view, 0);
  return true;
}

/// Reads an optional operand of a loop, `absent` if it is absent; false if it is
/// not known.
static bool known_operand(const weigher *w, size_t index, uint32_t *inout_at,
                          int64_t absent, int64_t *out) {
  *out = absent;
  if (index >= w->proto->n_input || w->proto->input[index][0] == '\0') return true;
  return known_number(w->graph, w->node.inputs[(*inout_at)++], out);
}

/// Counts how often the body runs: up to a limit, while its first output is true.
static double count_trips(const weigher *w, const inner_graph *inner) {
  const int64_t endless = INT64_MAX;
  int64_t limit, begins, goes_on;
  uint32_t at = 0;
  const bool has_limit = known_operand(w, 0, &at, endless, &limit),
             has_begin = known_operand(w, 1, &at, 1, &begins),
             is_steady =
                 inner->graph != NULL && inner->proto->n_output != 0 &&
                 known_number(inner->graph,
                              eg_graph_output(inner->graph, inner->places[0], NULL),
                              &goes_on);
  if ((has_limit && limit <= 0) || (has_begin && begins == 0)) return 0;
  if (!has_limit || !has_begin || (!is_steady && limit != 1)) return TRIPS_UNKNOWN;
  if (is_steady && goes_on == 0) return 1;
  return limit != endless ? (double)limit : TRIPS_UNKNOWN;
}

// operands  limit, condition, states;  body: trip, condition, states -> condition, states
static egraph_status weigh_loop(weigher *w) {
  static const unsigned char true_byte = 1;
  const Onnx__AttributeProto *body = find_attribute(w->proto, "body");
  const eg_type number = eg_type_of(EGRAPH_INT64, 0, NULL),
                truth = eg_type_of(EGRAPH_BOOL, 0, NULL);
  const size_t states = w->proto->n_input > 2 ? w->proto->n_input - 2 : 0;
  eg_onnx_entering *formals;
  eg_type *types;
  eg_buffer *content;
  if (body == NULL || body->g == NULL || states > w->work.formals) return weigh_others(w);
  EG_NEW(w->arena, states + 2, formals);
  EG_NEW(w->arena, states, types);
  EG_TRY(eg_buffer_create(&w->arena->alloc, 1, &content));
  memcpy(eg_buffer_writable(content), &true_byte, 1);
  formals[0] = (eg_onnx_entering){.type = &number};
  formals[1] = (eg_onnx_entering){.type = &truth, .is_weight = true, .content = content};
  for (size_t i = 0; i < states; i++)
    formals[i + 2] = state_of(w, w->work.formals - (uint32_t)(states - i), &types[i]);
  loop_body loop = {
      .formals = formals, .first_formal = 2, .first_output = 1, .states = states};
  egraph_status status = read_inner(w, body->g, formals, states + 2, &loop.inner);
  eg_buffer_release(content);
  EG_TRY(status);
  loop.trips = count_trips(w, &loop.inner);
  return weigh_body(w, &loop);
}

/// Replaces a scanned operand by one of its rows; the number of rows is the number
/// of trips.
static void take_row(const weigher *w, size_t index, eg_onnx_entering *inout,
                     eg_type *type, double *inout_trips) {
  *inout = (eg_onnx_entering){.type = inout->type, .bytes = EG_BYTES_UNKNOWN};
  const Onnx__AttributeProto *axes = find_attribute(w->proto, "scan_input_axes");
  int64_t axis = axes != NULL && index < axes->n_ints ? axes->ints[index] : 0;
  if (axis < 0) axis += type->rank;
  if (inout->type == NULL || axis < 0 || axis >= type->rank) {
    inout->type = NULL;
    return;
  }
  *inout_trips = (double)type->dims[axis];
  int64_t dims[EGRAPH_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < type->rank; d++)
    if (d != axis) dims[rank++] = type->dims[d];
  *type = eg_type_of(type->dtype, rank, dims);
}

// operands  states, sequences;  body: states, a row of each -> states, a row of each
static egraph_status weigh_scan(weigher *w) {
  enum { FIRST_WITHOUT_BATCH = 9 };
  const Onnx__AttributeProto *body = find_attribute(w->proto, "body"),
                             *scanned = find_attribute(w->proto, "num_scan_inputs");
  const uint32_t count = w->work.formals;
  const int64_t opset =
      eg_onnx_standard_opset(w->record->opset_import, w->record->n_opset_import);
  eg_onnx_entering *formals;
  eg_type *types;
  bool is_known = body != NULL && body->g != NULL && scanned != NULL && scanned->i >= 0 &&
                  scanned->i <= count && opset >= FIRST_WITHOUT_BATCH;
  if (!is_known) return weigh_others(w);
  const uint32_t states = count - (uint32_t)scanned->i;
  EG_NEW(w->arena, count, formals);
  EG_NEW(w->arena, count, types);
  loop_body loop = {.formals = formals, .states = states, .trips = TRIPS_UNKNOWN};
  for (uint32_t i = 0; i < count; i++) {
    formals[i] = state_of(w, i, &types[i]);
    if (i >= states) take_row(w, i - states, &formals[i], &types[i], &loop.trips);
  }
  EG_TRY(read_inner(w, body->g, formals, count, &loop.inner));
  return weigh_body(w, &loop);
}

// ---- nodes --------------------------------------------------------------------------

static egraph_status weigh_graphs(weigher *w) {
  static const struct {
    const char *op_type;
    egraph_status (*weigh)(weigher *w);
  } kinds[] = {{"If", weigh_if}, {"Loop", weigh_loop}, {"Scan", weigh_scan}};
  const Onnx__NodeProto *proto = w->proto;
  w->work.has_graphs = eg_onnx_next_graph(proto, &(eg_onnx_graphs){0});
  if (!w->work.has_graphs) return EGRAPH_OK;
  for (size_t i = 0; i < proto->n_input; i++)
    w->work.formals += proto->input[i][0] != '\0';
  // A graph from text may have a record that does not fit its node.
  if (w->work.formals > w->node.input_count) {
    w->work.formals = w->node.input_count;
    return weigh_others(w);
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (eg_onnx_is_standard(proto->domain) &&
        strcmp(proto->op_type, kinds[i].op_type) == 0)
      return kinds[i].weigh(w);
  return weigh_others(w);
}

static egraph_status weigh_record(eg_graph *graph, eg_graph_node node,
                                  const Onnx__ModelProto *record) {
  if (record->graph == NULL) return EGRAPH_OK;
  EG_LOCAL(eg_arena, arena, eg_graph_allocator(graph));
  weigher w = {.graph = graph,
               .node = eg_graph_node_at(graph, node),
               .arena = &arena,
               .record = record};
  if (record->graph->n_node != 0) w.proto = record->graph->node[0];
  EG_TRY(weigh_results(&w));
  if (w.proto != NULL) EG_TRY(weigh_graphs(&w));
  return eg_graph_set_opaque_work(graph, node, &w.work);
}

static egraph_status weigh_node(eg_graph *graph, eg_graph_node node) {
  EG_OWNED(eg_onnx_unpacked, record);
  size_t size;
  const void *bytes = eg_graph_opaque_record(graph, node, &size);
  egraph_status status = eg_onnx_model_unpack(eg_graph_allocator(graph), "a record",
                                              "record", bytes, size, &record);
  if (status == EGRAPH_OK) status = eg_onnx_fill_strings(&record.heap, record.model);
  if (status == EGRAPH_OK) status = weigh_record(graph, node, record.model);
  return status == EGRAPH_E_MEMORY ? status : EGRAPH_OK;
}

egraph_status eg_onnx_weigh(eg_graph *graph) {
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    if (eg_graph_node_at(graph, (eg_graph_node){n}).attrs->op == EG_OP_OPAQUE)
      EG_TRY(weigh_node(graph, (eg_graph_node){n}));
  return EGRAPH_OK;
}
