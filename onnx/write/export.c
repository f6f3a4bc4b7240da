// ONNX export: writes the graph as one model message, with big weights in a file next
// to it.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/owner.h"
#include "onnx/header.h"
#include "onnx/message.h"
#include "onnx/onnx.h"
#include "onnx/read/opaque.h"
#include "onnx/sets/versions.h"
#include "onnx/write/writer.h"

// Limits embedded weights: a protobuf message may have at most 2 GB, most of which
// are weights.
static const uint64_t max_embedded_bytes = UINT64_C(1500000000);

#define TEXT_OF(number) TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number
static const char version[] = TEXT_OF(EGRAPH_VERSION_MAJOR) "." TEXT_OF(
    EGRAPH_VERSION_MINOR) "." TEXT_OF(EGRAPH_VERSION_PATCH);

// ---- names --------------------------------------------------------------------------

// Names the outputs: a value keeps its own name if one of its outputs has it; otherwise a
// computed value takes the name of its first output.
static egraph_status name_outputs(eg_onnx_writer *w) {
  const eg_graph *graph = w->graph;
  for (uint32_t pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
      const char *name;
      eg_value value = eg_graph_output(graph, i, &name);
      const eg_value_info *info = eg_graph_value(graph, value);
      bool own = strcmp(info->name, name) == 0;
      if (w->value_names[value.id] == NULL &&
          (own || (pass == 1 && info->kind == EG_VALUE_COMPUTED)))
        w->value_names[value.id] = name;
    }
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
    const char *name;
    (void)eg_graph_output(graph, i, &name);
    EG_TRY(eg_strmap_put(&w->names, name, 0));
  }
  return EGRAPH_OK;
}

static void flag_read(eg_onnx_writer *w) {
  for (uint32_t n = 0; n < eg_graph_node_count(w->graph); n++) {
    const eg_graph_node_info node = eg_graph_node_at(w->graph, (eg_graph_node){n});
    for (uint32_t i = 0; i < node.input_count; i++)
      w->is_read[node.inputs[i].id] = true;
  }
  for (uint32_t o = 0; o < eg_graph_output_count(w->graph); o++)
    w->is_read[eg_graph_output(w->graph, o, NULL).id] = true;
}

// Names all values: first those that have names, so that no made-up name equals one
// of them.
static egraph_status name_values(eg_onnx_writer *w) {
  const eg_graph *graph = w->graph;
  uint32_t count = eg_graph_value_count(graph), ignored;
  EG_NEW(&w->arena, count, w->value_names);
  EG_NEW(&w->arena, count, w->is_output);
  EG_NEW(&w->arena, count, w->is_read);
  flag_read(w);
  EG_TRY(name_outputs(w));
  for (uint32_t i = 0; i < count; i++) {
    const char *name = eg_graph_value(graph, (eg_value){i})->name;
    if (w->value_names[i] != NULL || eg_strmap_find(&w->names, name, &ignored)) continue;
    w->value_names[i] = name;
    EG_TRY(eg_strmap_put(&w->names, name, 0));
  }
  for (uint32_t i = 0; i < count; i++) {
    if (w->value_names[i] != NULL) continue;
    eg_onnx_body body = {.writer = w, .stem = eg_graph_value(graph, (eg_value){i})->name};
    EG_TRY(eg_onnx_made_up(&body, &w->value_names[i]));
  }
  return EGRAPH_OK;
}

// ---- types --------------------------------------------------------------------------

static egraph_status info_message(eg_onnx_writer *w, const char *name,
                                  const eg_type *type, Onnx__ValueInfoProto **out) {
  EG_TRY(eg_onnx_new(&w->arena, &onnx__value_info_proto__descriptor, out));
  (*out)->name = eg_onnx_borrowed(name);
  return type == NULL ? EGRAPH_OK
                      : eg_onnx_type_message(&w->arena, eg_dtype_onnx(type->dtype),
                                             type->rank, type->dims, &(*out)->type);
}

