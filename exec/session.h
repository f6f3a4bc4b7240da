// A graph on one device, run many times: the loaded program of the only rank of a plan
// that runs the graph unchanged (rank_program.h, pcg/plan/plan.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_SESSION_H
#define EG_EXEC_SESSION_H

#include "exec/rank_program.h"

typedef struct eg_session eg_session;

typedef struct eg_session_options {
  const char *backend; // "cpu" (oneDNN with reference fallback) or "reference"
  uint32_t threads;    // 0: as many as the machine has
  uint64_t seed;       // of weights whose data is absent
} eg_session_options;
#define EG_SESSION_OPTIONS_DEFAULT                                                       \
  { .backend = "cpu", .threads = 1, .seed = 1 }

/// Fails with EGRAPH_E_UNSUPPORTED naming the node when something (an opaque operator)
/// cannot be executed.
egraph_status eg_session_create(const egraph_allocator *alloc, const eg_graph *graph,
                                const eg_session_options *options, eg_session **out);
void eg_session_destroy(eg_session *session);
/// The graph given to create (kept by reference: it must live as long as the session).
const eg_graph *eg_session_graph(const eg_session *session);

/// Runs once. inputs[i] is the i-th graph input, row-major, type equal to the declared
/// one; outputs[i] has room for the i-th output, row-major. Nothing is allocated.
egraph_status eg_session_run(eg_session *session, const eg_tensor *inputs,
                             const eg_tensor *outputs);

/// The program that the session runs, for its figures; borrowed.
eg_rank_program *eg_session_program(const eg_session *session);

#endif
