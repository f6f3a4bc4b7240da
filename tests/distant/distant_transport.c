// A group is a site that all its members know by its id. A collective there:
//
//   post       what everyone wants; the last one to post lets all begin
//   compute    everyone reads the others' buffers, into memory of its own
//   write      when all have read
//
// Counters only grow: the k-th collective is posted when `posted` is k times the size.
// When a member gives up what all have posted, the others do not come to its end: its
// buffers may be gone.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/channel.h"
#include "exec/plugin/plugin_abi.h"
#include "tests/distant/distant.h"

enum { MOST_PLACES = 8 };

typedef struct site {
  struct site *next;
  unsigned char id[EG_TRANSPORT_ID_BYTES];
  uint32_t size, joined;
  uint64_t posted, computed;
  bool is_left; // by a member that gave up
  eg_collective wanted[MOST_PLACES];
} site;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static site *sites;
static uint64_t ids;

typedef struct membership {
  site *site;
  uint32_t place;
  uint64_t turns;  // collectives begun
  bool is_begun;   // the last one is not done
  void *result;    // NULL: not computed
  size_t bytes[2]; // of what came: first part, second part
} membership;

typedef struct carrier {
  eg_transport base;
  membership members[EG_MAX_MESH_AXES];
} carrier;

static bool has_trouble(const char *name) {
  const char *trouble = getenv("DISTANT_TROUBLE");
  return trouble != NULL && strcmp(trouble, name) == 0;
}

// ---- groups -----------------------------------------------------------------------

static egraph_status make_id(eg_transport *base,
                             unsigned char out[EG_TRANSPORT_ID_BYTES]) {
  (void)base;
  (void)pthread_mutex_lock(&lock);
  ids++;
  memset(out, 0x5a, EG_TRANSPORT_ID_BYTES);
  memcpy(out, &ids, sizeof ids);
  (void)pthread_mutex_unlock(&lock);
  return EGRAPH_OK;
}

static site *find_site(const unsigned char id[EG_TRANSPORT_ID_BYTES], uint32_t size) {
  for (site *s = sites; s != NULL; s = s->next)
    if (memcmp(s->id, id, EG_TRANSPORT_ID_BYTES) == 0) return s;
  site *s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  memcpy(s->id, id, EG_TRANSPORT_ID_BYTES);
  s->size = size;
  s->next = sites;
  sites = s;
  return s;
}

static egraph_status join(eg_transport *base, uint32_t axis, const eg_group *group,
                          const unsigned char id[EG_TRANSPORT_ID_BYTES]) {
  membership *m = &((carrier *)base)->members[axis];
  if (group->size > MOST_PLACES)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "a group that is too large for a test");
  if (group->place == 1 && has_trouble(DISTANT_REFUSES))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "two ranks are on one device");
  (void)pthread_mutex_lock(&lock);
  *m = (membership){.site = find_site(id, group->size), .place = group->place};
  if (m->site != NULL) m->site->joined++;
  (void)pthread_mutex_unlock(&lock);
  return m->site != NULL ? EGRAPH_OK : EG_FAIL(EGRAPH_E_MEMORY, "no memory for a site");
}

// ---- collectives ------------------------------------------------------------------

// Booleans and 16-bit integers are left to the channel, as NCCL's are.
static bool carries(const eg_collective *what) {
  bool combines = what->kind == EG_COLLECTIVE_REDUCE_SCATTER ||
                  what->kind == EG_COLLECTIVE_ALL_REDUCE;
  return !combines || (what->dtype != EGRAPH_INT16 && what->dtype != EGRAPH_UINT16);
}

static const char *sent(const membership *m, uint32_t place, size_t element) {
  const eg_collective *what = &m->site->wanted[place];
  return (const char *)host_address(what->send) + element * eg_dtype_bytes(what->dtype);
}

static void combine(const membership *m, size_t first, size_t count) {
  const eg_collective *what = &m->site->wanted[m->place];
  const void *parts[MOST_PLACES];
  for (uint32_t p = 0; p < m->site->size; p++)
    parts[p] = sent(m, p, first);
  eg_combine(what->dtype, what->combining, parts, m->site->size, count, m->result);
}

/// `count` elements of a rank, from `first` on, behind what is there.
static void take_elements(membership *m, uint32_t place, size_t first, size_t count,
                          int part) {
  size_t bytes = count * eg_dtype_bytes(m->site->wanted[place].dtype);
  size_t at = m->bytes[0] + m->bytes[1];
  if (bytes != 0) memcpy((char *)m->result + at, sent(m, place, first), bytes);
  m->bytes[part] += bytes;
}

