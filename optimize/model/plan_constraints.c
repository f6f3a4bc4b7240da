// Reader and printer of constraints.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_constraints.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/sexpr.h"
#include "pcg/plan/plan_words.h"

enum { VERSION = 1, DIGITS = EG_SHARD_S0 + EGRAPH_MAX_RANK };
static const size_t MAX_BYTES = (size_t)1 << 24;
static const uint16_t ANY_SHARD = (uint16_t)((1u << DIGITS) - (1u << EG_SHARD_S0));
static const uint16_t WHOLE = 1u << EG_SHARD_R;

static const char *const VERBS[] = {
    [EG_VERB_PIN] = "pin", [EG_VERB_DELIVER] = "deliver", [EG_VERB_FORBID] = "forbid"};

const char *eg_plan_kind_name(eg_plan_kind kind) {
#define NAME(id, name) name,
  static const char *const names[] = {EG_PLAN_KIND_LIST(NAME)};
#undef NAME
  return names[kind];
}

egraph_status eg_plan_constraints_copy(eg_plan_constraints *constraints,
                                       const eg_plan_constraints *from) {
  return eg_plan_constraint_rows_append(&constraints->rows, from->rows.data,
                                        from->rows.len);
}

// ---- reading ------------------------------------------------------------------------

typedef struct reader {
  eg_plan_constraints *out;
  const char *file; // kept
  eg_arena scratch; // of the expressions
} reader;

static egraph_status keep_word(reader *r, const char *text, size_t length,
                               const char **out) {
  return eg_arena_string(&r->out->arena, text, length, out);
}

static bool find_kind(const char *name, eg_plan_kind *out) {
  for (int k = 0; k < EG_PLAN_KINDS; k++)
    if (strcmp(eg_plan_kind_name((eg_plan_kind)k), name) == 0) {
      *out = (eg_plan_kind)k;
      return true;
    }
  return false;
}

/// Reads the values of a statement: a word such as w1, "a name", or (all weights).
static egraph_status read_subject(reader *r, const eg_sexpr *expr,
                                  eg_plan_constraint *row) {
  if (expr->kind == EG_SEXPR_ATOM || expr->kind == EG_SEXPR_STRING)
    return keep_word(r, expr->text, strlen(expr->text), &row->value);
  bool is_kind = eg_sexpr_is_form(expr, "all") && expr->count == 2 &&
                 expr->children[1].kind == EG_SEXPR_ATOM &&
                 find_kind(expr->children[1].text, &row->kind);
  if (row->verb == EG_VERB_DELIVER && !(is_kind && row->kind == EG_KIND_OUTPUTS))
    return eg_sexpr_fail(r->file, expr,
                         "expected the name of an output, or (all outputs)");
  if (is_kind) return EGRAPH_OK;
  char list[200] = "";
  for (int k = 0; k < EG_PLAN_KINDS; k++)
    (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                   k == 0 ? "" : ", ", eg_plan_kind_name((eg_plan_kind)k));
  return eg_sexpr_fail(r->file, expr,
                       "expected the name of a value, or (all KIND) with a kind of %s",
                       list);
}

/// Reads letters of layouts (R, P, M, S0, ...) as bits; S is any dimension, ? is S or R.
static bool read_digits(const char *word, uint16_t *out) {
  static const eg_mesh one = {.axis_count = 1};
  eg_layout layout;
  if (strcmp(word, "S") == 0)
    *out = ANY_SHARD;
  else if (strcmp(word, "?") == 0)
    *out = ANY_SHARD | WHOLE;
  else if (eg_layout_parse(&one, word, &layout) == EGRAPH_OK &&
           layout.format == EG_FORMAT_PLAIN)
    *out = (uint16_t)(1u << layout.sharding[0]);
  else
    return false;
  return true;
}

/// Reads an axis with the letter of its layout, for example gpu=S0.
static egraph_status read_place(reader *r, const eg_sexpr *expr,
                                eg_plan_constraint *row) {
  const char *equals = expr->kind == EG_SEXPR_ATOM ? strchr(expr->text, '=') : NULL;
  if (equals == NULL || equals == expr->text || !read_digits(equals + 1, &row->digits))
    return eg_sexpr_fail(r->file, expr,
                         "expected AXIS=LAYOUT, such as gpu=S0; the layout is R, P, M, S "
                         "and a dimension, S alone for any, or ? for R or S; the axis "
                         "may be *");
  row->axis = NULL;
  if (strncmp(expr->text, "*=", 2) != 0)
    EG_TRY(keep_word(r, expr->text, (size_t)(equals - expr->text), &row->axis));
  return eg_plan_constraint_rows_push(&r->out->rows, *row);
}

