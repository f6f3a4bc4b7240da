// Emits nodes: attributes are on the stack, types come from the holder.
// SPDX-License-Identifier: Apache-2.0
#include "ops/build.h"

#include <assert.h>
#include <string.h>

#include "ops/meaning.h"
#include "ops/typing.h"

enum { MAX_SLOTS = 12 };

static eg_attr dtype_attr(egraph_dtype dtype) {
  return (eg_attr){.kind = EG_ATTR_DTYPE, .i = (int64_t)dtype};
}

void eg_build_keep(eg_builder *b, egraph_status status) {
  if (b->status == EGRAPH_OK) b->status = status;
}

const eg_type *eg_build_type(eg_builder *b, eg_ref value) {
  static const eg_type scalar = {.dtype = EGRAPH_FLOAT32};
  return eg_ref_exists(value) ? b->type_of(b->self, value) : &scalar;
}

void eg_build_results(eg_builder *b, eg_op op, const eg_attr *slots, const eg_ref *inputs,
                      uint32_t count, eg_ref *out_results) {
  eg_attr defaults[MAX_SLOTS];
  const eg_op_info *info = eg_op_info_of(op);
  assert(info->attr_count <= MAX_SLOTS);
  eg_attrs attrs = {.op = (uint16_t)op,
                    .count = info->attr_count,
                    .slots = slots != NULL ? slots : defaults};
  if (slots == NULL) eg_attrs_defaults(op, defaults);
  for (uint32_t i = 0; i < eg_op_results(&attrs); i++)
    out_results[i] = EG_REF_NONE;
  for (uint32_t i = 0; b->status == EGRAPH_OK && i < count; i++)
    assert(eg_ref_exists(inputs[i]) && "only a failure leaves values out");
  if (b->status == EGRAPH_OK)
    b->status = b->emit(b->self, &attrs, inputs, count, out_results);
}

eg_ref eg_build_node(eg_builder *b, eg_op op, const eg_attr *slots, const eg_ref *inputs,
                     uint32_t count) {
  eg_ref result;
  eg_build_results(b, op, slots, inputs, count, &result);
  return result;
}

eg_ref eg_build_formula_of(eg_builder *b, const char *formula, const eg_attrs *attrs,
                           const char *names, const eg_ref *values) {
  eg_formula f;
  eg_ref made[EG_FORMULA_TERMS];
  eg_formula_read(formula, names, attrs != NULL ? (eg_op)attrs->op : EG_OP_COUNT, &f);
  for (uint32_t i = 0; i < f.count; i++) {
    const eg_formula_term *t = &f.terms[i];
    eg_ref operands[EG_FORMULA_OPERANDS];
    for (uint32_t k = 0; k < t->count; k++)
      operands[k] = made[t->kids[k]];
    switch (t->kind) {
    case EG_FORMULA_OPERAND: made[i] = values[t->which]; break;
    case EG_FORMULA_NUMBER: made[i] = eg_build_number(b, t->number); break;
    case EG_FORMULA_ATTR:
      assert(attrs != NULL && attrs->slots[t->which].kind == EG_ATTR_FLOAT);
      made[i] = eg_build_number(b, attrs->slots[t->which].f);
      break;
    case EG_FORMULA_CALL:
      made[i] = eg_build_node(b, t->op, NULL, operands, t->count);
      break;
    }
  }
  return made[f.count - 1];
}

eg_ref eg_build_formula(eg_builder *b, const char *formula, const char *names,
                        const eg_ref *values) {
  return eg_build_formula_of(b, formula, NULL, names, values);
}

bool eg_formula_uses(const char *formula, char name) {
  for (const char *at = formula; *at != '\0';) {
    size_t length = strcspn(at, " ()");
    if (length == 1 && *at == name) return true;
    at += length != 0 ? length : 1;
  }
  return false;
}

eg_ref eg_build_fill(eg_builder *b, const eg_type *type, double value) {
  const eg_attr slots[] = {dtype_attr(type->dtype),
                           eg_ints_attr(type->dims, type->rank),
                           {.kind = EG_ATTR_FLOAT, .f = value}};
  return eg_build_node(b, EG_OP_FILL, slots, NULL, 0);
}

eg_ref eg_build_number(eg_builder *b, double value) {
  eg_type scalar = {.dtype = b->dtype};
  return eg_build_fill(b, &scalar, value);
}

eg_ref eg_build_range(eg_builder *b, int64_t n) {
  assert(n >= 0);
  eg_type type = eg_type_of(EGRAPH_INT64, 1, &n), scalar = {.dtype = EGRAPH_INT64};
  eg_ref ones = eg_build_fill(b, &type, 1), one = eg_build_fill(b, &scalar, 1);
  const eg_attr slots[] = {eg_int_attr(0), eg_int_attr(0), eg_int_attr(0)};
  eg_ref counts = eg_build_node(b, EG_OP_CUM_SUM, slots, &ones, 1);
  return EG_BUILD(b, EG_OP_SUB, counts, one);
}

