// What enters and leaves a rank. For the files rank_*.c only.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_RANK_VALUES_H
#define EG_EXEC_RANK_VALUES_H

#include "exec/rank_build.h"

/// The functions of rank_program.h, without the abort of a failure.
egraph_status eg_rank_load_weights(eg_rank_program *program);
egraph_status eg_rank_put_value(eg_rank_program *program, eg_value value,
                                const eg_tensor *tensor);
/// Of one micro-batch: [graph inputs].
egraph_status eg_rank_read_inputs(eg_rank_program *program, const eg_tensor *inputs);
egraph_status eg_rank_gather(eg_rank_program *program, uint32_t output,
                             const eg_tensor *out);

#endif
