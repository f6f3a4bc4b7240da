// SPDX-License-Identifier: Apache-2.0
#include "tools/check_certificate/layout_problem_text.h"

#include <math.h>
#include <string.h>

bool layout_text_line(certificate *c, const char **word) {
  if (!certificate_next(c))
    return certificate_refuse(c, "the certificate ends too early");
  return certificate_name(c, "a record", word);
}

void layout_text_spread(const layout_text *t, uint32_t value, const uint8_t *usable,
                        uint8_t *marked) {
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = t->arc_begin[value]; i < t->arc_begin[value + 1]; i++) {
      uint32_t a = t->arc_of[i];
      if (usable[a] && marked[t->arc_from[a]] && !marked[t->arc_to[a]])
        marked[t->arc_to[a]] = moved = true;
    }
  }
}

static bool expect(certificate *c, const char *word, const char *wanted) {
  return strcmp(word, wanted) == 0 ||
         certificate_refuse(c, "'%s' is expected, but there is '%.40s'", wanted, word);
}

/// Reads a number >= 0, or INFINITY for the word `none`.
static bool read_amount(certificate *c, const char *what, bool may_be_none, double *out) {
  char *at = c->at + strspn(c->at, " \t\r");
  if (may_be_none && strncmp(at, "none", 4) == 0 && strchr(" \t\r", at[4]) != NULL) {
    c->at = at + 4;
    *out = INFINITY;
    return true;
  }
  if (!certificate_double(c, what, out)) return false;
  return *out >= 0 || certificate_refuse(c, "%s must not be negative", what);
}

static bool read_rows(certificate *c, uint32_t rows, bool may_be_none, double *out) {
  for (uint32_t r = 0; r < rows; r++)
    if (!read_amount(c, "memory", may_be_none, &out[r])) return false;
  return true;
}

/// Reads the next line up to its first word, which must be `wanted`.
static bool expect_line(certificate *c, const char *wanted) {
  const char *word;
  return layout_text_line(c, &word) && expect(c, word, wanted);
}

// Refuses counts that are not below the bytes of the file, so that a false count does not
// reserve much memory. Each counted item but a place takes text: a line, or a number in a
// line. A place takes no text, because the line of a value has only the number of its
// places: a file with more places than bytes is refused, too.
static bool read_sizes(certificate *c, layout_text *t) {
  uint32_t *const sizes[] = {
      &t->values,     &t->places,       &t->arcs,  &t->operators,   &t->inputs,
      &t->strategies, &t->needs,        &t->roots, &t->root_places, &t->ties,
      &t->members,    &t->forced_count, &t->rows};
  uint32_t most = c->in.size < UINT32_MAX / 4 ? (uint32_t)c->in.size : UINT32_MAX / 4;
  if (!expect_line(c, "sizes")) return false;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (!certificate_index(c, "a size", most, sizes[i])) return false;
  if (t->rows < 1 || t->rows > LAYOUT_ROWS)
    return certificate_refuse(c, "there must be 1 to %d memory rows", LAYOUT_ROWS);
  return certificate_line_ends(c);
}

static bool allocate(certificate *c, layout_text *t) {
  input *in = &c->in;
  return INPUT_ROOM(in, t->place_begin, t->values + 1) &&
         INPUT_ROOM(in, t->place_value, t->places) &&
         INPUT_ROOM(in, t->cost_times, t->values) &&
         INPUT_ROOM(in, t->memory_times, t->values) &&
         INPUT_ROOM(in, t->arc_from, t->arcs) && INPUT_ROOM(in, t->arc_to, t->arcs) &&
         INPUT_ROOM(in, t->arc_of, t->arcs) &&
         INPUT_ROOM(in, t->arc_begin, t->values + 2) &&
         INPUT_ROOM(in, t->arc_cost, t->arcs) &&
         INPUT_ROOM(in, t->arc_memory, (size_t)t->arcs * LAYOUT_ROWS) &&
         INPUT_ROOM(in, t->op_value, t->operators) &&
         INPUT_ROOM(in, t->input_begin, t->operators + 1) &&
         INPUT_ROOM(in, t->input, t->inputs) &&
         INPUT_ROOM(in, t->strategy_begin, t->operators + 1) &&
         INPUT_ROOM(in, t->op_of, t->strategies) &&
         INPUT_ROOM(in, t->output, t->strategies) &&
         INPUT_ROOM(in, t->need_begin, t->strategies + 1) &&
         INPUT_ROOM(in, t->need, t->needs) && INPUT_ROOM(in, t->cost, t->strategies) &&
         INPUT_ROOM(in, t->memory, (size_t)t->strategies * LAYOUT_ROWS) &&
         INPUT_ROOM(in, t->root_value, t->roots) &&
         INPUT_ROOM(in, t->root_begin, t->roots + 1) &&
         INPUT_ROOM(in, t->root_place, t->root_places) &&
         INPUT_ROOM(in, t->tie_sources, t->ties) &&
         INPUT_ROOM(in, t->tie_begin, t->ties + 1) &&
         INPUT_ROOM(in, t->tie_member, t->members) &&
         INPUT_ROOM(in, t->fixed, t->values) && INPUT_ROOM(in, t->place_out, t->places) &&
         INPUT_ROOM(in, t->strategy_out, t->strategies) &&
         INPUT_ROOM(in, t->forced, t->forced_count) &&
         INPUT_ROOM(in, t->choice, t->values) && INPUT_ROOM(in, t->arc_used, t->arcs);
}

