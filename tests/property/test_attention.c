// Attention on random shapes, masks and attributes: equal to products and softmax, on the
// reference kernels and on the CPU, with the same bits on several threads. The share of
// pairs that are seen is what counting finds.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "ops/attention.h"
#include "tests/unit/session_kit.h"

enum { TEXT = 4096, ROUNDS = 500 };

/// A random node.
typedef struct drawn {
  int batch, groups, members, rows, keys, depth, columns;
  int causal, window, offset, safe, rows_first;
  bool has_softcap;
  enum { NO_MASK, BOOL_MASK, ADDED_MASK } mask;
  char mask_type[64];
} drawn;

static int below(eg_rng *rng, uint64_t count) { return (int)eg_rng_below(rng, count); }

static void draw_mask(eg_rng *rng, drawn *d) {
  int dims[4] = {d->batch, d->groups * d->members, d->rows, d->keys};
  int first = below(rng, 4);
  size_t used = 0;
  d->mask_type[0] = '\0';
  for (int i = first; i < 4; i++) {
    int size = below(rng, 5) == 0 ? 1 : dims[i];
    used += (size_t)snprintf(d->mask_type + used, sizeof d->mask_type - used, "%s%d",
                             i == first ? "" : ",", size);
  }
}

static drawn draw(eg_rng *rng) {
  static const int rows[] = {1, 2, 7, 48, 49, 100}, keys[] = {1, 3, 17, 64, 257, 300};
  static const int depths[] = {1, 5, 16, 33, 64};
  drawn d = {.batch = 1 + below(rng, 3),
             .groups = 1 + below(rng, 2),
             .members = 1 + below(rng, 3),
             .rows = below(rng, 25) == 0 ? 0 : rows[below(rng, 6)],
             .keys = below(rng, 25) == 0 ? 0 : keys[below(rng, 6)],
             .depth = depths[below(rng, 5)],
             .columns = depths[below(rng, 5)],
             .causal = below(rng, 2),
             .window = below(rng, 3) == 0 ? 1 + below(rng, 40) : 0,
             .offset = below(rng, 3) == 0 ? below(rng, 60) - 20 : 0,
             .safe = below(rng, 2),
             .rows_first = below(rng, 2),
             .has_softcap = below(rng, 4) == 0,
             .mask = (unsigned)below(rng, 3)};
  draw_mask(rng, &d);
  return d;
}

/// Appends, as a bool matrix, which keys the positions of queries let them see.
static size_t write_seen(const drawn *d, char *text, size_t used) {
  used +=
      (size_t)snprintf(text + used, TEXT - used,
                       "(weight first \"int64[]\" [%d]) (weight window \"int64[]\" [%d])"
                       "(weight none \"int64[]\" [0]) (weight never \"float32[]\" [-inf])"
                       "(let rone (fill :shape [%d] :dtype int64 :value 1.0))"
                       "(let kone (fill :shape [%d] :dtype int64 :value 1.0))"
                       "(let rsum (cum-sum :axis 0 :exclusive 1 rone))"
                       "(let ksum (cum-sum :axis 0 :exclusive 1 kone))"
                       "(let at (add rsum first)) (let column (unsqueeze :axes [1] at))"
                       "(let away (sub column ksum))",
                       d->offset, d->window, d->rows, d->keys);
  const char *from = "s1";
  if (d->causal) {
    used += (size_t)snprintf(text + used, TEXT - used,
                             "(let before (greater-or-equal away none))"
                             "(let s2 (where before %s never))",
                             from);
    from = "s2";
  }
  if (d->window != 0)
    used += (size_t)snprintf(text + used, TEXT - used,
                             "(let far (abs away)) (let near (less far window))"
                             "(let s3 (where near %s never))",
                             from);
  return used;
}

