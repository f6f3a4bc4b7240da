
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/replay/explained.h"

#include <assert.h>

#include "base/owner.h"
#include "base/sexpr.h"
#include "pcg/graph/attr_list.h"

#define OWNED                                                                            \
  (eg_arena, names), (eg_ground, terms), (eg_explained_steps, steps),                    \
      (eg_u32s, roots, outputs)

egraph_status eg_explained_init(eg_explained *explained, egraph_allocator alloc) {
  *explained = (eg_explained){.alloc = alloc};
  EG_INIT_MEMBERS(explained, alloc, OWNED);
  return eg_attr_pool_create(&alloc, &explained->attrs);
}

void eg_explained_deinit(eg_explained *explained) {
  EG_DEINIT_MEMBERS(explained, OWNED);
  eg_attr_pool_destroy(explained->attrs);
  explained->attrs = NULL;
}

egraph_status eg_explained_add(eg_explained *explained, const eg_attrs *attrs,
                               const uint32_t *operands, uint32_t count, uint32_t *out) {
  eg_attrs_id payload;
  EG_TRY(eg_attr_pool_add(explained->attrs, attrs, &payload));
  const eg_ground ground = {
      .op = attrs->op, .payload = payload.id, .arity = count, .children = operands};
  return eg_ground_add(&explained->terms, &ground, out);
}

egraph_status eg_explained_add_constant(eg_explained *explained, uint32_t of,
                                        uint32_t *out) {
  const eg_ground ground = {.op = EG_EXPLAINED_CONSTANT, .arity = 1, .children = &of};
  return eg_ground_add(&explained->terms, &ground, out);
}

egraph_status eg_explained_add_step(eg_explained *explained, const char *rule,
                                    const uint32_t *roots, uint32_t count) {
  eg_explained_step step = {.first = (uint32_t)explained->roots.len, .count = count};
  EG_TRY(eg_arena_string(&explained->names, rule, strlen(rule), &step.rule));
  EG_TRY(eg_u32s_append(&explained->roots, roots, count));
  return eg_explained_steps_push(&explained->steps, step);
}

const eg_attrs *eg_explained_attrs(const eg_explained *explained, uint32_t term) {
  eg_ground ground = eg_ground_at(&explained->terms, term);
  if (ground.op == EG_EXPLAINED_CONSTANT) return NULL;
  return eg_attr_pool_get(explained->attrs, (eg_attrs_id){ground.payload});
}

// ---- printing --------------------------------------------------------------------

/// Numbers the terms of the explanation that are needed, from 1; other terms get 0.
static egraph_status number_terms(const eg_explained *e, eg_u32s *out) {
  uint32_t count = eg_ground_count(&e->terms), next = 0;
  EG_TRY(eg_u32s_resize(out, count));
  for (size_t i = 0; i < e->roots.len; i++)
    out->data[e->roots.data[i]] = 1;
  for (size_t i = 0; i < e->outputs.len; i++)
    out->data[e->outputs.data[i]] = 1;
  for (uint32_t t = count; t-- > 0;) {
    eg_ground ground = eg_ground_at(&e->terms, t);
    for (uint32_t i = 0; out->data[t] != 0 && i < ground.arity; i++)
      out->data[ground.children[i]] = 1;
  }
  for (uint32_t t = 0; t < count; t++)
    if (out->data[t] != 0) out->data[t] = ++next;
  return EGRAPH_OK;
}

static void print_numbers(const uint32_t *terms, size_t count, const eg_u32s *numbers,
                          eg_text *out) {
  for (size_t i = 0; i < count; i++) {
    assert(numbers->data[terms[i]] != 0 && "a needed term has a number");
    eg_text_printf(out, " %u", numbers->data[terms[i]] - 1);
  }
  eg_text_append(out, ")");
}

