// Pending events of a simulation: a binary heap of (time, event), in which an event
// occurs once and can be moved or removed by its number. Of two events at one time, the
// event with the smaller number is first.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_EVENT_QUEUE_H
#define EG_BASE_EVENT_QUEUE_H

#include <stdbool.h>

#include "base/vec.h"

typedef struct eg_event {
  double time;
  uint32_t number;
} eg_event;
EG_VEC_DEFINE(eg_events, eg_event);

typedef struct eg_event_queue {
  eg_events heap;
  eg_u32s place; // [number] 1 + position in the heap; 0: not pending
} eg_event_queue;

void eg_event_queue_init(eg_event_queue *queue, egraph_allocator alloc);
void eg_event_queue_deinit(eg_event_queue *queue);
/// Reserves memory for events with numbers below `count`; afterwards eg_event_queue_set
/// cannot fail for such an event.
egraph_status eg_event_queue_reserve(eg_event_queue *queue, uint32_t count);
/// Adds an event at a time, or moves a pending event to that time. O(log n).
void eg_event_queue_set(eg_event_queue *queue, uint32_t number, double time);
/// Removes an event; does nothing when it is not pending.
void eg_event_queue_remove(eg_event_queue *queue, uint32_t number);
/// Returns the time of an event; INFINITY when it is not pending.
double eg_event_queue_time(const eg_event_queue *queue, uint32_t number);
/// Returns the earliest event and leaves it in the queue, which must not be empty.
eg_event eg_event_queue_first(const eg_event_queue *queue);
bool eg_event_queue_is_empty(const eg_event_queue *queue);
void eg_event_queue_clear(eg_event_queue *queue);

#endif
