// Ranks that are lost in the middle of random collectives, on channels between threads
// and between devices: every rank ends, with the error of the one that made it, and
// nobody reads or writes buffers that another one has given back (they are freed after
// each collective). Many are lost at the same time, since most of it is waiting.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "exec/local/local_channel.h"
#include "tests/unit/channel_suite.h"
#include "tests/unit/channel_trouble.h"
#include "tests/unit/device_kit.h"

static const char *const meshes[] = {"a=2", "a=3", "a=2,b=2", "a=2,b=3", "a=2,b=2,c=2"};

// What the victim does instead of a collective; status and words that all others see.
#define LOSS_LIST(X)                                                                     \
  X(FAILS, EGRAPH_E_UNSUPPORTED, "no kernel for this")                                   \
  X(LEAVES, EGRAPH_E_CANCELLED, "did not come to")                                       \
  X(DIFFERS, EGRAPH_E_ARGUMENT, "all ranks must run the same program")
#define LOSS_ENUM(id, status, words) LOSS_##id,
typedef enum loss { LOSS_LIST(LOSS_ENUM) LOSSES } loss;

typedef struct loss_row {
  egraph_status status;
  const char *words;
} loss_row;
#define LOSS_ROW(id, status, words) {status, words},
static const loss_row losses[] = {LOSS_LIST(LOSS_ROW)};

typedef struct drama {
  trouble trouble;
  loss kind;
  uint64_t seed; // of the collectives, the same on all ranks
  uint32_t last; // the collective in which the victim is lost
} drama;

/// Along an axis with company, so that somebody notices.
static eg_collective draw(eg_rng *rng, const eg_channel *channel) {
  static const egraph_dtype dtypes[] = {EGRAPH_FLOAT32, EGRAPH_FLOAT64, EGRAPH_BFLOAT16,
                                        EGRAPH_INT8};
  eg_collective what = {.kind =
                            (eg_collective_kind)eg_rng_below(rng, EG_COLLECTIVE_BARRIER),
                        .axis = (uint32_t)eg_rng_below(rng, channel->mesh.axis_count),
                        .dtype = dtypes[eg_rng_below(rng, 4)],
                        .combining = (eg_combining)eg_rng_below(rng, 2),
                        .count = eg_rng_below(rng, 3000)};
  if (what.kind == EG_COLLECTIVE_NEIGHBOURS) what.count_back = eg_rng_below(rng, 300);
  return what;
}

static egraph_status play(void *user, eg_channel *channel) {
  drama *d = user;
  eg_rng rng = {d->seed};
  for (uint32_t i = 0; i <= d->last; i++) {
    eg_collective what = draw(&rng, channel);
    if (channel->rank == d->trouble.rank && i == d->last) {
      if (d->kind == LOSS_FAILS)
        return EG_FAIL(losses[d->kind].status, "%s", losses[d->kind].words);
      if (d->kind == LOSS_LEAVES) return EGRAPH_OK;
      what.count++;
    }
    egraph_status status = suite_run(channel, what);
    if (status != EGRAPH_OK) return trouble_note(&d->trouble, channel, status);
  }
  // Who had nothing to do with the victim hears of it where all meet.
  return trouble_note(&d->trouble, channel, eg_channel_barrier(channel));
}

static void check(const drama *d, uint32_t ranks, egraph_status status) {
  assert_int_equal(status, losses[d->kind].status);
  trouble_seen_by_all(&d->trouble, ranks, status, losses[d->kind].words);
}

typedef egraph_status (*drama_runner)(const eg_mesh *mesh, const char *text,
                                      double deadline, drama *d);

static egraph_status on_threads(const eg_mesh *mesh, const char *text, double deadline,
                                drama *d) {
  (void)text;
  return eg_local_ranks_run(NULL, mesh,
                            &(eg_channel_options){.deadline_seconds = deadline}, play, d);
}

static egraph_status on_devices_with(const char *transport, const char *text,
                                     double deadline, drama *d) {
  return kit_device_ranks_run(&(device_ranks){.mesh = text,
                                              .transport = transport,
                                              .deadline_seconds = 60,
                                              .meeting_seconds = deadline,
                                              .body = play,
                                              .user = d});
}

static egraph_status over_a_transport(const eg_mesh *mesh, const char *text,
                                      double deadline, drama *d) {
  (void)mesh;
  return on_devices_with("nccl", text, deadline, d);
}

static egraph_status through_the_host(const eg_mesh *mesh, const char *text,
                                      double deadline, drama *d) {
  (void)mesh;
  return on_devices_with(NULL, text, deadline, d);
}

/// A drama on a thread of its own.
typedef struct stage {
  drama drama;
  drama_runner run;
  const char *text;
  eg_mesh mesh;
  egraph_status status;
  pthread_t thread;
} stage;
enum { STAGES = 15 };

/// Only a victim that leaves is waited for; an hour says that nothing else is.
static void *run_stage(void *user) {
  stage *s = user;
  double deadline = s->drama.kind == LOSS_LEAVES ? 0.2 : 3600;
  s->status = s->run(&s->mesh, s->text, deadline, &s->drama);
  return NULL;
}

static void open_stage(stage *s, drama_runner run, loss kind, eg_rng *rng) {
  *s = (stage){.run = run,
               .text = meshes[eg_rng_below(rng, sizeof meshes / sizeof *meshes)]};
  assert_ok(eg_mesh_parse(s->text, &s->mesh));
  uint32_t ranks = eg_mesh_devices(&s->mesh);
  s->drama.trouble.rank = (uint32_t)eg_rng_below(rng, ranks);
  s->drama.kind = kind;
  s->drama.seed = eg_rng_next(rng);
  s->drama.last = (uint32_t)eg_rng_below(rng, 12);
  assert_int_equal(pthread_create(&s->thread, NULL, run_stage, s), 0);
}

static void lose_ranks(drama_runner run, uint32_t dramas) {
  static stage stages[STAGES];
  eg_rng rng = {test_seed(41)};
  for (uint32_t i = 0; i < dramas; i += STAGES) {
    for (uint32_t k = 0; k < STAGES; k++)
      open_stage(&stages[k], run, (loss)((i + k) % LOSSES), &rng);
    for (uint32_t k = 0; k < STAGES; k++)
      assert_int_equal(pthread_join(stages[k].thread, NULL), 0);
    for (uint32_t k = 0; k < STAGES; k++)
      check(&stages[k].drama, eg_mesh_devices(&stages[k].mesh), stages[k].status);
  }
}

static void threads_that_are_lost_end_all(void **state) {
  (void)state;
  lose_ranks(on_threads, 90);
}

static void devices_that_are_lost_end_all(void **state) {
  (void)state;
  kit_use_plugins(EG_DISTANT_PLUGIN, EG_DISTANT_PLUGIN);
  lose_ranks(through_the_host, 30);
  lose_ranks(over_a_transport, 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_that_are_lost_end_all),
      cmocka_unit_test(devices_that_are_lost_end_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