// ---- leaves -------------------------------------------------------------------------

static egraph_status write_data(eg_onnx_writer *w, uint32_t id) {
  const eg_value_info *info = eg_graph_value(w->graph, (eg_value){id});
  Onnx__TensorProto *tensor;
  EG_TRY(eg_onnx_tensor_message(&w->arena, &info->type, eg_buffer_data(info->data),
                                &tensor));
  tensor->name = eg_onnx_borrowed(w->value_names[id]);
  return eg_onnx_initializers_push(&w->initializers, tensor);
}

// Writes an input; with a default value it is also an initializer.
static egraph_status write_input(eg_onnx_writer *w, uint32_t id) {
  Onnx__ValueInfoProto *message;
  const eg_value_info *info = eg_graph_value(w->graph, (eg_value){id});
  EG_TRY(info_message(w, w->value_names[id], &info->type, &message));
  EG_TRY(eg_onnx_infos_push(&w->inputs, message));
  return info->data != NULL ? write_data(w, id) : EGRAPH_OK;
}

// Writes a weight. A weight without data becomes an input that the metadata marks: the
// model is complete, and the reader makes the weight absent again.
static egraph_status write_weight(eg_onnx_writer *w, uint32_t id) {
  if (eg_graph_value(w->graph, (eg_value){id})->data != NULL) return write_data(w, id);
  EG_TRY(eg_onnx_put_metadata(w, EG_ONNX_ABSENT_PREFIX, w->value_names[id], "weight"));
  return write_input(w, id);
}

static bool is_foreign_input(const eg_onnx_writer *w, eg_graph_node node) {
  return eg_graph_node_at(w->graph, node).attrs->op == EG_OP_OPAQUE &&
         strcmp(eg_graph_opaque_type(w->graph, node), EG_ONNX_FOREIGN_INPUT) == 0;
}

// Writes weights, and inputs in their order, including those of foreign types.
static egraph_status write_leaves(eg_onnx_body *body) {
  eg_onnx_writer *w = body->writer;
  for (uint32_t i = 0; i < eg_graph_value_count(w->graph); i++) {
    const eg_value_info *info = eg_graph_value(w->graph, (eg_value){i});
    if (info->kind == EG_VALUE_WEIGHT) EG_TRY(write_weight(w, i));
    if (info->kind == EG_VALUE_COMPUTED && is_foreign_input(w, info->node))
      EG_TRY(eg_onnx_write_opaque(body, info->node));
    if (info->kind == EG_VALUE_INPUT) EG_TRY(write_input(w, i));
  }
  return EGRAPH_OK;
}

// ---- nodes --------------------------------------------------------------------------

egraph_status eg_onnx_names_of(eg_onnx_writer *w, const eg_value *values, uint32_t count,
                               const char ***out) {
  EG_NEW(&w->arena, count, *out);
  for (uint32_t i = 0; i < count; i++)
    (*out)[i] = w->value_names[values[i].id];
  return EGRAPH_OK;
}

static egraph_status types_of(eg_onnx_writer *w, const eg_value *values, uint32_t count,
                              eg_type **out) {
  EG_NEW(&w->arena, count, *out);
  for (uint32_t i = 0; i < count; i++) {
    (*out)[i] = eg_graph_value(w->graph, values[i])->type;
    (*out)[i].layout = (eg_layout){.format = EG_FORMAT_PLAIN}; // ONNX has no layouts
  }
  return EGRAPH_OK;
}

