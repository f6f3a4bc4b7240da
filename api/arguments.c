// Checks arguments; the table of all structs of options: their names, sizes and defaults.
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"

#include <string.h>

#include "rewrites/saturation/saturate.h"

/// A struct of options of any kind.
typedef union any_options {
#define MEMBER(id, name) name name##_;
  EGRAPH_OPTIONS_LIST(MEMBER)
#undef MEMBER
} any_options;

enum { DEFAULT_SEED = 1 };

// ---- defaults other than 0 --------------------------------------------------------

// Members are assigned one by one: the assignment of a whole struct may change padding,
// which is 0 here.

static void fill_search(any_options *out) {
  egraph_search *options = &out->egraph_search_;
#define EGRAPH_OPTION(type, name, initial, low, high, readers, help)                     \
  options->name = (type)(initial);
#include "include/egraph_search.def"
  options->extractor = "ilp";
  options->scheduler = "backoff";
}

static void fill_target(any_options *out) { out->egraph_target_.machine = "host"; }

static void fill_training(any_options *out) { out->egraph_training_.optimizer = "sgd"; }

#define FILL_SEED(function, options)                                                     \
  static void function(any_options *out) { out->options##_.seed = DEFAULT_SEED; }
FILL_SEED(fill_session, egraph_session_options)
FILL_SEED(fill_compare, egraph_compare_options)
FILL_SEED(fill_plan_run, egraph_plan_run_options)
#undef FILL_SEED

static void fill_terms(any_options *out) {
  eg_saturation_options d = EG_SATURATION_OPTIONS_DEFAULT;
  egraph_terms_options *options = &out->egraph_terms_options_;
  options->node_limit = d.node_limit;
  options->iteration_limit = d.iteration_limit;
  options->time_limit = d.time_limit_seconds;
  options->byte_limit = d.byte_limit;
  options->scheduler = "backoff";
  options->match_limit = d.match_limit;
  options->ban_length = d.ban_length;
}

static void fill_generate(any_options *out) {
  egraph_generate_options *options = &out->egraph_generate_options_;
  options->operators = 2;
  options->threads = 1;
  options->seed = DEFAULT_SEED;
}

// ---- the table --------------------------------------------------------------------

typedef struct options_row {
  const char *name;
  size_t size;
} options_row;

#define ROW(id, name) [id] = {#name, sizeof(name)},
static const options_row ROWS[EGRAPH_OPTIONS_KINDS] = {EGRAPH_OPTIONS_LIST(ROW)};
#undef ROW

static void (*const FILLS[EGRAPH_OPTIONS_KINDS])(any_options *out) = {
    [EGRAPH_TARGET] = fill_target,           [EGRAPH_TRAINING] = fill_training,
    [EGRAPH_SEARCH] = fill_search,           [EGRAPH_SESSION_OPTIONS] = fill_session,
    [EGRAPH_COMPARE_OPTIONS] = fill_compare, [EGRAPH_PLAN_RUN_OPTIONS] = fill_plan_run,
    [EGRAPH_TERMS_OPTIONS] = fill_terms,     [EGRAPH_GENERATE_OPTIONS] = fill_generate};

void egraph_options_fill(egraph_options_kind kind, void *out, size_t size) {
  any_options options;
  if ((unsigned)kind >= EGRAPH_OPTIONS_KINDS || out == NULL || size < sizeof size) return;
  memset(&options, 0, sizeof options);
  if (FILLS[kind] != NULL) FILLS[kind](&options);
  // A caller with a newer header sees from `size` that this library does not know
  // the rest.
  memset(out, 0, size);
  memcpy(out, &options, size < ROWS[kind].size ? size : ROWS[kind].size);
  memcpy(out, &size, sizeof size);
}

egraph_status eg_options_take(egraph_options_kind kind, const void *given, void *out) {
  const options_row *row = &ROWS[kind];
  size_t size = row->size;
  egraph_options_fill(kind, out, row->size);
  if (given == NULL) return EGRAPH_OK;
  memcpy(&size, given, sizeof size);
  if (size == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s.size is 0; begin with %s_default()", row->name,
                   row->name);
  if (size > row->size)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "%s.size is %zu, of which this library knows %zu; take the header that "
        "belongs to it",
        row->name, size, row->size);
  if (size < sizeof size || size % sizeof size != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%s.size is %zu, no size of the struct; begin with "
                   "%s_default()",
                   row->name, size, row->name);
  memcpy(out, given, size);
  memcpy(out, &row->size, sizeof row->size);
  return EGRAPH_OK;
}

// ---- other arguments --------------------------------------------------------------

egraph_status eg_require(const char *function, const char *names,
                         const void *const *pointers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int length = (int)strcspn(names, ",");
    if (pointers[i] == NULL)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "%s: %.*s is NULL", function, length, names);
    names += length;
    names += strspn(names, ", ");
  }
  return EGRAPH_OK;
}
