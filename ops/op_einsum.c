// Einsum: every letter is a factor (ops.h); letters that the result lacks are sums.
//
// Letters have numbers 0-51; dimensions under "..." have numbers from 52 on, counted from
// the last dimension, because operands are aligned there.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "ops/einsum.h"
#include "ops/typing.h"

enum { LETTERS = 52, LABELS = LETTERS + EGRAPH_MAX_RANK };

/// The labels of one operand (or of the result), one per dimension.
typedef struct term {
  uint32_t rank;
  uint32_t dots; // dimensions under "..."
  uint8_t label[EGRAPH_MAX_RANK];
} term;

typedef struct labels {
  int64_t size[LABELS]; // -1: not used
  uint32_t uses[LABELS];
} labels;

static int letter_index(char c) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const char *at = c == '\0' ? NULL : strchr(alphabet, c);
  return at == NULL ? -1 : (int)(at - alphabet);
}

static egraph_status bad_equation(const eg_typing *node, const char *at) {
  return eg_typing_fail(node,
                        "equation '%.200s' is malformed at '%.40s'; write for instance "
                        "'bij,bjk->bik'",
                        eg_attr_at(node->attrs, EG_A_EINSUM_EQUATION)->text, at);
}

static egraph_status add_dots(const eg_typing *node, const char *at, uint32_t dots,
                              term *out) {
  if (out->rank + dots > EGRAPH_MAX_RANK) return bad_equation(node, at);
  for (uint32_t i = 0; i < dots; i++)
    out->label[out->rank++] = (uint8_t)(LETTERS + dots - 1 - i);
  return EGRAPH_OK;
}

// Counts the letters of the term at `at`, without "...".
static uint32_t count_letters(const char *at) {
  uint32_t count = 0;
  for (; *at != '\0' && *at != ',' && *at != '-'; at++)
    count += letter_index(*at) >= 0;
  return count;
}

egraph_status eg_einsum_check(const char *equation) {
  const char *at = equation;
  for (uint32_t i = 0;; i++) {
    uint32_t letters = count_letters(at);
    if (letters > EGRAPH_MAX_RANK)
      return EG_FAIL(EGRAPH_E_PARSE,
                     "term %u of the equation, counted from 0, names %u dimensions; a "
                     "tensor has at most %d",
                     i, letters, EGRAPH_MAX_RANK);
    at += strcspn(at, ",-");
    if (*at == '\0') return EGRAPH_OK;
    at++;
  }
}

// ---- canonical text -----------------------------------------------------------------

typedef struct renaming {
  char names[LETTERS]; // by letter; '\0': not seen yet
  uint32_t seen, uses[LETTERS];
  bool has_dots;
  char *at, *end;
} renaming;

static bool write_char(renaming *r, char c) {
  if (r->at == r->end) return false;
  *r->at++ = c;
  return true;
}

static bool write_letter(renaming *r, int letter) {
  char *name = &r->names[letter];
  if (*name == '\0') *name = (char)(r->seen < 26 ? 'a' + r->seen : 'A' + r->seen - 26);
  r->seen += r->uses[letter]++ == 0;
  return write_char(r, *name);
}

static bool write_dots(renaming *r) {
  r->has_dots = true;
  return write_char(r, '.') && write_char(r, '.') && write_char(r, '.');
}

/// Writes the term of the result for an equation without "->".
static bool write_result(renaming *r) {
  uint32_t uses[LETTERS];
  memcpy(uses, r->uses, sizeof uses);
  bool fits = write_char(r, '-') && write_char(r, '>') && (!r->has_dots || write_dots(r));
  for (int letter = 0; fits && letter < LETTERS; letter++)
    fits = uses[letter] != 1 || write_letter(r, letter);
  return fits;
}

bool eg_einsum_canonical(const char *equation, char out[EG_EINSUM_TEXT]) {
  renaming r = {.at = out, .end = out + EG_EINSUM_TEXT - 1};
  bool fits = true, has_result = false;
  for (const char *at = equation; fits && *at != '\0'; at++) {
    int letter = letter_index(*at);
    if (*at == ' ') continue;
    if (letter >= 0) {
      fits = write_letter(&r, letter);
    } else if (*at == ',' && !has_result) {
      fits = write_char(&r, ',');
    } else if (strncmp(at, "->", 2) == 0 && !has_result) {
      fits = has_result = write_char(&r, '-') && write_char(&r, '>');
      at++;
    } else if (strncmp(at, "...", 3) == 0) {
      fits = write_dots(&r);
      at += 2;
    } else {
      return false;
    }
  }
  if (fits && !has_result) fits = write_result(&r);
  *r.at = '\0';
  return fits;
}

// ---- inference ----------------------------------------------------------------------