/// The graph of the node and of its parts; the first output is the node's.
static void write_graph(const drawn *d, char *text) {
  int heads = d->groups * d->members, grouped = d->members * d->rows;
  size_t used = (size_t)snprintf(
      text, TEXT,
      "(egraph-graph 1) (input q \"float32[%d,%d,%d,%d]\")"
      "(input k \"float32[%d,%d,%d,%d]\") (input v \"float32[%d,%d,%d,%d]\")",
      d->batch, heads, d->rows, d->depth, d->batch, d->groups, d->keys, d->depth,
      d->batch, d->groups, d->keys, d->columns);
  if (d->mask == BOOL_MASK)
    used +=
        (size_t)snprintf(text + used, TEXT - used,
                         "(input r \"float32[%s]\") (weight least \"float32[]\" [-0.8])"
                         "(let m (less least r))",
                         d->mask_type);
  if (d->mask == ADDED_MASK)
    used += (size_t)snprintf(text + used, TEXT - used, "(input m \"float32[%s]\")",
                             d->mask_type);
  if (d->rows_first)
    used += (size_t)snprintf(text + used, TEXT - used,
                             "(let qr (transpose :perm [0 2 1 3] q))"
                             "(let kr (transpose :perm [0 2 1 3] k))"
                             "(let vr (transpose :perm [0 2 1 3] v))");
  used += (size_t)snprintf(
      text + used, TEXT - used,
      "(let [y0 l] (attention :scale 0.25 :causal %d :window %d :offset %d :softcap %s "
      ":safe %d :rows_first %d %s%s)) %s"
      "(weight scale \"float32[]\" [0.25]) (weight cap \"float32[]\" [0.5])"
      "(let g (reshape :shape [%d %d %d %d] q)) (let product (matmul :transB 1 g k))"
      "(let apart (reshape :shape [%d %d %d %d] product)) (let s (mul apart scale))",
      d->causal, d->window, d->offset, d->has_softcap ? "0.5" : "0.0", d->safe,
      d->rows_first, d->rows_first ? "qr kr vr" : "q k v", d->mask != NO_MASK ? " m" : "",
      d->rows_first ? "(let y (transpose :perm [0 2 1 3] y0))" : "(let y (identity y0))",
      d->batch, d->groups, grouped, d->depth, d->batch, heads, d->rows, d->keys);
  if (d->has_softcap)
    used += (size_t)snprintf(text + used, TEXT - used,
                             "(let c1 (div s cap)) (let c2 (tanh c1))"
                             "(let s0 (mul c2 cap))");
  else
    used += (size_t)snprintf(text + used, TEXT - used, "(let s0 (identity s))");
  used += (size_t)snprintf(text + used, TEXT - used,
                           d->mask == NO_MASK      ? "(let s1 (identity s0))"
                           : d->mask == ADDED_MASK ? "(let s1 (add s0 m))"
                                                   : "(weight ninf \"float32[]\" [-inf])"
                                                     "(let s1 (where m s0 ninf))");
  used = write_seen(d, text, used);
  used += (size_t)snprintf(
      text + used, TEXT - used,
      "(let p (softmax :axis 3 %s)) (weight zero \"float32[]\" [0.0]) (let bad (is-nan "
      "p))"
      "(let w (where %s zero p)) (let wg (reshape :shape [%d %d %d %d] w))"
      "(let o (matmul wg v)) (let z (reshape :shape [%d %d %d %d] o))"
      "(output y) (output z)",
      d->window != 0 ? "s3"
      : d->causal    ? "s2"
                     : "s1",
      d->safe ? "bad" : "nothing", d->batch, d->groups, grouped, d->keys, d->batch, heads,
      d->rows, d->columns);
  if (d->safe) return;
  // Without `safe` the weights are those of softmax.
  char *at = strstr(text, "(let w (where nothing zero p))");
  memcpy(at, "(let w (identity p))          ", strlen("(let w (where nothing zero p))"));
}

/// The graph of the gradients of queries, keys and values.
static void write_gradient(const drawn *d, char *text) {
  int heads = d->groups * d->members;
  char q[64], k[64], attrs[256], mask[160] = "";
  bool swap = d->rows_first != 0;
  (void)snprintf(q, sizeof q, "%d,%d,%d", d->batch, swap ? d->rows : heads,
                 swap ? heads : d->rows);
  (void)snprintf(k, sizeof k, "%d,%d,%d", d->batch, swap ? d->keys : d->groups,
                 swap ? d->groups : d->keys);
  (void)snprintf(attrs, sizeof attrs,
                 ":scale 0.25 :causal %d :window %d :offset %d :softcap %s :safe %d "
                 ":rows_first %d",
                 d->causal, d->window, d->offset, d->has_softcap ? "0.5" : "0.0", d->safe,
                 d->rows_first);
  if (d->mask == BOOL_MASK)
    (void)snprintf(mask, sizeof mask,
                   "(input r \"float32[%s]\") (weight least \"float32[]\" [-0.8])"
                   "(let m (less least r))",
                   d->mask_type);
  if (d->mask == ADDED_MASK)
    (void)snprintf(mask, sizeof mask, "(input m \"float32[%s]\")", d->mask_type);
  const char *m = d->mask != NO_MASK ? " m" : "";
  (void)snprintf(
      text, TEXT,
      "(egraph-graph 1) (input d \"float32[%s,%d]\") (input q \"float32[%s,%d]\")"
      "(input k \"float32[%s,%d]\") (input v \"float32[%s,%d]\") %s"
      "(let [o l] (attention %s q k v%s))"
      "(let [x y z] (attention-grad %s d q k v o l%s))"
      "(output x) (output y) (output z)",
      q, d->columns, q, d->depth, k, d->depth, k, d->columns, mask, attrs, m, attrs, m);
}

