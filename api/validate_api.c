// Compares predicted with measured seconds, operator by operator.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "api/arguments.h"
#include "api/objects.h"
#include "api/tensors.h"
#include "base/owner.h"
#include "base/quantile.h"
#include "exec/session.h"
#include "optimize/price/predict.h"
#include "pcg/graph/graph.h"

enum { PREDICTED, MEASURED, COORDINATES };
typedef struct sample {
  double at[COORDINATES]; // seconds
} sample;
EG_VEC_DEFINE(samples, sample);

typedef struct validation {
  egraph_costs *costs;
  const eg_graph *graph;
  double *measured; // [nodes] seconds, or -1 for a node without a step of its own
  samples samples;
  egraph_validation *out;
} validation;
EG_OWNER_DEFINE_STATIC(validation, (samples, samples))

static egraph_status add_sample(void *user, eg_graph_node node,
                                const eg_node_spec *spec) {
  validation *v = user;
  double seconds;
  eg_cost_source source;
  EG_TRY(eg_cost_seconds(v->costs->model, spec, &seconds, &source));
  if (isfinite(seconds)) v->out->predicted += seconds;
  if (source == EG_COST_FREE || v->measured[node.id] < 0 || !isfinite(seconds))
    return EGRAPH_OK;
  return samples_push(&v->samples, (sample){{seconds, v->measured[node.id]}});
}

// ---- statistics -----------------------------------------------------------------

static int by_predicted(const void *a, const void *b) {
  double x = ((const sample *)a)->at[PREDICTED], y = ((const sample *)b)->at[PREDICTED];
  return (x > y) - (x < y);
}
static int by_measured(const void *a, const void *b) {
  double x = ((const sample *)a)->at[MEASURED], y = ((const sample *)b)->at[MEASURED];
  return (x > y) - (x < y);
}

/// Replaces one coordinate of all samples by its rank; equal values get the mean rank.
static void rank(samples *s, int of) {
  qsort(s->data, s->len, sizeof *s->data, of == PREDICTED ? by_predicted : by_measured);
  for (size_t i = 0, end; i < s->len; i = end) {
    double value = s->data[i].at[of];
    for (end = i; end < s->len && s->data[end].at[of] == value;)
      end++;
    for (size_t j = i; j < end; j++)
      s->data[j].at[of] = (double)(i + end - 1) / 2;
  }
}

/// Computes Spearman's coefficient: Pearson's coefficient of ranks. Overwrites the
/// samples.
static double rank_correlation(samples *s) {
  if (s->len == 0) return 1.0;
  rank(s, PREDICTED);
  rank(s, MEASURED);
  double mean = ((double)s->len - 1) / 2, xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < s->len; i++) {
    double x = s->data[i].at[PREDICTED] - mean, y = s->data[i].at[MEASURED] - mean;
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 1.0;
}

static void summarize(validation *v) {
  double error = 0, total = 0;
  for (size_t i = 0; i < v->samples.len; i++) {
    error += fabs(v->samples.data[i].at[PREDICTED] - v->samples.data[i].at[MEASURED]);
    total += v->samples.data[i].at[MEASURED];
  }
  v->out->operators = (uint32_t)v->samples.len;
  v->out->mean_error = total > 0 ? error / total : 0;
  v->out->rank_correlation = rank_correlation(&v->samples);
}

// ---- measuring ------------------------------------------------------------------

enum { FIGURES = 2 }; // figures of a whole run, after the figures of its steps

/// Runs the graph and fills times[step * repeats + run]; the first run is not counted.
static egraph_status run_timed(eg_session *session, const eg_tensor *inputs,
                               const eg_tensor *outputs, uint32_t repeats,
                               double *times) {
  for (uint64_t r = 0; r <= repeats; r++) {
    EG_TRY(eg_session_run(session, inputs, outputs));
    for (uint32_t i = 0;
         r != 0 && i < eg_rank_program_step_count(eg_session_program(session)); i++)
      times[(size_t)i * repeats + r - 1] =
          eg_rank_program_step_at(eg_session_program(session), i)->seconds;
  }
  return EGRAPH_OK;
}

