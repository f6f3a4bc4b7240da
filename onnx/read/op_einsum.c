// Import of Einsum: three or more operands become products of pairs, which are fast.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "onnx/read/build.h"
#include "ops/einsum.h"

enum { MAX_OPERANDS = 64 };

/// Letters of one operand.
typedef struct term {
  char text[EGRAPH_MAX_RANK + 1];
} term;

typedef struct pairs {
  term terms[MAX_OPERANDS];
  eg_ref values[MAX_OPERANDS];
  uint32_t count;
  term result;
  double sizes[UINT8_MAX + 1]; // by letter
  double most;                 // elements of the largest operand, or of the result
} pairs;

static const char *read_term(const char *at, term *out) {
  size_t length = strcspn(at, ",-");
  if (length > EGRAPH_MAX_RANK) return NULL;
  memcpy(out->text, at, length);
  out->text[length] = '\0';
  return at + length;
}

/// Splits the equation into terms. False unless every operand has a term, and no term
/// has "...".
static bool read_pairs(const char *equation, uint32_t operands, pairs *out) {
  const char *at = equation;
  *out = (pairs){.count = operands};
  if (operands > MAX_OPERANDS || strchr(equation, '.') != NULL) return false;
  for (uint32_t i = 0; i < operands; i++) {
    at = read_term(at, &out->terms[i]);
    if (at == NULL || *at != (i + 1 < operands ? ',' : '-')) return false;
    at++;
  }
  return *at == '>' && read_term(at + 1, &out->result) != NULL;
}

static double count_elements(const pairs *p, const term *t) {
  double count = 1;
  for (const char *at = t->text; *at != '\0'; at++)
    count *= p->sizes[(uint8_t)*at];
  return count;
}

/// Reads the sizes of letters; open dimensions count as their example.
static egraph_status read_types(const eg_onnx_call *call, pairs *p, bool *out_narrow) {
  *out_narrow = false;
  for (size_t i = 0; i <= UINT8_MAX; i++)
    p->sizes[i] = 1;
  for (uint32_t i = 0; i < p->count; i++) {
    eg_type type;
    EG_TRY(eg_onnx_input_type(call, i, &type));
    *out_narrow =
        *out_narrow || type.dtype == EGRAPH_FLOAT16 || type.dtype == EGRAPH_BFLOAT16;
    bool fits = type.rank == strlen(p->terms[i].text);
    for (uint32_t d = 0; fits && d < type.rank; d++)
      p->sizes[(uint8_t)p->terms[i].text[d]] = (double)eg_size_example(type.dims[d]);
  }
  p->most = count_elements(p, &p->result);
  for (uint32_t i = 0; i < p->count; i++) {
    double count = count_elements(p, &p->terms[i]);
    if (count > p->most) p->most = count;
  }
  return EGRAPH_OK;
}

static bool is_wanted(const pairs *p, uint32_t a, uint32_t b, char letter) {
  bool is = strchr(p->result.text, letter) != NULL;
  for (uint32_t i = 0; i < p->count; i++)
    is = is || (i != a && i != b && strchr(p->terms[i].text, letter) != NULL);
  return is;
}

/// Joins the letters of two operands that other operands or the result use. False: too
/// many.
static bool join(const pairs *p, uint32_t a, uint32_t b, term *out) {
  const char *const texts[] = {p->terms[a].text, p->terms[b].text};
  uint32_t length = 0;
  *out = (term){.text = ""};
  for (uint32_t t = 0; t < 2; t++)
    for (const char *at = texts[t]; *at != '\0'; at++) {
      if (strchr(out->text, *at) != NULL || !is_wanted(p, a, b, *at)) continue;
      if (length == EGRAPH_MAX_RANK) return false;
      out->text[length++] = *at;
    }
  return true;
}

/// Chooses the pair of operands whose product has the fewest dimensions; among these the
/// fewest elements; among these the first one.
static bool choose(const pairs *p, uint32_t *out_a, uint32_t *out_b, term *out) {
  size_t least = EGRAPH_MAX_RANK + 1;
  double fewest = 0;
  term joined;
  for (uint32_t a = 0; a < p->count; a++)
    for (uint32_t b = a + 1; b < p->count; b++) {
      if (!join(p, a, b, &joined)) continue;
      size_t rank = strlen(joined.text);
      double elements = count_elements(p, &joined);
      if (rank > least || (rank == least && elements >= fewest)) continue;
      least = rank;
      fewest = elements;
      *out_a = a;
      *out_b = b;
      *out = joined;
    }
  return least <= EGRAPH_MAX_RANK;
}

static eg_ref write_pair(eg_onnx_builder *write, const pairs *p, uint32_t a, uint32_t b,
                         const term *result) {
  char equation[3 * (EGRAPH_MAX_RANK + 2)];
  const eg_ref operands[] = {p->values[a], p->values[b]};
  (void)snprintf(equation, sizeof equation, "%s,%s->%s", p->terms[a].text,
                 p->terms[b].text, result->text);
  return eg_onnx_write(write, EG_LIST(EINSUM, EG_TEXT(EINSUM_EQUATION, equation)),
                       operands, 2);
}

/// Emits products of pairs until two operands are left. False: a product has too many
/// dimensions, or more elements than any operand and the result.
static bool write_pairs(eg_onnx_builder *write, pairs *p) {
  uint32_t a = 0, b = 0;
  term result;
  while (p->count > 2) {
    if (!choose(p, &a, &b, &result) || count_elements(p, &result) > p->most) return false;
    p->values[a] = write_pair(write, p, a, b, &result);
    p->terms[a] = result;
    p->count--;
    for (uint32_t i = b; i < p->count; i++) {
      p->terms[i] = p->terms[i + 1];
      p->values[i] = p->values[i + 1];
    }
  }
  p->values[0] = write_pair(write, p, 0, 1, &p->result);
  return true;
}

egraph_status eg_onnx_import_einsum(const eg_onnx_call *call) {
  char canonical[EG_EINSUM_TEXT];
  EG_ONNX_STRING(equation, call, "equation", "");
  eg_attr_list list = EG_LIST(EINSUM, EG_TEXT(EINSUM_EQUATION, equation));
  pairs p;
  bool is_narrow, is_split = call->input_count > 2 &&
                             eg_einsum_canonical(equation, canonical) &&
                             read_pairs(canonical, call->input_count, &p);
  if (!is_split) return eg_onnx_emit_node(call, list);
  EG_TRY(read_types(call, &p, &is_narrow));
  if (is_narrow) return eg_onnx_emit_node(call, list); // products of pairs would round
  EG_ONNX_BUILDER(write, call);
  for (uint32_t i = 0; i < p.count; i++)
    p.values[i] = eg_onnx_operand(&write, i);
  // If operands do not fit, the einsum of the file is emitted, so that messages are
  // about the node of the file.
  bool is_written = write_pairs(&write, &p);
  bool failed = write.b.status != EGRAPH_OK && write.b.status != EGRAPH_E_MEMORY;
  if (!is_written || failed) return eg_onnx_emit_node(call, list);
  return eg_onnx_finish(&write, 0, p.values[0]);
}
