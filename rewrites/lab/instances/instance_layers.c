// Draws operands of operators that few random shapes fit: all operands of a node together
// before the terms are drawn, and again when they do not fit what was drawn. An einsum
// equation that the rule leaves open is drawn with them.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/lab/instances/instance_draw_internal.h"

typedef void layer_maker(eg_verify_choice *choice, const eg_rule_term *term,
                         const eg_type *first, eg_type *out);
#define LAYER_MAKER(name)                                                                \
  static void name(EG_MAYBE_UNUSED eg_verify_choice *choice,                             \
                   EG_MAYBE_UNUSED const eg_rule_term *term,                             \
                   EG_MAYBE_UNUSED const eg_type *first, eg_type *out)

static int64_t literal(const eg_rule_term *term, const char *name, int64_t other) {
  uint16_t slot;
  bool is_known = eg_op_find_attr(term->op, name, &slot) &&
                  term->slots[slot].form == EG_RULE_SLOT_LITERAL;
  return is_known ? term->slots[slot].literal.i : other;
}

/// Draws a small size, seldom 1, because a size of 1 hides many mistakes.
static int64_t some(eg_verify_choice *choice) {
  static const int64_t sizes[] = {1, 2, 2, 2, 3, 3, 3};
  return sizes[eg_verify_below(choice, 7)];
}

static egraph_dtype float_of(const eg_verify_choice *choice) {
  return eg_dtype_is_float(choice->dtype) ? choice->dtype : EGRAPH_FLOAT64;
}

static egraph_dtype byte_of(eg_verify_choice *choice) {
  if (choice->dtype == EGRAPH_INT8 || choice->dtype == EGRAPH_UINT8) return choice->dtype;
  return eg_verify_chance(choice, 50) ? EGRAPH_INT8 : EGRAPH_UINT8;
}

static eg_type shaped(egraph_dtype dtype, uint32_t rank, int64_t a, int64_t b,
                      int64_t c) {
  return eg_type_of(dtype, rank, (const int64_t[]){a, b, c});
}

/// Returns the type of a scalar, or of a vector with `size` elements.
static eg_type scalar_or(eg_verify_choice *choice, egraph_dtype dtype, int64_t size) {
  return shaped(dtype, eg_verify_chance(choice, 50), size, 0, 0);
}

// ---- recurrent layers -----------------------------------------------------------------

enum { BIDIRECTIONAL = 2 }; // the order of the attribute's symbols

LAYER_MAKER(recurrent_operands) {
  bool is_lstm = term->op == EG_OP_LSTM, has_x = first != NULL && first->rank == 3;
  uint32_t lengths = is_lstm ? 7 : 5, gates = is_lstm ? 4 : term->op == EG_OP_GRU ? 3 : 1;
  egraph_dtype dtype = has_x ? first->dtype : float_of(choice);
  int64_t both = literal(term, "direction", eg_verify_chance(choice, 70) ? 0 : 2);
  int64_t directions = both == BIDIRECTIONAL ? 2 : 1, hidden = some(choice);
  bool swaps = literal(term, "layout", eg_verify_below(choice, 2)) != 0;
  int64_t steps = term->child_count > lengths ? 3 : some(choice), batch = some(choice);
  if (eg_verify_chance(choice, 10)) steps = batch = directions; // all layouts need types
  int64_t rows = gates * hidden;
  out[0] = shaped(dtype, 3, swaps ? batch : steps, swaps ? steps : batch, some(choice));
  if (has_x) out[0] = *first;
  batch = out[0].dims[swaps ? 0 : 1];
  out[1] = shaped(dtype, 3, directions, rows, out[0].dims[2]);
  out[2] = shaped(dtype, 3, directions, rows, hidden);
  out[3] = shaped(dtype, 2, directions, 2 * rows, 0);
  out[4] =
      shaped(dtype, 3, swaps ? batch : directions, swaps ? directions : batch, hidden);
  out[5] = out[4];
  out[6] = shaped(dtype, 2, directions, 3 * hidden, 0);
  out[lengths] = shaped(EGRAPH_INT32, 1, batch, 0, 0);
}

