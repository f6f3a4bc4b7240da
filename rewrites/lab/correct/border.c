// Finds an expression for a border: tries the forms of a table in order, each with every
// choice of numbers A, B, C. A choice is abandoned at the first instance for which it is
// wrong, so nearly all choices take one step.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/correct/partial.h"

#include <assert.h>
#include <string.h>

// A form with a number beyond MOST_NUMBER has no value: its products could overflow.
enum { MOST_NUMBER = 1 << 20, PLACES = 3 };

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// The table of expressions for a border: name, count of numbers (A, B, C), value, text.
#define FORMS(X)                                                                         \
  X(zero, 0, 0, "0")                                                                     \
  X(number, 1, a, "A")                                                                   \
  X(less_one, 1, a - 1, "(- A 1)")                                                       \
  X(difference, 2, a - b, "(- A B)")                                                     \
  X(difference_less_one, 2, a - b + 1, "(+ (- A B) 1)")                                  \
  X(product, 2, a *b, "(* A B)")                                                         \
  X(quotient, 2, floor_div(a, b), "(floor-div A B)")                                     \
  X(quotient_up, 2, floor_div(a + b - 1, b), "(floor-div (- (+ A B) 1) B)")              \
  X(multiple, 2, floor_div(a, b) * b, "(* (floor-div A B) B)")                           \
  X(reach, 2, (a - 1) * b, "(* (- A 1) B)")                                              \
  X(sum_less, 3, a + b - c, "(- (+ A B) C)")                                             \
  X(less_both, 3, a - b - c, "(- (- A B) C)")                                            \
  X(product_less, 3, a *b - c, "(- (* A B) C)")                                          \
  X(reach_less, 3, (a - 1) * b - c, "(- (* (- A 1) B) C)")                               \
  X(size_less_reach, 3, a - (b - 1) * c, "(- A (* (- B 1) C))")                          \
  X(multiple_less, 3, floor_div(a, b) * b - c, "(- (* (floor-div A B) B) C)")            \
  X(quotient_of_difference, 3, floor_div(a - b, c), "(floor-div (- A B) C)")             \
  X(number_of_steps, 3, floor_div(a - b, c) + 1, "(+ (floor-div (- A B) C) 1)")

#define FORM_FUNCTION(name, count, value, text)                                          \
  static int64_t form_##name(int64_t a, int64_t b, int64_t c) {                          \
    (void)a, (void)b, (void)c;                                                           \
    return value;                                                                        \
  }
FORMS(FORM_FUNCTION)

static const struct form {
  uint32_t count;
  int64_t (*value)(int64_t a, int64_t b, int64_t c);
  const char *text;
} forms[] = {
#define FORM_ROW(name, count, value, text) {count, form_##name, text},
    FORMS(FORM_ROW)};
enum { FORM_COUNT = sizeof forms / sizeof *forms };

typedef struct search {
  const eg_partial *partial;
  uint32_t axis;
  bool is_end;
  uint32_t form, place[PLACES]; // form and numbers that are being tried
  uint32_t best_form, best_place[PLACES];
  bool found, is_exact;
  int64_t best_slack;
} search;

static int64_t border_of_row(const search *s, size_t row) {
  const eg_partial_row *r = &s->partial->rows.data[row];
  return s->is_end ? r->to[s->axis] : r->from[s->axis];
}

/// Evaluates an expression of the table (form) for one instance; returns false when it
/// has no value.
static bool value_of_form(const search *s, uint32_t form, const uint32_t *place,
                          size_t row, int64_t *out) {
  const int64_t *atoms = s->partial->rows.data[row].atoms;
  int64_t at[PLACES] = {0};
  for (uint32_t i = 0; i < forms[form].count; i++) {
    at[i] = atoms[place[i]];
    if (at[i] > MOST_NUMBER || at[i] < -MOST_NUMBER) return false;
  }
  // A divisor, number B or C of the form, must not be 0.
  bool divides = strstr(forms[form].text, "floor-div") != NULL;
  if (divides && at[forms[form].count - 1] <= 0) return false;
  if (divides && forms[form].count == 3 && at[1] == 0) return false;
  *out = forms[form].value(at[0], at[1], at[2]);
  int64_t size = s->partial->rows.data[row].size[s->axis];
  *out = *out < 0 ? 0 : *out > size ? size : *out;
  return true;
}

