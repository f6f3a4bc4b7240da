// Attributes as text, as they stand in rule files and text graphs.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/sexpr.h"
#include "ops/ops.h"

static egraph_status malformed(const eg_op_info *op, const eg_attr_info *info,
                               const char *text) {
  static const char *const wanted[] = {
#define KIND_TEXT(id, meaning) [id] = meaning,
      EG_ATTR_KIND_LIST(KIND_TEXT)
#undef KIND_TEXT
  };
  return EG_FAIL(EGRAPH_E_PARSE,
                 "%s: attribute %s wants a value of the form: %s; got '%s'", op->name,
                 info->name, wanted[info->kind], text);
}

static egraph_status unknown_symbol(const eg_op_info *op, const eg_attr_info *info,
                                    const char *text) {
  char list[256] = "";
  for (size_t i = 0; info->symbols[i] != NULL; i++) {
    size_t used = strlen(list);
    (void)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : " ",
                   info->symbols[i]);
  }
  return EG_FAIL(EGRAPH_E_PARSE, "%s: attribute %s is one of: %s; got '%s'", op->name,
                 info->name, list, text);
}

static bool is_separator(char c) { return c == ' ' || c == '\t' || c == '\n'; }

enum { MAX_NUMBER = 40 };

/// The next number of a list at *cursor as text, which is left behind it; false at the
/// end of the list, or where there is no such thing.
static bool next_item(const char **cursor, char number[MAX_NUMBER]) {
  while (is_separator(**cursor))
    ++*cursor;
  size_t length = strcspn(*cursor, " \t\n]");
  if (length == 0 || length >= MAX_NUMBER) return false;
  memcpy(number, *cursor, length);
  number[length] = '\0';
  *cursor += length;
  return true;
}

static size_t most_items(const char *text) { return strlen(text) / 2 + 1; }

/// Behind the last item: the list ends there, and so does the text.
static bool ends_list(const char *text) { return text[0] == ']' && text[1] == '\0'; }

// "[1 2 3]". Sets *well_formed.
static egraph_status parse_ints(eg_arena *arena, const char *text, bool *well_formed,
                                eg_ints *out) {
  char number[MAX_NUMBER];
  int64_t *data;
  uint32_t len = 0;
  *well_formed = false;
  if (*text != '[') return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, most_items(text++), sizeof *data, &data));
  while (next_item(&text, number))
    if (!eg_parse_int64(number, &data[len++])) return EGRAPH_OK;
  *well_formed = ends_list(text);
  *out = (eg_ints){.data = data, .len = len};
  return EGRAPH_OK;
}

static egraph_status parse_floats(eg_arena *arena, const char *text, bool *well_formed,
                                  eg_floats *out) {
  char number[MAX_NUMBER];
  double *data;
  uint32_t len = 0;
  *well_formed = false;
  if (*text != '[') return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, most_items(text++), sizeof *data, &data));
  while (next_item(&text, number))
    if (!eg_parse_double(number, &data[len++])) return EGRAPH_OK;
  *well_formed = ends_list(text);
  *out = (eg_floats){.data = data, .len = len};
  return EGRAPH_OK;
}

// A literal in quotes, or any other text as it is.
static egraph_status parse_string(eg_arena *arena, const char *text, const char **out) {
  size_t length = strlen(text);
  if (*text != '"') return eg_arena_string(arena, text, length, out);
  eg_sexpr file;
  EG_TRY(eg_sexpr_parse(arena, "string", text, length, &file));
  if (file.count != 1 || file.children[0].kind != EG_SEXPR_STRING)
    return EG_FAIL(EGRAPH_E_PARSE, "'%s' is not one string in quotes", text);
  *out = file.children[0].text;
  return EGRAPH_OK;
}

static egraph_status parse_symbol(const eg_op_info *op, const eg_attr_info *info,
                                  const char *text, int64_t *out) {
  for (int64_t i = 0; info->symbols[i] != NULL; i++)
    if (strcmp(info->symbols[i], text) == 0) {
      *out = i;
      return EGRAPH_OK;
    }
  return unknown_symbol(op, info, text);
}