static egraph_status write_known(eg_onnx_body *body, const eg_graph_node_info *node) {
  eg_onnx_writer *w = body->writer;
  const char **inputs, **results;
  eg_type *input_types, *result_types;
  EG_TRY(eg_onnx_names_of(w, node->inputs, node->input_count, &inputs));
  EG_TRY(eg_onnx_names_of(w, node->results, node->result_count, &results));
  EG_TRY(types_of(w, node->inputs, node->input_count, &input_types));
  EG_TRY(types_of(w, node->results, node->result_count, &result_types));
  eg_onnx_item item = {.name = node->name,
                       .attrs = node->attrs,
                       .inputs = input_types,
                       .input_count = node->input_count,
                       .results = result_types,
                       .result_count = node->result_count,
                       .input_names = inputs,
                       .result_names = results,
                       .has_one_result = true};
  for (uint32_t i = 1; i < node->result_count; i++)
    item.has_one_result = item.has_one_result && !w->is_read[node->results[i].id];
  if (node->result_count != 0) body->stem = results[0];
  size_t first = body->nodes.len;
  EG_TRY(eg_onnx_write_item(body, &item));
  return eg_onnx_check_nodes(body, first, &item);
}

// Writes the types of computed tensors, for readers that do not infer through our
// functions, and for opaque results.
static egraph_status write_infos(eg_onnx_writer *w) {
  for (uint32_t i = 0; i < eg_graph_value_count(w->graph); i++) {
    const eg_value_info *info = eg_graph_value(w->graph, (eg_value){i});
    Onnx__ValueInfoProto *message;
    if (info->kind != EG_VALUE_COMPUTED || !info->typed) continue;
    eg_format format = (eg_format)info->type.layout.format;
    if (format != EG_FORMAT_PLAIN)
      EG_TRY(eg_onnx_put_metadata(w, EG_ONNX_FORMAT_PREFIX, w->value_names[i],
                                  eg_format_name(format)));
    if (w->is_output[i] || !w->is_read[i]) continue;
    EG_TRY(info_message(w, w->value_names[i], &info->type, &message));
    EG_TRY(eg_onnx_infos_push(&w->infos, message));
  }
  return EGRAPH_OK;
}

// ---- outputs ------------------------------------------------------------------------

// Returns the type that an opaque result has in its record, which may not be a
// tensor type.
static const Onnx__TypeProto *foreign_type(const eg_onnx_writer *w, const char *name) {
  for (size_t i = 0; i < w->infos.len; i++)
    if (w->infos.data[i]->name == name) return w->infos.data[i]->type;
  return NULL;
}

static void drop_info(eg_onnx_writer *w, const char *name) {
  size_t kept = 0;
  for (size_t i = 0; i < w->infos.len; i++)
    if (w->infos.data[i]->name != name) w->infos.data[kept++] = w->infos.data[i];
  w->infos.len = kept;
}

static egraph_status write_output(eg_onnx_body *body, uint32_t index) {
  eg_onnx_writer *w = body->writer;
  const char *name;
  eg_value value = eg_graph_output(w->graph, index, &name);
  const eg_value_info *info = eg_graph_value(w->graph, value);
  const char *tensor = w->value_names[value.id];
  Onnx__ValueInfoProto *message;
  bool renamed = strcmp(tensor, name) != 0;
  w->is_output[value.id] = w->is_output[value.id] || !renamed;
  if (renamed) EG_TRY(eg_onnx_put(body, "Identity", &tensor, 1, name, NULL, NULL));
  EG_TRY(info_message(w, renamed ? name : tensor, info->typed ? &info->type : NULL,
                      &message));
  if (!info->typed) message->type = (Onnx__TypeProto *)(uintptr_t)foreign_type(w, tensor);
  if (!info->typed && !renamed) drop_info(w, tensor);
  return eg_onnx_infos_push(&w->outputs, message);
}

// ---- the model ----------------------------------------------------------------------

