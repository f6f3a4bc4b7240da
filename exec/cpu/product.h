// Matrix products, as other families have them, too.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_PRODUCT_H
#define EG_EXEC_CPU_PRODUCT_H

#include "exec/cpu/cpu_builder.h"

/// Makes the node the product of operand 0, [m,k] or turned [k,m], and operand 1, [k,n]
/// or turned [n,k], that lie packed. Fails with EGRAPH_E_UNSUPPORTED where oneDNN does.
egraph_status eg_cpu_add_product(eg_cpu_builder *builder, int64_t m, int64_t n, int64_t k,
                                 bool a_is_turned, bool b_is_turned);

#endif
