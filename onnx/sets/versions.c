// Operator sets: looks up the versions of operators (sets/versions.def), and the element
// types for which ONNX Runtime's CPU provider has kernels (sets/runtime.def).
// SPDX-License-Identifier: Apache-2.0
#include "onnx/sets/versions.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 9 };

/// The beginning of a row of either table; rows are sorted by name, then by first set.
typedef struct row_key {
  const char *name;
  int64_t first; // set
} row_key;

typedef struct version {
  row_key key;
  enum { NONE, SAME, DEPRECATED } is;
  int32_t min_inputs, max_inputs, max_outputs; // -1: any number
  const char *attributes;                      // separated by blanks
  const char *results;                         // element types, separated by blanks
  uint32_t types[MOST_INPUTS]; // bits of TensorProto.DataType; 0: not a tensor
} version;

#define EG_ONNX_SET(opset, ir)
#define EG_ONNX_VERSION(name, first, is, min_in, max_in, max_out, attrs, results, ...)   \
  {{name, first}, is, min_in, max_in, max_out, attrs, results, {__VA_ARGS__}},
static const version versions[] = {
#include "onnx/sets/versions.def"
};
enum { VERSIONS = sizeof versions / sizeof *versions };

static const struct {
  int64_t opset, ir;
} sets[] = {
#define EG_ONNX_SET(opset, ir) {opset, ir},
#define EG_ONNX_VERSION(...)
#include "onnx/sets/versions.def"
};
enum { SETS = sizeof sets / sizeof *sets };

int64_t eg_onnx_newest_opset(void) { return sets[SETS - 1].opset; }

int64_t eg_onnx_ir_version(int64_t opset) {
  size_t i = 0;
  while (i + 1 < SETS && sets[i].opset < opset)
    i++;
  return sets[i].ir;
}

bool eg_onnx_is_standard(const char *domain) {
  return domain == NULL || domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

int64_t eg_onnx_standard_opset(Onnx__OperatorSetIdProto *const *imports, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (eg_onnx_is_standard(imports[i]->domain)) return imports[i]->version;
  return 0;
}

/// Finds an operator's row for a set, among `count` rows of `size` bytes; NULL: none.
static const void *row_of(const void *rows, size_t count, size_t size, const char *name,
                          int64_t opset) {
  size_t low = 0, high = count;
  const char *begin = rows;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const row_key *key = (const void *)(begin + middle * size);
    int order = strcmp(key->name, name);
    if (order < 0 || (order == 0 && key->first <= opset))
      low = middle + 1;
    else
      high = middle;
  }
  const row_key *found = low > 0 ? (const void *)(begin + (low - 1) * size) : NULL;
  return found != NULL && strcmp(found->name, name) == 0 ? found : NULL;
}

static const version *version_of(const char *name, int64_t opset) {
  return row_of(versions, VERSIONS, sizeof *versions, name, opset);
}

eg_onnx_sets eg_onnx_sets_of(const char *op_type, int64_t opset) {
  const eg_onnx_sets all = {1, eg_onnx_newest_opset()};
  const version *row = version_of(op_type, opset);
  if (row == NULL) return all;
  const version *next = row + 1, *end = versions + VERSIONS;
  while (next < end && strcmp(next->key.name, op_type) == 0 && next->is == SAME)
    next++;
  bool is_last = next == end || strcmp(next->key.name, op_type) != 0;
  return (eg_onnx_sets){row->key.first, is_last ? all.last : next->key.first - 1};
}

// ---- graphs within nodes ------------------------------------------------------------

egraph_status eg_onnx_push_graphs(const Onnx__NodeProto *node, eg_onnx_node_spans *out) {
  for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(node, &g);)
    EG_TRY(eg_onnx_node_spans_push(out,
                                   (eg_onnx_node_span){g.graph->node, g.graph->n_node}));
  return EGRAPH_OK;
}

static void meet(eg_onnx_sets own, const Onnx__NodeProto *node, eg_onnx_span *inout) {
  if (own.first > inout->sets.first) {
    inout->sets.first = own.first;
    inout->wants_first = node;
  }
  if (own.last < inout->sets.last) {
    inout->sets.last = own.last;
    inout->wants_last = node;
  }
}

