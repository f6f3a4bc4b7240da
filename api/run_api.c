// Public functions that execute graphs.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "api/arguments.h"
#include "api/quanta.h"
#include "api/tensors.h"
#include "base/owner.h"
#include "base/quantile.h"
#include "exec/backend.h"
#include "exec/session.h"
#include "ops/kernels.h"
#include "pcg/graph/graph.h"
#include "pcg/graph/weights.h"

EG_HOLDER_DEFINE(egraph_session)

enum { DEFAULT_REPEATS = 10 };

bool egraph_use_own_threads(void) { return eg_cpu_use_own_threads(); }

struct egraph_session {
  eg_session *session;
  uint32_t input_count, output_count;
  eg_tensors tensors; // the caller's, inputs then outputs; of the current run
};

static egraph_status open_session(egraph_session *session, const egraph_allocator *alloc,
                                  const egraph_graph *graph,
                                  const egraph_session_options *options) {
  eg_session_options translated =
      eg_session_options_of(options->backend, options->threads, options->seed);
  session->input_count = eg_graph_input_count(graph);
  session->output_count = eg_graph_output_count(graph);
  EG_TRY(eg_tensors_resize(&session->tensors,
                           (size_t)session->input_count + session->output_count));
  return eg_session_create(alloc, graph, &translated, &session->session);
}

egraph_status egraph_session_create(const egraph_allocator *alloc,
                                    const egraph_graph *graph,
                                    const egraph_session_options *options,
                                    egraph_session **out) {
  EG_REQUIRE(graph, out);
  egraph_session_options own;
  EG_TRY(eg_options_take(EGRAPH_SESSION_OPTIONS, options, &own));
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_HELD(egraph_session, session);
  EG_TRY(eg_graph_check_fixed(graph, "a session"));
  EG_TRY(eg_alloc(heap, 1, sizeof *session, &session));
  session->session = NULL;
  eg_tensors_init(&session->tensors, heap);
  EG_HAND_OVER(open_session(session, &heap, graph, &own), session, out);
}

void egraph_session_destroy(egraph_session *session) {
  if (session == NULL) return;
  egraph_allocator alloc = session->tensors.alloc;
  eg_session_destroy(session->session);
  eg_tensors_deinit(&session->tensors);
  eg_free(alloc, session, 1, sizeof *session);
}

/// Converts the caller's tensor; false when it is NULL, has no valid type or has no data.
static bool view_of(const egraph_tensor *tensor, eg_tensor *out) {
  if (tensor == NULL || eg_type_from_tensor(tensor, &out->type) != EGRAPH_OK)
    return false;
  out->data = tensor->data;
  return tensor->data != NULL || eg_type_elements(&out->type) == 0;
}

void egraph_draw_weight(const char *name, uint64_t seed, const egraph_tensor *tensor) {
  eg_tensor drawn;
  if (name != NULL && view_of(tensor, &drawn)) eg_weight_draw(name, seed, &drawn);
}

void egraph_draw_input(const char *name, uint64_t seed, const egraph_tensor *tensor) {
  eg_tensor drawn;
  if (name != NULL && view_of(tensor, &drawn)) eg_input_draw(name, seed, &drawn);
}

void egraph_tensor_convert(const egraph_tensor *from, const egraph_tensor *to) {
  eg_tensor read, written;
  if (view_of(from, &read) && view_of(to, &written) &&
      eg_type_same_shape(&read.type, &written.type))
    eg_tensor_convert(&read, &written);
}

egraph_status egraph_session_run(egraph_session *session, const egraph_tensor *inputs,
                                 uint32_t input_count, const egraph_tensor *outputs,
                                 uint32_t output_count) {
  EG_REQUIRE(session);
  EG_REQUIRE_ARRAY(inputs, input_count);
  EG_REQUIRE_ARRAY(outputs, output_count);
  if (input_count != session->input_count || output_count != session->output_count)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%u inputs and %u outputs given; the graph has %u and %u", input_count,
                   output_count, session->input_count, session->output_count);
  // Without inputs and outputs there is no array to point into.
  if (session->tensors.len == 0) return eg_session_run(session->session, NULL, NULL);
  eg_tensor *tensors = session->tensors.data;
  EG_TRY(eg_tensors_take(inputs, input_count, tensors));
  EG_TRY(eg_tensors_take(outputs, output_count, tensors + input_count));
  return eg_session_run(session->session, tensors, tensors + input_count);
}

// ---- comparing two graphs -------------------------------------------------------

typedef struct contender {
  eg_session *session;
  eg_owned_tensors outputs;
  eg_doubles seconds;
} contender;

static void contender_init(contender *c, egraph_allocator alloc) {
  c->session = NULL;
  EG_INIT_MEMBERS(c, alloc, (eg_owned_tensors, outputs), (eg_doubles, seconds))
}

static void contender_deinit(contender *c) {
  eg_session_destroy(c->session);
  EG_DEINIT_MEMBERS(c, (eg_owned_tensors, outputs), (eg_doubles, seconds))
}

