// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/generate.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "rewrites/lab/generate/generate_internal.h"
#include "rewrites/lab/generate/infer.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rule_forms.h"

// BATCH: candidates that are judged in one e-graph; the other numbers are its limits.
enum { BATCH = 16, ITERATIONS = 4, NODES_OF_A_PAIR = 500, INSTANCES = 128 };
enum { NAME_BYTES = 128 };
EG_OWNED_POINTER(eg_term_space);
// The first FIRST_OF_A_SHAPE candidates of a shape are generalized together with all
// candidates of that shape. Conditions are searched for GUARDED_OF_A_SHAPE of them:
// conditions that keep most instances may exclude another candidate.
enum { FIRST_OF_A_SHAPE = 2, GUARDED_OF_A_SHAPE = 3 };
static const double SECONDS_BETWEEN_STATES = 10;

typedef struct run {
  egraph_allocator alloc;
  const eg_generate_options *options;
  eg_generate_report *report;
  eg_arena arena;
  eg_family family;
  eg_term_space_own space;
  eg_generate_state state;
  eg_rules_own rules; // shipped rules, then kept rules
  eg_judge_options judge;
  eg_merged_rules merged;             // rules of the output file
  eg_values shapes[EG_DRAFT_DETAILS]; // hashes of shapes by candidate
  bool is_stopped;
  double written; // time when the state was last written
} run;
EG_OWNER_DEFINE_STATIC(run,
                       (eg_values, shapes[EG_DRAFT_OPERATORS], shapes[EG_DRAFT_NUMBERS],
                        shapes[EG_DRAFT_LENGTHS]),
                       (eg_merged_rules, merged), (eg_generate_state, state),
                       (eg_term_space_own, space), (eg_rules_own, rules),
                       (eg_arena, arena))

static bool report_progress(run *r, const char *line) {
  if (r->options->progress != NULL && r->options->progress(r->options->user, line))
    r->is_stopped = true;
  return r->is_stopped;
}

// ---- terms and candidates -------------------------------------------------------

static egraph_status enumerate(run *r, uint32_t from, uint32_t to, eg_term_pairs *pairs) {
  const eg_enumeration how = {.threads = r->options->threads,
                              .byte_limit = r->options->byte_limit,
                              .progress = r->options->progress,
                              .user = r->options->user};
  for (uint32_t size = from; size <= to; size++)
    EG_TRY(eg_term_space_grow(r->space, size, r->options->operators, &how, pairs,
                              &r->report->sizes[size - 1]));
  return EGRAPH_OK;
}

/// Finds the pairs of terms that may become rules, unless the state file has them.
/// Afterwards the term space always has the terms below the largest size.
static egraph_status find_candidates(run *r, eg_term_pairs *pairs) {
  double start = eg_clock_seconds();
  EG_TRY(enumerate(r, 1, r->options->operators - 1, pairs));
  EG_TRY(eg_term_space_plan_all(r->space));
  bool found;
  EG_TRY(eg_generate_state_read(&r->state, r->options->state, r->options, r->space,
                                r->report, &found));
  if (!found) EG_TRY(enumerate(r, r->options->operators, r->options->operators, pairs));
  r->report->enumerate_seconds = eg_clock_seconds() - start;
  if (found) return EGRAPH_OK;
  start = eg_clock_seconds();
  EG_TRY(eg_candidates_sift(r->space, pairs, &r->state.candidates, &r->report->sieve));
  r->report->sift_seconds = eg_clock_seconds() - start;
  return EGRAPH_OK;
}

// ---- rules ----------------------------------------------------------------------

