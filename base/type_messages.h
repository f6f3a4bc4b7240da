// Whether failures with EGRAPH_E_TYPE keep a message. A thread that only asks whether
// something has a type does without: making messages takes longer than typing. Plugins
// have a flag of their own, which is on.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_TYPE_MESSAGES_H
#define EG_BASE_TYPE_MESSAGES_H

#include <stdbool.h>

/// For this thread. Returns what was set before.
bool eg_type_messages_enable(bool on);
bool eg_type_messages_are_on(void);

#endif