static void print_explained_term(const eg_explained *e, uint32_t term,
                                 const eg_u32s *numbers, eg_text *out) {
  eg_ground ground = eg_ground_at(&e->terms, term);
  const eg_attrs *attrs = eg_explained_attrs(e, term);
  eg_text_printf(out, "\n (%s",
                 attrs == NULL ? "constant" : eg_op_info_of((eg_op)attrs->op)->name);
  if (attrs != NULL) eg_attrs_print(out, attrs);
  print_numbers(ground.children, ground.arity, numbers, out);
}

egraph_status eg_explained_print(const eg_explained *explained, eg_text *out) {
  const eg_explained *e = explained;
  EG_LOCAL(eg_u32s, numbers, e->alloc);
  EG_TRY(number_terms(e, &numbers));
  eg_text_append(out, "(egraph-explanation 1)\n(terms");
  for (uint32_t t = 0; t < numbers.len; t++)
    if (numbers.data[t] != 0) print_explained_term(e, t, &numbers, out);
  eg_text_append(out, ")\n(steps");
  for (size_t i = 0; i < e->steps.len; i++) {
    const eg_explained_step *step = &e->steps.data[i];
    eg_text_printf(out, "\n (%s", step->rule);
    print_numbers(e->roots.data + step->first, step->count, &numbers, out);
  }
  eg_text_append(out, ")\n(outputs");
  print_numbers(e->outputs.data, e->outputs.len, &numbers, out);
  return eg_text_append(out, "\n");
}

// ---- reading ---------------------------------------------------------------------

typedef struct reader {
  eg_explained *out;
  const char *file;
  eg_arena arena;
  eg_u32s terms;    // terms of `out`, by number in the text
  eg_u32s operands; // operands of the current form
  eg_text text;
} reader;
EG_OWNER_DEFINE_STATIC(reader, (eg_arena, arena), (eg_u32s, terms, operands),
                       (eg_text, text))

/// Prefixes the message of a failure with the file, line and column of the expression.
static egraph_status fail_at(const reader *r, const eg_sexpr *expr,
                             egraph_status status) {
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  (void)eg_fail_context(status, "%s:%u:%u", r->file, expr->line, expr->column);
  return EGRAPH_E_PARSE;
}

/// Reads numbers of terms: the children of a form from child `first` on.
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
  return fail_at(r, expr, eg_attr_parse(&r->arena, op, slot, eg_text_of(&r->text), out));
}

/// Reads ":name value" pairs of a term; *out_first is the position of its first operand.
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

static egraph_status read_explained_term(reader *r, const eg_sexpr *form, uint32_t *out) {
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
    EG_TRY(read_explained_term(r, &form->children[i], &term));
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

egraph_status eg_explained_parse(eg_explained *explained, const char *file_name,
                                 const char *text, size_t size) {
  static const struct {
    const char *name;
    egraph_status (*read)(reader *r, const eg_sexpr *form);
  } forms[] = {{"terms", read_terms}, {"steps", read_steps}, {"outputs", read_outputs}};
  enum { COUNT = sizeof forms / sizeof *forms };
  EG_LOCAL_WITH(reader, r, explained->alloc, .out = explained, .file = file_name);
  eg_sexpr file;
  EG_TRY(eg_sexpr_parse(&r.arena, r.file, text, size, &file));
  const eg_sexpr *head = file.count != 0 ? &file.children[0] : &file;
  if (file.count == 0 || !eg_sexpr_is_form(head, "egraph-explanation") ||
      head->count != 2 || !eg_sexpr_is_atom(&head->children[1], "1"))
    return eg_sexpr_fail(r.file, head,
                         "an explanation begins with (egraph-explanation 1); this is "
                         "none, or of a newer version");
  if (file.count != 1 + COUNT)
    return eg_sexpr_fail(r.file, head, "expected (terms ...) (steps ...) (outputs ...)");
  for (uint32_t i = 0; i < COUNT; i++) {
    const eg_sexpr *form = &file.children[1 + i];
    if (!eg_sexpr_is_form(form, forms[i].name))
      return eg_sexpr_fail(r.file, form, "expected (%s ...)", forms[i].name);
    EG_TRY(forms[i].read(&r, form));
  }
  return EGRAPH_OK;
}
