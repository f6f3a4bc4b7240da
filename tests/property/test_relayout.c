// Moves between layouts on ranks of one process, against a naive oracle that finds every
// element of the result among what all ranks held: every transition of random tensors on
// meshes of one to three axes; halos; blocks of global tensors.
// SPDX-License-Identifier: Apache-2.0
#include "exec/relayout.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "exec/local/local_channel.h"
#include "tests/testing.h"

typedef struct problem {
  eg_mesh mesh;
  eg_type type;
  eg_layout from;
  eg_transition transition;
  uint32_t halo_count; // instead of the transition
  eg_halo halos[2];
} problem;

// ---- the oracle -------------------------------------------------------------------

/// What a rank holds at a place of its block.
static int64_t held(const problem *p, uint32_t rank, int64_t at) {
  int64_t value = (int64_t)((rank * 7 + (uint64_t)at * 5 + (uint64_t)at / 6) % 13);
  return p->type.dtype == EGRAPH_BOOL ? value & 1 : value;
}

/// Place of a global index in the block of a rank, or false when it is not there.
static bool locate(const problem *p, const eg_layout *layout, uint32_t rank,
                   const int64_t *index, int64_t *out) {
  *out = 0;
  for (uint32_t d = 0; d < p->type.rank; d++) {
    int64_t number = 0, size = p->type.dims[d];
    for (uint32_t a = 0; a < p->mesh.axis_count; a++)
      if (layout->sharding[a] == eg_digit_shard(d)) {
        number = number * p->mesh.axes[a].size + eg_mesh_coordinate(&p->mesh, rank, a);
        size /= p->mesh.axes[a].size;
      }
    if (index[d] / size != number) return false;
    *out = *out * size + index[d] % size;
  }
  return true;
}

static uint32_t rank_at(const problem *p, uint32_t rank, uint32_t place) {
  uint32_t axis = p->transition.axis, stride = eg_mesh_stride(&p->mesh, axis);
  return rank + (place - eg_mesh_coordinate(&p->mesh, rank, axis)) * stride;
}

/// What a rank must hold of the global index afterwards.
static int64_t expected(const problem *p, uint32_t rank, const int64_t *index) {
  const eg_transition *t = &p->transition;
  int64_t at, all = 0;
  bool is_first = true;
  for (uint32_t place = 0; place < p->mesh.axes[t->axis].size; place++) {
    uint32_t other = rank_at(p, rank, place);
    if (t->from == EG_SHARD_R && other != rank) continue;
    if (!locate(p, &p->from, other, index, &at)) continue;
    int64_t x = held(p, other, at);
    bool is_larger = is_first || x > all;
    all = t->from == EG_SHARD_P_SUM ? all + x : is_larger ? x : all;
    is_first = false;
  }
  if (is_first) return INT64_MIN; // nobody holds it
  bool is_masked =
      t->kind == EG_TRANSITION_MASK && eg_mesh_coordinate(&p->mesh, rank, t->axis) != 0;
  return is_masked ? 0 : all;
}

