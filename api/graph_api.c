// Public graph functions, which call functions of pcg/.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "api/arguments.h"
#include "api/tensors.h"
#include "base/owner.h"
#include "base/sexpr.h"
#include "onnx/onnx.h"
#include "optimize/price/predict.h"
#include "pcg/graph/graph.h"

#define VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define VERSION_TEXT(a, b, c) VERSION_TEXT_(a, b, c)

static const char TEXT_SUFFIX[] = ".egraph";
enum { MAX_TEXT_BYTES = 1 << 30 };

const char *egraph_version(void) {
  return VERSION_TEXT(EGRAPH_VERSION_MAJOR, EGRAPH_VERSION_MINOR, EGRAPH_VERSION_PATCH);
}

const char *egraph_dtype_name(egraph_dtype dtype) {
  return (unsigned)dtype < EGRAPH_DTYPE_COUNT ? eg_dtype_name(dtype) : NULL;
}

size_t egraph_tensor_bytes(const egraph_tensor *tensor) {
  eg_type type;
  if (tensor == NULL) return 0;
  return eg_type_from_tensor(tensor, &type) == EGRAPH_OK ? eg_type_bytes(&type) : 0;
}

egraph_status egraph_graph_create(const egraph_allocator *alloc, egraph_graph **out) {
  EG_REQUIRE(out);
  return eg_graph_create(alloc, out);
}

void egraph_graph_destroy(egraph_graph *graph) { eg_graph_destroy(graph); }

static bool is_text_path(const char *path) {
  size_t length = strlen(path), suffix = sizeof TEXT_SUFFIX - 1;
  return length >= suffix && strcmp(path + length - suffix, TEXT_SUFFIX) == 0;
}

static egraph_status load_text(const egraph_allocator *alloc, const char *path,
                               egraph_graph **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  char *text;
  size_t size;
  EG_TRY(eg_file_read(heap, path, MAX_TEXT_BYTES, &text, &size));
  egraph_status status = eg_graph_parse(alloc, path, text, size, out);
  eg_free(heap, text, size + 1, 1);
  return status;
}

/// The source of a model: a file, or memory under a name.
typedef struct model_source {
  const char *path;
  const void *bytes; // NULL: read the file
  size_t size;
} model_source;

/// True when all inputs already have this batch.
static bool has_batch(const eg_graph *graph, int64_t batch) {
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++) {
    const eg_type *type = &eg_graph_value(graph, eg_graph_input(graph, i))->type;
    if (type->rank != 0 && type->dims[0] != batch) return false;
  }
  return true;
}

/// Returns the batch that options ask for: member `batch`, or the size of a dimension
/// with the name "batch".
static int64_t batch_of(const egraph_load_options *options) {
  for (uint32_t i = 0; options->batch <= 0 && i < options->dim_count; i++)
    if (strcmp(options->dims[i].name, "batch") == 0) return options->dims[i].size;
  return options->batch;
}

/// Replaces the fixed batch of a model without symbolic dimensions.
static egraph_status change_batch(const egraph_allocator *alloc, const char *path,
                                  const eg_onnx_import_options *import, int64_t batch,
                                  egraph_graph **inout) {
  eg_graph *changed;
  if (has_batch(*inout, batch)) return EGRAPH_OK;
  egraph_status status = eg_onnx_load_batch(alloc, path, import, *inout, batch, &changed);
  eg_graph_destroy(*inout);
  *inout = status == EGRAPH_OK ? changed : NULL;
  return status;
}

static egraph_status load_onnx(const egraph_allocator *alloc, const model_source *source,
                               const egraph_load_options *options, egraph_graph **out) {
  const char *path = source->path;
  uint32_t symbolic = 0, open = 0;
  const uint32_t given = options->dim_count, all = given + options->example_count;
  eg_onnx_dim *dims;
  EG_LOCAL(eg_arena, arena, eg_allocator_or_heap(alloc));
  eg_onnx_import_options import = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  EG_NEW(&arena, all, dims);
  for (uint32_t i = 0; i < all; i++) {
    const egraph_dim *dim = i < given ? &options->dims[i] : &options->examples[i - given];
    dims[i] = (eg_onnx_dim){dim->name, dim->size};
  }
  import.bytes = source->bytes;
  import.size = source->size;
  import.batch = options->batch;
  import.dims = dims;
  import.dim_count = given;
  import.examples = dims + given;
  import.example_count = options->example_count;
  import.draws_weights = options->draw_weights;
  import.fixes_defaults = options->fix_defaults;
  import.out_symbolic = &symbolic;
  import.out_open = &open;
  egraph_status status = eg_onnx_load(alloc, path, &import, out);
  if (status == EGRAPH_E_PARSE && open != 0 && options->batch <= 0)
    return eg_onnx_load_open(alloc, path, &import, out);
  if (status == EGRAPH_OK && symbolic == 0 && batch_of(options) > 0)
    return change_batch(alloc, path, &import, batch_of(options), out);
  return status;
}

