// Chains of pointwise operators that the back-end runs in one pass (exec/rank_compile.c):
// random ones, in every memory format, with numbers and with special values, have the
// bits of the same operators one by one (which test_backend_conformance compares with the
// reference kernels), and on two threads the same.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "tests/unit/session_kit.h"

enum { TEXT_BYTES = 8192, MOST_NODES = 10 };

typedef struct drawing {
  eg_rng rng;
  int64_t dims[4];
  uint32_t rank;
  const char *format; // NULL: plain, of any rank
  const char *dtype;
  char head[TEXT_BYTES / 2], nodes[TEXT_BYTES / 4]; // leaves, chain
  uint32_t leaves;
} drawing;

static int64_t draw(drawing *d, int64_t from, int64_t to) {
  return from + (int64_t)eg_rng_below(&d->rng, (uint64_t)(to - from + 1));
}

#define APPEND(buffer, ...)                                                              \
  (void)snprintf((buffer) + strlen(buffer), sizeof(buffer) - strlen(buffer), __VA_ARGS__)

/// A tensor of the last `rank` dimensions, where `mask` has a bit of those that are not
/// one.
static void put_leaf(drawing *d, const char *kind, uint32_t rank, uint32_t mask) {
  APPEND(d->head, "(%s l%u \"%s[", kind, d->leaves, d->dtype);
  for (uint32_t i = d->rank - rank; i < d->rank; i++)
    APPEND(d->head, "%s%d", i == d->rank - rank ? "" : ",",
           (mask >> i & 1) != 0 ? (int)d->dims[i] : 1);
  APPEND(d->head, "]\")");
}

/// The number of a tensor to combine with the chain: of its type, in its format, or one
/// that is repeated.
static uint32_t draw_operand(drawing *d) {
  const char *kind = draw(d, 0, 1) ? "weight" : "input";
  bool is_full = draw(d, 0, 2) == 0, is_channels = draw(d, 0, 1);
  uint32_t all = (1u << d->rank) - 1;
  if (is_full)
    put_leaf(d, "input", d->rank, all);
  else if (is_channels && d->rank > 1)
    put_leaf(d, kind, d->rank - (uint32_t)draw(d, 0, 1), 2);
  else
    put_leaf(d, kind, (uint32_t)draw(d, 0, d->rank), (uint32_t)draw(d, 0, all));
  if (is_full && d->format != NULL)
    APPEND(d->head, "(let l%u (identity l%u) :node l%u :formats [%s])", d->leaves + 1,
           d->leaves, d->leaves + 1, d->format);
  d->leaves += is_full && d->format != NULL ? 2 : 1;
  return d->leaves - 1;
}

static void put_batch_norm(drawing *d, int from) {
  for (int i = 0; i < 4; i++)
    APPEND(d->head, "(weight b%d_%d \"float32[%d]\")", from, i, (int)d->dims[1]);
  APPEND(d->nodes, "(batch-normalization n%d b%d_0 b%d_1 b%d_2 b%d_3)", from, from, from,
         from, from);
}

static void put_node(drawing *d, int from) {
  static const char *const unary[] = {
      "relu",        "exp",  "erf",  "floor",   "sign",  "neg",
      "softsign",    "gelu", "ceil", "sigmoid", "rsqrt", "clip :min -0.5 :max 1.25",
      "hard-sigmoid"};
  static const char *const binary[] = {"add", "sub", "mul", "div"};
  bool is_float = strcmp(d->dtype, "float32") == 0;
  int64_t kind = draw(d, 0, 9);
  if (kind < 3 && is_float) {
    APPEND(d->nodes, "(%s n%d)", unary[draw(d, 0, 12)], from);
  } else if (kind == 3 && d->rank == 4 && is_float) {
    put_batch_norm(d, from);
  } else if (kind == 5 && is_float && d->format == NULL) {
    APPEND(d->nodes, "(softmax :axis -1 n%d)", from);
  } else if (kind == 4) { // what entered the chain, once more
    APPEND(d->nodes, "(%s n%d n0)", binary[draw(d, 0, 2)], from);
  } else {
    uint32_t operand = draw_operand(d);
    if (draw(d, 0, 1))
      APPEND(d->nodes, "(%s n%d l%u)", binary[draw(d, 0, 3)], from, operand);
    else
      APPEND(d->nodes, "(%s l%u n%d)", binary[draw(d, 0, 3)], operand, from);
  }
}

