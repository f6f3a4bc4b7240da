// The single-operator conformance cases of ONNX: import, run with the reference kernels,
// compare. Most of the 322 must pass; the others are printed with the reason.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tests/testing.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "onnx/onnx.h"
#include "onnx/tensor.h"

enum { MAX_TENSORS = 64, MAX_CASES = 1000, MIN_PASSED = 300, MAX_FILE = 1 << 24 };

static const char folder[] = "onnx_node_cases/gen/data/node";

typedef struct named_tensor {
  eg_type type;
  eg_buffer *data;
} named_tensor;

typedef struct node_case {
  const char *name;
  named_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  uint32_t input_count, output_count;
  const char *reason; // why it does not pass
} node_case;

static void release(named_tensor *tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    eg_buffer_release(tensors[i].data);
}

// Reads a file that holds one TensorProto. Fails for strings and complex numbers.
static egraph_status read_tensor(const char *path, named_tensor *out) {
  egraph_allocator alloc = eg_allocator_heap();
  char *bytes;
  size_t size;
  bool known = false;
  ProtobufCMessage *message = NULL;
  eg_onnx_heap heap;
  EG_TRY(eg_file_read(alloc, path, MAX_FILE, &bytes, &size));
  eg_onnx_heap_init(&heap, alloc);
  egraph_status status = eg_onnx_message_unpack(
      &heap, &onnx__tensor_proto__descriptor, path, "ONNX tensor", bytes, size, &message);
  eg_free(alloc, bytes, size + 1, 1);
  const Onnx__TensorProto *proto = (const Onnx__TensorProto *)message;
  if (status == EGRAPH_OK) status = eg_onnx_tensor_type(proto, &known, &out->type);
  if (status == EGRAPH_OK && !known) status = EGRAPH_E_UNSUPPORTED;
  if (status == EGRAPH_OK)
    status = eg_onnx_tensor_data(alloc, proto, &out->type, NULL, &out->data);
  eg_onnx_message_free(&heap, message);
  return status == EGRAPH_OK && out->data == NULL ? EGRAPH_E_PARSE : status;
}

// Reads <kind>_0.pb, <kind>_1.pb, ... of a case.
static bool read_tensors(const char *name, const char *kind, named_tensor *out,
                         uint32_t *out_count) {
  for (*out_count = 0; *out_count < MAX_TENSORS; ++*out_count) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s/test_data_set_0/%s_%u.pb", folder, name,
                   kind, *out_count);
    struct stat info;
    if (stat(path, &info) != 0) return true;
    if (read_tensor(path, &out[*out_count]) != EGRAPH_OK) return false;
  }
  return true;
}

// The generator of the cases keeps bfloat16 as uint16.
static void restore_bfloat16(eg_type *stored, const eg_type *wanted) {
  if (stored->dtype == EGRAPH_UINT16 && wanted->dtype == EGRAPH_BFLOAT16)
    stored->dtype = EGRAPH_BFLOAT16;
}

// ---- running ------------------------------------------------------------------------

// Row-major tensors of all values, in value order.
typedef struct evaluation {
  const eg_graph *graph;
  eg_tensor *tensors;
} evaluation;

static egraph_status run_node(evaluation *e, const eg_graph_node_info *node) {
  eg_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  if (node->input_count > MAX_TENSORS || node->result_count > MAX_TENSORS)
    return EGRAPH_E_UNSUPPORTED;
  for (uint32_t i = 0; i < node->input_count; i++)
    inputs[i] = e->tensors[node->inputs[i].id];
  for (uint32_t i = 0; i < node->result_count; i++) {
    const eg_value_info *info = eg_graph_value(e->graph, node->results[i]);
    if (!info->typed) return EG_FAIL(EGRAPH_E_UNSUPPORTED, "a result has no type");
    size_t bytes = eg_type_bytes(&info->type);
    outputs[i] =
        (eg_tensor){.type = info->type, .data = calloc(bytes != 0 ? bytes : 1, 1)};
    e->tensors[node->results[i].id] = outputs[i];
  }
  eg_kernel_call call = {.attrs = node->attrs,
                         .inputs = inputs,
                         .input_count = node->input_count,
                         .outputs = outputs,
                         .output_count = node->result_count,
                         .alloc = eg_allocator_heap()};
  return eg_op_run(&call);
}

static egraph_status run_graph(evaluation *e, node_case *c, const bool *fixed) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < eg_graph_value_count(e->graph); i++) {
    const eg_value_info *info = eg_graph_value(e->graph, (eg_value){i});
    const eg_buffer *data = info->data;
    if (info->kind == EG_VALUE_INPUT) {
      while (next < c->input_count && fixed[next])
        next++;
      if (next < c->input_count) restore_bfloat16(&c->inputs[next].type, &info->type);
      if (next == c->input_count || !eg_type_same(&c->inputs[next].type, &info->type))
        return EG_FAIL(EGRAPH_E_TYPE, "an input is not of its declared type");
      data = c->inputs[next++].data;
    }
    if (data != NULL)
      e->tensors[i] = (eg_tensor){.type = info->type,
                                  .data = (void *)(uintptr_t)eg_buffer_data(data)};
  }
  for (uint32_t n = 0; n < eg_graph_node_count(e->graph); n++) {
    eg_graph_node_info node = eg_graph_node_at(e->graph, (eg_graph_node){n});
    EG_TRY(run_node(e, &node));
  }
  return EGRAPH_OK;
}