static egraph_status check_sizes(const eg_graph *graph, const char *path,
                                 const egraph_load_options *options) {
  if (options->dim_count == 0 &&
      (options->batch <= 0 || has_batch(graph, options->batch)))
    return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "%s: the text form of a graph has all its sizes; others cannot be given",
                 path);
}

static egraph_status load_model(const egraph_allocator *alloc, const model_source *source,
                                const egraph_load_options *given, egraph_graph **out) {
  egraph_load_options options;
  EG_TRY(eg_options_take(EGRAPH_LOAD_OPTIONS, given, &options));
  if (!is_text_path(source->path)) return load_onnx(alloc, source, &options, out);
  EG_HELD(eg_graph, graph);
  EG_TRY(source->bytes != NULL
             ? eg_graph_parse(alloc, source->path, source->bytes, source->size, &graph)
             : load_text(alloc, source->path, &graph));
  egraph_status status = check_sizes(graph, source->path, &options);
  EG_HAND_OVER(status == EGRAPH_OK ? eg_onnx_weigh(graph) : status, graph, out);
}

egraph_status egraph_graph_load(const egraph_allocator *alloc, const char *path,
                                const egraph_load_options *options, egraph_graph **out) {
  EG_REQUIRE(path, out);
  return load_model(alloc, &(model_source){.path = path}, options, out);
}

egraph_status egraph_graph_parse(const egraph_allocator *alloc, const char *name,
                                 const void *bytes, size_t size,
                                 const egraph_load_options *options, egraph_graph **out) {
  EG_REQUIRE(name, bytes, out);
  return load_model(alloc, &(model_source){name, bytes, size}, options, out);
}

uint32_t egraph_graph_open_dims(const egraph_graph *graph) {
  if (graph == NULL) return 0;
  const eg_open_sizes *sizes = eg_graph_open_sizes(graph);
  return sizes != NULL ? eg_open_sizes_dim_count(sizes) : 0;
}

egraph_status egraph_graph_open_dim(const egraph_graph *graph, uint32_t index,
                                    egraph_dim *out) {
  EG_REQUIRE(graph, out);
  uint32_t count = egraph_graph_open_dims(graph);
  if (index >= count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no open dimension %u; the graph has %u",
                   index, count);
  const eg_open_dim *dim = eg_open_sizes_dim(eg_graph_open_sizes(graph), index);
  *out = (egraph_dim){
      .name = dim->name, .size = dim->example, .input = dim->input, .axis = dim->axis};
  return EGRAPH_OK;
}

egraph_status egraph_graph_save(const egraph_graph *graph, const char *path) {
  EG_REQUIRE(graph, path);
  eg_onnx_export_options options = {.external = false};
  if (!is_text_path(path)) return eg_onnx_save(graph, path, &options);
  EG_TRY(eg_graph_check_fixed(graph, "the text form of a graph"));
  EG_LOCAL(eg_text, text, eg_graph_allocator(graph));
  EG_TRY(eg_graph_print(graph, &text));
  return eg_file_write(path, text.chars.data, text.chars.len);
}

egraph_status egraph_graph_pack(const egraph_allocator *alloc, const egraph_graph *graph,
                                void **out, size_t *out_size) {
  EG_REQUIRE(graph, out, out_size);
  unsigned char *bytes, *copy;
  size_t size;
  EG_TRY(eg_onnx_pack(graph, &bytes, &size));
  egraph_status status = eg_alloc(eg_allocator_or_heap(alloc), size, 1, &copy);
  if (status == EGRAPH_OK) {
    memcpy(copy, bytes, size);
    *out = copy;
    *out_size = size;
  }
  eg_free(eg_graph_allocator(graph), bytes, size, 1);
  return status;
}

void egraph_bytes_free(const egraph_allocator *alloc, void *bytes, size_t size) {
  if (bytes != NULL) eg_free(eg_allocator_or_heap(alloc), bytes, size, 1);
}

static egraph_status type_of_arguments(egraph_dtype dtype, uint32_t rank,
                                       const int64_t *dims, eg_type *out) {
  egraph_tensor tensor = {.dtype = dtype, .rank = rank};
  if (rank <= EGRAPH_MAX_RANK && rank != 0)
    memcpy(tensor.dims, dims, rank * sizeof *dims);
  return eg_type_from_tensor(&tensor, out);
}

