// How a session is put together, in the order of these functions. For the
// files session*.c only.
//
//   analyse   which values are needed, constant, share memory; when they live
//   compile   one program per distinct node, in-place decisions, memory plan
//   load      constants computed and packed, launches bound
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_SESSION_BUILD_H
#define EG_EXEC_SESSION_BUILD_H

#include "exec/program_cache.h"
#include "exec/regions.h"
#include "exec/session.h"

EG_VEC_DEFINE(eg_memory_blocks, eg_device_memory);
EG_VEC_DEFINE(eg_buffer_refs, eg_buffer *);

/// A step that runs; `view` steps have no launch.
typedef struct eg_bound_step {
  eg_session_step info;
  eg_launch *launch;
} eg_bound_step;
EG_VEC_DEFINE(eg_bound_steps, eg_bound_step);

/// An input or output: where it lies on the device and how.
typedef struct eg_port {
  eg_type stored;
  void *address;
  const char *name; // in session->arena
} eg_port;
EG_VEC_DEFINE(eg_ports, eg_port);

struct eg_session {
  egraph_allocator alloc;
  const eg_graph *graph; // given to create, kept by reference
  eg_backend *backend;
  eg_arena arena; // names, kernel names
  eg_program_cache programs;
  eg_bound_steps steps;
  eg_ports inputs, outputs;
  // The arena of all computed values, then the scratch memory.
  eg_device_memory activations;
  eg_memory_blocks constants; // weights and packed weights
  eg_buffer_refs buffers;     // weights used where they are
  size_t arena_bytes, weight_bytes, staging_bytes;
  void *staging; // row-major copies of inputs and outputs in other formats
  bool timing;
};

/// What is known of a value while building.
typedef struct eg_value_plan {
  bool is_needed, is_constant;
  uint32_t region; // not constant: in builder->regions
  // Constants while loading:
  void *address;          // NULL: not there (yet, or any more)
  uint32_t pending;       // uses that still have to read it
  bool is_kept;           // some launch reads it for ever
  eg_device_memory owned; // memory to free, or owner NULL
  eg_buffer *borrowed;    // or a buffer to release
} eg_value_plan;

/// What is known of a node while building.
typedef struct eg_node_plan {
  bool is_needed, is_constant, is_view;
  eg_program *program; // borrowed from the session; NULL for views and constants
} eg_node_plan;

typedef struct eg_session_builder {
  eg_session *session;
  const eg_graph *graph;
  const eg_session_options *options;
  eg_value_plan *values; // [value_count]
  eg_node_plan *nodes;   // [node_count]
  uint32_t value_count, node_count;
  eg_regions regions;
  eg_arena scratch;     // of one node at a time
  size_t scratch_bytes; // of the hungriest launch
} eg_session_builder;

egraph_status eg_session_analyse(eg_session_builder *builder);
egraph_status eg_session_compile(eg_session_builder *builder);
egraph_status eg_session_load(eg_session_builder *builder);

/// The spec of a node; types are copied into builder->scratch, which the caller resets.
egraph_status eg_session_spec(eg_session_builder *builder, uint32_t node,
                              eg_node_spec *out);
/// The program of a spec, compiled or found. Borrowed from the session.
egraph_status eg_session_program(eg_session_builder *builder, const eg_node_spec *spec,
                                 uint64_t dying, eg_program **out);
/// Puts the node's name in front of the message of a failure.
egraph_status eg_session_blame(const eg_session_builder *builder, uint32_t node,
                               egraph_status status);

#endif