// ---- quantized numbers ----------------------------------------------------------------

LAYER_MAKER(quantize_operands) {
  bool is_back = term->op == EG_OP_DEQUANTIZE_LINEAR;
  egraph_dtype dtype = float_of(choice), whole = byte_of(choice);
  if (eg_verify_chance(choice, 25))
    whole = whole == EGRAPH_INT8 ? EGRAPH_INT16 : EGRAPH_UINT16;
  out[0] = shaped(is_back ? whole : dtype, 1 + eg_verify_below(choice, 3), some(choice),
                  some(choice), some(choice));
  if (first != NULL) out[0] = *first;
  if (is_back) whole = out[0].dtype;
  int64_t block = literal(term, "block_size", 0), rank = out[0].rank;
  int64_t axis = literal(term, "axis", eg_verify_below(choice, 2));
  if (axis < 0) axis += rank;
  int64_t size = axis >= 0 && axis < rank ? out[0].dims[axis] : 1;
  out[1] = scalar_or(choice, dtype, size);
  if (block > 0) {
    out[1] = out[0];
    out[1].dtype = dtype;
    if (axis >= 0 && axis < rank)
      out[1].dims[axis] = (out[1].dims[axis] + block - 1) / block;
  }
  out[2] = out[1];
  out[2].dtype = whole;
}

LAYER_MAKER(product_operands) {
  egraph_dtype dtype = float_of(choice), x = byte_of(choice), w = byte_of(choice);
  out[0] = shaped(x, 2, some(choice), some(choice), 0);
  if (first != NULL && first->rank == 2) out[0] = *first;
  int64_t rows = out[0].dims[0], columns = some(choice);
  out[1] = scalar_or(choice, dtype, rows);
  out[2] = scalar_or(choice, out[0].dtype, rows);
  out[3] = shaped(w, 2, out[0].dims[1], columns, 0);
  out[4] = scalar_or(choice, dtype, columns);
  out[5] = scalar_or(choice, w, columns);
  out[6] = scalar_or(choice, dtype, rows);
  out[7] = scalar_or(choice, byte_of(choice), rows);
}

/// Draws one or two images for an image product, and filters with up to three positions.
LAYER_MAKER(image_product_operands) {
  egraph_dtype dtype = float_of(choice), x = byte_of(choice), w = byte_of(choice);
  int64_t group = literal(term, "group", 1), places = 1 + eg_verify_below(choice, 3);
  if (group < 1) group = 1;
  out[0] = shaped(x, 3, 1 + eg_verify_below(choice, 2), group * some(choice),
                  places + eg_verify_below(choice, 4));
  if (eg_verify_chance(choice, 60))
    out[0].dims[out[0].rank++] = places + eg_verify_below(choice, 4);
  if (first != NULL && first->rank > 2) out[0] = *first;
  int64_t filters = group * some(choice);
  out[1] = shaped(dtype, 0, 0, 0, 0);
  out[2] = shaped(out[0].dtype, 0, 0, 0, 0);
  out[3] = shaped(w, 2, filters, out[0].dims[1] / group, 0);
  while (out[3].rank < out[0].rank)
    out[3].dims[out[3].rank++] = places;
  out[4] = scalar_or(choice, dtype, filters);
  out[5] = scalar_or(choice, w, filters);
  out[6] = shaped(dtype, 0, 0, 0, 0);
  out[7] = shaped(byte_of(choice), 0, 0, 0, 0);
  out[8] = shaped(EGRAPH_INT32, 1, filters, 0, 0);
}

// ---- places in images -----------------------------------------------------------------

enum { IMAGES = 4 }; // larger than the indices of ordinary data