static void draw_type(drawing *d) {
  static const char *const formats[] = {NULL, NULL, "nhwc", "nChw8c", "nChw16c"};
  static const int64_t sizes[] = {1, 2, 3, 5, 16, 17, 32, 40};
  d->dtype = draw(d, 0, 9) == 0 ? "float64" : "float32";
  d->format = strcmp(d->dtype, "float32") == 0 ? formats[draw(d, 0, 4)] : NULL;
  d->rank = d->format != NULL ? 4 : (uint32_t)draw(d, 1, 4);
  for (uint32_t i = 0; i < d->rank; i++)
    d->dims[i] = sizes[draw(d, 0, 7)];
  if (d->rank == 4) d->dims[0] = draw(d, 1, 2);
  if (d->format != NULL && draw(d, 0, 1)) d->dims[1] = 16 * draw(d, 1, 3);
  if (d->format != NULL) d->dims[1] = d->dims[1] < 16 ? 16 + d->dims[1] : d->dims[1];
  static const int64_t rows[] = {49, 197, 1000, 1024, 1025};
  if (d->rank < 3 && draw(d, 0, 1)) d->dims[d->rank - 1] = rows[draw(d, 0, 4)];
  if (draw(d, 0, 15) == 0) d->dims[d->rank - 1] = 0;
}

/// The text of a graph; with `is_apart` each value is an output, so that no two nodes are
/// fused.
static void write_graph(const drawing *d, int nodes, bool is_apart,
                        char text[TEXT_BYTES]) {
  char outputs[TEXT_BYTES / 8] = "";
  for (int i = 1; is_apart && i < nodes; i++)
    APPEND(outputs, "(output n%d)", i);
  (void)snprintf(text, TEXT_BYTES,
                 "(egraph-graph 1)%s%s(let y (identity n%d) :node y)%s(output y)",
                 d->head, d->nodes, nodes, outputs);
}

static int draw_graph(uint64_t seed, char fused[TEXT_BYTES], char apart[TEXT_BYTES]) {
  drawing d = {.rng = {seed}};
  int nodes = (int)draw(&d, 2, MOST_NODES);
  draw_type(&d);
  put_leaf(&d, "input", d.rank, (1u << d.rank) - 1);
  d.leaves++;
  if (d.format != NULL)
    APPEND(d.head, "(let n0 (identity l0) :node n0 :formats [%s])", d.format);
  else
    APPEND(d.head, "(let n0 (identity l0))");
  for (int i = 0; i < nodes; i++) {
    APPEND(d.nodes, "(let n%d ", i + 1);
    put_node(&d, i);
    if (d.format != NULL) APPEND(d.nodes, " :node n%d :formats [%s]", i + 1, d.format);
    APPEND(d.nodes, ")");
  }
  write_graph(&d, nodes, false, fused);
  write_graph(&d, nodes, true, apart);
  return nodes;
}

static void put_specials(eg_rng *rng, const kit_tensors *inputs) {
  static const float specials[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-40f};
  for (uint32_t t = 0; t < inputs->count; t++) {
    uint64_t elements = (uint64_t)eg_type_elements(&inputs->items[t].type);
    for (int i = 0; i < 4 && elements != 0; i++)
      eg_tensor_set_double(&inputs->items[t], (int64_t)eg_rng_below(rng, elements),
                           (double)specials[eg_rng_below(rng, 5)]);
  }
}

static bool has_same_bits(const eg_tensor *a, const eg_tensor *b) {
  size_t bytes = eg_type_bytes(&a->type);
  assert_true(eg_type_same(&a->type, &b->type));
  if (memcmp(a->data, b->data, bytes) == 0) return true;
  for (int64_t i = 0; i < eg_type_elements(&a->type); i++) { // of NaN any
    double x = eg_tensor_get_double(a, i), y = eg_tensor_get_double(b, i);
    if (!(x == y && signbit(x) == signbit(y)) && !(isnan(x) && isnan(y))) return false;
  }
  return true;
}

/// Steps that run with others.
static uint32_t count_fused(const eg_graph *graph, size_t *out_arena) {
  eg_session *session;
  uint32_t count = 0;
  assert_ok(eg_session_create(NULL, graph,
                              &(eg_session_options)EG_SESSION_OPTIONS_DEFAULT, &session));
  for (uint32_t i = 0; i < eg_rank_program_step_count(eg_session_program(session)); i++)
    count += strcmp(eg_rank_program_step_at(eg_session_program(session), i)->kernel,
                    "fused with the next") == 0;
  *out_arena = eg_rank_program_memory(eg_session_program(session)).arena;
  eg_session_destroy(session);
  return count;
}

