// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/step_names.h"

#include <string.h>

#include "base/spelling.h"

#define NONE UINT32_MAX
enum { LEAST_MIDDLE = 2 };

bool eg_step_names_any(const eg_plan_constraints *constraints) {
  for (size_t i = 0; i < constraints->rows.len; i++)
    if (constraints->rows.data[i].value != NULL) return true;
  return false;
}

static egraph_status fail_unknown_value(const eg_plan_constraint *row,
                                        const eg_graph *whole) {
  eg_spelling spelling = eg_spelling_start(row->value);
  if (strchr(row->value, '*') != NULL)
    return eg_plan_constraint_fail(
        row,
        "no value of the step has a name like '%.200s'; take the names from the "
        "model, or from the text of a plan",
        row->value);
  for (uint32_t v = 0; v < eg_graph_value_count(whole); v++)
    eg_spelling_offer(&spelling, eg_graph_value(whole, (eg_value){v})->name);
  if (spelling.best != NULL)
    return eg_plan_constraint_fail(
        row, "there is no value '%.200s' in the step; did you mean '%.200s'?", row->value,
        spelling.best);
  return eg_plan_constraint_fail(
      row,
      "there is no value '%.200s' in the step; take the name of an input, weight or "
      "result from the text of a plan, or say (all KIND)",
      row->value);
}

static egraph_status push_for(eg_plan_constraints *constraints, const eg_graph *whole,
                              const eg_plan_constraint *row, eg_value value,
                              eg_plan_constraint_rows *out) {
  eg_plan_constraint copy = *row;
  const char *name = eg_graph_value(whole, value)->name;
  EG_TRY(eg_arena_string(&constraints->arena, name, strlen(name), &copy.value));
  return eg_plan_constraint_rows_push(out, copy);
}

/// Matches a deliver statement to an output. An output has two names, its own and its
/// value's; the statement gets the value's name.
static egraph_status match_output(eg_plan_constraints *constraints, const eg_graph *whole,
                                  const eg_plan_constraint *row,
                                  eg_plan_constraint_rows *out) {
  size_t before = out->len;
  bool has_star = strchr(row->value, '*') != NULL;
  for (int by_value = 0; by_value < 2 && (has_star || out->len == before); by_value++)
    for (uint32_t o = 0; o < eg_graph_output_count(whole); o++) {
      const char *name;
      eg_value value = eg_graph_output(whole, o, &name);
      if (by_value != 0) name = eg_graph_value(whole, value)->name;
      if (has_star ? eg_wildcard_matches(row->value, name)
                   : strcmp(row->value, name) == 0)
        EG_TRY(push_for(constraints, whole, row, value, out));
    }
  if (out->len != before) return EGRAPH_OK;
  eg_value other;
  if (eg_graph_find_value(whole, row->value, &other)) // the limits say that it is none
    return eg_plan_constraint_rows_push(out, *row);
  if (has_star)
    return eg_plan_constraint_fail(row, "no output of the step has a name like '%.200s'",
                                   row->value);
  eg_spelling spelling = eg_spelling_start(row->value);
  for (uint32_t o = 0; o < eg_graph_output_count(whole); o++) {
    const char *name;
    (void)eg_graph_output(whole, o, &name);
    eg_spelling_offer(&spelling, name);
  }
  return spelling.best == NULL
             ? eg_plan_constraint_fail(row, "there is no output '%.200s' in the step",
                                       row->value)
             : eg_plan_constraint_fail(
                   row, "there is no output '%.200s' in the step; did you mean '%.200s'?",
                   row->value, spelling.best);
}

static egraph_status match_row(eg_plan_constraints *constraints, const eg_graph *whole,
                               const eg_plan_constraint *row,
                               eg_plan_constraint_rows *out) {
  eg_value value;
  size_t before = out->len;
  if (row->value != NULL && row->verb == EG_VERB_DELIVER)
    return match_output(constraints, whole, row, out);
  if (row->value == NULL || eg_graph_find_value(whole, row->value, &value))
    return eg_plan_constraint_rows_push(out, *row);
  bool has_star = strchr(row->value, '*') != NULL;
  for (uint32_t v = 0; has_star && v < eg_graph_value_count(whole); v++) {
    if (eg_wildcard_matches(row->value, eg_graph_value(whole, (eg_value){v})->name))
      EG_TRY(push_for(constraints, whole, row, (eg_value){v}, out));
  }
  return out->len == before ? fail_unknown_value(row, whole) : EGRAPH_OK;
}

static void swap_rows(eg_plan_constraint_rows *a, eg_plan_constraint_rows *b) {
  const eg_plan_constraint_rows before = *a;
  *a = *b;
  *b = before;
}

egraph_status eg_step_names_match(eg_plan_constraints *constraints,
                                  const eg_graph *whole) {
  EG_LOCAL(eg_plan_constraint_rows, rows, constraints->rows.alloc);
  for (size_t i = 0; i < constraints->rows.len; i++)
    EG_TRY(match_row(constraints, whole, &constraints->rows.data[i], &rows));
  swap_rows(&constraints->rows, &rows);
  return EGRAPH_OK;
}

