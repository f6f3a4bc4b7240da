// Runs a graph on one device many times. A session is the loaded program of the only rank
// of a plan that runs the graph unchanged (rank_program.h, pcg/plan/plan.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_SESSION_H
#define EG_EXEC_SESSION_H

#include "exec/rank_program.h"

typedef struct eg_session eg_session;

typedef struct eg_session_options {
  const char *backend; // "cpu" (oneDNN with reference fallback) or "reference"
  uint32_t threads;    // 0: as many as the machine has
  uint64_t seed;       // for weights whose data is absent
} eg_session_options;
#define EG_SESSION_OPTIONS_DEFAULT                                                       \
  { .backend = "cpu", .threads = 1, .seed = 1 }

/// Creates a session. Fails with EGRAPH_E_UNSUPPORTED, naming the node, when a node (an
/// opaque operator) cannot be executed.
egraph_status eg_session_create(const egraph_allocator *alloc, const eg_graph *graph,
                                const eg_session_options *options, eg_session **out);
void eg_session_destroy(eg_session *session);
/// Returns the graph given to eg_session_create; it must live as long as the session.
const eg_graph *eg_session_graph(const eg_session *session);

/// Runs the graph once. inputs[i] is the i-th graph input, row-major, of the declared
/// type; outputs[i] has room for the i-th output, row-major. Allocates nothing.
egraph_status eg_session_run(eg_session *session, const eg_tensor *inputs,
                             const eg_tensor *outputs);

/// Returns the program that the session runs, for its figures; borrowed.
eg_rank_program *eg_session_program(const eg_session *session);

#endif