/// Adds the text of a rule to the rules that may imply candidates; *out_added is false
/// when it adds none.
static egraph_status use_rule(run *r, const char *text, bool *out_added) {
  EG_LOCAL(eg_text, file, r->alloc);
  uint32_t before = eg_rules_count(r->rules);
  EG_TRY(eg_text_printf(&file, "(egraph-rules 1)\n%s", text));
  egraph_status status =
      eg_rules_parse(r->rules, r->family.name, eg_text_of(&file), file.chars.len);
  *out_added = status == EGRAPH_OK && eg_rules_count(r->rules) != before;
  return status == EGRAPH_E_PARSE ? EGRAPH_OK : status; // equal to an earlier rule
}

/// True when conditions of the rule depend on shapes: an instance that satisfies them is
/// no evidence for other shapes.
static bool says_shapes(const eg_rule *rule) {
  static const eg_rule_function OF_SHAPES[] = {
      EG_RULE_FN_DIM,   EG_RULE_FN_RANK,       EG_RULE_FN_ELEMENTS,
      EG_RULE_FN_SHAPE, EG_RULE_FN_SAME_SHAPE, EG_RULE_FN_SAME_TYPE};
  for (uint32_t i = 0; i < rule->condition_count; i++)
    for (size_t k = 0; k < sizeof OF_SHAPES / sizeof *OF_SHAPES; k++)
      if (eg_rule_calls(rule, rule->conditions[i], OF_SHAPES[k])) return true;
  return false;
}

/// Adds a rule of another file under a new name, because files of different runs may use
/// the same name.
static egraph_status use_other(run *r, const eg_rule *rule, eg_text *text) {
  uint32_t before = eg_rules_count(r->rules);
  eg_rule renamed = *rule;
  char name[NAME_BYTES];
  bool added;
  (void)snprintf(name, sizeof name, "beside-%u-%.80s", (unsigned)before, rule->name);
  renamed.name = name;
  eg_text_clear(text);
  EG_TRY(eg_rule_print(text, &renamed));
  EG_TRY(use_rule(r, eg_text_of(text), &added));
  if (!added || !says_shapes(rule)) return EGRAPH_OK;
  return eg_rules_enable(r->rules, name, false);
}

/// Adds the rules of another file whose conditions do not depend on shapes; they may
/// imply candidates, too.
static egraph_status use_file(run *r, const char *path) {
  EG_LOCAL(eg_text, text, r->alloc);
  EG_LOCAL(eg_rules_own, rules, r->alloc);
  EG_TRY(eg_rules_create_checked(&r->alloc, &rules));
  (void)eg_rules_set_verified(rules, true);
  EG_TRY(eg_rules_load(rules, path));
  for (uint32_t i = 0; i < eg_rules_count(rules); i++)
    if (!eg_rules_at(rules, i)->reversed)
      EG_TRY(use_other(r, eg_rules_at(rules, i), &text));
  return EGRAPH_OK;
}

static egraph_status open_rules(run *r) {
  EG_TRY(eg_rules_create_checked(&r->alloc, &r->rules));
  if (!r->options->is_alone) {
    EG_TRY(eg_rules_add_builtin(r->rules));
    for (uint32_t i = 0; i < eg_rules_count(r->rules); i++) // explorative rules, too
      EG_TRY(eg_rules_enable(r->rules, eg_rule_name(r->rules, i), true));
  }
  for (size_t i = 0; i < r->options->beside_count; i++)
    EG_TRY(use_file(r, r->options->beside[i]));
  EG_TRY(eg_rules_add_commutativity(r->rules, r->family.name));
  (void)eg_rules_set_verified(r->rules, true); // later rules from a file need it
  for (size_t i = 0; i < r->state.rules.len; i++) {
    bool added;
    EG_TRY(use_rule(r, r->state.rules.data[i].text, &added));
    if (!added)
      return EG_FAIL(EGRAPH_E_PARSE,
                     "%s: rule %zu does not hold or stands there twice; remove the file "
                     "to begin anew",
                     r->options->state, i + 1);
  }
  (void)eg_rules_set_verified(r->rules, false);
  return EGRAPH_OK;
}

