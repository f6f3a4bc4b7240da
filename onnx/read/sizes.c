// Integers that nodes of the file compute from open dimensions:
//
//   Shape(x)           [batch, seq, 768]
//   Gather(that, [1])  [seq]
//   Mul(that, [12])    [12*seq]
//
// A list without open sizes becomes a constant. Other results stay nodes of the graph,
// which are pruned if importers need only the sizes noted here.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "onnx/read/op.h"

enum { MOST_ELEMENTS = 256 };

/// A scalar or a list of integers.
typedef struct list {
  uint32_t rank, count;
  int64_t *at;
} list;

typedef struct computing {
  const eg_onnx_call *call;
  list operands[4]; // the first four
  list result;      // of the first result; room for MOST_ELEMENTS
} computing;

// ---- operands -------------------------------------------------------------------------

static const eg_onnx_tensor *operand_of(const eg_onnx_call *call, uint32_t index) {
  eg_onnx_ref ref = eg_onnx_input(call, index);
  return ref.id == EG_ONNX_NONE.id ? NULL : eg_onnx_tensor_at(call->reader, ref);
}

bool eg_onnx_reads_open(const eg_onnx_call *call) {
  for (uint32_t i = 0; i < call->input_count; i++) {
    const eg_onnx_tensor *tensor = operand_of(call, i);
    if (tensor != NULL &&
        (tensor->sizes != NULL || (tensor->typed && eg_type_is_open(&tensor->type))))
      return true;
  }
  return false;
}

static bool is_list(const eg_onnx_tensor *tensor) {
  return tensor != NULL && tensor->typed && tensor->type.rank <= 1 &&
         !eg_dtype_is_float(tensor->type.dtype) &&
         eg_type_elements(&tensor->type) <= MOST_ELEMENTS &&
         (tensor->data != NULL || tensor->sizes != NULL);
}

static egraph_status read_size_list(const eg_onnx_call *call, uint32_t index, list *out) {
  const eg_onnx_tensor *tensor = operand_of(call, index);
  *out = (list){0};
  if (!is_list(tensor)) return EGRAPH_OK;
  out->rank = tensor->type.rank;
  out->count = (uint32_t)eg_type_elements(&tensor->type);
  EG_NEW(&call->reader->arena, out->count, out->at);
  eg_tensor view = {.type = tensor->type};
  if (tensor->sizes == NULL) // only read through
    view.data = (void *)(uintptr_t)eg_buffer_data(tensor->data);
  for (uint32_t i = 0; i < out->count; i++)
    out->at[i] = tensor->sizes != NULL ? tensor->sizes[i] : eg_tensor_get_int(&view, i);
  return EGRAPH_OK;
}

static bool is_read(const list *l) { return l->at != NULL; }

// ---- integers that nodes compute ------------------------------------------------------

static bool compute_shape(computing *c) {
  const eg_onnx_tensor *x = operand_of(c->call, 0);
  int64_t start, end, rank;
  if (x == NULL || !x->typed ||
      eg_onnx_attr_int(c->call, "start", 0, &start) != EGRAPH_OK ||
      eg_onnx_attr_int(c->call, "end", INT64_MAX, &end) != EGRAPH_OK)
    return false;
  rank = x->type.rank;
  start = eg_onnx_clamp(start < 0 ? start + rank : start, 0, rank);
  end = eg_onnx_clamp(end < 0 ? end + rank : end, 0, rank);
  c->result.rank = 1;
  for (int64_t i = start; i < end; i++)
    c->result.at[c->result.count++] = x->type.dims[i];
  return true;
}

static bool compute_size(computing *c) {
  const eg_onnx_tensor *x = operand_of(c->call, 0);
  if (x == NULL || !x->typed) return false;
  c->result.count = 1;
  c->result.at[0] = eg_type_elements(&x->type);
  return c->result.at[0] != INT64_MAX;
}

/// Copies the elements of operand 0 to a list or a scalar.
static bool copy(computing *c, uint32_t rank) {
  const list *x = &c->operands[0];
  if (!is_read(x) || rank > 1 || (rank == 0 && x->count != 1)) return false;
  memcpy(c->result.at, x->at, x->count * sizeof *x->at);
  c->result.count = x->count;
  c->result.rank = rank;
  return true;
}

static bool compute_identity(computing *c) { return copy(c, c->operands[0].rank); }
static bool compute_unsqueeze(computing *c) { return copy(c, c->operands[0].rank + 1); }
static bool compute_squeeze(computing *c) {
  return c->operands[0].rank == 1 && copy(c, c->operands[0].count == 1 ? 0 : 1);
}
static bool compute_reshape(computing *c) {
  return is_read(&c->operands[1]) && copy(c, c->operands[1].count);
}

