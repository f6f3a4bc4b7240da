// SPDX-License-Identifier: Apache-2.0
#include "tools/result_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/trained_weights.h"

// ---- one device -------------------------------------------------------------------

static void print_basis_json(const char *name, const egraph_cost_basis *basis) {
  JSON_OBJECT(name, JSON("measured", basis->measured),
              JSON("estimated", basis->estimated), JSON("reached", basis->reached),
              JSON("guessed", basis->guessed), JSON("given", basis->given),
              JSON("unpriced", basis->unpriced));
}

static void explanation_json(const egraph_result *result) {
  const egraph_graph *graph = egraph_result_graph(result);
  JSON_EACH("explanation", i, egraph_graph_node_count(graph)) {
    egraph_node node = {i};
    egraph_origin origin = egraph_result_origin(result, node);
    JSON_OBJECT(
        NULL, JSON("value", egraph_value_name(graph, egraph_node_result(graph, node, 0))),
        JSON("operator", egraph_node_operator(graph, node)),
        JSON("made_by", origin.made_by), JSON("seconds", origin.seconds));
  }
}

/// Writes the figures of a search by a published algorithm, as JSON.
static void search_json(const egraph_report *r) {
  JSON_OBJECT("search", JSON("algorithm", r->algorithm),
              JSON("graphs_visited", r->graphs_visited),
              JSON("graphs_queued", r->graphs_queued),
              JSON("rewrites_tried", r->rewrites_tried), JSON("work", r->search_work),
              JSON("seconds", r->search_seconds));
}

/// True when the executor has kernels for all operators of the result.
static bool is_runnable(const egraph_result *result) {
  return egraph_graph_info_of(egraph_result_graph(result)).opaque_nodes == 0;
}

static void unpriced_json(const egraph_result *result) {
  const char *name;
  uint32_t count;
  json_open("unpriced", '[');
  for (uint32_t i = 0; (count = egraph_result_unpriced(result, i, &name)) != 0; i++)
    JSON_OBJECT(NULL, JSON("operator", name), JSON("count", count));
  json_close(']');
}

void print_graph_json(const optimize_session *session, bool explains) {
  const egraph_report *r = egraph_result_report(session->result);
  JSON_BEGIN(JSON("cost_before", r->cost_before), JSON("cost_after", r->cost_after),
             JSON("bound", r->bound), JSON("gap", r->gap), JSON("status", r->status),
             JSON("proven_over", r->proven_over), JSON("ended", r->ended),
             JSON("stop", r->stop));
  if (r->algorithm != NULL) search_json(r);
  JSON_MEMBERS(JSON("math", egraph_math_name(r->math)), JSON("rounds", r->rounds),
               JSON("settled", r->settled), JSON("nodes", r->nodes),
               JSON("classes", r->classes), JSON("iterations", r->iterations),
               JSON("nodes_before", r->nodes_before), JSON("nodes_after", r->nodes_after),
               JSON("tree_cost", r->tree_cost), JSON("dag_cost", r->dag_cost),
               JSON("measured", r->measured), JSON("measured_again", r->measured_again),
               JSON("order_clear", r->is_order_clear),
               JSON("measured_while_busy", r->busy));
  JSON_EACH("open", i, egraph_graph_open_dims(session->graph)) {
    egraph_dim dim;
    if (egraph_graph_open_dim(session->graph, i, &dim) == EGRAPH_OK)
      JSON_OBJECT(NULL, JSON("dim", dim.name), JSON("example", (uint64_t)dim.size));
  }
  print_basis_json("costs", &r->basis);
  print_basis_json("costs_compared", &r->compared);
  unpriced_json(session->result);
  JSON_MEMBERS(JSON("unpriced_seconds", r->unpriced_seconds),
               JSON("unsized_values", r->unsized_values));
  if (r->unsized_value != NULL)
    json_text("unsized_value", r->unsized_value);
  else
    json_value("unsized_value", "null");
  JSON_MEMBERS(JSON("unknown_trips", r->unknown_trips),
               JSON("runnable", is_runnable(session->result)),
               JSON("left_out", r->left_out));
  JSON_OBJECT("work", JSON("saturate", r->saturate_work),
              JSON("extract", r->extract_work));
  JSON_OBJECT("seconds", JSON("saturate", r->saturate_seconds),
              JSON("profile", r->profile_seconds), JSON("extract", r->extract_seconds),
              JSON("total", r->total_seconds));
  JSON_EACH("rules", i, egraph_result_rule_count(session->result)) {
    egraph_rule_report rule = egraph_result_rule(session->result, i);
    if (rule.matches == 0) continue;
    JSON_OBJECT(NULL, JSON("name", rule.name), JSON("matches", rule.matches),
                JSON("rejected", rule.rejected), JSON("nodes", rule.nodes),
                JSON("unions", rule.unions));
  }
  if (explains) explanation_json(session->result);
  json_end();
}

