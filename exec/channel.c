// SPDX-License-Identifier: Apache-2.0
#include "exec/channel.h"

#include <assert.h>
#include <string.h>

const char *eg_collective_name(eg_collective_kind kind) {
  assert(kind < EG_COLLECTIVE_KINDS);
#define NAME(id, name) name,
  static const char *const names[] = {EG_COLLECTIVE_LIST(NAME)};
#undef NAME
  return names[kind];
}

egraph_status eg_channel_options_check(const eg_channel_options *options) {
  double seconds = options->deadline_seconds;
  if (seconds > 0 && seconds <= 1e6) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "a deadline of %g s; ranks are waited for more than 0 s and at most "
                 "1000000 s",
                 seconds);
}

void eg_channel_destroy(eg_channel *channel) {
  if (channel != NULL && channel->vtable->destroy != NULL)
    channel->vtable->destroy(channel);
}

// ---- groups -----------------------------------------------------------------------

eg_group eg_group_of(const eg_channel *channel, const eg_collective *what) {
  assert(channel->rank < eg_mesh_devices(&channel->mesh));
  const eg_mesh *mesh = &channel->mesh;
  if (what->kind == EG_COLLECTIVE_BARRIER)
    return (eg_group){.stride = 1, .size = eg_mesh_devices(mesh), .place = channel->rank};
  uint32_t stride = eg_mesh_stride(mesh, what->axis);
  uint32_t place = eg_mesh_coordinate(mesh, channel->rank, what->axis);
  return (eg_group){.first = channel->rank - place * stride,
                    .stride = stride,
                    .size = mesh->axes[what->axis].size,
                    .place = place};
}

// ---- failures ---------------------------------------------------------------------

bool eg_collective_matches(const eg_collective *a, const eg_collective *b) {
  return a->kind == b->kind && a->combining == b->combining && a->axis == b->axis &&
         a->dtype == b->dtype && a->count == b->count && a->count_back == b->count_back;
}

enum { WORDS_BYTES = 120 };

// Describes a collective: "all-gather of 3 float32 along 'gpu'".
static void describe_collective(const eg_channel *channel, const eg_collective *what,
                                char out[WORDS_BYTES]) {
  const char *name = eg_collective_name(what->kind);
  if (what->kind == EG_COLLECTIVE_BARRIER)
    snprintf(out, WORDS_BYTES, "%s", name);
  else
    snprintf(out, WORDS_BYTES, "%s of %zu %s along '%s'", name,
             what->count + what->count_back, eg_dtype_name(what->dtype),
             channel->mesh.axes[what->axis].name);
}

egraph_status eg_collective_mismatch(const eg_channel *channel, uint32_t rank,
                                     const eg_collective *a, uint32_t other,
                                     const eg_collective *b) {
  assert(!eg_collective_matches(a, b));
  char first[WORDS_BYTES], second[WORDS_BYTES];
  describe_collective(channel, a, first);
  describe_collective(channel, b, second);
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "rank %u begins %s, rank %u %s: all ranks must run the same program",
                 rank, first, other, second);
}

egraph_status eg_collective_missed(const eg_channel *channel, uint32_t rank,
                                   const eg_collective *what) {
  char words[WORDS_BYTES];
  describe_collective(channel, what, words);
  return EG_FAIL(EGRAPH_E_CANCELLED,
                 "rank %u did not come to %s within %g s: it has ended or hangs; or give "
                 "it a longer deadline",
                 rank, words, channel->deadline_seconds);
}

static egraph_status check_collective(const eg_channel *channel,
                                      const eg_collective *what) {
  if (what->kind == EG_COLLECTIVE_BARRIER) return EGRAPH_OK;
  if (what->axis >= channel->mesh.axis_count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s along axis %u of a mesh with %u",
                   eg_collective_name(what->kind), what->axis, channel->mesh.axis_count);
  bool combines = what->kind == EG_COLLECTIVE_REDUCE_SCATTER ||
                  what->kind == EG_COLLECTIVE_ALL_REDUCE;
  if (combines && what->dtype == EGRAPH_BOOL)
    return EG_FAIL(EGRAPH_E_TYPE, "%s of bool: only numbers are combined",
                   eg_collective_name(what->kind));
  return EGRAPH_OK;
}

// ---- runs -------------------------------------------------------------------------

/// Runs a collective in a group of one rank: the rank receives the data that it sends,
/// and has no neighbours.
static void run_alone(const eg_collective *what) {
  size_t bytes = what->count * eg_dtype_bytes(what->dtype);
  if (what->kind == EG_COLLECTIVE_BARRIER || what->kind == EG_COLLECTIVE_NEIGHBOURS)
    return;
  if (bytes != 0 && what->recv != what->send) memcpy(what->recv, what->send, bytes);
}

egraph_status eg_channel_run(eg_channel *channel, const eg_collective *what) {
  assert(channel != NULL && what->kind < EG_COLLECTIVE_KINDS);
  EG_TRY(check_collective(channel, what));
  if (channel->backend != NULL || eg_group_of(channel, what).size > 1)
    return channel->vtable->run(channel, what);
  run_alone(what);
  return EGRAPH_OK;
}