static bool read_values(certificate *c, layout_text *t) {
  for (uint32_t v = 0; v < t->values; v++) {
    uint32_t first = t->place_begin[v], layouts;
    if (!expect_line(c, "value") ||
        !certificate_index(c, "layouts", t->places - first + 1, &layouts) ||
        !read_amount(c, "factor of cost", false, &t->cost_times[v]) ||
        !read_amount(c, "factor of memory", false, &t->memory_times[v]) ||
        !certificate_line_ends(c))
      return false;
    if (layouts == 0) return certificate_refuse(c, "a value has no layout");
    t->place_begin[v + 1] = first + layouts;
    for (uint32_t i = first; i < first + layouts; i++)
      t->place_value[i] = v;
    t->fixed[v] = t->choice[v] = LAYOUT_NONE;
  }
  if (t->place_begin[t->values] != t->places)
    return certificate_refuse(c, "the layouts of values are not as many as places");
  return true;
}

static bool read_arcs(certificate *c, layout_text *t) {
  uint32_t *value;
  if (!INPUT_ROOM(&c->in, value, t->arcs)) return false;
  for (uint32_t a = 0; a < t->arcs; a++) {
    if (!expect_line(c, "arc") ||
        !certificate_index(c, "place", t->places, &t->arc_from[a]) ||
        !certificate_index(c, "place", t->places, &t->arc_to[a]) ||
        !read_amount(c, "cost", false, &t->arc_cost[a]) ||
        !read_rows(c, t->rows, false, &t->arc_memory[(size_t)a * LAYOUT_ROWS]) ||
        !certificate_line_ends(c))
      return false;
    if (t->place_value[t->arc_from[a]] != t->place_value[t->arc_to[a]])
      return certificate_refuse(c, "an arc leads from one value to another");
    value[a] = t->place_value[t->arc_from[a]];
  }
  return input_group(&c->in, value, t->arcs, t->values, &t->arc_begin, &t->arc_of);
}

static bool read_items(certificate *c, uint32_t limit, uint32_t room, uint32_t *items,
                       uint32_t *out_count) {
  if (!certificate_index(c, "count", room + 1, out_count)) return false;
  for (uint32_t i = 0; i < *out_count; i++)
    if (!certificate_index(c, "item", limit, &items[i])) return false;
  return certificate_line_ends(c);
}

static bool read_strategy(certificate *c, layout_text *t, uint32_t op, uint32_t s) {
  uint32_t value = t->op_value[op], need = t->need_begin[s];
  uint32_t count = t->input_begin[op + 1] - t->input_begin[op];
  if (need + count > t->needs || need + count < need)
    return certificate_refuse(c, "there are more needs than the sizes say");
  if (!expect_line(c, "strategy") ||
      !certificate_index(c, "place", t->places, &t->output[s]))
    return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!certificate_index(c, "place", t->places, &t->need[need + i])) return false;
    if (t->place_value[t->need[need + i]] != t->input[t->input_begin[op] + i])
      return certificate_refuse(c, "a need is no layout of its input");
  }
  if (t->place_value[t->output[s]] != value)
    return certificate_refuse(c, "an output is no layout of the operator's value");
  t->need_begin[s + 1] = need + count;
  t->op_of[s] = op;
  return read_amount(c, "cost", false, &t->cost[s]) &&
         read_rows(c, t->rows, false, &t->memory[(size_t)s * LAYOUT_ROWS]) &&
         certificate_line_ends(c);
}

