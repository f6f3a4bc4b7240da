// A window operator reads rows [from * stride - pad, (to - 1) * stride + window - pad)
// of its operand for result rows [from, to): a rule slices the rows that exist and pads
// the rest. For a transposed window, it slices the rows whose windows reach these
// result rows.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/correct/region.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "rewrites/language/rules.h"

EG_OWNER_DEFINE(eg_region_writer, (eg_text, lets, conditions), (eg_partial_atoms, named),
                (eg_arena, arena))

// ---- names ----------------------------------------------------------------------------

/// Formats a text, which lives in the arena of the writer.
static egraph_status keep_args(eg_region_writer *w, const char **out, const char *format,
                               va_list args) {
  char *room;
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  assert(length >= 0);
  EG_TRY(eg_arena_alloc(&w->arena, (size_t)length + 1, 1, &room));
  (void)vsnprintf(room, (size_t)length + 1, format, args);
  *out = room;
  return EGRAPH_OK;
}

static egraph_status EG_PRINTF(3, 4)
    keep(eg_region_writer *w, const char **out, const char *format, ...) {
  va_list args;
  va_start(args, format);
  egraph_status status = keep_args(w, out, format, args);
  va_end(args);
  return status;
}

egraph_status eg_region_name(eg_region_writer *w, const char **out, const char *format,
                             ...) {
  va_list args;
  const char *all = NULL;
  va_start(args, format);
  egraph_status status = keep_args(w, &all, format, args);
  va_end(args);
  EG_TRY(status);
  *out = all;
  if (all[0] != '(') return EGRAPH_OK;
  size_t number = 0;
  while (number < w->named.len && strcmp(w->named.data[number], all) != 0)
    number++;
  EG_TRY(keep(w, out, "?c%zu", number));
  if (number < w->named.len) return EGRAPH_OK;
  EG_TRY(eg_partial_atoms_push(&w->named, all));
  return eg_text_printf(&w->lets, "  (let %s %s)\n", *out, all);
}

egraph_status eg_region_class(eg_region_writer *w, uint32_t term, const char **out) {
  const eg_rule *rule = w->partial->rule;
  const eg_rule_term *node = &rule->terms[term];
  if (node->var != EG_RULE_NONE) {
    *out = rule->vars[node->var].name;
    return EGRAPH_OK;
  }
  if (term == rule->lhs[0].term) return keep(w, out, "?whole");
  return keep(w, out, "?inner%" PRIu32, term);
}

/// Appends an attribute of a term as the pattern has it: a variable or a value.
static egraph_status print_slot(const eg_region_writer *w, uint32_t term, uint16_t slot,
                                eg_text *text) {
  const eg_rule *rule = w->partial->rule;
  const eg_rule_term *node = &rule->terms[term];
  const eg_rule_slot *of = &node->slots[slot];
  switch (of->form) {
  case EG_RULE_SLOT_LITERAL: return eg_attr_print(text, node->op, slot, &of->literal);
  case EG_RULE_SLOT_VAR: return eg_text_append(text, rule->vars[of->index].name);
  case EG_RULE_SLOT_EXPR: return eg_rule_print_expr(text, rule, of->index);
  case EG_RULE_SLOT_ANY: break;
  }
  return eg_text_printf(text, "?any%" PRIu32 "-%u", term, slot);
}

/// Returns the value of an attribute as text; NULL when the operator has no
/// such attribute.
static egraph_status slot_text(eg_region_writer *w, uint32_t term, const char *name,
                               const char **out) {
  uint16_t slot;
  *out = NULL;
  if (!eg_op_find_attr(w->partial->rule->terms[term].op, name, &slot)) return EGRAPH_OK;
  EG_LOCAL(eg_text, text, w->arena.alloc);
  EG_TRY(print_slot(w, term, slot, &text));
  return keep(w, out, "%s", eg_text_of(&text));
}

/// True when the rule gives the attribute this integer, or leaves it out and this is
/// its default.
static bool slot_is(const eg_region_writer *w, uint32_t term, const char *name,
                    int64_t value) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  uint16_t slot;
  return !eg_op_find_attr(node->op, name, &slot) ||
         (node->slots[slot].form == EG_RULE_SLOT_LITERAL &&
          node->slots[slot].literal.i == value);
}

