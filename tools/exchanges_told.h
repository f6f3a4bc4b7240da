// What the seconds of exchanges rest on, told where a plan for this host is priced.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_EXCHANGES_TOLD_H
#define EG_TOOLS_EXCHANGES_TOLD_H

#include "tools/planning.h"

/// Prints a line, "exchanges", for a machine of several ranks of this host: when its
/// exchanges were measured, or the command that does it. Nothing for other machines.
egraph_status exchanges_tell(const char *machine, uint32_t ranks,
                             const cost_flags *flags);

#endif
