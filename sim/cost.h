// What a node costs, in seconds: the one interface through which search and
// extraction see costs.
//
// Order of sources: the caller's own function; free nodes; the profile database (measured
// on this machine or loaded from another's); a roofline calibrated on the entries there
// are. Free are leaves, views that change no memory format, nodes with only weights as
// operands (folded before the first run). Of opaque nodes nothing is known but bytes:
// they cost what the roofline says of those, and are not asked for. Nothing here touches
// a device: missing entries are collected and measured by whoever owns one, later or as
// they are asked for.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_COST_H
#define EG_SIM_COST_H

#include "base/evidence.h"
#include "pcg/graph/node_spec.h"

typedef enum eg_cost_source {
  EG_COST_USER,
  EG_COST_MEASURED,
  EG_COST_ESTIMATED,
  EG_COST_FREE,
  EG_COST_UNPRICED // an opaque node, estimated from its bytes alone
} eg_cost_source;

typedef struct eg_cost_model eg_cost_model;

/// Measures a node when its cost is first asked for. Sets *out_seconds (INFINITY: the
/// back-end cannot run it) and *out_done, or leaves *out_done false: the node is then
/// estimated, and offered again when it is asked for again.
typedef struct eg_cost_prober {
  egraph_status (*probe)(void *self, const eg_node_spec *spec, double estimate,
                         double *out_seconds, eg_evidence *out_evidence, bool *out_done);
  void *self;
} eg_cost_prober;

typedef struct eg_cost_options {
  const char *database; // path of the profile database; NULL or ":memory:": none on disk
  const char *machine;  // fingerprint, not NULL: entries of other machines are not used
  bool read_only;       // measurements are then kept for this model only
  double busy_seconds;  // how long to wait for a locked database; 0: 5 seconds
  bool again; // what is noted is measured again where it was measured before this model
  /// Overrides the cost of a node: returns true and sets *out (>= 0, or INFINITY). May be
  /// NULL. Asked first, for free nodes too, each time.
  bool (*override_cost)(void *user, const eg_node_spec *spec, double *out);
  void *user;
  uint32_t formats; // memory formats beside plain that the back-end of these costs has
                    // kernels for, a bit per eg_format
} eg_cost_options;

/// Opens or creates the database (WAL, schema version checked) and reads the machine's
/// entries: what other processes add later is not seen. Fails with EGRAPH_E_IO,
/// EGRAPH_E_BUSY (locked), EGRAPH_E_PARSE (another schema or not a database), each naming
/// the path and the remedy.
egraph_status eg_cost_model_create(const egraph_allocator *alloc,
                                   const eg_cost_options *options, eg_cost_model **out);
void eg_cost_model_destroy(eg_cost_model *model);

/// Seconds of one execution; INFINITY for a node the back-end cannot run. Memoized.
/// Deterministic for the same database. Fails with EGRAPH_E_ARGUMENT when the caller's
/// function gives no cost at all (negative, NaN), and as a prober does.
egraph_status eg_cost_seconds(eg_cost_model *model, const eg_node_spec *spec,
                              double *out_seconds, eg_cost_source *out_source);

/// Whether an estimate of the node rests on measurements of this machine; otherwise it is
/// the guess of a plain CPU core.
bool eg_cost_is_calibrated(const eg_cost_model *model, const eg_node_spec *spec);

/// How far estimates are from the measurements that they are fitted to, of one operator.
typedef struct eg_estimate_error {
  uint32_t count;     // measurements; 0: none, nothing is known
  double mean, worst; // of |estimated / measured - 1|
} eg_estimate_error;
/// O(entries).
void eg_cost_estimate_errors(const eg_cost_model *model,
                             eg_estimate_error out[EG_OP_COUNT]);

/// From now on what is not known is measured when it is asked for, by a borrowed prober;
/// NULL, as at first: it is estimated.
void eg_cost_set_prober(eg_cost_model *model, const eg_cost_prober *prober);
/// Whether the caller's own function, or a prober, answers what no entry does.
bool eg_cost_is_asked_for(const eg_cost_model *model);

/// Memory formats beside plain that are worth asking for, a bit per eg_format.
uint32_t eg_cost_formats(const eg_cost_model *model);

/// Whether a node is one of the free ones above, or opaque: neither is measured.
bool eg_cost_is_free(const eg_node_spec *spec);

/// Measures a node on a device. *out_supported false: this back-end cannot run it in
/// these formats (it is then priced as infinity and never asked again). *out_evidence is
/// all 0 before.
typedef struct eg_measurer {
  egraph_status (*measure)(void *self, const eg_node_spec *spec, double *out_seconds,
                           bool *out_supported, eg_evidence *out_evidence);
  void *self;
} eg_measurer;

/// Notes a node for measurement unless it is known, free or already noted.
egraph_status eg_cost_request(eg_cost_model *model, const eg_node_spec *spec);
/// What becomes of a cost that is measured again: the new one takes its place, or the
/// smaller of both does (what others do only adds time), with all samples.
typedef enum eg_cost_again { EG_AGAIN_REPLACE, EG_AGAIN_SMALLER } eg_cost_again;
/// Notes a node whose cost is measured. Unsupported nodes and those of other sources
/// stay.
egraph_status eg_cost_request_again(eg_cost_model *model, const eg_node_spec *spec,
                                    eg_cost_again how);
/// What the cost of a node rests on: all 0 where it is not measured.
egraph_status eg_cost_evidence(eg_cost_model *model, const eg_node_spec *spec,
                               eg_evidence *out);
/// The measurement of a node's cost, EG_COST_NO_ENTRY where it is of another source.
/// Entries count up from 0 and keep their numbers.
#define EG_COST_NO_ENTRY UINT32_MAX
egraph_status eg_cost_measured_entry(eg_cost_model *model, const eg_node_spec *spec,
                                     uint32_t *out);
uint32_t eg_cost_entry_count(const eg_cost_model *model);
double eg_cost_entry_seconds(const eg_cost_model *model, uint32_t entry);
/// The standard error of the median that an entry is, as its spread and samples say; 0
/// where they are not known.
double eg_cost_error(const eg_cost_model *model, uint32_t entry);
/// Measurements of this model that were made on a busy machine (EG_BUSY_LOAD).
uint32_t eg_cost_busy(const eg_cost_model *model);
uint32_t eg_cost_requested(const eg_cost_model *model);
/// Forgets the nodes that are noted.
void eg_cost_withdraw(eg_cost_model *model);
/// Measures everything noted, in the order of the requests, and stores it in the database
/// (one transaction per few entries or half a second, so that an interrupted run keeps
/// what it had); then calibrates anew. progress may be NULL; returning true stops early,
/// which is no failure: the rest stays noted. Fails as the measurer does, or with
/// EGRAPH_E_BUSY or EGRAPH_E_IO; what was not stored stays noted.
egraph_status eg_cost_measure(eg_cost_model *model, const eg_measurer *measurer,
                              bool (*progress)(void *user, uint32_t done, uint32_t total),
                              void *user);
/// Entries of this machine that are known, and how many of them are unsupported.
egraph_status eg_cost_counts(eg_cost_model *model, uint32_t *out_entries,
                             uint32_t *out_unsupported);

#endif