// Reads one term of a tensor of rank `rank`, which gives the number of dimensions under
// "..."; if `rank` is -1, "..." has `dots` dimensions. Leaves *cursor at ',', '-' or
// the end.
static egraph_status read_term(const eg_typing *node, const char **cursor, int64_t rank,
                               uint32_t dots, term *out) {
  const char *at = *cursor;
  int64_t letters = count_letters(at);
  bool had_dots = false;
  *out = (term){.dots = rank < 0         ? dots
                        : rank < letters ? 0
                                         : (uint32_t)(rank - letters)};
  for (; *at != '\0' && *at != ',' && *at != '-'; at++) {
    int letter = letter_index(*at);
    if (*at == ' ') continue;
    if (letter >= 0 && out->rank < EGRAPH_MAX_RANK) {
      out->label[out->rank++] = (uint8_t)letter;
    } else if (!had_dots && strncmp(at, "...", 3) == 0) {
      EG_TRY(add_dots(node, at, out->dots, out));
      had_dots = true;
      at += 2;
    } else {
      return bad_equation(node, at);
    }
  }
  if (!had_dots) out->dots = 0;
  if (rank >= 0 && out->rank != rank)
    return eg_typing_fail(node,
                          "a term of equation '%.200s' names %u dimensions of an "
                          "operand that has %" PRId64,
                          eg_attr_at(node->attrs, EG_A_EINSUM_EQUATION)->text, out->rank,
                          rank);
  *cursor = at;
  return EGRAPH_OK;
}

/// True when two sizes of a letter agree. Sizes that may be 1 may be stretched, so they
/// do not become a condition of the model.
static bool letter_agrees(int64_t a, int64_t b) {
  return eg_size_same(a, b) ||
         (eg_size_at_least(a, 2) && eg_size_at_least(b, 2) && eg_size_agree(a, b));
}

static egraph_status note_label_sizes(const eg_typing *node, uint32_t operand,
                                      const term *t, labels *all) {
  const eg_type *x = &node->inputs[operand];
  for (uint32_t i = 0; i < t->rank; i++) {
    int64_t *size = &all->size[t->label[i]], dim = x->dims[i];
    bool fits = *size < 0                ? true
                : t->label[i] >= LETTERS ? eg_size_broadcast(*size, dim, size)
                                         : letter_agrees(*size, dim);
    if (!fits)
      return eg_typing_fail(node,
                            "dimension %u of operand %u, %s, is %" PRId64
                            " but the same index is %" PRId64 " before",
                            i, operand, eg_type_text_of(x).text, dim, *size);
    if (*size < 0) *size = dim;
    all->uses[t->label[i]]++;
  }
  return EGRAPH_OK;
}

// Makes the result of an equation without "->": the dimensions of "...", then the letters
// that occur once, in order.
static egraph_status implicit_result(const eg_typing *node, const labels *all,
                                     uint32_t dots, term *out) {
  *out = (term){.dots = dots};
  EG_TRY(add_dots(node, "", dots, out));
  for (int label = 0; label < LETTERS; label++) {
    if (all->uses[label] != 1) continue;
    if (out->rank == EGRAPH_MAX_RANK)
      return eg_typing_fail(node, "the result has more than %d dimensions",
                            EGRAPH_MAX_RANK);
    out->label[out->rank++] = (uint8_t)label;
  }
  return EGRAPH_OK;
}

static egraph_status check_result(const eg_typing *node, const labels *all,
                                  const term *result) {
  uint32_t used = 0, dots = 0;
  for (int label = 0; label < LABELS; label++) {
    used += all->size[label] >= 0;
    dots += label >= LETTERS && all->size[label] >= 0;
  }
  if (used > EG_MAX_FACTORS)
    return eg_typing_fail(node, "the equation has %u indices; at most %d are supported",
                          used, EG_MAX_FACTORS);
  if (result->dots != dots)
    return eg_typing_fail(node, "the result must have '...' because an operand has");
  for (uint32_t i = 0; i < result->rank; i++) {
    bool known = all->size[result->label[i]] >= 0, twice = false;
    for (uint32_t j = 0; j < i; j++)
      twice = twice || result->label[j] == result->label[i];
    if (!known || twice)
      return eg_typing_fail(node, "dimension %u of the result is an index that %s", i,
                            known ? "it already has" : "no operand has");
  }
  return EGRAPH_OK;
}

// Reads the whole equation: the labels of the operands and of the result.
static egraph_status read_equation(const eg_typing *node, labels *all, term *result) {
  const char *at = eg_attr_at(node->attrs, EG_A_EINSUM_EQUATION)->text;
  uint32_t dots = 0;
  for (int label = 0; label < LABELS; label++) {
    all->size[label] = -1;
    all->uses[label] = 0;
  }
  for (uint32_t i = 0; i < node->count; i++) {
    term t;
    EG_TRY(read_term(node, &at, node->inputs[i].rank, 0, &t));
    EG_TRY(note_label_sizes(node, i, &t, all));
    if (t.dots > dots) dots = t.dots;
    bool last = i + 1 == node->count;
    if (!last && *at != ',') return bad_equation(node, at);
    if (!last) at++;
  }
  if (*at == '\0') {
    EG_TRY(implicit_result(node, all, dots, result));
  } else {
    if (strncmp(at, "->", 2) != 0) return bad_equation(node, at);
    at += 2;
    EG_TRY(read_term(node, &at, -1, dots, result));
    if (*at != '\0') return bad_equation(node, at);
  }
  return check_result(node, all, result);
}

