// SPDX-License-Identifier: Apache-2.0
#include "base/event_queue.h"

#include <math.h>

#include "base/owner.h"

EG_OWNER_DEFINE(eg_event_queue, (eg_events, heap), (eg_u32s, place))

egraph_status eg_event_queue_reserve(eg_event_queue *queue, uint32_t count) {
  EG_TRY(eg_events_reserve(&queue->heap, count));
  return count > queue->place.len ? eg_u32s_resize(&queue->place, count) : EGRAPH_OK;
}

static bool is_before(eg_event a, eg_event b) {
  return a.time < b.time || (a.time == b.time && a.number < b.number);
}

static void put(eg_event_queue *queue, size_t place, eg_event event) {
  queue->heap.data[place] = event;
  queue->place.data[event.number] = (uint32_t)place + 1;
}

/// Puts an event into the heap, at or near the free position `place`: moves other events
/// up or down until the heap is in order.
static void settle(eg_event_queue *queue, size_t place, eg_event event) {
  const eg_event *heap = queue->heap.data;
  for (; place != 0 && is_before(event, heap[(place - 1) / 2]); place = (place - 1) / 2)
    put(queue, place, heap[(place - 1) / 2]);
  for (size_t child; (child = 2 * place + 1) < queue->heap.len; place = child) {
    if (child + 1 < queue->heap.len && is_before(heap[child + 1], heap[child])) child++;
    if (!is_before(heap[child], event)) break;
    put(queue, place, heap[child]);
  }
  put(queue, place, event);
}

void eg_event_queue_set(eg_event_queue *queue, uint32_t number, double time) {
  assert(number < queue->place.len);
  size_t place = queue->place.data[number];
  if (place == 0) place = ++queue->heap.len;
  settle(queue, place - 1, (eg_event){time, number});
}

void eg_event_queue_remove(eg_event_queue *queue, uint32_t number) {
  size_t place = queue->place.data[number];
  if (place == 0) return;
  queue->place.data[number] = 0;
  eg_event last = eg_events_pop(&queue->heap);
  if (last.number != number) settle(queue, place - 1, last);
}

double eg_event_queue_time(const eg_event_queue *queue, uint32_t number) {
  uint32_t place = queue->place.data[number];
  return place != 0 ? queue->heap.data[place - 1].time : INFINITY;
}

eg_event eg_event_queue_first(const eg_event_queue *queue) {
  return *eg_events_at(&queue->heap, 0);
}

bool eg_event_queue_is_empty(const eg_event_queue *queue) { return queue->heap.len == 0; }

void eg_event_queue_clear(eg_event_queue *queue) {
  for (size_t i = 0; i < queue->heap.len; i++)
    queue->place.data[queue->heap.data[i].number] = 0;
  queue->heap.len = 0;
}
