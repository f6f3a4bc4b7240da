// Stamps of random models of equal blocks, against what they claim, which is read from
// the graphs alone: a value and the same one block later are made alike of what
// corresponds; so are a value of a whole step and what stands for it in the folded one;
// and as many values have one that stands for them as it says. EG_TEST_SCALE sets how
// many models.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/unfold.h"
#include "tests/unit/plan_models.h"
#include "tests/unit/session_kit.h"

#define NONE UINT32_MAX
enum { MOST_WEIGHTS = 256, WEIGHT_LENGTH = 64 };

// ---- models ---------------------------------------------------------------------------

typedef struct features {
  int blocks;
  bool has_first, has_last;   // nodes outside of blocks
  bool norms, biased, splits; // LayerNorm; a bias of the stream's shape; several results
  bool ties, multiplies_ties; // one vector, one matrix for all blocks
  bool has_outside;           // what all blocks make of the same
  bool has_second;            // a second stream
  bool drops;                 // which ends in the last block
  int order;                  // of weights in the file: see add_weights
} features;

static bool flip(eg_rng *rng) { return eg_rng_below(rng, 2) == 0; }

static void draw_features(eg_rng *rng, features *out) {
  *out = (features){.blocks = 6 + (int)eg_rng_below(rng, 4),
                    .has_first = flip(rng),
                    .has_last = flip(rng),
                    .norms = flip(rng),
                    .biased = flip(rng),
                    .splits = flip(rng),
                    .ties = flip(rng),
                    .multiplies_ties = flip(rng),
                    .has_outside = flip(rng),
                    .has_second = flip(rng),
                    .order = (int)eg_rng_below(rng, 4)};
  out->drops = out->has_second && flip(rng);
}

typedef struct weight_list {
  char text[MOST_WEIGHTS][WEIGHT_LENGTH];
  int count;
} weight_list;

static void want_weight(weight_list *list, const char *name, int block,
                        const char *dims) {
  assert_true(list->count < MOST_WEIGHTS);
  (void)snprintf(list->text[list->count++], WEIGHT_LENGTH,
                 "(weight %s%d \"float32[%s]\")\n", name, block, dims);
}

/// Block by block; kind by kind; at random.
static void add_weights(eg_rng *rng, const features *f, eg_text *text) {
  static const char *const name[] = {"s", "t", "a", "b", "c", "d"};
  static const char *const dims[] = {"8", "8", "8,16", "16,8", "8,8", "8,8"};
  weight_list list = {.count = 0};
  for (int k = 0; k < 6 * f->blocks; k++) {
    int kind = f->order == 0 ? k % 6 : k / f->blocks;
    int block = f->order == 0 ? k / 6 : k % f->blocks;
    if (f->order == 2) block = f->blocks - 1 - block;
    want_weight(&list, name[kind], block, dims[kind]);
  }
  for (int k = list.count; f->order == 3 && k > 1; k--) {
    char held[WEIGHT_LENGTH];
    int other = (int)eg_rng_below(rng, (uint64_t)k);
    memcpy(held, list.text[k - 1], sizeof held);
    memcpy(list.text[k - 1], list.text[other], sizeof held);
    memcpy(list.text[other], held, sizeof held);
  }
  for (int k = 0; k < list.count; k++)
    model_add(text, "%s", list.text[k]);
}

static void add_block(const features *f, eg_text *text, int i) {
  const char *at = f->norms ? "n" : "x", *last = "r";
  if (f->norms)
    model_add(text, "(let n%d (layer-normalization x%d s%d t%d))", i, i, i, i);
  model_add(text, "(let p%d (matmul %s%d a%d))(let q%d (gelu p%d))", i, at, i, i, i, i);
  model_add(text, "(let r%d (matmul q%d b%d))\n", i, i, i);
  if (f->splits) {
    model_add(text, "(let [e%d f%d] (split :axis 1 :sizes [4 4] r%d))", i, i, i);
    model_add(text, "(let r2%d (concat :axis 1 f%d e%d))\n", i, i, i);
    last = "r2";
  }
  if (f->ties) model_add(text, "(let k%d (mul %s%d same))\n", i, last, i), last = "k";
  if (f->multiplies_ties)
    model_add(text, "(let l%d (matmul %s%d tied))\n", i, last, i), last = "l";
  if (f->has_outside) {
    model_add(text, "(let o%d (tanh outside))", i);
    model_add(text, "(let m%d (add %s%d o%d))\n", i, last, i, i);
    last = "m";
  }
  if (f->biased) model_add(text, "(let v%d (sub %s%d c%d))\n", i, last, i, i), last = "v";
  if (f->has_second) {
    model_add(text, "(let y%d (matmul z%d d%d))", i, i, i);
    model_add(text, "(let w%d (sub %s%d z%d))\n", i, last, i, i);
    model_add(text, "(let z%d (tanh y%d))", i + 1, i);
    last = "w";
  }
  model_add(text, "(let x%d (add x%d %s%d))\n", i + 1, i, last, i);
}

