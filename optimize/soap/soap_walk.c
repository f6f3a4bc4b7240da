// SPDX-License-Identifier: Apache-2.0
#include "optimize/soap/soap_walk.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "optimize/model/plan_recall.h"

#define NONE EG_SOAP_NONE
// A step longer by the share d is accepted with probability exp(-BETA d): a step longer
// by a hundredth is accepted once in e times. The paper has no figure; its code
// multiplies milliseconds by a constant.
static const double BETA = 100;
static const double SHORTER = 1e-9; // relative; smaller differences are rounding
enum { LOOK_EVERY = 64 };

// ---- chance -------------------------------------------------------------------------

static uint32_t draw_below(eg_soap_walk *w, uint32_t count) {
  return (uint32_t)((eg_rng_next(&w->rng) >> 32) * count >> 32);
}

uint32_t eg_soap_walk_draw(eg_soap_walk *w, uint32_t lead) {
  return draw_below(w, eg_soap_option_count(w->soap, lead));
}

// ---- neighbours ---------------------------------------------------------------------

/// True when two operators with a configuration have the same options of equal costs: in
/// another block, say, or another projection of the same block.
static bool are_like_leads(const eg_soap *s, uint32_t a, uint32_t b) {
  const eg_layout_problem *p = s->problem;
  uint32_t known = s->known != NULL, options = eg_soap_option_count(s, a) - known;
  if (eg_soap_option_count(s, b) - known != options) return false;
  for (uint32_t o = 0; o < options; o++) {
    uint32_t x = s->options.data[s->option_begin.data[a] + o];
    uint32_t y = s->options.data[s->option_begin.data[b] + o];
    uint32_t needs = p->need_begin.data[x + 1] - p->need_begin.data[x];
    if (p->cost.data[x] != p->cost.data[y] ||
        p->memory[0].data[x] != p->memory[0].data[y] ||
        p->need_begin.data[y + 1] - p->need_begin.data[y] != needs)
      return false;
  }
  return s->member_begin.data[a + 1] - s->member_begin.data[a] ==
         s->member_begin.data[b + 1] - s->member_begin.data[b];
}

/// Joins each lead operator to the ring of the first lead with the same options.
static egraph_status find_alike(eg_soap_walk *w) {
  uint32_t count = (uint32_t)w->soap->leads.len;
  for (uint32_t l = 0; l < count; l++) {
    size_t f = 0;
    while (f < w->firsts.len && !are_like_leads(w->soap, w->firsts.data[f], l))
      f++;
    EG_TRY(eg_u32s_push(&w->alike, l));
    if (f == w->firsts.len) EG_TRY(eg_u32s_push(&w->firsts, l));
    w->alike.data[l] = w->alike.data[w->firsts.data[f]];
    w->alike.data[w->firsts.data[f]] = l;
  }
  return EGRAPH_OK;
}

static bool is_kept_value(const eg_soap *s, uint32_t value) {
  return s->operator_of.data[value] != NONE && s->lead_of.data[value] == NONE;
}

/// Lists a value stored across phases, and the stored values from which it starts.
static egraph_status list_chain(eg_soap_walk *w, uint32_t value) {
  const eg_soap *s = w->soap;
  const eg_layout_problem *p = s->problem;
  while (is_kept_value(s, value)) {
    uint32_t op = s->operator_of.data[value];
    EG_TRY(eg_u32s_push(&w->near, value));
    if (p->input_begin.data[op] == p->input_begin.data[op + 1]) break;
    value = p->inputs.data[p->input_begin.data[op]];
  }
  return EGRAPH_OK;
}

/// Lists the stored values that each lead operator and its followers read or make.
static egraph_status find_near(eg_soap_walk *w) {
  const eg_soap *s = w->soap;
  const eg_layout_problem *p = s->problem;
  // Makes lists: for each value, the values that are stored from it.
  EG_LOCAL(eg_u32s, first, w->question->alloc);
  EG_LOCAL(eg_u32s, next, w->question->alloc);
  EG_TRY(eg_u32s_resize(&first, s->lead_of.len));
  EG_TRY(eg_u32s_resize(&next, s->lead_of.len));
  for (uint32_t v = 0; v < s->lead_of.len; v++)
    first.data[v] = next.data[v] = NONE;
  for (uint32_t v = 0; v < s->lead_of.len; v++) {
    uint32_t op = s->operator_of.data[v];
    if (!is_kept_value(s, v) || p->input_begin.data[op] == p->input_begin.data[op + 1])
      continue;
    uint32_t from = p->inputs.data[p->input_begin.data[op]];
    next.data[v] = first.data[from];
    first.data[from] = v;
  }
  for (uint32_t l = 0; l < s->leads.len; l++) {
    EG_TRY(eg_u32s_push(&w->near_begin, (uint32_t)w->near.len));
    for (uint32_t m = s->member_begin.data[l]; m < s->member_begin.data[l + 1]; m++) {
      uint32_t value = s->members.data[m], op = s->operator_of.data[value];
      for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
        EG_TRY(list_chain(w, p->inputs.data[i]));
      for (uint32_t k = first.data[value]; k != NONE; k = next.data[k])
        EG_TRY(eg_u32s_push(&w->near, k));
    }
  }
  return eg_u32s_push(&w->near_begin, (uint32_t)w->near.len);
}

