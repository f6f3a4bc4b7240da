// Channels whose buffers lie in the memory of a back-end, over a channel between the same
// ranks in host memory, the control.
//
//   control     every collective is met there first: who does not come is missed at the
//               deadline and named, who runs something else is told, who fails ends all
//   transport   carries the data from device to device once all have come
//
// Without a transport, and for what it does not carry, the data goes through host memory
// and the control, in its order. A transport like NCCL's is not ordered: sums of floats
// may differ in their last bits from run to run, 16-bit floats may be rounded at every
// rank, the maximum of a number and NaN may be the number.
//
// A call returns when the collective is done, so buffers are free. When a rank is lost
// after all have come, the others end at the deadline; the channel's begins as the
// control's.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_DEVICE_CHANNEL_H
#define EG_EXEC_DEVICE_CHANNEL_H

#include "exec/transport.h"

/// All ranks together, with the same transport: a name (transport.h), or NULL. Control
/// and back-end are borrowed and outlive the channel; nobody else uses the control
/// meanwhile. A failure ends the control for all ranks. Fails with EGRAPH_E_UNSUPPORTED
/// when the plugin cannot run or several ranks are on one device, with
/// EGRAPH_E_CANCELLED when a rank does not come.
egraph_status eg_device_channel_create(const egraph_allocator *alloc, eg_channel *control,
                                       eg_backend *backend, const char *transport,
                                       eg_channel **out);

#endif