static void draw_model(eg_rng *rng, eg_text *text) {
  features f;
  draw_features(rng, &f);
  model_begin(text);
  model_add(text,
            "(input %s \"float32[8,8]\")(input outside \"float32[8,8]\")"
            "(weight in \"float32[8,8]\")(weight same \"float32[8]\")\n",
            f.has_first ? "x" : "x0");
  model_add(text, "(weight tied \"float32[8,8]\")(weight out \"float32[8,4]\")\n");
  if (f.has_second) model_add(text, "(input z0 \"float32[8,8]\")\n");
  add_weights(rng, &f, text);
  if (f.has_first) model_add(text, "(let g (matmul x in))(let x0 (exp g))\n");
  for (int i = 0; i < f.blocks; i++)
    add_block(&f, text, i);
  bool joins = f.has_second && !f.drops;
  if (joins) model_add(text, "(let end (add x%d z%d))", f.blocks, f.blocks);
  if (!joins) model_add(text, "(let end (exp x%d))", f.blocks);
  model_add(text, f.has_last ? "(let y (matmul end out))(output y)\n" : "(output end)\n");
}

static void draw_training(eg_rng *rng, eg_training_options *out) {
  static const char *const frozen[] = {"b*"};
  *out = (eg_training_options)EG_TRAINING_OPTIONS_DEFAULT;
  out->loss = EG_LOSS_SQUARED_ERROR;
  out->optimizer = (eg_optimizer)eg_rng_below(rng, EG_OPTIMIZER_COUNT);
  out->micro_batches = 1 + (uint32_t)eg_rng_below(rng, 3);
  out->clip_norm = flip(rng) ? 1 : 0;
  out->weight_decay = flip(rng) ? 0.01 : 0;
  out->precision = (eg_precision)eg_rng_below(rng, EG_PRECISION_COUNT);
  if (eg_rng_below(rng, 4) == 0) out->parameters.freeze = frozen;
  if (out->parameters.freeze != NULL) out->parameters.freeze_count = 1;
}

// ---- a step and its folded one --------------------------------------------------------

typedef struct subject {
  eg_graph *forward;
  eg_blocks blocks;
  eg_folded folded;
  eg_training whole, small;
  bool trains;
  eg_unfold_match match;
  eg_step_blocks small_blocks;
} subject;

static const eg_fold_ends ends = {2, 2};

static const eg_graph *whole_of(const subject *s) {
  return s->trains ? s->whole.graph : s->forward;
}

static const eg_graph *small_of(const subject *s) {
  return s->trains ? s->small.graph : s->folded.graph;
}

static bool subject_init(subject *s, eg_rng *rng) {
  eg_text text;
  eg_training_options options;
  *s = (subject){.trains = eg_rng_below(rng, 5) != 0};
  eg_text_init(&text, eg_allocator_heap());
  draw_model(rng, &text);
  draw_training(rng, &options);
  s->forward = kit_parse("model", eg_text_of(&text));
  eg_text_deinit(&text);
  assert_ok(eg_blocks_find(s->forward, &s->blocks));
  if (!eg_blocks_can_fold(&s->blocks, ends)) return false;
  assert_ok(eg_blocks_fold(s->forward, &s->blocks, ends, &s->folded));
  if (s->trains) {
    assert_ok(eg_training_step(s->forward, &options, &s->whole));
    assert_ok(eg_training_step(s->folded.graph, &options, &s->small));
  }
  const eg_unfold_steps steps = {.forward = s->forward,
                                 .blocks = &s->blocks,
                                 .ends = ends,
                                 .folded = &s->folded,
                                 .whole = s->trains ? &s->whole : NULL,
                                 .small = s->trains ? &s->small : NULL};
  assert_ok(eg_unfold_match_init(&s->match, eg_allocator_heap(), &steps));
  assert_ok(eg_step_blocks_init(&s->small_blocks, eg_allocator_heap(), s->folded.graph,
                                &s->folded.blocks, steps.small));
  return true;
}

static void subject_deinit(subject *s) {
  if (s->folded.graph != NULL) {
    eg_step_blocks_deinit(&s->small_blocks);
    eg_unfold_match_deinit(&s->match);
    if (s->trains) eg_training_deinit(&s->small);
    if (s->trains) eg_training_deinit(&s->whole);
    eg_folded_deinit(&s->folded);
  }
  eg_graph_destroy(s->forward);
}

// ---- what is claimed ------------------------------------------------------------------