// ---- proposals ----------------------------------------------------------------------

static egraph_status set_kept(eg_soap_walk *w, uint32_t value, uint32_t strategy) {
  EG_TRY(eg_u32s_push(&w->undo_value, value));
  EG_TRY(eg_u32s_push(&w->undo_kept, w->soap->kept.data[value]));
  w->soap->kept.data[value] = strategy;
  return EGRAPH_OK;
}

/// Gives a lead operator an option (strategy); if `follows`, the values stored near it
/// return to the rules' choice, or to the known solution's.
static egraph_status change(eg_soap_walk *w, uint32_t lead, uint32_t option,
                            bool follows) {
  const eg_soap *s = w->soap;
  bool is_known = s->known != NULL && option + 1 == eg_soap_option_count(s, lead);
  EG_TRY(eg_u32s_push(&w->undo_lead, lead));
  EG_TRY(eg_u32s_push(&w->undo_option, w->choice.data[lead]));
  w->choice.data[lead] = option;
  if (!follows) return EGRAPH_OK;
  for (uint32_t i = w->near_begin.data[lead]; i < w->near_begin.data[lead + 1]; i++) {
    uint32_t value = w->near.data[i];
    EG_TRY(set_kept(w, value, is_known ? s->known[value] : NONE));
  }
  return EGRAPH_OK;
}

static void undo(eg_soap_walk *w) {
  while (w->undo_lead.len != 0)
    w->choice.data[eg_u32s_pop(&w->undo_lead)] = eg_u32s_pop(&w->undo_option);
  while (w->undo_value.len != 0)
    w->soap->kept.data[eg_u32s_pop(&w->undo_value)] = eg_u32s_pop(&w->undo_kept);
}

static egraph_status measure_step(eg_soap_walk *w, double *out) {
  const eg_layout_problem *p = w->soap->problem;
  w->proposals++;
  EG_TRY(eg_soap_simulate(w->soap, w->choice.data, out));
  for (uint32_t r = 0; w->changes_alike && r < p->memory_rows; r++)
    if (w->soap->memory[r] > p->memory_limit[r]) *out = INFINITY;
  return EGRAPH_OK;
}

static egraph_status note_best(eg_soap_walk *w) {
  if (!(w->current < w->shortest)) return EGRAPH_OK;
  w->shortest = w->current;
  w->best.len = w->best_kept.len = 0;
  EG_TRY(eg_u32s_append(&w->best, w->choice.data, w->choice.len));
  return eg_u32s_append(&w->best_kept, w->soap->kept.data, w->soap->kept.len);
}

static bool is_stopped(eg_soap_walk *w) {
  const eg_layout_options *layout = &w->question->layout;
  double now = eg_clock_seconds();
  bool is_cancelled = layout->progress != NULL &&
                      layout->progress(layout->user, w->shortest, 0, now - w->start);
  if (is_cancelled) w->stop = EG_PLAN_STOP_CANCELLED;
  if (!is_cancelled && now > w->deadline) w->stop = EG_PLAN_STOP_TIME_LIMIT;
  w->is_over = is_cancelled || now > w->deadline;
  return w->is_over;
}

/// Changes the option of one lead operator, or of all equal ones; every ring of equal
/// leads is equally likely, so that an operator that a network has once is tried as often
/// as one of all its blocks.
static egraph_status change_at_random(eg_soap_walk *w) {
  w->undo_lead.len = w->undo_option.len = w->undo_value.len = w->undo_kept.len = 0;
  bool is_of_all = w->changes_alike && draw_below(w, 2) == 0;
  bool follows = w->changes_alike && draw_below(w, 2) == 0;
  uint32_t lead = is_of_all ? w->firsts.data[draw_below(w, (uint32_t)w->firsts.len)]
                            : draw_below(w, (uint32_t)w->soap->leads.len);
  uint32_t option = eg_soap_walk_draw(w, lead);
  EG_TRY(change(w, lead, option, follows));
  for (uint32_t at = is_of_all ? w->alike.data[lead] : lead; at != lead;
       at = w->alike.data[at])
    EG_TRY(change(w, at, option, follows));
  return EGRAPH_OK;
}