egraph_status eg_onnx_narrow(egraph_allocator alloc, Onnx__NodeProto *const *nodes,
                             size_t count, int64_t opset,
                             eg_onnx_sets (*sets_of)(const char *, int64_t),
                             eg_onnx_span *inout) {
  EG_LOCAL(eg_onnx_node_spans, open, alloc); // also the work list
  EG_TRY(eg_onnx_node_spans_push(&open, (eg_onnx_node_span){nodes, count}));
  for (size_t i = 0; i < open.len; i++)
    for (size_t n = 0; n < open.data[i].count; n++) {
      const Onnx__NodeProto *node = open.data[i].nodes[n];
      EG_TRY(eg_onnx_push_graphs(node, &open));
      // Strings within graphs may be absent.
      if (node->op_type != NULL && eg_onnx_is_standard(node->domain))
        meet(sets_of(node->op_type, opset), node, inout);
    }
  return EGRAPH_OK;
}

// ---- checks against a set -----------------------------------------------------------

bool eg_onnx_has_word(const char *words, const char *word) {
  size_t length = strlen(word);
  for (const char *at = words; *at != '\0';) {
    size_t own = strcspn(at, " ");
    if (own == length && memcmp(at, word, length) == 0) return true;
    at += own + (at[own] == ' ');
  }
  return false;
}

/// Returns the types of an operand; operands after the last formal one repeat it.
static uint32_t types_of(const version *row, size_t input) {
  size_t formal = input < MOST_INPUTS ? input : MOST_INPUTS - 1;
  while (formal > 0 && row->max_inputs < 0 && row->types[formal] == 0)
    formal--;
  return row->types[formal];
}

static const char *fault_of(const version *row, const Onnx__NodeProto *node,
                            const int *dtype) {
  if (row->is == DEPRECATED) return "it is no longer in the set";
  if (node->n_input < (size_t)row->min_inputs) return "it takes more operands";
  for (size_t i = 0; i < (size_t)row->min_inputs; i++)
    if (node->input[i][0] == '\0') return "it takes more operands";
  if (row->max_inputs >= 0 && node->n_input > (size_t)row->max_inputs)
    return "it takes fewer operands";
  if (row->max_outputs >= 0 && node->n_output > (size_t)row->max_outputs)
    return "it has fewer results";
  for (size_t a = 0; a < node->n_attribute; a++)
    if (!eg_onnx_has_word(row->attributes, node->attribute[a]->name))
      return "it does not have the attribute";
  for (size_t i = 0; i < node->n_input; i++) {
    uint32_t types = types_of(row, i);
    if (dtype[i] > 0 && types != 0 && (types >> dtype[i] & 1) == 0)
      return "it does not take the element type";
  }
  return NULL;
}

const char *eg_onnx_fault(const Onnx__NodeProto *node, const int *dtype, int64_t opset) {
  const version *row = version_of(node->op_type, opset);
  if (row != NULL) return fault_of(row, node, dtype);
  row = version_of(node->op_type, eg_onnx_newest_opset());
  return row != NULL ? "it is not in the set yet" : NULL;
}

bool eg_onnx_has(const char *op_type, int64_t opset) {
  const version *row = version_of(op_type, opset);
  return row != NULL && row->is != DEPRECATED;
}

bool eg_onnx_takes(eg_op op, uint32_t operand, egraph_dtype dtype) {
  const version *row = version_of(eg_op_info_of(op)->onnx, eg_onnx_newest_opset());
  uint32_t types = row != NULL ? types_of(row, operand) : 0;
  return types == 0 || (types >> eg_dtype_onnx(dtype) & 1) != 0;
}

// ---- element types of results -------------------------------------------------------