typedef struct resolver {
  const eg_plan_constraints *constraints;
  const eg_unfold_steps *steps;
  eg_unfold_match match; // of folding; before folding, only its blocks are filled
} resolver;

/// Returns the value of the whole step that a statement names; NONE: it names a kind.
static uint32_t named(const resolver *r, size_t i) {
  const eg_plan_constraint *row = &r->constraints->rows.data[i];
  eg_value value;
  bool is_there = row->value != NULL &&
                  eg_graph_find_value(eg_unfold_whole(r->steps), row->value, &value);
  return is_there ? value.id : NONE;
}

/// Returns the block, neither first nor last, whose value a statement names, or NONE.
static uint32_t middle_named(const resolver *r, size_t i) {
  uint32_t value = named(r, i);
  uint32_t block = value == NONE ? NONE : r->match.blocks.value.data[value];
  const eg_fold_ends ends = r->steps->ends;
  bool is_inside =
      block != NONE && block >= ends.lead && block < r->steps->blocks->count - ends.trail;
  return is_inside ? block : NONE;
}

/// True when statement j demands of a block what statement i demands of the block
/// before it.
static bool same_demand(const resolver *r, size_t i, size_t j) {
  const eg_plan_constraint *a = &r->constraints->rows.data[i],
                           *b = &r->constraints->rows.data[j];
  bool same_axis = a->axis == b->axis ||
                   (a->axis != NULL && b->axis != NULL && strcmp(a->axis, b->axis) == 0);
  return r->match.blocks.later.data[named(r, i)] == named(r, j) && a->verb == b->verb &&
         same_axis && a->digits == b->digits && a->moves == b->moves &&
         a->phase == b->phase;
}

/// Returns the first statement, from index `at` on, that names a value of a block.
static size_t next_of(const resolver *r, uint32_t block, size_t at) {
  while (at < r->constraints->rows.len && middle_named(r, at) != block)
    at++;
  return at;
}

/// True when the statements about a block and about the next block are the same.
static bool blocks_agree(const resolver *r, uint32_t block) {
  size_t end = r->constraints->rows.len, i = next_of(r, block, 0),
         j = next_of(r, block + 1, 0);
  while (i < end && j < end && same_demand(r, i, j)) {
    i = next_of(r, block, i + 1);
    j = next_of(r, block + 1, j + 1);
  }
  return i == end && j == end;
}

/// Returns the longest run of inner blocks that the user's statements constrain alike.
static eg_blocks longest_run(const resolver *r) {
  const eg_blocks *all = r->steps->blocks;
  const eg_fold_ends ends = r->steps->ends;
  eg_blocks best = {.count = 0};
  for (uint32_t first = ends.lead, end; first + ends.trail < all->count; first = end) {
    for (end = first + 1; end + ends.trail < all->count && blocks_agree(r, end - 1);)
      end++;
    uint32_t count = end - first + ends.lead + ends.trail;
    if (end - first < LEAST_MIDDLE || count <= best.count) continue;
    best =
        (eg_blocks){all->first + (first - ends.lead) * all->period, all->period, count};
  }
  return best;
}

egraph_status eg_step_names_find_agreeing(const eg_plan_constraints *constraints,
                                          egraph_allocator alloc,
                                          const eg_unfold_steps *steps, eg_blocks *out) {
  resolver r = {.constraints = constraints, .steps = steps};
  EG_TRY(eg_step_blocks_init(&r.match.blocks, alloc, steps->forward, steps->blocks,
                             steps->whole));
  *out = longest_run(&r);
  eg_step_blocks_deinit(&r.match.blocks);
  return EGRAPH_OK;
}

static egraph_status fold_row(const resolver *r, size_t i, eg_arena *arena,
                              eg_plan_constraint_rows *out) {
  eg_plan_constraint row = r->constraints->rows.data[i];
  uint32_t value = named(r, i), block = middle_named(r, i);
  if (block != NONE && block != r->steps->ends.lead)
    return EGRAPH_OK; // fails like the first of them
  if (value != NONE) {
    eg_value small = {r->match.value.data[value]};
    const char *name =
        small.id == NONE ? NULL : eg_graph_value(eg_unfold_small(r->steps), small)->name;
    if (name == NULL)
      return eg_plan_constraint_fail(
          &row, "'%.200s' has no like in the folded step; plan each block (no_fold)",
          row.value);
    EG_TRY(eg_arena_string(arena, name, strlen(name), &row.value));
  }
  return eg_plan_constraint_rows_push(out, row);
}

egraph_status eg_step_names_fold(eg_plan_constraints *constraints, egraph_allocator alloc,
                                 const eg_unfold_steps *steps) {
  EG_LOCAL(eg_plan_constraint_rows, rows, constraints->rows.alloc);
  resolver r = {.constraints = constraints, .steps = steps};
  EG_TRY(eg_unfold_match_init(&r.match, alloc, steps));
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; status == EGRAPH_OK && i < constraints->rows.len; i++)
    status = fold_row(&r, i, &constraints->arena, &rows);
  eg_unfold_match_deinit(&r.match);
  if (status == EGRAPH_OK) swap_rows(&constraints->rows, &rows);
  return status;
}