/// Some numbers that are not finite.
static void put_specials(eg_rng *rng, const kit_tensors *inputs) {
  static const float specials[] = {NAN, -INFINITY, INFINITY};
  const eg_tensor *x = &inputs->items[below(rng, inputs->count)];
  int64_t count = eg_type_elements(&x->type);
  for (int i = 0; i < 3 && count != 0; i++)
    ((float *)x->data)[below(rng, (uint64_t)count)] = specials[below(rng, 3)];
}

static void compare(const char *what, const kit_tensors *a, uint32_t i,
                    const kit_tensors *b, uint32_t j, const char *text) {
  for (int64_t e = 0; e < eg_type_elements(&a->items[i].type); e++) {
    double x = eg_tensor_get_double(&a->items[i], e);
    double y = eg_tensor_get_double(&b->items[j], e);
    if (!kit_is_near(x, y, 1e-5))
      fail_msg("%s: element %d is %g, not %g: %s", what, (int)e, x, y, text);
  }
}

/// What one graph computes: on the reference kernels, and on the CPU by 1 and 3 threads.
typedef struct runs {
  eg_graph *graph;
  kit_tensors inputs, plain, one, three;
} runs;

static void run_all(eg_rng *rng, const char *text, runs *r) {
  r->graph = kit_parse("attention", text);
  kit_inputs_draw(r->graph, &r->inputs);
  if (below(rng, 3) == 0) put_specials(rng, &r->inputs);
  kit_run(r->graph, "reference", 1, &r->inputs, &r->plain);
  kit_run(r->graph, "cpu", 1, &r->inputs, &r->one);
  kit_run(r->graph, "cpu", 3, &r->inputs, &r->three);
}

static void close_runs(runs *r) {
  kit_tensors_deinit(&r->inputs);
  kit_tensors_deinit(&r->plain);
  kit_tensors_deinit(&r->one);
  kit_tensors_deinit(&r->three);
  eg_graph_destroy(r->graph);
}

/// Result i: the CPU is near the reference, with the same bits on any number of threads.
static void compare_runs(const runs *r, uint32_t i, const char *text) {
  compare("cpu", &r->one, i, &r->plain, i, text);
  size_t bytes = eg_type_bytes(&r->one.items[i].type);
  assert_memory_equal(r->one.items[i].data, r->three.items[i].data, bytes);
}

static void equals_its_parts(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(20261130)};
  static char text[TEXT];
  size_t rounds = test_rounds(ROUNDS);
  for (size_t round = 0; round < rounds; round++) {
    const drawn d = draw(&rng);
    runs r;
    write_graph(&d, text);
    run_all(&rng, text, &r);
    compare("reference", &r.plain, 0, &r.plain, 1, text);
    compare_runs(&r, 0, text);
    close_runs(&r);
  }
}

static void gradients_are_those_of_the_reference(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(20261202)};
  static char text[TEXT];
  size_t rounds = test_rounds(ROUNDS);
  for (size_t round = 0; round < rounds; round++) {
    const drawn d = draw(&rng);
    runs r;
    write_gradient(&d, text);
    run_all(&rng, text, &r);
    for (uint32_t i = 0; i < 3; i++)
      compare_runs(&r, i, text);
    close_runs(&r);
  }
}

static void seen_pairs_are_counted(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(20261201)};
  for (size_t round = 0; round < 2000; round++) {
    const eg_attention a = {.rows = below(&rng, 12),
                            .keys = below(&rng, 12),
                            .is_causal = below(&rng, 2) == 0,
                            .window = below(&rng, 2) == 0 ? 0 : below(&rng, 9),
                            .offset = below(&rng, 30) - 15};
    int64_t seen = 0, pairs = a.rows * a.keys;
    for (int64_t row = 0; row < a.rows; row++) {
      const eg_attention_span keys = eg_attention_sees(&a, row);
      for (int64_t key = 0; key < a.keys; key++) {
        int64_t away = a.offset + row - key, far = away < 0 ? -away : away;
        bool is_seen = (!a.is_causal || away >= 0) && (a.window == 0 || far < a.window);
        assert_int_equal(is_seen, key >= keys.from && key < keys.to);
        seen += is_seen;
      }
    }
    double share = pairs == 0 ? 1 : (double)seen / (double)pairs;
    assert_true(fabs(eg_attention_seen(&a) - share) < 1e-12);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equals_its_parts),
      cmocka_unit_test(gradients_are_those_of_the_reference),
      cmocka_unit_test(seen_pairs_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
