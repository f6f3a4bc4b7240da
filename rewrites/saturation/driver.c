// A rule with a match limit (the back-off scheduler) is searched as a whole before any of
// its matches is applied, because it may lose them all; its limit bounds the matches
// held.
//
// In incremental search a rule that was searched completely in the iteration before needs
// only its fresh matches: the others were applied then. With a match limit the old
// matches count, too, so that the scheduler decides as in a full search: unions can only
// reduce the old matches, so their number then plus the fresh ones now is an upper bound.
// When this bound exceeds the limit, the driver searches and counts all matches.
//
// Budgets are checked between turns and every POLL_EVERY batches of applied matches,
// because one explosive rule can take longer than all others together. A stop skips the
// rest of the iteration and rebuilds, so that the e-graph is always complete; with
// options.rollback the e-graph returns to a saved state, the end of the iteration before.
//
// In an e-graph that is large for its node limit, rules that shrink terms saturate
// first (options.shrink_first_below), so that their gain is not lost when the limit
// stops the search.
//
// Lanes are the parallel searches of one rule. Idle lanes get parts of the search; a lane
// pauses when its buffer is full, and the matches of all lanes are taken, in the order of
// the lanes, before the lanes continue. A turn with a limit begins with one lane and
// doubles their number, because most rules that exceed their limit do so soon.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/driver.h"

#include <assert.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/parallel.h"
#include "egraph/engine.h"
#include "rewrites/saturation/scheduler.h"

/// State while the driver searches and applies the current rule.
typedef struct driver_turn {
  uint32_t rule, words_per_match;
  const eg_matcher *const *matchers; // left sides
  uint32_t matcher_count;
  uint64_t limit, found; // matches; limit UINT64_MAX: none
  bool fresh_only;       // search for fresh matches only
  bool apply_fresh;      // apply only the fresh matches of all that are found
} driver_turn;

struct eg_lane {
  const driver_turn *turn;
  eg_cursor *cursor; // NULL: idle
  eg_u32s words;     // words of the matches to apply in this turn
  uint64_t found, rejected;
  uint64_t looked_at; // candidates: its work
};

typedef struct lane_set {
  egraph_allocator alloc;
  eg_engine *engine;
  const eg_driver_rules *rules;
  uint32_t threads;
  driver_turn turn;
  eg_parts parts;   // parts of the rule's search
  eg_u32s sides;    // per part: the left side that is searched
  size_t next_part; // the first that no lane has
  uint32_t count;   // number of working lanes, the first ones
  eg_lane all[EG_DRIVER_LANES];
} lane_set;

enum {
  PART_CANDIDATES = 256,  // first nodes that a lane takes at a time, at least
  LANE_WORDS = 1 << 15,   // words of matches after which a lane pauses
  LANE_STEPS = 1 << 18,   // steps of a search after which it pauses
  THREAD_CANDIDATES = 512 // a turn with fewer is not worth a thread
};

static void init_lanes(lane_set *lanes, egraph_allocator alloc, eg_engine *engine,
                       const eg_driver_rules *rules, uint32_t threads) {
  *lanes =
      (lane_set){.alloc = alloc, .engine = engine, .rules = rules, .threads = threads};
  eg_parts_init(&lanes->parts, alloc);
  eg_u32s_init(&lanes->sides, alloc);
  for (size_t i = 0; i < EG_DRIVER_LANES; i++) {
    lanes->all[i].turn = &lanes->turn;
    eg_u32s_init(&lanes->all[i].words, alloc);
  }
}

// ---- called by rules ------------------------------------------------------------

void eg_lane_reject(eg_lane *lane) { lane->rejected++; }

egraph_status eg_lane_take(eg_lane *lane, const eg_match *match, uint32_t **out_words,
                           bool *out_pause) {
  const driver_turn *turn = lane->turn;
  assert(turn->found <= turn->limit);
  eg_u32s *words = &lane->words;
  if (words->cap - words->len < turn->words_per_match)
    EG_TRY(eg_u32s_reserve(words, words->len + turn->words_per_match));
  *out_words = words->data + words->len;
  lane->found++;
  if (!turn->apply_fresh || match->is_fresh) words->len += turn->words_per_match;
  *out_pause = words->len >= LANE_WORDS || lane->found > turn->limit - turn->found;
  return EGRAPH_OK;
}

// ---- searching ------------------------------------------------------------------

static eg_search search_on(lane_set *lanes, uint32_t side, uint32_t number) {
  const eg_driver_rules *rules = lanes->rules;
  eg_search search = {.fresh_only = lanes->turn.fresh_only};
  rules->search(rules->self, lanes->turn.rule, side, number, &lanes->all[number],
                &search);
  return search;
}