static egraph_status write_graph(eg_onnx_body *body) {
  eg_onnx_writer *w = body->writer;
  EG_TRY(eg_onnx_add_opset(w, "", w->opset));
  EG_TRY(name_values(w));
  for (uint32_t n = 0; n < eg_graph_node_count(w->graph); n++)
    if (eg_graph_node_at(w->graph, (eg_graph_node){n}).attrs->op == EG_OP_OPAQUE)
      EG_TRY(eg_onnx_reserve_opaque(w, (eg_graph_node){n}));
  EG_TRY(write_leaves(body));
  for (uint32_t n = 0; n < eg_graph_node_count(w->graph); n++) {
    eg_graph_node_info node = eg_graph_node_at(w->graph, (eg_graph_node){n});
    body->made = 0;
    if (is_foreign_input(w, (eg_graph_node){n})) continue;
    if (node.attrs->op == EG_OP_OPAQUE)
      EG_TRY(eg_onnx_write_opaque(body, (eg_graph_node){n}));
    else
      EG_TRY(write_known(body, &node));
  }
  for (uint32_t i = 0; i < eg_graph_output_count(w->graph); i++)
    EG_TRY(write_output(body, i));
  EG_TRY(write_infos(w));
  return w->signatures.entries != NULL ? eg_onnx_add_opset(w, EG_ONNX_DOMAIN, 1)
                                       : EGRAPH_OK;
}

static egraph_status write_header(eg_onnx_writer *w, Onnx__ModelProto *inout) {
  const eg_buffer *header = eg_graph_header(w->graph);
  const Onnx__ModelProto *said;
  if (header == NULL) return EGRAPH_OK;
  EG_TRY(eg_onnx_unpack_record(w, "header", eg_buffer_data(header),
                               eg_buffer_size(header), &said));
  return eg_onnx_header_write(&w->arena, said, inout);
}

// Packs the message. `data_path` is the model's path when its weights go to a file next
// to it.
static egraph_status pack_model(eg_onnx_body *body, const char *data_path,
                                eg_onnx_packed *out) {
  static char name[] = EG_ONNX_OWN_NAME, producer[] = EG_ONNX_OWN_NAME;
  eg_onnx_writer *w = body->writer;
  Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
  Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
  graph.name = name;
  graph.n_node = body->nodes.len, graph.node = body->nodes.data;
  graph.n_initializer = w->initializers.len, graph.initializer = w->initializers.data;
  graph.n_input = w->inputs.len, graph.input = w->inputs.data;
  graph.n_output = w->outputs.len, graph.output = w->outputs.data;
  graph.n_value_info = w->infos.len, graph.value_info = w->infos.data;
  model.has_ir_version = true;
  model.ir_version = eg_onnx_ir_version(w->opset);
  if (model.ir_version < EG_ONNX_FUNCTIONS_IR) model.ir_version = EG_ONNX_FUNCTIONS_IR;
  model.producer_name = producer;
  model.producer_version = eg_onnx_borrowed(version);
  model.graph = &graph;
  model.n_opset_import = w->opsets.len, model.opset_import = w->opsets.data;
  model.n_functions = w->functions.len, model.functions = w->functions.data;
  model.n_metadata_props = w->metadata.len, model.metadata_props = w->metadata.data;
  EG_TRY(write_header(w, &model));
  EG_TRY(eg_onnx_check_written(w, &model));
  if (data_path != NULL)
    EG_TRY(eg_onnx_data_file_write(&w->arena, data_path, w->initializers.data,
                                   w->initializers.len));
  return eg_onnx_message_pack(w->alloc, &model.base, out);
}

static uint64_t weight_bytes(const eg_graph *graph) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    const eg_buffer *data = eg_graph_value(graph, (eg_value){i})->data;
    if (data != NULL) total += eg_buffer_size(data);
  }
  return total;
}

// ---- operator sets ------------------------------------------------------------------

// The set to try first, unless opaque nodes need another one; the oldest set to be
// written.
enum { USUAL_OPSET = 13, FIRST_OPSET = 7 };