LAYER_MAKER(roi_operands) {
  int64_t regions = some(choice), side = 2 + eg_verify_below(choice, 4);
  out[0] = shaped(float_of(choice), 3, IMAGES, some(choice), side);
  out[0].dims[out[0].rank++] = 2 + eg_verify_below(choice, 4);
  if (first != NULL) out[0] = *first;
  out[1] = shaped(out[0].dtype, 2, regions, 4, 0);
  out[2] = shaped(EGRAPH_INT64, 1, regions, 0, 0);
}

LAYER_MAKER(unpool_operands) {
  out[0] = shaped(float_of(choice), 3, some(choice), some(choice), some(choice));
  if (eg_verify_chance(choice, 60)) out[0].dims[out[0].rank++] = some(choice);
  if (first != NULL) out[0] = *first;
  out[1] = out[0];
  out[1].dtype = EGRAPH_INT64;
}

static eg_type some_table(eg_verify_choice *choice, const eg_type *first, uint32_t rank) {
  if (first != NULL) return *first;
  eg_type table = {.dtype = choice->dtype, .rank = rank + eg_verify_below(choice, 3)};
  for (uint32_t i = 0; i < table.rank; i++)
    table.dims[i] = some(choice);
  return table;
}

/// Draws operands of a gather's gradient; in its cotangent, index dimensions replace
/// the axis.
LAYER_MAKER(gather_grad_operands) {
  uint32_t axis = (uint32_t)literal(term, "axis", eg_verify_below(choice, 2));
  uint32_t count = eg_verify_below(choice, 3);
  eg_type *read = &out[0], *indices = &out[1];
  *read = (eg_type){.dtype = float_of(choice), .rank = 1 + eg_verify_below(choice, 4)};
  for (uint32_t i = 0; i < read->rank; i++)
    read->dims[i] = some(choice);
  if (first != NULL) *read = *first;
  *indices = (eg_type){.dtype = EGRAPH_INT64};
  for (uint32_t i = axis; i < read->rank && indices->rank < count; i++)
    indices->dims[indices->rank++] = read->dims[i];
}

/// Draws a table, indices of its elements, and updates.
LAYER_MAKER(element_operands) {
  out[0] = some_table(choice, first, 1);
  out[1] = out[0];
  out[1].dtype = eg_verify_chance(choice, 70) ? EGRAPH_INT64 : EGRAPH_INT32;
  for (uint32_t i = 0; i < out[1].rank; i++)
    if (out[1].dims[i] > 1 && eg_verify_chance(choice, 25)) out[1].dims[i]--;
  out[2] = out[1];
  out[2].dtype = out[0].dtype;
}

enum { MOST_BATCH = 3 };

/// Draws a table, tuples of indices into it, and updates. The table begins with the
/// batch dimensions.
LAYER_MAKER(tuple_operands) {
  uint32_t open = eg_verify_chance(choice, 50) ? 0 : 1 + eg_verify_below(choice, 2);
  int64_t batch = literal(term, "batch_dims", open);
  if (batch < 0 || batch > MOST_BATCH) batch = 0;
  out[0] = some_table(choice, first, 1 + (uint32_t)batch);
  out[1] = (eg_type){.dtype = EGRAPH_INT64};
  for (uint32_t i = 0; i < batch && i < out[0].rank; i++)
    out[1].dims[out[1].rank++] = out[0].dims[i];
  if (eg_verify_chance(choice, 60)) out[1].dims[out[1].rank++] = some(choice);
  uint32_t left = out[0].rank > batch ? out[0].rank - (uint32_t)batch : 0;
  uint32_t length = left > 0 ? 1 + eg_verify_below(choice, left) : 0;
  out[2] = out[1]; // the dimensions to which the tuples point come after their own
  out[2].dtype = out[0].dtype;
  out[1].dims[out[1].rank++] = length;
  for (uint32_t i = (uint32_t)batch + length; i < out[0].rank; i++)
    if (out[2].rank < EGRAPH_MAX_RANK) out[2].dims[out[2].rank++] = out[0].dims[i];
}

