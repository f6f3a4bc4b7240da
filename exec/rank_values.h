// What enters and leaves a rank. For the files rank_*.c and session.c only.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_RANK_VALUES_H
#define EG_EXEC_RANK_VALUES_H

#include "exec/rank_build.h"

/// Copies what the rank holds of a global row-major tensor to `to`, which is as the state
/// is stored.
egraph_status eg_rank_store(eg_rank_program *program, uint32_t state,
                            const eg_tensor *tensor, void *to);
/// Bytes of host memory that a state needs on its way in, or out where it is an output.
egraph_status eg_rank_room_in(const eg_rank_program *program, uint32_t state,
                              size_t *out);
egraph_status eg_rank_room_out(const eg_rank_program *program, uint32_t state,
                               size_t *out);

/// The functions of rank_program.h, without the abort of a failure.
egraph_status eg_rank_load_carried(eg_rank_program *program);
egraph_status eg_rank_put_value(eg_rank_program *program, eg_value value,
                                const eg_tensor *tensor);
/// Of one micro-batch: [graph inputs].
egraph_status eg_rank_read_inputs(eg_rank_program *program, const eg_tensor *inputs);
egraph_status eg_rank_gather(eg_rank_program *program, uint32_t output,
                             const eg_tensor *out);
/// That a tensor has the type of an output, row-major, and data.
egraph_status eg_rank_check_output(const eg_rank_program *program, uint32_t output,
                                   const eg_tensor *tensor);

#endif
