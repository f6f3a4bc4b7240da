// How one kernel computes a fused node (ops/body.h): its loops, and its lines.
//
//   (mul b (sub a (reduce-sum :axes [1] :keepdims 1 (mul a b))))      float32[128,512]
//
//   loops: 128 rows x 512                           strides of a, b and the result 512 1
//   v0, v1 = a, b          of an element            v5 = sum of v3, a fold of pass 0
//   v2 = b - v5 ..         of an element, ready in pass 1
//
// A line is a variable of the kernel. Lines of elements are in loops over a row, of which
// there is one more than folds follow each other; lines of rows stand between the loops.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_BODY_PLAN_H
#define EG_EXEC_BODY_PLAN_H

#include "exec/cuda/device/body_work.h"
#include "ops/body.h"
#include "pcg/graph/node_spec.h"

enum { EG_BODY_LINES = 320, EG_LINE_OPERANDS = 5 };

typedef enum eg_line_kind {
  EG_LINE_ELEMENT,
  EG_LINE_ROW, // the same for all elements of a row
  EG_LINE_FOLD // of all elements of a row
} eg_line_kind;

typedef struct eg_body_line {
  eg_line_kind kind;
  const char *type; // in the kernel: "bool", "float", "double"
  const char *fold; // of folds: the function that combines two
  uint32_t ready; // the loop that computes it, of a line of rows: before which it stands
  size_t text, length; // its formula in `texts`; operands have none
  uint32_t count;
  uint16_t operands[EG_LINE_OPERANDS]; // the lines in it
} eg_body_line;

typedef struct eg_body_plan {
  uint32_t tensors; // the result, and the operands
  egraph_dtype dtypes[EG_BODY_TENSORS];
  uint32_t outer, rank; // loops over rows, and all loops
  int64_t dims[EG_BODY_LOOPS];
  int64_t strides[EG_BODY_TENSORS][EG_BODY_LOOPS]; // elements
  int64_t rows, count;                             // elements of a row
  bool has_rows;                                   // some elements are mixed
  bool is_wide;                                    // indices need 64 bits
  uint32_t threads;                                // of a block
  uint32_t kept; // elements of a row that a thread keeps; 0: it computes them again
  uint32_t pack; // elements that are read and written as a whole; 0: none
  eg_text texts;
  uint32_t line_count; // the last line is the result
  eg_body_line lines[EG_BODY_LINES];
} eg_body_plan;

/// Plans the kernel of a fused node; free the plan with eg_body_plan_deinit, also after a
/// failure. Fails with EGRAPH_E_UNSUPPORTED where one kernel cannot compute it:
/// `*out_why` says why.
egraph_status eg_body_plan_init(eg_body_plan *plan, egraph_allocator alloc,
                                const eg_node_spec *spec, const eg_body *body,
                                const char **out_why);
void eg_body_plan_deinit(eg_body_plan *plan);

/// Finds how C for devices names the type of elements in memory, and of values in
/// registers; false: kernels of bodies have no such elements.
bool eg_body_type_names(egraph_dtype dtype, const char **out_memory,
                        const char **out_value);
/// Adds the lines of a body (body_lines.c). False: an operator has none.
bool eg_body_lines_add(eg_body_plan *plan, const eg_body *body);
/// Appends the CUDA C of the kernel (body_source.c).
egraph_status eg_body_source_write(const eg_body_plan *plan, eg_text *out);
/// Fills all of the kernel's argument but the addresses.
void eg_body_work_fill(const eg_body_plan *plan, eg_body_work *out);

#endif