static egraph_status no_common_set(const eg_onnx_span *span) {
  const Onnx__NodeProto *first = span->wants_first, *last = span->wants_last;
  return EG_FAIL(
      EGRAPH_E_UNSUPPORTED,
      "no operator set has the nodes that are kept as they were: %s '%.200s' is "
      "so up to set %" PRId64 ", %s '%.200s' from set %" PRId64
      " on; convert the model with onnx.version_converter",
      last != NULL ? last->op_type : "", eg_onnx_name_of(last), span->sets.last,
      first != NULL ? first->op_type : "what we write", eg_onnx_name_of(first),
      span->sets.first);
}

/// Finds the sets in which all opaque nodes mean the same as in their file, or
/// (`converts`) mean the same after conversion.
static egraph_status sets_of_kept(const eg_graph *graph, bool converts,
                                  eg_onnx_sets *out) {
  EG_OWNED(eg_onnx_writer, w);
  eg_onnx_span span = {.sets = {FIRST_OPSET, eg_onnx_newest_opset()}};
  eg_onnx_writer_init(&w, eg_graph_allocator(graph), graph, 0);
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    if (eg_graph_node_at(graph, (eg_graph_node){n}).attrs->op == EG_OP_OPAQUE)
      EG_TRY(eg_onnx_narrow_to_opaque(&w, (eg_graph_node){n}, converts, &span));
  *out = span.sets;
  return span.sets.first <= span.sets.last ? EGRAPH_OK : no_common_set(&span);
}

/// Finds the sets in which a model of the graph can be written: opaque nodes mean the
/// same there, or at least after conversion. All sets if none is left, or a record is not
/// ONNX.
static egraph_status kept_sets(const eg_graph *graph, eg_onnx_sets *out) {
  egraph_status status = sets_of_kept(graph, false, out);
  if (status == EGRAPH_E_UNSUPPORTED) status = sets_of_kept(graph, true, out);
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  *out = (eg_onnx_sets){FIRST_OPSET, eg_onnx_newest_opset()};
  return EGRAPH_OK;
}

static bool is_node_loaded(const eg_graph *graph, const eg_graph_node_info *node) {
  const eg_onnx_sets all = {1, eg_onnx_newest_opset()};
  if (node->attrs->op == EG_OP_OPAQUE) return true;
  for (uint32_t i = 0; i < node->input_count; i++) {
    egraph_dtype dtype = eg_graph_value(graph, node->inputs[i])->type.dtype;
    if (dtype != EGRAPH_BOOL || i + 1 == node->input_count)
      return eg_onnx_is_op_loaded((eg_op)node->attrs->op, dtype, all);
  }
  return true;
}

egraph_status eg_onnx_loaded_types(const eg_graph *graph, uint32_t *out_types,
                                   bool *out_is_loaded) {
  _Static_assert(EGRAPH_DTYPE_COUNT <= 32, "a bit for each element type");
  eg_onnx_sets sets;
  *out_is_loaded = true;
  for (uint32_t n = 0; n < eg_graph_node_count(graph) && *out_is_loaded; n++) {
    eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    *out_is_loaded = is_node_loaded(graph, &node);
  }
  EG_TRY(kept_sets(graph, &sets));
  for (int op = 0; op < EG_OP_COUNT; op++) {
    out_types[op] = 0;
    for (int dtype = 0; dtype < EGRAPH_DTYPE_COUNT; dtype++)
      if (eg_onnx_is_op_loaded((eg_op)op, (egraph_dtype)dtype, sets))
        out_types[op] |= UINT32_C(1) << dtype;
  }
  return EGRAPH_OK;
}

/// The outcome of writing a graph as a model of one ONNX operator set.
typedef struct attempt {
  bool is_faulty;    // the set lacks a node that would be written
  uint32_t unloaded; // nodes that ONNX Runtime does not load in the set
  eg_onnx_packed packed;
} attempt;