/// Appends all attributes of a term except those with a name in `but` (ends with NULL).
static egraph_status print_slots(const eg_region_writer *w, uint32_t term,
                                 const char *const *but, eg_text *text) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  const eg_op_info *info = eg_op_info_of(node->op);
  for (uint16_t i = 0; i < info->attr_count; i++) {
    bool is_left_out = false;
    for (size_t k = 0; but != NULL && but[k] != NULL; k++)
      is_left_out = is_left_out || strcmp(but[k], info->attrs[i].name) == 0;
    if (is_left_out) continue;
    eg_text_printf(text, " :%s ", info->attrs[i].name);
    EG_TRY(print_slot(w, term, i, text));
  }
  return EGRAPH_OK;
}

egraph_status eg_region_pattern(eg_region_writer *w, uint32_t term, eg_text *text) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  const char *name;
  EG_TRY(eg_region_class(w, term, &name));
  if (node->is_var) return eg_text_append(text, name);
  eg_text_printf(text, "(as %s (%s", name, eg_op_info_of(node->op)->name);
  EG_TRY(print_slots(w, term, NULL, text));
  for (uint32_t i = 0; i < node->child_count; i++) {
    eg_text_append(text, " ");
    EG_TRY(eg_region_pattern(w, node->children[i], text));
  }
  return eg_text_append(text, "))");
}

// ---- slices ---------------------------------------------------------------------------

static bool is_all(const eg_region *region, uint32_t rank) {
  for (uint32_t d = 0; d < rank; d++)
    if (region->from[d] != NULL) return false;
  return true;
}

void eg_region_slice(eg_text *text, uint32_t rank, const eg_region *region,
                     const char *sized, const char *of) {
  if (is_all(region, rank)) {
    eg_text_append(text, of);
    return;
  }
  eg_text_append(text, "(slice :starts [");
  for (uint32_t d = 0; d < rank; d++)
    eg_text_printf(text, "%s%s", d == 0 ? "" : " ",
                   region->from[d] == NULL ? "0" : region->from[d]);
  eg_text_append(text, "] :ends [");
  for (uint32_t d = 0; d < rank; d++) {
    eg_text_append(text, d == 0 ? "" : " ");
    if (region->from[d] == NULL)
      eg_text_printf(text, "(dim %s %" PRIu32 ")", sized, d);
    else
      eg_text_append(text, region->to[d]);
  }
  eg_text_append(text, "] :steps [");
  for (uint32_t d = 0; d < rank; d++)
    eg_text_append(text, d == 0 ? "1" : " 1");
  eg_text_printf(text, "] %s)", of);
}

/// Appends a slice of a tensor that the left side has matched: nothing is computed again.
static egraph_status slice_class(eg_region_writer *w, uint32_t term,
                                 const eg_region *region, eg_text *text) {
  const char *name;
  EG_TRY(eg_region_class(w, term, &name));
  bool is_var = w->partial->rule->terms[term].is_var;
  if (!is_var && !is_all(region, w->partial->ranks[term])) w->is_whole = true;
  eg_region_slice(text, w->partial->ranks[term], region, name, name);
  return eg_text_status(text);
}

// ---- windows --------------------------------------------------------------------------

typedef struct window {
  const char *strides, *pads, *dilations, *kernel; // expressions of lists
  const char *operand;                             // class of operand 0
  uint32_t axes;
} window;

/// Writes as an expression the number of rows that the window covers along axis k.
static egraph_status window_rows(eg_region_writer *w, const window *of, uint32_t k,
                                 const char **out) {
  if (of->dilations == NULL) return keep(w, out, "(at %s %" PRIu32 ")", of->kernel, k);
  return keep(w, out, "(+ (* (- (at %s %" PRIu32 ") 1) (at %s %" PRIu32 ")) 1)",
              of->kernel, k, of->dilations, k);
}

/// Finds the rows of operand 0 that a window operator reads for rows `from` to `to` of
/// the result along axis k, and the padding before and after them.
static egraph_status window_part(eg_region_writer *w, const window *of, uint32_t k,
                                 eg_region *operand, const char *from, const char *to,
                                 const char **out_before, const char **out_after) {
  const char *rows, *first, *last, *begin, *end;
  uint32_t d = k + 2;
  EG_TRY(window_rows(w, of, k, &rows));
  EG_TRY(keep(w, &first, "(- (* %s (at %s %" PRIu32 ")) (at %s %" PRIu32 "))", from,
              of->strides, k, of->pads, k));
  EG_TRY(keep(w, &last, "(- (+ (* (- %s 1) (at %s %" PRIu32 ")) %s) (at %s %" PRIu32 "))",
              to, of->strides, k, rows, of->pads, k));
  EG_TRY(eg_region_name(w, &begin, "(max 0 %s)", first));
  EG_TRY(eg_region_name(w, &end, "(min (dim %s %" PRIu32 ") %s)", of->operand, d, last));
  EG_TRY(keep(w, out_before, "(- %s %s)", begin, first));
  EG_TRY(keep(w, out_after, "(- %s %s)", last, end));
  operand->from[d] = begin;
  operand->to[d] = end;
  return eg_text_printf(&w->conditions, " (< %s %s)", begin, end);
}

