// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/machine_reader.h"

#include <stdio.h>
#include <string.h>

// Figures beyond these are mistakes, and nothing computed from figures within overflows.
static const double smallest = 1e-30, largest = 1e30;

// ---- atoms ------------------------------------------------------------------------

static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '-' || c == '_' || c == '.';
}

egraph_status eg_machine_read_name(const eg_machine_reader *r, const eg_sexpr *expr,
                                   size_t max, const char **out) {
  size_t len = 0;
  if (expr->kind == EG_SEXPR_ATOM)
    while (is_name_byte(expr->text[len]))
      len++;
  if (len == 0 || len > max || expr->text[len] != '\0')
    return eg_sexpr_fail(
        r->file, expr, "expected a name of at most %zu letters, digits, -, _ and .", max);
  *out = expr->text;
  return EGRAPH_OK;
}

egraph_status eg_machine_read_label(const eg_machine_reader *r, const eg_sexpr *expr,
                                    char out[EG_MESH_NAME_SIZE]) {
  const char *name = NULL;
  EG_TRY(eg_machine_read_name(r, expr, EG_MESH_NAME_SIZE - 1, &name));
  if (strchr(name, '.') != NULL)
    return eg_sexpr_fail(r->file, expr, "this name may not have a '.'");
  memset(out, 0, EG_MESH_NAME_SIZE);
  memcpy(out, name, strlen(name));
  return EGRAPH_OK;
}

egraph_status eg_machine_read_string(const eg_machine_reader *r, const eg_sexpr *form,
                                     const char **out) {
  if (form->count != 2 || form->children[1].kind != EG_SEXPR_STRING ||
      form->children[1].text[0] == '\0')
    return eg_sexpr_fail(r->file, form, "expected (%s \"text\")", form->children[0].text);
  const char *text = form->children[1].text;
  return eg_arena_string(&r->machine->memory, text, strlen(text), out);
}

egraph_status eg_machine_read_integer(const eg_machine_reader *r, const eg_sexpr *expr,
                                      uint32_t *out) {
  int64_t value;
  if (expr->kind != EG_SEXPR_ATOM || !eg_parse_int64(expr->text, &value) || value < 1 ||
      value > EG_MACHINE_MAX_DEVICES)
    return eg_sexpr_fail(r->file, expr, "expected a whole number from 1 to %d",
                         EG_MACHINE_MAX_DEVICES);
  *out = (uint32_t)value;
  return EGRAPH_OK;
}

egraph_status eg_machine_read_size(eg_machine_reader *r, const eg_sexpr *expr,
                                   uint32_t *out) {
  if (!eg_sexpr_is_atom(expr, "nodes")) return eg_machine_read_integer(r, expr, out);
  if (r->nodes == 0)
    return eg_sexpr_fail(
        r->file, expr, "the number of nodes is not said; add a clause such as (nodes 8)");
  r->uses_nodes = true;
  *out = r->nodes;
  return EGRAPH_OK;
}

egraph_status eg_machine_read_figure(const eg_machine_reader *r, const eg_sexpr *form,
                                     bool may_be_zero, double *out) {
  double value = 0;
  if (form->count != 2 || form->children[1].kind != EG_SEXPR_ATOM ||
      !eg_parse_double(form->children[1].text, &value))
    return eg_sexpr_fail(r->file, form, "expected (%s number)", form->children[0].text);
  bool in_range = value >= smallest && value <= largest;
  if (!in_range && !(may_be_zero && value == 0))
    return eg_sexpr_fail(r->file, &form->children[1],
                         "%s must lie between %g and %g%s; give it in bytes, seconds, or "
                         "operations per second",
                         form->children[0].text, smallest, largest,
                         may_be_zero ? ", or be 0" : "");
  *out = value;
  return EGRAPH_OK;
}

// ---- forms of named parts ---------------------------------------------------------

egraph_status eg_machine_find_parts(const eg_machine_reader *r, const eg_sexpr *form,
                                    uint32_t first, const char *const *names,
                                    uint32_t count, const eg_sexpr **out) {
  for (uint32_t k = 0; k < count; k++)
    out[k] = NULL;
  for (uint32_t i = first; i < form->count; i++) {
    const eg_sexpr *part = &form->children[i];
    uint32_t k = 0;
    while (k < count && !eg_sexpr_is_form(part, names[k]))
      k++;
    if (k == count) {
      char list[200] = "";
      for (uint32_t j = 0; j < count; j++)
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s(%s ...)",
                       j == 0 ? "" : " ", names[j]);
      return eg_sexpr_fail(r->file, part, "expected one of %s", list);
    }
    if (out[k] != NULL)
      return eg_sexpr_fail(r->file, part, "%s is given twice; remove one", names[k]);
    out[k] = part;
  }
  return EGRAPH_OK;
}
