// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/generate_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/owner.h"
#include "base/sexpr.h"

enum { MAX_STATE_BYTES = 1 << 28, CHECK_POINT = 77 };

EG_OWNER_DEFINE(eg_generate_state, (eg_arena, arena), (eg_candidates, candidates),
                (eg_kept_rules, rules))

egraph_status eg_generate_state_keep(eg_generate_state *state, const eg_kept_rule *rule) {
  eg_kept_rule made = *rule;
  EG_TRY(eg_arena_string(&state->arena, rule->text, strlen(rule->text), &made.text));
  return eg_kept_rules_push(&state->rules, made);
}

void eg_generate_state_drop(eg_generate_state *state, size_t rule) {
  memmove(&state->rules.data[rule], &state->rules.data[rule + 1],
          (state->rules.len - rule - 1) * sizeof *state->rules.data);
  state->rules.len--;
}

// ---- counts ---------------------------------------------------------------------

enum { COUNTS = 9 + 3 * EG_TERM_MAX_SIZE };

/// Lists the counts of the report that the state file keeps for a continued run.
static uint32_t list_counts(eg_generate_report *report, uint64_t *out[COUNTS]) {
  uint64_t *all[] = {
      &report->sieve.pairs,      &report->sieve.accidents, &report->sieve.generalized,
      &report->sieve.undirected, &report->sieve.repeated,  &report->implied,
      &report->refused,          &report->unsound,         &report->minimized};
  uint32_t count = sizeof all / sizeof *all;
  memcpy(out, all, sizeof all);
  for (uint32_t i = 0; i < EG_TERM_MAX_SIZE; i++) {
    out[count++] = &report->sizes[i].terms;
    out[count++] = &report->sizes[i].distinct;
    out[count++] = &report->sizes[i].pairs;
  }
  return count;
}

// ---- reading --------------------------------------------------------------------

typedef struct reader {
  const char *path;
  eg_generate_state *state;
  eg_term_space *space;
  eg_generate_report *report;
  const eg_generate_options *options;
} reader;

static egraph_status refuse_state(const reader *r, const char *what) {
  return EG_FAIL(EGRAPH_E_PARSE, "%s: %s; remove the file to begin anew", r->path, what);
}

static bool read_state_number(const eg_sexpr *at, uint64_t *out) {
  char *end;
  if (at->kind != EG_SEXPR_ATOM || at->text[0] < '0' || at->text[0] > '9') return false;
  errno = 0;
  *out = strtoull(at->text, &end, 10);
  return *end == '\0' && errno == 0;
}

static egraph_status print_run(const eg_generate_options *options,
                               const eg_term_space *space, eg_text *out) {
  const eg_family *family = eg_term_space_family(space);
  return eg_text_printf(out,
                        "(run %s %" PRIu64 " %" PRIu32 " %" PRIu64 " %d %" PRIu64 ")",
                        family->name, family->hash, options->operators, options->seed,
                        options->is_alone, options->beside_hash);
}

static egraph_status check_run(const reader *r, const eg_sexpr *form) {
  EG_LOCAL(eg_text, own, r->state->arena.alloc);
  EG_LOCAL(eg_text, given, r->state->arena.alloc);
  EG_TRY(print_run(r->options, r->space, &own));
  EG_TRY(eg_sexpr_print(&given, form));
  if (strcmp(eg_text_of(&own), eg_text_of(&given)) == 0) return EGRAPH_OK;
  return refuse_state(r, "it is the state of another run (family, operators, seed, rules "
                         "beside)");
}

/// Checks that a candidate is a pair of terms of the space with one type, and sets
/// its sizes.
static egraph_status check_candidate(const reader *r, eg_candidate *c, eg_values *left,
                                     eg_values *right, bool *out) {
  const eg_term_point point = {.seed = CHECK_POINT, .given = EG_TERM_NONE};
  eg_space_term a, b;
  eg_draft draft;
  *out = eg_term_space_decode(r->space, c->left, &a) &&
         eg_term_space_decode(r->space, c->right, &b) &&
         eg_draft_of(r->space, c->left, c->right, &draft) && draft.left == c->left;
  if (!*out) return EGRAPH_OK;
  EG_TRY(eg_term_space_value(r->space, c->left, &point, left));
  EG_TRY(eg_term_space_value(r->space, c->right, &point, right));
  c->size_left = a.size;
  c->size_right = b.size;
  // The values of a few accidental pairs differ here; the verifier finds these. Types
  // must be equal.
  *out = a.type == b.type && left->len == right->len;
  return EGRAPH_OK;
}

static egraph_status read_candidates(const reader *r, const eg_sexpr *form) {
  EG_LOCAL(eg_values, left, r->state->arena.alloc);
  EG_LOCAL(eg_values, right, r->state->arena.alloc);
  for (uint32_t i = 1; i < form->count; i++) {
    const eg_sexpr *row = &form->children[i];
    uint64_t instances, guarded;
    eg_candidate c = {0};
    if (row->kind != EG_SEXPR_LIST || row->count != 4 ||
        !read_state_number(&row->children[0], &c.left) ||
        !read_state_number(&row->children[1], &c.right) ||
        !read_state_number(&row->children[2], &instances) || instances > UINT32_MAX ||
        !read_state_number(&row->children[3], &guarded) || guarded > 1)
      return refuse_state(r,
                          "a candidate is two terms, its instances, whether conditions "
                          "were looked for");
    c.instances = (uint32_t)instances;
    c.is_guarded = guarded != 0;
    bool fits;
    EG_TRY(check_candidate(r, &c, &left, &right, &fits));
    if (!fits) return refuse_state(r, "it has a candidate that is no pair of terms");
    EG_TRY(eg_candidates_push(&r->state->candidates, c));
  }
  return EGRAPH_OK;
}

