// Budgets are looked at inside rules too, every POLL_EVERY matches, because one explosive
// rule can take longer than all others together. A stop leaves the rest of the iteration
// undone and rebuilds, so that the e-graph is always whole.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/driver.h"

#include "rewrites/scheduler.h"

enum { POLL_EVERY = 64 };

typedef struct batch { // matches of one rule in this iteration
  size_t first, count; // first word; matches
} batch;
EG_VEC_DEFINE(batches, batch);

struct eg_driver {
  egraph_allocator alloc;
  eg_engine *engine;
  const eg_driver_rules *rules;
  const eg_saturation_options *options;
  eg_saturation_report *report;
  eg_schedule *schedule;
  double start, last_progress;
  uint32_t polls, iteration;
  bool stopped;
  eg_stop stop;
  // the rule that is searched
  uint32_t rule, words_per_match;
  uint64_t limit, found;
  bool overflow;
  eg_u32s words; // matches of all rules in this iteration
  batches batches;
  eg_iteration_stats current; // of this iteration
};

static void stop_for(eg_driver *driver, eg_stop reason) {
  if (driver->stopped) return;
  driver->stopped = true;
  driver->stop = reason;
}

static size_t bytes_held(const eg_driver *driver) {
  return driver->rules->bytes(driver->rules->self) +
         driver->words.cap * sizeof *driver->words.data;
}

static void look_at_budgets(eg_driver *driver) {
  const eg_saturation_options *options = driver->options;
  double now = eg_clock_seconds();
  size_t bytes = bytes_held(driver);
  if (bytes > driver->report->peak_bytes) driver->report->peak_bytes = bytes;
  if (now - driver->start >= options->time_limit_seconds)
    stop_for(driver, EG_STOP_TIME_LIMIT);
  if (bytes > options->byte_limit) stop_for(driver, EG_STOP_BYTE_LIMIT);
  if (options->progress == NULL || now - driver->last_progress < 0.05) return;
  driver->last_progress = now;
  if (options->progress(options->user, driver->iteration,
                        eg_engine_node_count(driver->engine),
                        eg_engine_class_count(driver->engine)))
    stop_for(driver, EG_STOP_CANCELLED);
}

static void poll(eg_driver *driver) {
  if (++driver->polls % POLL_EVERY == 0) look_at_budgets(driver);
}

// ---- search ---------------------------------------------------------------------

void eg_driver_reject(eg_driver *driver) {
  driver->report->rules[driver->rule].rejected++;
}

egraph_status eg_driver_take(eg_driver *driver, const uint32_t *words, bool *out_stop) {
  eg_rule_stats *stats = &driver->report->rules[driver->rule];
  stats->matches++;
  driver->current.matches++;
  poll(driver);
  if (++driver->found > driver->limit) {
    driver->overflow = true;
  } else {
    EG_TRY(eg_u32s_append(&driver->words, words, driver->words_per_match));
  }
  *out_stop = driver->overflow || driver->stopped;
  return EGRAPH_OK;
}

bool eg_driver_is_stopped(eg_driver *driver) {
  look_at_budgets(driver);
  return driver->stopped;
}

static egraph_status search_rule(eg_driver *driver, uint32_t rule, batch *out) {
  const eg_driver_rules *rules = driver->rules;
  eg_rule_stats *stats = &driver->report->rules[rule];
  double start = eg_clock_seconds();
  driver->rule = rule;
  driver->words_per_match = rules->match_words(rules->self, rule);
  driver->limit = eg_schedule_limit(driver->schedule, rule);
  driver->found = 0;
  driver->overflow = false;
  EG_TRY(rules->search(rules->self, rule, driver));
  stats->seconds += eg_clock_seconds() - start;
  if (driver->overflow) {
    driver->words.len = out->first;
    eg_schedule_ban(driver->schedule, rule, driver->iteration);
    stats->bans++;
    return EGRAPH_OK;
  }
  out->count = (size_t)driver->found;
  return EGRAPH_OK;
}

static egraph_status search_all(eg_driver *driver) {
  const eg_driver_rules *rules = driver->rules;
  driver->words.len = 0;
  driver->batches.len = 0;
  for (uint32_t rule = 0; rule < rules->count; rule++) {
    batch found = {.first = driver->words.len};
    if (!driver->stopped && rules->enabled(rules->self, rule) &&
        eg_schedule_allows(driver->schedule, rule, driver->iteration))
      EG_TRY(search_rule(driver, rule, &found));
    EG_TRY(batches_push(&driver->batches, found));
  }
  look_at_budgets(driver);
  return EGRAPH_OK;
}

