// Every requested node has one entry, found by its text. The entry is either measured, or
// the roofline prices it from operations and bytes: new calibrations outdate nothing.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost.h"

#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "base/strmap.h"
#include "pcg/graph/node_spec.h"
#include "sim/profile_db.h"
#include "sim/roofline.h"

typedef struct entry {
  eg_roofline_point point; // point.seconds: only when measured; INFINITY: unsupported
  eg_evidence evidence;
  bool measured, requested;
  bool is_fresh; // measured by this model
} entry;

typedef struct request {
  eg_node_spec spec; // own copy, in the arena
  const char *text;  // key of its entry, in the arena
  uint32_t entry;
  bool is_again;
  eg_cost_again how; // read if is_again
} request;

EG_VEC_DEFINE(entries, entry);
EG_VEC_DEFINE(requests, request);
EG_VEC_DEFINE(points, eg_roofline_point);

struct eg_cost_model {
  egraph_allocator alloc;
  eg_cost_options options;      // its strings are not used after create
  const eg_cost_prober *prober; // NULL: none
  char *machine;
  eg_profile_db *db; // NULL: read-only, measurements are not stored on disk
  entries entries;
  eg_strmap index;   // text of a spec -> entry
  requests requests; // noted, not measured yet
  eg_arena memory;   // memory of the requests; reset when there are none
  eg_roofline roofline;
  eg_text key;   // scratch
  uint32_t busy; // measurements made while others ran
};

// ---- entries --------------------------------------------------------------------

static bool is_formatted(const eg_type *types, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (types[i].layout.format != EG_FORMAT_PLAIN) return true;
  return false;
}

static eg_roofline_point point_of(const eg_node_spec *spec) {
  return (eg_roofline_point){.op = (eg_op)spec->attrs->op,
                             .formatted = is_formatted(spec->inputs, spec->input_count) ||
                                          is_formatted(spec->results, spec->result_count),
                             .flops = eg_node_spec_flops(spec),
                             .bytes = eg_node_spec_bytes(spec)};
}

static egraph_status add_entry(eg_cost_model *model, const char *text, entry value,
                               uint32_t *out) {
  EG_TRY(entries_reserve(&model->entries, model->entries.len + 1));
  uint32_t id = (uint32_t)model->entries.len;
  EG_TRY(eg_strmap_put(&model->index, text, id));
  EG_TRY(entries_push(&model->entries, value));
  *out = id;
  return EGRAPH_OK;
}

/// Finds or adds a node's cost entry; model->key is the node's text afterwards.
static egraph_status entry_of(eg_cost_model *model, const eg_node_spec *spec,
                              uint32_t *out) {
  eg_text_clear(&model->key);
  EG_TRY(eg_node_spec_print(&model->key, spec));
  const char *text = eg_text_of(&model->key);
  if (eg_strmap_find(&model->index, text, out)) return EGRAPH_OK;
  return add_entry(model, text, (entry){.point = point_of(spec)}, out);
}

/// Adds an entry of the database; skips it when this build does not know its operator.
static egraph_status load_entry(void *user, const eg_profile_entry *stored) {
  eg_cost_model *model = user;
  eg_op op;
  uint32_t id;
  if (!eg_op_find(stored->op, &op)) return EGRAPH_OK;
  entry value = {.point = {.op = op,
                           .formatted = stored->formatted,
                           .flops = stored->flops,
                           .bytes = stored->bytes,
                           .seconds = stored->seconds},
                 .evidence = stored->evidence,
                 .measured = true};
  return add_entry(model, stored->spec, value, &id);
}

static egraph_status calibrate(eg_cost_model *model) {
  EG_LOCAL(points, known, model->alloc);
  EG_TRY(points_reserve(&known, model->entries.len));
  for (size_t i = 0; i < model->entries.len; i++) {
    const entry *e = &model->entries.data[i];
    if (e->measured && isfinite(e->point.seconds)) EG_TRY(points_push(&known, e->point));
  }
  return eg_roofline_fit(&model->roofline, model->alloc, known.data, known.len);
}

// ---- life -----------------------------------------------------------------------

static egraph_status open_database(eg_cost_model *model) {
  eg_profile_db_options options = {.path = model->options.database,
                                   .read_only = model->options.read_only,
                                   .busy_seconds = model->options.busy_seconds};
  EG_TRY(eg_profile_db_create(&model->alloc, &options, &model->db));
  EG_TRY(eg_profile_db_load(model->db, model->machine, load_entry, model));
  if (!options.read_only) return EGRAPH_OK;
  eg_profile_db_destroy(model->db);
  model->db = NULL;
  return EGRAPH_OK;
}

