// Reader of the text form of a graph (grammar in README.md).
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "base/sexpr.h"
#include "base/spelling.h"
#include "pcg/graph/attr_list.h"
#include "pcg/graph/graph_internal.h"

typedef struct reader {
  const char *file;
  eg_arena arena;
  eg_graph *graph;
  eg_values operands, results;
} reader;
EG_OWNER_DEFINE_STATIC(reader, (eg_arena, arena), (eg_values, operands, results))

/// The optional parts of a `let` statement, which follow its term.
typedef struct let_options {
  const char *node;
  const eg_sexpr *formats, *types, *record;
} let_options;

static bool is_name(const eg_sexpr *expr) {
  return expr->kind == EG_SEXPR_STRING ||
         (expr->kind == EG_SEXPR_ATOM && expr->text[0] != ':');
}

static bool is_keyword(const eg_sexpr *expr) {
  return expr->kind == EG_SEXPR_ATOM && expr->text[0] == ':';
}

/// Puts file, line and column before the message of a failure that lacks them.
static egraph_status at(const reader *r, const eg_sexpr *expr, egraph_status status) {
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  (void)eg_fail_context(status, "%s:%u:%u", r->file, expr->line, expr->column);
  return status == EGRAPH_E_ARGUMENT ? EGRAPH_E_PARSE : status;
}

static egraph_status parse_type(const reader *r, const eg_sexpr *expr, eg_type *out) {
  char where[320];
  (void)snprintf(where, sizeof where, "%.256s:%u:%u", r->file, expr->line, expr->column);
  if (!is_name(expr))
    return eg_sexpr_fail(r->file, expr, "expected a type such as \"float32[1,3]\"");
  EG_TRY(eg_type_parse(where, expr->text, out));
  return at(r, expr, eg_type_check(out));
}

static egraph_status parse_element(const reader *r, const eg_sexpr *expr,
                                   const eg_tensor *tensor, int64_t index) {
  double number;
  int64_t integer;
  bool is_float = eg_dtype_is_float(tensor->type.dtype);
  if (expr->kind != EG_SEXPR_ATOM || !(is_float ? eg_parse_double(expr->text, &number)
                                                : eg_parse_int64(expr->text, &integer)))
    return eg_sexpr_fail(r->file, expr, "expected %s",
                         is_float ? "a number" : "an integer");
  if (is_float) {
    eg_tensor_set_double(tensor, index, number);
    return EGRAPH_OK;
  }
  eg_tensor_set_int(tensor, index, integer);
  if (eg_tensor_get_int(tensor, index) != integer)
    return eg_sexpr_fail(r->file, expr, "%s does not fit into %s", expr->text,
                         eg_dtype_name(tensor->type.dtype));
  return EGRAPH_OK;
}

static egraph_status parse_data(const reader *r, const eg_sexpr *expr,
                                const eg_type *type, eg_buffer **out) {
  if (expr->kind != EG_SEXPR_BRACKETS || expr->count != eg_type_elements(type))
    return eg_sexpr_fail(r->file, expr, "expected [...] with %lld numbers",
                         (long long)eg_type_elements(type));
  EG_TRY(eg_buffer_create(&r->graph->alloc, eg_type_bytes(type), out));
  eg_tensor tensor = {.type = *type, .data = eg_buffer_writable(*out)};
  for (uint32_t i = 0; i < expr->count; i++) {
    egraph_status status = parse_element(r, &expr->children[i], &tensor, i);
    if (status == EGRAPH_OK) continue;
    eg_buffer_release(*out);
    return status;
  }
  return EGRAPH_OK;
}

/// Reads (input name "type" [default]) or (weight name "type" [numbers]).
static egraph_status parse_leaf(reader *r, const eg_sexpr *form, bool is_input) {
  eg_type type;
  eg_value value;
  eg_buffer *data = NULL;
  if ((form->count != 3 && form->count != 4) || !is_name(&form->children[1]))
    return eg_sexpr_fail(r->file, form, "expected (%s name \"type\" [numbers])",
                         is_input ? "input" : "weight");
  const char *name = form->children[1].text;
  EG_TRY(parse_type(r, &form->children[2], &type));
  if (form->count == 4) EG_TRY(parse_data(r, &form->children[3], &type, &data));
  egraph_status status = is_input
                             ? eg_graph_add_input(r->graph, name, &type, &value)
                             : eg_graph_add_weight(r->graph, name, &type, data, &value);
  if (status == EGRAPH_OK && is_input)
    status = eg_graph_set_default(r->graph, value, data);
  eg_buffer_release(data);
  return at(r, form, status);
}

