// The file with the weights of a model that is written.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_ONNX_DATA_FILE_H
#define EG_PCG_ONNX_DATA_FILE_H

#include "pcg/onnx/onnx_message.h"

/// Moves the raw data of the tensors into "<model_path>.data" and points the tensors
/// there; small ones stay. The file is replaced as a whole. Fails with EGRAPH_E_IO.
egraph_status eg_onnx_data_file_write(eg_arena *arena, const char *model_path,
                                      Onnx__TensorProto **tensors, size_t count);

#endif
