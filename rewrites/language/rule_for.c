// Expands `for`. An environment is a list of bindings, the innermost first. Expressions
// of a body are copied with the values in place of the names. Values of an inner `for`
// are expressions of the outer body, so they are copied before they are bound.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_forms.h"

#include <string.h>

#include "rewrites/language/rule_reader.h"

enum { MOST_NAMES = 16, MOST_CHARACTERS = 4096 };

typedef struct binding {
  const eg_sexpr *name, *value;
  const struct binding *outer;
} binding;

EG_VEC_DEFINE(expressions, eg_sexpr);

typedef struct expansion {
  eg_arena *arena;
  const char *file;
  expressions *forms; // forms of the result
  uint32_t count;     // number of expressions, at most EG_RULE_FOR_MOST
} expansion;

static size_t name_length(const char *text) { // of "$act-bias": 4
  return 1 + strspn(text + 1, "abcdefghijklmnopqrstuvwxyz");
}

static bool is_name(const eg_sexpr *expr) {
  return expr->kind == EG_SEXPR_ATOM && expr->text[0] == '$' && expr->text[1] != '\0' &&
         expr->text[name_length(expr->text)] == '\0';
}

static egraph_status count_one(expansion *e, const eg_sexpr *at, uint32_t depth) {
  if (++e->count <= EG_RULE_FOR_MOST && depth <= EG_SEXPR_MAX_DEPTH) return EGRAPH_OK;
  return eg_sexpr_fail(e->file, at,
                       "the values of for make more than %d expressions, or nest them "
                       "deeper than %d; write fewer",
                       EG_RULE_FOR_MOST, EG_SEXPR_MAX_DEPTH);
}

static egraph_status find_value(const expansion *e, const binding *env,
                                const eg_sexpr *at, const char *name,
                                const eg_sexpr **out_value) {
  size_t length = name_length(name);
  for (const binding *b = env; b != NULL; b = b->outer)
    if (strncmp(b->name->text, name, length) == 0 && b->name->text[length] == '\0') {
      *out_value = b->value;
      return EGRAPH_OK;
    }
  return eg_sexpr_fail(e->file, at, "no for binds %.*s; write (for %.*s (value ...) ...)",
                       (int)length, name, (int)length, name);
}

/// Copies a word such as "matmul$kind-$act", with values in place of the names after $.
static egraph_status copy_text(expansion *e, const binding *env, const eg_sexpr *from,
                               eg_sexpr *out) {
  EG_LOCAL(eg_text, text, e->arena->alloc);
  for (const char *c = from->text; *c != '\0';) {
    const eg_sexpr *value = NULL;
    size_t plain = strcspn(c, "$");
    eg_text_append_bytes(&text, c, plain);
    c += plain;
    if (*c == '\0') break;
    EG_TRY(find_value(e, env, from, c, &value));
    if (value->text == NULL)
      return eg_sexpr_fail(e->file, from,
                           "%.*s is a list; only a word can be part of a word",
                           (int)name_length(c), c);
    if (text.chars.len > MOST_CHARACTERS)
      return eg_sexpr_fail(e->file, from,
                           "the values of for make a word of more than %d characters",
                           MOST_CHARACTERS);
    eg_text_append(&text, value->text);
    c += name_length(c);
  }
  *out = *from;
  EG_TRY(eg_text_status(&text));
  return eg_arena_string(e->arena, eg_text_of(&text), text.chars.len, &out->text);
}

static egraph_status copy_expression(expansion *e, const binding *env,
                                     const eg_sexpr *from, uint32_t depth,
                                     expressions *out);

static egraph_status copy_children(expansion *e, const binding *env, const eg_sexpr *from,
                                   uint32_t depth, eg_sexpr *out) {
  EG_LOCAL(expressions, children, e->arena->alloc);
  for (uint32_t i = 0; i < from->count; i++)
    EG_TRY(copy_expression(e, env, &from->children[i], depth + 1, &children));
  *out = *from;
  out->count = (uint32_t)children.len;
  return EG_RULE_KEEP(e->arena, children, &out->children);
}

