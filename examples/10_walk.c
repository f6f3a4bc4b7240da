// Loads a model, or a plan (a file that ends in .json), and prints its nodes or steps
// like `egraph explain`, without the explanations of steps. Usage: 10_walk FILE
// SPDX-License-Identifier: Apache-2.0
#include <egraph.h>
#include <inttypes.h>
#include <string.h>

static void print_type(const egraph_tensor *type) {
  printf("%s[", egraph_dtype_name(type->dtype));
  for (uint32_t d = 0; d < type->rank; d++)
    printf("%s%" PRId64, d == 0 ? "" : ",", type->dims[d]);
  printf("]");
}

// ---- a model ------------------------------------------------------------------------

static void print_attribute(const egraph_attribute *a) {
  printf("    :%s", a->name);
  for (uint32_t i = 0; a->integers != NULL && i < a->count; i++)
    printf(" %" PRId64, a->integers[i]);
  for (uint32_t i = 0; a->numbers != NULL && i < a->count; i++)
    printf(" %g", a->numbers[i]);
  printf("%s%s\n", a->text != NULL ? " " : "", a->text != NULL ? a->text : "");
}

static void print_node(const egraph_graph *graph, egraph_node node) {
  egraph_attribute attribute;
  egraph_tensor type;
  egraph_value value = egraph_node_result(graph, node, 0);
  printf("%-20s  %s  ", egraph_node_operator(graph, node),
         egraph_value_name(graph, value));
  if (egraph_value_type(graph, value, &type)) print_type(&type);
  if (strcmp(egraph_value_format(graph, value), "plain") != 0)
    printf("@%s", egraph_value_format(graph, value));
  printf("\n");
  for (uint32_t i = 0; i < egraph_node_operand_count(graph, node); i++)
    printf("    of %s\n", egraph_value_name(graph, egraph_node_operand(graph, node, i)));
  for (uint32_t i = 0; i < egraph_node_attribute_count(graph, node); i++)
    if (egraph_node_attribute(graph, node, i, &attribute) && !attribute.is_default)
      print_attribute(&attribute);
  size_t bytes;
  if (egraph_node_is_opaque(graph, node) &&
      egraph_node_record(graph, node, &bytes) != NULL)
    printf("    as an ONNX node of %zu bytes\n", bytes);
}

static egraph_status walk_model(const char *path) {
  egraph_graph *graph = NULL;
  egraph_status status = egraph_graph_load(NULL, path, NULL, &graph);
  for (uint32_t n = 0; n < egraph_graph_node_count(graph); n++)
    print_node(graph, (egraph_node){n});
  egraph_graph_destroy(graph);
  return status;
}

// ---- a plan -------------------------------------------------------------------------

/// Prints three digits at most: "4.25 MB", "13 us".
static void print_amount(double amount, double unit, const char *const *names) {
  while (amount < unit * 0.9995 && names[1] != NULL) {
    unit /= 1000;
    names++;
  }
  printf(", %.3g %s", amount / unit, *names);
}

/// Prints a value in a layout: "x@S0,R".
static void print_state(const egraph_plan *plan, egraph_state state) {
  egraph_layout layout;
  printf("%s", egraph_value_name(egraph_plan_graph(plan),
                                 egraph_plan_state_value(plan, state)));
  if (egraph_plan_state_layout(plan, state, &layout) && layout.text[0] != '\0')
    printf("@%s", layout.text);
}

static void print_entry(const egraph_plan *plan, egraph_state state) {
  egraph_tensor whole, part;
  egraph_value value = egraph_plan_state_value(plan, state);
  if (!egraph_value_type(egraph_plan_graph(plan), value, &whole) ||
      !egraph_plan_state_type(plan, state, &part))
    return;
  printf("  ");
  print_state(plan, state);
  printf(": ");
  print_type(&part);
  if (memcmp(whole.dims, part.dims, sizeof whole.dims) != 0) {
    printf(" of ");
    print_type(&whole);
  }
  printf("\n");
}

static void print_move(const egraph_plan *plan, uint32_t step) {
  static const char *const units[] = {"TB", "GB", "MB", "kB", "B", NULL};
  egraph_state from = egraph_plan_step_operand(plan, step, 0);
  egraph_layout before, after;
  uint32_t size;
  if (!egraph_plan_state_layout(plan, from, &before) ||
      !egraph_plan_state_layout(plan, egraph_plan_step_result(plan, step, 0), &after))
    return;
  printf("  %s %s %s -> %s", egraph_plan_step_operator(plan, step),
         egraph_value_name(egraph_plan_graph(plan), egraph_plan_state_value(plan, from)),
         before.text, after.text);
  uint32_t axis = egraph_plan_step_axis(plan, step);
  if (axis != EGRAPH_NONE) printf(" over %s", egraph_plan_axis(plan, axis, &size));
  double bytes = egraph_plan_step_bytes(plan, step);
  if (bytes > 0) print_amount(bytes, 1e12, units);
}

