// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "base/sexpr.h"
#include "pcg/graph/attr_list.h"
#include "rewrites/replay/explained.h"

typedef struct reader {
  eg_explained *out;
  const char *file;
  eg_arena arena;
  eg_u32s terms;    // of `out`, by number in the text
  eg_u32s operands; // of the form at hand
  eg_text text;
} reader;

/// Puts the place in front of a message of a function that knows none.
static egraph_status at(const reader *r, const eg_sexpr *expr, egraph_status status) {
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  (void)eg_fail_context(status, "%s:%u:%u", r->file, expr->line, expr->column);
  return EGRAPH_E_PARSE;
}

/// Reads numbers of terms, the rest of a form from child `first` on.
static egraph_status read_numbers(reader *r, const eg_sexpr *form, uint32_t first) {
  r->operands.len = 0;
  for (uint32_t i = first; i < form->count; i++) {
    const eg_sexpr *expr = &form->children[i];
    int64_t number;
    if (expr->kind != EG_SEXPR_ATOM || !eg_parse_int64(expr->text, &number) ||
        number < 0 || number >= (int64_t)r->terms.len)
      return eg_sexpr_fail(r->file, expr,
                           "expected the number of a term before this one, of %zu",
                           r->terms.len);
    EG_TRY(eg_u32s_push(&r->operands, r->terms.data[number]));
  }
  return EGRAPH_OK;
}

// ---- terms -----------------------------------------------------------------------

static egraph_status read_attr(reader *r, const eg_sexpr *expr, eg_op op, uint16_t slot,
                               eg_attr *out) {
  if (expr->kind == EG_SEXPR_LIST)
    return eg_sexpr_fail(r->file, expr, "expected the value of an attribute");
  eg_text_clear(&r->text);
  EG_TRY(eg_sexpr_print(&r->text, expr));
  return at(r, expr, eg_attr_parse(&r->arena, op, slot, eg_text_of(&r->text), out));
}

/// Reads ":name value" pairs; *out_first: the first operand.
static egraph_status read_attrs(reader *r, const eg_sexpr *form, eg_attr_list *list,
                                uint32_t *out_first) {
  const eg_op_info *op = eg_op_info_of(list->op);
  bool given[EG_MAX_SLOTS] = {false};
  uint32_t i = 1;
  for (; i < form->count && form->children[i].kind == EG_SEXPR_ATOM &&
         form->children[i].text[0] == ':';
       i += 2) {
    const eg_sexpr *key = &form->children[i];
    uint16_t slot;
    if (!eg_op_find_attr(list->op, key->text + 1, &slot) || given[slot] ||
        i + 1 == form->count)
      return eg_sexpr_fail(r->file, key,
                           "%s has no attribute '%.100s', or it is given twice or "
                           "without a value",
                           op->name, key->text + 1);
    given[slot] = true;
    EG_TRY(read_attr(r, &form->children[i + 1], list->op, slot, &list->slots[slot]));
  }
  for (uint16_t s = 0; s < op->attr_count; s++)
    if (!given[s] && op->attrs[s].default_text[0] == '\0')
      return eg_sexpr_fail(r->file, form, "%s needs the attribute :%s", op->name,
                           op->attrs[s].name);
  *out_first = i;
  return EGRAPH_OK;
}

static egraph_status read_term(reader *r, const eg_sexpr *form, uint32_t *out) {
  if (form->kind != EG_SEXPR_LIST || form->count == 0 ||
      form->children[0].kind != EG_SEXPR_ATOM)
    return eg_sexpr_fail(r->file, form, "expected (operator :attribute value terms ...)");
  if (eg_sexpr_is_form(form, "constant")) {
    EG_TRY(read_numbers(r, form, 1));
    if (r->operands.len != 1)
      return eg_sexpr_fail(r->file, form, "expected (constant term)");
    return eg_explained_add_constant(r->out, r->operands.data[0], out);
  }
  eg_attr_list list;
  eg_op op;
  uint32_t first = 0;
  if (!eg_op_find(form->children[0].text, &op))
    return eg_sexpr_fail(r->file, form, "there is no operator '%.100s'",
                         form->children[0].text);
  eg_attr_list_init(&list, op);
  EG_TRY(read_attrs(r, form, &list, &first));
  EG_TRY(read_numbers(r, form, first));
  const eg_attrs attrs = eg_attr_list_attrs(&list);
  return eg_explained_add(r->out, &attrs, r->operands.data, (uint32_t)r->operands.len,
                          out);
}

// ---- forms -----------------------------------------------------------------------

static egraph_status read_terms(reader *r, const eg_sexpr *form) {
  for (uint32_t i = 1; i < form->count; i++) {
    uint32_t term;
    EG_TRY(read_term(r, &form->children[i], &term));
    EG_TRY(eg_u32s_push(&r->terms, term));
  }
  return EGRAPH_OK;
}

static egraph_status read_steps(reader *r, const eg_sexpr *form) {
  for (uint32_t i = 1; i < form->count; i++) {
    const eg_sexpr *step = &form->children[i];
    if (step->kind != EG_SEXPR_LIST || step->count < 2 ||
        step->children[0].kind != EG_SEXPR_ATOM)
      return eg_sexpr_fail(r->file, step, "expected (rule terms ...)");
    EG_TRY(read_numbers(r, step, 1));
    EG_TRY(eg_explained_add_step(r->out, step->children[0].text, r->operands.data,
                                 (uint32_t)r->operands.len));
  }
  return EGRAPH_OK;
}

static egraph_status read_outputs(reader *r, const eg_sexpr *form) {
  EG_TRY(read_numbers(r, form, 1));
  return eg_u32s_append(&r->out->outputs, r->operands.data, r->operands.len);
}

static egraph_status read_file(reader *r, const char *text, size_t size) {
  static const struct {
    const char *name;
    egraph_status (*read)(reader *r, const eg_sexpr *form);
  } forms[] = {{"terms", read_terms}, {"steps", read_steps}, {"outputs", read_outputs}};
  enum { COUNT = sizeof forms / sizeof *forms };
  eg_sexpr file;
  EG_TRY(eg_sexpr_parse(&r->arena, r->file, text, size, &file));
  const eg_sexpr *head = file.count != 0 ? &file.children[0] : &file;
  if (file.count == 0 || !eg_sexpr_is_form(head, "egraph-explanation") ||
      head->count != 2 || !eg_sexpr_is_atom(&head->children[1], "1"))
    return eg_sexpr_fail(r->file, head,
                         "an explanation begins with (egraph-explanation 1); this is "
                         "none, or of a newer version");
  if (file.count != 1 + COUNT)
    return eg_sexpr_fail(r->file, head, "expected (terms ...) (steps ...) (outputs ...)");
  for (uint32_t i = 0; i < COUNT; i++) {
    const eg_sexpr *form = &file.children[1 + i];
    if (!eg_sexpr_is_form(form, forms[i].name))
      return eg_sexpr_fail(r->file, form, "expected (%s ...)", forms[i].name);
    EG_TRY(forms[i].read(r, form));
  }
  return EGRAPH_OK;
}

#define OWNED (eg_arena, arena), (eg_u32s, terms, operands), (eg_text, text)

egraph_status eg_explained_parse(eg_explained *explained, const char *file,
                                 const char *text, size_t size) {
  reader r = {.out = explained, .file = file};
  EG_INIT_MEMBERS(&r, explained->alloc, OWNED);
  egraph_status status = read_file(&r, text, size);
  EG_DEINIT_MEMBERS(&r, OWNED);
  return status;
}