/// Results whose element type an attribute gives.
static const struct {
  const char *op_type, *attribute;
  int otherwise; // without the attribute; 0: not known
} said[] = {
    {"BitCast", "to", 0},
    {"Cast", "to", 0},
    {"Bernoulli", "dtype", 0},
    {"BlackmanWindow", "output_datatype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT},
    {"Constant", "value", 0},
    {"ConstantOfShape", "value", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT},
    {"EyeLike", "dtype", 0},
    {"HammingWindow", "output_datatype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT},
    {"HannWindow", "output_datatype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT},
    {"MelWeightMatrix", "output_datatype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT},
    {"Multinomial", "dtype", ONNX__TENSOR_PROTO__DATA_TYPE__INT32},
    {"RandomNormal", "dtype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT},
    {"RandomUniform", "dtype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT},
};

static int said_type(const Onnx__NodeProto *node) {
  for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
    if (strcmp(said[i].op_type, node->op_type) != 0) continue;
    for (size_t a = 0; a < node->n_attribute; a++) {
      const Onnx__AttributeProto *attr = node->attribute[a];
      if (attr->name != NULL && strcmp(attr->name, said[i].attribute) == 0)
        return attr->t != NULL ? attr->t->data_type : (int)attr->i;
    }
    return said[i].otherwise;
  }
  return 0;
}

int eg_onnx_result_type(const Onnx__NodeProto *node, const int *dtype, size_t result,
                        int64_t opset) {
  const version *row = version_of(node->op_type, opset);
  if (row == NULL) return 0;
  const char *word = row->results;
  for (; result > 0 && strchr(word, ' ') != NULL; result--)
    word = strchr(word, ' ') + 1;
  if (*word == '=') return (int)strtol(word + 1, NULL, 10);
  if (*word < '0' || *word > '9') return said_type(node);
  size_t operand = (size_t)strtol(word, NULL, 10);
  return operand < node->n_input ? dtype[operand] : 0;
}

// ---- operators that ONNX Runtime loads ----------------------------------------------

typedef struct runtime_row {
  row_key key;
  uint32_t operand, types;
} runtime_row;

#define EG_ONNX_RUNTIME_SET(opset)
#define EG_ONNX_RUNTIME_LACKS(op, types)
#define EG_ONNX_RUNTIME(name, first, operand, types) {{name, first}, operand, types},
static const runtime_row rows[] = {
#include "onnx/sets/runtime.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static const int64_t newest_set = 0
#undef EG_ONNX_RUNTIME_SET
#undef EG_ONNX_RUNTIME
#define EG_ONNX_RUNTIME_SET(opset) +(opset)
#define EG_ONNX_RUNTIME(name, first, operand, types)
#include "onnx/sets/runtime.def"
    ;

static const uint32_t lacks[EG_OP_COUNT] = {
// bits of TensorProto.DataType
#undef EG_ONNX_RUNTIME_SET
#undef EG_ONNX_RUNTIME_LACKS
#define EG_ONNX_RUNTIME_SET(opset)
#define EG_ONNX_RUNTIME_LACKS(op, types) [EG_OP_##op] = (types),
#include "onnx/sets/runtime.def"
};

static const runtime_row *runtime_row_of(const char *name, int64_t opset) {
  return row_of(rows, ROWS, sizeof *rows, name, opset);
}

bool eg_onnx_is_loaded(const Onnx__NodeProto *node, const int *dtype, int64_t opset) {
  const runtime_row *row = runtime_row_of(node->op_type, opset);
  if (opset > newest_set) return false;
  if (row == NULL || row->operand >= node->n_input || dtype[row->operand] <= 0)
    return true;
  return (row->types >> dtype[row->operand] & 1) != 0;
}

/// True when ONNX Runtime loads an operator with this type in some sets, but in none of
/// `among`. A row applies up to the next row of its name; in sets before the first row
/// we write the operator by other operators.
static bool is_of_other_sets(const char *name, int dtype, eg_onnx_sets among) {
  const runtime_row *last = runtime_row_of(name, newest_set);
  size_t at = last != NULL ? (size_t)(last - rows) + 1 : 0;
  int64_t end = newest_set + 1;
  bool is_in_others = false;
  for (; at > 0 && strcmp(rows[at - 1].key.name, name) == 0; end = rows[--at].key.first) {
    if ((rows[at - 1].types >> dtype & 1) == 0) continue;
    if (rows[at - 1].key.first <= among.last && among.first < end) return false;
    is_in_others = true;
  }
  return is_in_others && among.first >= end;
}

bool eg_onnx_is_op_loaded(eg_op op, egraph_dtype dtype, eg_onnx_sets among) {
  int type = eg_dtype_onnx(dtype);
  return (lacks[op] >> type & 1) == 0 &&
         !is_of_other_sets(eg_op_info_of(op)->onnx, type, among);
}