static void print_basis_text(const char *name, const egraph_cost_basis *basis) {
  printf("%s %u measured, %u estimated from measurements, ", name, basis->measured,
         basis->estimated);
  if (basis->reached != 0) printf("%u by what such devices reach, ", basis->reached);
  printf("%u guessed", basis->guessed);
  if (basis->given != 0) printf(", %u given", basis->given);
  if (basis->unpriced != 0) printf(", %u unpriced", basis->unpriced);
}

/// Returns the reason why the search ended, with the flag that lets it continue.
static const char *end_words(const egraph_report *r) {
  static const struct {
    const char *ended, *words;
  } all[] = {{"proven", "with a proof"},
             {"gap", "at its relative gap; --gap 0 goes on to a proof"},
             {"round-limit", "at its limit of rounds; --rounds N raises it"},
             {"node-limit", "at its limit of e-nodes; --node-limit X raises it"},
             {"byte-limit", "at its limit of bytes; --byte-limit N raises it"},
             {"work-limit", "at its work limit; --work N or --time-limit X raises it"},
             {"time-limit", "at its time limit; --time-limit X raises it"},
             {"exhausted", "with nothing left to look at"},
             {"no-gain", "after half of its work without a gain"},
             {"cancelled", "cancelled"}};
  size_t i = 0;
  while (i + 1 < sizeof all / sizeof *all && strcmp(r->ended, all[i].ended) != 0)
    i++;
  return all[i].words;
}

/// Prints the quality of the result: "optimal: proven, over all variants", "within 0.3 %
/// of the optimum, over the variants reached".
static void print_status(const egraph_report *r) {
  bool is_all = strcmp(r->proven_over, "variants reached") != 0;
  bool is_named = strcmp(r->status, "optimal of the variants reached") == 0;
  if (strcmp(r->status, "feasible") != 0)
    printf("%s: proven", r->status);
  else if (r->bound > 0 && r->cost_after < 2 * r->bound)
    printf("within %.2g %% of the optimum", 100 * (1 - r->bound / r->cost_after));
  else if (r->bound > 0)
    printf("at most %.3g times the optimum", r->cost_after / r->bound);
  else
    printf("feasible; how far from the optimum is not known");
  if (strcmp(r->status, "feasible") == 0 && r->basis.unpriced != 0)
    printf(" of what is priced");
  if (!is_named) printf(", over %s", is_all ? r->proven_over : "the variants reached");
}

/// Prints the dimensions that stay open, with the example sizes of the costs.
static void print_open_dims(const egraph_graph *graph) {
  uint32_t count = egraph_graph_open_dims(graph);
  for (uint32_t i = 0; i < count; i++) {
    egraph_dim dim;
    if (egraph_graph_open_dim(graph, i, &dim) != EGRAPH_OK) return;
    show(stdout, "%s%s (example %lld)", i == 0 ? "open        " : "", dim.name,
         (long long)dim.size);
    printf("%s", i + 1 < count ? ", " : "\n");
  }
}

/// Prints notes on the measurements of operators, if there are any.
static void print_measuring(const egraph_report *r) {
  if (r->measured_again != 0 || !r->is_order_clear)
    printf("measured    %u again, because they decide; %s\n", r->measured_again,
           r->is_order_clear
               ? "the order is clear"
               : "the time was over before the order was clear (--settle-limit)");
  if (r->busy != 0)
    printf("busy        %u operators were measured while others used the machine; when "
           "it is quiet, egraph profile MODEL --again measures anew\n",
           r->busy);
}

/// True when all costs are estimates from bytes.
static bool is_unpriced(const egraph_report *r) {
  return strcmp(r->status, "nothing is priced") == 0;
}

