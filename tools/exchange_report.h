// What the seconds of exchanges rest on, told where a plan for this host is priced.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_EXCHANGE_REPORT_H
#define EG_TOOLS_EXCHANGE_REPORT_H

#include "tools/optimize_call.h"

/// What the seconds of exchanges between ranks of a machine rest on, where it is this
/// host; all 0 for other machines.
egraph_status exchanges_find(const char *machine, uint32_t ranks, const cost_flags *flags,
                             egraph_exchange_basis *out);
/// Writes an object, "exchanges": whether their seconds are those of the plan's file, a
/// machine's figures, figures of messages of this host, or measured here, and when.
void exchanges_json(const char *machine, uint32_t ranks,
                    const egraph_exchange_basis *basis);
/// Prints the rest of a line: how much computing slows down beside an exchange, where it
/// was measured, and whether that is to be doubted.
void beside_tell(const egraph_exchange_basis *basis);
/// Prints a line, "exchanges", and one, "beside", where that is not known or doubtful,
/// for a machine of several ranks of this host: when its exchanges were measured, or the
/// command that does it. Nothing for other machines.
void exchanges_tell(const char *machine, uint32_t ranks,
                    const egraph_exchange_basis *basis);

#endif
