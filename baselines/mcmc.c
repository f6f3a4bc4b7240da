// SPDX-License-Identifier: Apache-2.0
#include "baselines/mcmc.h"

#include <math.h>

#include "base/clock.h"
#include "base/owner.h"
#include "baselines/soap.h"

// Of the seconds of the first plan: a step longer by a hundredth is taken once in e
// times. The paper has no figure; its code multiplies milliseconds by a constant.
static const double BETA = 100;
static const double STEPS_PER_SECOND = 1e9;
enum { STARTS = 2, LOOK_EVERY = 64 };

typedef struct chain {
  eg_soap *soap;
  const eg_plan_question *question;
  eg_plan_answer *out;
  uint64_t random;
  double deadline, start;
  eg_u32s choice, best;
  double current, shortest; // seconds
  bool is_over;
} chain;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA'14).
static uint64_t draw(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static uint32_t draw_below(chain *c, uint32_t count) {
  return (uint32_t)((draw(&c->random) >> 32) * count >> 32);
}

static double draw_share(chain *c) { return (double)(draw(&c->random) >> 11) * 0x1p-53; }

static egraph_status measure(chain *c, double *out) {
  c->out->proposals++;
  return eg_soap_simulate(c->soap, c->choice.data, out);
}

static egraph_status note_best(chain *c) {
  if (!(c->current < c->shortest)) return EGRAPH_OK;
  c->shortest = c->current;
  c->best.len = 0;
  return eg_u32s_append(&c->best, c->choice.data, c->choice.len);
}

static bool is_stopped(chain *c) {
  const eg_layout_options *layout = &c->question->layout;
  double now = eg_clock_seconds();
  bool is_cancelled = layout->progress != NULL &&
                      layout->progress(layout->user, c->shortest, 0, now - c->start);
  if (is_cancelled) c->out->stop = EG_PLAN_STOP_CANCELLED;
  if (!is_cancelled && now > c->deadline) c->out->stop = EG_PLAN_STOP_TIME_LIMIT;
  c->is_over = is_cancelled || now > c->deadline;
  return c->is_over;
}

/// One proposal; *out_gains: it is better than all before.
static egraph_status propose(chain *c, double scale, bool *out_gains) {
  uint32_t lead = draw_below(c, (uint32_t)c->soap->leads.len);
  uint32_t before = c->choice.data[lead];
  double seconds;
  c->choice.data[lead] = draw_below(c, eg_soap_option_count(c->soap, lead));
  EG_TRY(measure(c, &seconds));
  double longer = seconds - c->current;
  bool is_taken = !(longer > 0) || draw_share(c) < exp(-BETA * longer / scale);
  if (is_taken)
    c->current = seconds;
  else
    c->choice.data[lead] = before;
  *out_gains = is_taken && c->current < c->shortest;
  return *out_gains ? note_best(c) : EGRAPH_OK;
}

/// Walks until so many steps are done, or half of them have gained nothing.
static egraph_status walk(chain *c, uint64_t steps) {
  uint64_t begin = c->soap->work, gained = begin;
  EG_TRY(measure(c, &c->current));
  EG_TRY(note_best(c));
  double scale = isfinite(c->current) && c->current > 0 ? c->current : 1;
  double least = c->current;
  c->out->stop = EG_PLAN_STOP_WORK_LIMIT;
  for (uint32_t i = 1; c->soap->work - begin < steps; i++) {
    bool gains;
    if (i % LOOK_EVERY == 0 && is_stopped(c)) return EGRAPH_OK;
    EG_TRY(propose(c, scale, &gains));
    if (c->current < least) { // of this walk
      least = c->current;
      gained = c->soap->work;
    }
    if (c->soap->work - gained <= steps / 2) continue;
    c->out->stop = EG_PLAN_STOP_NO_GAIN;
    return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

static egraph_status walk_all(chain *c) {
  const eg_layout_options *layout = &c->question->layout;
  double steps = layout->work_limit != 0 ? (double)layout->work_limit
                                         : STEPS_PER_SECOND * layout->time_limit_seconds;
  EG_TRY(eg_soap_start(c->soap, &c->choice));
  for (int start = 0; start < STARTS && !c->is_over; start++) {
    for (uint32_t l = 0; start != 0 && l < c->choice.len; l++)
      c->choice.data[l] = draw_below(c, eg_soap_option_count(c->soap, l));
    EG_TRY(walk(c, (uint64_t)fmax(steps / STARTS, 1)));
  }
  if (c->best.len == 0) return EGRAPH_OK;
  EG_TRY(eg_soap_choose(c->soap, c->best.data));
  return eg_u32s_append(&c->out->strategy, c->soap->strategy.data, c->soap->strategy.len);
}

static egraph_status search(const eg_plan_question *question, eg_plan_answer *out) {
  eg_soap soap;
  EG_TRY(eg_soap_init(&soap, question));
  chain c = {.soap = &soap,
             .question = question,
             .out = out,
             .random = question->seed,
             .start = eg_clock_seconds(),
             .shortest = INFINITY};
  c.deadline = c.start + question->layout.time_limit_seconds;
  eg_u32s_init(&c.choice, question->alloc);
  eg_u32s_init(&c.best, question->alloc);
  egraph_status status = soap.leads.len != 0 ? walk_all(&c) : EGRAPH_OK;
  out->work = soap.work;
  eg_u32s_deinit(&c.best);
  eg_u32s_deinit(&c.choice);
  eg_soap_deinit(&soap);
  return status;
}

const eg_plan_algorithm eg_mcmc = {search, EG_PLAN_GIVEN_GRAPH, .is_whole = true};
