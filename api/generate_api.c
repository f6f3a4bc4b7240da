// Public functions of generated rules.
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"
#include "base/text.h"
#include "rewrites/lab/generate/generate.h"

static egraph_generate_report report_of(const eg_generate_report *from) {
  egraph_generate_report to = {.pairs = from->sieve.pairs,
                               .accidents = from->sieve.accidents,
                               .instances = from->sieve.generalized,
                               .repeated = from->sieve.repeated,
                               .candidates = from->candidates,
                               .judged = from->judged,
                               .implied = from->implied,
                               .refused = from->refused,
                               .unsound = from->unsound,
                               .minimized = from->minimized,
                               .merged = from->merged,
                               .rules = from->kept,
                               .both_ways = from->turned,
                               .enumerate_seconds = from->enumerate_seconds,
                               .sift_seconds = from->sift_seconds,
                               .judge_seconds = from->judge_seconds,
                               .is_complete = from->is_complete};
  for (uint32_t i = 0; i < EG_TERM_MAX_SIZE; i++) {
    const eg_enumeration_counts *size = &from->sizes[i];
    to.terms += size->terms;
    to.values += size->distinct;
    if (size->passes > to.passes) to.passes = size->passes;
    if (size->peak_bytes > to.peak_bytes) to.peak_bytes = size->peak_bytes;
  }
  return to;
}

egraph_status egraph_rules_generate(const egraph_allocator *alloc,
                                    const egraph_generate_options *options, char **out,
                                    egraph_generate_report *out_report) {
  EG_REQUIRE(options, out, out_report);
  egraph_generate_options own;
  EG_TRY(eg_options_take(EGRAPH_GENERATE_OPTIONS, options, &own));
  if (own.family == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "egraph_rules_generate: no family is named; see "
                                      "egraph_families_text");
  const eg_generate_options inner = {.family = own.family,
                                     .operators = own.operators,
                                     .seed = own.seed,
                                     .threads = own.threads,
                                     .byte_limit = own.byte_limit,
                                     .candidates = own.candidates,
                                     .is_alone = own.alone,
                                     .state = own.state,
                                     .beside = own.beside,
                                     .beside_count = own.beside_count,
                                     .progress = own.progress,
                                     .user = own.user};
  eg_generate_report report;
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  egraph_status status = eg_rules_generate(alloc, &inner, &text, &report);
  *out_report = report_of(&report);
  return status == EGRAPH_OK ? eg_text_take(&text, out) : status;
}

static egraph_status tell_family(void *user, const eg_family *family) {
  return eg_text_printf(user, "%-16s %4u templates, %2u inputs  %s\n", family->name,
                        (unsigned)family->template_count, (unsigned)family->leaf_count,
                        family->about);
}

egraph_status egraph_families_text(const egraph_allocator *alloc, char **out) {
  EG_REQUIRE(out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  EG_LOCAL(eg_arena, arena, eg_allocator_or_heap(alloc));
  EG_TRY(eg_families_read_builtin(&arena, tell_family, &text));
  return eg_text_take(&text, out);
}
