// Status codes and the last-error message.
//
// Every function that can fail returns egraph_status. The message of the last failure
// lives in a thread-local buffer, so failing never allocates. `EG_FAIL` sets the message,
// `EG_TRY` passes a failure up, `eg_fail_context` adds a prefix on the way ("conv
// 'conv1': ...").
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_STATUS_H
#define EG_BASE_STATUS_H

#include <stdbool.h>

#include "include/egraph.h"

#if defined(__GNUC__)
#define EG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define EG_PRINTF(fmt, args)
#endif

/// Longer messages are truncated.
enum { EG_MESSAGE_BYTES = 1024 };

/// Stores the message of a failure and returns `code`.
egraph_status eg_fail(egraph_status code, const char *format, ...) EG_PRINTF(2, 3);
/// Puts "text: " in front of the stored message and returns `code` unchanged.
egraph_status eg_fail_context(egraph_status code, const char *format, ...)
    EG_PRINTF(2, 3);

/// Turns messages of failures with EGRAPH_E_TYPE on or off for this thread; returns the
/// old setting. A thread that only tests whether operands have a type turns messages off:
/// making messages takes longer than typing. In plugins messages are always on.
bool eg_type_messages_enable(bool on);
bool eg_type_messages_are_on(void); // type_messages.c

/// Fails with a constant `code`, so that the compiler knows that the call does not
/// return EGRAPH_OK.
#define EG_FAIL(code, ...) ((void)eg_fail((code), __VA_ARGS__), (egraph_status)(code))
/// Returns from the enclosing function when `call` fails.
#define EG_TRY(call)                                                                     \
  do {                                                                                   \
    egraph_status eg_try_status_ = (call);                                               \
    if (eg_try_status_ != EGRAPH_OK) return eg_try_status_;                              \
  } while (0)
/// Jumps to `label` when `call` fails; `status` keeps the code. For functions
/// that own resources.
#define EG_TRY_GOTO(status, call, label)                                                 \
  do {                                                                                   \
    (status) = (call);                                                                   \
    if ((status) != EGRAPH_OK) goto label;                                               \
  } while (0)

#endif