// Splits the search for the current rule into parts. Fails as eg_matcher_split.
static egraph_status start_lanes(lane_set *lanes) {
  lanes->parts.len = lanes->next_part = lanes->sides.len = 0;
  lanes->count = lanes->turn.limit == UINT64_MAX ? EG_DRIVER_LANES : 1;
  for (uint32_t side = 0; side < lanes->turn.matcher_count; side++) {
    eg_search search = search_on(lanes, side, 0);
    EG_TRY(eg_matcher_split(lanes->turn.matchers[side], lanes->engine, &search,
                            PART_CANDIDATES, &lanes->parts));
    while (lanes->sides.len < lanes->parts.len)
      EG_TRY(eg_u32s_push(&lanes->sides, side));
  }
  return EGRAPH_OK;
}

/// Gives parts of the search to idle lanes. *out_busy: no lane from this number on
/// is busy.
static egraph_status fill_lanes(lane_set *lanes, uint32_t *out_busy,
                                uint64_t *out_candidates) {
  *out_busy = 0;
  *out_candidates = 0;
  for (uint32_t i = 0; i < lanes->count; i++) {
    eg_lane *lane = &lanes->all[i];
    if (lane->cursor == NULL && lanes->next_part < lanes->parts.len) {
      uint32_t side = lanes->sides.data[lanes->next_part];
      eg_part part = lanes->parts.data[lanes->next_part++];
      eg_search search = search_on(lanes, side, i);
      EG_TRY(eg_cursor_create(lanes->alloc, lanes->turn.matchers[side], lanes->engine,
                              &search, part, &lane->cursor));
      *out_candidates += part.count;
    } else if (lane->cursor != NULL) {
      *out_candidates += THREAD_CANDIDATES; // a paused lane still has much work
    }
    lane->found = lane->rejected = lane->looked_at = lane->words.len = 0;
    if (lane->cursor != NULL) *out_busy = i + 1;
  }
  return EGRAPH_OK;
}

static egraph_status run_lane(void *user, size_t index, uint32_t worker) {
  lane_set *lanes = user;
  eg_lane *lane = &lanes->all[index];
  (void)worker;
  if (lane->cursor == NULL) return EGRAPH_OK;
  bool done;
  uint64_t before = eg_cursor_looked_at(lane->cursor);
  EG_TRY(eg_cursor_run(lane->cursor, LANE_STEPS, &done));
  lane->looked_at = eg_cursor_looked_at(lane->cursor) - before;
  if (!done) return EGRAPH_OK;
  eg_cursor_destroy(lane->cursor);
  lane->cursor = NULL;
  return EGRAPH_OK;
}

// Lets each lane search until it finishes its part or pauses. *out_busy: only the first
// *out_busy lanes have searched; 0: no work was left. Fails as eg_cursor_run.
static egraph_status search_lanes(lane_set *lanes, uint32_t *out_busy) {
  uint64_t candidates;
  EG_TRY(fill_lanes(lanes, out_busy, &candidates));
  if (*out_busy == 0) return EGRAPH_OK;
  if (lanes->count < EG_DRIVER_LANES) lanes->count *= 2; // for the next time
  uint32_t threads = candidates < THREAD_CANDIDATES ? 1 : lanes->threads;
  return eg_parallel_for(lanes->alloc, threads, *out_busy, run_lane, lanes);
}

enum {
  POLL_EVERY = 16, // batches of matches
  // Units of search work for each candidate and each match, fitted to a core's time.
  CANDIDATE_STEPS = 40,
  MATCH_STEPS = 200,
  APPLY_STEPS = 2000,
  CHANGE_STEPS = 3000 // for a node or a union, rebuilding included
};

typedef struct driver_state {
  egraph_allocator alloc;
  eg_engine *engine;
  const eg_driver_rules *rules;
  const eg_saturation_options *options;
  eg_saturation_report *report;
  eg_schedule *schedule;
  double start, last_progress;
  uint32_t node_limit;
  uint32_t polls, iteration;
  uint32_t first_iteration; // first iteration that iteration_limit counts
  bool only_shrinking;      // rules that do not shrink terms wait
  bool stopped, changed;    // changed: by this iteration
  eg_stop stop;
  bool *is_seen;   // per rule: searched and applied completely in the last iteration
  uint64_t *known; // per seen rule: an upper bound of its old matches
  lane_set lanes;  // lanes, with the current rule
  eg_u32s held;    // matches of a rule with a limit
  eg_iteration_stats current;
} driver_state;

