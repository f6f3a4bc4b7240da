// One call of egraph_optimize, as optimize, plan, profile, explain and run make it:
// flags, loading, the call.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_OPTIMIZE_CALL_H
#define EG_TOOLS_OPTIMIZE_CALL_H

#include "tools/console.h"
#include "tools/flag_table.h"

// For completion; flags that take such names list them in their help, too.
#define MACHINE_WORDS "host alpa dgx-a100 dgx-h100 p3-16xlarge"
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
  const egraph_dim *examples; // no flag: sizes of open dimensions, to be tried first
  uint32_t example_count;
} load_flags;
void add_load_flags(command *cmd, load_flags *flags);

/// Which rules are used.
typedef struct rule_flags {
  text_list files, enabled, disabled;
  bool no_builtin, trust;
  const char *math; // a class; NULL: the default
} rule_flags;

/// The trained weights, and their decay.
typedef struct training_flags {
  text_list freeze, train_only, untie_only;
  double decay;
  bool untie;
} training_flags;
void add_training_flags(command *cmd, training_flags *flags);
/// Borrows from the flags.
void training_flags_give(const training_flags *flags, egraph_training *out);
bool training_flags_untie(const training_flags *flags);

/// Whose costs, and from where.
typedef struct cost_flags {
  bool no_measure, read_only, again;
  const char *database, *backend;
  uint64_t threads; // of the executor; 0: 1
} cost_flags;

/// One call of egraph_optimize. Groups that no flag asks for are not given.
typedef struct optimize_flags {
  egraph_search search;
  rule_flags rules;
  cost_flags costs;
  load_flags load;
  bool json;
  // Groups of plans: where they are not zeros.
  egraph_target target;
  bool is_targeted;      // for a target, though no flag names one: this host
  const char *optimizer; // of a training step; NULL: the graph itself
  egraph_training training;
  training_flags trained;
  uint64_t micro_batches;
  egraph_constraints constraints;
  egraph_baselines compare;
} optimize_flags;

typedef struct optimize_session {
  egraph_graph *graph;
  egraph_rules *rules;
  egraph_costs *costs; // NULL: the target's figures
  egraph_result *result;
  egraph_math math;         // that was asked for
  egraph_training training; // of a training step
  const char *baseline;     // whose plans alone are searched; NULL: all
} optimize_session;

void optimize_flags_init(optimize_flags *flags);
/// The flags of rules, costs, the search, and of all of these with the output, which
/// every command has that optimizes.
void add_rule_flags(command *cmd, rule_flags *flags);
void add_cost_flags(command *cmd, cost_flags *flags);
void add_search_flags(command *cmd, egraph_search *search);
void add_optimize_flags(command *cmd, optimize_flags *flags);
/// True for the name of a graph in text form.
bool is_graph_text(const char *path);
/// Loads the shipped rules and those of files. Destroy *out whatever it returns.
egraph_status load_rules(bool builtin, bool trust, const char *const *files, size_t count,
                         egraph_rules **out);
/// Loads a model; notes on standard error that it has no outputs.
egraph_status load_model(const char *path, const load_flags *flags, egraph_graph **out);
/// True when the call needs a plan, not a graph for one device of this host.
bool optimize_flags_plan(const optimize_flags *flags);
/// Loads the model (NULL: none), rules and database. optimize_close must follow whatever
/// it returns.
egraph_status optimize_load(const optimize_flags *flags, const char *model,
                            optimize_session *out);
/// Optimizes what was loaded.
egraph_status optimize_search(const optimize_flags *flags, optimize_session *session);
/// Loads and optimizes. optimize_close must follow whatever it returns.
egraph_status optimize_run(const optimize_flags *flags, const char *model,
                           optimize_session *out);
void optimize_close(optimize_session *session);
/// Closes, and gives the exit status of a command that ended so.
int optimize_finish(optimize_session *session, egraph_status status);

/// Shows the progress of egraph_optimize; true: the user wants to stop.
bool show_search_progress(void *user, const char *phase, const char *line);

/// Path of the profile database when --db is not given: below the user's cache folder
/// (created). NULL when there is none; the database is then in memory.
const char *default_database(void);

/// The name of a back-end or transport (may be NULL) as the library takes it: with the
/// file of its plugin where EGRAPH_CUDA_PLUGIN or EGRAPH_NCCL_PLUGIN names one.
const char *with_plugin(const char *name);

/// True when a target is this host, its ranks threads or processes; also for NULL.
bool is_this_host(const char *machine);

/// Opens the costs of plans for a machine. For this host, operators are measured, unless
/// flags say otherwise, and kept in the profile database; for another machine, costs are
/// read from the database that flags name. *out NULL: the machine's figures.
egraph_status open_plan_costs(const cost_flags *flags, const char *machine,
                              egraph_costs **out);

/// A command: its arguments, behind its name; an exit status.
typedef int command_function(int argc, char **argv);
command_function command_optimize, command_profile, command_explain, command_replay,
    command_simulate, command_plan, command_machine, command_run, command_rules,
    command_rules_generate, command_rules_correct, command_rules_minimize,
    command_rules_found, command_rules_stats, command_extract, command_shard,
    command_bench_extract, command_bench_saturate, command_bench_compare,
    command_saturate;

#endif