/// Changes options at random, and accepts or undoes the change.
static egraph_status propose(eg_soap_walk *w, double scale) {
  double seconds;
  EG_TRY(change_at_random(w));
  EG_TRY(measure_step(w, &seconds));
  double longer = seconds - w->current;
  bool is_taken = !(longer > 0) || eg_rng_unit(&w->rng) < exp(-BETA * longer / scale);
  if (!is_taken) {
    undo(w);
    return EGRAPH_OK;
  }
  w->current = seconds;
  return note_best(w);
}

egraph_status eg_soap_walk_on(eg_soap_walk *w, uint64_t steps) {
  uint64_t begin = w->soap->work, gained = begin;
  EG_TRY(measure_step(w, &w->current));
  EG_TRY(note_best(w));
  double scale = isfinite(w->current) && w->current > 0 ? w->current : 1;
  double least = w->current;
  w->stop = EG_PLAN_STOP_WORK_LIMIT;
  for (uint32_t i = 1; w->soap->work - begin < steps; i++) {
    if (i % LOOK_EVERY == 0 && is_stopped(w)) return EGRAPH_OK;
    EG_TRY(propose(w, scale));
    if (w->current < least * (1 - SHORTER)) { // the best of this walk
      least = w->current;
      gained = w->soap->work;
    }
    if (w->soap->work - gained <= steps / 2) continue;
    w->stop = EG_PLAN_STOP_NO_GAIN;
    return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

// ---- the whole ----------------------------------------------------------------------

static egraph_status find_changes(eg_soap_walk *w) {
  EG_TRY(find_alike(w));
  return find_near(w);
}

egraph_status eg_soap_walk_init(eg_soap_walk *w, eg_soap *soap,
                                const eg_plan_question *question, bool changes_alike) {
  *w = (eg_soap_walk){.soap = soap,
                      .question = question,
                      .changes_alike = changes_alike,
                      .current = INFINITY,
                      .shortest = INFINITY,
                      .rng = {question->seed},
                      .start = eg_clock_seconds()};
  w->deadline = w->start + question->layout.time_limit_seconds;
  eg_soap_walk_init_members(w, question->alloc);
  EG_RETURN_FILLED(changes_alike ? find_changes(w) : EGRAPH_OK, eg_soap_walk, w);
}

egraph_status eg_soap_walk_answer(eg_soap_walk *w, eg_plan_answer *out) {
  out->stop = w->stop;
  out->proposals = w->proposals;
  if (w->best.len != 0) {
    memcpy(w->soap->kept.data, w->best_kept.data, w->best_kept.len * sizeof(uint32_t));
    EG_TRY(eg_soap_choose(w->soap, w->best.data));
    EG_TRY(eg_u32s_append(&out->strategy, w->soap->strategy.data, w->soap->strategy.len));
  }
  out->work = w->soap->work;
  return EGRAPH_OK;
}

// ---- walks from a plan ------------------------------------------------------------

static egraph_status walk_overlapped(eg_soap *soap, const eg_plan_question *question,
                                     eg_plan_answer *out) {
  EG_OWNED(eg_soap_walk, walk);
  EG_TRY(eg_soap_walk_init(&walk, soap, question, true));
  EG_TRY(soap->known != NULL ? eg_soap_start_known(soap, &walk.choice)
                             : eg_soap_start(soap, &walk.choice));
  EG_TRY(eg_soap_walk_on(&walk, question->layout.work_limit));
  return eg_soap_walk_answer(&walk, out);
}

/// Walks from the strategies `known` of a solution, or from data parallelism (NULL).
static egraph_status refine(const eg_plan_question *question, const uint32_t *known,
                            eg_plan_answer *out) {
  EG_OWNED(eg_soap, soap);
  egraph_status status = eg_soap_init(&soap, question, known);
  if (status == EGRAPH_E_UNSUPPORTED) return EGRAPH_OK; // a value has no operator
  EG_TRY(status);
  return soap.leads.len != 0 ? walk_overlapped(&soap, question, out) : EGRAPH_OK;
}

static egraph_status run_refinement(const void *self, const eg_plan_question *question,
                                    eg_plan_answer *out) {
  const eg_plan_refinement *refinement = self;
  if (refinement->plan == NULL) return refine(question, NULL, out);
  EG_LOCAL(eg_u32s, known, question->alloc);
  EG_TRY(eg_plan_recall(question->model, refinement->plan, &known));
  if (known.len != 0) EG_TRY(refine(question, known.data, out));
  return EGRAPH_OK;
}

eg_plan_searcher eg_plan_refinement_searcher(const eg_plan_refinement *refinement) {
  return (eg_plan_searcher){.run = run_refinement,
                            .self = refinement,
                            .graphs = EG_PLAN_ALL_GRAPHS,
                            .is_whole = true};
}
