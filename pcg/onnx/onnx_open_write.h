// Writing a model with open dimensions: the messages of its trials become one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_ONNX_OPEN_WRITE_H
#define EG_PCG_ONNX_OPEN_WRITE_H

#include "pcg/graph/open_sizes.h"
#include "pcg/onnx/onnx_writer.h"

EG_VEC_DEFINE(eg_onnx_texts, const char *);

/// Changes the first trial, in which everything is written, to hold at any sizes of the
/// open dimensions. Fails with EGRAPH_E_UNSUPPORTED, and the name, where something that
/// ONNX has fixed differs between trials.
egraph_status eg_onnx_join_trials(eg_onnx_body *const trials[EG_TRIALS],
                                  const eg_open_sizes *sizes);

#endif