static void compute(membership *m) {
  const eg_collective *what = &m->site->wanted[m->place];
  size_t count = what->count, element = eg_dtype_bytes(what->dtype);
  uint32_t size = m->site->size;
  m->bytes[0] = m->bytes[1] = 0;
  m->result = malloc((size * count + what->count_back) * element + 1);
  switch ((int)what->kind) {
  case EG_COLLECTIVE_ALL_GATHER:
    for (uint32_t p = 0; p < size; p++)
      take_elements(m, p, 0, count, 0);
    break;
  case EG_COLLECTIVE_ALL_TO_ALL:
    for (uint32_t p = 0; p < size; p++)
      take_elements(m, p, m->place * count, count, 0);
    break;
  case EG_COLLECTIVE_NEIGHBOURS:
    if (m->place > 0) take_elements(m, m->place - 1, 0, count, 0);
    if (m->place + 1 < size) take_elements(m, m->place + 1, count, what->count_back, 1);
    break;
  case EG_COLLECTIVE_REDUCE_SCATTER:
  case EG_COLLECTIVE_ALL_REDUCE:
    combine(m, what->kind == EG_COLLECTIVE_ALL_REDUCE ? 0 : m->place * count, count);
    m->bytes[0] = count * element;
    break;
  }
}

static void write(membership *m) {
  const eg_collective *what = &m->site->wanted[m->place];
  char *to = host_address(what->recv);
  size_t back = what->kind == EG_COLLECTIVE_NEIGHBOURS
                    ? what->count * eg_dtype_bytes(what->dtype)
                    : m->bytes[0];
  if (m->bytes[0] != 0) memcpy(to, m->result, m->bytes[0]);
  if (m->bytes[1] != 0) memcpy(to + back, (char *)m->result + m->bytes[0], m->bytes[1]);
  free(m->result);
  m->result = NULL;
  m->is_begun = false;
}

static egraph_status start(eg_transport *base, const eg_group *group,
                           const eg_collective *what) {
  membership *m = &((carrier *)base)->members[what->axis];
  (void)group;
  (void)pthread_mutex_lock(&lock);
  m->site->wanted[m->place] = *what;
  m->site->posted++;
  m->turns++;
  m->is_begun = true;
  (void)pthread_mutex_unlock(&lock);
  return EGRAPH_OK;
}

static void advance(membership *m) {
  uint64_t all = m->turns * m->site->size;
  if (m->site->posted < all || m->site->is_left) return;
  if (m->result == NULL) {
    compute(m);
    m->site->computed++;
  }
  if (m->site->computed >= all) write(m);
}

static egraph_status poll(eg_transport *base, uint32_t axis, bool *out_is_done) {
  membership *m = &((carrier *)base)->members[axis];
  *out_is_done = false;
  if (has_trouble(DISTANT_HANGS) && m->is_begun) return EGRAPH_OK;
  if (has_trouble(DISTANT_WAITS)) return EGRAPH_OK;
  if (has_trouble(DISTANT_BREAKS) && m->is_begun && m->place == 1)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "a link is down");
  if (has_trouble(DISTANT_BREAKS) && m->is_begun) return EGRAPH_OK;
  (void)pthread_mutex_lock(&lock);
  if (m->is_begun) advance(m);
  *out_is_done = !m->is_begun && m->site->joined == m->site->size;
  (void)pthread_mutex_unlock(&lock);
  return EGRAPH_OK;
}

// ---- life -------------------------------------------------------------------------

static void give_up(eg_transport *base) {
  carrier *transport = (carrier *)base;
  (void)pthread_mutex_lock(&lock);
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++) {
    membership *m = &transport->members[a];
    if (m->is_begun) m->site->is_left = true;
    free(m->result);
    m->result = NULL;
  }
  (void)pthread_mutex_unlock(&lock);
}

static void destroy(eg_transport *base) {
  give_up(base);
  eg_free(base->alloc, base, 1, sizeof(carrier));
}

extern const eg_transport_vtable distant_transport;

static egraph_status create(egraph_allocator alloc, const eg_device_queue *queue,
                            eg_transport **out) {
  carrier *transport;
  (void)queue;
  EG_TRY(eg_alloc(alloc, 1, sizeof *transport, &transport));
  *transport = (carrier){.base = {.vtable = &distant_transport, .alloc = alloc}};
  *out = &transport->base;
  return EGRAPH_OK;
}

const eg_transport_vtable distant_transport = {.name = "nccl",
                                               .create = create,
                                               .destroy = destroy,
                                               .make_id = make_id,
                                               .join = join,
                                               .carries = carries,
                                               .start = start,
                                               .poll = poll,
                                               .give_up = give_up};

// Sites stay until the end, because a member may come late.
__attribute__((destructor)) static void free_sites(void) {
  while (sites != NULL) {
    site *next = sites->next;
    free(sites);
    sites = next;
  }
}