static void stop_for(driver_state *driver, eg_stop reason) {
  if (driver->stopped) return;
  driver->stopped = true;
  driver->stop = reason;
}

static void check_budgets(driver_state *driver) {
  const eg_saturation_options *options = driver->options;
  double now = eg_clock_seconds();
  size_t words = driver->held.cap;
  for (size_t i = 0; i < EG_DRIVER_LANES; i++)
    words += driver->lanes.all[i].words.cap;
  size_t bytes = driver->rules->bytes(driver->rules->self) + words * sizeof(uint32_t);
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

static uint32_t room(const driver_state *driver) {
  uint32_t nodes = eg_engine_node_count(driver->engine);
  return nodes < driver->node_limit ? driver->node_limit - nodes : 0;
}

static void count_applied(driver_state *driver, const eg_apply_result *result,
                          uint32_t added) {
  eg_rule_stats *stats = &driver->report->rules[driver->lanes.turn.rule];
  stats->nodes += added;
  stats->unions += result->unions;
  stats->rejected += result->rejected;
  stats->matches -= result->held;
  driver->report->work += result->looked_at * MATCH_STEPS +
                          (uint64_t)(result->applied - result->held) * APPLY_STEPS +
                          ((uint64_t)added + result->unions) * CHANGE_STEPS;
  if (added > 0 || result->unions > 0) driver->changed = true;
}

static egraph_status apply_batch(driver_state *driver, const uint32_t *words,
                                 uint32_t count) {
  const eg_driver_rules *rules = driver->rules;
  uint32_t before = eg_engine_node_count(driver->engine);
  eg_apply_result result = {0};
  EG_TRY(rules->apply(rules->self, driver->lanes.turn.rule, words, count, room(driver),
                      &result));
  assert(result.applied <= count && result.held <= result.applied);
  count_applied(driver, &result, eg_engine_node_count(driver->engine) - before);
  if (result.applied < count) stop_for(driver, EG_STOP_NODE_LIMIT);
  return EGRAPH_OK;
}

/// Lets a rule with (each ...) join the matches that it has stored.
static egraph_status finish_rule(driver_state *driver) {
  const eg_driver_rules *rules = driver->rules;
  uint32_t before = eg_engine_node_count(driver->engine);
  eg_apply_result result = {0};
  bool fits = true;
  if (driver->stopped || rules->finish == NULL) return EGRAPH_OK;
  EG_TRY(
      rules->finish(rules->self, driver->lanes.turn.rule, room(driver), &result, &fits));
  driver->report->rules[driver->lanes.turn.rule].matches += result.applied;
  count_applied(driver, &result, eg_engine_node_count(driver->engine) - before);
  if (!fits) stop_for(driver, EG_STOP_NODE_LIMIT);
  return EGRAPH_OK;
}

static egraph_status apply_all(driver_state *driver, const eg_u32s *words) {
  size_t count = words->len / driver->lanes.turn.words_per_match;
  assert(words->len % driver->lanes.turn.words_per_match == 0);
  for (size_t i = 0; i < count && !driver->stopped; i += EG_DRIVER_BATCH) {
    size_t batch = count - i < EG_DRIVER_BATCH ? count - i : EG_DRIVER_BATCH;
    EG_TRY(apply_batch(driver, words->data + i * driver->lanes.turn.words_per_match,
                       (uint32_t)batch));
    if (++driver->polls % POLL_EVERY == 0) check_budgets(driver);
  }
  return EGRAPH_OK;
}

// ---- rules ----------------------------------------------------------------------

/// Counts the matches in the buffers of the lanes, and stores or applies them.
static egraph_status empty_lanes(driver_state *driver, uint32_t busy) {
  driver_turn *turn = &driver->lanes.turn;
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

static egraph_status search_parts(driver_state *driver) {
  const driver_turn *turn = &driver->lanes.turn;
  for (;;) {
    uint32_t busy;
    double start = eg_clock_cpu_seconds();
    EG_TRY(search_lanes(&driver->lanes, &busy));
    if (busy == 0) return EGRAPH_OK;
    double middle = eg_clock_cpu_seconds();
    EG_TRY(empty_lanes(driver, busy));
    driver->current.search_seconds += middle - start;
    driver->current.apply_seconds += eg_clock_cpu_seconds() - middle;
    check_budgets(driver);
    if (driver->stopped || turn->found > turn->limit) return EGRAPH_OK;
  }
}

/// Searches for the matches of the current rule, and applies or stores them.
static egraph_status run_turn(driver_state *driver) {
  const eg_driver_rules *rules = driver->rules;
  driver_turn *turn = &driver->lanes.turn;
  turn->words_per_match = rules->match_words(rules->self, turn->rule);
  driver->held.len = 0;
  EG_TRY(start_lanes(&driver->lanes));
  egraph_status status = search_parts(driver);
  for (size_t i = 0; i < EG_DRIVER_LANES; i++) { // abandons the unfinished searches
    eg_cursor_destroy(driver->lanes.all[i].cursor);
    driver->lanes.all[i].cursor = NULL;
  }
  return status;
}

/// Runs a rule that was searched completely in the iteration before; its old matches, at
/// most `known`, were applied.
static egraph_status run_seen_rule(driver_state *driver, uint64_t known) {
  driver_turn *turn = &driver->lanes.turn, all = *turn;
  turn->fresh_only = true;
  if (turn->limit != UINT64_MAX) turn->limit -= known < turn->limit ? known : turn->limit;
  EG_TRY(run_turn(driver));
  if (turn->found <= turn->limit && known <= all.limit) {
    turn->found += known;
    turn->limit = all.limit;
    return EGRAPH_OK;
  }
  // Subtract the counted matches, because the next search finds them again.
  driver->report->rules[turn->rule].matches -= turn->found;
  driver->current.matches -= turn->found;
  *turn = all;
  turn->apply_fresh = true;
  return run_turn(driver);
}

static egraph_status run_rule(driver_state *driver, uint32_t rule,
                              const eg_matcher *const *matchers, uint32_t matcher_count) {
  const eg_driver_rules *rules = driver->rules;
  driver_turn *turn = &driver->lanes.turn;
  assert(rule < rules->count);
  *turn = (driver_turn){
      .rule = rule,
      .matchers = matchers,
      .matcher_count = matcher_count,
      .limit = driver->only_shrinking
                   ? UINT64_MAX
                   : eg_schedule_limit(driver->schedule, rule, driver->report->rules)};
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
    EG_TRY(finish_rule(driver));
    driver->known[rule] = turn->found;
    driver->is_seen[rule] =
        !driver->stopped && !driver->options->naive &&
        !(rules->needs_all != NULL && rules->needs_all(rules->self, rule));
  }
  driver->report->rules[rule].seconds += eg_clock_seconds() - start;
  return EGRAPH_OK;
}

static egraph_status run_rules(driver_state *driver) {
  const eg_driver_rules *rules = driver->rules;
  for (uint32_t i = 0; i < rules->count && !driver->stopped; i++) {
    uint32_t rule = eg_schedule_order(driver->schedule)[i];
    const eg_matcher *const *matchers;
    uint32_t matcher_count;
    EG_TRY(rules->matchers(rules->self, rule, &matchers, &matcher_count));
    if (matcher_count == 0) continue;
    bool shrinks = rules->shrinks != NULL && rules->shrinks(rules->self, rule);
    if (driver->only_shrinking && !shrinks) continue;
    if (eg_schedule_allows(driver->schedule, rule, driver->iteration))
      EG_TRY(run_rule(driver, rule, matchers, matcher_count));
    else
      driver->is_seen[rule] = false;
  }
  return EGRAPH_OK;
}

// ---- the loop -------------------------------------------------------------------

static egraph_status rebuild_engine(driver_state *driver) {
  eg_engine_start_epoch(driver->engine);
  double start = eg_clock_cpu_seconds();
  EG_TRY(eg_engine_rebuild(driver->engine));
  driver->current.rebuild_seconds = eg_clock_cpu_seconds() - start;
  return EGRAPH_OK;
}

/// Runs the rules and rebuilds; *out_complete: nothing of the iteration is missing.
/// With options.rollback an incomplete iteration is undone.
static egraph_status run_whole(driver_state *driver, bool *out_complete) {
  bool saved = driver->options->rollback;
  if (saved) EG_TRY(eg_engine_push(driver->engine));
  egraph_status status = run_rules(driver);
  *out_complete = status == EGRAPH_OK && !driver->stopped;
  if (saved && !*out_complete) {
    driver->report->rolled_back = true;
    egraph_status popped = eg_engine_pop(driver->engine);
    return status != EGRAPH_OK ? status : popped;
  }
  if (status == EGRAPH_OK) status = rebuild_engine(driver);
  if (!saved) return status;
  driver->report->rolled_back = status != EGRAPH_OK;
  egraph_status dropped = status == EGRAPH_OK ? eg_engine_drop(driver->engine)
                                              : eg_engine_pop(driver->engine);
  return status != EGRAPH_OK ? status : dropped;
}

static egraph_status iterate(driver_state *driver) {
  driver->current = (eg_iteration_stats){0};
  driver->changed = false;
  bool complete;
  EG_TRY(run_whole(driver, &complete));
  if (driver->report->rolled_back) return EGRAPH_OK;
  const eg_saturation_options *options = driver->options;
  driver->current.nodes = eg_engine_node_count(driver->engine);
  driver->current.classes = eg_engine_class_count(driver->engine);
  if (options->on_iteration != NULL)
    options->on_iteration(options->on_iteration_user, &driver->current);
#if EG_CHECK_LEVEL >= 2
  EG_TRY(eg_engine_check(driver->engine));
#endif
  driver->last_progress = 0; // the end of an iteration is always reported
  check_budgets(driver);
  bool is_still = complete && !driver->changed;
  // A complete iteration that changed nothing proves saturation, even if time is up
  // by now.
  if (is_still && !driver->only_shrinking &&
      eg_schedule_can_stop(driver->schedule, driver->iteration)) {
    driver->stopped = true;
    driver->stop = EG_STOP_SATURATED;
  }
  driver->iteration++;
  bool had_enough = driver->iteration >= options->iteration_limit;
  if (driver->only_shrinking && (is_still || had_enough)) {
    driver->only_shrinking = false;
    driver->first_iteration = driver->iteration;
  }
  return EGRAPH_OK;
}

/// Sets the limits that depend on the number of nodes at the start.
static void fit_limits(driver_state *driver) {
  const eg_saturation_options *options = driver->options;
  uint64_t nodes = eg_engine_node_count(driver->engine);
  uint64_t limit = nodes * options->node_limit_growth;
  if (limit < options->node_limit) limit = options->node_limit;
  driver->node_limit = limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
  driver->only_shrinking = driver->node_limit < nodes * options->shrink_first_below &&
                           options->iteration_limit != 0;
  if (options->match_limit_share == 0) return;
  eg_schedule_raise(driver->schedule, (uint32_t)nodes / options->match_limit_share);
}

static egraph_status run_driver(driver_state *driver) {
  uint32_t count = driver->rules->count;
  EG_TRY(eg_alloc(driver->alloc, count, sizeof *driver->is_seen, &driver->is_seen));
  EG_TRY(eg_alloc(driver->alloc, count, sizeof *driver->known, &driver->known));
  if (!eg_engine_is_clean(driver->engine)) EG_TRY(eg_engine_rebuild(driver->engine));
  fit_limits(driver);
  check_budgets(driver);
  while (!driver->stopped) {
    if (driver->iteration - driver->first_iteration >= driver->options->iteration_limit)
      stop_for(driver, EG_STOP_ITERATION_LIMIT);
    else
      EG_TRY(iterate(driver));
  }
  return EGRAPH_OK;
}

static void finish_report(const driver_state *driver) {
  eg_saturation_report *report = driver->report;
  report->stop = driver->stop;
  report->iterations = driver->iteration;
  report->nodes = eg_engine_node_count(driver->engine);
  report->classes = eg_engine_class_count(driver->engine);
  report->seconds = eg_clock_seconds() - driver->start;
}

static void driver_deinit(driver_state *driver) {
  for (size_t i = 0; i < EG_DRIVER_LANES; i++)
    eg_u32s_deinit(&driver->lanes.all[i].words);
  eg_parts_deinit(&driver->lanes.parts);
  eg_u32s_deinit(&driver->lanes.sides);
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
  driver_state driver = {.alloc = heap,
                         .engine = engine,
                         .rules = rules,
                         .options = options,
                         .report = out_report,
                         .schedule = &schedule,
                         .start = eg_clock_seconds()};
  driver.last_progress = driver.start;
  init_lanes(&driver.lanes, heap, engine, rules, options->threads);
  eg_u32s_init(&driver.held, heap);
  egraph_status status = run_driver(&driver);
  finish_report(&driver);
  driver_deinit(&driver);
  eg_schedule_deinit(&schedule);
  return status;
}

// ---- reports --------------------------------------------------------------------

void eg_saturation_report_deinit(eg_saturation_report *report) {
  eg_free(report->alloc, report->rules, report->rule_count, sizeof *report->rules);
  report->rules = NULL;
  report->rule_count = 0;
}

EG_NAME_DEFINE(eg_stop, eg_stop_name, EG_STOP_LIST)

#define STOP_WORDS(id, name, words) words,
const char *eg_stop_words(eg_stop stop) {
  static const char *const all[] = {EG_STOP_LIST(STOP_WORDS)};
  return all[stop];
}

const char *eg_proven_over(eg_stop stop) {
  return stop == EG_STOP_SATURATED ? "all variants" : "variants reached";
}