// ---- apply ----------------------------------------------------------------------

static uint32_t room(const eg_driver *driver) {
  uint32_t nodes = eg_engine_node_count(driver->engine);
  uint32_t limit = driver->options->node_limit;
  return nodes < limit ? limit - nodes : 0;
}

static egraph_status apply_match(eg_driver *driver, uint32_t rule, const uint32_t *words,
                                 bool *inout_changed) {
  const eg_driver_rules *rules = driver->rules;
  eg_rule_stats *stats = &driver->report->rules[rule];
  uint32_t before = eg_engine_node_limit(driver->engine);
  eg_apply_result result = {.outcome = EG_APPLY_DONE};
  EG_TRY(rules->apply(rules->self, rule, words, room(driver), &result));
  uint32_t added = eg_engine_node_limit(driver->engine) - before;
  stats->nodes += added;
  stats->unions += result.unions;
  if (added > 0 || result.unions > 0) *inout_changed = true;
  if (result.outcome == EG_APPLY_REJECTED) stats->rejected++;
  if (result.outcome == EG_APPLY_NO_ROOM) stop_for(driver, EG_STOP_NODE_LIMIT);
  return EGRAPH_OK;
}

static egraph_status apply_rule(eg_driver *driver, uint32_t rule, bool *inout_changed) {
  batch matches = driver->batches.data[rule];
  if (matches.count == 0) return EGRAPH_OK;
  uint32_t size = driver->rules->match_words(driver->rules->self, rule);
  double start = eg_clock_seconds();
  const uint32_t *words = driver->words.data + matches.first;
  for (size_t i = 0; i < matches.count && !driver->stopped; i++) {
    EG_TRY(apply_match(driver, rule, words, inout_changed));
    words += size;
    poll(driver);
  }
  driver->report->rules[rule].seconds += eg_clock_seconds() - start;
  return EGRAPH_OK;
}

static egraph_status apply_all(eg_driver *driver, bool *out_changed) {
  *out_changed = false;
  double start = eg_clock_cpu_seconds();
  for (uint32_t rule = 0; rule < driver->rules->count && !driver->stopped; rule++)
    EG_TRY(apply_rule(driver, rule, out_changed));
  double middle = eg_clock_cpu_seconds();
  driver->current.apply_seconds = middle - start;
  egraph_status status = eg_engine_rebuild(driver->engine);
  driver->current.rebuild_seconds = eg_clock_cpu_seconds() - middle;
  return status;
}

// ---- the loop -------------------------------------------------------------------

static void end_iteration(eg_driver *driver) {
  const eg_saturation_options *options = driver->options;
  driver->current.nodes = eg_engine_node_count(driver->engine);
  driver->current.classes = eg_engine_class_count(driver->engine);
  if (options->on_iteration != NULL)
    options->on_iteration(options->on_iteration_user, &driver->current);
}

static egraph_status iterate(eg_driver *driver) {
  bool changed;
  driver->current = (eg_iteration_stats){0};
  double start = eg_clock_cpu_seconds();
  EG_TRY(search_all(driver));
  driver->current.search_seconds = eg_clock_cpu_seconds() - start;
  EG_TRY(apply_all(driver, &changed));
  end_iteration(driver);
  bool complete = !driver->stopped;
#if EG_CHECK_LEVEL >= 2
  EG_TRY(eg_engine_check(driver->engine));
#endif
  driver->last_progress = 0; // the end of an iteration is always reported
  look_at_budgets(driver);
  // An iteration that was done completely and changed nothing proves saturation, whatever
  // the clock says by now.
  if (complete && !changed && eg_schedule_can_stop(driver->schedule, driver->iteration)) {
    driver->stopped = true;
    driver->stop = EG_STOP_SATURATED;
  }
  driver->iteration++;
  return EGRAPH_OK;
}

static egraph_status run(eg_driver *driver) {
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
  eg_u32s_init(&driver.words, heap);
  batches_init(&driver.batches, heap);
  egraph_status status = run(&driver);
  finish_report(&driver);
  eg_u32s_deinit(&driver.words);
  batches_deinit(&driver.batches);
  eg_schedule_deinit(&schedule);
  return status;
}

void eg_saturation_report_deinit(eg_saturation_report *report) {
  eg_free(report->alloc, report->rules, report->rule_count, sizeof *report->rules);
  report->rules = NULL;
  report->rule_count = 0;
}

#define STOP_NAME(id, name) name,
const char *eg_stop_name(eg_stop stop) {
  static const char *const names[] = {EG_STOP_LIST(STOP_NAME)};
  return names[stop];
}
