// The argument of a kernel that body_source.c writes. The text of a kernel depends on
// the body, the element types and which strides are 0 or 1; all numbers are in here, so
// tensors of other sizes need no other kernel.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_BODY_WORK_H
#define EG_EXEC_BODY_WORK_H

/// The most tensors (the result and the operands), and loops over their elements.
enum { EG_BODY_TENSORS = 13, EG_BODY_LOOPS = 8 };

/// The loops over rows come first, then those within a row; without rows there are only
/// the latter.
typedef struct eg_body_work {
  long long rows, count; // elements of a row
  long long packs;       // without rows: so many packs are read and written as a whole
  long long dims[EG_BODY_LOOPS];
  long long strides[EG_BODY_TENSORS][EG_BODY_LOOPS]; // elements
  void *at[EG_BODY_TENSORS];
} eg_body_work;

/// The name of the kernel.
#define EG_BODY_KERNEL "eg_body"

#endif
