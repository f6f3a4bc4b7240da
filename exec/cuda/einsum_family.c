// Einsum. Every label has a stride per tensor, 0 where it does not stand: diagonals and
// broadcast dimensions need no case of their own in the kernel of ours, which takes up to
// three operands. What two operands give is one batched matrix product where every label
// is of one of four kinds:
//
//   stands in     result, a, b     result, a     result, b     a, b
//   is            batch            row           column        summed
//
// cuBLASLt wants the labels of a kind to be one dimension, and rows or columns to lie
// together. A tensor that does not lie so is copied: operands before the product, the
// result after it.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"
#include "exec/cuda/product_stage.h"
#include "ops/einsum_labels.h"

enum { RESULT, A, B }; // tensors of a product

typedef struct nest {
  uint32_t labels, tensors; // the result first
  int64_t sizes[EG_MAX_LABELS];
  int64_t strides[EG_LOOP_TENSORS][EG_MAX_LABELS];
  bool is_result[EG_MAX_LABELS];
  bool has_diagonal;
} nest;

static void note_term(nest *n, uint32_t tensor, const eg_type *type,
                      const eg_labels *term) {
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_type_strides(type, strides);
  for (uint32_t d = 0; d < term->rank; d++) {
    int64_t *stride = &n->strides[tensor][term->label[d]];
    if (type->dims[d] == 1) continue; // broadcast, or nowhere to go
    n->has_diagonal = n->has_diagonal || *stride != 0;
    *stride += strides[d];
  }
}

static egraph_status read_nest(eg_cuda_builder *builder, nest *out) {
  const eg_node_spec *spec = builder->spec;
  eg_labels terms[EG_LOOP_TENSORS - 1];
  eg_einsum einsum = {.operands = terms};
  if (spec->input_count >= EG_LOOP_TENSORS)
    return eg_cuda_refuse(builder, "more than three operands");
  EG_TRY(eg_einsum_labels(spec->attrs, spec->inputs, spec->input_count, &einsum));
  *out = (nest){.tensors = spec->input_count + 1};
  note_term(out, RESULT, &spec->results[0], &einsum.result);
  for (uint32_t d = 0; d < einsum.result.rank; d++)
    out->is_result[einsum.result.label[d]] = true;
  for (uint32_t i = 0; i < spec->input_count; i++)
    note_term(out, i + 1, &spec->inputs[i], &terms[i]);
  for (uint32_t l = 0; l < EG_MAX_LABELS; l++) {
    if (einsum.sizes[l] == 0) continue; // not in use
    out->sizes[l] = einsum.sizes[l];
    out->labels = l + 1;
  }
  return EGRAPH_OK;
}

// ---- as a product ---------------------------------------------------------------

/// Labels of a kind, outermost first.
typedef struct group {
  uint32_t count;
  uint32_t labels[EG_MAX_LABELS];
  int64_t size;
} group;

typedef struct factors {
  group batch, rows, columns, summed;
} factors;

/// Adds a label where the strides of `tensor` put it.
static void add_label(const nest *n, uint32_t tensor, uint32_t label, group *inout) {
  uint32_t at = inout->count++;
  const int64_t *strides = n->strides[tensor];
  for (; at > 0 && strides[inout->labels[at - 1]] < strides[label]; at--)
    inout->labels[at] = inout->labels[at - 1];
  inout->labels[at] = label;
  inout->size *= n->sizes[label];
}

/// False when some label is of no kind.
static bool find_factors(const nest *n, factors *out) {
  *out = (factors){{.size = 1}, {.size = 1}, {.size = 1}, {.size = 1}};
  if (n->tensors != 3 || n->has_diagonal) return false;
  for (uint32_t l = 0; l < n->labels; l++) {
    bool in_a = n->strides[A][l] != 0, in_b = n->strides[B][l] != 0;
    if (n->sizes[l] <= 1) continue;
    if (!in_a && !in_b) return false;
    if (n->is_result[l])
      add_label(n, RESULT, l,
                in_a && in_b ? &out->batch
                : in_a       ? &out->rows
                             : &out->columns);
    else if (in_a && in_b)
      add_label(n, A, l, &out->summed);
    else
      return false;
  }
  return true;
}

