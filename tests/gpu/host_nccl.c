// A stand-in for the part of NCCL that the transport uses, between the threads of one
// process, on host memory. As in the library calls come back "in progress", and do their
// work when they are asked for their state, once all ranks have called:
//
//   post       the calls of a group, together
//   compute    everyone reads the others' buffers, into memory of its own
//   write      when all have read
//
// Counters only grow: the k-th group of calls is posted when `posted` is k times the
// size. Told to by a variable, it misbehaves as tests/distant does.
// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/channel.h"
#include "tests/distant/distant.h"

enum { MOST_RANKS = 8, MOST_CALLS = 2 * MOST_RANKS };

typedef enum call_kind { GATHER, SCATTER, REDUCE, SEND, RECEIVE } call_kind;

typedef struct call {
  call_kind kind;
  const void *send;
  void *recv;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer;
  void *result; // until it is written
  size_t bytes;
} call;

typedef struct site {
  struct site *next;
  ncclUniqueId id;
  int size, joined;
  uint64_t posted, computed;
  ncclComm_t members[MOST_RANKS];
} site;

struct ncclComm {
  site *site;
  int rank;
  call calls[MOST_CALLS];
  int count;
  uint64_t turns;
  bool is_posted, is_computed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static site *sites;
static uint64_t ids;
static _Thread_local int depth;          // of groups
static _Thread_local ncclComm_t grouped; // whose calls are in this one

static bool has_trouble(const char *name) {
  const char *trouble = getenv("DISTANT_TROUBLE");
  return trouble != NULL && strcmp(trouble, name) == 0;
}

// ---- texts ------------------------------------------------------------------------

const char *ncclGetErrorString(ncclResult_t code) { return (void)code, "failure"; }
const char *ncclGetLastError(ncclComm_t comm) {
  return comm == NULL ? "two ranks are on one device" : "a link is down";
}

// ---- groups -----------------------------------------------------------------------

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  (void)pthread_mutex_lock(&lock);
  ids++;
  memset(id, 0x5a, sizeof *id);
  memcpy(id, &ids, sizeof ids);
  (void)pthread_mutex_unlock(&lock);
  return ncclSuccess;
}

static site *find_site(const ncclUniqueId *id, int size) {
  for (site *s = sites; s != NULL; s = s->next)
    if (memcmp(&s->id, id, sizeof *id) == 0) return s;
  site *s = calloc(1, sizeof *s);
  s->id = *id;
  s->size = size;
  s->next = sites;
  return sites = s;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (config->blocking != 0 || size > MOST_RANKS) return ncclInvalidArgument;
  if (rank == 1 && has_trouble(DISTANT_REFUSES)) return ncclInvalidUsage;
  ncclComm_t comm = calloc(1, sizeof *comm);
  (void)pthread_mutex_lock(&lock);
  comm->site = find_site(&id, size);
  comm->rank = rank;
  comm->site->members[rank] = comm;
  comm->site->joined++;
  (void)pthread_mutex_unlock(&lock);
  return *out = comm, ncclInProgress;
}

static void drop_results(ncclComm_t comm) {
  for (int i = 0; i < comm->count; i++)
    free(comm->calls[i].result);
  comm->count = 0;
}

// A member that has gone is still there for those who look at it: sites free them.
ncclResult_t ncclCommAbort(ncclComm_t comm) { return (void)comm, ncclSuccess; }

__attribute__((destructor)) static void free_sites(void) {
  while (sites != NULL) {
    site *next = sites->next;
    for (int r = 0; r < sites->size; r++) {
      if (sites->members[r] != NULL) drop_results(sites->members[r]);
      free(sites->members[r]);
    }
    free(sites);
    sites = next;
  }
}

// ---- calls ------------------------------------------------------------------------

static void post(ncclComm_t comm) {
  (void)pthread_mutex_lock(&lock);
  comm->site->posted++;
  comm->turns++;
  comm->is_posted = true;
  comm->is_computed = false;
  (void)pthread_mutex_unlock(&lock);
}

/// As the library: not while something is in progress, and after what is on the stream.
static ncclResult_t add_call(ncclComm_t comm, call c, cudaStream_t stream) {
  if (cudaStreamSynchronize(stream) != cudaSuccess) return ncclUnhandledCudaError;
  if (comm->is_posted || comm->site->joined != comm->site->size ||
      comm->count == MOST_CALLS)
    return ncclInvalidUsage;
  comm->calls[comm->count++] = c;
  if (depth > 0)
    grouped = comm;
  else
    post(comm);
  return depth > 0 ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclGroupStart(void) { return depth++, ncclSuccess; }
ncclResult_t ncclGroupEnd(void) {
  ncclComm_t comm = grouped;
  if (--depth > 0 || comm == NULL) return ncclSuccess;
  grouped = NULL;
  post(comm);
  return ncclInProgress;
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count,
                           ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return add_call(comm, (call){GATHER, send, recv, count, type, .peer = -1}, stream);
}
ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return add_call(comm, (call){SCATTER, send, recv, count, type, op, .peer = -1}, stream);
}
ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count,
                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return add_call(comm, (call){REDUCE, send, recv, count, type, op, .peer = -1}, stream);
}
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add_call(comm, (call){SEND, send, NULL, count, type, .peer = peer}, stream);
}
ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add_call(comm, (call){RECEIVE, NULL, recv, count, type, .peer = peer}, stream);
}

