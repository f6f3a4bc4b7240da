// The matching machine runs the steps of a plan with backtracking, without recursion. It
// enters at the term with the fewest nodes, or, for fresh matches, at fresh nodes.
//
// A frame per step holds the position of its enumeration. A step that finds a candidate
// continues with the next step; a step without further candidates returns to the previous
// step. Registers need no undo: a step sets its own registers before a later step reads
// them. All state is in the cursor, so that a search can pause anywhere.
//
// The search reads the indexes of the last rebuild only; later additions are in the
// hash-cons only, where lookups skip them.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "egraph/engine_internal.h"
#include "egraph/pattern_internal.h"

typedef struct frame {
  const uint32_t *nodes; // SCAN, BIND, LOOKUP: candidates next .. count
  uint32_t next, count;
  uint32_t found; // LOOKUP: the only candidate
  uint32_t word;  // RISE: next child word of the parents list
  bool is_rising;
  bool is_fresh; // some node matched up to this step is fresh
} frame;

struct eg_cursor {
  egraph_allocator alloc;
  eg_arena arena; // the arrays below
  const eg_matcher *program;
  const eg_match_plan *plan;
  const eg_engine *engine;
  eg_search search;
  eg_part part;
  eg_class *registers;
  eg_class *roots;
  eg_node *nodes;
  eg_class *children; // children for a look-up
  uint32_t *heads;    // per step: required head, EG_NONE: any head of the operator
  frame *frames;
  uint64_t visited; // candidates
  uint32_t at;      // step
  bool is_started;
};

static const eg_pattern_term *term_of(const eg_cursor *c, const eg_step *step) {
  return &c->program->pattern.terms[step->term];
}

// ---- starting a step ------------------------------------------------------------------

/// Starts a scan. The first step of the plan visits only its part of the nodes.
static void start_scan(const eg_cursor *c, uint32_t at, frame *f) {
  const eg_op_index *op = &c->engine->ops.data[term_of(c, &c->plan->steps[at])->op];
  const eg_node_list *list = &op->nodes;
  *f = (frame){.count = list->len};
  if (at == c->plan->entry) {
    if (c->part.in_changed) list = &op->changed;
    f->next = c->part.first;
    f->count = c->part.first + c->part.count;
  }
  f->nodes = eg_node_list_data(list);
}

static void start_rise(const eg_cursor *c, uint32_t at, frame *f) {
  const eg_step *step = &c->plan->steps[at];
  const eg_op_index *op = &c->engine->ops.data[term_of(c, step)->op];
  const eg_class_record *class = &c->engine->classes.data[c->registers[step->source].id];
  // A class can have more parents than the operator has nodes: then visit these nodes.
  if (class->parent_count > op->nodes.len)
    *f = (frame){.nodes = eg_node_list_data(&op->nodes), .count = op->nodes.len};
  else
    *f = (frame){.word = class->parents, .is_rising = true};
}

static void start_lookup(const eg_cursor *c, uint32_t at, frame *f) {
  const eg_step *step = &c->plan->steps[at];
  const eg_pattern *pattern = &c->program->pattern;
  const eg_pattern_term *term = &pattern->terms[step->term];
  for (uint32_t i = 0; i < term->arity; i++)
    c->children[i] =
        c->registers[c->program->registers[pattern->children[term->children + i]]];
  eg_term key = {.op = term->op,
                 .payload = term->payload,
                 .arity = term->arity,
                 .children = c->children};
  *f = (frame){.nodes = &f->found};
  f->count = eg_engine_find_stored(c->engine, c->heads[at], &key, eg_engine_hash(&key),
                                   &f->found) &&
             f->found < c->engine->indexed;
}

static void start_classes(const eg_cursor *c, uint32_t at, frame *f) {
  *f = (frame){.count = c->engine->indexed_classes};
  if (at != c->plan->entry) return;
  f->next = c->part.first;
  f->count = c->part.first + c->part.count;
}

static void start_step(const eg_cursor *c, uint32_t at) {
  assert(at < c->plan->step_count);
  const eg_step *step = &c->plan->steps[at];
  frame *f = &c->frames[at];
  switch (step->kind) {
  case EG_STEP_SCAN: start_scan(c, at, f); break;
  case EG_STEP_BIND:
    *f = (frame){0};
    f->nodes = eg_members_with_head(c->engine, c->registers[step->source].id,
                                    c->heads[at], &f->count);
    break;
  case EG_STEP_RISE: start_rise(c, at, f); break;
  case EG_STEP_LOOKUP: start_lookup(c, at, f); break;
  case EG_STEP_CLASSES: start_classes(c, at, f); break;
  }
}

// ---- candidates -----------------------------------------------------------------------