/// The step from element to element of a group that is one dimension of a tensor.
static bool step_of(const nest *n, uint32_t tensor, const group *g, int64_t *out) {
  const int64_t *strides = n->strides[tensor];
  *out = 0;
  for (uint32_t i = 0; i < g->count; i++) {
    uint32_t label = g->labels[i];
    if (i != 0 && *out != strides[label] * n->sizes[label]) return false;
    *out = strides[label];
  }
  return true;
}

/// Whether a tensor is a batch of matrices, and how they are stored.
static bool is_matrix(const nest *n, uint32_t tensor, const group *rows,
                      const group *columns, int64_t *out_step, bool *out_is_turned) {
  int64_t down, along;
  if (!step_of(n, tensor, rows, &down) || !step_of(n, tensor, columns, &along))
    return false;
  bool is_row_major =
      (along == 1 || columns->size == 1) && (rows->size == 1 || down >= columns->size);
  bool is_turned =
      (down == 1 || rows->size == 1) && (columns->size == 1 || along >= rows->size);
  *out_is_turned = !is_row_major;
  *out_step = is_row_major ? down : along;
  return is_row_major || is_turned;
}

/// A tensor's labels in the order batch, rows, columns, packed.
static eg_block packed_block(const nest *n, const factors *f, const group *rows,
                             const group *columns, uint32_t *out_labels,
                             uint32_t *out_count) {
  const group *groups[] = {&f->batch, rows, columns};
  eg_block block = {.offset = 0};
  int64_t stride = 1;
  *out_count = 0;
  for (uint32_t g = 0; g < 3; g++)
    for (uint32_t i = 0; i < groups[g]->count; i++)
      out_labels[(*out_count)++] = groups[g]->labels[i];
  for (uint32_t i = *out_count; i-- > 0;) {
    block.strides[i] = stride;
    stride *= n->sizes[out_labels[i]];
  }
  return block;
}

/// A copy of a tensor between where it lies and packed scratch memory, which takes its
/// place in the nest.
static egraph_status add_packing(eg_cuda_builder *builder, nest *n, uint32_t tensor,
                                 const factors *f, const group *rows,
                                 const group *columns, eg_device_place own,
                                 eg_device_place scratch) {
  uint32_t labels[EG_MAX_LABELS], count;
  eg_block packed = packed_block(n, f, rows, columns, labels, &count);
  eg_block lying = {.place = own};
  int64_t dims[EG_MAX_LABELS];
  packed.place = scratch;
  for (uint32_t i = 0; i < count; i++) {
    dims[i] = n->sizes[labels[i]];
    lying.strides[i] = n->strides[tensor][labels[i]];
    n->strides[tensor][labels[i]] = packed.strides[i];
  }
  bool is_result = tensor == RESULT;
  return eg_cuda_add_move(builder, count, dims,
                          eg_dtype_bytes(builder->spec->results[0].dtype),
                          is_result ? &lying : &packed, is_result ? &packed : &lying);
}

static egraph_status add_operand(eg_cuda_builder *builder, nest *n, uint32_t tensor,
                                 const factors *f, const group *rows,
                                 const group *columns, eg_device_place *out_place,
                                 int64_t *out_step, bool *out_is_turned) {
  *out_place = eg_device_operand(tensor - 1);
  if (is_matrix(n, tensor, rows, columns, out_step, out_is_turned)) return EGRAPH_OK;
  *out_place =
      eg_cuda_scratch(builder, eg_type_bytes(&builder->spec->inputs[tensor - 1]));
  EG_TRY(add_packing(builder, n, tensor, f, rows, columns, eg_device_operand(tensor - 1),
                     *out_place));
  (void)is_matrix(n, tensor, rows, columns, out_step, out_is_turned);
  return EGRAPH_OK;
}