// ---- work -------------------------------------------------------------------------

static egraph_dtype dtype_of(ncclDataType_t type) {
  static const egraph_dtype dtypes[] = {
      [ncclInt8] = EGRAPH_INT8,       [ncclUint8] = EGRAPH_UINT8,
      [ncclInt32] = EGRAPH_INT32,     [ncclUint32] = EGRAPH_UINT32,
      [ncclInt64] = EGRAPH_INT64,     [ncclUint64] = EGRAPH_UINT64,
      [ncclFloat16] = EGRAPH_FLOAT16, [ncclFloat32] = EGRAPH_FLOAT32,
      [ncclFloat64] = EGRAPH_FLOAT64, [ncclBfloat16] = EGRAPH_BFLOAT16};
  return dtypes[type];
}

/// The call of another rank that sends what the i-th call receives: the n-th one between
/// two ranks meets the n-th.
static const call *find_sender(const struct ncclComm *comm, int i) {
  const call *own = &comm->calls[i];
  const struct ncclComm *other = comm->site->members[own->peer];
  int number = 0;
  for (int k = 0; k < i; k++)
    number += comm->calls[k].kind == RECEIVE && comm->calls[k].peer == own->peer;
  for (int k = 0; k < other->count; k++)
    if (other->calls[k].kind == SEND && other->calls[k].peer == comm->rank &&
        number-- == 0)
      return &other->calls[k];
  return NULL;
}

static ncclResult_t receive(const struct ncclComm *comm, int i, call *own) {
  const call *sender = find_sender(comm, i);
  if (sender == NULL || sender->count != own->count) return ncclInvalidUsage;
  memcpy(own->result, sender->send, own->bytes);
  return ncclSuccess;
}

static ncclResult_t compute_call(const struct ncclComm *comm, int i, call *own) {
  const site *s = comm->site;
  size_t size = eg_dtype_bytes(dtype_of(own->type)), bytes = own->count * size;
  const void *parts[MOST_RANKS];
  if (own->kind == SEND) return ncclSuccess;
  own->bytes = bytes * (own->kind == GATHER ? (size_t)s->size : 1);
  own->result = malloc(own->bytes + 1);
  if (own->kind == RECEIVE) return receive(comm, i, own);
  for (int p = 0; p < s->size; p++) {
    const call *other = &s->members[p]->calls[i];
    if (other->kind != own->kind || other->count != own->count) return ncclInvalidUsage;
    parts[p] = (const char *)other->send +
               (own->kind == SCATTER ? (size_t)comm->rank * bytes : 0);
    if (own->kind == GATHER)
      memcpy((char *)own->result + (size_t)p * bytes, parts[p], bytes);
  }
  if (own->kind != GATHER)
    eg_combine(dtype_of(own->type), own->op == ncclMax ? EG_COMBINE_MAX : EG_COMBINE_SUM,
               parts, (uint32_t)s->size, own->count, own->result);
  return ncclSuccess;
}

static ncclResult_t compute(ncclComm_t comm) {
  ncclResult_t code = ncclSuccess;
  for (int i = 0; i < comm->count && code == ncclSuccess; i++)
    code = compute_call(comm, i, &comm->calls[i]);
  comm->is_computed = true;
  comm->site->computed++;
  return code;
}

static void write(ncclComm_t comm) {
  for (int i = 0; i < comm->count; i++)
    if (comm->calls[i].result != NULL)
      memcpy(comm->calls[i].recv, comm->calls[i].result, comm->calls[i].bytes);
  drop_results(comm);
  comm->is_posted = false;
}

static ncclResult_t advance(ncclComm_t comm) {
  site *s = comm->site;
  uint64_t all = comm->turns * (uint64_t)s->size;
  if (s->joined != s->size) return ncclInProgress;
  if (!comm->is_posted) return ncclSuccess;
  if (s->posted < all) return ncclInProgress;
  if (!comm->is_computed) {
    ncclResult_t code = compute(comm);
    if (code != ncclSuccess) return code;
  }
  if (s->computed < all) return ncclInProgress;
  write(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *out) {
  bool breaks = has_trouble(DISTANT_BREAKS) && comm->is_posted;
  *out = breaks && comm->rank == 1 ? ncclSystemError : ncclInProgress;
  if (breaks || has_trouble(DISTANT_WAITS)) return ncclSuccess;
  if (has_trouble(DISTANT_HANGS) && comm->is_posted) return ncclSuccess;
  (void)pthread_mutex_lock(&lock);
  *out = advance(comm);
  (void)pthread_mutex_unlock(&lock);
  return ncclSuccess;
}
