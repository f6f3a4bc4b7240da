// Pointwise functions that oneDNN lacks (erf, floor, ceil, sign, pow), as vectorizable
// loops of our own.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_POINTWISE_H
#define EG_EXEC_CPU_POINTWISE_H

#include "exec/cpu/cpu_program.h"

/// Family of the unary operators among them.
egraph_status eg_cpu_pointwise(eg_cpu_builder *builder);
/// Family of pow: exponent of one element or of the base's shape.
egraph_status eg_cpu_pow(eg_cpu_builder *builder);

#endif
