// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/schedule.h"

#include <inttypes.h>

#include "base/names.h"
#include "base/owner.h"

EG_NAME_DEFINE(eg_pipeline_schedule_kind, eg_pipeline_schedule_name, EG_SCHEDULE_LIST)

void eg_pipeline_schedule_init(eg_pipeline_schedule *schedule, egraph_allocator alloc) {
  *schedule = (eg_pipeline_schedule){.stages = 0};
  eg_pipeline_schedule_passes_init(&schedule->passes, alloc);
}
void eg_pipeline_schedule_deinit(eg_pipeline_schedule *schedule) {
  eg_pipeline_schedule_passes_deinit(&schedule->passes);
}

// ---- the rules --------------------------------------------------------------------

static uint64_t passes_ahead(eg_pipeline_schedule_kind kind,
                             const eg_pipeline_schedule *of, uint32_t stage) {
  uint64_t all = (uint64_t)of->chunks * of->micro_batches, ahead = all,
           behind = of->stages - 1 - stage;
  if (kind == EG_SCHEDULE_1F1B) ahead = behind;
  if (kind == EG_SCHEDULE_INTERLEAVED && of->micro_batches != of->stages)
    ahead = 2 * behind + (uint64_t)(of->chunks - 1) * of->stages;
  return ahead < all ? ahead : all;
}

/// Returns forward or backward pass number k of any stage. Micro-batches come in groups
/// of as many as there are stages; a group passes chunk after chunk.
static eg_pipeline_schedule_pass pass_at(const eg_pipeline_schedule *of, bool is_backward,
                                         uint64_t k) {
  uint64_t group = (uint64_t)of->stages * of->chunks;
  uint32_t chunk = (uint32_t)(k % group / of->stages);
  return (eg_pipeline_schedule_pass){
      .is_backward = is_backward,
      .chunk = is_backward ? of->chunks - 1 - chunk : chunk,
      .micro_batch = (uint32_t)(k / group * of->stages + k % of->stages)};
}

static egraph_status push_stage(eg_pipeline_schedule *of, uint64_t ahead) {
  uint64_t all = (uint64_t)of->chunks * of->micro_batches, forward = 0;
  for (; forward < ahead; forward++)
    EG_TRY(eg_pipeline_schedule_passes_push(&of->passes, pass_at(of, false, forward)));
  for (uint64_t backward = 0; backward < all; backward++) {
    if (forward < all)
      EG_TRY(
          eg_pipeline_schedule_passes_push(&of->passes, pass_at(of, false, forward++)));
    EG_TRY(eg_pipeline_schedule_passes_push(&of->passes, pass_at(of, true, backward)));
  }
  return EGRAPH_OK;
}

static egraph_status check_schedule_sizes(eg_pipeline_schedule_kind kind, uint32_t stages,
                                          uint32_t chunks, uint32_t micro_batches) {
  if (stages == 0 || chunks == 0 || micro_batches == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a schedule of %" PRIu32 " stages, %" PRIu32 " chunks and %" PRIu32
                   " micro-batches; each must be 1 or more",
                   stages, chunks, micro_batches);
  if (kind != EG_SCHEDULE_INTERLEAVED && chunks != 1)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a %s schedule has one chunk per stage, not %" PRIu32
                   "; several are interleaved",
                   eg_pipeline_schedule_name(kind), chunks);
  if (kind == EG_SCHEDULE_INTERLEAVED && micro_batches % stages != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%" PRIu32 " micro-batches are no multiple of %" PRIu32
                   " stages, as an interleaved schedule needs",
                   micro_batches, stages);
  if ((double)stages * chunks * micro_batches * 2 > EG_SCHEDULE_MOST_PASSES)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a schedule of %" PRIu32 " stages, %" PRIu32 " chunks and %" PRIu32
                   " micro-batches has more than %d passes; take fewer of them",
                   stages, chunks, micro_batches, (int)EG_SCHEDULE_MOST_PASSES);
  return EGRAPH_OK;
}

egraph_status eg_pipeline_schedule_make(eg_pipeline_schedule_kind kind, uint32_t stages,
                                        uint32_t chunks, uint32_t micro_batches,
                                        eg_pipeline_schedule *out) {
  EG_TRY(check_schedule_sizes(kind, stages, chunks, micro_batches));
  out->stages = stages;
  out->chunks = chunks;
  out->micro_batches = micro_batches;
  out->passes.len = 0;
  for (uint32_t s = 0; s < stages; s++)
    EG_TRY(push_stage(out, passes_ahead(kind, out, s)));
  return EGRAPH_OK;
}

// ---- the checker ------------------------------------------------------------------