/// result = a b, with the result row-major as the product sees it.
static egraph_status add_stages(eg_cuda_builder *builder, nest *n, const factors *f,
                                uint32_t a, uint32_t b) {
  const eg_type *result = &builder->spec->results[0];
  eg_product product = {.m = f->rows.size,
                        .n = f->columns.size,
                        .k = f->summed.size,
                        .batch = {.tensors = 3},
                        .dtype = result->dtype,
                        .alpha = 1.0};
  eg_device_place places[3] = {eg_device_result(0)};
  nest lying = *n;
  bool is_turned, is_packed;
  EG_TRY(add_operand(builder, n, a, f, &f->rows, &f->summed, &places[1], &product.step_a,
                     &product.trans_a));
  EG_TRY(add_operand(builder, n, b, f, &f->summed, &f->columns, &places[2],
                     &product.step_b, &product.trans_b));
  is_packed =
      !is_matrix(n, RESULT, &f->rows, &f->columns, &product.step_result, &is_turned) ||
      is_turned;
  if (is_packed) {
    uint32_t labels[EG_MAX_LABELS], count;
    eg_block packed = packed_block(n, f, &f->rows, &f->columns, labels, &count);
    places[0] = eg_cuda_scratch(builder, eg_type_bytes(result));
    for (uint32_t i = 0; i < count; i++)
      n->strides[RESULT][labels[i]] = packed.strides[i];
    product.step_result = f->columns.size;
  }
  for (uint32_t i = 0; i < f->batch.count; i++) {
    uint32_t l = f->batch.labels[i];
    eg_loop_add(&product.batch, n->sizes[l],
                (int64_t[]){n->strides[RESULT][l], n->strides[a][l], n->strides[b][l]});
  }
  EG_TRY(eg_cuda_add_product(builder, &product, places));
  if (!is_packed) return EGRAPH_OK;
  return add_packing(builder, &lying, RESULT, f, &f->rows, &f->columns,
                     eg_device_result(0), places[0]);
}

static egraph_status add_as_product(eg_cuda_builder *builder, nest n) {
  factors f;
  int64_t step;
  bool is_turned;
  if (!find_factors(&n, &f)) return eg_cuda_refuse(builder, "it is no matrix product");
  // A turned result is a row-major one of bT aT.
  if (!is_matrix(&n, RESULT, &f.rows, &f.columns, &step, &is_turned) || !is_turned)
    return add_stages(builder, &n, &f, A, B);
  factors turned = {f.batch, f.columns, f.rows, f.summed};
  return add_stages(builder, &n, &turned, B, A);
}

// ---- as a loop ------------------------------------------------------------------

static egraph_status run_contraction(const eg_cuda_device *device, const void *payload,
                                     void *const *addresses) {
  return eg_cuda_check(eg_launch_contraction(payload, addresses, device->stream),
                       "contraction kernel");
}

static egraph_status add_loop(eg_cuda_builder *builder, const nest *n) {
  const eg_type *result = &builder->spec->results[0];
  eg_contraction work = {.operands = (int32_t)n->tensors - 1,
                         .dtype = (int32_t)result->dtype};
  eg_loop_plan kept = {.tensors = n->tensors}, folded = {.tensors = n->tensors};
  eg_device_place places[EG_LOOP_TENSORS] = {eg_device_result(0)};
  eg_compute compute;
  if (!eg_accumulation_of(result->dtype, &compute))
    return eg_cuda_refuse(builder, "its element type");
  work.compute = (int32_t)compute;
  for (uint32_t l = 0; l < n->labels; l++)
    if (n->sizes[l] > 1)
      eg_loop_add(n->is_result[l] ? &kept : &folded, n->sizes[l],
                  (int64_t[]){n->strides[0][l], n->strides[1][l], n->strides[2][l],
                              n->strides[3][l]});
  if (!eg_loop_merge(&kept, &work.kept) || !eg_loop_merge(&folded, &work.folded))
    return eg_cuda_refuse(builder, "too many dimensions");
  for (uint32_t i = 1; i < n->tensors; i++)
    places[i] = eg_device_operand(i - 1);
  builder->kernel = "CUDA contraction";
  return eg_cuda_add(builder, run_contraction, &work, sizeof work, NULL, places,
                     n->tensors);
}

egraph_status eg_cuda_einsum(eg_cuda_builder *builder) {
  const eg_cuda_builder mark = *builder;
  nest n;
  EG_TRY(read_nest(builder, &n));
  egraph_status status = add_as_product(builder, n);
  if (status != EGRAPH_E_UNSUPPORTED) return status;
  eg_cuda_rewind(builder, &mark);
  return add_loop(builder, &n);
}
