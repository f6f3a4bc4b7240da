// The e-graph of plain terms, which several files of public functions share.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_TERMS_H
#define EG_API_TERMS_H

#include "rewrites/terms/symbolic_internal.h"

struct egraph_terms {
  egraph_allocator alloc;
  eg_symbolic *symbolic;
  eg_saturation_report last; // of the last saturation; empty before the first
};

/// Fails with EGRAPH_E_ARGUMENT when unions of the e-graph await a rebuild.
egraph_status eg_terms_check_clean(const egraph_terms *terms);

#endif