typedef struct walk {
  const eg_pipeline_schedule *of;
  eg_chars done; // [2 * parts * micro-batches] passes that have run
  eg_u32s next;  // [stages] number of the stage's next pass
} walk;
EG_OWNER_DEFINE_STATIC(walk, (eg_chars, done), (eg_u32s, next))

static size_t pass_index(const eg_pipeline_schedule *of, bool is_backward, uint32_t part,
                         uint32_t micro_batch) {
  size_t parts = (size_t)of->stages * of->chunks;
  return ((is_backward ? parts : 0) + part) * of->micro_batches + micro_batch;
}

static eg_pipeline_schedule_pass pass_of(const walk *w, uint32_t stage) {
  size_t begin = (size_t)stage * eg_pipeline_schedule_passes_of_stage(w->of);
  return w->of->passes.data[begin + w->next.data[stage]];
}

/// True when the passes that `pass` needs have run: the same micro-batch's pass of the
/// neighbouring part; before the first backward pass, the last forward pass.
static bool is_ready(const walk *w, uint32_t stage, eg_pipeline_schedule_pass pass) {
  uint32_t part = pass.chunk * w->of->stages + stage,
           last = w->of->stages * w->of->chunks - 1;
  if (!pass.is_backward)
    return part == 0 ||
           w->done.data[pass_index(w->of, false, part - 1, pass.micro_batch)] != 0;
  bool is_own = w->done.data[pass_index(w->of, false, part, pass.micro_batch)] != 0;
  return is_own &&
         (part == last ||
          w->done.data[pass_index(w->of, true, part + 1, pass.micro_batch)] != 0);
}

static egraph_status fail_pass(uint32_t stage, eg_pipeline_schedule_pass pass,
                               const char *why) {
  return EG_FAIL(EGRAPH_E_INTERNAL,
                 "schedule: stage %" PRIu32 ", %s pass of micro-batch %" PRIu32
                 ", chunk %" PRIu32 ": %s",
                 stage, pass.is_backward ? "backward" : "forward", pass.micro_batch,
                 pass.chunk, why);
}

/// Runs the passes of a pipeline stage until one must wait for another stage.
static egraph_status run_ready_passes(walk *w, uint32_t stage, bool *out_moved) {
  while (w->next.data[stage] < eg_pipeline_schedule_passes_of_stage(w->of)) {
    eg_pipeline_schedule_pass pass = pass_of(w, stage);
    if (pass.chunk >= w->of->chunks || pass.micro_batch >= w->of->micro_batches)
      return fail_pass(stage, pass, "there is none");
    if (!is_ready(w, stage, pass)) return EGRAPH_OK;
    char *done = &w->done.data[pass_index(
        w->of, pass.is_backward, pass.chunk * w->of->stages + stage, pass.micro_batch)];
    if (*done != 0) return fail_pass(stage, pass, "it runs twice");
    *done = 1;
    *out_moved = true;
    w->next.data[stage]++;
  }
  return EGRAPH_OK;
}

static egraph_status run_all_passes(walk *w) {
  bool has_moved = true;
  while (has_moved) {
    has_moved = false;
    for (uint32_t s = 0; s < w->of->stages; s++)
      EG_TRY(run_ready_passes(w, s, &has_moved));
  }
  for (uint32_t s = 0; s < w->of->stages; s++)
    if (w->next.data[s] < eg_pipeline_schedule_passes_of_stage(w->of))
      return fail_pass(s, pass_of(w, s), "it waits for ever");
  return EGRAPH_OK;
}

static void find_peaks(const eg_pipeline_schedule *of, uint32_t *out_peaks) {
  uint32_t count = eg_pipeline_schedule_passes_of_stage(of);
  for (uint32_t s = 0; s < of->stages; s++) {
    uint32_t now = 0;
    out_peaks[s] = 0;
    for (uint32_t i = 0; i < count; i++) {
      now += of->passes.data[(size_t)s * count + i].is_backward ? UINT32_MAX : 1;
      if (now > out_peaks[s]) out_peaks[s] = now;
    }
  }
}

egraph_status eg_pipeline_schedule_check(const eg_pipeline_schedule *schedule,
                                         egraph_allocator alloc, uint32_t *out_peaks) {
  size_t expected =
      (size_t)schedule->stages * eg_pipeline_schedule_passes_of_stage(schedule);
  if (schedule->passes.len != expected)
    return EG_FAIL(EGRAPH_E_INTERNAL, "schedule: %zu passes instead of %zu",
                   schedule->passes.len, expected);
  EG_LOCAL(walk, w, alloc);
  w.of = schedule;
  EG_TRY(eg_chars_resize(&w.done, expected));
  EG_TRY(eg_u32s_resize(&w.next, schedule->stages));
  EG_TRY(run_all_passes(&w));
  find_peaks(schedule, out_peaks);
  return EGRAPH_OK;
}
