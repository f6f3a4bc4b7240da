// The basis of the seconds of exchanges, printed where a plan for this host is priced.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_EXCHANGE_REPORT_H
#define EG_TOOLS_EXCHANGE_REPORT_H

#include "tools/optimize_call.h"

/// Finds the basis of the seconds of exchanges between ranks of a machine that is this
/// host; all 0 for other machines.
egraph_status exchanges_find(const char *machine, uint32_t ranks, const cost_flags *flags,
                             egraph_exchange_basis *out);
/// Writes an object, "exchanges": whether their seconds come from the plan's file, from
/// the machine's figures, from figures of messages of this host, or from measurements
/// here, and when.
void exchanges_json(const char *machine, uint32_t ranks,
                    const egraph_exchange_basis *basis);
/// Prints the rest of a line: how much computing slows down next to an exchange, or why
/// that measurement is doubtful.
void print_slowdown(const egraph_exchange_basis *basis);
/// Prints, for a machine of several ranks of this host, a line "exchanges": when they
/// were measured, or the command that does it; and a line "beside" where that is unknown
/// or doubtful.
void print_exchange_basis(const char *machine, uint32_t ranks,
                          const egraph_exchange_basis *basis);

#endif
