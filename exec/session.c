// The life of a session and its runs; how it is built: session_build.h.
// SPDX-License-Identifier: Apache-2.0
#include "exec/session.h"

#include "exec/session_build.h"

// ---- creation -------------------------------------------------------------------

static egraph_status open_session(const egraph_allocator *alloc,
                                  const eg_session_options *options, eg_session **out) {
  egraph_allocator own = eg_allocator_or_heap(alloc);
  eg_session *session;
  EG_TRY(eg_alloc(own, 1, sizeof *session, &session));
  session->alloc = own;
  eg_arena_init(&session->arena, own);
  eg_program_cache_init(&session->programs, own);
  eg_bound_steps_init(&session->steps, own);
  eg_ports_init(&session->inputs, own);
  eg_ports_init(&session->outputs, own);
  eg_memory_blocks_init(&session->constants, own);
  eg_buffer_refs_init(&session->buffers, own);
  egraph_status status = eg_backend_create(
      &own, options->backend, &(eg_backend_options){.threads = options->threads},
      &session->backend);
  if (status != EGRAPH_OK) {
    eg_session_destroy(session);
    return status;
  }
  *out = session;
  return EGRAPH_OK;
}

static egraph_status open_builder(eg_session_builder *b) {
  egraph_allocator alloc = b->session->alloc;
  eg_regions_init(&b->regions, alloc);
  eg_arena_init(&b->scratch, alloc);
  EG_TRY(eg_alloc(alloc, b->value_count, sizeof *b->values, &b->values));
  return eg_alloc(alloc, b->node_count, sizeof *b->nodes, &b->nodes);
}

static void close_builder(eg_session_builder *b) {
  egraph_allocator alloc = b->session->alloc;
  for (uint32_t v = 0; b->values != NULL && v < b->value_count; v++) {
    eg_device_memory_destroy(b->session->backend, &b->values[v].owned);
    eg_buffer_release(b->values[v].borrowed);
  }
  eg_free(alloc, b->values, b->value_count, sizeof *b->values);
  eg_free(alloc, b->nodes, b->node_count, sizeof *b->nodes);
  eg_regions_deinit(&b->regions);
  eg_arena_deinit(&b->scratch);
}

egraph_status eg_session_create(const egraph_allocator *alloc, const eg_graph *graph,
                                const eg_session_options *options, eg_session **out) {
  eg_session *session = NULL;
  EG_TRY(open_session(alloc, options, &session));
  session->graph = graph;
  eg_session_builder builder = {.session = session,
                                .graph = graph,
                                .options = options,
                                .value_count = eg_graph_value_count(graph),
                                .node_count = eg_graph_node_count(graph)};
  egraph_status status = open_builder(&builder);
  if (status == EGRAPH_OK) status = eg_session_analyse(&builder);
  if (status == EGRAPH_OK) status = eg_session_compile(&builder);
  if (status == EGRAPH_OK) status = eg_session_load(&builder);
  close_builder(&builder);
  if (status != EGRAPH_OK) {
    eg_session_destroy(session);
    return status;
  }
  *out = session;
  return EGRAPH_OK;
}

static void destroy_steps(eg_session *session) {
  for (size_t i = 0; i < session->steps.len; i++)
    eg_launch_destroy(session->steps.data[i].launch);
  eg_bound_steps_deinit(&session->steps);
  eg_program_cache_deinit(&session->programs);
}

void eg_session_destroy(eg_session *session) {
  if (session == NULL) return;
  destroy_steps(session);
  for (size_t i = 0; i < session->constants.len; i++)
    eg_device_memory_destroy(session->backend, &session->constants.data[i]);
  eg_memory_blocks_deinit(&session->constants);
  for (size_t i = 0; i < session->buffers.len; i++)
    eg_buffer_release(session->buffers.data[i]);
  eg_buffer_refs_deinit(&session->buffers);
  eg_device_memory_destroy(session->backend, &session->activations);
  eg_free(session->alloc, session->staging, session->staging_bytes, 1);
  eg_ports_deinit(&session->inputs);
  eg_ports_deinit(&session->outputs);
  eg_backend_destroy(session->backend);
  eg_arena_deinit(&session->arena);
  eg_free(session->alloc, session, 1, sizeof *session);
}

// ---- runs -----------------------------------------------------------------------