static egraph_status parse_operand(reader *r, const eg_sexpr *expr, eg_value *out) {
  if (!is_name(expr))
    return eg_sexpr_fail(r->file, expr, "expected the name of a tensor");
  if (!eg_graph_find_value(r->graph, expr->text, out))
    return eg_sexpr_fail(
        r->file, expr,
        "there is no tensor '%.200s'; tensors must be made before they are used",
        expr->text);
  return EGRAPH_OK;
}

static egraph_status parse_operands(reader *r, const eg_sexpr *exprs, uint32_t count) {
  r->operands.len = 0;
  for (uint32_t i = 0; i < count; i++) {
    eg_value value;
    EG_TRY(parse_operand(r, &exprs[i], &value));
    EG_TRY(eg_values_push(&r->operands, value));
  }
  return EGRAPH_OK;
}

static egraph_status parse_attr_value(reader *r, eg_op op, uint16_t slot,
                                      const eg_sexpr *expr, eg_attr *out) {
  EG_LOCAL(eg_text, text, r->graph->alloc);
  if (expr->kind == EG_SEXPR_LIST)
    return at(r, expr, EG_FAIL(EGRAPH_E_PARSE, "expected a value"));
  EG_TRY(at(r, expr, eg_sexpr_print(&text, expr)));
  return at(r, expr, eg_attr_parse(&r->arena, op, slot, eg_text_of(&text), out));
}

/// Reads ":name value" pairs from exprs[*index] on; leaves *index at the first operand.
static egraph_status parse_attrs(reader *r, const eg_sexpr *term, uint32_t *index,
                                 eg_attr_list *list) {
  const eg_op_info *op = eg_op_info_of(list->op);
  bool given[EG_MAX_SLOTS] = {false};
  while (*index < term->count && is_keyword(&term->children[*index])) {
    const eg_sexpr *key = &term->children[(*index)++];
    uint16_t slot;
    if (!eg_op_find_attr(list->op, key->text + 1, &slot))
      return eg_sexpr_fail(r->file, key, "%s has no attribute '%.100s'", op->name,
                           key->text + 1);
    if (given[slot])
      return eg_sexpr_fail(r->file, key, "attribute '%s' is given twice",
                           op->attrs[slot].name);
    if (*index == term->count)
      return eg_sexpr_fail(r->file, key, "attribute '%s' has no value",
                           op->attrs[slot].name);
    given[slot] = true;
    EG_TRY(parse_attr_value(r, list->op, slot, &term->children[(*index)++],
                            &list->slots[slot]));
  }
  for (uint16_t i = 0; i < op->attr_count; i++)
    if (!given[i] && op->attrs[i].default_text[0] == '\0')
      return eg_sexpr_fail(r->file, term, "%s needs the attribute :%s", op->name,
                           op->attrs[i].name);
  return EGRAPH_OK;
}

static egraph_status parse_result_names(reader *r, const eg_sexpr *expr,
                                        const char ***out, uint32_t *out_count) {
  uint32_t count = expr->kind == EG_SEXPR_BRACKETS ? expr->count : 1;
  const eg_sexpr *items = expr->kind == EG_SEXPR_BRACKETS ? expr->children : expr;
  const char **names = NULL;
  EG_NEW(&r->arena, count, names);
  for (uint32_t i = 0; i < count; i++) {
    if (!is_name(&items[i]))
      return eg_sexpr_fail(r->file, &items[i], "expected the name of a result");
    names[i] = items[i].text;
  }
  *out = names;
  *out_count = count;
  return EGRAPH_OK;
}

static egraph_status parse_options(const reader *r, const eg_sexpr *form,
                                   let_options *out) {
  *out = (let_options){0};
  for (uint32_t i = 3; i + 1 < form->count; i += 2) {
    const eg_sexpr *key = &form->children[i], *value = &form->children[i + 1];
    if (eg_sexpr_is_atom(key, ":node") && is_name(value))
      out->node = value->text;
    else if (eg_sexpr_is_atom(key, ":formats") && value->kind == EG_SEXPR_BRACKETS)
      out->formats = value;
    else if (eg_sexpr_is_atom(key, ":types") && value->kind == EG_SEXPR_BRACKETS)
      out->types = value;
    else if (eg_sexpr_is_atom(key, ":record") && value->kind == EG_SEXPR_STRING)
      out->record = value;
    else
      return eg_sexpr_fail(r->file, key,
                           "expected :node name, :formats [...], :types [...] or :record "
                           "\"...\"");
  }
  if (form->count % 2 == 0)
    return eg_sexpr_fail(r->file, form, "the last option of this statement has no value");
  return EGRAPH_OK;
}