#define OWNED                                                                            \
  (entries, entries), (requests, requests), (eg_strmap, index), (eg_arena, memory),      \
      (eg_text, key)

egraph_status eg_cost_model_create(const egraph_allocator *alloc,
                                   const eg_cost_options *options, eg_cost_model **out) {
  egraph_allocator memory = eg_allocator_or_heap(alloc);
  if (options->machine == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a cost model needs the name of its machine");
  if (!(options->busy_seconds >= 0 && options->busy_seconds <= 1e6))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "busy_seconds must lie between 0 and 1e6");
  eg_cost_model *model;
  EG_TRY(eg_alloc(memory, 1, sizeof *model, &model));
  model->alloc = memory;
  model->options = *options;
  if (model->options.busy_seconds == 0) model->options.busy_seconds = 5;
  EG_INIT_MEMBERS(model, memory, OWNED);
  egraph_status status = eg_string_copy(memory, options->machine, &model->machine);
  if (status == EGRAPH_OK) status = open_database(model);
  if (status == EGRAPH_OK) status = calibrate(model);
  model->options.database = model->options.machine = NULL;
  if (status == EGRAPH_OK)
    *out = model;
  else
    eg_cost_model_destroy(model);
  return status;
}

void eg_cost_model_destroy(eg_cost_model *model) {
  if (model == NULL) return;
  eg_profile_db_destroy(model->db);
  EG_DEINIT_MEMBERS(model, OWNED);
  eg_string_free(model->alloc, model->machine);
  eg_free(model->alloc, model, 1, sizeof *model);
}

// ---- costs ----------------------------------------------------------------------

static bool is_weight_only(const eg_node_spec *spec) {
  uint32_t count = spec->input_count;
  if (count == 0 || count > 64) return false;
  uint64_t all = UINT64_MAX >> (64 - count);
  return (spec->weight_mask & all) == all;
}

static bool is_one_format(const eg_node_spec *spec) {
  uint8_t format = spec->results[0].layout.format;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (spec->inputs[i].layout.format != format) return false;
  for (uint32_t i = 0; i < spec->result_count; i++)
    if (spec->results[i].layout.format != format) return false;
  return true;
}

bool eg_cost_is_free(const eg_node_spec *spec) {
  eg_op op = (eg_op)spec->attrs->op;
  unsigned flags = eg_op_info_of(op)->flags;
  if ((flags & EG_OPF_LEAF) != 0 || op == EG_OP_OPAQUE || is_weight_only(spec))
    return true;
  return (flags & EG_OPF_VIEW) != 0 && spec->result_count != 0 && is_one_format(spec);
}