static bool close_enough(const eg_tensor *got, named_tensor *wanted) {
  restore_bfloat16(&wanted->type, &got->type);
  eg_tensor reference = {.type = wanted->type,
                         .data = (void *)(uintptr_t)eg_buffer_data(wanted->data)};
  if (got->type.dtype != wanted->type.dtype ||
      !eg_type_same_shape(&got->type, &wanted->type))
    return false;
  for (int64_t i = 0; i < eg_type_elements(&got->type); i++) {
    if (!eg_dtype_is_float(got->type.dtype)) {
      if (eg_tensor_get_int(got, i) != eg_tensor_get_int(&reference, i)) return false;
      continue;
    }
    double x = eg_tensor_get_double(got, i), y = eg_tensor_get_double(&reference, i);
    // The bound of ONNX's own runner for these cases.
    if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= 1e-5 + 1e-3 * fabs(y)))
      return false;
  }
  return true;
}

static const char *compare(const evaluation *e, node_case *c) {
  if (eg_graph_output_count(e->graph) != c->output_count)
    return "other number of outputs";
  for (uint32_t i = 0; i < c->output_count; i++) {
    eg_value value = eg_graph_output(e->graph, i, NULL);
    if (e->tensors[value.id].data == NULL) return "an output was not computed";
    if (!close_enough(&e->tensors[value.id], &c->outputs[i])) return "wrong result";
  }
  return NULL;
}

static const char *execute(const eg_graph *graph, node_case *c, const bool *fixed) {
  uint32_t count = eg_graph_value_count(graph);
  evaluation e = {.graph = graph, .tensors = calloc(count + 1, sizeof(eg_tensor))};
  assert_non_null(e.tensors);
  egraph_status status = run_graph(&e, c, fixed);
  const char *reason = status == EGRAPH_OK ? compare(&e, c) : egraph_last_error();
  for (uint32_t i = 0; i < count; i++)
    if (eg_graph_value(graph, (eg_value){i})->kind == EG_VALUE_COMPUTED)
      free(e.tensors[i].data);
  free(e.tensors);
  return reason;
}

// ---- cases --------------------------------------------------------------------------

static bool has_opaque(const eg_graph *graph) {
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    if (eg_graph_node_at(graph, (eg_graph_node){n}).attrs->op == EG_OP_OPAQUE)
      return true;
  return false;
}

// Shapes, axes and bounds come as inputs in these cases. They must be known to an
// optimizer: vectors and scalars are fixed to the values of the case.
static egraph_status load_fixed(const char *path, const node_case *c,
                                const eg_graph *open, bool *fixed, eg_graph **out) {
  eg_onnx_fixed_input values[MAX_TENSORS];
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  for (uint32_t i = 0; i < c->input_count; i++) {
    fixed[i] = c->inputs[i].type.rank <= 1;
    if (fixed[i])
      values[options.fixed_count++] = (eg_onnx_fixed_input){
          .name = eg_graph_value(open, eg_graph_input(open, i))->name,
          .type = c->inputs[i].type,
          .data = c->inputs[i].data};
  }
  options.fixed = values;
  return eg_onnx_load(NULL, path, &options, out);
}

static const char *run_case(node_case *c) {
  char path[512];
  bool fixed[MAX_TENSORS] = {false};
  eg_graph *graph, *closed;
  (void)snprintf(path, sizeof path, "%s/%s/model.onnx", folder, c->name);
  assert_ok(eg_onnx_load(NULL, path, NULL, &graph));
  assert_ok(eg_graph_check(graph));
  bool readable = read_tensors(c->name, "input", c->inputs, &c->input_count) &&
                  read_tensors(c->name, "output", c->outputs, &c->output_count);
  const char *reason = readable ? NULL : "its tensors are not of our types";
  if (readable && has_opaque(graph) && eg_graph_input_count(graph) == c->input_count) {
    assert_ok(load_fixed(path, c, graph, fixed, &closed));
    assert_ok(eg_graph_check(closed));
    eg_graph_destroy(graph);
    graph = closed;
  }
  if (reason == NULL && has_opaque(graph)) reason = "opaque";
  if (reason == NULL) reason = execute(graph, c, fixed);
  eg_graph_destroy(graph);
  release(c->inputs, c->input_count);
  release(c->outputs, c->output_count);
  return reason;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t list_cases(char **names) {
  DIR *directory = opendir(folder);
  size_t count = 0;
  assert_non_null(directory);
  for (struct dirent *entry = readdir(directory); entry != NULL;
       entry = readdir(directory))
    if (entry->d_name[0] != '.' && count < MAX_CASES)
      names[count++] = strdup(entry->d_name);
  (void)closedir(directory);
  qsort(names, count, sizeof names[0], compare_names);
  return count;
}

static void most_cases_pass(void **state) {
  (void)state;
  static char *names[MAX_CASES];
  struct stat info;
  if (stat(EG_DATA_DIR "/onnx-node-tests-dnn.tgz", &info) != 0) {
    print_message("no " EG_DATA_DIR "/onnx-node-tests-dnn.tgz\n");
    skip();
  }
  assert_int_equal(system("rm -rf onnx_node_cases && mkdir onnx_node_cases && tar -xzf "
                          "'" EG_DATA_DIR "/onnx-node-tests-dnn.tgz' -C onnx_node_cases"),
                   0);
  size_t count = list_cases(names), passed = 0;
  for (size_t i = 0; i < count; i++) {
    static node_case c;
    c = (node_case){.name = names[i]};
    const char *reason = run_case(&c);
    passed += reason == NULL;
    if (reason != NULL) print_message("%s: %s\n", names[i], reason);
    free(names[i]);
  }
  print_message("%zu of %zu cases pass\n", passed, count);
  assert_true(passed >= MIN_PASSED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(most_cases_pass)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
