// Public functions on existing plans: files, figures, prices, texts.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments.h"
#include "api/objects.h"
#include "base/owner.h"
#include "base/text.h"
#include "pcg/plan/plan_analysis.h"
#include "pcg/plan/plan_diff.h"
#include "pcg/plan/plan_report.h"
#include "pcg/plan/plan_words.h"

EG_HOLDER_DEFINE(egraph_plan)

// ---- the object -----------------------------------------------------------------

static egraph_status sum_up(egraph_plan *plan) {
  eg_plan_summary summary;
  EG_TRY(eg_plan_summary_make(&plan->planned.plan, plan->alloc, &summary));
  plan->info.cost = summary.seconds;
  plan->info.memory = summary.peak;
  return EGRAPH_OK;
}

static egraph_status describe(egraph_plan *plan) {
  const eg_plan *planned = &plan->planned.plan;
  EG_TRY(eg_mesh_print(&plan->mesh, &planned->mesh));
  plan->info.mesh = eg_text_of(&plan->mesh);
  plan->info.devices = eg_mesh_devices(&planned->mesh);
  plan->info.micro_batches = planned->micro_batches;
  plan->info.nodes = eg_graph_node_count(planned->graph);
  return sum_up(plan);
}

egraph_status eg_planned_create(egraph_allocator alloc, eg_loaded_plan *planned,
                                double memory_limit, egraph_plan **out) {
  EG_HELD(egraph_plan, plan);
  egraph_status status = eg_alloc(alloc, 1, sizeof *plan, &plan);
  if (status != EGRAPH_OK) {
    eg_loaded_plan_deinit(planned);
    return status;
  }
  *plan = (egraph_plan){
      .alloc = alloc, .info.memory_limit = memory_limit, .planned = *planned};
  eg_text_init(&plan->mesh, alloc);
  EG_HAND_OVER(describe(plan), plan, out);
}

void egraph_plan_destroy(egraph_plan *plan) {
  if (plan == NULL) return;
  eg_loaded_plan_deinit(&plan->planned);
  eg_text_deinit(&plan->mesh);
  eg_free(plan->alloc, plan, 1, sizeof *plan);
}

egraph_plan_info egraph_plan_info_of(const egraph_plan *plan) {
  return plan != NULL ? plan->info : (egraph_plan_info){.mesh = ""};
}

const egraph_graph *egraph_plan_graph(const egraph_plan *plan) {
  return plan != NULL ? plan->planned.graph : NULL;
}

// ---- files ----------------------------------------------------------------------

egraph_status egraph_plan_save(const egraph_plan *plan, const char *path) {
  EG_REQUIRE(plan, path);
  EG_LOCAL(eg_text, text, plan->alloc);
  EG_TRY(eg_plan_write_json(&plan->planned.plan, &text));
  return eg_file_write(path, text.chars.data, text.chars.len);
}

/// Loads a plan: from `text` under the name `path`, or, if `text` is NULL, from the file
/// at `path`.
static egraph_status load_plan(const egraph_allocator *alloc, const char *path,
                               const char *text, size_t size, egraph_plan **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_loaded_plan loaded;
  EG_TRY(text != NULL ? eg_plan_parse_json(heap, path, text, size, &loaded)
                      : eg_plan_read_json(heap, path, &loaded));
  double limit = loaded.plan.memory_limit;
  return eg_planned_create(heap, &loaded, limit > 0 ? limit : INFINITY, out);
}

egraph_status egraph_plan_load(const egraph_allocator *alloc, const char *path,
                               egraph_plan **out) {
  EG_REQUIRE(path, out);
  return load_plan(alloc, path, NULL, 0, out);
}

egraph_status egraph_plan_parse(const egraph_allocator *alloc, const char *name,
                                const char *text, size_t size, egraph_plan **out) {
  EG_REQUIRE(name, text, out);
  return load_plan(alloc, name, text, size, out);
}

// ---- figures --------------------------------------------------------------------

static void report_exchanges(const eg_plan_summary *summary,
                             void (*report)(void *user,
                                            const egraph_plan_exchange *exchange),
                             void *user) {
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    for (uint32_t axis = 0; axis < summary->mesh.axis_count; axis++)
      for (uint32_t k = 0; k < EG_EXCHANGES; k++) {
        const eg_exchange_sum *sum = &summary->exchange[p][axis][k];
        if (sum->count == 0 || !eg_exchange_is_remote(k)) continue;
        egraph_plan_exchange exchange = {.phase = eg_phase_name((eg_phase)p),
                                         .kind = eg_exchange_name(k),
                                         .axis = summary->mesh.axes[axis].name,
                                         .count = sum->count,
                                         .bytes = sum->bytes,
                                         .seconds = sum->seconds};
        report(user, &exchange);
      }
}