LAYER_MAKER(sequence_operands) {
  out[0] = some_table(choice, first, 2);
  int64_t axis = literal(term, "batch_axis", eg_verify_below(choice, 2));
  if (axis < 0) axis += out[0].rank;
  bool is_axis = axis >= 0 && axis < (int64_t)out[0].rank;
  out[1] = shaped(EGRAPH_INT64, 1, is_axis ? out[0].dims[axis] : 1, 0, 0);
}

// ---- sums of products -----------------------------------------------------------------

/// Returns a type of a x b matrices with batch dimensions; replaces some of these by 1.
static eg_type matrices(eg_verify_choice *choice, const eg_type *batch, int64_t a,
                        int64_t b) {
  eg_type type = *batch;
  for (uint32_t i = 0; i < type.rank; i++)
    if (eg_verify_chance(choice, 20)) type.dims[i] = 1;
  type.dims[type.rank++] = a;
  type.dims[type.rank++] = b;
  return type;
}

LAYER_MAKER(matmul_operands) {
  bool swaps_a = literal(term, "transA", 0) != 0,
       swaps_b = literal(term, "transB", 0) != 0;
  int64_t rows = eg_verify_dim(choice), summed = eg_verify_dim(choice),
          columns = eg_verify_dim(choice);
  eg_type batch = {.dtype = choice->dtype};
  batch.rank = eg_verify_chance(choice, 60) ? 0 : 1 + eg_verify_below(choice, 2);
  for (uint32_t i = 0; i < batch.rank; i++)
    batch.dims[i] = some(choice);
  out[0] = matrices(choice, &batch, swaps_a ? summed : rows, swaps_a ? rows : summed);
  if (first != NULL && first->rank > 1) {
    out[0] = *first;
    summed = first->dims[first->rank - (swaps_a ? 2 : 1)];
    batch.rank = 0;
    batch.dtype = first->dtype;
  }
  out[1] =
      matrices(choice, &batch, swaps_b ? columns : summed, swaps_b ? summed : columns);
}

enum { LETTERS = 128, MOST_PRODUCTS = 1500 };

/// Draws the sizes of all letters of an einsum so that few products are summed.
static void draw_letters(eg_verify_choice *choice, const char *equation, int64_t *sizes) {
  int64_t products = MOST_PRODUCTS + 1;
  for (uint32_t tries = 0; products > MOST_PRODUCTS; tries++) {
    for (uint32_t i = 0; i < LETTERS; i++)
      sizes[i] = -1;
    products = 1;
    for (const char *at = equation; *at != '\0'; at++) {
      int64_t *size = &sizes[(unsigned char)*at % LETTERS];
      bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
      if (!is_letter || *size >= 0) continue;
      *size = tries < 20 ? eg_verify_dim(choice) : 1 + eg_verify_below(choice, 2);
      products *= *size;
    }
  }
}

/// Draws operands of an einsum with one size for each letter; `...` covers batch
/// dimensions. A known first operand stays as it is.
LAYER_MAKER(einsum_operands) {
  int64_t sizes[LETTERS];
  const char *at = choice->equation;
  draw_letters(choice, at, sizes);
  eg_type batch = {.dtype = first != NULL ? first->dtype : choice->dtype};
  batch.rank = eg_verify_below(choice, 3);
  for (uint32_t i = 0; i < batch.rank; i++)
    batch.dims[i] = some(choice);
  uint32_t dims = 0;
  for (const char *c = at; first != NULL && *c != ',' && *c != '-' && *c != '\0'; c++)
    if (*c != ' ' && *c != '.' && dims < first->rank)
      sizes[(unsigned char)*c % LETTERS] = first->dims[dims++];
  for (uint32_t i = 0; i < term->child_count; i++, at += *at == ',') {
    out[i] = (eg_type){.dtype = batch.dtype};
    for (; *at != ',' && *at != '-' && *at != '\0'; at++) {
      bool is_batch = at[0] == '.' && at[1] == '.' && at[2] == '.';
      for (uint32_t d = 0; is_batch && d < batch.rank; d++)
        out[i].dims[out[i].rank++] = batch.dims[d];
      if (*at != ' ' && *at != '.' && out[i].rank < EGRAPH_MAX_RANK)
        out[i].dims[out[i].rank++] = sizes[(unsigned char)*at % LETTERS];
    }
  }
  if (first != NULL) out[0] = *first;
}