/// True when a node with this head word is live and has the head of a step's term.
static bool has_head(const eg_cursor *c, uint32_t at, uint32_t word) {
  if (c->heads[at] != EG_NONE)
    return (word & (EG_DEAD_BIT | EG_HEAD_MASK)) == c->heads[at];
  const eg_pattern_term *term = term_of(c, &c->plan->steps[at]);
  const eg_head *head = &c->engine->heads.data[word & EG_HEAD_MASK];
  return head->op == term->op && head->arity == term->arity && (word & EG_DEAD_BIT) == 0;
}

static bool fits_step(const eg_cursor *c, uint32_t at, uint32_t node) {
  const eg_step *step = &c->plan->steps[at];
  const uint32_t *words = c->engine->nodes.data + node;
  if (!has_head(c, at, *words)) return false;
  if (step->must_be_old && !c->part.is_full && (*words & EG_FRESH_BIT) != 0) return false;
  const eg_move *moves = c->plan->moves + step->first_move;
  for (uint32_t i = 0; i < step->move_count; i++) {
    uint32_t child = words[EG_FIRST_CHILD + moves[i].position];
    eg_class *reg = &c->registers[moves[i].reg];
    if (!moves[i].is_known)
      reg->id = child;
    else if (reg->id != child)
      return false;
  }
  const eg_pattern_term *term = term_of(c, step);
  return term->guard == EG_PATTERN_ANY_PAYLOAD ||
         c->search.accept(c->search.user, term->guard, term->op,
                          eg_engine_head(c->engine, node)->payload);
}

static bool settle_node(const eg_cursor *c, uint32_t at, uint32_t node) {
  const eg_step *step = &c->plan->steps[at];
  if (!fits_step(c, at, node)) return false;
  if (step->kind != EG_STEP_BIND) {
    uint32_t class = eg_engine_class_word(c->engine, node);
    eg_class *reg = &c->registers[c->program->registers[step->term]];
    if (step->is_class_known && reg->id != class) return false;
    reg->id = class;
  }
  c->nodes[step->term].id = node;
  c->frames[at].is_fresh =
      eg_engine_is_fresh(c->engine, node) || (at != 0 && c->frames[at - 1].is_fresh);
  if (c->search.is_possible == NULL) return true;
  eg_match so_far = {.vars = c->registers, .nodes = c->nodes};
  return c->search.is_possible(c->search.user, step->order, &so_far);
}

static bool next_parent(eg_cursor *c, uint32_t at, frame *f) {
  const eg_step *step = &c->plan->steps[at];
  while (f->word != EG_NONE) {
    c->visited++;
    uint32_t word = f->word, node = eg_engine_node_of_word(c->engine, word);
    f->word = *eg_engine_link(c->engine, node, word);
    if (word - node - EG_FIRST_CHILD == step->position && settle_node(c, at, node))
      return true;
  }
  return false;
}

static bool next_class(const eg_cursor *c, uint32_t at, frame *f) {
  while (f->next < f->count) {
    uint32_t class = f->next++;
    if (c->engine->classes.data[class].len == 0) continue;
    c->registers[c->plan->steps[at].source].id = class;
    f->is_fresh =
        class >= c->engine->epoch_class || (at != 0 && c->frames[at - 1].is_fresh);
    return true;
  }
  return false;
}

/// Moves a step of the plan to its next candidate node or class.
static bool next_candidate(eg_cursor *c, uint32_t at) {
  frame *f = &c->frames[at];
  if (f->is_rising) return next_parent(c, at, f);
  uint32_t first = f->next;
  bool found = false;
  if (c->plan->steps[at].kind == EG_STEP_CLASSES)
    found = next_class(c, at, f);
  else
    while (!found && f->next < f->count)
      found = settle_node(c, at, f->nodes[f->next++]);
  c->visited += f->next - first;
  return found;
}

// ---- running --------------------------------------------------------------------------

static egraph_status report_match(const eg_cursor *c, bool *pause) {
  assert(c->at + 1 == c->plan->step_count);
  const eg_pattern *pattern = &c->program->pattern;
  bool is_fresh = c->frames[c->plan->step_count - 1].is_fresh;
  if (c->search.fresh_only && !is_fresh) return EGRAPH_OK;
  for (uint32_t i = 0; i < pattern->root_count; i++)
    c->roots[i] = c->registers[c->program->registers[pattern->roots[i]]];
  eg_match match = {
      .vars = c->registers, .roots = c->roots, .nodes = c->nodes, .is_fresh = is_fresh};
  return c->search.on_match(c->search.user, &match, pause);
}

