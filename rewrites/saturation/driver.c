// A rule with a match limit (the back-off scheduler) is searched as a whole before any of
// its matches is applied, because it may lose them all; its limit bounds what is held.
//
// In incremental search a rule that was searched completely in the iteration before needs
// its fresh matches only: the others were applied then. With a match limit the old ones
// count, too, so that the scheduler decides as it would otherwise: old matches become
// fewer by unions, never more, so that their number then and the fresh ones now are a
// bound. Where that is beyond the limit, all are looked for and counted.
//
// Budgets are looked at between turns and every POLL_EVERY batches of applied matches,
// because one explosive rule can take longer than all others together. A stop leaves the
// rest of the iteration undone and rebuilds, so that the e-graph is always whole; with
// options.rollback it goes back to the end of the iteration before, a saved state.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/driver.h"

#include "base/clock.h"
#include "egraph/snapshot.h"
#include "rewrites/saturation/lanes.h"
#include "rewrites/saturation/scheduler.h"

enum {
  POLL_EVERY = 16, // batches of matches
  // Steps of work, fitted to a core's time.
  CANDIDATE_STEPS = 40,
  MATCH_STEPS = 200,
  APPLY_STEPS = 2000,
  CHANGE_STEPS = 3000 // of a node or a union, rebuilding included
};

typedef struct eg_driver {
  egraph_allocator alloc;
  eg_engine *engine;
  const eg_driver_rules *rules;
  const eg_saturation_options *options;
  eg_saturation_report *report;
  eg_schedule *schedule;
  double start, last_progress;
  uint32_t polls, iteration;
  bool stopped, changed; // changed: by this iteration
  eg_stop stop;
  bool *is_seen;   // per rule: searched and applied completely in the last iteration
  uint64_t *known; // per rule that is seen: at most so many matches were there
  eg_lanes lanes;  // with the rule at hand
  eg_u32s held;    // matches of a rule with a limit
  eg_iteration_stats current;
} eg_driver;

static void stop_for(eg_driver *driver, eg_stop reason) {
  if (driver->stopped) return;
  driver->stopped = true;
  driver->stop = reason;
}

static size_t bytes_held(const eg_driver *driver) {
  size_t words = driver->held.cap + eg_lanes_words(&driver->lanes);
  return driver->rules->bytes(driver->rules->self) + words * sizeof(uint32_t);
}

static void look_at_budgets(eg_driver *driver) {
  const eg_saturation_options *options = driver->options;
  double now = eg_clock_seconds();
  size_t bytes = bytes_held(driver);
  if (bytes > driver->report->peak_bytes) driver->report->peak_bytes = bytes;
  if (now - driver->start >= options->time_limit_seconds)
    stop_for(driver, EG_STOP_TIME_LIMIT);
  if (bytes > options->byte_limit) stop_for(driver, EG_STOP_BYTE_LIMIT);
  if (options->work_limit != 0 && driver->report->work >= options->work_limit)
    stop_for(driver, EG_STOP_WORK_LIMIT);
  if (options->progress == NULL || now - driver->last_progress < 0.05) return;
  driver->last_progress = now;
  if (options->progress(options->user, driver->iteration,
                        eg_engine_node_count(driver->engine),
                        eg_engine_class_count(driver->engine)))
    stop_for(driver, EG_STOP_CANCELLED);
}

// ---- apply ----------------------------------------------------------------------

static uint32_t room(const eg_driver *driver) {
  uint32_t nodes = eg_engine_node_count(driver->engine);
  uint32_t limit = driver->options->node_limit;
  return nodes < limit ? limit - nodes : 0;
}

static egraph_status apply_batch(eg_driver *driver, const uint32_t *words,
                                 uint32_t count) {
  const eg_driver_rules *rules = driver->rules;
  eg_rule_stats *stats = &driver->report->rules[driver->lanes.turn.rule];
  uint32_t before = eg_engine_node_count(driver->engine);
  eg_apply_result result = {0};
  EG_TRY(rules->apply(rules->self, driver->lanes.turn.rule, words, count, room(driver),
                      &result));
  uint32_t added = eg_engine_node_count(driver->engine) - before;
  stats->nodes += added;
  stats->unions += result.unions;
  stats->rejected += result.rejected;
  driver->report->work += (uint64_t)result.applied * APPLY_STEPS +
                          ((uint64_t)added + result.unions) * CHANGE_STEPS;
  if (added > 0 || result.unions > 0) driver->changed = true;
  if (result.applied < count) stop_for(driver, EG_STOP_NODE_LIMIT);
  return EGRAPH_OK;
}

static egraph_status apply_all(eg_driver *driver, const eg_u32s *words) {
  size_t count = words->len / driver->lanes.turn.words_per_match;
  for (size_t i = 0; i < count && !driver->stopped; i += EG_DRIVER_BATCH) {
    size_t batch = count - i < EG_DRIVER_BATCH ? count - i : EG_DRIVER_BATCH;
    EG_TRY(apply_batch(driver, words->data + i * driver->lanes.turn.words_per_match,
                       (uint32_t)batch));
    if (++driver->polls % POLL_EVERY == 0) look_at_budgets(driver);
  }
  return EGRAPH_OK;
}