static int hex_digit(char c) {
  static const char digits[] = "0123456789abcdef";
  const char *found = c != '\0' ? strchr(digits, c) : NULL;
  return found != NULL ? (int)(found - digits) : -1;
}

static egraph_status parse_record(reader *r, const eg_sexpr *expr, unsigned char **out,
                                  size_t *out_size) {
  *out = NULL;
  *out_size = 0;
  if (expr == NULL) return EGRAPH_OK;
  size_t digits = strlen(expr->text);
  if (digits % 2 != 0)
    return eg_sexpr_fail(r->file, expr, "a record has two digits per byte");
  EG_TRY(eg_arena_alloc(&r->arena, digits / 2, 1, out));
  for (size_t i = 0; i < digits; i += 2) {
    int high = hex_digit(expr->text[i]), low = hex_digit(expr->text[i + 1]);
    if (high < 0 || low < 0)
      return eg_sexpr_fail(r->file, expr, "a record is written in digits 0-9 and a-f");
    (*out)[i / 2] = (unsigned char)(high * 16 + low);
  }
  *out_size = digits / 2;
  return EGRAPH_OK;
}

static egraph_status parse_types(reader *r, const eg_sexpr *expr, const eg_sexpr *form,
                                 uint32_t count, const eg_type ***out) {
  const eg_type **types = NULL;
  EG_NEW(&r->arena, count, types);
  if (expr != NULL && expr->count != count)
    return eg_sexpr_fail(r->file, form, "there are %u results but %u types", count,
                         expr->count);
  for (uint32_t i = 0; expr != NULL && i < count; i++) {
    if (eg_sexpr_is_atom(&expr->children[i], "none")) continue;
    eg_type *type;
    EG_NEW(&r->arena, 1, type);
    EG_TRY(parse_type(r, &expr->children[i], type));
    types[i] = type;
  }
  *out = types;
  return EGRAPH_OK;
}

static egraph_status add_opaque_node(reader *r, const eg_sexpr *form,
                                     const eg_sexpr *term, const let_options *options,
                                     const char **names, uint32_t count) {
  if (term->count < 2 || !is_name(&term->children[1]))
    return eg_sexpr_fail(r->file, term, "expected (opaque operator-type operands ...)");
  const eg_type **types = NULL;
  unsigned char *record;
  size_t record_size;
  EG_TRY(parse_operands(r, term->children + 2, term->count - 2));
  EG_TRY(parse_types(r, options->types, form, count, &types));
  EG_TRY(parse_record(r, options->record, &record, &record_size));
  return at(r, form,
            eg_graph_add_opaque(r->graph, options->node, term->children[1].text, record,
                                record_size, r->operands.data, term->count - 2,
                                (const eg_type *const *)types, names, count,
                                r->results.data));
}

static egraph_status add_known_node(reader *r, const eg_sexpr *form, const eg_sexpr *term,
                                    eg_op op, const let_options *options,
                                    const char **names, uint32_t count) {
  eg_attr_list list;
  uint32_t first = 1;
  eg_attr_list_init(&list, op);
  EG_TRY(parse_attrs(r, term, &first, &list));
  eg_attrs attrs = eg_attr_list_attrs(&list);
  uint32_t operands = term->count - first;
  EG_TRY(parse_operands(r, term->children + first, operands));
  if (eg_op_results(&attrs) != count)
    return eg_sexpr_fail(r->file, form, "%s has %u results but %u names are given",
                         eg_op_info_of(op)->name, eg_op_results(&attrs), count);
  return at(r, form,
            eg_graph_add_node(r->graph, options->node, &attrs, r->operands.data, operands,
                              names, r->results.data));
}

static egraph_status set_formats(reader *r, const eg_sexpr *formats, uint32_t count) {
  if (formats == NULL) return EGRAPH_OK;
  if (formats->count != count)
    return eg_sexpr_fail(r->file, formats, "expected one format per result");
  for (uint32_t i = 0; i < count; i++) {
    const eg_sexpr *expr = &formats->children[i];
    eg_format format;
    if (expr->kind != EG_SEXPR_ATOM || !eg_format_find(expr->text, &format))
      return eg_sexpr_fail(r->file, expr, "expected a memory format such as nhwc");
    if (format == EG_FORMAT_PLAIN) continue;
    EG_TRY(at(r, expr, eg_graph_set_format(r->graph, r->results.data[i], format)));
  }
  return EGRAPH_OK;
}

