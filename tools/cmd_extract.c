// egraph extract: finds the cheapest acyclic choice in an e-graph read from a file.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"

typedef struct extract_flags {
  egraph_extract_options options;
  const char *lp_file;
  bool json, choices, statistics;
} extract_flags;

static bool show_extraction(void *user, double cost, double bound, double seconds) {
  (void)user;
  double gap = cost != 0 ? (cost - bound) / fabs(cost) : 0;
  return progress_line("extract", "cost %.9g, bound %.9g, gap %.3g %%, %.1f s", cost,
                       bound, 100 * gap, seconds);
}

/// Returns the largest resident memory of this process, in bytes; 0: not known.
static uint64_t peak_bytes(void) {
  struct rusage used;
  return getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_maxrss * 1024 : 0;
}

static void print_pass_json(void *user, uint32_t pass,
                            const egraph_extract_pass_report *detail) {
  (void)user;
  JSON_OBJECT(
      NULL, JSON("name", egraph_extract_pass(pass).name), JSON("runs", detail->runs),
      JSON("seconds", detail->seconds), JSON("nodes", (double)detail->nodes),
      JSON("classes", (double)detail->classes), JSON("edges", (double)detail->edges));
}

static void print_pass_text(void *user, uint32_t pass,
                            const egraph_extract_pass_report *detail) {
  (void)user;
  printf("%-10s %5u %9lld %9lld %9lld %9.4f  %s\n", egraph_extract_pass(pass).name,
         detail->runs, (long long)detail->nodes, (long long)detail->classes,
         (long long)detail->edges, detail->seconds, egraph_extract_pass(pass).text);
}

#define PART_ROW(id, name, text) {name "_seconds", name, text},
static const struct {
  const char *key, *name, *text;
} PARTS[] = {EGRAPH_EXTRACT_PART_LIST(PART_ROW)};
#undef PART_ROW

/// True when the certificate proves less than the reported lower bound. A certificate
/// proves bounds up to rounding.
static bool is_unchecked(const egraph_extract_report *r) {
  return r->certified < r->bound - 3e-9 * fabs(r->bound);
}

static egraph_status print_extraction_json(const extract_flags *flags,
                                           egraph_extraction *extraction) {
  egraph_extract_report r = egraph_extraction_report(extraction);
  JSON_BEGIN(JSON("cost", r.cost), JSON("bound", r.bound), JSON("gap", r.gap),
             JSON("status", r.status));
  if (flags->options.certificate != NULL)
    JSON_MEMBERS(JSON("certified", r.certified),
                 JSON("bound_unchecked", is_unchecked(&r)));
  JSON_MEMBERS(JSON("seconds", r.seconds), JSON("work", r.work), JSON("nodes", r.nodes),
               JSON("classes", r.classes), JSON("roots_left_out", r.roots_left_out),
               JSON("reduced_nodes", r.reduced_nodes),
               JSON("reduced_classes", r.reduced_classes), JSON("tree_cost", r.tree_cost),
               JSON("dag_cost", r.dag_cost));
  for (size_t i = 0; i < EGRAPH_PART_COUNT; i++)
    json_real(PARTS[i].key, r.part_seconds[i]);
  JSON_MEMBERS(JSON("cpu_seconds", eg_clock_cpu_seconds()),
               JSON("peak_bytes", peak_bytes()));
  egraph_status status = EGRAPH_OK;
  if (flags->statistics) {
    json_open("passes", '[');
    status =
        egraph_extraction_try_passes(extraction, &flags->options, print_pass_json, NULL);
    json_close(']');
  }
  if (flags->choices) {
    json_open("choices", '{');
    for (uint32_t i = 0; i < egraph_extraction_choice_count(extraction); i++) {
      egraph_extract_choice c = egraph_extraction_choice(extraction, i);
      json_text(c.class_name, c.node_name);
    }
    json_close('}');
  }
  json_end();
  return status;
}

