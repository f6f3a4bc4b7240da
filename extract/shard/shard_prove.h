// Proves again what a search has found, with the cost known from the start and by
// reductions only that a small program can check, and writes the certificate.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_PROVE_H
#define EG_EXTRACT_SHARD_SHARD_PROVE_H

#include "extract/shard/shard_branch.h"

/// Writes the certificate of `found` (choice, cost, whether that is proven) to `path`.
/// *out_bound is the part of the bound that the certificate proves: the cost when the
/// proof is complete, EG_SHARD_INFINITE for proven infeasibility. Spends at most `limit`
/// steps. A cheaper choice that turns up on the way becomes the found one.
/// Fails with EGRAPH_E_IO, _MEMORY, _INTERNAL.
egraph_status eg_shard_prove(eg_shard_search *found, uint64_t limit, const char *path,
                             int64_t *out_bound);

#endif
