// SPDX-License-Identifier: Apache-2.0
#include "rewrites/replay/explained.h"

#include "base/owner.h"
#include "base/sexpr.h"

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

/// Numbers of the terms that are needed, from 1 in their order; 0 of others.
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

static egraph_status print_numbers(const uint32_t *terms, size_t count,
                                   const eg_u32s *numbers, eg_text *out) {
  for (size_t i = 0; i < count; i++)
    EG_TRY(eg_text_printf(out, " %u", numbers->data[terms[i]] - 1));
  return eg_text_append(out, ")");
}

static egraph_status print_term(const eg_explained *e, uint32_t term,
                                const eg_u32s *numbers, eg_text *out) {
  eg_ground ground = eg_ground_at(&e->terms, term);
  const eg_attrs *attrs = eg_explained_attrs(e, term);
  EG_TRY(eg_text_printf(
      out, "\n (%s", attrs == NULL ? "constant" : eg_op_info_of((eg_op)attrs->op)->name));
  if (attrs != NULL) EG_TRY(eg_attrs_print(out, attrs));
  return print_numbers(ground.children, ground.arity, numbers, out);
}

static egraph_status print(const eg_explained *e, const eg_u32s *numbers, eg_text *out) {
  EG_TRY(eg_text_append(out, "(egraph-explanation 1)\n(terms"));
  for (uint32_t t = 0; t < numbers->len; t++)
    if (numbers->data[t] != 0) EG_TRY(print_term(e, t, numbers, out));
  EG_TRY(eg_text_append(out, ")\n(steps"));
  for (size_t i = 0; i < e->steps.len; i++) {
    const eg_explained_step *step = &e->steps.data[i];
    EG_TRY(eg_text_printf(out, "\n (%s", step->rule));
    EG_TRY(print_numbers(e->roots.data + step->first, step->count, numbers, out));
  }
  EG_TRY(eg_text_append(out, ")\n(outputs"));
  EG_TRY(print_numbers(e->outputs.data, e->outputs.len, numbers, out));
  return eg_text_append(out, "\n");
}

egraph_status eg_explained_print(const eg_explained *explained, eg_text *out) {
  eg_u32s numbers;
  eg_u32s_init(&numbers, explained->alloc);
  egraph_status status = number_terms(explained, &numbers);
  if (status == EGRAPH_OK) status = print(explained, &numbers, out);
  eg_u32s_deinit(&numbers);
  return status;
}