egraph_status egraph_graph_add_input(egraph_graph *graph, const char *name,
                                     egraph_dtype dtype, uint32_t rank,
                                     const int64_t *dims, egraph_value *out) {
  EG_REQUIRE(graph, name, out);
  EG_REQUIRE_ARRAY(dims, rank);
  eg_type type;
  EG_TRY(type_of_arguments(dtype, rank, dims, &type));
  eg_value value;
  EG_TRY(eg_graph_add_input(graph, name, &type, &value));
  *out = (egraph_value){value.id};
  return EGRAPH_OK;
}

egraph_status egraph_graph_add_weight(egraph_graph *graph, const char *name,
                                      egraph_dtype dtype, uint32_t rank,
                                      const int64_t *dims, const void *data,
                                      egraph_value *out) {
  EG_REQUIRE(graph, name, out);
  EG_REQUIRE_ARRAY(dims, rank);
  eg_type type;
  EG_TRY(type_of_arguments(dtype, rank, dims, &type));
  eg_buffer *buffer = NULL;
  egraph_allocator alloc = eg_graph_allocator(graph);
  size_t bytes = eg_type_bytes(&type);
  if (data != NULL) EG_TRY(eg_buffer_create(&alloc, bytes, &buffer));
  if (data != NULL && bytes != 0) memcpy(eg_buffer_writable(buffer), data, bytes);
  eg_value value;
  egraph_status status = eg_graph_add_weight(graph, name, &type, buffer, &value);
  eg_buffer_release(buffer);
  if (status == EGRAPH_OK) *out = (egraph_value){value.id};
  return status;
}

static egraph_status fail_unknown_operator(const char *name) {
  const char *nearest = eg_op_nearest(name);
  if (nearest != NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "unknown operator '%s'; did you mean '%s'?", name,
                   nearest);
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "unknown operator '%s'; `egraph rules --operators` lists the table",
                 name);
}

static egraph_status fail_unknown_attr(eg_op op, const char *name) {
  const char *nearest = eg_op_nearest_attr(op, name);
  const char *of = eg_op_info_of(op)->name;
  if (nearest != NULL)
    return EG_FAIL(EGRAPH_E_PARSE, "%s has no attribute '%s'; did you mean ':%s'?", of,
                   name, nearest);
  return EG_FAIL(EGRAPH_E_PARSE,
                 "%s has no attribute '%s'; `egraph rules --operators` lists them", of,
                 name);
}

// Reads attributes, written as pairs ":name value"; each value is one expression.
static egraph_status parse_attributes(eg_arena *arena, eg_op op, const char *text,
                                      eg_attr *slots) {
  eg_sexpr list;
  bool *given;
  EG_TRY(eg_sexpr_parse(arena, "attributes", text, strlen(text), &list));
  const eg_op_info *info = eg_op_info_of(op);
  EG_NEW(arena, info->attr_count, given);
  for (uint32_t i = 0; i < list.count; i += 2) {
    const eg_sexpr *name = &list.children[i];
    uint16_t slot;
    if (name->kind != EG_SEXPR_ATOM || name->text[0] != ':')
      return EG_FAIL(EGRAPH_E_PARSE,
                     "%s: '%s' is not an attribute; write :name value pairs", info->name,
                     name->kind == EG_SEXPR_ATOM ? name->text : "(...)");
    if (!eg_op_find_attr(op, name->text + 1, &slot))
      return fail_unknown_attr(op, name->text + 1);
    if (i + 1 == list.count)
      return EG_FAIL(EGRAPH_E_PARSE, "%s: attribute %s has no value", info->name,
                     name->text);
    EG_LOCAL(eg_text, value, arena->alloc);
    EG_TRY(eg_sexpr_print(&value, &list.children[i + 1]));
    EG_TRY(eg_attr_parse(arena, op, slot, eg_text_of(&value), &slots[slot]));
    given[slot] = true;
  }
  bool is_operator = op != EG_OP_INPUT && op != EG_OP_WEIGHT && op != EG_OP_PART &&
                     op != EG_OP_OPAQUE; // callers cannot add these operators as nodes
  for (uint16_t i = 0; i < info->attr_count; i++)
    if (is_operator && !given[i] && info->attrs[i].default_text[0] == '\0')
      return EG_FAIL(EGRAPH_E_PARSE, "%s needs the attribute :%s", info->name,
                     info->attrs[i].name);
  return EGRAPH_OK;
}