/// Appends the copy of an expression, or the elements of the list that a name is bound
/// to.
static egraph_status copy_expression(expansion *e, const binding *env,
                                     const eg_sexpr *from, uint32_t depth,
                                     expressions *out) {
  eg_sexpr made = *from;
  EG_TRY(count_one(e, from, depth));
  if (from->text == NULL) {
    EG_TRY(copy_children(e, env, from, depth, &made));
  } else if (is_name(from)) {
    const eg_sexpr *value = NULL;
    EG_TRY(find_value(e, env, from, from->text, &value));
    bool is_list = value->kind == EG_SEXPR_LIST;
    // The value was copied when it was bound.
    for (uint32_t i = 0; is_list && i < value->count; i++)
      EG_TRY(copy_expression(e, NULL, &value->children[i], depth, out));
    if (is_list) return EGRAPH_OK;
    made = *value;
    if (value->text == NULL) EG_TRY(copy_children(e, NULL, value, depth, &made));
    made.line = from->line;
    made.column = from->column;
  } else if (strchr(from->text, '$') != NULL) {
    EG_TRY(copy_text(e, env, from, &made));
  }
  return expressions_push(out, made);
}

static egraph_status expand_form(expansion *e, const binding *env, const eg_sexpr *form,
                                 uint32_t depth);

/// Binds the names of a `for` tuple to its values, one by one, then copies the body.
static egraph_status expand_tuple(expansion *e, const binding *env, const eg_sexpr *loop,
                                  const eg_sexpr *tuple, uint32_t bound, uint32_t depth) {
  const eg_sexpr *names = &loop->children[1];
  bool is_tuple = names->text == NULL;
  if (bound < (is_tuple ? names->count : 1)) {
    binding next = {is_tuple ? &names->children[bound] : names,
                    is_tuple ? &tuple->children[bound] : tuple, env};
    return expand_tuple(e, &next, loop, tuple, bound + 1, depth);
  }
  for (uint32_t i = 3; i < loop->count; i++)
    EG_TRY(expand_form(e, env, &loop->children[i], depth + 1));
  return EGRAPH_OK;
}

static egraph_status check_loop(const expansion *e, const eg_sexpr *loop) {
  bool is_whole = loop->count >= 4 && loop->children[2].kind == EG_SEXPR_LIST;
  const eg_sexpr *names = is_whole ? &loop->children[1] : loop;
  bool is_list = names->kind == EG_SEXPR_LIST;
  is_whole = is_whole &&
             (is_list ? names->count != 0 && names->count <= MOST_NAMES : is_name(names));
  for (uint32_t i = 0; is_whole && i < names->count; i++)
    is_whole = is_name(&names->children[i]);
  if (is_whole) return EGRAPH_OK;
  return eg_sexpr_fail(
      e->file, loop,
      "malformed; write (for $name (value ...) form ...) or (for ($a $b) "
      "((value value) ...) form ...); names are small letters, "
      "at most %d of them",
      MOST_NAMES);
}

static egraph_status check_tuple(const expansion *e, const eg_sexpr *names,
                                 const eg_sexpr *value) {
  if (names->kind != EG_SEXPR_LIST ||
      (value->kind == EG_SEXPR_LIST && value->count == names->count))
    return EGRAPH_OK;
  return eg_sexpr_fail(e->file, value, "for has %u names; write a list of %u values",
                       names->count, names->count);
}

static egraph_status expand_form(expansion *e, const binding *env, const eg_sexpr *form,
                                 uint32_t depth) {
  if (!eg_sexpr_is_form(form, "for"))
    return copy_expression(e, env, form, depth, e->forms);
  EG_TRY(count_one(e, form, depth));
  EG_TRY(check_loop(e, form));
  eg_sexpr values;
  EG_TRY(copy_children(e, env, &form->children[2], depth, &values));
  for (uint32_t i = 0; i < values.count; i++) {
    EG_TRY(check_tuple(e, &form->children[1], &values.children[i]));
    EG_TRY(expand_tuple(e, env, form, &values.children[i], 0, depth));
  }
  return EGRAPH_OK;
}

egraph_status eg_rule_expand(eg_arena *arena, const char *file, const eg_sexpr *text,
                             eg_sexpr *out) {
  EG_LOCAL(expressions, forms, arena->alloc);
  expansion e = {.arena = arena, .file = file, .forms = &forms};
  for (uint32_t i = 0; i < text->count; i++) {
    const eg_sexpr *form = &text->children[i];
    EG_TRY(eg_sexpr_is_form(form, "for") ? expand_form(&e, NULL, form, 0)
                                         : expressions_push(&forms, *form));
  }
  *out = *text;
  out->count = (uint32_t)forms.len;
  return EG_RULE_KEEP(arena, forms, &out->children);
}
