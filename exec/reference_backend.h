// The back-end without a device: every node on the reference kernel of its operator,
// single-threaded. It runs any memory format (operands are brought to row-major first),
// so it is the oracle of the others.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_REFERENCE_BACKEND_H
#define EG_EXEC_REFERENCE_BACKEND_H

#include "exec/backend.h"

extern const eg_backend_vtable eg_reference_backend;

/// Compiles a node for host memory on its reference kernel; the fallback of host
/// back-ends. Fails with EGRAPH_E_UNSUPPORTED for leaves that the caller owns and
/// for opaque operators.
egraph_status eg_reference_compile(egraph_allocator alloc, const eg_node_spec *spec,
                                   eg_program **out);

#endif