static egraph_status check_tensor(const eg_port *port, const eg_tensor *tensor,
                                  const char *what) {
  const eg_type *want = &port->stored, *have = &tensor->type;
  if (have->dtype != want->dtype || !eg_type_same_shape(have, want))
    return EG_FAIL(EGRAPH_E_TYPE, "%s '%s': the tensor given is not of the graph's type",
                   what, port->name);
  if (have->layout.format != EG_FORMAT_PLAIN)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s '%s': give a row-major tensor", what,
                   port->name);
  if (tensor->data == NULL && eg_type_elements(have) != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s '%s': no data", what, port->name);
  return EGRAPH_OK;
}

static egraph_status read_inputs(eg_session *session, const eg_tensor *inputs) {
  for (size_t i = 0; i < session->inputs.len; i++) {
    const eg_port *port = &session->inputs.data[i];
    EG_TRY(check_tensor(port, &inputs[i], "input"));
    const void *from = inputs[i].data;
    if (port->stored.layout.format != EG_FORMAT_PLAIN) {
      eg_tensor staged = {.type = port->stored, .data = session->staging};
      EG_TRY(eg_tensor_reorder(&inputs[i], &staged));
      from = staged.data;
    }
    EG_TRY(eg_backend_upload(session->backend, port->address, from,
                             eg_type_bytes(&port->stored)));
  }
  return EGRAPH_OK;
}

static egraph_status write_outputs(eg_session *session, const eg_tensor *outputs) {
  for (size_t i = 0; i < session->outputs.len; i++) {
    const eg_port *port = &session->outputs.data[i];
    bool staged = port->stored.layout.format != EG_FORMAT_PLAIN;
    void *to = staged ? session->staging : outputs[i].data;
    EG_TRY(eg_backend_download(session->backend, to, port->address,
                               eg_type_bytes(&port->stored)));
    if (!staged) continue;
    eg_tensor from = {.type = port->stored, .data = session->staging};
    EG_TRY(eg_tensor_reorder(&from, &outputs[i]));
  }
  return EGRAPH_OK;
}

static egraph_status run_steps(eg_session *session) {
  for (size_t i = 0; i < session->steps.len; i++) {
    eg_launch *launch = session->steps.data[i].launch;
    if (launch != NULL) EG_TRY(launch->vtable->run(launch));
  }
  return EGRAPH_OK;
}

// Steps of an asynchronous back-end are waited for one by one.
static egraph_status run_steps_timed(eg_session *session) {
  for (size_t i = 0; i < session->steps.len; i++) {
    eg_bound_step *step = &session->steps.data[i];
    if (step->launch == NULL) continue;
    double start = eg_clock_seconds();
    EG_TRY(step->launch->vtable->run(step->launch));
    if (session->backend->vtable->wait != NULL)
      EG_TRY(session->backend->vtable->wait(session->backend));
    step->info.seconds = eg_clock_seconds() - start;
  }
  return EGRAPH_OK;
}

egraph_status eg_session_run(eg_session *session, const eg_tensor *inputs,
                             const eg_tensor *outputs) {
  for (size_t i = 0; i < session->outputs.len; i++)
    EG_TRY(check_tensor(&session->outputs.data[i], &outputs[i], "output"));
  EG_TRY(read_inputs(session, inputs));
  EG_TRY(eg_backend_begin(session->backend));
  egraph_status status = session->timing ? run_steps_timed(session) : run_steps(session);
  egraph_status end = eg_backend_end(session->backend);
  if (status != EGRAPH_OK) return status;
  EG_TRY(end);
  return write_outputs(session, outputs);
}

// ---- figures --------------------------------------------------------------------

void eg_session_set_timing(eg_session *session, bool on) { session->timing = on; }

uint32_t eg_session_step_count(const eg_session *session) {
  return (uint32_t)session->steps.len;
}

const eg_session_step *eg_session_step_at(const eg_session *session, uint32_t index) {
  return &eg_bound_steps_at(&session->steps, index)->info;
}

size_t eg_session_arena_bytes(const eg_session *session) { return session->arena_bytes; }

size_t eg_session_weight_bytes(const eg_session *session) {
  return session->weight_bytes;
}

const eg_graph *eg_session_graph(const eg_session *session) { return session->graph; }
