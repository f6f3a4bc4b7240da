// Which steps run as one. Steps of a chain follow each other but for views, and each
// value between them has one reader, so it needs no memory. The last step then does the
// work of all and has the operands of all; the others do nothing.
//
//   step 4   y = batch-normalization x s t m v        nothing
//   step 5   z = relu y                               z = relu(batch-normalization x ...)
//
// What the back-end fuses is a question to it (`fuses` of backend.h). Costs know nothing
// of it: the prediction of a chain is the sum of its nodes, which it does not exceed.
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_program_internal.h"

enum { MOST_LINKS = 8 };

typedef struct chain {
  uint32_t steps[MOST_LINKS + 1]; // in order
  eg_chain_link links[MOST_LINKS];
  uint32_t link_count;
} chain;

typedef struct finder {
  eg_rank_program *p;
  uint32_t *reads; // [states] how often steps and outputs read it
} finder;

static void count_reads(finder *f) {
  const eg_rank_program *p = f->p;
  for (uint32_t i = 0; i < p->steps.len; i++)
    for (uint32_t k = 0; k < p->steps.data[i].operand_count; k++)
      f->reads[p->steps.data[i].operands[k]]++;
  for (size_t i = 0; i < p->plan->output_states.len; i++)
    f->reads[p->plan->output_states.data[i]]++;
}

/// A node of one result, which runs on all of its operands as they are.
static bool is_plain_node(const finder *f, uint32_t index) {
  const eg_rank_program *p = f->p;
  const eg_rank_step *step = &p->steps.data[index];
  const eg_rank_part *part = &p->parts[index];
  return !step->is_view && !p->plan->steps.data[index].is_move &&
         part->spec.attrs != NULL && part->halo_count == 0 && step->result_count == 1 &&
         step->operand_count <= 64 &&
         p->states[step->results[0]].region != EG_REGION_NONE;
}

/// Whether a value is needed by its one reader only, and lies nowhere in particular.
static bool is_passed_on(const finder *f, uint32_t state) {
  const eg_rank_state *s = &f->p->states[state];
  return f->reads[state] == 1 && !s->is_carried && !s->is_placed &&
         s->carry == EG_PLAN_NONE;
}

/// The next step that does something; the number of steps: there is none.
static uint32_t next_step(const eg_rank_program *p, uint32_t index) {
  do
    index++;
  while (index < p->steps.len && p->steps.data[index].is_view);
  return index;
}

/// Adds the step behind the chain, if it can.
static bool extend(finder *f, chain *c) {
  const eg_rank_program *p = f->p;
  uint32_t last = c->steps[c->link_count], next = next_step(p, last), at = 0;
  uint32_t passed = p->steps.data[last].results[0];
  if (c->link_count == MOST_LINKS || next == p->steps.len || !is_passed_on(f, passed) ||
      !is_plain_node(f, next) ||
      p->plan->steps.data[next].phase != p->plan->steps.data[last].phase)
    return false;
  const eg_rank_step *step = &p->steps.data[next];
  while (at < step->operand_count && step->operands[at] != passed)
    at++;
  if (at == step->operand_count) return false;
  c->links[c->link_count] = (eg_chain_link){.spec = &p->parts[next].spec, .operand = at};
  eg_compile_request request = {.spec = &p->parts[c->steps[0]].spec,
                                .links = c->links,
                                .link_count = c->link_count + 1};
  if (!p->backend->vtable->fuses(p->backend, &request)) return false;
  c->steps[++c->link_count] = next;
  return true;
}

/// Operands stay until the last step, where they are read.
static void keep_operands(eg_rank_program *p, const eg_rank_step *step, uint32_t time) {
  for (uint32_t i = 0; i < step->operand_count; i++) {
    uint32_t region = p->states[step->operands[i]].region;
    if (region == EG_REGION_NONE) continue;
    eg_region *root = &p->regions.data[eg_regions_find(&p->regions, region).root];
    if (root->last < time) root->last = time;
  }
}

/// The operands of all steps but those that are passed on, in the order of the links.
static egraph_status list_operands(eg_rank_program *p, const chain *c, uint32_t **out,
                                   uint32_t *out_count) {
  uint32_t count = 0;
  for (uint32_t i = 0; i <= c->link_count; i++)
    count += p->steps.data[c->steps[i]].operand_count - (i != 0);
  EG_TRY(eg_arena_alloc(&p->arena, count, sizeof **out, out));
  *out_count = 0;
  for (uint32_t i = 0; i <= c->link_count; i++) {
    const eg_rank_step *step = &p->steps.data[c->steps[i]];
    for (uint32_t k = 0; k < step->operand_count; k++)
      if (i == 0 || k != c->links[i - 1].operand)
        (*out)[(*out_count)++] = step->operands[k];
  }
  return EGRAPH_OK;
}

static egraph_status join(eg_rank_program *p, const chain *c) {
  uint32_t last = c->steps[c->link_count], count, *operands;
  eg_chain_link *links;
  EG_TRY(list_operands(p, c, &operands, &count));
  EG_TRY(eg_arena_alloc(&p->part_arena, c->link_count, sizeof *links, &links));
  memcpy(links, c->links, c->link_count * sizeof *links);
  for (uint32_t i = 0; i < c->link_count; i++) {
    eg_rank_step *step = &p->steps.data[c->steps[i]];
    keep_operands(p, step, last + 1);
    p->regions.data[p->states[step->results[0]].region].bytes = 0;
    step->is_view = true;
    step->operand_count = step->result_count = 0;
    step->figures.kernel = "fused with the next";
  }
  eg_rank_step *step = &p->steps.data[last];
  step->operands = operands;
  step->operand_count = count;
  p->parts[last].first = &p->parts[c->steps[0]].spec;
  p->parts[last].links = links;
  p->parts[last].link_count = c->link_count;
  return EGRAPH_OK;
}

static egraph_status find_all(finder *f) {
  eg_rank_program *p = f->p;
  for (uint32_t i = 0; i < p->steps.len; i++) {
    chain c = {.steps = {i}};
    if (!is_plain_node(f, i)) continue;
    while (extend(f, &c))
      ;
    if (c.link_count != 0) EG_TRY(join(p, &c));
    i = c.steps[c.link_count]; // a chain that has its length goes into no other
  }
  return EGRAPH_OK;
}

egraph_status eg_rank_find_chains(eg_rank_program *p) {
  finder f = {.p = p};
  size_t states = p->plan->states.len;
  if (p->backend->vtable->fuses == NULL) return EGRAPH_OK;
  EG_TRY(eg_alloc(p->alloc, states, sizeof *f.reads, &f.reads));
  count_reads(&f);
  egraph_status status = find_all(&f);
  eg_free(p->alloc, f.reads, states, sizeof *f.reads);
  return status;
}