eg_ref eg_build_cast(eg_builder *b, eg_ref x, egraph_dtype dtype) {
  const eg_attr to = dtype_attr(dtype);
  if (b->status != EGRAPH_OK || eg_build_type(b, x)->dtype == dtype) return x;
  return eg_build_node(b, EG_OP_CAST, &to, &x, 1);
}

static bool has_shape(eg_builder *b, eg_ref x, uint32_t rank, const int64_t *dims) {
  eg_type type = eg_type_of(EGRAPH_FLOAT32, rank, dims);
  return eg_type_same_shape(eg_build_type(b, x), &type);
}

eg_ref eg_build_reshape(eg_builder *b, eg_ref x, uint32_t rank, const int64_t *dims) {
  const eg_attr shape = eg_ints_attr(dims, rank);
  if (b->status != EGRAPH_OK || has_shape(b, x, rank, dims)) return x;
  return eg_build_node(b, EG_OP_RESHAPE, &shape, &x, 1);
}

eg_ref eg_build_expand(eg_builder *b, eg_ref x, const eg_type *to) {
  const eg_attr shape = eg_ints_attr(to->dims, to->rank);
  if (b->status != EGRAPH_OK || has_shape(b, x, to->rank, to->dims)) return x;
  return eg_build_node(b, EG_OP_EXPAND, &shape, &x, 1);
}

eg_ref eg_build_transpose(eg_builder *b, eg_ref x, const int64_t *perm) {
  assert(perm != NULL);
  const eg_attr slot = eg_ints_attr(perm, eg_build_type(b, x)->rank);
  return eg_build_node(b, EG_OP_TRANSPOSE, &slot, &x, 1);
}

eg_ref eg_build_slice(eg_builder *b, eg_ref x, const int64_t *starts, const int64_t *ends,
                      const int64_t *steps) {
  uint32_t rank = eg_build_type(b, x)->rank;
  int64_t ones[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    ones[i] = 1;
  const eg_attr slots[] = {eg_ints_attr(starts, rank), eg_ints_attr(ends, rank),
                           eg_ints_attr(steps != NULL ? steps : ones, rank)};
  return eg_build_node(b, EG_OP_SLICE, slots, &x, 1);
}

eg_ref eg_build_pad(eg_builder *b, eg_ref x, const int64_t *begins, const int64_t *ends) {
  uint32_t rank = eg_build_type(b, x)->rank;
  int64_t pads[2 * EGRAPH_MAX_RANK], any = 0;
  for (uint32_t i = 0; i < rank; i++) {
    pads[i] = begins[i];
    pads[rank + i] = ends[i];
    any |= begins[i] | ends[i];
  }
  eg_attr slots[MAX_SLOTS];
  eg_attrs_defaults(EG_OP_PAD, slots);
  slots[EG_A_PAD_PADS - EG_A_BASE_PAD] = eg_ints_attr(pads, 2 * rank);
  return any == 0 ? x : eg_build_node(b, EG_OP_PAD, slots, &x, 1);
}

eg_ref eg_build_reduce(eg_builder *b, eg_op op, eg_ref x, uint32_t dims, bool keep) {
  assert(op == EG_OP_REDUCE_SUM || op == EG_OP_REDUCE_MEAN || op == EG_OP_REDUCE_MAX ||
         op == EG_OP_REDUCE_MIN || op == EG_OP_REDUCE_PROD);
  int64_t axes[EGRAPH_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < EGRAPH_MAX_RANK; i++)
    if ((dims >> i & 1) != 0) axes[count++] = i;
  const eg_attr slots[] = {eg_ints_attr(axes, count), eg_int_attr(keep), eg_int_attr(0)};
  return count == 0 ? x : eg_build_node(b, op, slots, &x, 1);
}

// Sums first over the dimensions that `type` lacks, then over those in which `type`
// has 1.
eg_ref eg_build_sum_to(eg_builder *b, eg_ref x, const eg_type *type) {
  if (b->status != EGRAPH_OK) return EG_REF_NONE;
  const eg_type *from = eg_build_type(b, x);
  assert(from->rank >= type->rank);
  uint32_t lead = from->rank - type->rank, stretched = 0;
  for (uint32_t i = 0; i < type->rank; i++)
    if (type->dims[i] != from->dims[lead + i]) stretched |= UINT32_C(1) << i;
  eg_ref sum = eg_build_reduce(b, EG_OP_REDUCE_SUM, x, eg_operand_bits(lead), false);
  return eg_build_reduce(b, EG_OP_REDUCE_SUM, sum, stretched, true);
}

// ---- contractions ---------------------------------------------------------------

static void append_labels(eg_text *text, const eg_labels *labels) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (uint32_t i = 0; i < labels->rank; i++) {
    assert(labels->label[i] < EG_MAX_LABELS);
    eg_text_append_bytes(text, &letters[labels->label[i]], 1);
  }
}

