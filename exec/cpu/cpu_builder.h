// The stages of a node program of the CPU back-end: two lists over numbered places. The
// list `prepare` turns weight operands into constants once, the list `run` computes the
// results. A stage is a oneDNN primitive or one of egraph's functions.
//
//   conv (plain):  prepare  reorder      operand 1 -> constant 0
//                  run      convolution  operand 0, constant 0 -> result 0
//                           binary       result 0, operand 3 -> result 0
//
// Some kernels of oneDNN turn NaN into numbers. Where their floating-point flag reports
// this (kernel_threads.h), a third list computes the results again or corrects them; it
// is empty where kernels keep NaN:
//
//   conv+relu (nhwc):  run    convolution, relu fused   operand 0, constant 0 -> result 0
//                      again  convolution               operand 0, constant 0 -> result 0
//                             relu, egraph's loop       result 0 -> result 0
//
// One function per operator family (in this folder's family files) fills the builder. A
// family that has no kernel for a node returns EGRAPH_E_UNSUPPORTED; the node then runs
// on its reference kernel.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_BUILDER_H
#define EG_EXEC_CPU_BUILDER_H

#include "exec/backend.h"
#include "exec/cpu/dnnl_support.h"
#include "pcg/graph/node_spec.h"

typedef enum eg_place_kind {
  EG_PLACE_OPERAND,
  EG_PLACE_RESULT,
  EG_PLACE_CONSTANT,
  EG_PLACE_SCRATCH
} eg_place_kind;

/// Memory that a stage reads or writes: the address of an operand, a result, a constant
/// or the scratch memory, plus `offset`.
typedef struct eg_place {
  eg_place_kind kind;
  uint32_t index;
  size_t offset; // bytes
} eg_place;

/// An argument of a oneDNN primitive: DNNL_ARG_*, its memory and its format.
typedef struct eg_stage_arg {
  int name;
  eg_place place;
  const_dnnl_memory_desc_t desc; // copied when the stage is added
} eg_stage_arg;

enum { EG_MAX_STAGE_ARGS = 8 };

/// One of egraph's functions as a stage of a program; `addresses` are in the order of the
/// operands, results or scratch memory that were listed when the stage was added.
typedef egraph_status (*eg_stage_function)(const void *payload, void *const *addresses);

typedef struct eg_stage {
  struct eg_stage *next;
  dnnl_primitive_t primitive; // NULL: another kind of stage
  eg_program *reference;      // NULL: another kind of stage
  eg_stage_function function;
  const void *payload;
  eg_stage_arg *operands;
  uint32_t count;
} eg_stage;

typedef struct eg_stage_list {
  eg_stage *first, *last;
  uint32_t count;
} eg_stage_list;

typedef struct eg_cpu_builder {
  const eg_node_spec *spec; // the node that the request compiles
  uint64_t dying;
  dnnl_engine_t engine;
  dnnl_primitive_attr_t plain; // attributes of primitives without post-ops
  egraph_allocator alloc;
  eg_descs descs;        // valid until the program is built
  eg_arena *arena;       // arena of the program under construction
  eg_descs *stage_descs; // descriptors that live as long as the program
  eg_stage_list prepare, run, again;
  eg_sizes constant_bytes;
  size_t scratch_bytes, other_scratch_bytes; // for `run`, for `again`
  uint64_t kept;
  int32_t overlay;
  const char *kernel; // name of the main stage
} eg_cpu_builder;

static inline eg_place eg_place_operand(uint32_t index) {
  return (eg_place){.kind = EG_PLACE_OPERAND, .index = index};
}
static inline eg_place eg_place_result(uint32_t index) {
  return (eg_place){.kind = EG_PLACE_RESULT, .index = index};
}
/// Reserves scratch memory for a launch of this node.
eg_place eg_cpu_scratch(eg_cpu_builder *builder, size_t bytes);
/// Reserves memory for a constant, which a stage of the list `prepare` must write.
egraph_status eg_cpu_constant(eg_cpu_builder *builder, size_t bytes, eg_place *out);
/// Returns operand `index` as memory that a stage of the list `run` reads. A weight that
/// is read in this way stays in memory after `prepare`.
eg_place eg_cpu_read(eg_cpu_builder *builder, uint32_t index);
/// True when result 0 may overwrite operand `index`, which has as many bytes.
bool eg_cpu_may_overlay(const eg_cpu_builder *builder, uint32_t index);

/// Appends a oneDNN primitive to the list builder->run or builder->prepare.
egraph_status eg_cpu_add_primitive(eg_cpu_builder *builder, eg_stage_list *list,
                                   const_dnnl_primitive_desc_t desc,
                                   const eg_stage_arg *args, uint32_t count);
/// Appends one of egraph's functions as a stage; `payload` must lie in builder->arena.
egraph_status eg_cpu_add_function(eg_cpu_builder *builder, eg_stage_list *list,
                                  eg_stage_function function, const void *payload,
                                  const eg_place *places, uint32_t count);

/// Finds the memory where operand `index` can be read in the format `want`: the operand
/// itself when its format `have` equals `want`, otherwise a constant (weights) or scratch
/// memory (data) that a reorder fills.
egraph_status eg_cpu_read_as(eg_cpu_builder *builder, uint32_t index,
                             const_dnnl_memory_desc_t have, const_dnnl_memory_desc_t want,
                             eg_place *out);
/// Appends a reorder (a copy between two memory formats) to a list of stages.
egraph_status eg_cpu_add_reorder(eg_cpu_builder *builder, eg_stage_list *list,
                                 eg_place from, const_dnnl_memory_desc_t from_desc,
                                 eg_place to, const_dnnl_memory_desc_t to_desc);

/// Exchanges `run` and `again`; call it before and after the stages for `again` are
/// appended. These stages find the operands as `run` did (so nothing overlays operands
/// that they read), and the results of `run`.
void eg_cpu_exchange_lists(eg_cpu_builder *builder);
/// Appends the reference kernel of the node to the list builder->run.
egraph_status eg_cpu_add_reference(eg_cpu_builder *builder);

/// Fails with EGRAPH_E_UNSUPPORTED and the message "operator: why".
egraph_status eg_cpu_refuse(const eg_cpu_builder *builder, const char *why);

/// Makes the attributes that all primitives of this back-end have: the caller provides
/// the scratchpads. Destroy the attributes with dnnl_primitive_attr_destroy.
egraph_status eg_cpu_attr_create(dnnl_primitive_attr_t *out);
/// Returns oneDNN's name of the kernel, "brgconv:avx512_core"; borrowed from
/// the descriptor.
const char *eg_cpu_kernel_of(const_dnnl_primitive_desc_t desc);
/// True when oneDNN would run its slow reference kernel.
bool eg_cpu_is_slow(const_dnnl_primitive_desc_t desc);
/// True when post-ops do not slow a primitive down: its kernel is generated code, and is
/// not a matrix product followed by a pass.
bool eg_cpu_fuses_well(const_dnnl_primitive_desc_t desc);
/// Makes the name of this primitive's kernel the name of the program.
egraph_status eg_cpu_name(eg_cpu_builder *builder, const_dnnl_primitive_desc_t desc);

#endif