/// Does the same as window_part for a transposed window. `out_before` and `out_after` are
/// pads, which cut rows of the result off.
static egraph_status transposed_part(eg_region_writer *w, const window *of, uint32_t k,
                                     eg_region *operand, const char *from, const char *to,
                                     const char **out_before, const char **out_after) {
  const char *rows, *begin, *end, *stride, *pad;
  uint32_t d = k + 2;
  EG_TRY(window_rows(w, of, k, &rows));
  EG_TRY(keep(w, &stride, "(at %s %" PRIu32 ")", of->strides, k));
  EG_TRY(keep(w, &pad, "(at %s %" PRIu32 ")", of->pads, k));
  EG_TRY(eg_region_name(w, &begin, "(max 0 (floor-div (- (+ (+ %s %s) 1) %s) %s))", from,
                        pad, rows, stride));
  EG_TRY(eg_region_name(w, &end,
                        "(min (dim %s %" PRIu32 ") (+ (floor-div (+ (- %s 1) %s) %s) 1))",
                        of->operand, d, to, pad, stride));
  EG_TRY(
      eg_region_name(w, out_before, "(- (+ %s %s) (* %s %s))", pad, from, begin, stride));
  EG_TRY(eg_region_name(w, out_after,
                        "(- (- (+ (* (- (- %s 1) %s) %s) %s) %s) (- %s %s))", end, begin,
                        stride, rows, *out_before, to, from));
  operand->from[d] = begin;
  operand->to[d] = end;
  return eg_text_printf(&w->conditions, " (< %s %s) (>= %s 0) (>= %s 0)", begin, end,
                        *out_before, *out_after);
}

static void print_pads(const char *const *before, const char *const *after, uint32_t axes,
                       eg_text *text) {
  eg_text_append(text, " :pads [");
  for (uint32_t k = 0; k < axes; k++)
    eg_text_printf(text, "%s%s", k == 0 ? "" : " ", before[k]);
  for (uint32_t k = 0; k < axes; k++)
    eg_text_printf(text, " %s", after[k]);
  eg_text_append(text, "]");
}

static egraph_status describe_window(eg_region_writer *w, uint32_t term, window *out) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  const char *weight;
  *out = (window){.axes = w->partial->ranks[term] - 2};
  EG_TRY(slot_text(w, term, "strides", &out->strides));
  EG_TRY(slot_text(w, term, "pads", &out->pads));
  EG_TRY(slot_text(w, term, "dilations", &out->dilations));
  EG_TRY(slot_text(w, term, "kernel_shape", &out->kernel));
  EG_TRY(eg_region_class(w, node->children[0], &out->operand));
  if (out->kernel != NULL) return EGRAPH_OK;
  EG_TRY(eg_region_class(w, node->children[1], &weight));
  return keep(w, &out->kernel, "(drop (shape %s) 2)", weight);
}

/// Appends the filters and the bias of a convolution, cut to the channels of `region`.
static egraph_status print_filters(eg_region_writer *w, uint32_t term,
                                   const eg_region *region, eg_text *text) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  bool is_transposed = node->op == EG_OP_CONV_TRANSPOSE;
  for (uint32_t i = 1; i < node->child_count; i++) {
    eg_region part = {{NULL}, {NULL}};
    uint32_t d = i == 1 && is_transposed ? 1 : 0;
    part.from[d] = region->from[1];
    part.to[d] = region->to[1];
    eg_text_append(text, " ");
    EG_TRY(eg_region_term(w, node->children[i], &part, text));
  }
  return EGRAPH_OK;
}

