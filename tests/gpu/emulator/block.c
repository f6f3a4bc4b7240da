// Blocks of threads: each thread is a fiber with a stack of its own, and runs until it
// waits for others. The order between barriers is random. A context is made once per
// fiber; switches are jumps, which need no system call.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE // whose longjmp refuses other stacks
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/gpu/emulator/running.h"

enum { STACK_BYTES = 64 << 10 };

typedef enum fiber_state { READY, AT_BARRIER, AT_WARP, ENDED } fiber_state;

typedef struct fiber {
  jmp_buf place;
  ucontext_t context;
  bool is_made, is_started;
  fiber_state state;
  const char *site; // where it waits
  uint32_t mask, source;
  bool is_ballot, orders;
  uint64_t value, result;
} fiber;

typedef struct scheduler {
  jmp_buf place;
  char *stacks; // of all fibers
  fiber fibers[EG_MOST_THREADS];
  uint64_t random;
  uint16_t order[EG_MOST_THREADS]; // of threads that can run
  char finding[512];
} scheduler;

EG_NEAR _Thread_local eg_running eg_running_thread;
static EG_NEAR _Thread_local scheduler *own;

enum { RAN, STOPPED, FAILED }; // what comes to the scheduler's place

void eg_emulator_fail(const char *format, ...) {
  char text[384];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const eg_running *r = &eg_running_thread;
  snprintf(own->finding, sizeof own->finding,
           "%s: kernel %s, block %u of %u, thread %u of %u", text, r->request->name,
           r->block, r->blocks, r->thread, r->threads);
  _longjmp(own->place, FAILED);
}

const char *eg_emulator_finding(void) { return own->finding; }

// ---- fibers -----------------------------------------------------------------------

/// Back to the scheduler, until it comes here again.
static void stop(fiber *f) {
  if (_setjmp(f->place) == 0) _longjmp(own->place, STOPPED);
}

static void run_fiber(void) {
  for (;;) {
    const eg_running *r = &eg_running_thread;
    fiber *f = &own->fibers[r->thread];
    r->request->run(r->request->closure);
    f->state = ENDED;
    stop(f);
  }
}

static void make_fiber(fiber *f, uint32_t number) {
  (void)getcontext(&f->context);
  f->context.uc_stack.ss_sp = own->stacks + (size_t)number * STACK_BYTES;
  f->context.uc_stack.ss_size = STACK_BYTES;
  f->context.uc_link = NULL;
  makecontext(&f->context, run_fiber, 0);
  f->is_made = true;
  f->is_started = false;
}

/// Runs thread `number` until it waits or ends.
static void resume(uint32_t number) {
  fiber *f = &own->fibers[number];
  eg_running *r = &eg_running_thread;
  r->thread = number;
  r->stack = own->stacks + (size_t)number * STACK_BYTES;
  r->stack_end = r->stack + STACK_BYTES;
  if (f->is_started) _longjmp(f->place, 1);
  f->is_started = true;
  (void)setcontext(&f->context);
}

// ---- waiting, from within a fiber --------------------------------------------------

static fiber *wait_at(fiber_state state, const char *site) {
  fiber *f = &own->fibers[eg_running_thread.thread];
  f->state = state;
  f->site = site;
  stop(f);
  return f;
}

void eg_emulator_barrier(const char *site) { (void)wait_at(AT_BARRIER, site); }

static uint64_t meet_warp(const char *site, const fiber *request) {
  uint32_t thread = eg_running_thread.thread;
  fiber *f = &own->fibers[thread];
  if ((request->mask >> thread % EG_WARP & 1) == 0)
    eg_emulator_fail(EG_MASK ": %08x lacks the calling thread, %s", request->mask, site);
  f->mask = request->mask;
  f->source = request->source;
  f->value = request->value;
  f->is_ballot = request->is_ballot;
  f->orders = request->orders;
  return wait_at(AT_WARP, site)->result;
}

uint64_t eg_emulator_exchange(const char *site, uint32_t mask, uint64_t value,
                              uint32_t source, bool orders) {
  const fiber request = {
      .mask = mask, .value = value, .source = source, .orders = orders};
  return meet_warp(site, &request);
}

uint32_t eg_emulator_ballot(const char *site, uint32_t mask, bool is_true) {
  const fiber request = {.mask = mask, .value = is_true, .is_ballot = true};
  return (uint32_t)meet_warp(site, &request);
}

uint32_t eg_emulator_thread(void) { return eg_running_thread.thread; }
uint32_t eg_emulator_block(void) { return eg_running_thread.block; }
uint32_t eg_emulator_threads(void) { return eg_running_thread.threads; }
uint32_t eg_emulator_blocks(void) { return eg_running_thread.blocks; }

// ---- releasing those who wait ------------------------------------------------------

/// Whether all lanes of the mask wait at the same place; lanes past the end of the block
/// are none.
static bool is_complete(uint32_t first, const fiber *leader) {
  for (uint32_t lane = 0; lane < EG_WARP; lane++) {
    const fiber *f = &own->fibers[first + lane];
    if ((leader->mask >> lane & 1) == 0 || first + lane >= eg_running_thread.threads)
      continue;
    if (f->state != AT_WARP || f->mask != leader->mask || f->site != leader->site)
      return false;
  }
  return true;
}

