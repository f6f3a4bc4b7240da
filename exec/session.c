// SPDX-License-Identifier: Apache-2.0
#include "exec/session.h"

#include <assert.h>

#include "base/owner.h"
#include "exec/rank_program_internal.h"
#include "pcg/plan/plan.h"

struct eg_session {
  egraph_allocator alloc;
  eg_plan plan;
  eg_rank_program *program;
};

static egraph_status open_program(eg_session *s, const eg_graph *graph,
                                  const eg_session_options *o) {
  const eg_rank_options options = {
      .backend = o->backend, .threads = o->threads, .seed = o->seed};
  EG_TRY(eg_graph_check_known(graph, "executed"));
  EG_TRY(eg_plan_of_graph(graph, &s->plan));
  EG_TRY(eg_rank_program_create(&s->alloc, &s->plan, NULL, &options, &s->program));
  return eg_rank_program_load(s->program);
}

egraph_status eg_session_create(const egraph_allocator *alloc, const eg_graph *graph,
                                const eg_session_options *options, eg_session **out) {
  egraph_allocator own = eg_allocator_or_heap(alloc);
  eg_session *session;
  EG_TRY(eg_alloc(own, 1, sizeof *session, &session));
  session->alloc = own;
  eg_plan_init(&session->plan, own);
  EG_HAND_OVER_OR_DESTROY(open_program(session, graph, options), session,
                          eg_session_destroy, out);
}

void eg_session_destroy(eg_session *session) {
  if (session == NULL) return;
  eg_rank_program_destroy(session->program);
  eg_plan_deinit(&session->plan);
  eg_free(session->alloc, session, 1, sizeof *session);
}

const eg_graph *eg_session_graph(const eg_session *session) {
  return session->plan.graph;
}

egraph_status eg_session_run(eg_session *session, const eg_tensor *inputs,
                             const eg_tensor *outputs) {
  assert(session->program != NULL);
  uint32_t count = (uint32_t)session->plan.output_states.len;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_rank_check_output(session->program, i, &outputs[i]));
  EG_TRY(eg_rank_program_run(session->program, inputs));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_rank_program_fetch(session->program, i, &outputs[i]));
  return EGRAPH_OK;
}

eg_rank_program *eg_session_program(const eg_session *session) {
  return session->program;
}
