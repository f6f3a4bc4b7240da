// Parsing is iterative. Open lists are on a stack; their children are in a shared array.
// A closing bracket copies the children of its list to the arena; every list is
// therefore contiguous.
// SPDX-License-Identifier: Apache-2.0
#include "base/sexpr.h"

#include <stdarg.h>
#include <stdio.h>

EG_VEC_DEFINE(sexprs, eg_sexpr);

typedef struct parser {
  eg_arena *arena;
  const char *file;
  const char *at, *end;
  uint32_t line, column;
  sexprs gathered;                   // children of all open lists
  eg_sexpr open[EG_SEXPR_MAX_DEPTH]; // position and kind of each open list
  size_t first[EG_SEXPR_MAX_DEPTH];  // index of its first child in `gathered`
  size_t depth;
} parser;

egraph_status eg_sexpr_fail(const char *file, const eg_sexpr *at, const char *format,
                            ...) {
  char what[512];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return EG_FAIL(EGRAPH_E_PARSE, "%s:%u:%u: %s", file, at->line, at->column, what);
}

static eg_sexpr here(const parser *p, eg_sexpr_kind kind) {
  return (eg_sexpr){.kind = kind, .line = p->line, .column = p->column};
}

static char advance(parser *p) {
  char c = *p->at++;
  if (c == '\n') {
    p->line++;
    p->column = 1;
  } else {
    p->column++;
  }
  return c;
}

static void skip_blank(parser *p) {
  while (p->at < p->end) {
    if (*p->at == ';') {
      while (p->at < p->end && *p->at != '\n')
        (void)advance(p);
    } else if (strchr(" \t\r\n", *p->at) != NULL && *p->at != '\0') {
      (void)advance(p);
    } else {
      return;
    }
  }
}

static bool ends_atom(char c) { return c == '\0' || strchr(" \t\r\n()[]\";", c) != NULL; }

static egraph_status parse_atom(parser *p) {
  eg_sexpr atom = here(p, EG_SEXPR_ATOM);
  const char *start = p->at;
  while (p->at < p->end && !ends_atom(*p->at))
    (void)advance(p);
  if (p->at == start)
    return eg_sexpr_fail(p->file, &atom, "unexpected byte 0x%02x; the file must be text",
                         (unsigned char)*p->at);
  EG_TRY(eg_arena_string(p->arena, start, (size_t)(p->at - start), &atom.text));
  return sexprs_push(&p->gathered, atom);
}

static egraph_status parse_string(parser *p) {
  eg_sexpr string = here(p, EG_SEXPR_STRING);
  (void)advance(p);
  const char *start = p->at;
  size_t room = 0;
  for (const char *c = start; c < p->end && *c != '"'; c++) {
    if (*c == '\\' && c + 1 < p->end) c++;
    room++;
  }
  char *text;
  EG_TRY(eg_arena_alloc(p->arena, room + 1, 1, &text));
  string.text = text;
  while (p->at < p->end && *p->at != '"') {
    char c = advance(p);
    if (c == '\0') return eg_sexpr_fail(p->file, &string, "a string contains a NUL byte");
    if (c == '\\' && p->at < p->end) {
      c = advance(p);
      if (c == 'n')
        c = '\n';
      else if (c == 't')
        c = '\t';
      else if (c != '"' && c != '\\')
        return eg_sexpr_fail(p->file, &string,
                             "unknown escape; use \\\" \\\\ \\n or \\t");
    }
    *text++ = c;
  }
  if (p->at == p->end)
    return eg_sexpr_fail(p->file, &string, "this string is not closed; add a '\"'");
  (void)advance(p);
  return sexprs_push(&p->gathered, string);
}

static egraph_status open_list(parser *p, eg_sexpr_kind kind) {
  eg_sexpr list = here(p, kind);
  if (p->depth == EG_SEXPR_MAX_DEPTH)
    return eg_sexpr_fail(p->file, &list, "lists are nested deeper than %d",
                         EG_SEXPR_MAX_DEPTH);
  (void)advance(p);
  p->open[p->depth] = list;
  p->first[p->depth++] = p->gathered.len;
  return EGRAPH_OK;
}

