// The struct of a rank's program, and the functions that build it, in the order in which
// they are called; for rank_*.c and session.c only. Time is counted in steps of the plan:
// step s runs at time s + 1, inputs exist from time 0, outputs are read at time
// step_count + 1.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_RANK_PROGRAM_INTERNAL_H
#define EG_EXEC_RANK_PROGRAM_INTERNAL_H

#include "base/strmap.h"
#include "exec/backend.h"
#include "exec/lane.h"
#include "exec/rank_program.h"
#include "exec/regions.h"
#include "exec/strips.h"
#include "pcg/graph/node_spec.h"

/// A state of the plan (a value in one layout) on this rank.
typedef struct eg_rank_state {
  eg_type type;    // local
  uint32_t region; // EG_REGION_NONE: a constant
  bool is_kept;    // a constant that launches or moves read without packing
  bool is_carried; // the entry of a carried value
  uint32_t carry;  // the entry state of an exit; EG_PLAN_NONE: no exit
  bool is_placed;  // an exit whose producer writes it into the memory of its entry
  void *address;   // NULL: a constant that is not loaded, or only packed
} eg_rank_state;

/// A strip: result rows of a window next to the block's border (strips.h), compiled.
typedef struct eg_rank_strip {
  eg_strip strip;
  eg_program *program; // borrowed from the cache
  eg_launch *launch;
  size_t operand, result; // offsets in the scratch memory of the step
} eg_rank_strip;

/// A step of the plan as it runs on this rank: a view (no work), the launch of a program,
/// or a change of sharding (relayout).
typedef struct eg_rank_step {
  eg_step_figures figures;
  const uint32_t *operands, *results; // states, in the plan
  uint32_t operand_count, result_count;
  bool is_view;
  bool is_update; // the step has phase UPDATE, even when issued elsewhere
  bool settles;  // settle before the step: it overwrites memory that other ranks may read
  bool lends;    // lends memory to other ranks
  bool overlaps; // an exchange that runs on the lane
  uint32_t
      until; // last step during which the memory of an overlapping exchange is not reused
  uint32_t awaits; // step whose exchange must end before this step runs; EG_PLAN_NONE
  uint32_t ticket; // number of the exchange on the lane, once started
  // a node, or a move between formats
  eg_program *program; // borrowed from the cache; NULL: a view or a relayout
  eg_launch *launch;
  uint32_t halo_count;
  const eg_halo_move *halos; // halos, in the arena; without strips, the result of the
                             // last one is operand 0 of the node
  const void *halo_from;
  bool has_strips; // strips read the only halo: operand 0 is the block itself
  uint32_t strip_count;
  eg_rank_strip *strips; // in the arena
  // a step that changes the sharding of a value
  eg_relayout move;
  // bytes of scratch memory: of kernels, then of the tensors with halos or the strips,
  // then of the exchange; or of the relayout
  size_t scratch_bytes, exchange; // offset of the exchange's scratch memory
  uint32_t scratch_region;        // EG_REGION_NONE: none
  char *scratch;
} eg_rank_step;
EG_VEC_DEFINE(eg_rank_steps, eg_rank_step);
EG_VEC_DEFINE(eg_memory_list, eg_device_memory);

/// The part of a step's node that this rank computes.
typedef struct eg_rank_part {
  eg_node_spec spec; // local; attrs NULL: the step is a relayout
  eg_halo halos[EG_MAX_MESH_AXES];
  uint32_t halo_count;
  eg_strips strips;          // if used, the spec describes the block
  const eg_node_spec *first; // of a chain that ends here (rank_compile.c); NULL: no chain
  const eg_chain_link *links;
  uint32_t link_count;
} eg_rank_part;

/// A value that passes from step to step: its states (layouts) at both ends of a step.
typedef struct eg_rank_carry {
  uint32_t entry, exit;
  bool is_summed; // summed over micro-batches
} eg_rank_carry;
EG_VEC_DEFINE(eg_rank_carries, eg_rank_carry);

/// The compiled programs of nodes: nodes with equal specs share one.
EG_VEC_DEFINE(eg_program_refs, eg_program *);

typedef struct eg_program_cache {
  eg_program_refs programs;
  eg_strmap index; // spec text and dying operands -> place in programs
} eg_program_cache;

struct eg_rank_program {
  egraph_allocator alloc;
  const eg_plan *given;
  eg_plan issued;             // `given` in the order of issue
  const eg_plan *plan;        // the plan that runs: `given` or `issued`
  eg_lane *lane;              // NULL: exchanges run on the rank's own thread
  eg_channel *channel;        // NULL: the plan is for a mesh without axes
  eg_channel *device_channel; // uses `channel`; NULL: the back-end has host memory
  eg_rank_options options;
  eg_backend *backend;
  eg_arena arena;
  eg_program_cache programs;
  eg_rank_state *states; // [plan states]
  uint32_t *inputs;      // [graph inputs] state that a run reads; EG_PLAN_NONE: none
  eg_rank_steps steps;
  eg_rank_part *parts; // [steps] while the program is built, in `part_arena`
  eg_arena part_arena;
  eg_rank_carries carries;
  eg_regions regions;
  eg_memory_list constants; // kept and packed
  eg_device_memory memory;  // device memory in which all regions lie
  size_t arena_bytes, kept_bytes, packed_bytes;
  char *room; // host memory for the block of an input or output while it is stored or
              // fetched
  size_t room_bytes;
  uint32_t body;     // number of steps in FORWARD and BACKWARD; with a lane, of all steps
  bool skips_update; // in this micro-batch
  uint32_t last_ticket; // number of the exchange started last
  double steps_seconds; // seconds of the last run
  bool is_bound, is_loaded, is_timed;
};