/// Reads the layout of a pin or deliver statement.
static egraph_status read_places(reader *r, const eg_sexpr *form,
                                 eg_plan_constraint *row) {
  if (form->count < 3)
    return eg_sexpr_fail(r->file, form, "expected (%s VALUE AXIS=LAYOUT ...)",
                         VERBS[row->verb]);
  for (uint32_t i = 2; i < form->count; i++)
    EG_TRY(read_place(r, &form->children[i], row));
  return EGRAPH_OK;
}

/// Reads one word of a forbid statement: a layout, a move, an axis or a phase.
static egraph_status read_ban(reader *r, const eg_sexpr *part, eg_plan_constraint *row) {
  uint16_t digits;
  eg_transition_kind move;
  const char *word = part->count == 2 && part->children[1].kind == EG_SEXPR_ATOM
                         ? part->children[1].text
                         : NULL;
  if (eg_sexpr_is_form(part, "axis")) {
    if (row->axis != NULL || word == NULL)
      return eg_sexpr_fail(r->file, part, "expected one (axis NAME)");
    return keep_word(r, word, strlen(word), &row->axis);
  }
  if (eg_sexpr_is_form(part, "phase")) {
    if (row->phase == EG_PHASE_COUNT && word != NULL && eg_phase_find(word, &row->phase))
      return EGRAPH_OK;
    return eg_sexpr_fail(r->file, part, "expected one (phase forward|backward|update)");
  }
  if (part->kind == EG_SEXPR_ATOM && read_digits(part->text, &digits))
    row->digits |= digits;
  else if (part->kind == EG_SEXPR_ATOM && eg_transition_find(part->text, &move))
    row->moves |= (uint8_t)(1u << move);
  else
    return eg_sexpr_fail(r->file, part,
                         "expected a layout (R, P, M, S, S0 ...), a move (slice, mask, "
                         "all-gather, reduce-scatter, all-reduce, all-to-all), (axis "
                         "NAME) or (phase NAME)");
  return EGRAPH_OK;
}

static egraph_status read_forbid(reader *r, const eg_sexpr *form,
                                 eg_plan_constraint *row) {
  for (uint32_t i = 2; i < form->count; i++)
    EG_TRY(read_ban(r, &form->children[i], row));
  if (row->digits == 0 && row->moves == 0)
    return eg_sexpr_fail(r->file, form,
                         "expected (forbid VALUE LAYOUT-OR-MOVE ... (axis NAME))");
  return eg_plan_constraint_rows_push(&r->out->rows, *row);
}

static bool find_verb(const eg_sexpr *form, eg_plan_verb *out) {
  for (int v = 0; v < (int)(sizeof VERBS / sizeof *VERBS); v++)
    if (eg_sexpr_is_form(form, VERBS[v])) {
      *out = (eg_plan_verb)v;
      return true;
    }
  return false;
}

static egraph_status read_statement(reader *r, const eg_sexpr *form) {
  eg_plan_constraint row = {.file = r->file,
                            .line = form->line,
                            .column = form->column,
                            .phase = EG_PHASE_COUNT};
  if (!find_verb(form, &row.verb) || form->count < 2)
    return eg_sexpr_fail(r->file, form,
                         "expected (pin VALUE AXIS=LAYOUT ...), (deliver OUTPUT "
                         "AXIS=LAYOUT ...) or (forbid VALUE LAYOUT-OR-MOVE ... (axis "
                         "NAME) (phase NAME))");
  EG_TRY(read_subject(r, &form->children[1], &row));
  return (row.verb == EG_VERB_FORBID ? read_forbid : read_places)(r, form, &row);
}

static egraph_status read_head(const reader *r, const eg_sexpr *file) {
  const eg_sexpr *head = file->count == 0 ? file : &file->children[0];
  int64_t version;
  if (!eg_sexpr_is_form(head, "egraph-constraints") || head->count != 2 ||
      head->children[1].kind != EG_SEXPR_ATOM ||
      !eg_parse_int64(head->children[1].text, &version) || version != VERSION)
    return eg_sexpr_fail(
        r->file, head, "constraints begin with (egraph-constraints %d); add it", VERSION);
  return EGRAPH_OK;
}