egraph_status eg_cursor_run(eg_cursor *c, uint64_t max_steps, bool *out_done) {
  assert(c->plan->step_count != 0);
  uint32_t last = c->plan->step_count - 1;
  *out_done = false;
  if (!c->is_started) start_step(c, 0);
  c->is_started = true;
  for (uint64_t steps = 0; steps < max_steps; steps++) {
    if (!next_candidate(c, c->at)) {
      if (c->at == 0) {
        *out_done = true;
        return EGRAPH_OK;
      }
      c->at--;
    } else if (c->at != last) {
      start_step(c, ++c->at);
    } else {
      bool pause = false;
      EG_TRY(report_match(c, &pause));
      if (pause) return EGRAPH_OK;
    }
  }
  return EGRAPH_OK;
}

uint64_t eg_cursor_looked_at(const eg_cursor *c) { return c->visited; }

static bool head_of(const eg_engine *engine, const eg_pattern_term *term, uint32_t *out) {
  eg_head head = {.op = term->op, .payload = term->payload, .arity = term->arity};
  return term->exact && eg_engine_find_head(engine, head, out);
}

static egraph_status prepare_cursor(eg_cursor *c) {
  const eg_matcher *program = c->program;
  const eg_pattern *pattern = &program->pattern;
  eg_arena *arena = &c->arena;
  EG_TRY(eg_arena_alloc(arena, program->register_count, sizeof(eg_class), &c->registers));
  EG_TRY(eg_arena_alloc(arena, pattern->root_count, sizeof(eg_class), &c->roots));
  EG_TRY(eg_arena_alloc(arena, pattern->term_count, sizeof(eg_node), &c->nodes));
  EG_TRY(eg_arena_alloc(arena, program->max_arity, sizeof(eg_class), &c->children));
  EG_TRY(eg_arena_alloc(arena, program->max_steps, sizeof(frame), &c->frames));
  EG_TRY(eg_arena_alloc(arena, program->max_steps, sizeof(uint32_t), &c->heads));
  for (uint32_t i = 0; i < c->plan->step_count; i++)
    if (c->plan->steps[i].kind == EG_STEP_CLASSES ||
        !head_of(c->engine, term_of(c, &c->plan->steps[i]), &c->heads[i]))
      c->heads[i] = EG_NONE;
  for (uint32_t i = 0; i < program->register_count; i++)
    c->registers[i] = EG_CLASS_NONE;
  for (uint32_t i = 0; i < pattern->term_count; i++)
    c->nodes[i] = EG_NODE_NONE;
  return EGRAPH_OK;
}

egraph_status eg_cursor_create(egraph_allocator alloc, const eg_matcher *program,
                               const eg_engine *engine, const eg_search *search,
                               eg_part part, eg_cursor **out) {
  assert(part.plan < program->plan_count);
  EG_HELD(eg_cursor, cursor);
  EG_TRY(eg_alloc(alloc, 1, sizeof *cursor, &cursor));
  *cursor = (eg_cursor){.alloc = alloc,
                        .program = program,
                        .plan = &program->plans[part.plan],
                        .engine = engine,
                        .search = *search,
                        .part = part};
  eg_arena_init(&cursor->arena, alloc);
  EG_HAND_OVER(prepare_cursor(cursor), cursor, out);
}

void eg_cursor_destroy(eg_cursor *cursor) {
  if (cursor == NULL) return;
  eg_arena_deinit(&cursor->arena);
  eg_free(cursor->alloc, cursor, 1, sizeof *cursor);
}

// ---- the entry of a search ----------------------------------------------------------

static egraph_status check_search(const eg_matcher *program, const eg_engine *engine,
                                  const eg_search *search) {
  if (engine->is_rebuilding)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "search on an e-graph whose rebuild failed");
  if (program->has_guard && search->accept == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the pattern has a guard, the search no `accept`");
  return EGRAPH_OK;
}

/// False when the e-graph lacks an operator of the pattern: then there is no match.
static bool has_every_head(const eg_matcher *program, const eg_engine *engine) {
  const eg_pattern *pattern = &program->pattern;
  for (uint32_t t = 0; t < pattern->term_count; t++) {
    const eg_pattern_term *term = &pattern->terms[t];
    uint32_t head;
    if (!program->is_reachable[t] || term->kind == EG_PATTERN_VAR) continue;
    if (term->op >= engine->ops.len || engine->ops.data[term->op].nodes.len == 0)
      return false;
    if (term->exact && !head_of(engine, term, &head)) return false;
  }
  return true;
}

/// Ranges of the nodes (or classes) that the first step of a plan visits.
typedef struct entry {
  uint32_t made_from, made_to; // range in the operator's list of nodes
  uint32_t changed;
} entry;

static entry entry_of(const eg_matcher *program, const eg_engine *engine, uint32_t plan) {
  const eg_match_plan *p = &program->plans[plan];
  const eg_step *step = &p->steps[p->entry];
  if (p->entry == p->step_count || step->kind == EG_STEP_RISE ||
      step->kind == EG_STEP_BIND)
    return (entry){.made_to = 1}; // a single part
  if (step->kind == EG_STEP_CLASSES) return (entry){.made_to = engine->indexed_classes};
  const eg_op_index *op = &engine->ops.data[program->pattern.terms[step->term].op];
  if (plan == 0) return (entry){.made_to = op->nodes.len};
  return (entry){op->fresh_from, op->nodes.len, op->changed.len};
}