// ---- rules ----------------------------------------------------------------------

/// Counts what the lanes found, and holds it or applies it.
static egraph_status empty_lanes(eg_driver *driver, uint32_t busy) {
  eg_turn *turn = &driver->lanes.turn;
  eg_rule_stats *stats = &driver->report->rules[turn->rule];
  for (uint32_t i = 0; i < busy; i++) {
    const eg_lane *lane = &driver->lanes.all[i];
    turn->found += lane->found;
    stats->matches += lane->found;
    stats->rejected += lane->rejected;
    driver->current.matches += lane->found;
    driver->report->work += lane->found * MATCH_STEPS + lane->looked_at * CANDIDATE_STEPS;
    if (turn->limit == UINT64_MAX)
      EG_TRY(apply_all(driver, &lane->words));
    else if (turn->found <= turn->limit)
      EG_TRY(eg_u32s_append(&driver->held, lane->words.data, lane->words.len));
  }
  return EGRAPH_OK;
}

static egraph_status search_parts(eg_driver *driver) {
  const eg_turn *turn = &driver->lanes.turn;
  for (;;) {
    uint32_t busy;
    double start = eg_clock_cpu_seconds();
    EG_TRY(eg_lanes_search(&driver->lanes, &busy));
    if (busy == 0) return EGRAPH_OK;
    double middle = eg_clock_cpu_seconds();
    EG_TRY(empty_lanes(driver, busy));
    driver->current.search_seconds += middle - start;
    driver->current.apply_seconds += eg_clock_cpu_seconds() - middle;
    look_at_budgets(driver);
    if (driver->stopped || turn->found > turn->limit) return EGRAPH_OK;
  }
}

/// Searches for the matches of the turn; applies or holds them.
static egraph_status run_turn(eg_driver *driver) {
  const eg_driver_rules *rules = driver->rules;
  eg_turn *turn = &driver->lanes.turn;
  turn->words_per_match = rules->match_words(rules->self, turn->rule);
  driver->held.len = 0;
  EG_TRY(eg_lanes_start(&driver->lanes));
  egraph_status status = search_parts(driver);
  eg_lanes_stop(&driver->lanes);
  return status;
}

/// Limit and matches of a rule with old matches that were applied.
static egraph_status run_seen_rule(eg_driver *driver, uint64_t known) {
  eg_turn *turn = &driver->lanes.turn, all = *turn;
  turn->fresh_only = true;
  if (turn->limit != UINT64_MAX) turn->limit -= known < turn->limit ? known : turn->limit;
  EG_TRY(run_turn(driver));
  if (turn->found <= turn->limit && known <= all.limit) {
    turn->found += known;
    turn->limit = all.limit;
    return EGRAPH_OK;
  }
  driver->report->rules[turn->rule].matches -= turn->found; // they are found again
  driver->current.matches -= turn->found;
  *turn = all;
  turn->apply_fresh = true;
  return run_turn(driver);
}

static egraph_status run_rule(eg_driver *driver, uint32_t rule,
                              const eg_matcher *matcher) {
  const eg_driver_rules *rules = driver->rules;
  eg_turn *turn = &driver->lanes.turn;
  *turn = (eg_turn){.rule = rule,
                    .matcher = matcher,
                    .limit =
                        eg_schedule_limit(driver->schedule, rule, driver->report->rules)};
  double start = eg_clock_seconds();
  if (driver->is_seen[rule])
    EG_TRY(run_seen_rule(driver, driver->known[rule]));
  else
    EG_TRY(run_turn(driver));
  driver->is_seen[rule] = false;
  if (turn->found > turn->limit) {
    eg_schedule_ban(driver->schedule, rule, driver->iteration);
    driver->report->rules[rule].bans++;
  } else {
    EG_TRY(apply_all(driver, &driver->held));
    driver->known[rule] = turn->found;
    driver->is_seen[rule] = !driver->stopped && !driver->options->naive &&
                            !rules->needs_all(rules->self, rule);
  }
  driver->report->rules[rule].seconds += eg_clock_seconds() - start;
  return EGRAPH_OK;
}

static egraph_status run_rules(eg_driver *driver) {
  const eg_driver_rules *rules = driver->rules;
  for (uint32_t i = 0; i < rules->count && !driver->stopped; i++) {
    uint32_t rule = eg_schedule_order(driver->schedule)[i];
    const eg_matcher *matcher = rules->matcher(rules->self, rule);
    if (matcher == NULL) continue;
    if (eg_schedule_allows(driver->schedule, rule, driver->iteration))
      EG_TRY(run_rule(driver, rule, matcher));
    else
      driver->is_seen[rule] = false;
  }
  return EGRAPH_OK;
}

// ---- the loop -------------------------------------------------------------------