static egraph_status gather(parser *p, size_t first, eg_sexpr *list) {
  size_t count = p->gathered.len - first;
  list->count = (uint32_t)count;
  EG_NEW(p->arena, count, list->children);
  if (count != 0)
    memcpy(list->children, p->gathered.data + first, count * sizeof *list->children);
  p->gathered.len = first;
  return EGRAPH_OK;
}

static egraph_status close_list(parser *p, eg_sexpr_kind kind) {
  eg_sexpr close = here(p, kind);
  if (p->depth == 0)
    return eg_sexpr_fail(p->file, &close, "this bracket closes nothing; remove it");
  eg_sexpr list = p->open[p->depth - 1];
  if (list.kind != kind)
    return eg_sexpr_fail(p->file, &close,
                         "this bracket does not match the one opened at %u:%u", list.line,
                         list.column);
  (void)advance(p);
  EG_TRY(gather(p, p->first[--p->depth], &list));
  return sexprs_push(&p->gathered, list);
}

static egraph_status parse_one(parser *p) {
  switch (*p->at) {
  case '(': return open_list(p, EG_SEXPR_LIST);
  case '[': return open_list(p, EG_SEXPR_BRACKETS);
  case ')': return close_list(p, EG_SEXPR_LIST);
  case ']': return close_list(p, EG_SEXPR_BRACKETS);
  case '"': return parse_string(p);
  default: return parse_atom(p);
  }
}

static egraph_status parse_all(parser *p, eg_sexpr *out) {
  for (skip_blank(p); p->at < p->end; skip_blank(p))
    EG_TRY(parse_one(p));
  if (p->depth != 0)
    return eg_sexpr_fail(p->file, &p->open[p->depth - 1],
                         "this bracket is never closed; the file may be truncated");
  eg_sexpr file = {.kind = EG_SEXPR_LIST, .line = 1, .column = 1};
  EG_TRY(gather(p, 0, &file));
  *out = file;
  return EGRAPH_OK;
}

egraph_status eg_sexpr_parse(eg_arena *arena, const char *file, const char *text,
                             size_t size, eg_sexpr *out) {
  parser p = {.arena = arena,
              .file = file,
              .at = text,
              .end = text + size,
              .line = 1,
              .column = 1};
  sexprs_init(&p.gathered, arena->alloc);
  egraph_status status = parse_all(&p, out);
  sexprs_deinit(&p.gathered);
  return status;
}

bool eg_sexpr_is_atom(const eg_sexpr *expr, const char *text) {
  return expr->kind == EG_SEXPR_ATOM && strcmp(expr->text, text) == 0;
}

bool eg_sexpr_is_form(const eg_sexpr *expr, const char *head) {
  return expr->kind == EG_SEXPR_LIST && expr->count != 0 &&
         eg_sexpr_is_atom(&expr->children[0], head);
}

egraph_status eg_text_quoted(eg_text *text, const char *string) {
  EG_TRY(eg_text_append(text, "\""));
  for (const char *c = string; *c != '\0'; c++) {
    const char *escape = *c == '"'    ? "\\\""
                         : *c == '\\' ? "\\\\"
                         : *c == '\n' ? "\\n"
                         : *c == '\t' ? "\\t"
                                      : NULL;
    EG_TRY(escape != NULL ? eg_text_append(text, escape)
                          : eg_text_append_bytes(text, c, 1));
  }
  return eg_text_append(text, "\"");
}

// The depth of a parsed expression is at most EG_SEXPR_MAX_DEPTH, so this
// recursion is bounded.
egraph_status eg_sexpr_print(eg_text *text, const eg_sexpr *expr) {
  if (expr->kind == EG_SEXPR_ATOM) return eg_text_append(text, expr->text);
  if (expr->kind == EG_SEXPR_STRING) return eg_text_quoted(text, expr->text);
  bool list = expr->kind == EG_SEXPR_LIST;
  EG_TRY(eg_text_append(text, list ? "(" : "["));
  for (uint32_t i = 0; i < expr->count; i++) {
    if (i != 0) EG_TRY(eg_text_append(text, " "));
    EG_TRY(eg_sexpr_print(text, &expr->children[i]));
  }
  return eg_text_append(text, list ? ")" : "]");
}