/// Returns the sum over all instances of the distance between the form and the border,
/// plus a price for its numbers. Negative: the form leaves a box, or another is better.
static int64_t slack_of(const search *s) {
  int64_t slack = 0;
  uint32_t kept = 0;
  for (size_t row = 0; row < s->partial->rows.len; row++) {
    const eg_partial_row *r = &s->partial->rows.data[row];
    int64_t value;
    if (!value_of_form(s, s->form, s->place, row, &value)) return -1;
    int64_t within =
        s->is_end ? border_of_row(s, row) - value : value - border_of_row(s, row);
    if (within < 0 || (s->found && slack + within >= s->best_slack)) return -1;
    slack += within;
    kept += s->is_end ? value > r->from[s->axis] : value < r->to[s->axis];
  }
  if (2 * kept < s->partial->rows.len) return -1;
  // A form with more numbers may fit by accident, so it must be closer to the borders.
  int64_t price =
      slack == 0 ? 0 : (int64_t)s->partial->rows.len * forms[s->form].count / 4;
  return s->found && slack + price >= s->best_slack ? -1 : slack + price;
}

static void try_form(search *s) {
  int64_t slack = slack_of(s);
  if (slack < 0) return;
  s->found = true;
  s->best_slack = slack;
  s->best_form = s->form;
  memcpy(s->best_place, s->place, sizeof s->place);
  s->is_exact = slack == 0;
}

static bool next_places(search *s) {
  for (uint32_t i = forms[s->form].count; i-- > 0;) {
    if (++s->place[i] < s->partial->atoms.len) return true;
    s->place[i] = 0;
  }
  return false;
}

static void print_form(const search *s, eg_text *text) {
  if (s->is_end)
    eg_text_printf(text, "(min %s ", s->partial->atoms.data[s->axis]);
  else
    eg_text_append(text, "(max 0 ");
  for (const char *at = forms[s->best_form].text; *at != '\0'; at++)
    if (*at >= 'A' && *at <= 'C')
      eg_text_append(text, s->partial->atoms.data[s->best_place[*at - 'A']]);
    else
      eg_text_append_bytes(text, at, 1);
  eg_text_append(text, ")");
}

static egraph_status describe_border(const search *s, eg_partial *partial,
                                     eg_border *out) {
  int64_t *values;
  size_t rows = partial->rows.len;
  EG_NEW(&partial->arena, rows, values);
  bool is_clamped = false;
  for (size_t row = 0; row < rows; row++) {
    (void)value_of_form(s, s->best_form, s->best_place, row, &values[row]);
    const int64_t *atoms = partial->rows.data[row].atoms;
    int64_t at[PLACES] = {0};
    for (uint32_t i = 0; i < forms[s->best_form].count; i++)
      at[i] = atoms[s->best_place[i]];
    int64_t value = forms[s->best_form].value(at[0], at[1], at[2]);
    is_clamped = is_clamped || (s->is_end ? value > values[row] : value < 0);
  }
  out->is_exact = s->is_exact;
  out->values = values;
  EG_LOCAL(eg_text, text, partial->arena.alloc);
  print_form(s, &text);
  EG_TRY(eg_text_status(&text));
  const char *whole = eg_text_of(&text);
  size_t length = text.chars.len;
  if (!is_clamped) { // only the form inside of (max 0 ...)
    size_t skip = s->is_end ? strlen("(min  ") + strlen(partial->atoms.data[s->axis])
                            : strlen("(max 0 ");
    whole += skip;
    length -= skip + 1;
  }
  return eg_arena_string(&partial->arena, whole, length, &out->text);
}

egraph_status eg_border_find(eg_partial *partial, uint32_t axis, bool is_end,
                             eg_border *out, bool *out_found) {
  search s = {.partial = partial, .axis = axis, .is_end = is_end};
  for (s.form = 0; s.form < FORM_COUNT && !s.is_exact; s.form++) {
    memset(s.place, 0, sizeof s.place);
    do
      try_form(&s);
    while (!s.is_exact && next_places(&s));
  }
  *out_found = s.found;
  assert(axis < partial->rank);
  return s.found ? describe_border(&s, partial, out) : EGRAPH_OK;
}
