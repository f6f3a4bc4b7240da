// A window over a block and strips around its borders, against the same window over the
// block together with its neighbours' rows: random convolutions and poolings, in random
// memory formats, on ranks with and without neighbours.
// SPDX-License-Identifier: Apache-2.0
#include "exec/strips.h"

#include <math.h>

#include "base/hash.h"
#include "tests/unit/session_kit.h"

enum { TEXT_BYTES = 512, DIM = 2 };

enum { DEPTHWISE, DENSE, MAX_POOL, AVERAGE_POOL, KINDS };

typedef struct window {
  eg_halo halo;
  bool has[EG_MOST_STRIPS];
  uint8_t format;
  eg_graph *graph;   // of one node, operand 0 with the rows of the halo
  eg_node_spec spec; // in the memory format
  eg_type types[4];
} window;

static int64_t draw(eg_rng *rng, int64_t from, int64_t to) {
  return from + (int64_t)eg_rng_below(rng, (uint64_t)(to - from + 1));
}

static void write_graph(eg_rng *rng, int kind, const eg_halo *halo, int64_t held,
                        int64_t size, int64_t dilation, char text[TEXT_BYTES]) {
  char node[TEXT_BYTES / 2], weights[TEXT_BYTES / 4] = "";
  int64_t channels = draw(rng, 0, 1) ? 16 : draw(rng, 1, 20), width = draw(rng, 3, 20);
  if (kind == DEPTHWISE || kind == DENSE) {
    int64_t group = kind == DEPTHWISE ? channels : 1;
    snprintf(weights, sizeof weights, "(input w \"float32[%d,%d,%d,3]\")", (int)channels,
             (int)(channels / group), (int)size);
    snprintf(node, sizeof node,
             "(conv :strides [%d 1] :pads [0 1 0 1] :dilations [%d 1] :group %d x w)",
             (int)halo->stride, (int)dilation, (int)group);
  } else if (kind == MAX_POOL) {
    snprintf(node, sizeof node,
             "(max-pool :kernel_shape [%d 3] :strides [%d 1] :pads [0 1 0 1] :dilations "
             "[%d 1] x)",
             (int)size, (int)halo->stride, (int)dilation);
  } else {
    snprintf(node, sizeof node,
             "(average-pool :kernel_shape [%d 3] :strides [%d 1] :pads [0 1 0 1] "
             ":count_include_pad 1 x)",
             (int)size, (int)halo->stride);
  }
  snprintf(text, TEXT_BYTES,
           "(egraph-graph 1)(input x \"float32[%d,%d,%d,%d]\")%s(let y %s)(output y)",
           (int)draw(rng, 1, 2), (int)channels, (int)(held + halo->before + halo->after),
           (int)width, weights, node);
}

static void open_window(eg_rng *rng, window *w) {
  char text[TEXT_BYTES];
  int kind = (int)eg_rng_below(rng, KINDS);
  int64_t stride = draw(rng, 1, 3), size = draw(rng, 2, 5);
  int64_t dilation = kind == AVERAGE_POOL ? 1 : draw(rng, 1, 2);
  int64_t reach = (size - 1) * dilation + 1, pad = draw(rng, 0, reach - 1);
  int64_t least = (reach + stride - 1) / stride, held = draw(rng, least, 40) * stride;
  int64_t after = reach - stride - pad > 0 ? reach - stride - pad : 0;
  *w = (window){.halo = {.dim = DIM,
                         .before = pad,
                         .after = after,
                         .window = reach,
                         .stride = stride},
                .has = {draw(rng, 0, 1), draw(rng, 0, 1)}};
  write_graph(rng, kind, &w->halo, held, size, dilation, text);
  w->graph = kit_parse("window", text);
  eg_graph_node_info node = eg_graph_node_at(w->graph, (eg_graph_node){0});
  for (uint32_t i = 0; i < node.input_count; i++)
    w->types[i] = eg_graph_value(w->graph, node.inputs[i])->type;
  w->types[3] = eg_graph_value(w->graph, node.results[0])->type;
  if (w->types[0].dims[1] == 16) w->format = (uint8_t)eg_rng_below(rng, EG_FORMAT_COUNT);
  w->types[0].layout.format = w->types[3].layout.format = w->format;
  w->halo.fill = node.attrs->op == EG_OP_MAX_POOL ? -(double)INFINITY : 0;
  w->spec = (eg_node_spec){.attrs = node.attrs,
                           .inputs = w->types,
                           .input_count = node.input_count,
                           .results = &w->types[3],
                           .result_count = 1};
}

// ---- tensors --------------------------------------------------------------------------

static eg_tensor tensor_of(const eg_type *type, uint8_t format) {
  eg_tensor tensor = {.type = *type};
  tensor.type.layout.format = format;
  tensor.data = calloc(1, eg_type_bytes(&tensor.type) + 1);
  return tensor;
}

/// Reorders, and frees what was given.
static eg_tensor in_format(eg_tensor tensor, uint8_t format) {
  eg_tensor out = tensor_of(&tensor.type, format);
  assert_ok(eg_tensor_reorder(&tensor, &out));
  free(tensor.data);
  return out;
}