/// Writes the graph in a set. Packs the model if at most `most_unloaded` of its nodes are
/// not loaded by ONNX Runtime.
static egraph_status export_in(const eg_graph *graph, int64_t opset,
                               uint32_t most_unloaded, const char *data_path,
                               attempt *out) {
  EG_OWNED(eg_onnx_writer, writer);
  *out = (attempt){.unloaded = 0};
  eg_onnx_writer_init(&writer, eg_graph_allocator(graph), graph, opset);
  EG_LOCAL_WITH(eg_onnx_body, body, writer.alloc, .writer = &writer, .stem = "value");
  egraph_status status = write_graph(&body);
  if (status == EGRAPH_OK && eg_graph_open_sizes(graph) != NULL)
    status = eg_onnx_open_body(&body);
  out->is_faulty = writer.is_faulty;
  out->unloaded = writer.unloaded;
  if (status == EGRAPH_OK && out->unloaded <= most_unloaded)
    status = pack_model(&body, data_path, &out->packed);
  return status;
}

/// Returns the set to try after `opset` (0: the first set to try): from the usual set
/// upwards, then below it downwards; 0 at the end.
static int64_t next_opset(eg_onnx_sets sets, int64_t opset) {
  int64_t start = sets.first > USUAL_OPSET ? sets.first : USUAL_OPSET;
  if (start > sets.last) start = sets.last;
  if (opset == 0) return start;
  if (opset >= start && opset < sets.last) return opset + 1;
  int64_t below = opset >= start ? start - 1 : opset - 1;
  return below >= sets.first ? below : 0;
}

/// Writes the graph in the first set whose nodes ONNX Runtime loads; if there is none, in
/// the set with the fewest nodes that it does not load.
static egraph_status export_best(const eg_graph *graph, eg_onnx_sets sets,
                                 const char *data_path, attempt *out) {
  egraph_status status = EGRAPH_OK;
  uint32_t fewest = UINT32_MAX;
  int64_t best = 0;
  for (int64_t opset = 0; (opset = next_opset(sets, opset)) != 0;) {
    status = export_in(graph, opset, 0, data_path, out);
    if (out->packed.data != NULL || (status != EGRAPH_OK && !out->is_faulty))
      return status;
    if (status != EGRAPH_OK || out->unloaded >= fewest) continue;
    fewest = out->unloaded;
    best = opset;
  }
  if (best != 0) return export_in(graph, best, fewest, data_path, out);
  return EG_FAIL(status,
                 "no operator set of those in which the nodes that are kept mean what "
                 "they meant (%" PRId64 " to %" PRId64 ") has all other nodes: %.300s",
                 sets.first, sets.last, egraph_last_error());
}

/// Writes the graph in a set in which every node is legal and opaque nodes mean the same
/// as in their file; if no such set exists, converts opaque nodes.
static egraph_status export_graph(const eg_graph *graph, const char *data_path,
                                  unsigned char **out, size_t *out_size) {
  egraph_status status = EGRAPH_OK;
  for (int converts = 0; converts < 2; converts++) {
    eg_onnx_sets sets;
    attempt made = {.unloaded = 0};
    status = sets_of_kept(graph, converts != 0, &sets);
    if (status == EGRAPH_OK) status = export_best(graph, sets, data_path, &made);
    *out = made.packed.data;
    *out_size = made.packed.size;
    if (status != EGRAPH_E_UNSUPPORTED) return status;
  }
  return status;
}

egraph_status eg_onnx_pack(const eg_graph *graph, unsigned char **out, size_t *out_size) {
  if (weight_bytes(graph) > max_embedded_bytes)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "the weights are too large for one message; save the model to a file");
  return export_graph(graph, NULL, out, out_size);
}

egraph_status eg_onnx_save(const eg_graph *graph, const char *path,
                           const eg_onnx_export_options *options) {
  bool external =
      (options != NULL && options->external) || weight_bytes(graph) > max_embedded_bytes;
  unsigned char *bytes;
  size_t size;
  EG_TRY(export_graph(graph, external ? path : NULL, &bytes, &size));
  egraph_status status = eg_file_write(path, bytes, size);
  eg_free(eg_graph_allocator(graph), bytes, size, 1);
  return status;
}
