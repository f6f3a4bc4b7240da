// Finds errors in the seconds of a plan: compares planned and measured seconds of its
// steps on ranks (threads), by operator and by kind of exchange. The measured value is
// the least of many runs and of all ranks, because other programs and waiting for slower
// ranks only add time.
//
//   plan_steps PLAN.json [RUNS [ISSUE]]      default 50, in order
//
// With an order of issue, exchanges overlap with computing: the seconds of a step are
// then the seconds in which its rank is busy with it. The memory of ranks is printed next
// to the planned memory.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "exec/local/local_channel.h"
#include "exec/rank_program.h"
#include "pcg/graph/weights.h"
#include "pcg/plan/plan_json.h"

enum { MAX_INPUTS = 1024, MAX_RANKS = 64, KINDS = EG_OP_COUNT + EG_TRANSITION_KINDS };

typedef struct bench {
  const eg_plan *plan;
  const eg_tensor *inputs;
  uint32_t runs;
  eg_issue issue;
  size_t arena[MAX_RANKS];  // bytes of a rank
  double *steps[MAX_RANKS]; // [plan steps] least seconds
  double least[MAX_RANKS];  // least seconds of a whole step, without timing its parts
} bench;

static void fill_tensor(const char *name, const eg_tensor *tensor) {
  if (strcmp(name, "learning_rate") == 0 || strcmp(name, "step") == 0)
    eg_tensor_set_double(tensor, 0, name[0] == 's' ? 1 : 1e-3);
  else
    eg_input_draw(name, 1, tensor);
}

static egraph_status time_steps(bench *b, eg_rank_program *program, uint32_t rank) {
  eg_rank_program_set_timing(program, true);
  for (uint32_t r = 0; r < b->runs; r++) {
    EG_TRY(eg_rank_program_run(program, b->inputs));
    for (uint32_t i = 0; i < eg_rank_program_step_count(program); i++) {
      double seconds = eg_rank_program_step_at(program, i)->seconds;
      if (r == 0 || seconds < b->steps[rank][i]) b->steps[rank][i] = seconds;
    }
  }
  eg_rank_program_set_timing(program, false);
  return EGRAPH_OK;
}

static egraph_status run_rank(void *user, eg_channel *channel) {
  bench *b = user;
  eg_rank_options options = EG_RANK_OPTIONS_DEFAULT;
  options.overlaps = b->issue != EG_ISSUE_IN_ORDER;
  options.issue = b->issue;
  eg_rank_program *program;
  EG_TRY(eg_rank_program_create(NULL, b->plan, channel, &options, &program));
  egraph_status status = eg_rank_program_load(program);
  b->arena[channel->rank] = eg_rank_program_memory(program).arena;
  b->least[channel->rank] = (double)INFINITY;
  for (uint32_t r = 0; status == EGRAPH_OK && r <= b->runs; r++) {
    status = eg_channel_barrier(channel);
    double start = eg_clock_seconds();
    if (status == EGRAPH_OK) status = eg_rank_program_run(program, b->inputs);
    if (r != 0)
      b->least[channel->rank] = fmin(b->least[channel->rank], eg_clock_seconds() - start);
  }
  if (status == EGRAPH_OK) status = time_steps(b, program, channel->rank);
  eg_rank_program_destroy(program);
  return status;
}

static int kind_of(const eg_plan *plan, const eg_plan_step *step) {
  return step->is_move ? EG_OP_COUNT + (int)step->transition.kind
                       : (int)eg_graph_node_at(plan->graph, step->node).attrs->op;
}