static egraph_status measure(validation *v, eg_session *session, const eg_tensor *inputs,
                             const eg_tensor *outputs, uint32_t repeats) {
  double *times;
  EG_LOCAL(eg_arena, arena, v->costs->alloc);
  uint32_t steps = eg_rank_program_step_count(eg_session_program(session));
  size_t count = ((size_t)steps + FIGURES) * repeats;
  EG_NEW(&arena, count, times);
  eg_rank_program_set_timing(eg_session_program(session), true);
  egraph_status status = run_timed(session, inputs, outputs, repeats, times);
  eg_rank_program_set_timing(eg_session_program(session), false);
  EG_TRY(status);
  double *whole = times + (size_t)steps * repeats, *transfers = whole + repeats;
  for (uint32_t r = 0; r < repeats; r++) { // whole runs, without the time of each step
    double start = eg_clock_seconds();
    EG_TRY(eg_session_run(session, inputs, outputs));
    whole[r] = eg_rank_program_steps_seconds(eg_session_program(session));
    transfers[r] = eg_clock_seconds() - start - whole[r];
  }
  for (uint32_t i = 0; i < steps; i++) {
    double seconds = eg_median(times + (size_t)i * repeats, repeats);
    uint32_t node = eg_rank_program_step_at(eg_session_program(session), i)->node.id;
    v->out->steps += seconds;
    if (node != UINT32_MAX) v->measured[node] = fmax(v->measured[node], 0) + seconds;
  }
  v->out->measured = eg_median(whole, repeats);
  v->out->transfers = eg_median(transfers, repeats);
  return EGRAPH_OK;
}

static egraph_status validate(validation *v, uint32_t repeats, uint64_t seed) {
  const egraph_costs_options *o = &v->costs->options;
  const eg_session_options options = eg_session_options_of(o->backend, o->threads, seed);
  eg_session *session;
  EG_LOCAL(eg_owned_tensors, inputs, v->costs->alloc);
  EG_LOCAL(eg_owned_tensors, outputs, v->costs->alloc);
  EG_TRY(eg_session_create(&v->costs->alloc, v->graph, &options, &session));
  egraph_status status = eg_tensors_draw_inputs(v->graph, seed, &inputs);
  if (status == EGRAPH_OK) status = eg_tensors_make_outputs(v->graph, &outputs);
  if (status == EGRAPH_OK)
    status = measure(v, session, inputs.data, outputs.data, repeats);
  eg_session_destroy(session);
  EG_TRY(status);
  EG_TRY(eg_graph_visit_specs(v->graph, v->costs->alloc, add_sample, v));
  summarize(v);
  return EGRAPH_OK;
}

egraph_status egraph_costs_validate(egraph_costs *costs, const egraph_graph *graph,
                                    uint32_t repeats, uint64_t seed,
                                    egraph_validation *out) {
  EG_REQUIRE(costs, graph, out);
  double predicted;
  EG_TRY(eg_graph_check_fixed(graph, "a measurement"));
  EG_TRY(egraph_costs_predict(costs, graph, &predicted));
  egraph_validation result = {.predicted = 0};
  EG_LOCAL(eg_arena, arena, costs->alloc);
  EG_LOCAL(validation, v, costs->alloc);
  v.costs = costs;
  v.graph = graph;
  v.out = &result;
  uint32_t nodes = eg_graph_node_count(graph);
  EG_NEW(&arena, nodes, v.measured);
  for (uint32_t i = 0; i < nodes; i++)
    v.measured[i] = -1;
  EG_TRY(validate(&v, repeats != 0 ? repeats : 1, seed));
  *out = result;
  return EGRAPH_OK;
}