static egraph_status run_once(contender *c, const eg_tensors *inputs, bool timed) {
  double start = eg_clock_seconds();
  EG_TRY(eg_session_run(c->session, inputs->data, c->outputs.data));
  return timed ? eg_doubles_push(&c->seconds, eg_clock_seconds() - start) : EGRAPH_OK;
}

static double relative_error(const eg_tensor *a, const eg_tensor *b) {
  double scale = 0.0, error = 0.0;
  int64_t count = eg_type_elements(&a->type);
  for (int64_t i = 0; i < count; i++) {
    double x = eg_tensor_get_double(a, i), y = eg_tensor_get_double(b, i);
    if (isnan(x) != isnan(y) || (isinf(x) && x != y)) return INFINITY;
    if (isnan(x) || isinf(x)) continue;
    scale = fmax(scale, fabs(x));
    error = fmax(error, fabs(x - y));
  }
  return error == 0.0 ? 0.0 : error / scale;
}

static uint64_t count_not_finite(const eg_tensor *tensor) {
  uint64_t count = 0;
  if (!eg_dtype_is_float(tensor->type.dtype)) return 0;
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++)
    if (!isfinite(eg_tensor_get_double(tensor, i))) count++;
  return count;
}

uint64_t egraph_tensor_not_finite(const egraph_tensor *tensor) {
  eg_tensor own;
  return view_of(tensor, &own) ? count_not_finite(&own) : 0;
}

double egraph_tensor_error(const egraph_tensor *want, const egraph_tensor *have) {
  eg_tensor a, b;
  if (!view_of(want, &a) || !view_of(have, &b) || a.type.dtype != b.type.dtype ||
      !eg_type_same_shape(&a.type, &b.type))
    return INFINITY;
  return relative_error(&a, &b);
}

/// Fails for an input or output that has another type in the second graph.
static egraph_status refuse_types(const eg_graph *a, const char *what, uint32_t index,
                                  const char *name, const eg_type *x, const eg_type *y) {
  EG_LOCAL(eg_text, text, eg_graph_allocator(a));
  (void)!eg_type_print(&text, x);
  (void)eg_text_append(&text, " and ");
  (void)!eg_type_print(&text, y);
  EG_TRY(eg_text_status(&text));
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "%s %u ('%s') differs in type between the graphs: %.200s; compare "
                 "forms of one model, at the same sizes",
                 what, index, name, eg_text_of(&text));
}

static egraph_status check_interfaces(const eg_graph *a, const eg_graph *b) {
  if (eg_graph_input_count(a) != eg_graph_input_count(b) ||
      eg_graph_output_count(a) != eg_graph_output_count(b))
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "the graphs differ in the number of inputs or outputs: %u and %u, %u and "
        "%u; compare forms of one model",
        eg_graph_input_count(a), eg_graph_output_count(a), eg_graph_input_count(b),
        eg_graph_output_count(b));
  for (uint32_t i = 0; i < eg_graph_input_count(a); i++) {
    const eg_value_info *x = eg_graph_value(a, eg_graph_input(a, i));
    const eg_value_info *y = eg_graph_value(b, eg_graph_input(b, i));
    if (!eg_type_same_shape(&x->type, &y->type) || x->type.dtype != y->type.dtype)
      return refuse_types(a, "input", i, x->name, &x->type, &y->type);
  }
  for (uint32_t i = 0; i < eg_graph_output_count(a); i++) {
    const char *name;
    const eg_value_info *x = eg_graph_value(a, eg_graph_output(a, i, &name));
    const eg_value_info *y = eg_graph_value(b, eg_graph_output(b, i, NULL));
    if (!eg_type_same_shape(&x->type, &y->type) || x->type.dtype != y->type.dtype)
      return refuse_types(a, "output", i, name, &x->type, &y->type);
  }
  return EGRAPH_OK;
}

/// Compares the outputs of the first runs; quantized ones in steps, too.
static egraph_status compare_outputs(const eg_graph *a, const eg_graph *b,
                                     const eg_session_options *options,
                                     const eg_tensors *inputs, const contender *first,
                                     const contender *second, egraph_comparison *out) {
  EG_LOCAL(eg_arena, arena, eg_graph_allocator(a));
  size_t count = first->outputs.len;
  eg_quanta *quanta;
  EG_NEW(&arena, count, quanta);
  EG_TRY(eg_quanta_compare(a, b, options, inputs, &first->outputs, &second->outputs,
                           quanta));
  for (size_t i = 0; i < count; i++) {
    double error = relative_error(&first->outputs.data[i], &second->outputs.data[i]);
    out->max_error = fmax(out->max_error, error);
    if (!quanta[i].is_quantized) out->plain_error = fmax(out->plain_error, error);
    out->max_steps = fmax(out->max_steps, quanta[i].steps);
    out->quanta_differ += quanta[i].differ;
    out->quanta_unexplained += quanta[i].unexplained;
    out->not_finite_a += count_not_finite(&first->outputs.data[i]);
    out->not_finite_b += count_not_finite(&second->outputs.data[i]);
  }
  return EGRAPH_OK;
}