egraph_status eg_infer_einsum(const eg_typing *node, eg_type *out) {
  labels all;
  term result;
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(read_equation(node, &all, &result));
  eg_type type = {.dtype = node->inputs[0].dtype, .rank = result.rank};
  for (uint32_t i = 0; i < result.rank; i++)
    type.dims[i] = all.size[result.label[i]];
  *out = type;
  return EGRAPH_OK;
}

// Finds the dimension of an operand or result that has a label. A diagonal (a label twice
// in one operand) has no single dimension to split, so its factor is blocked.
static void index_term(const term *t, const eg_type *type, uint8_t label,
                       eg_factor *factor, int8_t *out_dim) {
  for (uint32_t i = 0; i < t->rank; i++) {
    if (t->label[i] != label || type->dims[i] != factor->size) continue;
    if (*out_dim != EG_NO_DIM) factor->kind = EG_FACTOR_BLOCKED;
    *out_dim = (int8_t)i;
  }
}

// Makes a factor (loop index) index an operand. Operands that share the last entry of a
// factor's arrays are split alike: an index in different dimensions of these operands
// is blocked.
static void index_operand(const term *t, const eg_type *type, uint32_t operand,
                          uint8_t label, eg_factor *factor) {
  int8_t dim = EG_NO_DIM, *row = &factor->input_dim[eg_factor_row(operand)];
  index_term(t, type, label, factor, &dim);
  if (operand >= EG_FACTOR_ROWS && dim != *row) factor->kind = EG_FACTOR_BLOCKED;
  *row = dim;
}

void eg_factors_einsum(const eg_typing *node, eg_factors *out) {
  labels all;
  term result, t;
  egraph_status status = read_equation(node, &all, &result);
  assert(status == EGRAPH_OK && "inference accepted the equation");
  if (status != EGRAPH_OK) return;
  for (int label = 0; label < LABELS; label++) {
    if (all.size[label] < 0) continue;
    eg_factor *factor = eg_factors_add(out, EG_FACTOR_SUM, all.size[label]);
    index_term(&result, node->results, (uint8_t)label, factor, &factor->output_dim[0]);
    if (factor->output_dim[0] != EG_NO_DIM) factor->kind = EG_FACTOR_PARALLEL;
  }
  const char *at = eg_attr_at(node->attrs, EG_A_EINSUM_EQUATION)->text;
  for (uint32_t i = 0; i < node->count; i++) {
    if (read_term(node, &at, node->inputs[i].rank, 0, &t) != EGRAPH_OK) return;
    eg_factor *factor = out->factor;
    for (int label = 0; label < LABELS; label++)
      if (all.size[label] >= 0)
        index_operand(&t, &node->inputs[i], i, (uint8_t)label, factor++);
    at += i + 1 < node->count; // the comma
  }
  // The result is linear in an operand only if no other operand shares its entry in the
  // factors' arrays: of operands that share an entry only one may be a partial sum.
  uint32_t alone = node->count <= EG_FACTOR_ROWS ? node->count : EG_FACTOR_ROWS - 1;
  out->linear = eg_operand_bits(alone);
}

// ---- for gradients --------------------------------------------------------------

// Writes the labels of a term with new numbers: labels in use count from 0, at most
// EG_MAX_FACTORS of them.
static void number_term(const term *t, const uint8_t *number, eg_labels *out) {
  *out = (eg_labels){.rank = t->rank};
  for (uint32_t i = 0; i < t->rank; i++)
    out->label[i] = number[t->label[i]];
}

egraph_status eg_einsum_labels(const eg_attrs *attrs, const eg_type *inputs,
                               uint32_t count, eg_einsum *out) {
  const eg_typing node = {.attrs = attrs,
                          .info = eg_op_info_of(EG_OP_EINSUM),
                          .inputs = inputs,
                          .count = count};
  labels all;
  term result;
  uint8_t number[LABELS] = {0}, used = 0;
  EG_TRY(read_equation(&node, &all, &result));
  for (int label = 0; label < LABELS; label++) {
    if (all.size[label] < 0) continue;
    out->sizes[used] = all.size[label];
    number[label] = used++;
  }
  const char *at = eg_attr_at(attrs, EG_A_EINSUM_EQUATION)->text;
  for (uint32_t i = 0; i < count; i++) {
    term t;
    EG_TRY(read_term(&node, &at, inputs[i].rank, 0, &t));
    number_term(&t, number, &out->operands[i]);
    if (i + 1 < count) at++; // the comma
  }
  number_term(&result, number, &out->result);
  return EGRAPH_OK;
}