/// Two values of two graphs are of one kind; what operands are is looked at elsewhere.
static void check_kinds(const eg_graph *a, uint32_t v, const eg_graph *b, uint32_t w) {
  const eg_value_info *x = eg_graph_value(a, (eg_value){v});
  const eg_value_info *y = eg_graph_value(b, (eg_value){w});
  assert_int_equal(x->kind, y->kind);
  assert_true(eg_type_same(&x->type, &y->type));
  if (x->kind != EG_VALUE_COMPUTED) return;
  eg_graph_node_info n = eg_graph_node_at(a, x->node), m = eg_graph_node_at(b, y->node);
  assert_int_equal(x->result, y->result);
  assert_int_equal(n.input_count, m.input_count);
  if (!eg_attrs_same(n.attrs, m.attrs)) fail_msg("%s and %s", x->name, y->name);
}

static eg_graph_node_info maker_of(const eg_graph *graph, uint32_t value) {
  const eg_value_info *info = eg_graph_value(graph, (eg_value){value});
  return info->kind == EG_VALUE_COMPUTED ? eg_graph_node_at(graph, info->node)
                                         : (eg_graph_node_info){.input_count = 0};
}

/// Operands one block on: the same for both, the next block's, or in the place where the
/// first and the last block meet the outside.
static void check_later(const eg_graph *step, const eg_step_blocks *blocks,
                        uint32_t count, uint32_t v) {
  uint32_t w = blocks->later.data[v];
  assert_int_equal(blocks->value.data[w], blocks->value.data[v] + 1);
  check_kinds(step, v, step, w);
  eg_graph_node_info node = maker_of(step, v), like = maker_of(step, w);
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t o = node.inputs[i].id, p = like.inputs[i].id;
    uint32_t from = blocks->value.data[o], to = blocks->value.data[p];
    bool enters = from == EG_BLOCK_OUTSIDE && blocks->value.data[v] < ends.lead;
    bool leaves = from == count - 1 && to == EG_BLOCK_OUTSIDE;
    bool begins = from + 1 == to && to == count - 1; // a sum over blocks, from the last
    if (o == p || blocks->later.data[o] == p || enters || leaves || begins) continue;
    fail_msg("'%s' and '%s': operand %u is '%s' (block %u) and '%s' (block %u)",
             eg_graph_value(step, (eg_value){v})->name,
             eg_graph_value(step, (eg_value){w})->name, i,
             eg_graph_value(step, (eg_value){o})->name, from,
             eg_graph_value(step, (eg_value){p})->name, to);
  }
}

/// All that blocks in the middle have, the next one has, and each once.
static uint32_t check_blocks(const eg_graph *step, const eg_step_blocks *blocks,
                             uint32_t count) {
  uint32_t values = eg_graph_value_count(step), *earlier, found = 0;
  assert_int_equal(blocks->value.len, values);
  assert_int_equal(blocks->later.len, values);
  assert_ok(eg_alloc(eg_allocator_heap(), values, sizeof *earlier, &earlier));
  for (uint32_t v = 0; v < values; v++) {
    uint32_t w = blocks->later.data[v], block = blocks->value.data[v];
    bool is_inner = block != EG_BLOCK_OUTSIDE && block >= 2 && block + 2 < count;
    if (w == NONE && is_inner)
      fail_msg("'%s' of block %u of %u has no like",
               eg_graph_value(step, (eg_value){v})->name, block, count);
    if (w == NONE) continue;
    assert_int_equal(earlier[w]++, 0);
    check_later(step, blocks, count, v);
    found++;
  }
  for (uint32_t v = 0; v < values; v++) {
    uint32_t block = blocks->value.data[v];
    if (earlier[v] == 0 && block != EG_BLOCK_OUTSIDE && block >= 3 && block + 2 < count)
      fail_msg("'%s' of block %u is like nothing of the one before",
               eg_graph_value(step, (eg_value){v})->name, block);
  }
  eg_free(eg_allocator_heap(), earlier, values, sizeof *earlier);
  return found;
}

/// What is carried leaves a block as what enters it, and so one block later.
static void check_carried(const eg_training *step, const eg_step_blocks *blocks,
                          eg_training_state state) {
  if (state.entry.id == NONE) return;
  uint32_t later = blocks->later.data[state.entry.id];
  if (blocks->value.data[state.entry.id] != EG_BLOCK_OUTSIDE)
    assert_int_equal(blocks->value.data[state.entry.id],
                     blocks->value.data[state.exit.id]);
  if (later == NONE || eg_graph_value(step->graph, state.exit)->kind != EG_VALUE_COMPUTED)
    return;
  const char *name = eg_graph_value(step->graph, (eg_value){later})->name, *other;
  for (uint32_t o = 0; o < eg_graph_output_count(step->graph); o++) {
    eg_value exit = eg_graph_output(step->graph, o, &other);
    if (strcmp(name, other) == 0)
      assert_int_equal(blocks->later.data[state.exit.id], exit.id);
  }
}