/// Prints the operators without a price, whose cost is estimated from bytes, the
/// values and loops that this estimate counts too low, and that egraph run refuses
/// such operators.
static void print_unpriced(const egraph_result *result) {
  const egraph_report *r = egraph_result_report(result);
  const char *name;
  uint32_t count;
  if (r->basis.unpriced != 0) {
    printf("unpriced    %u operator%s:", r->basis.unpriced,
           r->basis.unpriced == 1 ? "" : "s");
    for (uint32_t i = 0; (count = egraph_result_unpriced(result, i, &name)) != 0; i++) {
      show(stdout, "%s %s", i == 0 ? "" : ",", name);
      if (count > 1) printf(" (%u)", count);
    }
    printf("; %s estimated from bytes%s\n", seconds_text(r->unpriced_seconds).text,
           is_unpriced(r) || r->algorithm != NULL ? "" : ", proofs are of the others");
  }
  if (r->unsized_values != 0) {
    printf(
        "unsized     %u value%s of unknown size in that estimate: 0 bytes; the first is ",
        r->unsized_values, r->unsized_values == 1 ? "" : "s");
    show(stdout, "'%s'\n", r->unsized_value);
  }
  if (r->unknown_trips != 0)
    printf("trips       %u loop%s of unknown length in that estimate: one trip\n",
           r->unknown_trips, r->unknown_trips == 1 ? "" : "s");
  if (!is_runnable(result))
    printf("run         not by egraph run, which has no kernels for what it does not "
           "know; -o FILE.onnx writes it for others\n");
}

static void print_rounds(const egraph_report *r) {
  printf("proven      ");
  if (is_unpriced(r)) {
    printf("nothing: no operator has a price");
  } else {
    print_status(r);
    printf("; no less than %s", seconds_text(r->bound).text);
  }
  printf("; saturation %s\n", r->stop_words);
  printf("search      %u %s%s; e-graphs: %u nodes, %u classes, %u iterations\n",
         r->rounds, r->rounds == 1 ? "round" : "rounds",
         r->settled ? ", the last gained nothing" : "", r->nodes, r->classes,
         r->iterations);
  if (strcmp(r->ended, "settled") != 0) printf("ended       %s\n", end_words(r));
}

static void print_rounds_time(const egraph_report *r) {
  printf("greedy      tree %s, dag %s\n", seconds_text(r->tree_cost).text,
         seconds_text(r->dag_cost).text);
  printf("work        saturate %.0f, extract %.0f million steps\n", r->saturate_work,
         r->extract_work);
  printf(
      "seconds     saturate %.2f, costs %.2f (%u measured), extract %.2f, total %.2f\n",
      r->saturate_seconds, r->profile_seconds, r->measured, r->extract_seconds,
      r->total_seconds);
}

/// Prints the figures of a search by a published algorithm.
static void print_algorithm(const egraph_report *r) {
  printf("proven      nothing: search %s looks at single graphs\n", r->algorithm);
  printf("search      %s: %s, %" PRIu64 " graphs visited, %" PRIu64 " queued, %" PRIu64
         " rewrites tried, %.2f seconds; it %s\n",
         r->algorithm, seconds_text(r->cost_after).text, r->graphs_visited,
         r->graphs_queued, r->rewrites_tried, r->search_seconds, r->stop_words);
}

static void print_algorithm_time(const egraph_report *r) {
  printf("work        search %.0f, extract %.0f million steps\n", r->search_work,
         r->extract_work);
  printf("seconds     search %.2f, costs %.2f (%u measured), extract %.2f, total %.2f\n",
         r->search_seconds, r->profile_seconds, r->measured, r->extract_seconds,
         r->total_seconds);
}

void print_graph_text(const optimize_session *session) {
  const egraph_report *r = egraph_result_report(session->result);
  print_open_dims(session->graph);
  printf("predicted   %s -> %s ", seconds_text(r->cost_before).text,
         seconds_text(r->cost_after).text);
  if (r->cost_after > 0)
    printf("(%.2fx)", r->cost_before / r->cost_after);
  else
    printf(r->nodes_after == 0 ? "(nothing left to compute)" : "(only views are left)");
  printf(", %u -> %u operators\n", r->nodes_before, r->nodes_after);
  if (r->algorithm != NULL)
    print_algorithm(r);
  else
    print_rounds(r);
  if (r->math != session->math)
    printf("math        exact: constants that %s rules fold overflow here\n",
           egraph_math_name(session->math));
  if (r->left_out != 0)
    printf("left out    variants that ONNX Runtime 1.32 has no kernels for; --loadable 0 "
           "takes them in\n");
  print_unpriced(session->result);
  print_basis_text("costs       operators:", &r->basis);
  print_basis_text("; variants compared:", &r->compared);
  printf("\n");
  print_measuring(r);
  if (r->algorithm != NULL)
    print_algorithm_time(r);
  else
    print_rounds_time(r);
}

// ---- plans: JSON ------------------------------------------------------------------