static inline uint32_t eg_rank_end(const eg_rank_program *program) {
  return (uint32_t)program->plan->steps.len + 1;
}
static inline uint32_t eg_rank_number(const eg_rank_program *program) {
  return program->channel == NULL ? 0 : program->channel->rank;
}
static inline const eg_value_info *eg_rank_value(const eg_rank_program *program,
                                                 uint32_t state) {
  return eg_graph_value(program->plan->graph, program->plan->states.data[state].value);
}

/// Adds `bytes`, aligned, to *inout. Fails with EGRAPH_E_MEMORY where the sum would wrap:
/// a plan may have tensors of any size.
static inline egraph_status eg_rank_room_add(size_t *inout, size_t bytes) {
  const size_t limit = PTRDIFF_MAX - (EG_DEVICE_ALIGNMENT - 1);
  if (bytes > limit || *inout > limit - bytes)
    return EG_FAIL(EGRAPH_E_MEMORY, "what a rank holds does not fit the address space; "
                                    "reduce the model or its batch size");
  *inout += eg_device_aligned(bytes);
  return EGRAPH_OK;
}

/// Returns an address in the scratch memory of a step; NULL: it has no scratch memory.
static inline void *eg_rank_scratch(const eg_rank_step *step, size_t offset) {
  return step->scratch == NULL ? NULL : step->scratch + offset;
}

/// Finds the plan's states on this rank, values that pass from step to step, lifetimes,
/// and the parts of nodes that this rank computes.
egraph_status eg_rank_analyse(eg_rank_program *program);
/// Finds values that share memory, compiles programs, plans memory.
egraph_status eg_rank_compile(eg_rank_program *program);
/// Finds the steps that lend memory to other ranks, and those that wait until lent memory
/// was read; call it once memory is placed.
void eg_rank_find_loans(eg_rank_program *program);
/// Finds the exchange that must end before each step; call it once memory is placed.
egraph_status eg_rank_find_waits(eg_rank_program *program);
/// Allocates the memory of all values, and a buffer for inputs and outputs.
egraph_status eg_rank_place(eg_rank_program *program);
/// Computes constants, cuts out the rank's blocks, packs them; binds launches to memory.
egraph_status eg_rank_bind(eg_rank_program *program);
void eg_rank_unbind(eg_rank_program *program);
/// Puts "step 3, matmul 'fc1'" before the message of a failure.
egraph_status eg_rank_blame(const eg_rank_program *program, uint32_t step,
                            egraph_status status);

// ---- rank_values.c: values that enter and leave a rank ----------------------------

/// A range of bytes in the arena; begin == end: empty.
typedef struct eg_rank_span {
  size_t begin, end;
} eg_rank_span;

static inline eg_rank_span eg_rank_span_of(eg_rank_program *p, uint32_t region,
                                           size_t bytes) {
  if (region == EG_REGION_NONE) return (eg_rank_span){0};
  eg_region_place place = eg_regions_find(&p->regions, region);
  size_t begin = p->regions.data[place.root].offset + place.offset;
  return (eg_rank_span){begin, begin + bytes};
}
static inline eg_rank_span eg_rank_state_span(eg_rank_program *p, uint32_t state) {
  return eg_rank_span_of(p, p->states[state].region,
                         eg_type_bytes(&p->states[state].type));
}
static inline eg_rank_span eg_rank_scratch_span(eg_rank_program *p,
                                                const eg_rank_step *step) {
  return eg_rank_span_of(p, step->scratch_region, step->scratch_bytes);
}
static inline bool eg_rank_spans_meet(eg_rank_span a, eg_rank_span b) {
  return a.begin < b.end && b.begin < a.end;
}

/// Copies the rank's block of a global row-major tensor to `to`, in a state's type.
egraph_status eg_rank_store(eg_rank_program *program, uint32_t state,
                            const eg_tensor *tensor, void *to);
/// Find the host bytes needed to store a global tensor to a state, or to fetch it.
egraph_status eg_rank_room_in(const eg_rank_program *program, uint32_t state,
                              size_t *out);
egraph_status eg_rank_room_out(const eg_rank_program *program, uint32_t state,
                               size_t *out);

/// Do the work of the public functions of rank_program.h, but do not abort the channel
/// after a failure.
egraph_status eg_rank_load_carried(eg_rank_program *program);
egraph_status eg_rank_put_value(eg_rank_program *program, eg_value value,
                                const eg_tensor *tensor);
/// Reads the inputs of one micro-batch: [graph inputs].
egraph_status eg_rank_read_inputs(eg_rank_program *program, const eg_tensor *inputs);
egraph_status eg_rank_gather(eg_rank_program *program, uint32_t output,
                             const eg_tensor *out);
/// Fails unless a tensor has the type of an output, is row-major, and has data.
egraph_status eg_rank_check_output(const eg_rank_program *program, uint32_t output,
                                   const eg_tensor *tensor);

void eg_program_cache_init(eg_program_cache *cache, egraph_allocator alloc);
/// Destroys the compiled programs; before the back-end is destroyed.
void eg_program_cache_deinit(eg_program_cache *cache);
/// Finds or compiles the program of a request. The cache owns it.
egraph_status eg_program_cache_find(eg_program_cache *cache, eg_backend *backend,
                                    const eg_compile_request *request, eg_program **out);

#endif