static void check_all_carried(const eg_training *step, const eg_step_blocks *blocks) {
  for (uint32_t p = 0; p < step->param_count; p++) {
    check_carried(step, blocks, step->params[p].value);
    check_carried(step, blocks, step->params[p].sum);
    for (uint32_t k = 0; k < step->state_count; k++)
      check_carried(step, blocks, step->params[p].state[k]);
  }
}

/// Operands of a value and of what stands for it: that stands for these, too, or does so
/// for the same one block before or after, where copies of the middle meet its
/// neighbours.
static void check_standing(const subject *s, uint32_t v) {
  const eg_u32s *to = &s->match.value, *later = &s->small_blocks.later;
  uint32_t u = to->data[v], block = s->match.blocks.value.data[v];
  assert_int_not_equal(u, NONE);
  check_kinds(whole_of(s), v, small_of(s), u);
  uint32_t standing =
      block == EG_BLOCK_OUTSIDE ? block : eg_blocks_standing(&s->blocks, ends, block);
  if (standing != EG_BLOCK_OUTSIDE && standing > s->folded.middle)
    standing -= s->folded.times - 1;
  assert_int_equal(s->small_blocks.value.data[u], standing);
  eg_graph_node_info node = maker_of(whole_of(s), v), like = maker_of(small_of(s), u);
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t o = to->data[node.inputs[i].id], p = like.inputs[i].id;
    if (o == p || later->data[o] == p || later->data[p] == o) continue;
    fail_msg("operand %u of '%s' is '%s', of '%s' it is '%s'", i,
             eg_graph_value(whole_of(s), (eg_value){v})->name,
             eg_graph_value(whole_of(s), node.inputs[i])->name,
             eg_graph_value(small_of(s), (eg_value){u})->name,
             eg_graph_value(small_of(s), (eg_value){p})->name);
  }
}

/// Each value of the small step stands for as many as its block does.
static void check_match(const subject *s) {
  uint32_t values = eg_graph_value_count(small_of(s)), *count;
  assert_ok(eg_alloc(eg_allocator_heap(), values, sizeof *count, &count));
  for (uint32_t v = 0; v < s->match.value.len; v++) {
    const eg_value_info *info = eg_graph_value(whole_of(s), (eg_value){v});
    if (info->kind != EG_VALUE_COMPUTED && s->match.value.data[v] == NONE)
      continue; // nothing reads it
    check_standing(s, v);
    count[s->match.value.data[v]]++;
  }
  for (uint32_t u = 0; u < values; u++) {
    bool is_middle = s->small_blocks.value.data[u] == s->folded.middle;
    if (count[u] != (is_middle ? s->folded.times : 1))
      fail_msg("'%s' stands for %u", eg_graph_value(small_of(s), (eg_value){u})->name,
               count[u]);
  }
  eg_free(eg_allocator_heap(), count, values, sizeof *count);
}

static void stamps_say_what_the_graphs_say(void **state) {
  (void)state;
  eg_rng rng = {test_seed(11)};
  uint32_t found = 0, folded = 0;
  size_t rounds = test_rounds(200);
  for (size_t round = 0; round < rounds; round++) {
    subject s;
    if (subject_init(&s, &rng)) {
      found += check_blocks(whole_of(&s), &s.match.blocks, s.blocks.count);
      (void)check_blocks(small_of(&s), &s.small_blocks, s.folded.blocks.count);
      if (s.trains) check_all_carried(&s.whole, &s.match.blocks);
      check_match(&s);
      folded++;
    }
    subject_deinit(&s);
  }
  print_message("%u models folded, %u values followed one block on\n", folded, found);
  assert_true(2 * folded >= rounds);
}

/// The maps fail as a whole, and leave nothing behind.
static egraph_status match_body(egraph_allocator alloc, void *user) {
  const subject *s = user;
  const eg_unfold_steps steps = {.forward = s->forward,
                                 .blocks = &s->blocks,
                                 .ends = ends,
                                 .folded = &s->folded,
                                 .whole = &s->whole,
                                 .small = &s->small};
  eg_unfold_match match;
  EG_TRY(eg_unfold_match_init(&match, alloc, &steps));
  eg_unfold_match_deinit(&match);
  return EGRAPH_OK;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_rng rng = {4};
  subject s;
  while (!subject_init(&s, &rng) || !s.trains)
    subject_deinit(&s);
  test_every_allocation_failing(match_body, &s);
  subject_deinit(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stamps_say_what_the_graphs_say),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