static bool read_operators(certificate *c, layout_text *t) {
  for (uint32_t op = 0; op < t->operators; op++) {
    uint32_t begin = t->input_begin[op], count, strategies, first = t->strategy_begin[op];
    if (!expect_line(c, "operator") ||
        !certificate_index(c, "value", t->values, &t->op_value[op]) ||
        !certificate_index(c, "strategies", t->strategies - first + 1, &strategies) ||
        !read_items(c, t->values, t->inputs - begin, t->input + begin, &count))
      return false;
    t->input_begin[op + 1] = begin + count;
    t->strategy_begin[op + 1] = first + strategies;
    for (uint32_t s = first; s < first + strategies; s++)
      if (!read_strategy(c, t, op, s)) return false;
  }
  if (t->strategy_begin[t->operators] != t->strategies)
    return certificate_refuse(c, "there are fewer strategies than the sizes say");
  return true;
}

static bool read_roots_and_ties(certificate *c, layout_text *t) {
  const char *kind;
  uint32_t count;
  for (uint32_t r = 0; r < t->roots; r++) {
    uint32_t begin = t->root_begin[r];
    if (!expect_line(c, "root") ||
        !certificate_index(c, "value", t->values, &t->root_value[r]) ||
        !read_items(c, t->places, t->root_places - begin, t->root_place + begin, &count))
      return false;
    for (uint32_t i = begin; i < begin + count; i++)
      if (t->place_value[t->root_place[i]] != t->root_value[r])
        return certificate_refuse(c, "a root asks for a layout of another value");
    t->root_begin[r + 1] = begin + count;
  }
  for (uint32_t i = 0; i < t->ties; i++) {
    uint32_t begin = t->tie_begin[i];
    if (!expect_line(c, "tie") || !certificate_name(c, "kind", &kind)) return false;
    t->tie_sources[i] = strcmp(kind, "sources") == 0;
    if (!t->tie_sources[i] && !expect(c, kind, "strategies")) return false;
    if (!read_items(c, t->tie_sources[i] ? t->values : t->operators, t->members - begin,
                    t->tie_member + begin, &count))
      return false;
    t->tie_begin[i + 1] = begin + count;
  }
  return true;
}

/// Reads the user's constraints and the solution, up to its cost.
static bool read_rest(certificate *c, layout_text *t) {
  const char *word;
  uint32_t at, forced = 0;
  for (;;) {
    bool ok = layout_text_line(c, &word);
    if (ok && strcmp(word, "fixed") == 0) {
      ok = certificate_index(c, "value", t->values, &at) &&
           certificate_index(c, "layout", t->place_begin[at + 1] - t->place_begin[at],
                             &t->fixed[at]);
    } else if (ok && strcmp(word, "no-place") == 0) {
      ok = certificate_index(c, "place", t->places, &at);
      if (ok) t->place_out[at] = 1;
    } else if (ok && strcmp(word, "no-strategy") == 0) {
      ok = certificate_index(c, "strategy", t->strategies, &at);
      if (ok) t->strategy_out[at] = 1;
    } else if (ok && strcmp(word, "forced") == 0) {
      if (forced == t->forced_count) return certificate_refuse(c, "too many are forced");
      ok = certificate_index(c, "strategy", t->strategies, &t->forced[forced++]);
    } else if (ok && strcmp(word, "choose") == 0) {
      ok = certificate_index(c, "value", t->values, &at) &&
           certificate_index(c, "strategy", t->strategies, &t->choice[at]);
    } else if (ok && strcmp(word, "use") == 0) {
      ok = certificate_index(c, "arc", t->arcs, &at);
      if (ok) t->arc_used[at] = 1;
    } else if (ok) {
      if (forced != t->forced_count) return certificate_refuse(c, "fewer are forced");
      return expect(c, word, "cost") && read_amount(c, "cost", false, &t->claimed_cost);
    }
    if (!ok || !certificate_line_ends(c)) return false;
  }
}

bool layout_text_read(certificate *c, layout_text *t, const char **word) {
  *t = (layout_text){.rows = 1};
  if (!read_sizes(c, t) || !allocate(c, t)) return false;
  if (!layout_text_line(c, word) || !expect(c, *word, "limits") ||
      !read_rows(c, t->rows, true, t->limit) || !certificate_line_ends(c))
    return false;
  return read_values(c, t) && read_arcs(c, t) && read_operators(c, t) &&
         read_roots_and_ties(c, t) && read_rest(c, t) && certificate_line_ends(c) &&
         layout_text_line(c, word);
}