bool eg_equation_slot(const eg_rule_term *term, uint16_t *out) {
  return eg_op_find_role(term->op, EG_AR_EQUATION, out) &&
         term->slots[*out].form != EG_RULE_SLOT_EXPR;
}

// ---- attention ------------------------------------------------------------------------

/// Draws a mask of scores, some dimensions of which are repeated or left out.
static eg_type draw_mask(eg_verify_choice *choice, const eg_type *scores) {
  eg_type mask = *scores;
  uint32_t out = eg_verify_chance(choice, 60) ? scores->rank - 2 : 0;
  mask.rank -= out;
  for (uint32_t dim = 0; dim < mask.rank; dim++)
    mask.dims[dim] = eg_verify_chance(choice, 15) ? 1 : scores->dims[dim + out];
  if (eg_verify_chance(choice, 50)) mask.dtype = EGRAPH_BOOL;
  return mask;
}

LAYER_MAKER(attention_operands) {
  bool is_grad = term->op == EG_OP_ATTENTION_GRAD;
  eg_type q = {.dtype = float_of(choice),
               .rank = 3 + (uint32_t)eg_verify_below(choice, 3)};
  for (uint32_t dim = 0; dim < q.rank; dim++)
    q.dims[dim] = some(choice);
  if (first != NULL && first->rank > 2) q = *first;
  bool is_rows_first = literal(term, "rows_first", 0) != 0;
  uint32_t head = q.rank - 3 + is_rows_first, row = q.rank - 2 - is_rows_first;
  int64_t columns = some(choice), groups = q.dims[head];
  if (first == NULL && eg_verify_chance(choice, 50)) q.dims[head] *= some(choice);
  eg_type k = q, v = q, scores = q, made = q;
  k.dims[head] = groups;
  k.dims[row] = some(choice);
  v = k;
  v.dims[q.rank - 1] = made.dims[q.rank - 1] = columns;
  scores.dims[q.rank - 3] = q.dims[head];
  scores.dims[q.rank - 2] = q.dims[row];
  scores.dims[q.rank - 1] = k.dims[row];
  if (is_grad) out[0] = made;
  eg_type *operands = out + is_grad;
  operands[0] = q;
  operands[1] = k;
  operands[2] = v;
  operands[is_grad ? 5 : 3] = draw_mask(choice, &scores);
  if (!is_grad) return;
  operands[3] = made;
  operands[4] = eg_type_of(made.dtype == EGRAPH_FLOAT64 ? made.dtype : EGRAPH_FLOAT32,
                           scores.rank - 1, scores.dims);
}

/// Draws x, and tables for some of its pairs, without some of its leading dimensions.
LAYER_MAKER(rope_operands) {
  eg_type x = {.dtype = float_of(choice),
               .rank = 3 + (uint32_t)eg_verify_below(choice, 3)};
  for (uint32_t dim = 0; dim < x.rank; dim++)
    x.dims[dim] = some(choice);
  if (first == NULL && eg_verify_chance(choice, 50)) x.dims[x.rank - 1] *= 2;
  if (first != NULL && first->rank > 2) x = *first;
  bool is_rows_first = literal(term, "rows_first", eg_verify_below(choice, 2)) != 0;
  int64_t each = literal(term, "per_element", eg_verify_below(choice, 2)) != 0 ? 2 : 1;
  int64_t pairs = x.dims[x.rank - 1] / 2;
  if (eg_verify_chance(choice, 40)) pairs = eg_verify_below(choice, (uint32_t)pairs + 1);
  out[0] = x;
  for (uint32_t i = 1; i < 3; i++) {
    uint32_t left = eg_verify_below(choice, x.rank - 2);
    eg_type *table = &out[i];
    *table = eg_type_of(x.dtype, left + 2, x.dims + (x.rank - 3 - left));
    for (uint32_t dim = 0; dim < left; dim++)
      if (eg_verify_chance(choice, 30)) table->dims[dim] = 1;
    table->dims[left] = x.dims[x.rank - (is_rows_first ? 3 : 2)];
    table->dims[left + 1] = each * pairs;
  }
}