static egraph_status read_statements(reader *r, const char *text, size_t size,
                                     bool has_head) {
  eg_sexpr file;
  EG_TRY(eg_sexpr_parse(&r->scratch, r->file, text, size, &file));
  if (has_head) EG_TRY(read_head(r, &file));
  for (uint32_t i = has_head ? 1 : 0; i < file.count; i++)
    EG_TRY(read_statement(r, &file.children[i]));
  return EGRAPH_OK;
}

egraph_status eg_plan_constraints_parse(eg_plan_constraints *constraints,
                                        const char *file, const char *text, size_t size,
                                        bool has_head) {
  reader r = {.out = constraints};
  size_t before = constraints->rows.len;
  EG_TRY(keep_word(&r, file, strlen(file), &r.file));
  eg_arena_init(&r.scratch, constraints->rows.alloc);
  egraph_status status = read_statements(&r, text, size, has_head);
  eg_arena_deinit(&r.scratch);
  if (status != EGRAPH_OK) constraints->rows.len = before;
  return status;
}

egraph_status eg_plan_constraints_read(eg_plan_constraints *constraints,
                                       const char *path) {
  char *text;
  size_t size;
  egraph_allocator alloc = constraints->rows.alloc;
  EG_TRY(eg_file_read(alloc, path, MAX_BYTES, &text, &size));
  egraph_status status = eg_plan_constraints_parse(constraints, path, text, size, true);
  eg_free(alloc, text, size + 1, 1);
  return status;
}

// ---- printing -----------------------------------------------------------------------

static egraph_status print_digits(eg_text *text, uint16_t digits, const char *before) {
  static const eg_mesh one = {.axis_count = 1};
  for (uint32_t d = 0; d < DIGITS; d++) {
    eg_layout layout = {.sharding = {(uint8_t)d}};
    if ((digits >> d & 1) == 0) continue;
    EG_TRY(eg_text_append(text, before));
    if (d == EG_SHARD_S0 && (digits & ANY_SHARD) == ANY_SHARD)
      return eg_text_append(text, "S");
    EG_TRY(eg_layout_print(text, &one, &layout));
  }
  return EGRAPH_OK;
}

static egraph_status print_ban(eg_text *text, const eg_plan_constraint *row) {
  EG_TRY(print_digits(text, row->digits, " "));
  for (int k = 0; k < EG_TRANSITION_KINDS; k++)
    if ((row->moves >> k & 1) != 0)
      EG_TRY(eg_text_printf(text, " %s", eg_transition_name((eg_transition_kind)k)));
  if (row->axis != NULL) EG_TRY(eg_text_printf(text, " (axis %s)", row->axis));
  if (row->phase != EG_PHASE_COUNT)
    EG_TRY(eg_text_printf(text, " (phase %s)", eg_phase_name(row->phase)));
  return EGRAPH_OK;
}

egraph_status eg_plan_constraint_print(eg_text *text, const eg_plan_constraint *row) {
  EG_TRY(eg_text_printf(text, "(%s ", VERBS[row->verb]));
  EG_TRY(row->value != NULL
             ? eg_text_quoted(text, row->value)
             : eg_text_printf(text, "(all %s)", eg_plan_kind_name(row->kind)));
  if (row->verb == EG_VERB_FORBID) {
    EG_TRY(print_ban(text, row));
  } else {
    EG_TRY(eg_text_printf(text, " %s=", row->axis != NULL ? row->axis : "*"));
    EG_TRY(row->digits == (ANY_SHARD | WHOLE) ? eg_text_append(text, "?")
                                              : print_digits(text, row->digits, ""));
  }
  return eg_text_append(text, ")");
}

// ---- failing ------------------------------------------------------------------------

egraph_status eg_plan_constraint_fail(const eg_plan_constraint *row, const char *format,
                                      ...) {
  char text[EG_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%s:%" PRIu32 ":%" PRIu32 ": %s", row->file,
                 row->line, row->column, text);
}

const eg_plan_constraint *
eg_plan_constraints_strange(const eg_plan_constraints *constraints, const eg_mesh *mesh) {
  for (size_t i = 0; i < constraints->rows.len; i++) {
    const eg_plan_constraint *row = &constraints->rows.data[i];
    uint32_t a = 0;
    while (row->axis != NULL && a < mesh->axis_count &&
           strcmp(mesh->axes[a].name, row->axis) != 0)
      a++;
    if (row->axis != NULL && a == mesh->axis_count) return row;
  }
  return NULL;
}