static void print_table(const bench *b, uint32_t ranks) {
  double planned[KINDS] = {0}, taken[KINDS] = {0}, all_planned = 0, all_taken = 0,
         whole = 0;
  int count[KINDS] = {0};
  for (uint32_t i = 0; i < b->plan->steps.len; i++) {
    const eg_plan_step *step = &b->plan->steps.data[i];
    double least = b->steps[0][i];
    for (uint32_t r = 1; r < ranks; r++)
      least = fmin(least, b->steps[r][i]);
    int kind = kind_of(b->plan, step);
    planned[kind] += step->seconds;
    taken[kind] += least;
    count[kind]++;
  }
  printf("%-24s %6s %12s %12s %8s\n", "kind", "steps", "planned us", "taken us", "ratio");
  for (int k = 0; k < KINDS; k++) {
    if (count[k] == 0) continue;
    const char *name = k < EG_OP_COUNT
                           ? eg_op_info_of((eg_op)k)->name
                           : eg_transition_name((eg_transition_kind)(k - EG_OP_COUNT));
    printf("%-24s %6d %12.1f %12.1f %8.2f\n", name, count[k], 1e6 * planned[k],
           1e6 * taken[k], taken[k] / planned[k]);
    all_planned += planned[k];
    all_taken += taken[k];
  }
  for (uint32_t r = 0; r < ranks; r++)
    whole = fmax(whole, b->least[r]);
  printf("%-24s %6zu %12.1f %12.1f %8.2f\n", "all", b->plan->steps.len, 1e6 * all_planned,
         1e6 * all_taken, all_taken / all_planned);
  printf("least step, untimed %.1f us; memory of rank 0 %zu bytes\n", 1e6 * whole,
         b->arena[0]);
}

static egraph_status run_plan(const eg_plan *plan, uint32_t runs, eg_issue issue) {
  static eg_tensor inputs[MAX_INPUTS];
  static bench b;
  uint32_t ranks = eg_mesh_devices(&plan->mesh),
           count = eg_graph_input_count(plan->graph);
  const eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  if (ranks > MAX_RANKS || (size_t)count * plan->micro_batches > MAX_INPUTS)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "at most %d ranks and %d inputs", MAX_RANKS,
                   MAX_INPUTS);
  for (uint32_t i = 0; i < count * plan->micro_batches; i++) {
    const eg_value_info *info =
        eg_graph_value(plan->graph, eg_graph_input(plan->graph, i % count));
    inputs[i] = (eg_tensor){.type = info->type,
                            .data = calloc(eg_type_bytes(&info->type) + 1, 1)};
    if (inputs[i].data == NULL) return EGRAPH_E_MEMORY;
    fill_tensor(info->name, &inputs[i]);
  }
  b = (bench){.plan = plan, .inputs = inputs, .runs = runs, .issue = issue};
  for (uint32_t r = 0; r < ranks; r++)
    if ((b.steps[r] = calloc(plan->steps.len + 1, sizeof(double))) == NULL)
      return EGRAPH_E_MEMORY;
  EG_TRY(eg_local_ranks_run(NULL, &plan->mesh, &options, run_rank, &b));
  print_table(&b, ranks);
  return EGRAPH_OK;
}

static eg_issue issue_of(const char *name) {
  static const char *const names[] = {[EG_ISSUE_AHEAD_4] = "ahead-4",
                                      [EG_ISSUE_AHEAD_2] = "ahead-2",
                                      [EG_ISSUE_AHEAD] = "ahead",
                                      [EG_ISSUE_REDUCTIONS] = "reductions"};
  for (int i = 0; name != NULL && i < EG_ISSUE_IN_ORDER; i++)
    if (strcmp(name, names[i]) == 0) return (eg_issue)i;
  return EG_ISSUE_IN_ORDER;
}

int main(int argc, char **argv) {
  eg_loaded_plan read;
  uint32_t runs = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 50;
  if (argc < 2 || runs == 0) {
    fprintf(stderr, "usage: plan_steps PLAN.json [RUNS [ISSUE]]\n");
    return 2;
  }
  egraph_status status = eg_plan_read_json(eg_allocator_or_heap(NULL), argv[1], &read);
  if (status == EGRAPH_OK)
    status = run_plan(&read.plan, runs, issue_of(argc > 3 ? argv[3] : NULL));
  if (status != EGRAPH_OK) fprintf(stderr, "plan_steps: %s\n", egraph_last_error());
  return status != EGRAPH_OK;
}