static bool compute_cast(computing *c) {
  int64_t to;
  egraph_dtype dtype;
  return eg_onnx_attr_int(c->call, "to", 0, &to) == EGRAPH_OK && to > 0 && to < 64 &&
         eg_dtype_from_onnx((int)to, &dtype) &&
         (dtype == EGRAPH_INT64 || dtype == EGRAPH_INT32) && compute_identity(c);
}

static bool compute_gather(computing *c) {
  const list *x = &c->operands[0], *indices = &c->operands[1];
  if (!is_read(x) || x->rank != 1 || !is_read(indices)) return false;
  for (uint32_t i = 0; i < indices->count; i++) {
    int64_t index = indices->at[i];
    if (index < 0) index += x->count;
    if (index < 0 || index >= x->count) return false;
    c->result.at[i] = x->at[index];
  }
  c->result.count = indices->count;
  c->result.rank = indices->rank;
  return true;
}

/// Computes a slice of a list, whose bounds are numbers.
static bool compute_slice(computing *c) {
  const list *x = &c->operands[0];
  eg_ints starts, ends, steps;
  bool has_starts, has_ends, has_steps;
  if (!is_read(x) || x->rank != 1 ||
      eg_onnx_ints(c->call, "starts", 1, &has_starts, &starts) != EGRAPH_OK ||
      eg_onnx_ints(c->call, "ends", 2, &has_ends, &ends) != EGRAPH_OK ||
      eg_onnx_const_ints(c->call, 4, &has_steps, &steps) != EGRAPH_OK ||
      starts.len != 1 || ends.len != 1 || (has_steps && steps.len != 1))
    return false;
  int64_t step = has_steps ? steps.data[0] : 1, count = x->count;
  int64_t start = starts.data[0] < 0 ? starts.data[0] + count : starts.data[0];
  int64_t end = ends.data[0] < 0 ? ends.data[0] + count : ends.data[0];
  if (step < 1 || step > MOST_ELEMENTS) return false;
  start = eg_onnx_clamp(start, 0, count);
  end = eg_onnx_clamp(end, 0, count);
  c->result.rank = 1;
  for (int64_t i = start; i < end; i += step)
    c->result.at[c->result.count++] = x->at[i];
  return true;
}

static bool compute_concat(computing *c) {
  c->result.rank = 1;
  for (uint32_t i = 0; i < c->call->input_count; i++) {
    list part;
    if (read_size_list(c->call, i, &part) != EGRAPH_OK || !is_read(&part) ||
        part.rank != 1 || part.count > MOST_ELEMENTS - c->result.count)
      return false;
    memcpy(c->result.at + c->result.count, part.at, part.count * sizeof *part.at);
    c->result.count += part.count;
  }
  return true;
}

// ---- arithmetic -----------------------------------------------------------------------

typedef bool operation(int64_t a, int64_t b, int64_t *out);

/// Computes a quotient. ONNX rounds it towards zero, and a remainder has the sign of the
/// divisor: expressions exist only for a dividend that is not negative.
static bool quotient(int64_t a, int64_t b, int64_t *out) {
  return eg_size_at_least(a, 0) && eg_size_floor_div(a, b, out);
}
static bool remainder_of(int64_t a, int64_t b, int64_t *out) {
  return quotient(a, b, out) && eg_size_mul(*out, b, out) && eg_size_sub(a, *out, out);
}

static const struct {
  const char *type;
  operation *apply;
} operations[] = {{"Add", eg_size_add}, {"Sub", eg_size_sub},  {"Mul", eg_size_mul},
                  {"Div", quotient},    {"Mod", remainder_of}, {"Min", eg_size_min},
                  {"Max", eg_size_max}};

static operation *operation_of(const char *type) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (strcmp(operations[i].type, type) == 0) return operations[i].apply;
  return NULL;
}

static bool apply_to(computing *c, operation *apply, const list *b) {
  list *a = &c->result;
  bool fits = is_read(b) && (a->count == b->count || a->count == 1 || b->count == 1);
  uint32_t count = b->count > a->count ? b->count : a->count;
  if (!fits || a->count == 0 || b->count == 0) return false;
  for (uint32_t i = count; i-- > 0;)
    if (!apply(a->at[a->count == 1 ? 0 : i], b->at[b->count == 1 ? 0 : i], &a->at[i]))
      return false;
  a->count = count;
  if (b->rank > a->rank) a->rank = b->rank;
  return true;
}