static void check_graph(uint64_t seed, uint32_t *inout_fused) {
  char fused_text[TEXT_BYTES], apart_text[TEXT_BYTES];
  eg_rng rng = {seed + 1};
  (void)draw_graph(seed, fused_text, apart_text);
  eg_graph *fused = kit_parse("chain", fused_text), *apart = kit_parse("a", apart_text);
  size_t fused_arena, apart_arena;
  kit_tensors inputs, one, two, each;
  kit_inputs_draw(fused, &inputs);
  if (seed % 2 == 0) put_specials(&rng, &inputs);
  kit_run(fused, "cpu", 1, &inputs, &one);
  kit_run(fused, "cpu", 2, &inputs, &two);
  kit_run(apart, "cpu", 1, &inputs, &each);
  *inout_fused += count_fused(fused, &fused_arena);
  if (count_fused(apart, &apart_arena) != 0) fail_msg("fused outputs: %s", apart_text);
  if (!has_same_bits(&one.items[0], &each.items[each.count - 1]))
    fail_msg("other bits than one by one: %s", fused_text);
  if (!has_same_bits(&one.items[0], &two.items[0]))
    fail_msg("other bits on two threads: %s", fused_text);
  if (fused_arena > apart_arena)
    fail_msg("%zu bytes, not %zu: %s", fused_arena, apart_arena, fused_text);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&one);
  kit_tensors_deinit(&two);
  kit_tensors_deinit(&each);
  eg_graph_destroy(fused);
  eg_graph_destroy(apart);
}

static void chains_have_the_bits_of_their_operators(void **unused) {
  (void)unused;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(400);
  uint32_t fused = 0;
  for (size_t i = 0; i < rounds; i++)
    check_graph(seed + i, &fused);
  assert_true(fused > rounds); // there are chains at all
}

static egraph_status run_chain(egraph_allocator alloc, void *graph) {
  eg_session *session;
  kit_tensors inputs, outputs;
  kit_inputs_draw(graph, &inputs);
  kit_outputs_alloc(graph, &outputs);
  egraph_status status = eg_session_create(
      &alloc, graph, &(eg_session_options)EG_SESSION_OPTIONS_DEFAULT, &session);
  if (status == EGRAPH_OK) {
    status = eg_session_run(session, inputs.items, outputs.items);
    eg_session_destroy(session);
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&outputs);
  return status;
}

static void chains_survive_every_failing_allocation(void **unused) {
  (void)unused;
  eg_graph *graph =
      kit_parse("chain", "(egraph-graph 1)(input x \"float32[1,16,5,5]\")"
                         "(weight s \"float32[16]\")(weight b \"float32[16]\")"
                         "(weight m \"float32[16]\")(weight v \"float32[16]\")"
                         "(let n (batch-normalization x s b m v))(let r (relu n))"
                         "(let y (mul r x))(output y)");
  size_t arena;
  assert_int_equal(count_fused(graph, &arena), 2);
  test_every_allocation_failing(run_chain, graph);
  eg_graph_destroy(graph);
}

// Each value between the operators has a reason to be there.
static void what_others_need_is_not_fused(void **unused) {
  (void)unused;
  static const char *const graphs[] = {
      "(let a (relu x))(let y (exp a))(output y)(output a)",        // an output
      "(let a (relu x))(let b (exp a))(let y (mul b a))(output y)", // two readers
      "(let a (relu x))(let y (mul a a))(output y)",                // twice one reader
      "(let a (relu x))(let y (matmul a a))(output y)",             // no pointwise reader
      "(let a (matmul x x))(let y (softmax a))(output y)"};
  static const uint32_t fused[] = {0, 1, 0, 0, 0};
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    char text[512];
    size_t arena;
    (void)snprintf(text, sizeof text, "(egraph-graph 1)(input x \"float32[64,64]\")%s",
                   graphs[i]);
    eg_graph *graph = kit_parse("graph", text);
    assert_int_equal(count_fused(graph, &arena), fused[i]);
    eg_graph_destroy(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_have_the_bits_of_their_operators),
      cmocka_unit_test(chains_survive_every_failing_allocation),
      cmocka_unit_test(what_others_need_is_not_fused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
