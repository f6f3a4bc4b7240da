// A node set up for measurement: operands drawn, weights packed and
// repeated, launches bound.
//
// Weights rotate over enough copies to leave the caches between two runs, as in a network
// whose other weights come in between. Data operands and results rotate over a few sets
// that leave the second-level cache but not the third, as if other nodes had run since
// they were written. Without rotation the sum over ResNet-50 is predicted 8 % too low,
// with that of the weights 3 %, with both 2 %.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PROFILE_RIG_H
#define EG_EXEC_PROFILE_RIG_H

#include "exec/backend.h"

EG_VEC_DEFINE(eg_rig_blocks, eg_device_memory);

/// One set of data operands and results. Entries of weights are those of the
/// first set everywhere.
typedef struct eg_rig_set {
  void **operands, **results;
} eg_rig_set;

/// One copy of the weights, joined with one of the sets: addresses and the
/// launch bound to them.
typedef struct eg_rig_copy {
  void **operands, **constants;
  const eg_rig_set *set;
  eg_launch *launch;
} eg_rig_copy;

typedef struct eg_rig {
  egraph_allocator alloc;
  eg_backend *backend;
  const eg_node_spec *spec;
  eg_program *program;
  eg_arena arena;
  eg_rig_blocks blocks;       // allocated for this node
  eg_device_memory *rotation; // lent: memory for the copies, reused from node to node
  size_t rotation_used;
  eg_rig_set *sets;
  uint32_t set_count;
  void *scratch;
  eg_rig_copy *copies;
  uint32_t copy_count, turn;
  void *original; // host: what the overlaid operand held
  size_t original_bytes;
} eg_rig;

/// Sets up a node; program and rotation are borrowed. *rotation may be empty: it is
/// allocated when first needed, the caller destroys it. Deinit in any case.
egraph_status eg_rig_init(eg_rig *rig, eg_backend *backend, eg_device_memory *rotation,
                          const eg_node_spec *spec, eg_program *program);
void eg_rig_deinit(eg_rig *rig);
/// Restores an operand that the last run has overwritten: repeated in place,
/// values would run away.
egraph_status eg_rig_restore(eg_rig *rig);
/// Runs the node once, on the next copy of its weights.
egraph_status eg_rig_run(eg_rig *rig);

#endif
