// The stages of a node program of the CUDA back-end: a list over numbered places. A stage
// is a library call or one of egraph's kernels, put on the back-end's stream.
//
//   matmul + gelu:  product    operands 0, 1 -> result 0    cuBLASLt, with bias
//                   pointwise  result 0 -> result 0
//
// One function per operator family (device_families.h) fills the builder. A family
// without a kernel for a node returns EGRAPH_E_UNSUPPORTED; the node then runs on its
// reference kernel, on copies in host memory (cuda_program.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CUDA_BUILDER_H
#define EG_EXEC_CUDA_BUILDER_H

#include "exec/cuda/cuda_support.h"
#include "exec/cuda/device_kernels.h"
#include "pcg/graph/node_spec.h"

typedef enum eg_device_place_kind {
  EG_DEVICE_OPERAND,
  EG_DEVICE_RESULT,
  EG_DEVICE_SCRATCH
} eg_device_place_kind;

/// Memory that a stage reads or writes: operand, result or scratch memory, plus `offset`.
typedef struct eg_device_place {
  eg_device_place_kind kind;
  uint32_t index;
  size_t offset; // bytes
} eg_device_place;

enum { EG_MAX_STAGE_PLACES = EG_MOST_JOINED + 1 };

/// Puts the work of a stage on the device's stream; `addresses` has one for each operand,
/// result or scratch memory that the stage lists.
typedef egraph_status (*eg_device_function)(const eg_cuda_device *device,
                                            const void *payload, void *const *addresses);
/// Defines a stage function that launches a kernel; `launch` is an expression of device,
/// addresses and `work`, the payload of type `type`; `what` names the kernel in messages.
#define EG_DEVICE_STAGE(name, type, what, launch)                                        \
  static egraph_status name(const eg_cuda_device *device, const void *payload,           \
                            void *const *addresses) {                                    \
    const type *work = payload;                                                          \
    return eg_cuda_check((launch), what);                                                \
  }
/// Releases resources that a stage's payload (parameters) holds outside of the arena.
typedef void (*eg_device_release)(void *payload);

typedef struct eg_device_stage {
  struct eg_device_stage *next;
  eg_device_function function;
  eg_device_release release; // may be NULL
  void *payload;
  uint32_t count;
  eg_device_place places[EG_MAX_STAGE_PLACES];
} eg_device_stage;

typedef struct eg_cuda_builder {
  const eg_node_spec *spec; // the node that the request compiles
  uint64_t dying;
  const eg_cuda_device *device;
  eg_arena *arena; // arena of the program under construction
  eg_device_stage *first, *last;
  size_t scratch_bytes;
  int32_t overlay;
  uint64_t in_place;
  const char *kernel; // name of the main stage
} eg_cuda_builder;

static inline eg_device_place eg_device_operand(uint32_t index) {
  return (eg_device_place){.kind = EG_DEVICE_OPERAND, .index = index};
}
static inline eg_device_place eg_device_result(uint32_t index) {
  return (eg_device_place){.kind = EG_DEVICE_RESULT, .index = index};
}
/// Reserves scratch memory for a launch of this node.
eg_device_place eg_cuda_scratch(eg_cuda_builder *builder, size_t bytes);
/// Appends a stage with a copy of its payload (parameters). `release`, which may be
/// NULL, gets the copy when the program ends. When this call fails, the caller still
/// owns the payload.
egraph_status eg_cuda_add(eg_cuda_builder *builder, eg_device_function function,
                          const void *payload, size_t payload_bytes,
                          eg_device_release release, const eg_device_place *places,
                          uint32_t count);
/// Releases the resources held by the payloads of a stage and of all later stages.
void eg_device_stages_release(const eg_device_stage *from);
/// Removes all stages that were appended since `mark`, a copy of the builder.
void eg_cuda_rewind(eg_cuda_builder *builder, const eg_cuda_builder *mark);
/// True when result 0 may overwrite operand `index`, which has as many bytes.
bool eg_cuda_may_overlay(const eg_cuda_builder *builder, uint32_t index);
/// Finds the first operand that result 0 may overwrite point by point: it has no later
/// reader, and the shape and layout of the result. -1: none.
int32_t eg_cuda_find_overlay(const eg_cuda_builder *builder);
/// Fails with EGRAPH_E_UNSUPPORTED, so that the node runs on its reference kernel.
egraph_status eg_cuda_refuse(const eg_cuda_builder *builder, const char *why);

#endif
