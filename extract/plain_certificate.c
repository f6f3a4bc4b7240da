// SPDX-License-Identifier: Apache-2.0
#include "extract/plain_certificate.h"

#include <math.h>

#include "extract/branch.h"
#include "extract/plain_proof.h"

// What a claim is below what the search proves with: room for directed rounding. The
// solver's own tolerance is 1e-9.
static const double CLAIM_ROOM = 1e-9;

typedef struct writer {
  egraph_allocator alloc;
  const eg_extract_problem *problem;
  const eg_extract_options *options;
  eg_extract_result *result;
  double unit;
  eg_plain_proof proof;
} writer;

static bool has_negative_cost(const eg_extract_problem *problem) {
  for (size_t n = 0; n < problem->cost.len; n++)
    if (problem->cost.data[n] < 0) return true;
  return false;
}

// A sum without rows: the least node of each class, if that is negative.
static egraph_status prove_signs(writer *w) {
  EG_TRY(eg_plain_proof_begin(&w->proof));
  return eg_plain_proof_end(&w->proof);
}

static egraph_status search(writer *w, eg_incumbent *incumbent) {
  eg_search search;
  bool closed;
  egraph_status status = eg_search_init(&search, w->alloc, incumbent, w->proof.target);
  if (status == EGRAPH_OK) status = eg_branch_run(&search, &closed);
  eg_search_deinit(&search);
  return status;
}

// Pieces are not searched for themselves; tree_limit says so.
static egraph_status prove(writer *w) {
  if (has_negative_cost(w->problem)) return prove_signs(w);
  eg_extract_options options = *w->options;
  options.relative_gap = 0;
  options.progress = NULL;
  options.incumbent = NULL;
  options.disabled_passes |= UINT32_C(1) << EG_PASS_COLLAPSE |
                             UINT32_C(1) << EG_PASS_MERGE | UINT32_C(1) << EG_PASS_BOUND;
  eg_incumbent incumbent;
  double cost;
  EG_TRY(eg_incumbent_init(&incumbent, w->alloc, w->problem, &options));
  incumbent.proof = &w->proof;
  incumbent.tree_limit = UINT32_MAX;
  egraph_status status = eg_incumbent_offer(&incumbent, w->result->choice.data, &cost);
  if (status == EGRAPH_OK) status = search(w, &incumbent);
  eg_incumbent_deinit(&incumbent);
  return status;
}

// The largest bound that the text proves: all of it, or the best sum before any split.
static double claim(writer *w) {
  eg_plain_proof *proof = &w->proof;
  double bound = w->result->bound;
  if (!proof->done || proof->failed) {
    if (w->unit > 0)
      bound = fmin(bound, ceil(proof->best / w->unit - 1e-6) * w->unit);
    else
      bound = fmin(bound, proof->best);
    proof->file.text.len = proof->best_end;
    if (isfinite(bound)) proof->closed = true;
  }
  return w->unit > 0 ? bound : bound - 2 * CLAIM_ROOM * fabs(bound);
}

static egraph_status write_claims(writer *w, eg_certificate_file *out, double bound) {
  const eg_extract_problem *problem = w->problem;
  const eg_u32s *choice = &w->result->choice;
  uint32_t count = 0;
  EG_TRY(eg_certificate_word(out, "cost"));
  EG_TRY(eg_certificate_double(out, w->result->cost));
  EG_TRY(eg_certificate_end_line(out));
  for (uint32_t class = 0; class < problem->class_count; class ++)
    count += choice->data[class] != EG_EXTRACT_NONE;
  EG_TRY(eg_certificate_word(out, "choice"));
  EG_TRY(eg_certificate_int(out, count));
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (choice->data[class] != EG_EXTRACT_NONE)
      EG_TRY(eg_certificate_int(out, choice->data[class]));
  EG_TRY(eg_certificate_end_line(out));
  EG_TRY(eg_certificate_word(out, "bound"));
  EG_TRY(eg_certificate_double(out, bound));
  return eg_certificate_end_line(out);
}

static egraph_status write_head(writer *w, eg_certificate_file *out) {
  const eg_extract_problem *problem = w->problem;
  uint32_t roots = 0;
  for (size_t class = 0; class < w->proof.needed_at.len; class ++)
    roots += w->proof.needed_at.data[class] == 1;
  EG_TRY(eg_certificate_begin(out, "plain"));
  EG_TRY(eg_certificate_word(out, "problem"));
  EG_TRY(eg_certificate_int(out, eg_extract_node_count(problem)));
  EG_TRY(eg_certificate_int(out, problem->class_count));
  EG_TRY(eg_certificate_int(out, roots));
  EG_TRY(eg_certificate_end_line(out));
  EG_TRY(eg_certificate_word(out, "status"));
  bool solved = w->result->status != EG_EXTRACT_INFEASIBLE;
  EG_TRY(eg_certificate_word(out, solved ? "solved" : "infeasible"));
  return eg_certificate_end_line(out);
}

static egraph_status write(writer *w, eg_certificate_file *out) {
  EG_TRY(write_head(w, out));
  if (w->result->status == EG_EXTRACT_INFEASIBLE) {
    w->result->certified = INFINITY;
    return EGRAPH_OK;
  }
  EG_TRY(prove(w));
  bool whole = w->proof.done && !w->proof.failed;
  double bound = claim(w);
  EG_TRY(write_claims(w, out, bound));
  EG_TRY(eg_chars_append(&out->text, w->proof.file.text.data, w->proof.file.text.len));
  if (!whole) {
    EG_TRY(eg_certificate_word(out, "closed"));
    EG_TRY(eg_certificate_end_line(out));
  }
  w->result->certified = bound;
  return EGRAPH_OK;
}

egraph_status eg_plain_certificate_make(egraph_allocator alloc,
                                        const eg_extract_problem *problem,
                                        const eg_extract_options *options,
                                        eg_extract_result *result,
                                        eg_certificate_file *out) {
  writer w = {.alloc = alloc, .problem = problem, .options = options, .result = result};
  eg_incumbent incumbent;
  EG_TRY(eg_incumbent_init(&incumbent, alloc, problem, options));
  w.unit = incumbent.unit;
  eg_incumbent_deinit(&incumbent);
  double bound = result->bound;
  double room = w.unit > 0 ? w.unit * (1 - 1e-6) : CLAIM_ROOM * fabs(bound);
  egraph_status status = eg_plain_proof_init(&w.proof, alloc, problem, bound - room);
  if (status == EGRAPH_OK) status = write(&w, out);
  eg_plain_proof_deinit(&w.proof);
  return status;
}

egraph_status eg_plain_certificate_write(egraph_allocator alloc,
                                         const eg_extract_problem *problem,
                                         const eg_extract_options *options,
                                         eg_extract_result *result) {
  eg_certificate_file out;
  eg_certificate_init(&out, alloc);
  egraph_status status = eg_plain_certificate_make(alloc, problem, options, result, &out);
  if (status == EGRAPH_OK) status = eg_certificate_save(&out, options->certificate);
  eg_certificate_deinit(&out);
  return status;
}