static void give_results(uint32_t first, const fiber *leader) {
  uint32_t mask = leader->mask, ballot = 0, lanes = eg_running_thread.threads - first;
  fiber *fibers = &own->fibers[first];
  for (uint32_t lane = 0; lane < EG_WARP && lane < lanes; lane++)
    if (mask >> lane & 1) ballot |= (uint32_t)(fibers[lane].value != 0) << lane;
  for (uint32_t lane = 0; lane < EG_WARP && lane < lanes; lane++) {
    fiber *f = &fibers[lane];
    if ((mask >> lane & 1) == 0) continue;
    eg_running_thread.thread = first + lane;
    if (!f->is_ballot && (f->source >= lanes || (mask >> f->source & 1) == 0))
      eg_emulator_fail(EG_MASK ": %08x has no lane %u to read from, %s", mask, f->source,
                       f->site);
    f->result = f->is_ballot ? ballot : fibers[f->source].value;
  }
}

/// Lets a group of lanes go on; false: none is complete.
static bool release_warp(uint32_t first) {
  uint32_t lanes = eg_running_thread.threads - first, all = 0, mask;
  for (uint32_t lane = 0; lane < EG_WARP && lane < lanes; lane++)
    all |= 1u << lane;
  for (uint32_t lane = 0; lane < EG_WARP && lane < lanes; lane++) {
    const fiber *leader = &own->fibers[first + lane];
    if (leader->state != AT_WARP || !is_complete(first, leader)) continue;
    mask = leader->mask & all;
    give_results(first, leader);
    if (leader->orders && mask == all)
      eg_running_thread.warps[first / EG_WARP] = ++eg_running_thread.now;
    for (uint32_t i = 0; i < lanes && i < EG_WARP; i++)
      if (mask >> i & 1) own->fibers[first + i].state = READY;
    return true;
  }
  return false;
}

static bool release_warps(void) {
  bool any = false;
  for (uint32_t first = 0; first < eg_running_thread.threads; first += EG_WARP)
    while (release_warp(first))
      any = true;
  return any;
}

/// All that have not ended wait, and no group of lanes is complete.
static void release_block(void) {
  eg_running *r = &eg_running_thread;
  const fiber *leader = &own->fibers[0];
  for (uint32_t i = 0; i < r->threads; i++) {
    const fiber *f = &own->fibers[r->thread = i];
    if (f->state == AT_WARP) eg_emulator_fail(EG_MASK ": %08x, %s", f->mask, f->site);
  }
  for (uint32_t i = 0; i < r->threads; i++) {
    const fiber *f = &own->fibers[r->thread = i];
    if (f->state != leader->state || strcmp(f->site, leader->site) != 0)
      eg_emulator_fail(EG_DIVERGENT ": thread 0 %s %s, this one %s %s",
                       leader->state == ENDED ? "has ended, last" : "waits at",
                       leader->site, f->state == ENDED ? "has ended, last" : "waits at",
                       f->site);
  }
  r->barrier = ++r->now;
  for (uint32_t i = 0; i < r->threads; i++)
    own->fibers[i].state = READY;
}

// ---- blocks -----------------------------------------------------------------------

static uint32_t draw(uint32_t below) {
  own->random ^= own->random << 13;
  own->random ^= own->random >> 7;
  own->random ^= own->random << 17;
  return (uint32_t)(own->random >> 16) % below;
}

/// The threads that can run, in random order.
static uint32_t list_ready(uint16_t *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < eg_running_thread.threads; i++) {
    if (own->fibers[i].state != READY) continue;
    uint32_t at = draw(++count);
    out[count - 1] = out[at];
    out[at] = (uint16_t)i;
  }
  return count;
}

static bool have_ended(void) {
  for (uint32_t i = 0; i < eg_running_thread.threads; i++)
    if (own->fibers[i].state != ENDED) return false;
  return true;
}

/// The scheduler. Its own variables outlive jumps, so they are in memory.
static bool run_block(void) {
  volatile uint32_t next = 0, count = 0;
  eg_running *r = &eg_running_thread;
  r->barrier = r->block_start = ++r->now;
  for (uint32_t w = 0; w < EG_MOST_THREADS / EG_WARP; w++)
    r->warps[w] = r->block_start;
  for (uint32_t i = 0; i < r->threads; i++) {
    own->fibers[i].state = READY;
    own->fibers[i].site = "nowhere";
    if (!own->fibers[i].is_made) make_fiber(&own->fibers[i], i);
  }
  if (_setjmp(own->place) == FAILED) return false;
  for (;;) {
    if (next < count) resume(own->order[next++]); // comes back at _setjmp
    next = 0;
    count = list_ready(own->order);
    if (count != 0) continue;
    if (have_ended()) return true;
    if (!release_warps()) release_block();
  }
}

static void make_scheduler(void) {
  own = calloc(1, sizeof *own);
  own->stacks = mmap(NULL, (size_t)EG_MOST_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (own->stacks == MAP_FAILED) abort();
}

static uint32_t variable(const char *name, uint32_t other) {
  const char *text = getenv(name);
  return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : other;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

bool eg_emulator_run(const eg_launch_request *request) {
  static uint32_t clock; // of the device
  eg_running *r = &eg_running_thread;
  bool passes = true;
  if (own == NULL) make_scheduler();
  own->random = variable("EG_EMULATED_SEED", 1) * UINT64_C(0x9e3779b97f4a7c15) + 1;
  r->request = request;
  r->now = clock;
  uint32_t most = request->keeps_threads
                      ? EG_MOST_THREADS
                      : variable("EG_EMULATED_THREADS", EG_MOST_THREADS);
  r->threads = least(request->threads, most);
  r->blocks = least(request->blocks, variable("EG_EMULATED_BLOCKS", UINT32_MAX));
  r->launch_start = r->now + 1;
  for (r->block = 0; passes && r->block < r->blocks; r->block++)
    passes = run_block();
  clock = r->now;
  r->request = NULL;
  for (uint32_t i = 0; !passes && i < EG_MOST_THREADS; i++)
    own->fibers[i].is_made = false; // some stand in the middle of the kernel
  return passes;
}
