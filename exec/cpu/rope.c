// Rotary position embedding on several threads: the reference kernel's rows, divided
// among them. Float32; other types run on the reference kernel.
// SPDX-License-Identifier: Apache-2.0
#include "ops/rope.h"

#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"

enum { PART = 1 << 13 }; // elements of a part, at least

typedef struct rope_plan {
  eg_rope rope;
  int64_t step; // units of a part
  uint32_t threads;
} rope_plan;

typedef struct rope_work {
  const rope_plan *plan;
  void *const *addresses; // result, x, cosines, sines
} rope_work;

static void rotate_units(const void *user, int64_t begin, int64_t end) {
  const rope_work *work = user;
  void *const *at = work->addresses;
  eg_rope_rotate_f32(&work->plan->rope, at[1], at[2], at[3], at[0], begin, end);
}

static egraph_status run_rope(const void *payload, void *const *addresses) {
  const rope_plan *p = payload;
  const rope_work work = {.plan = p, .addresses = addresses};
  eg_parts_each(p->rope.batch * p->rope.outer, p->step, p->threads, rotate_units, &work);
  return EGRAPH_OK;
}

egraph_status eg_cpu_rope(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  rope_plan *p;
  if (spec->inputs[EG_ROPE_X].dtype != EGRAPH_FLOAT32)
    return eg_cpu_refuse(builder, "not float32");
  if (eg_type_elements(&spec->results[0]) == 0)
    return eg_cpu_refuse(builder, "no elements");
  EG_NEW(builder->arena, 1, p);
  *p = (rope_plan){.rope = eg_rope_of(spec->attrs, spec->inputs),
                   .threads = eg_omp_threads()};
  int64_t unit = p->rope.inner * p->rope.depth;
  p->step = unit < PART ? PART / unit : 1;
  if (eg_cpu_may_overlay(builder, EG_ROPE_X)) builder->overlay = EG_ROPE_X;
  builder->kernel = "rope";
  const eg_place places[] = {eg_place_result(0), eg_cpu_read(builder, EG_ROPE_X),
                             eg_cpu_read(builder, EG_ROPE_COS),
                             eg_cpu_read(builder, EG_ROPE_SIN)};
  return eg_cpu_add_function(builder, &builder->run, run_rope, p, places, 4);
}
