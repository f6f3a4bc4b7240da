// NCCL as a transport, and the plugin's export: one non-blocking communicator per axis of
// the mesh. A call may return "in progress"; poll waits for the end of the call, then
// records an event after it on the stream, then waits for the event.
//
//   idle -> joining -> idle -> starting -> running -> idle
//
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <nccl.h>

#include "base/owner.h"
#include "exec/plugin/plugin_abi.h"

typedef enum phase { IDLE, JOINING, STARTING, RUNNING } phase;

typedef struct nccl_transport {
  eg_transport base;
  int device;
  cudaStream_t stream;
  cudaEvent_t event; // recorded after the last collective that has begun
  ncclComm_t comms[EG_MAX_MESH_AXES];
  phase phases[EG_MAX_MESH_AXES];
} nccl_transport;

// ---- failures ---------------------------------------------------------------------

static egraph_status check_cuda(cudaError_t code, const char *what) {
  if (code == cudaSuccess) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "NCCL's device: %s: %s (%s)", what,
                 cudaGetErrorString(code), cudaGetErrorName(code));
}

static egraph_status check_nccl(ncclResult_t code, ncclComm_t comm, const char *what) {
  if (code == ncclSuccess || code == ncclInProgress) return EGRAPH_OK;
  return EG_FAIL(code == ncclRemoteError ? EGRAPH_E_CANCELLED : EGRAPH_E_UNSUPPORTED,
                 "NCCL: %s: %s; %s", what, ncclGetErrorString(code),
                 ncclGetLastError(comm));
}

// ---- collectives ------------------------------------------------------------------

/// Finds the element types that NCCL can combine; other types are only moved, as bytes.
static bool find_type(egraph_dtype dtype, ncclDataType_t *out) {
  switch ((int)dtype) {
  case EGRAPH_FLOAT32: *out = ncclFloat32; return true;
  case EGRAPH_FLOAT64: *out = ncclFloat64; return true;
  case EGRAPH_FLOAT16: *out = ncclFloat16; return true;
  case EGRAPH_BFLOAT16: *out = ncclBfloat16; return true;
  case EGRAPH_INT8: *out = ncclInt8; return true;
  case EGRAPH_INT32: *out = ncclInt32; return true;
  case EGRAPH_INT64: *out = ncclInt64; return true;
  case EGRAPH_UINT8: *out = ncclUint8; return true;
  case EGRAPH_UINT32: *out = ncclUint32; return true;
  case EGRAPH_UINT64: *out = ncclUint64; return true;
  }
  return false;
}

static bool nccl_carries(const eg_collective *what) {
  ncclDataType_t type;
  bool combines = what->kind == EG_COLLECTIVE_REDUCE_SCATTER ||
                  what->kind == EG_COLLECTIVE_ALL_REDUCE;
  return !combines || find_type(what->dtype, &type);
}

/// A collective that is being passed to NCCL.
typedef struct start {
  ncclComm_t comm;
  cudaStream_t stream;
  const eg_group *group;
  const eg_collective *what;
  ncclDataType_t type;
  ncclRedOp_t op;
  size_t bytes, back_bytes; // bytes of count and of count_back elements
} start;

static ncclResult_t all_gather(const start *s) {
  return ncclAllGather(s->what->send, s->what->recv, s->bytes, ncclUint8, s->comm,
                       s->stream);
}

static ncclResult_t reduce_scatter(const start *s) {
  return ncclReduceScatter(s->what->send, s->what->recv, s->what->count, s->type, s->op,
                           s->comm, s->stream);
}

static ncclResult_t all_reduce(const start *s) {
  return ncclAllReduce(s->what->send, s->what->recv, s->what->count, s->type, s->op,
                       s->comm, s->stream);
}

/// Keeps the first failure of NCCL's calls in a group; the group must be ended even then.
static void keep_failure(ncclResult_t code, ncclResult_t *first) {
  if (*first == ncclSuccess && code != ncclInProgress) *first = code;
}

static void send_to(const start *s, uint32_t place, size_t offset, size_t bytes,
                    ncclResult_t *first) {
  if (bytes == 0) return;
  keep_failure(ncclSend((const char *)s->what->send + offset, bytes, ncclUint8,
                        (int)place, s->comm, s->stream),
               first);
}