static bool compute_arithmetic(computing *c) {
  operation *apply = operation_of(c->call->node->op_type);
  if (apply == NULL || !compute_identity(c)) return false;
  for (uint32_t i = 1; i < c->call->input_count; i++) {
    list next;
    if (read_size_list(c->call, i, &next) != EGRAPH_OK || !apply_to(c, apply, &next))
      return false;
  }
  return true;
}

/// Combines all elements of operand 0, a list of sizes, into one size by the operation
/// `apply`, whose neutral element is `start`.
static bool reduce(computing *c, operation *apply, int64_t start) {
  const list *x = &c->operands[0];
  int64_t keeps;
  if (!is_read(x) || eg_onnx_attr_int(c->call, "keepdims", 1, &keeps) != EGRAPH_OK ||
      eg_onnx_attr(c->call, "noop_with_empty_axes") != NULL)
    return false;
  c->result.at[0] = start;
  c->result.count = 1;
  c->result.rank = keeps != 0 ? x->rank : 0;
  for (uint32_t i = 0; i < x->count; i++)
    if (!apply(c->result.at[0], x->at[i], &c->result.at[0])) return false;
  return true;
}
static bool compute_product(computing *c) { return reduce(c, eg_size_mul, 1); }
static bool compute_sum(computing *c) { return reduce(c, eg_size_add, 0); }

// ---- the node -------------------------------------------------------------------------

static const struct {
  const char *type;
  bool (*compute)(computing *c);
} computers[] = {
    {"Shape", compute_shape},        {"Size", compute_size},
    {"Identity", compute_identity},  {"Cast", compute_cast},
    {"Squeeze", compute_squeeze},    {"Unsqueeze", compute_unsqueeze},
    {"Reshape", compute_reshape},    {"Gather", compute_gather},
    {"Slice", compute_slice},        {"Concat", compute_concat},
    {"ReduceProd", compute_product}, {"ReduceSum", compute_sum},
    {"Add", compute_arithmetic},     {"Sub", compute_arithmetic},
    {"Mul", compute_arithmetic},     {"Div", compute_arithmetic},
    {"Mod", compute_arithmetic},     {"Min", compute_arithmetic},
    {"Max", compute_arithmetic},
};

static bool compute(computing *c) {
  for (size_t i = 0; i < sizeof computers / sizeof *computers; i++)
    if (strcmp(computers[i].type, c->call->node->op_type) == 0)
      return computers[i].compute(c);
  return false;
}

static egraph_dtype dtype_of(const eg_onnx_call *call) {
  const char *type = call->node->op_type;
  int64_t to;
  egraph_dtype dtype = EGRAPH_INT64;
  if (strcmp(type, "Shape") == 0 || strcmp(type, "Size") == 0) return EGRAPH_INT64;
  if (strcmp(type, "Cast") != 0) return operand_of(call, 0)->type.dtype;
  (void)eg_onnx_attr_int(call, "to", 0, &to); // compute_cast has read it
  (void)eg_dtype_from_onnx((int)to, &dtype);
  return dtype;
}

/// Makes the result a constant. Integers of 32 bits can hold the sizes of
/// existing tensors.
static egraph_status define(const eg_onnx_call *call, const list *result) {
  const int64_t count = result->count;
  eg_type type = eg_type_of(dtype_of(call), result->rank, &count);
  eg_onnx_ref ref = eg_onnx_output(call, 0);
  eg_tensor out;
  EG_TRY(eg_onnx_array(call, &type, &ref, &out));
  for (uint32_t i = 0; i < result->count; i++)
    eg_tensor_set_int(&out, i, result->at[i]);
  return EGRAPH_OK;
}

egraph_status eg_onnx_compute_sizes(const eg_onnx_call *call, bool *out_done) {
  computing c = {.call = call};
  eg_onnx_ref result = eg_onnx_output(call, 0);
  *out_done = false;
  if (result.id == EG_ONNX_NONE.id || !eg_onnx_reads_open(call)) return EGRAPH_OK;
  for (uint32_t i = 0; i < sizeof c.operands / sizeof *c.operands; i++)
    EG_TRY(read_size_list(call, i, &c.operands[i]));
  EG_NEW(&call->reader->arena, MOST_ELEMENTS, c.result.at);
  if (!compute(&c)) return EGRAPH_OK;
  call->reader->needs_pruning = true; // nodes whose sizes are noted may be unused
  *out_done = !eg_size_any_open(c.result.at, c.result.count);
  if (*out_done) return define(call, &c.result);
  eg_onnx_tensor_at(call->reader, result)->sizes = c.result.at;
  return EGRAPH_OK;
}