egraph_status
egraph_plan_account(const egraph_plan *plan,
                    void (*on_exchange)(void *user, const egraph_plan_exchange *exchange),
                    void (*on_store)(void *user, const egraph_plan_store *store),
                    void *user) {
  EG_REQUIRE(plan);
  eg_plan_summary summary;
  EG_TRY(eg_plan_summary_make(&plan->planned.plan, plan->alloc, &summary));
  if (on_exchange != NULL) report_exchanges(&summary, on_exchange, user);
  for (int s = 0; s < EG_STORES && on_store != NULL; s++) {
    egraph_plan_store store = {.kind = eg_store_name((eg_store)s),
                               .at_peak = summary.at_peak[s],
                               .most = summary.most[s]};
    on_store(user, &store);
  }
  return EGRAPH_OK;
}

egraph_status egraph_plan_price(egraph_plan *plan, const egraph_target *target,
                                egraph_costs *costs) {
  EG_REQUIRE(plan);
  egraph_target own;
  eg_host_costs of_host;
  char this_host[32];
  EG_TRY(eg_options_take(EGRAPH_TARGET, target, &own));
  (void)snprintf(this_host, sizeof this_host, "host*%" PRIu32, plan->info.devices);
  if (target == NULL) own.machine = this_host;
  if (costs != NULL) of_host = eg_costs_of_host(costs);
  EG_TRY(eg_target_price_plan(&plan->planned.plan, plan->alloc, &own,
                              costs != NULL ? &of_host : NULL, &plan->info.memory_limit));
  double limit = plan->info.memory_limit;
  plan->planned.plan.memory_limit = isfinite(limit) ? limit : 0;
  plan->planned.plan.single_seconds = 0; // belongs to the machine before
  return sum_up(plan);
}

// ---- texts ----------------------------------------------------------------------

egraph_status egraph_plan_pack(const egraph_allocator *alloc, const egraph_plan *plan,
                               char **out) {
  EG_REQUIRE(plan, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  EG_TRY(eg_plan_write_json(&plan->planned.plan, &text));
  return eg_text_take(&text, out);
}

egraph_status egraph_plan_print(const egraph_allocator *alloc, const egraph_plan *plan,
                                bool unity, char **out) {
  EG_REQUIRE(plan, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  eg_plan_summary summary;
  EG_TRY(eg_plan_summary_make(&plan->planned.plan, plan->alloc, &summary));
  EG_TRY(eg_plan_print(&plan->planned.plan, unity ? EG_PLAN_UNITY : EG_PLAN_COLLECTIVES,
                       &text));
  EG_TRY(eg_plan_summary_print(&text, &summary));
  return eg_text_take(&text, out);
}

egraph_status egraph_plan_summary_json(const egraph_allocator *alloc,
                                       const egraph_plan *plan, char **out) {
  EG_REQUIRE(plan, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  eg_plan_summary summary;
  EG_TRY(eg_plan_summary_make(&plan->planned.plan, plan->alloc, &summary));
  (void)eg_text_append(&text, "{");
  EG_TRY(eg_plan_summary_write_members(&text, &summary));
  (void)eg_text_append(&text, ", ");
  EG_TRY(eg_plan_remarks_write_members(&text, &plan->planned.plan));
  (void)eg_text_append(&text, "}");
  return eg_text_take(&text, out);
}

egraph_status egraph_plan_remarks(const egraph_allocator *alloc, const egraph_plan *plan,
                                  bool json, char **out) {
  EG_REQUIRE(plan, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  const eg_plan *planned = &plan->planned.plan;
  eg_plan_summary summary;
  EG_TRY(eg_plan_summary_make(planned, plan->alloc, &summary));
  if (json) {
    (void)eg_text_append(&text, "{");
    EG_TRY(eg_plan_remarks_write_members(&text, planned));
    (void)eg_text_append(&text, "}");
  } else {
    EG_TRY(eg_plan_answer_print(&text, planned, &summary, plan->info.memory_limit));
    EG_TRY(eg_plan_remarks_print(&text, planned, &summary));
  }
  return eg_text_take(&text, out);
}

egraph_status egraph_plan_diff(const egraph_allocator *alloc, const egraph_plan *before,
                               const egraph_plan *after, bool json, char **out) {
  EG_REQUIRE(before, after, out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_plan_diff diff;
  EG_TRY(eg_plan_diff_make(&before->planned.plan, &after->planned.plan, heap, &diff));
  EG_LOCAL(eg_text, text, heap);
  egraph_status status =
      (json ? eg_plan_diff_write_json : eg_plan_diff_print)(&text, &diff);
  eg_plan_diff_deinit(&diff);
  return status == EGRAPH_OK ? eg_text_take(&text, out) : status;
}