static void print_operator(const egraph_plan *plan, uint32_t step) {
  egraph_action action;
  printf(" ");
  for (uint32_t i = 0; i < egraph_plan_step_result_count(plan, step); i++) {
    printf(" ");
    print_state(plan, egraph_plan_step_result(plan, step, i));
  }
  printf(" = %s", egraph_plan_step_operator(plan, step));
  for (uint32_t i = 0; i < egraph_plan_step_operand_count(plan, step); i++) {
    printf(" ");
    print_state(plan, egraph_plan_step_operand(plan, step, i));
  }
  for (uint32_t a = 0; egraph_plan_step_action(plan, step, a, &action); a++)
    printf("%s%s", a == 0 ? " [" : ", ", action.text);
  if (egraph_plan_axis_count(plan) != 0) printf("]");
}

static void print_step(const egraph_plan *plan, uint32_t step) {
  static const char *const units[] = {"s", "ms", "us", "ns", NULL};
  const char *phase = egraph_plan_step_phase(plan, step);
  if (step == 0 || strcmp(phase, egraph_plan_step_phase(plan, step - 1)) != 0)
    printf("%s\n", phase);
  (egraph_plan_step_is_move(plan, step) ? print_move : print_operator)(plan, step);
  uint32_t blocks = egraph_plan_step_blocks(plan, step);
  if (blocks > 1) printf(", in %" PRIu32 " blocks", blocks);
  double seconds = egraph_plan_step_seconds(plan, step);
  if (seconds > 0) print_amount(seconds, 1, units);
  printf("\n");
}

static void print_output(const egraph_plan *plan, uint32_t output, egraph_state state) {
  const egraph_graph *graph = egraph_plan_graph(plan);
  const char *name, *own = egraph_value_name(graph, egraph_plan_state_value(plan, state));
  egraph_tensor type;
  egraph_value value;
  uint32_t carried;
  printf("  ");
  print_state(plan, state);
  if (egraph_graph_output(graph, output, &name, &type) == EGRAPH_OK &&
      strcmp(name, own) != 0)
    printf(" as %s", name);
  for (uint32_t i = 0; egraph_plan_carried(plan, i, &carried, &value); i++)
    if (carried == output) printf(", the next %s", egraph_value_name(graph, value));
  printf("\n");
}

static egraph_status walk_plan(const char *path) {
  egraph_plan *plan = NULL;
  uint32_t step, size;
  egraph_state state;
  egraph_status status = egraph_plan_load(NULL, path, &plan);
  if (status != EGRAPH_OK) return status;
  printf("STEPS on %s", egraph_plan_axis_count(plan) == 0 ? "one device" : "");
  for (uint32_t a = 0; a < egraph_plan_axis_count(plan); a++) {
    const char *name = egraph_plan_axis(plan, a, &size);
    printf("%s%s=%" PRIu32, a == 0 ? "" : ",", name, size);
  }
  uint32_t batches = egraph_plan_info_of(plan).micro_batches;
  if (batches > 1) printf(", %" PRIu32 " micro-batches", batches);
  printf("\ninputs, weights and states\n");
  for (uint32_t i = 0; i < egraph_plan_state_count(plan); i++)
    if (!egraph_plan_state_step(plan, (egraph_state){i}, &step))
      print_entry(plan, (egraph_state){i});
  for (uint32_t i = 0; i < egraph_plan_step_count(plan); i++)
    print_step(plan, i);
  printf("outputs\n");
  for (uint32_t i = 0; (state = egraph_plan_output_state(plan, i)).id != EGRAPH_NONE; i++)
    print_output(plan, i, state);
  egraph_plan_destroy(plan);
  return EGRAPH_OK;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: 10_walk FILE\n");
    return 2;
  }
  size_t length = strlen(argv[1]);
  bool is_plan = length > 5 && strcmp(argv[1] + length - 5, ".json") == 0;
  egraph_status status = (is_plan ? walk_plan : walk_model)(argv[1]);
  if (status != EGRAPH_OK) fprintf(stderr, "10_walk: %s\n", egraph_last_error());
  return status == EGRAPH_OK ? 0 : 1;
}