void eg_channel_settle(eg_channel *channel) {
  if (channel->vtable->settle != NULL) channel->vtable->settle(channel);
}

egraph_status eg_channel_barrier(eg_channel *channel) {
  return eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_BARRIER});
}

egraph_status eg_channel_abort(eg_channel *channel, egraph_status status) {
  assert(status != EGRAPH_OK);
  char message[EG_MESSAGE_BYTES];
  snprintf(message, sizeof message, "%s", egraph_last_error());
  channel->vtable->end(channel, status, message);
  return EG_FAIL(status, "%s", message);
}

// ---- sums and maxima of arrays that several ranks hold ------------------------------

// Combines the parts (buffers of the ranks) in blocks that fit the first-level cache. The
// result of a block is written after all parts of it have been read, so `out` may be one
// of the parts.

enum { BLOCK = 512 };

#define ADD(sum, x) ((sum) + (x))
#define LARGER(most, x) ((((x) > (most)) | ((x) != (x))) ? (x) : (most))

// Combines elements [from, to) of all parts (ranks' buffers), at most BLOCK of them.
typedef void (*combine_block)(const void *const *parts, uint32_t part_count, size_t from,
                              size_t to, void *out);

#define COMBINE(name, type, combiner)                                                    \
  static void name(const void *const *parts, uint32_t part_count, size_t from,           \
                   size_t to, void *out) {                                               \
    type all[BLOCK];                                                                     \
    for (size_t i = from; i < to; i++)                                                   \
      all[i - from] = ((const type *)parts[0])[i];                                       \
    for (uint32_t p = 1; p < part_count; p++)                                            \
      for (size_t i = from; i < to; i++)                                                 \
        all[i - from] = (type)combiner(all[i - from], ((const type *)parts[p])[i]);      \
    for (size_t i = from; i < to; i++)                                                   \
      ((type *)out)[i] = all[i - from];                                                  \
  }

#define COMBINE_HALF(name, id, combiner)                                                 \
  static void name(const void *const *parts, uint32_t part_count, size_t from,           \
                   size_t to, void *out) {                                               \
    float all[BLOCK];                                                                    \
    for (uint32_t p = 0; p < part_count; p++)                                            \
      for (size_t i = from; i < to; i++) {                                               \
        float x = half_at(id, parts[p], i);                                              \
        all[i - from] = p == 0 ? x : combiner(all[i - from], x);                         \
      }                                                                                  \
    eg_tensor result = {.type = {.dtype = id}, .data = out};                             \
    for (size_t i = from; i < to; i++)                                                   \
      eg_tensor_set_double(&result, (int64_t)i, (double)all[i - from]);                  \
  }

static float half_at(egraph_dtype dtype, const void *data, size_t index) {
  eg_tensor tensor = {.type = {.dtype = dtype}};
  memcpy(&tensor.data, &data, sizeof data); // it is only read
  return (float)eg_tensor_get_double(&tensor, (int64_t)index);
}

// Each row: element type, type in which sums are added (unsigned, so that sums wrap; the
// bits are those of signed sums), type in which maxima are compared.
#define DIRECT_LIST(X)                                                                   \
  X(FLOAT32, float, float)                                                               \
  X(FLOAT64, double, double)                                                             \
  X(INT8, uint8_t, int8_t)                                                               \
  X(INT16, uint16_t, int16_t)                                                            \
  X(INT32, uint32_t, int32_t)                                                            \
  X(INT64, uint64_t, int64_t)                                                            \
  X(UINT8, uint8_t, uint8_t)                                                             \
  X(UINT16, uint16_t, uint16_t)                                                          \
  X(UINT32, uint32_t, uint32_t)                                                          \
  X(UINT64, uint64_t, uint64_t)
#define HALF_LIST(X)                                                                     \
  X(FLOAT16, uint16_t, uint16_t)                                                         \
  X(BFLOAT16, uint16_t, uint16_t)

#define DIRECT_BLOCKS(id, sum, most)                                                     \
  COMBINE(add_##id, sum, ADD)                                                            \
  COMBINE(larger_##id, most, LARGER)
#define HALF_BLOCKS(id, sum, most)                                                       \
  COMBINE_HALF(add_##id, EGRAPH_##id, ADD)                                               \
  COMBINE_HALF(larger_##id, EGRAPH_##id, LARGER)
DIRECT_LIST(DIRECT_BLOCKS)
HALF_LIST(HALF_BLOCKS)

static const combine_block blocks[EGRAPH_DTYPE_COUNT][2] = {
#define BLOCK_ROW(id, ...) [EGRAPH_##id] = {add_##id, larger_##id},
    DIRECT_LIST(BLOCK_ROW) HALF_LIST(BLOCK_ROW)
#undef BLOCK_ROW
};

void eg_combine(egraph_dtype dtype, eg_combining combining, const void *const *parts,
                uint32_t part_count, size_t count, void *out) {
  combine_block run = blocks[dtype][combining];
  assert(run != NULL && part_count != 0);
  for (size_t from = 0; from < count; from += BLOCK)
    run(parts, part_count, from, count - from < BLOCK ? count : from + BLOCK, out);
}