enum { MOST_PARTS = 64 }; // most parts of one list

static egraph_status split_list(eg_part part, uint32_t from, uint32_t to,
                                uint32_t candidates, eg_parts *parts) {
  assert(candidates != 0);
  uint32_t size = (to - from) / MOST_PARTS + 1;
  if (size < candidates) size = candidates;
  for (part.first = from; part.first < to; part.first += part.count) {
    uint32_t left = to - part.first;
    part.count = left < size ? left : size;
    EG_TRY(eg_parts_push(parts, part));
  }
  return EGRAPH_OK;
}

static egraph_status split_fresh(const eg_matcher *program, const eg_engine *engine,
                                 uint32_t candidates, eg_parts *parts) {
  for (uint32_t plan = 1; plan < program->plan_count; plan++) {
    entry e = entry_of(program, engine, plan);
    eg_part changed = {.plan = plan, .in_changed = true}, made = {.plan = plan};
    EG_TRY(split_list(changed, 0, e.changed, candidates, parts));
    EG_TRY(split_list(made, e.made_from, e.made_to, candidates, parts));
  }
  return EGRAPH_OK;
}

/// True when the search may choose a plan: is_possible requires the order of plan 0.
static bool may_choose_plan(const eg_matcher *program, const eg_search *search) {
  return program->plan_count > 1 && search->is_possible == NULL;
}

/// True when there are fewer fresh nodes than nodes that the full plan visits.
static bool enters_at_fresh(const eg_matcher *program, const eg_engine *engine,
                            const eg_search *search, uint32_t full) {
  if (!search->fresh_only || !may_choose_plan(program, search)) return false;
  uint64_t fresh = 0;
  for (uint32_t plan = 1; plan < program->plan_count; plan++) {
    entry e = entry_of(program, engine, plan);
    fresh += (uint64_t)e.made_to - e.made_from + e.changed;
  }
  return fresh < full;
}

/// Going up from a term to its parents takes longer than going down, so a search from
/// there must begin with far fewer nodes.
enum { RISE_COST = 4 };

static uint32_t choose_full_plan(const eg_matcher *program, const eg_engine *engine,
                                 const eg_search *search, uint32_t *out_nodes) {
  uint32_t best = 0;
  *out_nodes = entry_of(program, engine, 0).made_to;
  if (!may_choose_plan(program, search)) return best;
  for (uint32_t plan = 1; plan < program->plan_count; plan++) {
    uint64_t nodes = entry_of(program, engine, plan).made_to;
    if (nodes * RISE_COST >= *out_nodes) continue;
    best = plan;
    *out_nodes = (uint32_t)nodes * RISE_COST;
  }
  return best;
}

egraph_status eg_matcher_split(const eg_matcher *program, const eg_engine *engine,
                               const eg_search *search, uint32_t candidates,
                               eg_parts *inout_parts) {
  EG_TRY(check_search(program, engine, search));
  if (!has_every_head(program, engine)) return EGRAPH_OK;
  uint32_t nodes;
  uint32_t plan = choose_full_plan(program, engine, search, &nodes);
  if (enters_at_fresh(program, engine, search, nodes))
    return split_fresh(program, engine, candidates, inout_parts);
  eg_part full = {.plan = plan, .is_full = true};
  return split_list(full, 0, entry_of(program, engine, plan).made_to, candidates,
                    inout_parts);
}

// ---- the whole search -----------------------------------------------------------------

/// Searches a part to its end, or to the first pause.
static egraph_status run_part(const eg_matcher *program, const eg_engine *engine,
                              const eg_search *search, eg_part part, bool *out_paused) {
  EG_HELD(eg_cursor, cursor);
  EG_TRY(eg_cursor_create(program->alloc, program, engine, search, part, &cursor));
  bool done;
  EG_TRY(eg_cursor_run(cursor, UINT64_MAX, &done));
  *out_paused = !done;
  return EGRAPH_OK;
}

egraph_status eg_matcher_search(const eg_matcher *program, const eg_engine *engine,
                                const eg_search *search) {
  if (!eg_engine_is_clean(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "search on a dirty e-graph; rebuild it first");
  EG_LOCAL(eg_parts, parts, program->alloc);
  EG_TRY(eg_matcher_split(program, engine, search, UINT32_MAX, &parts));
  bool paused = false;
  for (size_t i = 0; i < parts.len && !paused; i++)
    EG_TRY(run_part(program, engine, search, parts.data[i], &paused));
  return EGRAPH_OK;
}
