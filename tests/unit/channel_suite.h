// What every channel must do, as one rank sees it: each collective with each element type
// along each axis, against the result worked out from what all ranks send. Buffers lie
// where the channel wants them.
//
// Runs on any thread, so it reports through a status instead of cmocka.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_CHANNEL_SUITE_H
#define EG_TESTS_UNIT_CHANNEL_SUITE_H

#include <stdlib.h>

#include "exec/channel.h"
#include "tests/testing.h"

/// Element `index` of what a rank sends: small, so that sums are exact in every type.
static inline int64_t suite_value(egraph_dtype dtype, uint32_t rank, size_t index) {
  int64_t value = (int64_t)((rank * 7 + index * 3 + index / 11) % 11);
  bool has_sign = eg_dtype_is_float(dtype) || dtype == EGRAPH_INT8 ||
                  dtype == EGRAPH_INT16 || dtype == EGRAPH_INT32 || dtype == EGRAPH_INT64;
  return dtype == EGRAPH_BOOL ? value & 1 : has_sign ? value - 5 : value;
}

/// One collective of one rank, its buffers, and what it must receive. -99 stands for
/// elements that must not be written.
typedef struct suite_case {
  eg_channel *channel;
  eg_collective what;
  eg_group group;
  eg_tensor send, recv;
  size_t send_count, recv_count;
} suite_case;

static inline size_t suite_send_count(const suite_case *c) {
  bool is_cut = c->what.kind == EG_COLLECTIVE_REDUCE_SCATTER ||
                c->what.kind == EG_COLLECTIVE_ALL_TO_ALL;
  return c->what.count * (is_cut ? c->group.size : 1) + c->what.count_back;
}

static inline size_t suite_recv_count(const suite_case *c) {
  bool is_many = c->what.kind == EG_COLLECTIVE_ALL_GATHER ||
                 c->what.kind == EG_COLLECTIVE_ALL_TO_ALL;
  return c->what.count * (is_many ? c->group.size : 1) + c->what.count_back;
}

static inline int64_t suite_combined(const suite_case *c, size_t index) {
  int64_t all = 0;
  for (uint32_t p = 0; p < c->group.size; p++) {
    int64_t x = suite_value(c->what.dtype, eg_group_rank(&c->group, p), index);
    if (c->what.combining == EG_COMBINE_SUM)
      all += x;
    else
      all = p == 0 || x > all ? x : all;
  }
  return all;
}

static inline int64_t suite_neighbours(const suite_case *c, size_t index) {
  const eg_group *g = &c->group;
  bool is_back = index >= c->what.count;
  if (is_back ? g->place + 1 == g->size : g->place == 0) return -99;
  return suite_value(c->what.dtype,
                     eg_group_rank(g, is_back ? g->place + 1 : g->place - 1), index);
}

static inline int64_t suite_expected(const suite_case *c, size_t index) {
  const eg_group *g = &c->group;
  size_t count = c->what.count;
  switch (c->what.kind) {
  case EG_COLLECTIVE_ALL_GATHER:
    return suite_value(c->what.dtype, eg_group_rank(g, (uint32_t)(index / count)),
                       index % count);
  case EG_COLLECTIVE_REDUCE_SCATTER: return suite_combined(c, g->place * count + index);
  case EG_COLLECTIVE_ALL_REDUCE: return suite_combined(c, index);
  case EG_COLLECTIVE_ALL_TO_ALL:
    return suite_value(c->what.dtype, eg_group_rank(g, (uint32_t)(index / count)),
                       g->place * count + index % count);
  case EG_COLLECTIVE_NEIGHBOURS: return suite_neighbours(c, index);
  case EG_COLLECTIVE_BARRIER:
  case EG_COLLECTIVE_KINDS: break;
  }
  return 0;
}

static inline egraph_status suite_compare(const suite_case *c) {
  eg_tensor want = {.type = c->recv.type};
  int64_t room[1] = {0};
  want.data = room;
  for (size_t i = 0; i < c->recv_count; i++) {
    eg_tensor_set_int(&want, 0, suite_expected(c, i)); // wraps as the element type does
    int64_t expected = eg_tensor_get_int(&want, 0);
    int64_t have = eg_tensor_get_int(&c->recv, (int64_t)i);
    if (have != expected)
      return EG_FAIL(
          EGRAPH_E_INTERNAL,
          "rank %u, %s of %zu + %zu %s along axis %u: element %zu is %d, not %d",
          c->channel->rank, eg_collective_name(c->what.kind), c->what.count,
          c->what.count_back, eg_dtype_name(c->what.dtype), c->what.axis, i, (int)have,
          (int)expected);
  }
  return EGRAPH_OK;
}

/// Runs a collective on host buffers: those of a channel on devices are copies.
static inline egraph_status suite_call(const suite_case *c, eg_collective what) {
  eg_backend *backend = c->channel->backend;
  eg_device_memory send = {0}, recv = {0};
  size_t element = eg_dtype_bytes(what.dtype);
  size_t send_bytes = c->send_count * element, recv_bytes = c->recv_count * element;
  bool in_place = what.send == what.recv;
  if (backend == NULL) return eg_channel_run(c->channel, &what);
  eg_collective there = what;
  EG_TRY(backend->vtable->memory_create(backend, send_bytes, &send));
  EG_TRY(backend->vtable->memory_create(backend, recv_bytes, &recv));
  EG_TRY(eg_backend_upload(backend, send.address, what.send, send_bytes));
  EG_TRY(eg_backend_upload(backend, recv.address, what.recv, recv_bytes));
  there.send = send.address;
  there.recv = in_place ? send.address : recv.address;
  egraph_status status = eg_channel_run(c->channel, &there);
  if (status == EGRAPH_OK)
    status = eg_backend_download(backend, what.recv, there.recv, recv_bytes);
  eg_device_memory_destroy(backend, &send);
  eg_device_memory_destroy(backend, &recv);
  return status;
}