static egraph_status print_extraction_text(const extract_flags *flags,
                                           egraph_extraction *extraction) {
  egraph_extract_report r = egraph_extraction_report(extraction);
  if (isfinite(r.cost))
    printf("cost        %.12g, %s\nbound       %.12g, gap %.4g %%\n", r.cost, r.status,
           r.bound, 100 * r.gap);
  else
    printf("cost        %s: some root has no acyclic derivation\n", r.status);
  if (flags->options.certificate != NULL && isfinite(r.cost)) {
    bool unchecked = is_unchecked(&r);
    printf("certificate %s%s", flags->options.certificate,
           unchecked ? ", bound unchecked: it proves only " : " proves the bound");
    if (unchecked) printf("%.12g", r.certified);
    (void)putchar('\n');
  }
  printf("greedy      ");
  if (isfinite(r.tree_cost)) printf("tree %.12g", r.tree_cost);
  if (isfinite(r.dag_cost))
    printf("%sDAG %.12g", isfinite(r.tree_cost) ? ", " : "", r.dag_cost);
  if (!isfinite(r.tree_cost) && !isfinite(r.dag_cost)) printf("none");
  printf("\ne-graph     %u nodes, %u classes; after presolve %u nodes, %u classes\n",
         r.nodes, r.classes, r.reduced_nodes, r.reduced_classes);
  if (r.roots_left_out != 0)
    printf("roots       %u left out, because no node is in their class\n",
           r.roots_left_out);
  printf("seconds     %.3f, %llu million steps\n", r.seconds, (unsigned long long)r.work);
  for (uint32_t i = 0; flags->choices && i < egraph_extraction_choice_count(extraction);
       i++) {
    egraph_extract_choice c = egraph_extraction_choice(extraction, i);
    if (i == 0) printf("\nclass node\n");
    show(stdout, "%s %s\n", c.class_name, c.node_name);
  }
  if (!flags->statistics) return EGRAPH_OK;
  printf("\n%-10s %9s  what the CPU time is spent on\n", "part", "seconds");
  for (size_t i = 0; i < EGRAPH_PART_COUNT; i++)
    printf("%-10s %9.4f  %s\n", PARTS[i].name, r.part_seconds[i], PARTS[i].text);
  printf("\n%-10s %5s %9s %9s %9s %9s  what presolve takes away\n", "pass", "runs",
         "nodes", "classes", "edges", "seconds");
  return egraph_extraction_try_passes(extraction, &flags->options, print_pass_text, NULL);
}

static egraph_status extract(const extract_flags *flags, const char *path) {
  OWNED(egraph_extraction, extraction);
  install_interrupt();
  EG_TRY(egraph_extraction_load(NULL, path, &extraction));
  egraph_status status = egraph_extraction_run(extraction, &flags->options);
  progress_clear();
  EG_TRY(status);
  if (flags->lp_file != NULL)
    EG_TRY(egraph_extraction_save_lp(extraction, &flags->options, flags->lp_file));
  return (flags->json ? print_extraction_json : print_extraction_text)(flags, extraction);
}

/// Writes the names of the passes, for --help.
static void list_passes(char *text, size_t size) {
  size_t used =
      (size_t)snprintf(text, size, "presolve passes to run, or with '-' to leave out:");
  for (uint32_t i = 0; egraph_extract_pass(i).name != NULL && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s %s", i == 0 ? "" : ",",
                             egraph_extract_pass(i).name);
}

int command_extract(int argc, char **argv) {
  extract_flags flags = {.options = {.size = sizeof(egraph_extract_options),
                                     .extractor = "ilp",
                                     .time_limit = 20,
                                     .seed = 1,
                                     .threads = 1,
                                     .progress = show_extraction}};
  egraph_extract_options *o = &flags.options;
  char passes[320];
  list_passes(passes, sizeof passes);
  command cmd = new_command("extract", "FILE [options]", 1, 1,
                            "Finds the cheapest acyclic choice in an e-graph "
                            "(egraph-serialize JSON, plain or gzip).");
  add_heading(&cmd, "Search");
  add_choice(&cmd, "--extractor ilp|dag|tree", &o->extractor,
             "extract exactly (ilp) or greedily");
  add_real(&cmd, "--time-limit X", &o->time_limit, 1e-3, 1e9, "seconds at most");
  add_uint(&cmd, "--work N", &o->work_limit, 0, 0,
           "million steps at most, about a millisecond each: the same result on any "
           "machine (default: 400 for each second of --time-limit)");
  add_real(&cmd, "--relative-gap X", &o->relative_gap, 0, 1,
           "stop at this distance between cost and bound (default 0: prove)");
  add_uint(&cmd, "--seed N", &o->seed, 0, 0, "seed of the heuristics");
  add_uint32(&cmd, "--threads N", &o->threads, 1, 1024,
             "threads, for e-graphs in unconnected parts; the result is the same");
  add_text(&cmd, "--passes LIST", &o->passes, passes);
  add_heading(&cmd, "Output");
  add_text(&cmd, "--write-lp FILE", &flags.lp_file,
           "write the presolved model in CPLEX LP format");
  add_text(&cmd, "--certificate FILE", &o->certificate,
           "write a proof of cost and bound, for check_certificate");
  add_switch(&cmd, "--choices", &flags.choices,
             "print the node chosen for every class in use, too");
  add_switch(&cmd, "--statistics", &flags.statistics,
             "print where the time goes, too, and what each presolve pass removes");
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(files, &cmd, argc, argv);
  return outcome_of(extract(&flags, files.items[0]));
}