static egraph_status ask_caller(const eg_cost_model *model, const eg_node_spec *spec,
                                bool *out_given, double *out) {
  double cost = 0;
  *out_given = model->options.override_cost != NULL && spec->attrs->op != EG_OP_OPAQUE &&
               model->options.override_cost(model->options.user, spec, &cost);
  if (!*out_given) return EGRAPH_OK;
  if (!(cost >= 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%s: the caller's cost function returned %g; a cost is 0 or more",
                   eg_op_info_of((eg_op)spec->attrs->op)->name, cost);
  *out = cost;
  return EGRAPH_OK;
}

static eg_profile_entry stored_entry(const entry *e, const char *text, double seconds,
                                     const eg_evidence *evidence) {
  return (eg_profile_entry){.spec = text,
                            .op = eg_op_info_of(e->point.op)->name,
                            .formatted = e->point.formatted,
                            .flops = e->point.flops,
                            .bytes = e->point.bytes,
                            .seconds = seconds,
                            .evidence = *evidence};
}

static void take_measurement(entry *e, const eg_profile_entry *stored) {
  e->point.seconds = stored->seconds;
  e->evidence = stored->evidence;
  e->measured = e->is_fresh = true;
}

/// Stores a measurement in the entry of the cost model whose text is in model->key.
static egraph_status keep_measurement(eg_cost_model *model, uint32_t id, double seconds,
                                      const eg_evidence *evidence) {
  entry *e = &model->entries.data[id];
  eg_profile_entry stored = stored_entry(e, eg_text_of(&model->key), seconds, evidence);
  model->busy += eg_evidence_is_busy(evidence);
  if (model->db != NULL)
    EG_TRY(eg_profile_db_store(model->db, model->machine, &stored, 1, false));
  take_measurement(e, &stored);
  return EGRAPH_OK;
}

static egraph_status probe_node(eg_cost_model *model, const eg_node_spec *spec,
                                uint32_t id) {
  const eg_cost_prober *prober = model->prober;
  const entry *e = &model->entries.data[id];
  double seconds = 0;
  eg_evidence evidence = {.samples = 0};
  bool done = false;
  if (e->measured || e->requested || prober == NULL) return EGRAPH_OK;
  EG_TRY(prober->probe(prober->self, spec,
                       eg_roofline_estimate(&model->roofline, &e->point), &seconds,
                       &evidence, &done));
  return done ? keep_measurement(model, id, seconds, &evidence) : EGRAPH_OK;
}

bool eg_cost_is_calibrated(const eg_cost_model *model, const eg_node_spec *spec) {
  eg_roofline_point point = point_of(spec);
  return model->roofline.is_calibrated[point.op][point.formatted];
}

void eg_cost_estimate_errors(const eg_cost_model *model,
                             eg_estimate_error out[EG_OP_COUNT]) {
  memset(out, 0, EG_OP_COUNT * sizeof *out);
  for (size_t i = 0; i < model->entries.len; i++) {
    const entry *e = &model->entries.data[i];
    if (!e->measured || !isfinite(e->point.seconds) || !(e->point.seconds > 0)) continue;
    eg_estimate_error *error = &out[e->point.op];
    double estimate = eg_roofline_estimate(&model->roofline, &e->point);
    double off = fabs(estimate / e->point.seconds - 1);
    error->mean = (error->mean * error->count + off) / (error->count + 1.0);
    error->worst = fmax(error->worst, off);
    error->count++;
  }
}

void eg_cost_set_prober(eg_cost_model *model, const eg_cost_prober *prober) {
  model->prober = prober;
}

bool eg_cost_is_asked_for(const eg_cost_model *model) {
  return model->prober != NULL || model->options.override_cost != NULL;
}

uint32_t eg_cost_formats(const eg_cost_model *model) {
  return model->options.formats & ~(1u << EG_FORMAT_PLAIN);
}

egraph_status eg_cost_seconds(eg_cost_model *model, const eg_node_spec *spec,
                              double *out_seconds, eg_cost_source *out_source) {
  bool given;
  double seconds = 0;
  eg_cost_source source = EG_COST_USER;
  EG_TRY(ask_caller(model, spec, &given, &seconds));
  if (spec->attrs->op == EG_OP_OPAQUE && spec->opaque_bytes > 0) {
    // Nodes of other graphs may have the same text, so the model gets no entry.
    eg_roofline_point point = point_of(spec);
    source = EG_COST_UNPRICED;
    seconds = eg_roofline_estimate(&model->roofline, &point);
  } else if (!given && eg_cost_is_free(spec)) {
    source = EG_COST_FREE;
  } else if (!given) {
    uint32_t id;
    EG_TRY(entry_of(model, spec, &id));
    EG_TRY(probe_node(model, spec, id));
    const entry *e = &model->entries.data[id];
    source = e->measured ? EG_COST_MEASURED : EG_COST_ESTIMATED;
    seconds = e->measured ? e->point.seconds
                          : eg_roofline_estimate(&model->roofline, &e->point);
  }
  *out_seconds = seconds;
  if (out_source != NULL) *out_source = source;
  return EGRAPH_OK;
}

egraph_status eg_cost_counts(eg_cost_model *model, uint32_t *out_entries,
                             uint32_t *out_unsupported) {
  uint32_t measured = 0, unsupported = 0;
  for (size_t i = 0; i < model->entries.len; i++) {
    const entry *e = &model->entries.data[i];
    measured += e->measured;
    unsupported += e->measured && isinf(e->point.seconds);
  }
  *out_entries = measured;
  *out_unsupported = unsupported;
  return EGRAPH_OK;
}

// ---- measuring ------------------------------------------------------------------

/// Finds or adds the entry of a node in the cost model; EG_COST_NO_ENTRY where the node
/// is free or the caller prices it.
static egraph_status find_cost_entry(eg_cost_model *model, const eg_node_spec *spec,
                                     uint32_t *out) {
  bool given;
  double cost;
  *out = EG_COST_NO_ENTRY;
  EG_TRY(ask_caller(model, spec, &given, &cost));
  return given || eg_cost_is_free(spec) ? EGRAPH_OK : entry_of(model, spec, out);
}

/// Appends a request for a measurement; fills its spec, text and entry.
static egraph_status note_request(eg_cost_model *model, const eg_node_spec *spec,
                                  request noted) {
  EG_TRY(find_cost_entry(model, spec, &noted.entry));
  if (noted.entry == EG_COST_NO_ENTRY) return EGRAPH_OK;
  entry *e = &model->entries.data[noted.entry];
  bool is_wanted =
      noted.is_again ? e->measured && isfinite(e->point.seconds) : !e->measured;
  if (!is_wanted || e->requested) return EGRAPH_OK;
  EG_TRY(eg_spec_copy(&model->memory, spec, &noted.spec));
  EG_TRY(eg_arena_string(&model->memory, eg_text_of(&model->key), model->key.chars.len,
                         &noted.text));
  EG_TRY(requests_push(&model->requests, noted));
  e->requested = true;
  return EGRAPH_OK;
}

egraph_status eg_cost_request(eg_cost_model *model, const eg_node_spec *spec) {
  if (model->options.again) {
    uint32_t id;
    EG_TRY(eg_cost_measured_entry(model, spec, &id));
    if (id != EG_COST_NO_ENTRY && !model->entries.data[id].is_fresh)
      return eg_cost_request_again(model, spec, EG_AGAIN_REPLACE);
  }
  return note_request(model, spec, (request){.is_again = false});
}

egraph_status eg_cost_request_again(eg_cost_model *model, const eg_node_spec *spec,
                                    eg_cost_again how) {
  return note_request(model, spec, (request){.is_again = true, .how = how});
}

egraph_status eg_cost_evidence(eg_cost_model *model, const eg_node_spec *spec,
                               eg_evidence *out) {
  uint32_t id;
  *out = (eg_evidence){.samples = 0};
  EG_TRY(eg_cost_measured_entry(model, spec, &id));
  if (id != EG_COST_NO_ENTRY) *out = model->entries.data[id].evidence;
  return EGRAPH_OK;
}

egraph_status eg_cost_measured_entry(eg_cost_model *model, const eg_node_spec *spec,
                                     uint32_t *out) {
  EG_TRY(find_cost_entry(model, spec, out));
  if (*out != EG_COST_NO_ENTRY && !model->entries.data[*out].measured)
    *out = EG_COST_NO_ENTRY;
  return EGRAPH_OK;
}

uint32_t eg_cost_entry_count(const eg_cost_model *model) {
  return (uint32_t)model->entries.len;
}

double eg_cost_entry_seconds(const eg_cost_model *model, uint32_t id) {
  return entries_at(&model->entries, id)->point.seconds;
}

double eg_cost_error(const eg_cost_model *model, uint32_t id) {
  const eg_evidence *evidence = &entries_at(&model->entries, id)->evidence;
  if (evidence->samples == 0) return 0;
  // For normally distributed samples: sigma = spread / 0.6745, error of the median =
  // 1.2533 sigma / sqrt(n).
  return 1.858 * evidence->spread / sqrt(evidence->samples);
}

uint32_t eg_cost_busy(const eg_cost_model *model) { return model->busy; }

uint32_t eg_cost_requested(const eg_cost_model *model) {
  return (uint32_t)model->requests.len;
}

enum { BATCH = 16 };
static const double batch_seconds = 0.5;

/// Measured requests [first, first + count), with their seconds, before they are stored.
typedef struct batch {
  size_t first;
  uint32_t count;
  double seconds[BATCH], started;
  eg_evidence evidence[BATCH];
} batch;

/// Combines a new measurement of a node with the earlier one, as its request says.
static void combine_measurements(const eg_cost_model *model, const request *r,
                                 double *seconds, eg_evidence *evidence) {
  const entry *e = &model->entries.data[r->entry];
  if (!r->is_again || r->how == EG_AGAIN_REPLACE) return;
  uint32_t samples = e->evidence.samples;
  bool is_smaller = *seconds < e->point.seconds;
  if (samples <= UINT32_MAX - evidence->samples) samples += evidence->samples;
  if (!is_smaller) {
    *seconds = e->point.seconds;
    evidence->load = e->evidence.load;
    // An old measurement without a spread (no samples) gets the new one's spread.
    if (e->evidence.samples != 0) evidence->spread = e->evidence.spread;
  }
  evidence->samples = samples;
}

/// Stores a batch of measurements and empties it, so that it begins at the next request.
static egraph_status store_batch(eg_cost_model *model, batch *b) {
  eg_profile_entry stored[BATCH];
  bool replaces[BATCH];
  for (uint32_t i = 0; i < b->count; i++) {
    const request *r = &model->requests.data[b->first + i];
    combine_measurements(model, r, &b->seconds[i], &b->evidence[i]);
    replaces[i] = r->is_again;
    stored[i] = stored_entry(&model->entries.data[r->entry], r->text, b->seconds[i],
                             &b->evidence[i]);
  }
  uint32_t count = b->count;
  b->count = 0;
  for (uint32_t i = 0, end; model->db != NULL && i < count; i = end) {
    for (end = i + 1; end < count && replaces[end] == replaces[i];)
      end++;
    EG_TRY(
        eg_profile_db_store(model->db, model->machine, &stored[i], end - i, replaces[i]));
  }
  for (uint32_t i = 0; i < count; i++) {
    entry *e = &model->entries.data[model->requests.data[b->first + i].entry];
    take_measurement(e, &stored[i]);
    e->requested = false;
  }
  b->first += count;
  b->started = eg_clock_seconds();
  return EGRAPH_OK;
}

static egraph_status measure_one(const eg_measurer *measurer, const request *r,
                                 double *out, eg_evidence *out_evidence) {
  double seconds = 0;
  bool supported = true;
  *out_evidence = (eg_evidence){.samples = 0};
  egraph_status status =
      measurer->measure(measurer->self, &r->spec, &seconds, &supported, out_evidence);
  if (status != EGRAPH_OK) return eg_fail_context(status, "measuring %s", r->text);
  if (supported && !(seconds >= 0 && isfinite(seconds)))
    return EG_FAIL(EGRAPH_E_INTERNAL, "measuring %s: got %g seconds", r->text, seconds);
  *out = supported ? seconds : (double)INFINITY;
  return EGRAPH_OK;
}

static egraph_status measure_all(eg_cost_model *model, const eg_measurer *measurer,
                                 bool (*progress)(void *user, uint32_t done,
                                                  uint32_t total),
                                 void *user, batch *b) {
  uint32_t total = (uint32_t)model->requests.len;
  for (uint32_t i = 0; i < total; i++) {
    EG_TRY(measure_one(measurer, &model->requests.data[i], &b->seconds[b->count],
                       &b->evidence[b->count]));
    model->busy += eg_evidence_is_busy(&b->evidence[b->count]);
    b->count++;
    if (b->count == BATCH || eg_clock_seconds() - b->started > batch_seconds)
      EG_TRY(store_batch(model, b));
    if (progress != NULL && progress(user, i + 1, total)) break;
  }
  return EGRAPH_OK;
}

static void forget_requests(eg_cost_model *model, size_t count) {
  requests *all = &model->requests;
  if (count != 0)
    memmove(all->data, all->data + count, (all->len - count) * sizeof *all->data);
  all->len -= count;
  if (all->len == 0) eg_arena_deinit(&model->memory);
}

void eg_cost_withdraw(eg_cost_model *model) {
  for (size_t i = 0; i < model->requests.len; i++)
    model->entries.data[model->requests.data[i].entry].requested = false;
  forget_requests(model, model->requests.len);
}

egraph_status eg_cost_remeasure(eg_cost_model *model, const eg_measurer *measurer,
                                bool (*progress)(void *user, uint32_t done,
                                                 uint32_t total),
                                void *user) {
  batch b = {.started = eg_clock_seconds()};
  egraph_status status = measure_all(model, measurer, progress, user, &b);
  // Measurements before a failure are kept, and the failure is reported.
  if (status == EGRAPH_OK) {
    status = store_batch(model, &b);
  } else if (b.count != 0) {
    char why[1024];
    (void)snprintf(why, sizeof why, "%s", egraph_last_error());
    (void)store_batch(model, &b);
    (void)EG_FAIL(status, "%s", why);
  }
  forget_requests(model, b.first);
  return status;
}

egraph_status eg_cost_measure(eg_cost_model *model, const eg_measurer *measurer,
                              bool (*progress)(void *user, uint32_t done, uint32_t total),
                              void *user) {
  EG_TRY(eg_cost_remeasure(model, measurer, progress, user));
  return calibrate(model);
}