static egraph_status print_window(eg_region_writer *w, uint32_t term,
                                  const eg_region *region, eg_text *text) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  static const char *const but[] = {"pads", "output_padding", NULL};
  bool is_transposed = node->op == EG_OP_CONV_TRANSPOSE;
  bool is_pool = node->child_count == 1;
  const char *before[EGRAPH_MAX_RANK], *after[EGRAPH_MAX_RANK];
  eg_region operand = {{region->from[0]}, {region->to[0]}};
  window of;
  EG_TRY(describe_window(w, term, &of));
  if (is_pool) {
    operand.from[1] = region->from[1];
    operand.to[1] = region->to[1];
  }
  for (uint32_t k = 0; k < of.axes; k++) {
    const char *from = region->from[k + 2], *to = region->to[k + 2];
    if (from == NULL && !is_transposed) {
      EG_TRY(keep(w, &before[k], "(at %s %" PRIu32 ")", of.pads, k));
      EG_TRY(keep(w, &after[k], "(at %s %" PRIu32 ")", of.pads, k + of.axes));
      continue;
    }
    if (from == NULL) { // all rows, including those from output_padding
      const char *whole;
      EG_TRY(eg_region_class(w, term, &whole));
      EG_TRY(keep(w, &to, "(dim %s %" PRIu32 ")", whole, k + 2));
      from = "0";
    }
    EG_TRY((is_transposed ? transposed_part : window_part)(w, &of, k, &operand, from, to,
                                                           &before[k], &after[k]));
  }
  eg_text_printf(text, "(%s", eg_op_info_of(node->op)->name);
  EG_TRY(print_slots(w, term, but, text));
  print_pads(before, after, of.axes, text);
  if (is_transposed) {
    eg_text_append(text, " :output_padding [");
    for (uint32_t k = 0; k < of.axes; k++)
      eg_text_append(text, k == 0 ? "0" : " 0");
    eg_text_append(text, "]");
  }
  eg_text_append(text, " ");
  EG_TRY(eg_region_term(w, node->children[0], &operand, text));
  EG_TRY(print_filters(w, term, region, text));
  return eg_text_append(text, ")");
}

// ---- other operators ------------------------------------------------------------------

/// Appends the operator with its attributes, operand 0 on one region and the other
/// operands on another.
static egraph_status print_operator(eg_region_writer *w, uint32_t term,
                                    const eg_region *first, const eg_region *others,
                                    eg_text *text) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  eg_text_printf(text, "(%s", eg_op_info_of(node->op)->name);
  EG_TRY(print_slots(w, term, NULL, text));
  for (uint32_t i = 0; i < node->child_count; i++) {
    eg_text_append(text, " ");
    EG_TRY(eg_region_term(w, node->children[i], i == 0 ? first : others, text));
  }
  return eg_text_append(text, ")");
}

/// True for a convolution or pooling whose parts need only parts of the operands.
static bool is_window(const eg_region_writer *w, uint32_t term) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  bool is_conv = node->op == EG_OP_CONV || node->op == EG_OP_CONV_TRANSPOSE;
  bool is_pool = node->op == EG_OP_AVERAGE_POOL;
  for (uint32_t i = 0; i < node->child_count; i++)
    if (w->partial->ranks[node->children[i]] == EG_RULE_NONE) return false;
  if (is_conv) return slot_is(w, term, "group", 1) && node->child_count <= 3;
  return is_pool && slot_is(w, term, "ceil_mode", 0);
}

/// True for a product of two matrices that are not transposed.
static bool is_product(const eg_region_writer *w, uint32_t term) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  if (node->op != EG_OP_MATMUL || node->child_count != 2) return false;
  for (uint32_t i = 0; i < 2; i++)
    if (w->partial->ranks[node->children[i]] != 2) return false;
  return slot_is(w, term, "transA", 0) && slot_is(w, term, "transB", 0);
}

egraph_status eg_region_term(eg_region_writer *w, uint32_t term, const eg_region *region,
                             eg_text *text) {
  const eg_rule_term *node = &w->partial->rule->terms[term];
  assert(term < w->partial->rule->pattern_term_count);
  if (node->is_var || is_all(region, w->partial->ranks[term]))
    return slice_class(w, term, region, text);
  bool is_pointwise = (eg_op_info_of(node->op)->flags & EG_OPF_POINTWISE) != 0;
  if (is_window(w, term)) return print_window(w, term, region, text);
  if (is_pointwise && w->partial->same_shape[term])
    return print_operator(w, term, region, region, text);
  if (!is_product(w, term)) return slice_class(w, term, region, text);
  const eg_region rows = {{region->from[0]}, {region->to[0]}};
  const eg_region columns = {{NULL, region->from[1]}, {NULL, region->to[1]}};
  return print_operator(w, term, &rows, &columns, text);
}