static void take_from(const start *s, uint32_t place, size_t offset, size_t bytes,
                      ncclResult_t *first) {
  if (bytes == 0) return;
  keep_failure(ncclRecv((char *)s->what->recv + offset, bytes, ncclUint8, (int)place,
                        s->comm, s->stream),
               first);
}

static ncclResult_t end_group(ncclResult_t first) {
  ncclResult_t end = ncclGroupEnd();
  return first != ncclSuccess ? first : end;
}

static ncclResult_t all_to_all(const start *s) {
  ncclResult_t first = ncclGroupStart();
  for (uint32_t p = 0; p < s->group->size; p++) {
    send_to(s, p, p * s->bytes, s->bytes, &first);
    take_from(s, p, p * s->bytes, s->bytes, &first);
  }
  return end_group(first);
}

static ncclResult_t exchange(const start *s) {
  const eg_group *group = s->group;
  ncclResult_t first = ncclGroupStart();
  if (group->place + 1 < group->size) {
    send_to(s, group->place + 1, 0, s->bytes, &first);
    take_from(s, group->place + 1, s->bytes, s->back_bytes, &first);
  }
  if (group->place > 0) {
    send_to(s, group->place - 1, s->bytes, s->back_bytes, &first);
    take_from(s, group->place - 1, 0, s->bytes, &first);
  }
  return end_group(first);
}

static ncclResult_t (*const starts[EG_COLLECTIVE_KINDS])(const start *) = {
    [EG_COLLECTIVE_ALL_GATHER] = all_gather,
    [EG_COLLECTIVE_REDUCE_SCATTER] = reduce_scatter,
    [EG_COLLECTIVE_ALL_REDUCE] = all_reduce,
    [EG_COLLECTIVE_ALL_TO_ALL] = all_to_all,
    [EG_COLLECTIVE_NEIGHBOURS] = exchange,
};

static egraph_status nccl_start(eg_transport *base, const eg_group *group,
                                const eg_collective *what) {
  assert(what->axis < EG_MAX_MESH_AXES && what->kind < EG_COLLECTIVE_BARRIER);
  nccl_transport *transport = (nccl_transport *)base;
  size_t element = eg_dtype_bytes(what->dtype);
  ncclComm_t comm = transport->comms[what->axis];
  start s = {.comm = comm,
             .stream = transport->stream,
             .group = group,
             .what = what,
             .type = ncclUint8,
             .op = what->combining == EG_COMBINE_MAX ? ncclMax : ncclSum,
             .bytes = what->count * element,
             .back_bytes = what->count_back * element};
  (void)find_type(what->dtype, &s.type);
  EG_TRY(check_cuda(cudaSetDevice(transport->device), "choice of the device"));
  EG_TRY(check_nccl(starts[what->kind](&s), comm, "start of a collective"));
  transport->phases[what->axis] = STARTING;
  return EGRAPH_OK;
}

// ---- progress ---------------------------------------------------------------------

/// Finds whether the last call on a communicator has ended.
static egraph_status ask_nccl(ncclComm_t comm, bool *out_is_done) {
  ncclResult_t state = ncclInProgress;
  EG_TRY(check_nccl(ncclCommGetAsyncError(comm, &state), comm, "state"));
  *out_is_done = state == ncclSuccess;
  return check_nccl(state, comm, "communication between devices");
}

static egraph_status ask_event(const nccl_transport *transport, bool *out_is_done) {
  cudaError_t code = cudaEventQuery(transport->event);
  *out_is_done = code == cudaSuccess;
  if (code == cudaErrorNotReady) (void)cudaGetLastError(); // "not ready" is no failure
  return code == cudaErrorNotReady ? EGRAPH_OK : check_cuda(code, "collective");
}

static egraph_status nccl_poll(eg_transport *base, uint32_t axis, bool *out_is_done) {
  assert(axis < EG_MAX_MESH_AXES);
  nccl_transport *transport = (nccl_transport *)base;
  phase *at = &transport->phases[axis];
  bool is_done = true;
  *out_is_done = *at == IDLE;
  if (*at == IDLE) return EGRAPH_OK;
  EG_TRY(ask_nccl(transport->comms[axis], &is_done));
  if (!is_done) return EGRAPH_OK;
  if (*at == STARTING) {
    EG_TRY(check_cuda(cudaEventRecord(transport->event, transport->stream), "event"));
    *at = RUNNING;
  }
  if (*at == RUNNING) EG_TRY(ask_event(transport, &is_done));
  if (is_done) *at = IDLE;
  *out_is_done = is_done;
  return EGRAPH_OK;
}