// Removes the dimensions of x that broadcasting stretches.
static eg_ref without_stretched(eg_builder *b, eg_ref x, const int64_t *sizes,
                                const eg_labels *labels, eg_labels *out) {
  int64_t dims[EGRAPH_MAX_RANK];
  const eg_type *type = eg_build_type(b, x);
  *out = (eg_labels){.rank = 0};
  for (uint32_t i = 0; i < labels->rank; i++) {
    if (type->dims[i] != sizes[labels->label[i]]) continue;
    dims[out->rank] = type->dims[i];
    out->label[out->rank++] = labels->label[i];
  }
  return eg_build_reshape(b, x, out->rank, dims);
}

static eg_ref emit_einsum(eg_builder *b, const eg_ref *operands, const eg_labels *labels,
                          uint32_t count, const eg_labels *to) {
  EG_LOCAL(eg_text, text, b->alloc);
  for (uint32_t i = 0; i < count; i++) {
    if (i != 0) eg_text_append(&text, ",");
    append_labels(&text, &labels[i]);
  }
  eg_text_append(&text, "->");
  append_labels(&text, to);
  eg_build_keep(b, eg_text_status(&text));
  const eg_attr equation = {.kind = EG_ATTR_STRING, .text = eg_text_of(&text)};
  return eg_build_node(b, EG_OP_EINSUM, &equation, operands, count);
}

/// A product of labelled operands, without dimensions that broadcasting stretches.
typedef struct contraction {
  eg_ref *operands; // [count], and room for one more for each dimension of the result
  eg_labels *labels;
  uint32_t count, label_count;
  eg_labels to;
  int64_t sizes[EG_MAX_LABELS];
} contraction;

// Makes diagonals: if the result has a label twice, gives its second dimension a new
// label, and adds an identity matrix as operand that makes the new label equal to the
// old one.
static void untie_diagonals(eg_builder *b, contraction *c, egraph_dtype dtype) {
  for (uint32_t d = 0; d < c->to.rank; d++)
    for (uint32_t e = 0; e < d; e++) {
      if (c->to.label[e] != c->to.label[d]) continue;
      assert(c->label_count < EG_MAX_LABELS);
      uint8_t tied = (uint8_t)c->label_count++;
      c->sizes[tied] = c->sizes[c->to.label[d]];
      const eg_attr slots[] = {dtype_attr(dtype), eg_int_attr(c->sizes[tied])};
      c->operands[c->count] = eg_build_node(b, EG_OP_EYE, slots, NULL, 0);
      c->labels[c->count++] = (eg_labels){.rank = 2, .label = {c->to.label[d], tied}};
      c->to.label[d] = tied;
      break;
    }
}

// Emits the einsum over the labels that operands have, then a reshape that gives all
// other labels size 1, then an expand that repeats them.
static eg_ref finish_contraction(eg_builder *b, const contraction *c,
                                 const eg_type *type) {
  uint64_t known = 0;
  eg_labels kept = {.rank = 0};
  eg_type shape = *type;
  for (uint32_t i = 0; i < c->count; i++)
    for (uint32_t d = 0; d < c->labels[i].rank; d++)
      known |= UINT64_C(1) << c->labels[i].label[d];
  for (uint32_t d = 0; d < c->to.rank; d++) {
    uint8_t label = c->to.label[d];
    bool keeps = (known >> label & 1) != 0 && type->dims[d] == c->sizes[label];
    if (keeps) kept.label[kept.rank++] = label;
    if (!keeps) shape.dims[d] = 1;
  }
  eg_ref result = emit_einsum(b, c->operands, c->labels, c->count, &kept);
  result = eg_build_reshape(b, result, shape.rank, shape.dims);
  return eg_build_expand(b, result, type);
}

static uint32_t count_labels(const eg_labels *labels, uint32_t least) {
  for (uint32_t d = 0; d < labels->rank; d++)
    if (labels->label[d] >= least) least = labels->label[d] + UINT32_C(1);
  return least;
}

eg_ref eg_build_contract(eg_builder *b, const eg_ref *operands, const eg_labels *labels,
                         uint32_t count, const int64_t *sizes, const eg_labels *to,
                         const eg_type *type) {
  assert(count > 0 && to->rank <= EGRAPH_MAX_RANK);
  contraction c = {.count = count, .to = *to};
  size_t room = (size_t)count + to->rank;
  eg_ref result = EG_REF_NONE;
  eg_build_keep(b, eg_alloc(b->alloc, room, sizeof *c.operands, &c.operands));
  eg_build_keep(b, eg_alloc(b->alloc, room, sizeof *c.labels, &c.labels));
  if (b->status == EGRAPH_OK) {
    c.label_count = count_labels(to, 0);
    for (uint32_t i = 0; i < count; i++)
      c.label_count = count_labels(&labels[i], c.label_count);
    memcpy(c.sizes, sizes, c.label_count * sizeof *sizes);
    for (uint32_t i = 0; i < count; i++)
      c.operands[i] = without_stretched(b, operands[i], sizes, &labels[i], &c.labels[i]);
    untie_diagonals(b, &c, type->dtype);
    if (b->status == EGRAPH_OK) result = finish_contraction(b, &c, type);
  }
  eg_free(b->alloc, c.labels, room, sizeof *c.labels);
  eg_free(b->alloc, c.operands, room, sizeof *c.operands);
  return result;
}