static bool next_index(const eg_type *type, int64_t *index) {
  for (uint32_t d = type->rank; d-- > 0;) {
    if (++index[d] < type->dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

static egraph_status compare(const eg_tensor *have, int64_t at, int64_t value) {
  int64_t room = 0;
  eg_tensor want = {.type = {.dtype = have->type.dtype}, .data = &room};
  eg_tensor_set_int(&want, 0, value);
  if (eg_tensor_get_int(have, at) == eg_tensor_get_int(&want, 0)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_INTERNAL, "element %d is %d, not %d", (int)at,
                 (int)eg_tensor_get_int(have, at), (int)value);
}

// ---- transitions ------------------------------------------------------------------

// With a byte to spare, so that empty tensors have a pointer, and a canary there.
static eg_tensor tensor_of(const eg_type *type) {
  eg_tensor tensor = {.type = *type, .data = malloc(eg_type_bytes(type) + 1)};
  memset(tensor.data, 0x5a, eg_type_bytes(type) + 1);
  return tensor;
}

static egraph_status close_tensor(const eg_tensor *tensor) {
  char canary = ((char *)tensor->data)[eg_type_bytes(&tensor->type)];
  free(tensor->data);
  return canary == 0x5a ? EGRAPH_OK
                        : EG_FAIL(EGRAPH_E_INTERNAL, "written behind the end");
}

static egraph_status compare_all(const problem *p, uint32_t rank, const eg_tensor *have) {
  eg_layout after = p->from;
  after.sharding[p->transition.axis] = p->transition.to;
  int64_t index[EGRAPH_MAX_RANK] = {0}, at;
  do
    if (locate(p, &after, rank, index, &at))
      EG_TRY(compare(have, at, expected(p, rank, index)));
  while (next_index(&p->type, index));
  return EGRAPH_OK;
}

/// Puts a tensor into a memory format.
static egraph_status reformat(eg_tensor *inout, uint8_t format) {
  eg_type type = inout->type;
  type.layout.format = format;
  if (inout->type.layout.format == format) return EGRAPH_OK;
  eg_tensor out = tensor_of(&type);
  egraph_status status = eg_tensor_reorder(inout, &out);
  if (close_tensor(inout) != EGRAPH_OK) status = EGRAPH_E_INTERNAL;
  *inout = out;
  return status;
}

static egraph_status move(void *user, eg_channel *channel) {
  const problem *p = user;
  eg_relayout m = eg_relayout_of(&p->mesh, &p->type, &p->from, &p->transition);
  eg_type plain = m.from;
  plain.layout.format = EG_FORMAT_PLAIN;
  eg_tensor from = tensor_of(&plain), to = tensor_of(&m.to);
  char *scratch = malloc(m.scratch_bytes + 1);
  scratch[m.scratch_bytes] = 0x5a;
  for (int64_t i = 0; i < eg_type_elements(&m.from); i++)
    eg_tensor_set_int(&from, i, held(p, channel->rank, i));
  egraph_status status = reformat(&from, p->from.format);
  if (status == EGRAPH_OK)
    status = eg_relayout_run(&m, channel, from.data, to.data, scratch);
  if (status == EGRAPH_OK) status = reformat(&to, EG_FORMAT_PLAIN);
  if (status == EGRAPH_OK) status = compare_all(p, channel->rank, &to);
  if (status == EGRAPH_OK && scratch[m.scratch_bytes] != 0x5a)
    status = EG_FAIL(EGRAPH_E_INTERNAL, "written behind the scratch memory");
  free(scratch);
  if (close_tensor(&from) != EGRAPH_OK || close_tensor(&to) != EGRAPH_OK)
    status = EGRAPH_E_INTERNAL;
  return status;
}

static void run_problem(const problem *p, eg_rank_body body) {
  eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  egraph_status status =
      eg_local_ranks_run(NULL, &p->mesh, &options, body, (void *)(uintptr_t)p);
  if (status == EGRAPH_OK) return;
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_mesh_print(&text, &p->mesh));
  assert_ok(eg_text_append(&text, " "));
  assert_ok(eg_type_print(&text, &p->type));
  assert_ok(eg_text_append(&text, " @ "));
  assert_ok(eg_layout_print(&text, &p->mesh, &p->from));
  print_error("%s, %s along axis %u to digit %u: %s\n", eg_text_of(&text),
              eg_transition_name(p->transition.kind), p->transition.axis,
              p->transition.to, egraph_last_error());
  eg_text_deinit(&text);
  fail();
}

static const char *const meshes[] = {"a=2",     "a=3",     "a=4",         "a=2,b=2",
                                     "a=2,b=3", "a=1,b=2", "a=2,b=2,c=2", "a=3,b=1,c=2"};

static void draw_problem(eg_rng *rng, problem *out) {
  *out =
      (problem){.type = {.dtype = (egraph_dtype)eg_rng_below(rng, EGRAPH_DTYPE_COUNT)}};
  assert_ok(eg_mesh_parse(meshes[eg_rng_below(rng, 8)], &out->mesh));
  out->type.rank = (uint32_t)eg_rng_below(rng, 5);
  for (uint32_t d = 0; d < out->type.rank; d++) {
    static const int64_t dims[] = {1, 2, 4, 6, 8, 12};
    out->type.dims[d] = dims[eg_rng_below(rng, 6)];
  }
  for (uint32_t a = 0; a < out->mesh.axis_count; a++)
    out->from.sharding[a] = (uint8_t)eg_rng_below(rng, EG_SHARD_S0 + out->type.rank);
}

static bool fits(const problem *p, const eg_layout *layout) {
  if (eg_sharding_check(&p->mesh, &p->type, layout) != EG_SHARDING_LEGAL) return false;
  eg_type local = eg_sharding_local(&p->mesh, &p->type, layout);
  return eg_format_fits(&local, (eg_format)layout->format);
}

/// Images, in a memory format: some have channels that do not fill a block.
static void draw_image(eg_rng *rng, problem *out) {
  static const int64_t batches[] = {1, 2, 4}, channels[] = {8, 12, 16, 24, 32, 64},
                       sizes[] = {1, 2, 3, 4, 6};
  *out = (problem){.type = {.dtype = EGRAPH_FLOAT32, .rank = 4}};
  assert_ok(eg_mesh_parse(meshes[eg_rng_below(rng, 8)], &out->mesh));
  out->type.dims[0] = batches[eg_rng_below(rng, 3)];
  out->type.dims[1] = channels[eg_rng_below(rng, 6)];
  out->type.dims[2] = sizes[eg_rng_below(rng, 5)];
  out->type.dims[3] = sizes[eg_rng_below(rng, 5)];
  for (uint32_t a = 0; a < out->mesh.axis_count; a++)
    out->from.sharding[a] = (uint8_t)eg_rng_below(rng, EG_SHARD_S0 + 4);
  out->from.format = (uint8_t)(1 + eg_rng_below(rng, EG_FORMAT_COUNT - 1));
}

/// Runs every transition of one axis from the problem's layout; counts kinds.
static void run_transitions(problem *p, uint32_t *counts) {
  for (uint32_t a = 0; a < p->mesh.axis_count; a++)
    for (uint32_t digit = 0; digit < EG_SHARD_S0 + p->type.rank; digit++) {
      eg_layout to = p->from;
      to.sharding[a] = (uint8_t)digit;
      if (!fits(p, &to) ||
          !eg_transition_between(&p->mesh, &p->type, &p->from, &to, &p->transition))
        continue;
      run_problem(p, move);
      counts[p->transition.kind * EGRAPH_DTYPE_COUNT + p->type.dtype]++;
    }
}

static void every_transition_moves_every_element(void **state) {
  (void)state;
  eg_rng rng = {test_seed(20)};
  uint32_t counts[EG_TRANSITION_KINDS * EGRAPH_DTYPE_COUNT] = {0};
  for (size_t round = 0; round < test_rounds(1500); round++) {
    problem p;
    draw_problem(&rng, &p);
    if (eg_sharding_check(&p.mesh, &p.type, &p.from) == EG_SHARDING_LEGAL)
      run_transitions(&p, counts);
  }
  for (uint32_t kind = 0; kind < EG_TRANSITION_KINDS; kind++)
    for (uint32_t dtype = 0; kind != EG_TRANSITION_REORDER && dtype < EGRAPH_DTYPE_COUNT;
         dtype++) {
      bool is_of_numbers = kind == EG_TRANSITION_MASK ||
                           kind == EG_TRANSITION_ALL_REDUCE ||
                           kind == EG_TRANSITION_REDUCE_SCATTER;
      if (dtype == EGRAPH_BOOL && is_of_numbers) continue;
      assert_true(counts[kind * EGRAPH_DTYPE_COUNT + dtype] > 0);
    }
}

static void transitions_move_tensors_in_memory_formats(void **state) {
  (void)state;
  eg_rng rng = {test_seed(23)};
  uint32_t counts[EG_TRANSITION_KINDS * EGRAPH_DTYPE_COUNT] = {0};
  for (size_t round = 0; round < test_rounds(1000); round++) {
    problem p;
    draw_image(&rng, &p);
    if (fits(&p, &p.from)) run_transitions(&p, counts);
  }
  for (uint32_t kind = 0; kind < EG_TRANSITION_KINDS; kind++)
    assert_true(kind == EG_TRANSITION_REORDER ||
                counts[kind * EGRAPH_DTYPE_COUNT + EGRAPH_FLOAT32] > 0);
}

// ---- halos ------------------------------------------------------------------------

/// Value of the global tensor.
static int64_t value_at(const problem *p, const int64_t *index) {
  uint64_t at = 0;
  for (uint32_t d = 0; d < p->type.rank; d++)
    at = at * (uint64_t)p->type.dims[d] + (uint64_t)index[d];
  return (int64_t)((at * 5 + at / 7) % 13);
}

static egraph_status compare_halo(const problem *p, uint32_t rank,
                                  const eg_tensor *have) {
  int64_t index[EGRAPH_MAX_RANK] = {0}, at = 0;
  eg_type local = eg_sharding_local(&p->mesh, &p->type, &p->from);
  do {
    int64_t global[EGRAPH_MAX_RANK] = {0}, want = 0;
    bool is_outside = false;
    for (uint32_t d = 0; d < p->type.rank; d++)
      global[d] = index[d];
    for (uint32_t h = 0; h < p->halo_count; h++) {
      const eg_halo *halo = &p->halos[h];
      int64_t *g = &global[halo->dim];
      *g += (int64_t)eg_mesh_coordinate(&p->mesh, rank, halo->axis) *
                local.dims[halo->dim] -
            halo->before;
      is_outside = is_outside || *g < 0 || *g >= p->type.dims[halo->dim];
    }
    if (!is_outside) want = value_at(p, global);
    EG_TRY(compare(have, at++, is_outside ? (int64_t)p->halos[0].fill : want));
  } while (next_index(&have->type, index));
  return EGRAPH_OK;
}

static egraph_status exchange_one(const eg_halo *halo, eg_channel *channel,
                                  eg_tensor *inout) {
  eg_halo_move m = eg_halo_move_of(&inout->type, halo);
  eg_tensor to = tensor_of(&m.to);
  void *scratch = malloc(m.scratch_bytes + 1);
  egraph_status status = eg_halo_move_run(&m, channel, inout->data, to.data, scratch);
  free(scratch);
  if (close_tensor(inout) != EGRAPH_OK) status = EGRAPH_E_INTERNAL;
  *inout = to;
  return status;
}

static egraph_status exchange(void *user, eg_channel *channel) {
  const problem *p = user;
  eg_type local = eg_sharding_local(&p->mesh, &p->type, &p->from);
  local.layout.format = EG_FORMAT_PLAIN;
  eg_tensor whole = tensor_of(&p->type), block = tensor_of(&local);
  int64_t index[EGRAPH_MAX_RANK] = {0}, at = 0;
  do
    eg_tensor_set_int(&whole, at++, value_at(p, index));
  while (next_index(&p->type, index));
  eg_block_read(&p->mesh, channel->rank, &p->type, &p->from, whole.data, block.data);
  size_t offset;
  bool is_together = eg_block_find(&p->mesh, channel->rank, &p->type, &p->from, &offset);
  egraph_status status = EGRAPH_OK;
  if (is_together &&
      memcmp((char *)whole.data + offset, block.data, eg_type_bytes(&local)) != 0)
    status = EG_FAIL(EGRAPH_E_INTERNAL, "a block that lies together elsewhere");
  if (status == EGRAPH_OK) status = reformat(&block, p->from.format);
  for (uint32_t h = 0; status == EGRAPH_OK && h < p->halo_count; h++)
    status = exchange_one(&p->halos[h], channel, &block);
  if (status == EGRAPH_OK) status = reformat(&block, EG_FORMAT_PLAIN);
  if (status == EGRAPH_OK) status = compare_halo(p, channel->rank, &block);
  if (close_tensor(&whole) != EGRAPH_OK || close_tensor(&block) != EGRAPH_OK)
    status = EGRAPH_E_INTERNAL;
  return status;
}

// Two dimensions on two axes: the rows in the corners come from the diagonal neighbour,
// in two steps.
static void halos_bring_the_neighbours_rows(void **state) {
  (void)state;
  eg_rng rng = {test_seed(21)};
  for (size_t round = 0; round < test_rounds(300); round++) {
    static const egraph_dtype dtypes[] = {EGRAPH_FLOAT32, EGRAPH_INT8, EGRAPH_FLOAT16,
                                          EGRAPH_FLOAT64};
    problem p = {.type = {.dtype = dtypes[eg_rng_below(&rng, 4)],
                          .rank = 4,
                          .dims = {2, 3, 12, 6}}};
    assert_ok(eg_mesh_parse(round % 2 ? "a=2,b=3" : "a=3,b=2", &p.mesh));
    if (p.type.dtype == EGRAPH_FLOAT32) { // the only type that has memory formats
      p.type.dims[1] = 8 + (int64_t)eg_rng_below(&rng, 2) * 12;
      p.from.format = (uint8_t)eg_rng_below(&rng, EG_FORMAT_NCHW16C);
    }
    p.halo_count = 1 + (uint32_t)eg_rng_below(&rng, 2);
    for (uint32_t h = 0; h < p.halo_count; h++) {
      uint32_t dim = h == 0 ? 2 : 3;
      p.from.sharding[h] = eg_digit_shard(dim);
      uint64_t most = (uint64_t)p.type.dims[dim] / p.mesh.axes[h].size + 1;
      p.halos[h] = (eg_halo){.axis = h,
                             .dim = dim,
                             .before = (int64_t)eg_rng_below(&rng, most),
                             .after = (int64_t)eg_rng_below(&rng, most),
                             .fill = -7};
    }
    run_problem(&p, exchange);
  }
}

static egraph_status exchange_lowest(void *user, eg_channel *channel) {
  const problem *p = user;
  eg_type local = eg_sharding_local(&p->mesh, &p->type, &p->from);
  eg_tensor block = tensor_of(&local);
  egraph_status status = exchange_one(&p->halos[0], channel, &block);
  int64_t last = eg_type_elements(&block.type) - 1;
  double border = eg_tensor_get_double(&block, channel->rank == 0 ? 0 : last);
  double lowest = p->type.dtype == EGRAPH_INT8    ? -128
                  : p->type.dtype == EGRAPH_UINT8 ? 0
                                                  : -(double)INFINITY;
  if (status == EGRAPH_OK && border != lowest)
    status = EG_FAIL(EGRAPH_E_INTERNAL, "%g at the border", border);
  return close_tensor(&block) == EGRAPH_OK ? status : EGRAPH_E_INTERNAL;
}

static void the_lowest_number_stands_for_minus_infinity(void **state) {
  (void)state;
  static const egraph_dtype dtypes[] = {EGRAPH_INT8, EGRAPH_UINT8, EGRAPH_FLOAT16,
                                        EGRAPH_FLOAT64};
  for (int i = 0; i < 4; i++) {
    problem p = {.type = {.dtype = dtypes[i], .rank = 1, .dims = {8}},
                 .from = {.sharding = {EG_SHARD_S0}},
                 .halo_count = 1,
                 .halos = {{.before = 1, .after = 1, .fill = -(double)INFINITY}}};
    assert_ok(eg_mesh_parse("a=2", &p.mesh));
    run_problem(&p, exchange_lowest);
  }
}

// ---- blocks -----------------------------------------------------------------------

static void blocks_are_cut_out_of_the_global_tensor(void **state) {
  (void)state;
  eg_rng rng = {test_seed(22)};
  for (size_t round = 0; round < test_rounds(3000); round++) {
    problem p;
    draw_problem(&rng, &p);
    if (eg_sharding_check(&p.mesh, &p.type, &p.from) != EG_SHARDING_LEGAL) continue;
    eg_type local = eg_sharding_local(&p.mesh, &p.type, &p.from);
    eg_tensor whole = tensor_of(&p.type), block = tensor_of(&local);
    for (int64_t i = 0; i < eg_type_elements(&p.type); i++)
      eg_tensor_set_int(&whole, i, held(&p, 0, i));
    uint32_t rank = (uint32_t)eg_rng_below(&rng, eg_mesh_devices(&p.mesh));
    eg_block_read(&p.mesh, rank, &p.type, &p.from, whole.data, block.data);
    bool is_zero = false;
    for (uint32_t a = 0; a < p.mesh.axis_count; a++)
      is_zero = is_zero || (p.from.sharding[a] == EG_SHARD_P_SUM &&
                            eg_mesh_coordinate(&p.mesh, rank, a) != 0);
    int64_t index[EGRAPH_MAX_RANK] = {0}, at, number = 0;
    do {
      if (locate(&p, &p.from, rank, index, &at))
        assert_ok(compare(&block, at, is_zero ? 0 : held(&p, 0, number)));
      number++;
    } while (next_index(&p.type, index));
    assert_ok(close_tensor(&whole));
    assert_ok(close_tensor(&block));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_transition_moves_every_element),
      cmocka_unit_test(transitions_move_tensors_in_memory_formats),
      cmocka_unit_test(halos_bring_the_neighbours_rows),
      cmocka_unit_test(the_lowest_number_stands_for_minus_infinity),
      cmocka_unit_test(blocks_are_cut_out_of_the_global_tensor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