static egraph_status refuse_operator(const reader *r, const eg_sexpr *term,
                                     const char *name) {
  eg_spelling spelling = eg_spelling_start(name);
  for (int op = 0; op < EG_OP_COUNT; op++)
    eg_spelling_offer(&spelling, eg_op_info_of((eg_op)op)->name);
  if (spelling.best != NULL)
    return eg_sexpr_fail(r->file, term,
                         "there is no operator '%.100s'; did you mean '%s'?", name,
                         spelling.best);
  return eg_sexpr_fail(r->file, term,
                       "there is no operator '%.100s'; egraph rules --operators lists "
                       "them",
                       name);
}

static egraph_status parse_let(reader *r, const eg_sexpr *form) {
  if (form->count < 3 || form->children[2].kind != EG_SEXPR_LIST ||
      form->children[2].count == 0 || form->children[2].children[0].kind != EG_SEXPR_ATOM)
    return eg_sexpr_fail(
        r->file, form, "expected (let result (operator :attribute value operands ...))");
  const eg_sexpr *term = &form->children[2];
  eg_op op;
  if (!eg_op_find(term->children[0].text, &op))
    return refuse_operator(r, term, term->children[0].text);
  const char **names = NULL;
  uint32_t count = 0;
  let_options options;
  EG_TRY(parse_result_names(r, &form->children[1], &names, &count));
  EG_TRY(parse_options(r, form, &options));
  EG_TRY(eg_values_resize(&r->results, count));
  if (op == EG_OP_OPAQUE)
    EG_TRY(add_opaque_node(r, form, term, &options, names, count));
  else
    EG_TRY(add_known_node(r, form, term, op, &options, names, count));
  return set_formats(r, options.formats, count);
}

static egraph_status parse_output(reader *r, const eg_sexpr *form) {
  eg_value value;
  if ((form->count != 2 && form->count != 3) || !is_name(&form->children[1]))
    return eg_sexpr_fail(r->file, form,
                         "expected (output tensor) or (output name tensor)");
  EG_TRY(parse_operand(r, &form->children[form->count - 1], &value));
  return at(r, form, eg_graph_add_output(r->graph, form->children[1].text, value));
}

static egraph_status parse_header(reader *r, const eg_sexpr *form) {
  unsigned char *bytes;
  size_t size;
  eg_buffer *header;
  if (form->count != 2 || form->children[1].kind != EG_SEXPR_STRING ||
      eg_graph_header(r->graph) != NULL)
    return eg_sexpr_fail(r->file, form, "expected one (header \"record\")");
  EG_TRY(parse_record(r, &form->children[1], &bytes, &size));
  EG_TRY(eg_buffer_create(&r->graph->alloc, size, &header));
  if (size != 0) memcpy(eg_buffer_writable(header), bytes, size);
  eg_graph_set_header(r->graph, header);
  eg_buffer_release(header);
  return EGRAPH_OK;
}

static egraph_status parse_statement(reader *r, const eg_sexpr *form) {
  if (eg_sexpr_is_form(form, "input")) return parse_leaf(r, form, true);
  if (eg_sexpr_is_form(form, "weight")) return parse_leaf(r, form, false);
  if (eg_sexpr_is_form(form, "let")) return parse_let(r, form);
  if (eg_sexpr_is_form(form, "output")) return parse_output(r, form);
  if (eg_sexpr_is_form(form, "header")) return parse_header(r, form);
  return eg_sexpr_fail(r->file, form,
                       "expected (input ...), (weight ...), (let ...) or (output ...)");
}

static egraph_status parse_file(reader *r, const char *text, size_t size) {
  eg_sexpr file;
  EG_TRY(eg_sexpr_parse(&r->arena, r->file, text, size, &file));
  const eg_sexpr *head = file.count != 0 ? &file.children[0] : &file;
  if (file.count == 0 || !eg_sexpr_is_form(head, "egraph-graph") || head->count != 2 ||
      !eg_sexpr_is_atom(&head->children[1], "1"))
    return eg_sexpr_fail(
        r->file, head,
        "a graph file begins with (egraph-graph %d); this is none, or of "
        "a newer version",
        EG_GRAPH_TEXT_VERSION);
  for (uint32_t i = 1; i < file.count; i++)
    EG_TRY(parse_statement(r, &file.children[i]));
  return EGRAPH_OK;
}

egraph_status eg_graph_parse(const egraph_allocator *alloc, const char *file,
                             const char *text, size_t size, eg_graph **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_HELD(eg_graph, graph);
  EG_TRY(eg_graph_create(&heap, &graph));
  EG_LOCAL_WITH(reader, r, heap, .file = file, .graph = graph);
  EG_HAND_OVER(parse_file(&r, text, size), graph, out);
}
