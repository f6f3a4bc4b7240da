// The certificate of a plain extraction: the choice, its cost, and a proof of the bound
// on the original problem.
//
// The proof is found anew: with the cost known, a search in proof mode (plain_proof.h)
// uses only steps that can be explained on the original problem: it neither merges nor
// collapses classes. Where that takes too long or too much room, the certificate proves
// the bound of the root of its tree.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PLAIN_CERTIFICATE_H
#define EG_EXTRACT_PLAIN_CERTIFICATE_H

#include "extract/certificate_file.h"
#include "extract/extract.h"

/// Appends the certificate of a result; result->certified becomes the bound that it
/// proves. At most as long as the time limit. Fails with EGRAPH_E_MEMORY,
/// EGRAPH_E_INTERNAL.
egraph_status eg_plain_certificate_make(egraph_allocator alloc,
                                        const eg_extract_problem *problem,
                                        const eg_extract_options *options,
                                        eg_extract_result *result,
                                        eg_certificate_file *out);
/// The same into the file options->certificate. Fails with EGRAPH_E_IO, too.
egraph_status eg_plain_certificate_write(egraph_allocator alloc,
                                         const eg_extract_problem *problem,
                                         const eg_extract_options *options,
                                         eg_extract_result *result);

#endif
