// A node program of the CUDA back-end: stages (cuda_builder.h) that the operator's family
// lists and that then go to the back-end's stream; or the reference kernel of the node.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CUDA_PROGRAM_H
#define EG_EXEC_CUDA_PROGRAM_H

#include "exec/cuda/series.h"
#include "pcg/graph/node_spec.h"

/// Compiles a request by the function for its operator. Fails with EGRAPH_E_UNSUPPORTED
/// when this has no kernel. Its launches join `series`, a list that goes to the device.
egraph_status eg_cuda_program_create(egraph_allocator alloc, const eg_cuda_device *device,
                                     eg_series *series, const eg_compile_request *request,
                                     eg_program **out);
/// Makes a program of the reference kernel between copies to and from host memory.
egraph_status eg_staged_program_create(egraph_allocator alloc,
                                       const eg_cuda_device *device, eg_series *series,
                                       const eg_node_spec *spec, eg_program **out);

#endif