static size_t name_rule(const run *r, uint64_t candidate, char out[NAME_BYTES]) {
  return (size_t)snprintf(out, NAME_BYTES, "%.100s-%" PRIu64, r->family.name,
                          candidate + 1);
}

/// Drops the rule that united different types: saturation ends with an error that
/// names it.
static egraph_status drop_unsound(run *r, bool *out_dropped) {
  char message[EG_MESSAGE_BYTES];
  (void)snprintf(message, sizeof message, "%s", egraph_last_error());
  *out_dropped = false;
  for (size_t i = 0; i < r->state.rules.len; i++) {
    char name[NAME_BYTES];
    size_t length = name_rule(r, r->state.rules.data[i].candidate, name);
    const char *at = strstr(message, name);
    if (at == NULL || (at[length] >= '0' && at[length] <= '9')) continue;
    EG_TRY(eg_rules_enable(r->rules, name, false));
    eg_generate_state_drop(&r->state, i);
    r->report->unsound++;
    *out_dropped = true;
    return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

static egraph_status ask_implied(run *r, egraph_math math, const eg_draft *const *drafts,
                                 uint32_t count, bool *out) {
  r->judge.math = math;
  for (;;) {
    egraph_status status = eg_judge_implied(r->rules, &r->judge, drafts, count, out);
    if (status != EGRAPH_E_TYPE) return status;
    bool dropped;
    EG_TRY(drop_unsound(r, &dropped));
    if (!dropped) return EGRAPH_E_TYPE;
  }
}

// ---- judging --------------------------------------------------------------------

static egraph_status enable_kept(run *r, size_t rule, bool on) {
  char name[NAME_BYTES];
  (void)name_rule(r, r->state.rules.data[rule].candidate, name);
  return eg_rules_enable(r->rules, name, on);
}

/// True for guards that only restrict constants or attribute values: when terms are
/// compared, a constant is a number, which broadcasts to all shapes, and attributes have
/// the values of the instance.
static bool is_general(uint32_t guard) {
  return guard == EG_GUARD_NONE || guard == EG_GUARD_BROADCASTS ||
         guard == EG_GUARD_VALUES;
}

static egraph_status keep_rule(run *r, const eg_candidate *c, const eg_draft *draft) {
  EG_LOCAL(eg_text, source, r->alloc);
  EG_LOCAL(eg_text, text, r->alloc);
  char name[NAME_BYTES];
  bool added;
  (void)name_rule(r, r->state.next, name);
  EG_TRY(eg_text_printf(
      &source,
      "egraph rules generate --family %s --operators %" PRIu32 " --seed %" PRIu64
      "; %u and %u operators, %" PRIu32 " instance%s in GF(2^61 - 1)",
      r->family.name, r->options->operators, r->options->seed, (unsigned)c->size_left,
      (unsigned)c->size_right, c->instances, c->instances == 1 ? "" : "s"));
  EG_TRY(eg_draft_print(draft, name, eg_text_of(&source), &text));
  EG_TRY(use_rule(r, eg_text_of(&text), &added));
  if (!added) {
    r->report->implied++;
    return EGRAPH_OK;
  }
  const eg_kept_rule rule = {.text = eg_text_of(&text),
                             .candidate = (uint32_t)r->state.next,
                             .guard = draft->guard,
                             .both_ways = draft->both_ways,
                             .is_inferred = draft->lift != NULL};
  EG_TRY(eg_generate_state_keep(&r->state, &rule));
  return enable_kept(r, r->state.rules.len - 1, is_general(draft->guard));
}

enum { NO_RULE = -1 };

/// Enables, besides shipped rules, the generated rules that may imply a rule wherever
/// `guard` holds: rules with a general guard or the same guard, except rule `but`.
static egraph_status enable_general(run *r, uint32_t guard, ptrdiff_t but) {
  for (size_t i = 0; i < r->state.rules.len; i++) {
    uint32_t other = r->state.rules.data[i].guard;
    bool is_same = other == guard && guard != EG_GUARD_SHAPES; // each has its own guard
    bool on = is_general(other) || is_same;
    EG_TRY(enable_kept(r, i, on && (ptrdiff_t)i != but));
  }
  return EGRAPH_OK;
}

static bool is_fast(const eg_draft *draft) {
  return strcmp(draft->class_text, "fast") == 0;
}

/// Decides whether rules with a general enough guard imply a draft that the
/// verifier accepts.
static egraph_status ask_accepted(run *r, const eg_draft *draft, bool *out) {
  const eg_draft *list[] = {draft};
  egraph_math math = is_fast(draft) ? EGRAPH_MATH_FAST : EGRAPH_MATH_ASSOCIATIVE;
  if (is_general(draft->guard) && !is_fast(draft)) return EGRAPH_OK; // already decided
  EG_TRY(enable_general(r, draft->guard, NO_RULE));
  EG_TRY(ask_implied(r, math, list, 1, out));
  return enable_general(r, EG_GUARD_NONE, NO_RULE);
}

// ---- candidates of one shape ----------------------------------------------------

static egraph_status list_shapes(run *r) {
  EG_LOCAL(eg_text, text, r->alloc);
  for (size_t i = 0; i < r->state.candidates.len; i++) {
    const eg_candidate *c = &r->state.candidates.data[i];
    eg_draft draft;
    (void)eg_draft_of(r->space, c->left, c->right, &draft);
    for (int d = 0; d < EG_DRAFT_DETAILS; d++) {
      eg_text_clear(&text);
      EG_TRY(eg_draft_print_shape(&draft, (eg_draft_detail)d, &text));
      uint64_t hash = eg_hash_bytes(0, text.chars.data, text.chars.len);
      EG_TRY(eg_values_push(&r->shapes[d], hash));
    }
  }
  return EGRAPH_OK;
}

/// The drafts of candidates that have the shape of one candidate, including its own.
typedef struct alike {
  eg_draft drafts[EG_FIT_MEMBERS];
  const eg_draft *list[EG_FIT_MEMBERS];
  uint32_t count;
  // `before`: number of earlier candidates of this shape. `guarded`: number of candidates
  // of this shape for which conditions have been searched.
  uint32_t before, guarded;
} alike;

/// Finds drafts of candidates with the shape of one candidate. If there are many, takes
/// some from all over the list, because neighbours differ in one number only.
static void find_alike(const run *r, const eg_values *shapes, uint64_t candidate,
                       alike *out) {
  uint64_t all = 0, share = EG_FIT_MEMBERS - 1, at = 0;
  for (size_t i = 0; i < shapes->len; i++)
    all += shapes->data[i] == shapes->data[candidate];
  out->count = out->before = out->guarded = 0;
  for (size_t i = 0; i < shapes->len; i++) {
    if (shapes->data[i] != shapes->data[candidate]) continue;
    const eg_candidate *c = &r->state.candidates.data[i];
    bool is_taken = all <= share || (at + 1) * share / all != at * share / all;
    at++;
    out->before += i < candidate;
    out->guarded += i < candidate && c->is_guarded;
    if (!is_taken && i != candidate) continue;
    (void)eg_draft_of(r->space, c->left, c->right, &out->drafts[out->count]);
    out->list[out->count] = &out->drafts[out->count];
    out->count++;
  }
}

/// Decides whether a rule inferred from candidates of the draft's shape implies
/// the draft.
static egraph_status ask_inferred(run *r, const eg_draft *draft, bool *out) {
  const eg_draft *list[] = {draft};
  const uint64_t *shapes = r->shapes[EG_DRAFT_OPERATORS].data;
  for (size_t i = 0; i < r->state.rules.len && !*out; i++) {
    const eg_kept_rule *rule = &r->state.rules.data[i];
    size_t before = r->state.rules.len;
    if (!rule->is_inferred || is_general(rule->guard) ||
        shapes[rule->candidate] != shapes[r->state.next])
      continue;
    EG_TRY(enable_kept(r, i, true));
    EG_TRY(ask_implied(r, EGRAPH_MATH_FAST, list, 1, out));
    if (r->state.rules.len == before) EG_TRY(enable_kept(r, i, false));
  }
  return EGRAPH_OK;
}

/// Infers a rule from all candidates over the operators of the draft, then from
/// candidates with the same numbers, then from those whose lists also have the
/// same lengths.
static egraph_status infer_rule(run *r, eg_infer_step step, eg_draft *draft,
                                bool *out_accepted) {
  alike others;
  uint32_t before = 0;
  for (int d = 0; d < EG_DRAFT_DETAILS && !*out_accepted; d++) {
    find_alike(r, &r->shapes[d], r->state.next, &others);
    bool is_guarded = step >= EG_INFER_GUARDED;
    bool is_first = is_guarded ? others.guarded < GUARDED_OF_A_SHAPE
                               : others.before < FIRST_OF_A_SHAPE;
    if (!is_first || others.count == before) continue;
    if (is_guarded) r->state.candidates.data[r->state.next].is_guarded = true;
    before = others.count;
    EG_TRY(eg_infer(&r->judge, &r->arena, others.list, others.count, step, draft,
                    out_accepted));
  }
  return EGRAPH_OK;
}

/// Finds the most general rule for a draft: first without guards, then under conditions,
/// then for the ranks of the instance only.
static egraph_status generalize(run *r, eg_draft *draft, bool *out_accepted) {
  int step = 0;
  for (; step < EG_INFER_GUARDED && !*out_accepted; step++)
    EG_TRY(infer_rule(r, (eg_infer_step)step, draft, out_accepted));
  if (!*out_accepted) EG_TRY(eg_judge_generalize(&r->judge, draft, out_accepted));
  for (; step < EG_INFER_STEPS && !*out_accepted; step++)
    EG_TRY(infer_rule(r, (eg_infer_step)step, draft, out_accepted));
  if (!*out_accepted) EG_TRY(eg_judge_guard(&r->judge, draft, out_accepted));
  return EGRAPH_OK;
}

/// Judges one candidate: keeps a rule for it unless rules imply it. `is_fresh`: no rule
/// was kept since `implied` was decided.
static egraph_status judge_one(run *r, eg_draft *draft, bool is_fresh, bool implied) {
  const eg_candidate *c = &r->state.candidates.data[r->state.next];
  const eg_draft *list[] = {draft};
  bool accepted = false;
  if (!implied && !is_fresh)
    EG_TRY(ask_implied(r, EGRAPH_MATH_ASSOCIATIVE, list, 1, &implied));
  if (!implied) EG_TRY(ask_inferred(r, draft, &implied));
  if (!implied) EG_TRY(generalize(r, draft, &accepted));
  if (!implied && accepted) EG_TRY(ask_accepted(r, draft, &implied));
  if (!implied && accepted) return keep_rule(r, c, draft);
  *(implied ? &r->report->implied : &r->report->refused) += 1;
  return EGRAPH_OK;
}

static egraph_status judge_batch(run *r, uint32_t count) {
  eg_draft drafts[BATCH];
  const eg_draft *list[BATCH];
  bool implied[BATCH] = {false};
  char line[128];
  assert(count != 0 && count <= BATCH);
  for (uint32_t i = 0; i < count; i++) {
    const eg_candidate *c = &r->state.candidates.data[r->state.next + i];
    (void)eg_draft_of(r->space, c->left, c->right, &drafts[i]);
    list[i] = &drafts[i];
  }
  EG_TRY(ask_implied(r, EGRAPH_MATH_ASSOCIATIVE, list, count, implied));
  size_t rules = r->state.rules.len;
  for (uint32_t i = 0; i < count; i++) {
    EG_TRY(judge_one(r, &drafts[i], r->state.rules.len == rules, implied[i]));
    r->state.next++;
    (void)snprintf(line, sizeof line, "%" PRIu64 " of %zu candidates judged, %zu rules",
                   r->state.next, r->state.candidates.len, r->state.rules.len);
    (void)report_progress(r, line);
    if (r->is_stopped && r->options->state == NULL)
      return EGRAPH_OK; // with a state file, a run ends between batches
  }
  return EGRAPH_OK;
}

static egraph_status save(run *r) {
  r->written = eg_clock_seconds();
  return eg_generate_state_write(&r->state, r->options->state, r->options, r->space,
                                 r->report);
}

static egraph_math class_of(const run *r, size_t rule) {
  char name[NAME_BYTES];
  uint32_t number;
  (void)name_rule(r, r->state.rules.data[rule].candidate, name);
  return eg_rules_find(r->rules, name, &number) ? eg_rules_at(r->rules, number)->math
                                                : EGRAPH_MATH_EXACT;
}

/// Decides whether the enabled rules imply the candidate from which a rule was made, or,
/// for an inferred rule, all candidates of its shape.
static egraph_status ask_needless(run *r, size_t rule, bool *out) {
  const eg_kept_rule *kept = &r->state.rules.data[rule];
  const eg_candidate *c = &r->state.candidates.data[kept->candidate];
  alike others = {.count = 1, .list = {&others.drafts[0]}};
  bool implied[EG_FIT_MEMBERS] = {false};
  (void)eg_draft_of(r->space, c->left, c->right, &others.drafts[0]);
  if (kept->is_inferred)
    find_alike(r, &r->shapes[EG_DRAFT_LENGTHS], kept->candidate, &others);
  EG_TRY(ask_implied(r, class_of(r, rule), others.list, others.count, implied));
  *out = true;
  for (uint32_t i = 0; i < others.count; i++)
    *out = *out && implied[i];
  return EGRAPH_OK;
}

/// Drops generated rules that the others imply: a later rule may be more general.
static egraph_status drop_implied_rules(run *r) {
  for (size_t i = 0; i < r->state.rules.len && !r->is_stopped;) {
    size_t before = r->state.rules.len;
    char line[64];
    bool implied = false;
    EG_TRY(enable_general(r, r->state.rules.data[i].guard, (ptrdiff_t)i));
    EG_TRY(ask_needless(r, i, &implied));
    if (r->state.rules.len != before) continue; // one rule was unsound: try rule i again
    if (implied) {
      EG_TRY(enable_kept(r, i, false));
      eg_generate_state_drop(&r->state, i);
      r->report->minimized++;
    } else {
      i++;
    }
    (void)snprintf(line, sizeof line, "%zu of %zu rules are needed", i,
                   r->state.rules.len);
    (void)report_progress(r, line);
  }
  return EGRAPH_OK;
}

static egraph_status judge_candidates(run *r) {
  uint64_t all = r->state.candidates.len, end = all;
  uint64_t limit = r->options->candidates;
  // Runs end after whole batches, so that the results do not depend on where earlier
  // runs ended.
  if (limit != 0 && limit < all - r->state.next)
    end = r->state.next + (limit + BATCH - 1) / BATCH * BATCH;
  if (end > all) end = all;
  EG_TRY(save(r));
  EG_TRY(enable_general(r, EG_GUARD_NONE, NO_RULE));
  while (r->state.next < end && !r->is_stopped) {
    uint64_t left = end - r->state.next;
    EG_TRY(judge_batch(r, left < BATCH ? (uint32_t)left : BATCH));
    if (eg_clock_seconds() - r->written > SECONDS_BETWEEN_STATES) EG_TRY(save(r));
  }
  r->report->is_complete = r->state.next == all && !r->is_stopped;
  if (r->report->is_complete) EG_TRY(drop_implied_rules(r));
  return save(r);
}

// ---- output ---------------------------------------------------------------------

static egraph_status print_file(const run *r, eg_text *out) {
  bool is_alone = r->options->is_alone;
  eg_text_printf(
      out,
      "; Made by machine: egraph rules generate --family %s --operators %" PRIu32
      " --seed %" PRIu64
      "%s\n; %s\n; Terms were compared in GF(2^61 - 1), rules verified "
      "on random instances.\n; %zu rules of %" PRIu64 " of %zu candidates%s.\n"
      "(egraph-rules 1)\n",
      r->family.name, r->options->operators, r->options->seed, is_alone ? " --alone" : "",
      r->family.about, r->merged.len, r->state.next, r->state.candidates.len,
      is_alone ? "" : " that shipped rules do not imply");
  for (size_t i = 0; i < r->merged.len; i++)
    eg_text_printf(out, "\n%s", r->merged.data[i].text);
  return eg_text_status(out);
}

static void count_rules(run *r) {
  r->report->candidates = r->state.candidates.len;
  r->report->judged = r->state.next;
  r->report->kept = r->merged.len;
  for (size_t i = 0; i < r->state.rules.len; i++)
    r->report->guards[r->state.rules.data[i].guard]++;
  for (size_t i = 0; i < r->merged.len; i++) {
    r->report->turned += r->merged.data[i].both_ways;
    r->report->merged += r->merged.data[i].count - 1;
  }
}

/// Hashes the rules of other files: a state file belongs to a run with these rules.
static egraph_status hash_files(egraph_allocator alloc, eg_generate_options *options) {
  enum { MAX_RULES_BYTES = 1 << 26 };
  for (size_t i = 0; i < options->beside_count; i++) {
    char *text;
    size_t size;
    EG_TRY(eg_file_read(alloc, options->beside[i], MAX_RULES_BYTES, &text, &size));
    options->beside_hash = eg_hash_bytes(options->beside_hash, text, size);
    eg_free(alloc, text, size + 1, 1);
  }
  return EGRAPH_OK;
}

static egraph_status make_rules(run *r) {
  EG_LOCAL(eg_term_pairs, pairs, r->alloc);
  EG_TRY(eg_family_find(&r->arena, r->options->family, &r->family));
  EG_TRY(eg_term_space_create(&r->alloc, &r->family, r->options->seed, &r->space));
  EG_TRY(find_candidates(r, &pairs));
  double start = eg_clock_seconds();
  EG_TRY(open_rules(r));
  EG_TRY(list_shapes(r));
  EG_TRY(judge_candidates(r));
  EG_TRY(eg_rules_merge(&r->arena, &r->state.rules, r->judge.seed, &r->merged));
  r->report->judge_seconds = eg_clock_seconds() - start;
  return EGRAPH_OK;
}

egraph_status eg_rules_generate(const egraph_allocator *alloc,
                                const eg_generate_options *options, eg_text *out,
                                eg_generate_report *report) {
  *report = (eg_generate_report){.judged = 0};
  if (options->operators == 0 || options->operators > EG_TERM_MAX_SIZE)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "operators: %" PRIu32 "; it must be 1 to %d",
                   options->operators, EG_TERM_MAX_SIZE);
  eg_generate_options own = *options;
  EG_LOCAL(run, r, eg_allocator_or_heap(alloc));
  r.alloc = eg_allocator_or_heap(alloc);
  EG_TRY(hash_files(r.alloc, &own));
  r.options = &own;
  r.report = report;
  r.judge = (eg_judge_options){.iterations = ITERATIONS,
                               .nodes_of_a_pair = NODES_OF_A_PAIR,
                               .instances = INSTANCES,
                               .seed = options->seed};
  egraph_status status = make_rules(&r);
  count_rules(&r);
  return status == EGRAPH_OK ? print_file(&r, out) : status;
}