static egraph_status add_operator(eg_arena *arena, egraph_graph *graph, const char *name,
                                  const char *op_name, const char *attributes,
                                  const egraph_value *inputs, uint32_t count,
                                  egraph_value *out_results) {
  eg_op op;
  if (!eg_op_find(op_name, &op)) return fail_unknown_operator(op_name);
  const eg_op_info *info = eg_op_info_of(op);
  eg_attr *slots;
  EG_NEW(arena, info->attr_count, slots);
  eg_attrs_defaults(op, slots);
  EG_TRY(parse_attributes(arena, op, attributes != NULL ? attributes : "", slots));
  eg_attrs attrs = {.op = (uint16_t)op, .count = info->attr_count, .slots = slots};
  eg_value *operands, *results;
  uint32_t result_count = eg_op_results(&attrs);
  EG_NEW(arena, count, operands);
  EG_NEW(arena, result_count, results);
  for (uint32_t i = 0; i < count; i++) {
    if (inputs[i].id >= eg_graph_value_count(graph))
      return EG_FAIL(EGRAPH_E_ARGUMENT, "%s: operand %u is not a value of this graph",
                     op_name, i);
    operands[i] = (eg_value){inputs[i].id};
  }
  EG_TRY(eg_graph_add_node(graph, name, &attrs, operands, count, NULL, results));
  for (uint32_t i = 0; i < result_count; i++)
    out_results[i] = (egraph_value){results[i].id};
  return EGRAPH_OK;
}

egraph_status egraph_graph_add(egraph_graph *graph, const char *name, const char *op,
                               const char *attributes, const egraph_value *inputs,
                               uint32_t count, egraph_value *out_results) {
  EG_REQUIRE(graph, op, out_results);
  EG_REQUIRE_ARRAY(inputs, count);
  EG_LOCAL(eg_arena, arena, eg_graph_allocator(graph));
  return add_operator(&arena, graph, name, op, attributes, inputs, count, out_results);
}

egraph_status egraph_graph_add_output(egraph_graph *graph, const char *name,
                                      egraph_value value) {
  EG_REQUIRE(graph);
  if (value.id >= eg_graph_value_count(graph))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "output '%.200s' is not a value of this graph",
                   name != NULL ? name : "");
  return eg_graph_add_output(graph, name, (eg_value){value.id});
}

static egraph_status add_flops(void *user, eg_graph_node node, const eg_node_spec *spec) {
  (void)node;
  *(double *)user += eg_node_spec_flops(spec);
  return EGRAPH_OK;
}

egraph_graph_info egraph_graph_info_of(const egraph_graph *graph) {
  if (graph == NULL) return (egraph_graph_info){.nodes = 0};
  egraph_graph_info info = {.nodes = eg_graph_node_count(graph),
                            .inputs = eg_graph_input_count(graph),
                            .outputs = eg_graph_output_count(graph)};
  for (uint32_t i = 0; i < info.nodes; i++)
    info.opaque_nodes +=
        eg_graph_node_at(graph, (eg_graph_node){i}).attrs->op == EG_OP_OPAQUE;
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    const eg_value_info *value = eg_graph_value(graph, (eg_value){i});
    if (value->kind != EG_VALUE_WEIGHT) continue;
    info.weights++;
    info.absent_weights += value->data == NULL;
    info.weight_bytes += eg_type_bytes(&value->type);
  }
  // Only an allocation can fail here; the sum of `flops` is then too small.
  (void)!eg_graph_visit_specs(graph, eg_graph_allocator(graph), add_flops, &info.flops);
  return info;
}

egraph_status egraph_graph_input(const egraph_graph *graph, uint32_t index,
                                 const char **out_name, egraph_tensor *out_type) {
  EG_REQUIRE(graph, out_name, out_type);
  if (index >= eg_graph_input_count(graph))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no input %u; the graph has %u", index,
                   eg_graph_input_count(graph));
  const eg_value_info *info = eg_graph_value(graph, eg_graph_input(graph, index));
  *out_name = info->name;
  *out_type = eg_tensor_from_type(&info->type);
  return EGRAPH_OK;
}

egraph_status egraph_graph_output(const egraph_graph *graph, uint32_t index,
                                  const char **out_name, egraph_tensor *out_type) {
  EG_REQUIRE(graph, out_name, out_type);
  if (index >= eg_graph_output_count(graph))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no output %u; the graph has %u", index,
                   eg_graph_output_count(graph));
  const char *name;
  const eg_value_info *info = eg_graph_value(graph, eg_graph_output(graph, index, &name));
  if (!info->typed)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "the type of output '%s' is unknown (opaque operator)", name);
  *out_name = name;
  *out_type = eg_tensor_from_type(&info->type);
  return EGRAPH_OK;
}

egraph_status egraph_graph_text(const egraph_allocator *alloc, const egraph_graph *graph,
                                char **out) {
  EG_REQUIRE(graph, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  EG_TRY(eg_graph_print(graph, &text));
  return eg_text_take(&text, out);
}

void egraph_string_free(const egraph_allocator *alloc, char *text) {
  eg_string_free(eg_allocator_or_heap(alloc), text);
}
