// Structs of options as callers of any version hand them in: a shorter one has the
// defaults for what it lacks.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_OPTION_STRUCTS_H
#define EG_API_OPTION_STRUCTS_H

#include "base/status.h"

/// Fills *out, the whole struct of this library, from the caller's (NULL: the defaults).
/// Fails with EGRAPH_E_ARGUMENT for a size that no version of the struct has had.
egraph_status eg_options_take(egraph_options_kind kind, const void *given, void *out);

#endif