static egraph_status read_kept_rules(const reader *r, const eg_sexpr *form) {
  for (uint32_t i = 1; i < form->count; i++) {
    const eg_sexpr *row = &form->children[i];
    uint64_t guard, turned, inferred, candidate;
    if (row->kind != EG_SEXPR_LIST || row->count != 5 ||
        !read_state_number(&row->children[0], &guard) || guard >= EG_GUARD_COUNT ||
        !read_state_number(&row->children[1], &turned) || turned > 1 ||
        !read_state_number(&row->children[2], &inferred) || inferred > 1 ||
        !read_state_number(&row->children[3], &candidate) ||
        candidate >= r->state->next || row->children[4].kind != EG_SEXPR_STRING)
      return refuse_state(r,
                          "a rule is its guard, whether it turns and was inferred, its "
                          "candidate, its text");
    const eg_kept_rule rule = {.text = row->children[4].text,
                               .candidate = (uint32_t)candidate,
                               .guard = (uint32_t)guard,
                               .both_ways = turned != 0,
                               .is_inferred = inferred != 0};
    EG_TRY(eg_generate_state_keep(r->state, &rule));
  }
  return EGRAPH_OK;
}

static egraph_status read_counts(const reader *r, const eg_sexpr *form) {
  uint64_t *counts[COUNTS];
  uint32_t count = list_counts(r->report, counts);
  if (form->count != count + 1) return refuse_state(r, "it has other counts");
  for (uint32_t i = 0; i < count; i++)
    if (!read_state_number(&form->children[i + 1], counts[i]))
      return refuse_state(r, "a count is a number");
  return EGRAPH_OK;
}

static egraph_status read_forms(const reader *r, const eg_sexpr *forms) {
  static const char *const HEADS[] = {"egraph-generate", "run",  "counts", "next",
                                      "candidates",      "rules"};
  enum { HEAD_COUNT = sizeof HEADS / sizeof *HEADS };
  if (forms->count != HEAD_COUNT) return refuse_state(r, "it is no whole state");
  for (uint32_t i = 0; i < HEAD_COUNT; i++)
    if (!eg_sexpr_is_form(&forms->children[i], HEADS[i]))
      return refuse_state(r, "it is no whole state");
  const eg_sexpr *part = forms->children;
  EG_TRY(check_run(r, &part[1]));
  EG_TRY(read_counts(r, &part[2]));
  if (part[3].count != 2 || !read_state_number(&part[3].children[1], &r->state->next))
    return refuse_state(r, "(next N) is a number");
  EG_TRY(read_candidates(r, &part[4]));
  if (r->state->next > r->state->candidates.len)
    return refuse_state(r, "(next N) is beyond the candidates");
  return read_kept_rules(r, &part[5]);
}

egraph_status eg_generate_state_read(eg_generate_state *state, const char *path,
                                     const eg_generate_options *options,
                                     eg_term_space *space, eg_generate_report *report,
                                     bool *out_found) {
  struct stat info;
  char *text;
  size_t size;
  *out_found = false;
  if (path == NULL || (stat(path, &info) != 0 && errno == ENOENT)) return EGRAPH_OK;
  EG_TRY(eg_file_read(state->arena.alloc, path, MAX_STATE_BYTES, &text, &size));
  reader r = {
      .path = path, .state = state, .space = space, .report = report, .options = options};
  eg_sexpr forms;
  egraph_status status = eg_sexpr_parse(&state->arena, path, text, size, &forms);
  if (status == EGRAPH_OK) status = read_forms(&r, &forms);
  eg_free(state->arena.alloc, text, size + 1, 1);
  *out_found = status == EGRAPH_OK;
  return status;
}

// ---- writing --------------------------------------------------------------------

static egraph_status print_state(const eg_generate_state *state,
                                 const eg_generate_options *options,
                                 const eg_term_space *space,
                                 const eg_generate_report *report, eg_text *out) {
  uint64_t *counts[COUNTS];
  eg_generate_report copy = *report;
  uint32_t count = list_counts(&copy, counts);
  eg_text_append(out, "(egraph-generate 1)\n");
  EG_TRY(print_run(options, space, out));
  eg_text_append(out, "\n(counts");
  for (uint32_t i = 0; i < count; i++)
    eg_text_printf(out, " %" PRIu64, *counts[i]);
  eg_text_printf(out, ")\n(next %" PRIu64 ")\n(candidates", state->next);
  for (size_t i = 0; i < state->candidates.len; i++) {
    const eg_candidate *c = &state->candidates.data[i];
    eg_text_printf(out, "\n (%" PRIu64 " %" PRIu64 " %" PRIu32 " %d)", c->left, c->right,
                   c->instances, c->is_guarded);
  }
  eg_text_append(out, ")\n(rules");
  for (size_t i = 0; i < state->rules.len; i++) {
    const eg_kept_rule *rule = &state->rules.data[i];
    eg_text_printf(out, "\n (%" PRIu32 " %d %d %" PRIu32 " ", rule->guard,
                   rule->both_ways, rule->is_inferred, rule->candidate);
    eg_text_quoted(out, rule->text);
    eg_text_append(out, ")");
  }
  return eg_text_append(out, ")\n");
}

egraph_status eg_generate_state_write(const eg_generate_state *state, const char *path,
                                      const eg_generate_options *options,
                                      const eg_term_space *space,
                                      const eg_generate_report *report) {
  if (path == NULL) return EGRAPH_OK;
  EG_LOCAL(eg_text, text, state->arena.alloc);
  EG_TRY(print_state(state, options, space, report, &text));
  return eg_file_write(path, text.chars.data, text.chars.len);
}