static inline egraph_status suite_run(eg_channel *channel, eg_collective what) {
  suite_case c = {.channel = channel, .what = what};
  egraph_allocator heap = eg_allocator_heap();
  c.group = eg_group_of(channel, &what);
  c.send.type.dtype = c.recv.type.dtype = what.dtype;
  c.send_count = suite_send_count(&c);
  c.recv_count = suite_recv_count(&c);
  EG_TRY(eg_alloc(heap, c.send_count + 1, 8, &c.send.data));
  EG_TRY(eg_alloc(heap, c.recv_count + 1, 8, &c.recv.data));
  for (size_t i = 0; i < c.send_count; i++)
    eg_tensor_set_int(&c.send, (int64_t)i, suite_value(what.dtype, channel->rank, i));
  for (size_t i = 0; i < c.recv_count; i++)
    eg_tensor_set_int(&c.recv, (int64_t)i, -99);
  c.what.send = c.send.data;
  c.what.recv = c.recv.data;
  egraph_status status = suite_call(&c, c.what);
  if (status == EGRAPH_OK && c.recv.data != NULL) status = suite_compare(&c);
  if (status == EGRAPH_OK && what.kind == EG_COLLECTIVE_ALL_REDUCE) {
    c.what.recv = c.send.data; // in place
    status = suite_call(&c, c.what);
    void *own = c.recv.data;
    c.recv.data = c.send.data;
    if (status == EGRAPH_OK) status = suite_compare(&c);
    c.recv.data = own;
  }
  eg_free(heap, c.send.data, c.send_count + 1, 8);
  eg_free(heap, c.recv.data, c.recv_count + 1, 8);
  return status;
}

static inline egraph_status suite_run_kind(eg_channel *channel, eg_collective what) {
  static const size_t counts[] = {0, 1, 7, 1000, 20000};
  size_t sizes = what.dtype == EGRAPH_FLOAT64 ? 5 : 4; // one type in large buffers
  bool is_reduction =
      what.kind == EG_COLLECTIVE_REDUCE_SCATTER || what.kind == EG_COLLECTIVE_ALL_REDUCE;
  if (is_reduction && what.dtype == EGRAPH_BOOL) return EGRAPH_OK;
  for (size_t i = 0; i < sizes; i++) {
    what.count = counts[i];
    what.count_back = what.kind == EG_COLLECTIVE_NEIGHBOURS ? counts[(i + 2) % sizes] : 0;
    for (int combining = 0; combining < (is_reduction ? 2 : 1); combining++) {
      what.combining = (eg_combining)combining;
      EG_TRY(suite_run(channel, what));
    }
  }
  return EGRAPH_OK;
}

/// Sums of floats depend on the order: it is that of the group, and 16-bit floats are
/// rounded at the end only. 1 + 2^-24 + 2^-24 is 1 in float32, 2^-24 + 2^-24 + 1 is not.
static inline egraph_status suite_check_order(eg_channel *channel, uint32_t axis) {
  eg_collective what = {
      .kind = EG_COLLECTIVE_ALL_REDUCE, .axis = axis, .dtype = EGRAPH_FLOAT32};
  eg_group group = eg_group_of(channel, &what);
  enum { COUNT = 601 };
  float have[COUNT], want[COUNT];
  for (uint32_t p = 0; p < group.size; p++)
    for (uint32_t i = 0; i < COUNT; i++) {
      uint32_t rank = eg_group_rank(&group, p);
      eg_rng rng = {rank * 1000 + i};
      float x = (float)((double)eg_rng_below(&rng, 1 << 24) / (1 + rank * rank));
      want[i] = p == 0 ? x : want[i] + x;
      if (p == group.place) have[i] = x;
    }
  what.count = COUNT;
  what.send = what.recv = have;
  suite_case c = {.channel = channel, .send_count = COUNT, .recv_count = COUNT};
  EG_TRY(suite_call(&c, what));
  return memcmp(have, want, sizeof want) == 0
             ? EGRAPH_OK
             : EG_FAIL(EGRAPH_E_INTERNAL, "sums are not in the order of the group");
}

static inline egraph_status channel_suite(eg_channel *channel) {
  for (uint32_t axis = 0; axis < channel->mesh.axis_count; axis++) {
    for (int dtype = 0; dtype < EGRAPH_DTYPE_COUNT; dtype++)
      for (int kind = 0; kind < EG_COLLECTIVE_BARRIER; kind++)
        EG_TRY(suite_run_kind(channel, (eg_collective){.kind = (eg_collective_kind)kind,
                                                       .axis = axis,
                                                       .dtype = (egraph_dtype)dtype}));
    if (channel->vtable->is_ordered) EG_TRY(suite_check_order(channel, axis));
  }
  return eg_channel_barrier(channel);
}

#endif
