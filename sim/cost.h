// Prices a node in seconds. Search and extraction see costs only through this interface.
//
// Sources of a cost, in this order: the caller's own function; free nodes; the profile
// database (measured on this machine or loaded from another one); a roofline that is
// calibrated on the database's entries. Leaves, views that change no memory format, and
// nodes with only weights as operands (folded before the first run) are free. Only the
// bytes of an opaque node are known: the roofline estimates its cost from them, and it is
// never measured. This module touches no device: it collects missing entries, and the
// owner of a device measures them, later or on demand.
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

/// Callback that measures a node at the first request for its cost. Sets *out_seconds
/// (INFINITY: the back-end cannot run the node) and *out_done. If it leaves *out_done
/// false, the node is estimated now and offered again at the next request.
typedef struct eg_cost_prober {
  egraph_status (*probe)(void *self, const eg_node_spec *spec, double estimate,
                         double *out_seconds, eg_evidence *out_evidence, bool *out_done);
  void *self;
} eg_cost_prober;

typedef struct eg_cost_options {
  const char *database; // path of the profile database; NULL or ":memory:": none on disk
  const char *machine;  // fingerprint, not NULL: entries of other machines are not used
  bool read_only;       // measurements are kept for this model only
  double busy_seconds;  // seconds to wait for a locked database; 0: 5 seconds
  bool again; // requested nodes are measured again if this model has not measured them
  /// Overrides the cost of a node: returns true and sets *out (>= 0, or INFINITY). May be
  /// NULL. It is called first at every request, also for free nodes.
  bool (*override_cost)(void *user, const eg_node_spec *spec, double *out);
  void *user;
  // Memory formats, row-major excepted, for which the back-end has kernels: a bit
  // per eg_format.
  uint32_t formats;
} eg_cost_options;

/// Opens or creates the profile database (WAL, schema version checked) and reads the
/// machine's entries; entries that other processes add later are not seen. Fails with
/// EGRAPH_E_IO, EGRAPH_E_BUSY (locked), EGRAPH_E_PARSE (another schema or not a
/// database); the message names the path and the remedy.
egraph_status eg_cost_model_create(const egraph_allocator *alloc,
                                   const eg_cost_options *options, eg_cost_model **out);
void eg_cost_model_destroy(eg_cost_model *model);

/// Returns the seconds of one execution of a node; INFINITY if the back-end cannot run
/// it. Memoized. Deterministic for the same database. Fails with EGRAPH_E_ARGUMENT when
/// the caller's function gives an invalid cost (negative, NaN), and as the prober does.
egraph_status eg_cost_seconds(eg_cost_model *model, const eg_node_spec *spec,
                              double *out_seconds, eg_cost_source *out_source);

/// True when an estimate of the node rests on measurements of this machine; otherwise it
/// assumes a plain CPU core.
bool eg_cost_is_calibrated(const eg_cost_model *model, const eg_node_spec *spec);

/// The errors of one operator's estimates at the measurements to which they are fitted.
typedef struct eg_estimate_error {
  uint32_t count;     // measurements; 0: none, nothing is known
  double mean, worst; // values of |estimated / measured - 1|
} eg_estimate_error;
/// Computes the errors of the estimates of every operator. O(entries).
void eg_cost_estimate_errors(const eg_cost_model *model,
                             eg_estimate_error out[EG_OP_COUNT]);

/// Sets a borrowed prober, which measures nodes without a known cost on demand; NULL, the
/// initial state: their costs are estimated.
void eg_cost_set_prober(eg_cost_model *model, const eg_cost_prober *prober);
/// True when the caller's own function or a prober can price nodes never measured.
bool eg_cost_is_asked_for(const eg_cost_model *model);

/// Returns the memory formats other than row-major for which the back-end has kernels, a
/// bit per eg_format.
uint32_t eg_cost_formats(const eg_cost_model *model);

/// True for a free or opaque node, which is never measured.
bool eg_cost_is_free(const eg_node_spec *spec);

/// Measures a node on a device. *out_supported false: the back-end cannot run the node in
/// these formats; its cost is then infinite and it is not measured again. *out_evidence
/// is all 0 before the call.
typedef struct eg_measurer {
  egraph_status (*measure)(void *self, const eg_node_spec *spec, double *out_seconds,
                           bool *out_supported, eg_evidence *out_evidence);
  void *self;
} eg_measurer;

/// Requests the measurement of a node unless it is known, free or already requested.
egraph_status eg_cost_request(eg_cost_model *model, const eg_node_spec *spec);
/// How a second measurement changes a cost: it replaces the first one, or the smaller of
/// both stays (other processes only add time) and the samples are added up.
typedef enum eg_cost_again { EG_AGAIN_REPLACE, EG_AGAIN_SMALLER } eg_cost_again;
/// Requests a second measurement of a measured node. Nodes that are unsupported or priced
/// by another source keep their cost.
egraph_status eg_cost_request_again(eg_cost_model *model, const eg_node_spec *spec,
                                    eg_cost_again how);
/// Finds the evidence (samples, ...) of a node's cost: all 0 if it is not measured.
egraph_status eg_cost_evidence(eg_cost_model *model, const eg_node_spec *spec,
                               eg_evidence *out);
/// Finds the measurement of a node; EG_COST_NO_ENTRY where its cost has another source.
/// Measurements (entries) count up from 0 and keep their numbers.
#define EG_COST_NO_ENTRY UINT32_MAX
egraph_status eg_cost_measured_entry(eg_cost_model *model, const eg_node_spec *spec,
                                     uint32_t *out);
uint32_t eg_cost_entry_count(const eg_cost_model *model);
double eg_cost_entry_seconds(const eg_cost_model *model, uint32_t entry);
/// Returns the standard error of a measured cost, which is a median, from its spread and
/// samples; 0 where they are not known.
double eg_cost_error(const eg_cost_model *model, uint32_t entry);
/// Returns how many measurements this model took on a busy machine (EG_BUSY_LOAD).
uint32_t eg_cost_busy(const eg_cost_model *model);
uint32_t eg_cost_requested(const eg_cost_model *model);
/// Forgets all requests for measurements.
void eg_cost_withdraw(eg_cost_model *model);
/// Measures all requested nodes, in the order of the requests, and stores the results in
/// the database; then calibrates anew. Each transaction stores a few entries or half a
/// second of work, so that an interrupted run loses little. progress may be NULL; when it
/// returns true, measuring stops early without failure and the other requests remain.
/// Fails as the measurer does, or with EGRAPH_E_BUSY or EGRAPH_E_IO; requests whose
/// results were not stored remain.
egraph_status eg_cost_measure(eg_cost_model *model, const eg_measurer *measurer,
                              bool (*progress)(void *user, uint32_t done, uint32_t total),
                              void *user);
/// The same, but keeps the calibration: estimates of what is not measured stay as they
/// are, so that a proof that uses them holds.
egraph_status eg_cost_remeasure(eg_cost_model *model, const eg_measurer *measurer,
                                bool (*progress)(void *user, uint32_t done,
                                                 uint32_t total),
                                void *user);
/// Counts this machine's measured nodes, and those of them that no back-end kernel runs.
egraph_status eg_cost_counts(eg_cost_model *model, uint32_t *out_entries,
                             uint32_t *out_unsupported);

#endif