// ---- by operator ----------------------------------------------------------------------

/// When operands of a node are drawn together. MADE: if an operand is computed; EQUATION:
/// if the equation is known or drawn. NEVER: operands are chosen one by one.
typedef enum layer_use { NEVER, ALWAYS, MADE, EQUATION } layer_use;

static const struct {
  layer_maker *make;
  layer_use use;
} layers[EG_OP_COUNT] = {[EG_OP_MATMUL] = {matmul_operands, MADE},
                         [EG_OP_EINSUM] = {einsum_operands, EQUATION},
                         [EG_OP_ATTENTION] = {attention_operands, ALWAYS},
                         [EG_OP_ATTENTION_GRAD] = {attention_operands, ALWAYS},
                         [EG_OP_ROPE] = {rope_operands, ALWAYS},
                         [EG_OP_RNN] = {recurrent_operands, ALWAYS},
                         [EG_OP_GRU] = {recurrent_operands, ALWAYS},
                         [EG_OP_LSTM] = {recurrent_operands, ALWAYS},
                         [EG_OP_QUANTIZE_LINEAR] = {quantize_operands, ALWAYS},
                         [EG_OP_DEQUANTIZE_LINEAR] = {quantize_operands, ALWAYS},
                         [EG_OP_QLINEAR_MATMUL] = {product_operands, ALWAYS},
                         [EG_OP_QLINEAR_CONV] = {image_product_operands, ALWAYS},
                         [EG_OP_GATHER_GRAD] = {gather_grad_operands, ALWAYS},
                         [EG_OP_GATHER_ELEMENTS] = {element_operands, ALWAYS},
                         [EG_OP_SCATTER_ELEMENTS] = {element_operands, ALWAYS},
                         [EG_OP_GATHER_ND] = {tuple_operands, ALWAYS},
                         [EG_OP_SCATTER_ND] = {tuple_operands, ALWAYS},
                         [EG_OP_REVERSE_SEQUENCE] = {sequence_operands, ALWAYS},
                         [EG_OP_ROI_ALIGN] = {roi_operands, ALWAYS},
                         [EG_OP_MAX_UNPOOL] = {unpool_operands, ALWAYS}};

bool eg_is_layer(const eg_rule *rule, const eg_rule_term *term) {
  layer_use use = layers[term->op].use;
  bool is_made = false;
  for (uint32_t i = 0; i < term->child_count; i++)
    is_made = is_made || !rule->terms[term->children[i]].is_var;
  uint16_t slot;
  return use == ALWAYS || (use == MADE && is_made) ||
         (use == EQUATION && eg_equation_slot(term, &slot));
}

// ---- draws ----------------------------------------------------------------------------

enum { TRIES_PER_EQUATION = 40 };

static eg_type *operands_of_layer(eg_verify_draws *draws, uint32_t term) {
  return draws->layers + (size_t)term * EG_VERIFY_MAX_OPERANDS;
}

/// Returns the einsum equation that the rule or an earlier term gives, or NULL.
static const char *known_equation(const eg_verify_draws *draws, uint32_t index,
                                  uint16_t slot) {
  const eg_rule_slot *at = &draws->rule->terms[index].slots[slot];
  if (at->form == EG_RULE_SLOT_LITERAL) return at->literal.text;
  if (at->form != EG_RULE_SLOT_VAR) return NULL;
  if (eg_verify_is_bound(draws, at->index)) return draws->env.vars[at->index].text;
  for (uint32_t i = 0; i < index; i++) {
    const eg_rule_term *term = &draws->rule->terms[i];
    uint16_t other;
    if (!term->is_var && eg_equation_slot(term, &other) &&
        term->slots[other].form == EG_RULE_SLOT_VAR &&
        term->slots[other].index == at->index)
      return draws->equations[i];
  }
  return NULL;
}