static void exchange_json(void *user, const egraph_plan_exchange *exchange) {
  (void)user;
  JSON_OBJECT(NULL, JSON("phase", exchange->phase), JSON("kind", exchange->kind),
              JSON("axis", exchange->axis), JSON("count", exchange->count),
              JSON("bytes", exchange->bytes), JSON("seconds", exchange->seconds));
}

static void store_json(void *user, const egraph_plan_store *store) {
  (void)user;
  JSON_OBJECT(store->kind, JSON("at_peak", store->at_peak), JSON("most", store->most));
}

static bool is_certified(const egraph_report *r) {
  return isfinite(r->cost_after) && r->uncertified == NULL;
}

static void report_json(const optimize_session *session, const char *certificate) {
  const egraph_result *result = session->result;
  const egraph_report *r = egraph_result_report(result);
  const egraph_plan *plan = egraph_result_plan(result);
  egraph_plan_info info = egraph_plan_info_of(plan);
  JSON_MEMBERS(JSON("status", r->status), JSON("cost", r->cost_after),
               JSON("bound", r->bound), JSON("gap", r->gap));
  if (certificate != NULL)
    JSON_MEMBERS(JSON("checked", is_certified(r) ? r->checked : INFINITY),
                 JSON("bound_unchecked", (bool)(!is_certified(r) || r->meshes > 1 ||
                                                r->checked < r->bound)));
  JSON_MEMBERS(JSON("proven_over", r->proven_over), JSON("baseline", session->baseline));
  if (r->algorithm != NULL)
    JSON_OBJECT("search", JSON("algorithm", r->algorithm),
                JSON("proposals", r->proposals), JSON("work", r->search_work),
                JSON("seconds", r->search_seconds),
                JSON("excess_bytes", r->excess_memory));
  if (r->overlap_plans != 0)
    JSON_OBJECT("overlap", JSON("seconds", r->overlapped),
                JSON("bound", r->overlap_bound), JSON("plans", r->overlap_plans));
  JSON_MEMBERS(JSON("ended", r->ended), JSON("mesh", info.mesh), JSON("seed", r->seed),
               JSON("untried", r->untried), JSON("work", r->search_work),
               JSON("devices", info.devices), JSON("meshes", r->meshes),
               JSON("micro_batches", info.micro_batches),
               JSON("nodes", plan != NULL ? r->nodes_after : r->nodes_before),
               JSON("blocks", r->blocks), JSON("measured", r->measured));
  print_basis_json("costs", &r->basis);
  print_basis_json("costs_compared", &r->compared);
  JSON_OBJECT("egraph", JSON("nodes", r->nodes), JSON("classes", r->classes),
              JSON("iterations", r->iterations), JSON("stop", r->stop));
  JSON_MEMBERS(
      JSON("memory_bytes", plan == NULL ? INFINITY : info.memory),
      JSON("memory_limit_bytes", r->memory_limit),
      JSON("least_memory_bytes", r->least_memory > 0 ? r->least_memory : INFINITY));
  json_open("seconds", '{');
  JSON_MEMBERS(JSON("prepare", r->prepare_seconds), JSON("space", r->space_seconds),
               JSON("solve", r->solve_seconds));
  if (certificate != NULL) json_real("certify", r->certify_seconds);
  json_real("total", r->total_seconds);
  json_close('}');
}

egraph_status print_plan_json(const optimize_session *session, const char *certificate) {
  const egraph_result *result = session->result;
  const egraph_plan *plan = egraph_result_plan(result);
  bool is_there = plan != NULL;
  egraph_status status = EGRAPH_OK;
  json_begin();
  report_json(session, certificate);
  if (session->training.optimizer != NULL)
    status = json_ties(&session->training, session->graph);
  json_open("collectives", '[');
  if (is_there && status == EGRAPH_OK)
    status = egraph_plan_account(plan, exchange_json, NULL, NULL);
  json_close(']');
  json_open("memory", '{');
  if (is_there && status == EGRAPH_OK)
    status = egraph_plan_account(plan, NULL, store_json, NULL);
  json_close('}');
  char *remarks = NULL;
  if (is_there && status == EGRAPH_OK)
    status = egraph_plan_remarks(NULL, plan, true, &remarks);
  json_value("remarks", remarks != NULL ? remarks : "null");
  egraph_string_free(NULL, remarks);
  json_end();
  return status;
}

// ---- plans: text ------------------------------------------------------------------