// ---- life -------------------------------------------------------------------------

// Aborts all communicators. NCCL's regular end involves all ranks, and may wait for
// them; an abort waits for none. The channel ensures that nothing is running, unless it
// has failed.
static void nccl_give_up(eg_transport *base) {
  nccl_transport *transport = (nccl_transport *)base;
  (void)cudaSetDevice(transport->device);
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++) {
    if (transport->comms[a] != NULL) (void)ncclCommAbort(transport->comms[a]);
    transport->comms[a] = NULL;
    transport->phases[a] = IDLE;
  }
}

static void nccl_destroy(eg_transport *base) {
  nccl_transport *transport = (nccl_transport *)base;
  nccl_give_up(base);
  if (transport->event != NULL) (void)cudaEventDestroy(transport->event);
  eg_free(base->alloc, transport, 1, sizeof *transport);
}

static egraph_status nccl_make_id(eg_transport *base,
                                  unsigned char out[EG_TRANSPORT_ID_BYTES]) {
  ncclUniqueId id;
  static_assert(sizeof id == EG_TRANSPORT_ID_BYTES, "ids have a size of their own");
  (void)base;
  EG_TRY(check_nccl(ncclGetUniqueId(&id), NULL, "name of a group"));
  memcpy(out, &id, sizeof id);
  return EGRAPH_OK;
}

static egraph_status nccl_join(eg_transport *base, uint32_t axis, const eg_group *group,
                               const unsigned char bytes[EG_TRANSPORT_ID_BYTES]) {
  assert(axis < EG_MAX_MESH_AXES);
  nccl_transport *transport = (nccl_transport *)base;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclUniqueId id;
  config.blocking = 0;
  memcpy(&id, bytes, sizeof id);
  EG_TRY(check_cuda(cudaSetDevice(transport->device), "choice of the device"));
  transport->phases[axis] = JOINING;
  return check_nccl(ncclCommInitRankConfig(&transport->comms[axis], (int)group->size, id,
                                           (int)group->place, &config),
                    NULL, "joining a group");
}

static egraph_status nccl_create(egraph_allocator alloc, const eg_device_queue *queue,
                                 eg_transport **out);

static const eg_transport_vtable nccl_vtable = {.name = "nccl",
                                                .create = nccl_create,
                                                .destroy = nccl_destroy,
                                                .make_id = nccl_make_id,
                                                .join = nccl_join,
                                                .carries = nccl_carries,
                                                .start = nccl_start,
                                                .poll = nccl_poll,
                                                .give_up = nccl_give_up};

static egraph_status nccl_create(egraph_allocator alloc, const eg_device_queue *queue,
                                 eg_transport **out) {
  nccl_transport *transport;
  EG_TRY(eg_alloc(alloc, 1, sizeof *transport, &transport));
  *transport = (nccl_transport){.base = {.vtable = &nccl_vtable, .alloc = alloc},
                                .device = queue->device,
                                .stream = queue->stream};
  egraph_status status =
      check_cuda(cudaSetDevice(transport->device), "choice of the device");
  if (status == EGRAPH_OK)
    status = check_cuda(
        cudaEventCreateWithFlags(&transport->event, cudaEventDisableTiming), "event");
  EG_HAND_OVER_OR_DESTROY(status, &transport->base, nccl_destroy, out);
}

static egraph_status plugin_open(const eg_plugin_host *host) {
  int count = 0;
  eg_plugin_host_set(host);
  cudaError_t code = cudaGetDeviceCount(&count);
  (void)cudaGetLastError();
  if (code == cudaSuccess && count > 0) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "transport 'nccl': no device: %s; ranks can exchange through host "
                 "memory instead",
                 code == cudaSuccess ? "the driver finds no GPU"
                                     : cudaGetErrorString(code));
}

extern __attribute__((visibility("default"))) const eg_plugin_entry eg_nccl_plugin;
const eg_plugin_entry eg_nccl_plugin = {
    .abi = EG_PLUGIN_ABI, .open = plugin_open, .transport = &nccl_vtable};
