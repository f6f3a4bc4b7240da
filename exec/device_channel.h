// Channels between device memories: buffers lie in the memory of a back-end. Each channel
// uses a second channel between the same ranks in host memory, the control.
//
//   control     all ranks meet there before every collective: a missing rank is named at
//               the deadline, a different collective is an error, a failure ends all
//               ranks
//   transport   carries the data from device to device once all have come
//
// Without a transport, and for collectives that it does not carry, the data goes through
// host memory and the control, in the control's order. A transport like NCCL's is not
// ordered: sums of floats may differ in their last bits from run to run, 16-bit floats
// may be rounded at every rank, and the maximum of a number and NaN may be the number.
//
// A call returns when the collective is done, so buffers are free. When a rank is lost
// after all ranks have begun a collective, the other ranks fail at the deadline of this
// channel, which is initially the deadline of the control.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_DEVICE_CHANNEL_H
#define EG_EXEC_DEVICE_CHANNEL_H

#include "exec/channel.h"

/// Creates the channel; all ranks call it together, with the same transport: a name, or
/// NULL. Control and back-end are borrowed and outlive the channel; only the channel uses
/// the control. A failure ends the control for all ranks. Fails with EGRAPH_E_UNSUPPORTED
/// when the plugin cannot run or several ranks are on one device, with EGRAPH_E_CANCELLED
/// when a rank does not come.
egraph_status eg_device_channel_create(const egraph_allocator *alloc, eg_channel *control,
                                       eg_backend *backend, const char *transport,
                                       eg_channel **out);

// ---- transports ---------------------------------------------------------------------

// A transport, such as NCCL, carries collectives between devices, without the host
// touching the data. A transport belongs to one rank, works on one device's queue, and
// has a group per axis of the mesh. None of its functions waits for other ranks: the
// channel polls it, so that deadlines hold.

enum { EG_TRANSPORT_ID_BYTES = 128 };

typedef struct eg_transport eg_transport;

typedef struct eg_transport_vtable {
  const char *name;
  /// required. Creates a transport for this rank; the device's queue is borrowed.
  egraph_status (*create)(egraph_allocator alloc, const eg_device_queue *queue,
                          eg_transport **out);
  void (*destroy)(eg_transport *transport); // required; called when all ranks are done
  /// required. Makes a name for a new group; all members join with this name.
  egraph_status (*make_id)(eg_transport *transport,
                           unsigned char out[EG_TRANSPORT_ID_BYTES]);
  /// required. Begins to join the group of ranks along `axis`; `poll` finds the end.
  egraph_status (*join)(eg_transport *transport, uint32_t axis, const eg_group *group,
                        const unsigned char id[EG_TRANSPORT_ID_BYTES]);
  /// required. True when the transport can carry this collective.
  bool (*carries)(const eg_collective *what);
  /// required. Begins a collective along what->axis on device buffers, after the work
  /// that is already on the queue.
  egraph_status (*start)(eg_transport *transport, const eg_group *group,
                         const eg_collective *what);
  /// required. Finds whether the collective (or the joining) begun along `axis` is done.
  /// Fails when it can never end.
  egraph_status (*poll)(eg_transport *transport, uint32_t axis, bool *out_is_done);
  /// required. Gives up all collectives that have begun, so that none keeps the queue
  /// waiting and their buffers are free. A rank that has not yet seen the end of such a
  /// collective never sees it.
  void (*give_up)(eg_transport *transport);
} eg_transport_vtable;

struct eg_transport {
  const eg_transport_vtable *vtable;
  egraph_allocator alloc;
};

/// Finds a transport: "nccl", a plugin that is loaded once, or "nccl:FILE", the plugin in
/// FILE. Fails with EGRAPH_E_ARGUMENT for other names, with EGRAPH_E_UNSUPPORTED when the
/// plugin cannot run.
egraph_status eg_transport_find(const char *name, const eg_transport_vtable **out);

#endif
