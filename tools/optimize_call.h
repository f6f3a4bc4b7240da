// One call of egraph_optimize by the commands optimize, plan, profile, explain and run:
// flags, loading, the call.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_OPTIMIZE_CALL_H
#define EG_TOOLS_OPTIMIZE_CALL_H

#include "tools/console.h"
#include "tools/flag_table.h"

// Words for completion; flags that take such names also list them in their help.
#define MACHINE_WORDS "host alpa dgx-a100 dgx-h100 dgx-h200 p3-16xlarge"
#define LOSS_WORDS                                                                       \
  "softmax-cross-entropy softmax-cross-entropy-of-probabilities mean-squared-error"
#define BACKEND_WORDS "cpu reference cuda"

/// Largest value of symbolic dimensions; a limit keeps typing errors readable.
enum { MAX_BATCH = 1000000000, MAX_REPEATS = 1000000 };

/// How a model is loaded.
typedef struct load_flags {
  text_list dims; // NAME=N
  uint64_t batch;
  bool draw_weights, fix_defaults;
  const egraph_dim *examples; // without a flag: example sizes of open dimensions,
                              // tried first
  uint32_t example_count;
} load_flags;
void add_load_flags(command *cmd, load_flags *flags);

/// The rules to use.
typedef struct rule_flags {
  text_list files, enabled, disabled;
  bool no_builtin, trust;
  const char *math; // a class; NULL: the default
} rule_flags;

/// The trained weights and their decay.
typedef struct training_flags {
  text_list freeze, train_only, untie_only;
  double decay;
  bool untie;
} training_flags;
void add_training_flags(command *cmd, training_flags *flags);
/// Fills `training` with values that it borrows from the flags.
void training_flags_give(const training_flags *flags, egraph_training *out);
bool training_flags_untie(const training_flags *flags);

/// The source of costs.
typedef struct cost_flags {
  bool no_measure, read_only, again;
  const char *database, *backend;
  uint32_t threads; // threads of the executor; 0: 1
} cost_flags;

/// One call of egraph_optimize. It passes only structs of options that a flag asks for.
typedef struct optimize_flags {
  egraph_search search;
  rule_flags rules;
  cost_flags costs;
  load_flags load;
  bool json;
  // Groups of options for plans; used unless they are all zeros.
  egraph_target target;
  bool bf16;             // --bf16, short for --precision bf16
  bool is_targeted;      // passes `target` even if no flag names one: this host
  const char *optimizer; // optimizer of a training step; NULL: the graph itself
  egraph_training training;
  training_flags trained;
  egraph_constraints constraints;
  egraph_baselines compare;
} optimize_flags;

typedef struct optimize_session {
  egraph_graph *graph;
  egraph_rules *rules;
  egraph_costs *costs; // NULL: the target's figures
  egraph_result *result;
  egraph_math math;         // the requested class of rules
  egraph_training training; // options of a training step
  const char *baseline;     // the only baseline whose plans are searched; NULL: all plans
} optimize_session;

void optimize_flags_init(optimize_flags *flags);
/// Add flags to a command: flags of rules; of costs; of the search; or all of these and
/// the flags of the output, which every optimizing command has.
void add_rule_flags(command *cmd, rule_flags *flags);
void add_cost_flags(command *cmd, cost_flags *flags);
void add_search_flags(command *cmd, egraph_search *search);
void add_optimize_flags(command *cmd, optimize_flags *flags);
/// True when the path names a graph in text form.
bool is_graph_text(const char *path);
/// Loads the shipped rules and rules of files. Destroy *out also after a failure.
egraph_status load_rules(bool builtin, bool trust, const char *const *files, size_t count,
                         egraph_rules **out);
/// Loads a model; prints a note on standard error when it has no outputs.
egraph_status load_model(const char *path, const load_flags *flags, egraph_graph **out);
/// True when the call needs a plan (devices, training), not a graph for one device.
bool optimize_flags_plan(const optimize_flags *flags);
/// Loads the model (NULL: none), rules and costs. Call optimize_close in every case.
egraph_status optimize_load(const optimize_flags *flags, const char *model,
                            optimize_session *out);
/// Optimizes the loaded model.
egraph_status optimize_search(const optimize_flags *flags, optimize_session *session);
/// Loads a model and optimizes it. Call optimize_close in every case.
egraph_status optimize_run(const optimize_flags *flags, const char *model,
                           optimize_session *out);
void optimize_close(optimize_session *session);
/// Closes a session and returns the exit status of a command that ended with `status`.
int optimize_finish(optimize_session *session, egraph_status status);

/// Shows the progress of egraph_optimize; true when the user wants to stop.
bool show_search_progress(void *user, const char *phase, const char *line);

/// Returns the path of the profile database without --db: below the user's cache folder,
/// which is created. NULL when there is no such folder; the database is then in memory.
const char *default_database(void);

/// Returns the name of a back-end or transport (may be NULL) for the library: with the
/// file of its plugin if EGRAPH_CUDA_PLUGIN or EGRAPH_NCCL_PLUGIN names it.
const char *with_plugin(const char *name);

/// True when a target is this host, with threads or processes as ranks; also for NULL.
bool is_this_host(const char *machine);

/// Opens the costs of plans for a machine. For this host, operators are measured, unless
/// flags say otherwise, and stored in the profile database; for another machine, costs
/// are read from the database that flags name. *out is NULL when the machine's figures
/// are the costs.
egraph_status open_plan_costs(const cost_flags *flags, const char *machine,
                              egraph_costs **out);

/// Runs a command with the arguments after its name; returns an exit status.
typedef int command_function(int argc, char **argv);
command_function command_optimize, command_profile, command_explain, command_replay,
    command_simulate, command_plan, command_machine, command_run, command_rules,
    command_rules_generate, command_rules_correct, command_rules_minimize,
    command_rules_found, command_rules_stats, command_extract, command_shard,
    command_bench_extract, command_bench_saturate, command_bench_compare,
    command_saturate;

#endif