/// Draws an einsum equation, of the current class of instances if that is about it.
static const char *draw_equation(eg_verify_draws *draws, uint32_t index, uint16_t slot,
                                 const eg_type *first) {
  char *equation = draws->drawn_equations[index];
  const eg_instance_aim *aim = draws->aim;
  bool is_aimed = aim != NULL && aim->subject == EG_INSTANCE_ATTR && aim->term == index &&
                  aim->slot == slot;
  bool is_in = false;
  for (uint32_t i = 0; !is_in && i < TRIES_PER_EQUATION; i++) {
    eg_equation_draw(&draws->choice, draws->rule->terms[index].child_count, first,
                     equation);
    eg_attr attr = {.kind = EG_ATTR_STRING, .text = equation};
    eg_instance_node node = {.op = EG_OP_EINSUM, .slots = &attr};
    is_in = !is_aimed || eg_instance_node_is_in(aim, &node);
  }
  return equation;
}

static void draw_layer(eg_verify_draws *draws, uint32_t index, const eg_type *first) {
  const eg_rule_term *term = &draws->rule->terms[index];
  uint16_t slot;
  if (eg_equation_slot(term, &slot)) {
    const char *known = known_equation(draws, index, slot);
    draws->equations[index] =
        known != NULL ? known : draw_equation(draws, index, slot, first);
    draws->choice.equation = draws->equations[index];
  }
  if (layers[term->op].make != NULL)
    layers[term->op].make(&draws->choice, term, first, operands_of_layer(draws, index));
}

void eg_verify_draw_layers(eg_verify_draws *draws) {
  if (!draws->hints.has_layers) return;
  draws->choice.dtype = draws->dtype;
  for (uint32_t i = 0; i < draws->rule->pattern_term_count; i++) {
    const eg_rule_term *term = &draws->rule->terms[i];
    if (!term->is_var && eg_is_layer(draws->rule, term)) draw_layer(draws, i, NULL);
  }
}

void eg_verify_follow_first(eg_verify_draws *draws, const eg_rule_term *term) {
  if (!draws->hints.has_layers || !eg_is_layer(draws->rule, term)) return;
  uint32_t index = (uint32_t)(term - draws->rule->terms);
  const eg_rule_term *child = &draws->rule->terms[term->children[0]];
  bool is_fresh = child->is_var && !eg_verify_is_bound(draws, child->var);
  const eg_type *types = operands_of_layer(draws, index);
  const eg_type *first =
      is_fresh ? NULL : &draws->facts[eg_verify_operand_of(draws, term, 0).id].type;
  uint16_t slot;
  const char *known =
      eg_equation_slot(term, &slot) ? known_equation(draws, index, slot) : NULL;
  bool has_changed = known != NULL && strcmp(known, draws->equations[index]) != 0;
  if (has_changed || (first != NULL && (!eg_type_same_shape(first, types) ||
                                        first->dtype != types->dtype)))
    draw_layer(draws, index, first);
}

void eg_verify_set_equation(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  uint16_t slot;
  if (!draws->hints.has_layers || !eg_equation_slot(term, &slot) ||
      choice->slot_set[slot])
    return;
  choice->slots[slot] =
      (eg_attr){.kind = EG_ATTR_STRING,
                .text = draws->equations[(uint32_t)(term - draws->rule->terms)]};
  choice->slot_set[slot] = true;
}

const eg_type *eg_verify_operand_of_layer(eg_verify_draws *draws, uint32_t var) {
  const var_hint *hint = &draws->hints.vars[var];
  if (hint->layer == EG_RULE_NONE || eg_rng_below(&draws->rng, 100) < 10) return NULL;
  return operands_of_layer(draws, hint->layer) + hint->layer_operand;
}