// The runs of both graphs alternate, so that changes of the machine's speed affect both.
static egraph_status race(contender *first, contender *second, const eg_tensors *inputs,
                          uint32_t repeats, egraph_comparison *out) {
  for (uint32_t r = 0; r < repeats; r++)
    for (uint32_t i = 0; i < 2; i++)
      EG_TRY(run_once((r + i) % 2 == 0 ? first : second, inputs, true));
  out->time_a = eg_median(first->seconds.data, first->seconds.len);
  out->time_b = eg_median(second->seconds.data, second->seconds.len);
  return EGRAPH_OK;
}

static egraph_status prepare_contender(const egraph_allocator *alloc,
                                       const eg_graph *graph,
                                       const eg_session_options *options,
                                       contender *out) {
  EG_TRY(eg_session_create(alloc, graph, options, &out->session));
  return eg_tensors_make_outputs(graph, &out->outputs);
}

egraph_status egraph_compare(const egraph_allocator *alloc, const egraph_graph *a,
                             const egraph_graph *b, const egraph_compare_options *options,
                             egraph_comparison *out) {
  EG_REQUIRE(a, b, out);
  egraph_compare_options own;
  EG_TRY(eg_options_take(EGRAPH_COMPARE_OPTIONS, options, &own));
  EG_TRY(eg_graph_check_fixed(a, "a comparison"));
  EG_TRY(eg_graph_check_fixed(b, "a comparison"));
  EG_TRY(check_interfaces(a, b));
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  const eg_session_options session =
      eg_session_options_of(own.backend, own.threads, own.seed);
  EG_LOCAL(contender, first, heap);
  EG_LOCAL(contender, second, heap);
  EG_LOCAL(eg_owned_tensors, inputs, heap);
  egraph_comparison result = {.max_error = 0.0};
  EG_TRY(eg_tensors_draw_inputs(a, own.seed, &inputs));
  EG_TRY(prepare_contender(alloc, a, &session, &first));
  EG_TRY(prepare_contender(alloc, b, &session, &second));
  EG_TRY(run_once(&first, &inputs, false));
  EG_TRY(run_once(&second, &inputs, false));
  EG_TRY(compare_outputs(a, b, &session, &inputs, &first, &second, &result));
  EG_TRY(race(&first, &second, &inputs, own.repeats != 0 ? own.repeats : DEFAULT_REPEATS,
              &result));
  *out = result;
  return EGRAPH_OK;
}

// ---- steps ----------------------------------------------------------------------

static void report_steps(eg_session *session, uint32_t repeats, const double *seconds,
                         void (*report)(void *user, const egraph_step *step),
                         void *user) {
  const eg_graph *graph = eg_session_graph(session);
  for (uint32_t i = 0; i < eg_rank_program_step_count(eg_session_program(session)); i++) {
    const eg_step_figures *step = eg_rank_program_step_at(eg_session_program(session), i);
    egraph_step public_step = {.node = "",
                               .op = "",
                               .kernel = step->kernel,
                               .seconds = seconds[i] / repeats,
                               .flops = step->flops,
                               .bytes = step->bytes};
    if (step->node.id != UINT32_MAX) {
      eg_graph_node_info info = eg_graph_node_at(graph, step->node);
      public_step.op = eg_op_info_of((eg_op)info.attrs->op)->name;
      public_step.node = eg_graph_value(graph, info.results[0])->name;
    }
    report(user, &public_step);
  }
}

static egraph_status time_steps(eg_session *session, const eg_tensors *inputs,
                                const eg_tensors *outputs, uint32_t repeats,
                                double *seconds) {
  for (uint64_t r = 0; r <= repeats; r++) {
    EG_TRY(eg_session_run(session, inputs->data, outputs->data));
    for (uint32_t i = 0;
         r != 0 && i < eg_rank_program_step_count(eg_session_program(session)); i++)
      seconds[i] += eg_rank_program_step_at(eg_session_program(session), i)->seconds;
  }
  return EGRAPH_OK;
}

egraph_status egraph_session_steps(egraph_session *session, uint64_t seed,
                                   uint32_t repeats,
                                   void (*report)(void *user, const egraph_step *step),
                                   void *user) {
  EG_REQUIRE(session);
  EG_REQUIRE_CALL(report);
  eg_session *own = session->session;
  const eg_graph *graph = eg_session_graph(own);
  egraph_allocator alloc = eg_graph_allocator(graph);
  EG_LOCAL(eg_owned_tensors, inputs, alloc);
  EG_LOCAL(eg_owned_tensors, outputs, alloc);
  EG_LOCAL(eg_doubles, seconds, alloc);
  const uint32_t rounds = repeats != 0 ? repeats : 1;
  EG_TRY(
      eg_doubles_resize(&seconds, eg_rank_program_step_count(eg_session_program(own))));
  EG_TRY(eg_tensors_draw_inputs(graph, seed, &inputs));
  EG_TRY(eg_tensors_make_outputs(graph, &outputs));
  eg_rank_program_set_timing(eg_session_program(own), true);
  egraph_status status = time_steps(own, &inputs, &outputs, rounds, seconds.data);
  eg_rank_program_set_timing(eg_session_program(own), false);
  if (status == EGRAPH_OK) report_steps(own, rounds, seconds.data, report, user);
  return status;
}