static void end_iteration(eg_driver *driver) {
  const eg_saturation_options *options = driver->options;
  driver->current.nodes = eg_engine_node_count(driver->engine);
  driver->current.classes = eg_engine_class_count(driver->engine);
  if (options->on_iteration != NULL)
    options->on_iteration(options->on_iteration_user, &driver->current);
}

static egraph_status rebuild(eg_driver *driver) {
  eg_engine_start_epoch(driver->engine);
  double start = eg_clock_cpu_seconds();
  EG_TRY(eg_engine_rebuild(driver->engine));
  driver->current.rebuild_seconds = eg_clock_cpu_seconds() - start;
  return EGRAPH_OK;
}

/// Runs the rules and rebuilds; *out_complete: nothing of the iteration is left undone.
/// With options.rollback an iteration that is not complete is taken back.
static egraph_status run_whole(eg_driver *driver, bool *out_complete) {
  bool saved = driver->options->rollback;
  if (saved) EG_TRY(eg_engine_push(driver->engine));
  egraph_status status = run_rules(driver);
  *out_complete = status == EGRAPH_OK && !driver->stopped;
  if (saved && !*out_complete) {
    driver->report->rolled_back = true;
    egraph_status popped = eg_engine_pop(driver->engine);
    return status != EGRAPH_OK ? status : popped;
  }
  if (status == EGRAPH_OK) status = rebuild(driver);
  if (!saved) return status;
  driver->report->rolled_back = status != EGRAPH_OK;
  egraph_status dropped = status == EGRAPH_OK ? eg_engine_drop(driver->engine)
                                              : eg_engine_pop(driver->engine);
  return status != EGRAPH_OK ? status : dropped;
}

static egraph_status iterate(eg_driver *driver) {
  driver->current = (eg_iteration_stats){0};
  driver->changed = false;
  bool complete;
  EG_TRY(run_whole(driver, &complete));
  if (driver->report->rolled_back) return EGRAPH_OK;
  end_iteration(driver);
#if EG_CHECK_LEVEL >= 2
  EG_TRY(eg_engine_check(driver->engine));
#endif
  driver->last_progress = 0; // the end of an iteration is always reported
  look_at_budgets(driver);
  // An iteration that was done completely and changed nothing proves saturation, whatever
  // the clock says by now.
  if (complete && !driver->changed &&
      eg_schedule_can_stop(driver->schedule, driver->iteration)) {
    driver->stopped = true;
    driver->stop = EG_STOP_SATURATED;
  }
  driver->iteration++;
  return EGRAPH_OK;
}

static egraph_status run_driver(eg_driver *driver) {
  uint32_t count = driver->rules->count;
  EG_TRY(eg_alloc(driver->alloc, count, sizeof *driver->is_seen, &driver->is_seen));
  EG_TRY(eg_alloc(driver->alloc, count, sizeof *driver->known, &driver->known));
  if (!eg_engine_is_clean(driver->engine)) EG_TRY(eg_engine_rebuild(driver->engine));
  look_at_budgets(driver);
  while (!driver->stopped) {
    if (driver->iteration >= driver->options->iteration_limit)
      stop_for(driver, EG_STOP_ITERATION_LIMIT);
    else
      EG_TRY(iterate(driver));
  }
  return EGRAPH_OK;
}

static void finish_report(const eg_driver *driver) {
  eg_saturation_report *report = driver->report;
  report->stop = driver->stop;
  report->iterations = driver->iteration;
  report->nodes = eg_engine_node_count(driver->engine);
  report->classes = eg_engine_class_count(driver->engine);
  report->seconds = eg_clock_seconds() - driver->start;
}

static void driver_deinit(eg_driver *driver) {
  eg_lanes_deinit(&driver->lanes);
  eg_u32s_deinit(&driver->held);
  eg_free(driver->alloc, driver->is_seen, driver->rules->count, sizeof *driver->is_seen);
  eg_free(driver->alloc, driver->known, driver->rules->count, sizeof *driver->known);
}

egraph_status eg_driver_run(const egraph_allocator *alloc, eg_engine *engine,
                            const eg_driver_rules *rules,
                            const eg_saturation_options *options,
                            eg_saturation_report *out_report) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  *out_report = (eg_saturation_report){.alloc = heap};
  EG_TRY(eg_alloc(heap, rules->count, sizeof *out_report->rules, &out_report->rules));
  out_report->rule_count = rules->count;
  eg_schedule schedule;
  EG_TRY(eg_schedule_init(&schedule, heap, options, rules->count));
  eg_driver driver = {.alloc = heap,
                      .engine = engine,
                      .rules = rules,
                      .options = options,
                      .report = out_report,
                      .schedule = &schedule,
                      .start = eg_clock_seconds()};
  driver.last_progress = driver.start;
  eg_lanes_init(&driver.lanes, heap, engine, rules, options->threads);
  eg_u32s_init(&driver.held, heap);
  egraph_status status = run_driver(&driver);
  finish_report(&driver);
  driver_deinit(&driver);
  eg_schedule_deinit(&schedule);
  return status;
}