static egraph_status parse_dtype(const eg_op_info *op, const eg_attr_info *info,
                                 const char *text, int64_t *out) {
  egraph_dtype dtype;
  if (!eg_dtype_find(text, &dtype)) return malformed(op, info, text);
  *out = dtype;
  return EGRAPH_OK;
}

egraph_status eg_attr_parse(eg_arena *arena, eg_op op, uint16_t slot, const char *text,
                            eg_attr *out) {
  const eg_op_info *row = eg_op_info_of(op);
  assert(slot < row->attr_count);
  const eg_attr_info *info = &row->attrs[slot];
  eg_attr value = {.kind = info->kind};
  bool well_formed = true;
  switch (info->kind) {
  case EG_ATTR_INT: well_formed = eg_parse_int64(text, &value.i); break;
  case EG_ATTR_FLOAT: well_formed = eg_parse_double(text, &value.f); break;
  case EG_ATTR_INTS: EG_TRY(parse_ints(arena, text, &well_formed, &value.ints)); break;
  case EG_ATTR_FLOATS:
    EG_TRY(parse_floats(arena, text, &well_formed, &value.floats));
    break;
  case EG_ATTR_SYMBOL: EG_TRY(parse_symbol(row, info, text, &value.i)); break;
  case EG_ATTR_DTYPE: EG_TRY(parse_dtype(row, info, text, &value.i)); break;
  case EG_ATTR_STRING: EG_TRY(parse_string(arena, text, &value.text)); break;
  }
  if (!well_formed) return malformed(row, info, text);
  *out = value;
  return EGRAPH_OK;
}

static egraph_status print_ints(eg_text *text, eg_ints ints) {
  EG_TRY(eg_text_append(text, "["));
  for (uint32_t i = 0; i < ints.len; i++)
    EG_TRY(eg_text_printf(text, "%s%" PRId64, i == 0 ? "" : " ", ints.data[i]));
  return eg_text_append(text, "]");
}

static egraph_status print_floats(eg_text *text, eg_floats floats) {
  EG_TRY(eg_text_append(text, "["));
  for (uint32_t i = 0; i < floats.len; i++) {
    if (i != 0) EG_TRY(eg_text_append(text, " "));
    EG_TRY(eg_text_double(text, floats.data[i]));
  }
  return eg_text_append(text, "]");
}

egraph_status eg_attr_print(eg_text *text, eg_op op, uint16_t slot,
                            const eg_attr *value) {
  const eg_op_info *row = eg_op_info_of(op);
  assert(slot < row->attr_count && value->kind == row->attrs[slot].kind);
  switch (value->kind) {
  case EG_ATTR_INT: return eg_text_printf(text, "%" PRId64, value->i);
  case EG_ATTR_FLOAT: return eg_text_double(text, value->f);
  case EG_ATTR_INTS: return print_ints(text, value->ints);
  case EG_ATTR_FLOATS: return print_floats(text, value->floats);
  case EG_ATTR_SYMBOL: return eg_text_append(text, row->attrs[slot].symbols[value->i]);
  case EG_ATTR_DTYPE: return eg_text_append(text, eg_dtype_name((egraph_dtype)value->i));
  case EG_ATTR_STRING: return eg_text_quoted(text, value->text);
  }
  return EGRAPH_OK;
}

egraph_status eg_attrs_print(eg_text *text, const eg_attrs *attrs) {
  eg_op op = (eg_op)attrs->op;
  const eg_op_info *row = eg_op_info_of(op);
  for (uint16_t i = 0; i < attrs->count; i++) {
    const eg_attr_info *info = &row->attrs[i];
    eg_attr usual = eg_attr_default(op, i);
    bool required = *info->default_text == '\0';
    if (!required && eg_attr_same(&attrs->slots[i], &usual)) continue;
    EG_TRY(eg_text_printf(text, " :%s ", info->name));
    EG_TRY(eg_attr_print(text, op, i, &attrs->slots[i]));
  }
  return EGRAPH_OK;
}
