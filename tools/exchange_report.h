// Prints the basis of the seconds of exchanges when a plan for this host is priced.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_EXCHANGE_REPORT_H
#define EG_TOOLS_EXCHANGE_REPORT_H

#include "tools/optimize_call.h"

/// Finds the source of the predicted seconds of exchanges between ranks of this host; all
/// 0 for another machine.
egraph_status exchanges_find(const char *machine, uint32_t ranks, const cost_flags *flags,
                             egraph_exchange_basis *out);
/// Writes the object "exchanges": its source (the plan's file, the machine's figures,
/// message figures of this host, or measurements on this host), and the date.
void exchanges_json(const char *machine, uint32_t ranks,
                    const egraph_exchange_basis *basis);
/// Prints the rest of a line: the slowdown of computing next to an exchange, or why that
/// measurement is doubtful.
void print_slowdown(const egraph_exchange_basis *basis);
/// Prints, for a machine of several ranks of this host, a line "exchanges": the date of
/// the measurements, or the command that measures; and a line "beside" when the slowdown
/// is unknown or doubtful.
void print_exchange_basis(const char *machine, uint32_t ranks,
                          const egraph_exchange_basis *basis);

#endif