/// In the memory format of the spec; operand 0 is freed.
static eg_tensor run_node(const eg_node_spec *spec, eg_tensor x,
                          const eg_tensor *weights) {
  uint8_t format = spec->results[0].layout.format;
  eg_tensor inputs[2] = {in_format(x, EG_FORMAT_PLAIN), *weights};
  eg_tensor result = tensor_of(&spec->results[0], EG_FORMAT_PLAIN);
  assert_ok(eg_op_run(&(eg_kernel_call){.attrs = spec->attrs,
                                        .inputs = inputs,
                                        .input_count = spec->input_count,
                                        .outputs = &result,
                                        .output_count = 1,
                                        .alloc = eg_allocator_heap()}));
  free(inputs[0].data);
  return in_format(result, format);
}

static eg_tensor rows_of(const eg_tensor *from, int64_t first, int64_t count) {
  eg_type type = from->type;
  type.dims[DIM] = count;
  eg_tensor out = tensor_of(&type, type.layout.format);
  eg_rows source = {from->type, from->data}, target = {out.type, out.data};
  assert_ok(eg_rows_copy(NULL, DIM, count, &target, 0, &source, first));
  return out;
}

/// The value of every element, row-major; where a rank has no neighbour the fill.
static eg_tensor draw_operand(eg_rng *rng, const window *w) {
  eg_tensor x = tensor_of(&w->types[0], EG_FORMAT_PLAIN);
  int64_t rows = x.type.dims[DIM], width = x.type.dims[3];
  for (int64_t i = 0; i < eg_type_elements(&x.type); i++) {
    int64_t row = i / width % rows;
    bool is_missing = (row < w->halo.before && !w->has[0]) ||
                      (row >= rows - w->halo.after && !w->has[1]);
    eg_tensor_set_double(&x, i, is_missing ? w->halo.fill : (double)draw(rng, -4, 4));
  }
  return in_format(x, w->format);
}

// ---- the property ---------------------------------------------------------------------

static void run_strips(const eg_strips *strips, const eg_tensor *x, const window *w,
                       const eg_tensor *weights, const eg_rows *result) {
  int64_t rows = x->type.dims[DIM], held = rows - w->halo.before - w->halo.after;
  eg_tensor block = rows_of(x, w->halo.before, held);
  eg_tensor before = rows_of(x, 0, w->halo.before);
  eg_tensor after = rows_of(x, rows - w->halo.after, w->halo.after);
  eg_halo_rows near = {{before.type, before.data}, {after.type, after.data}};
  eg_rows own = {block.type, block.data};
  for (uint32_t i = 0; i < strips->count; i++) {
    const eg_strip *strip = &strips->strips[i];
    eg_tensor operand = tensor_of(&strip->operand, w->format);
    assert_ok(eg_strip_gather(strip, NULL, &own, &near, operand.data));
    eg_tensor part = run_node(&strips->specs[i], operand, weights);
    assert_ok(eg_strip_place(strip, NULL, part.data, result));
    free(part.data);
  }
  free(block.data);
  free(before.data);
  free(after.data);
}

/// Returns the number of strips; -1: the block is to be copied.
static int compare(eg_rng *rng, const window *w) {
  eg_arena arena;
  eg_strips strips;
  eg_arena_init(&arena, eg_allocator_heap());
  assert_ok(eg_strips_of(&w->spec, &w->halo, w->has[0], w->has[1], &arena, &strips));
  int count = strips.is_used ? (int)strips.count : -1;
  if (strips.is_used) {
    eg_tensor x = draw_operand(rng, w), weights = {.data = NULL};
    if (w->spec.input_count == 2) weights = tensor_of(&w->types[1], EG_FORMAT_PLAIN);
    for (int64_t i = 0; weights.data != NULL && i < eg_type_elements(&weights.type); i++)
      eg_tensor_set_double(&weights, i, (double)draw(rng, -4, 4));
    int64_t held = x.type.dims[DIM] - w->halo.before - w->halo.after;
    eg_tensor have = run_node(&strips.whole, rows_of(&x, w->halo.before, held), &weights);
    run_strips(&strips, &x, w, &weights, &(eg_rows){have.type, have.data});
    eg_tensor want = run_node(&w->spec, x, &weights);
    assert_int_equal(eg_type_bytes(&have.type), eg_type_bytes(&want.type));
    assert_memory_equal(have.data, want.data, eg_type_bytes(&want.type));
    free(have.data);
    free(want.data);
    free(weights.data);
  }
  eg_arena_deinit(&arena);
  return count;
}

static void strips_give_what_a_copy_of_the_block_gives(void **state) {
  (void)state;
  eg_rng rng = {test_seed(40)};
  uint32_t counts[EG_MOST_STRIPS + 2] = {0};
  for (size_t round = 0; round < test_rounds(2000); round++) {
    window w;
    open_window(&rng, &w);
    counts[1 + compare(&rng, &w)]++;
    eg_graph_destroy(w.graph);
  }
  print_message("%u copies; without, with one and two strips: %u, %u, %u\n", counts[0],
                counts[1], counts[2], counts[3]);
  for (int i = 0; i < EG_MOST_STRIPS + 2; i++)
    assert_true(counts[i] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strips_give_what_a_copy_of_the_block_gives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