/// Prints the time that decided between plans, and a bound on that time.
static void print_overlap(const optimize_session *session) {
  const egraph_report *r = egraph_result_report(session->result);
  printf("overlapped  %s with exchanges beside computing",
         seconds_text(r->overlapped).text);
  if (r->overlap_bound > 0)
    printf(", within %.2g %% of the least (no plan %s less than %s)",
           100 * (1 - r->overlap_bound / r->overlapped),
           session->baseline != NULL ? "of the baseline takes" : "takes",
           seconds_text(r->overlap_bound).text);
  printf("; plans simulated: %u\n", r->overlap_plans);
}

/// Prints the work of a published algorithm, and by how much its plan exceeds memory.
static void print_searched(const optimize_session *session) {
  const egraph_report *r = egraph_result_report(session->result);
  if (r->algorithm == NULL) {
    printf("bound       no plan ");
    if (session->baseline != NULL) show(stdout, "of %s ", session->baseline);
    printf("takes less than %s; meshes tried: %u\n", seconds_text(r->bound).text,
           r->meshes);
    return;
  }
  printf("search      %s: %" PRIu64 " plans compared, %.0f million steps, %.2f seconds; "
         "meshes tried: %u; no bound is known\n",
         r->algorithm, r->proposals, r->search_work, r->search_seconds, r->meshes);
  if (r->excess_memory > 0)
    printf("too large   by %.0f bytes of a device: the search has no plan that fits\n",
           r->excess_memory);
}

/// Returns the flag that lets saturation continue, as the end of a reason; "" if there
/// is none.
static const char *stop_remedy(const egraph_report *r) {
  static const struct {
    const char *stop, *words;
  } all[] = {{"node-limit", "; --node-limit X raises it"},
             {"iteration-limit", "; --iteration-limit N raises it"},
             {"time-limit", "; --saturate-time-limit X raises it"},
             {"byte-limit", "; --byte-limit N raises it"},
             {"depth-limit", "; --multi-depth N raises it"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(r->stop, all[i].stop) == 0) return all[i].words;
  return "";
}

/// Prints the work of the search; warnings about the plan are in its report.
static egraph_status print_search(const optimize_session *session) {
  const egraph_report *r = egraph_result_report(session->result);
  egraph_status status = EGRAPH_OK;
  printf("\nSEARCH\n");
  if (session->training.optimizer != NULL)
    status = print_trained(session->graph, &session->training);
  print_searched(session);
  printf("ended       %s\n", end_words(r));
  if (r->overlap_plans != 0) print_overlap(session);
  printf("e-graph     %u nodes, %u classes, %u iterations; saturation %s%s\n", r->nodes,
         r->classes, r->iterations, r->stop_words, stop_remedy(r));
  if (r->blocks != 0)
    printf("blocks      %u equal ones were planned as one in the first search\n",
           r->blocks);
  print_basis_text("costs       steps:", &r->basis);
  print_basis_text("; strategies compared:", &r->compared);
  printf("\n");
  if (r->measured != 0)
    printf("measured    %u operators of this host, for the profile database\n",
           r->measured);
  if (r->measured != 0 && r->compared.estimated + r->compared.guessed != 0)
    printf("again       the same command measures what is not measured yet: the time for "
           "it was over\n");
  if (r->seed != NULL)
    printf("seed        the plan is that of %s; the search found none as cheap\n",
           r->seed);
  if (r->untried != 0)
    printf("untried     %u baselines that may be cheaper: the time was over\n",
           r->untried);
  printf("seconds     %.2f: prepare %.2f, space %.2f, solve %.2f\n", r->total_seconds,
         r->prepare_seconds, r->space_seconds, r->solve_seconds);
  return status;
}

static void print_proof(const egraph_result *result, const char *certificate) {
  const egraph_report *r = egraph_result_report(result);
  egraph_plan_info info = egraph_plan_info_of(egraph_result_plan(result));
  if (certificate == NULL || !is_certified(r)) return;
  printf("proof       %s", certificate);
  if (r->meshes > 1)
    printf(", of %s alone", info.mesh[0] != '\0' ? info.mesh : "one device");
  if (r->checked < r->bound)
    printf(", proves that no plan takes less than %s", seconds_text(r->checked).text);
  printf("; %.2f seconds\n", r->certify_seconds);
}

egraph_status print_plan_text(const optimize_session *session, const plan_view *view,
                              const char *certificate) {
  printf("plan        ");
  print_status(egraph_result_report(session->result));
  if (session->baseline != NULL) show(stdout, ", of its plans (%s)", session->baseline);
  printf("\n");
  egraph_status status = plan_print(egraph_result_plan(session->result), view);
  if (status == EGRAPH_OK) status = print_search(session);
  print_proof(session->result, certificate);
  return status;
}
