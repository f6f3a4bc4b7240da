// Explanations of graphs: any bytes are replayed or refused with a reason, and what can
// be read prints, and is read as the same. The input is the text of a graph, a line of
// three hyphens, the text of a result, another such line, and an explanation.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "onnx/onnx.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/replay/replay.h"
#include "tests/fuzz/fuzz.h"

static const char BORDER[] = "\n---\n";
enum { MAX_BYTES = 1 << 16 }; // of the data of a constant

typedef struct part {
  const char *text;
  size_t size;
} part;

/// Takes what stands before the next border from the front.
static part take_part(part *rest) {
  size_t length = sizeof BORDER - 1, size = 0;
  while (size < rest->size &&
         !(rest->size - size >= length && memcmp(rest->text + size, BORDER, length) == 0))
    size++;
  part found = {rest->text, size};
  size_t skip = size < rest->size ? size + length : size;
  *rest = (part){rest->text + skip, rest->size - skip};
  return found;
}

static const eg_rules *shipped(void) {
  static eg_rules *rules;
  if (rules != NULL) return rules;
  FUZZ_CHECK(eg_rules_create_checked(NULL, &rules) == EGRAPH_OK);
  FUZZ_CHECK(eg_rules_add_builtin(rules) == EGRAPH_OK);
  return rules;
}

static bool reads(part text, eg_explained *out) {
  FUZZ_CHECK(eg_explained_init(out, eg_allocator_heap()) == EGRAPH_OK);
  egraph_status status = eg_explained_parse(out, "e", text.text, text.size);
  if (status != EGRAPH_OK) fuzz_check_failure(status);
  return status == EGRAPH_OK;
}

static void check_round_trip(const eg_explained *explained) {
  eg_text first, second;
  eg_explained again;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  FUZZ_CHECK(eg_explained_print(explained, &first) == EGRAPH_OK);
  FUZZ_CHECK(reads((part){eg_text_of(&first), first.chars.len}, &again));
  FUZZ_CHECK(eg_explained_print(&again, &second) == EGRAPH_OK);
  FUZZ_CHECK(strcmp(eg_text_of(&first), eg_text_of(&second)) == 0);
  eg_explained_deinit(&again);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
}

static void replay(part given_text, part result_text, const eg_explained *explained) {
  eg_graph *given = NULL, *result = NULL;
  eg_replay_report report;
  if (eg_graph_parse(NULL, "g", given_text.text, given_text.size, &given) == EGRAPH_OK &&
      eg_graph_parse(NULL, "r", result_text.text, result_text.size, &result) ==
          EGRAPH_OK) {
    const eg_replay_input input = {.given = given,
                                   .result = result,
                                   .rules = shipped(),
                                   .explained = explained,
                                   .max_bytes = MAX_BYTES,
                                   .is_same_record = eg_onnx_is_same_record};
    egraph_status status = eg_replay(eg_allocator_heap(), &input, &report);
    if (status != EGRAPH_OK) fuzz_check_failure(status);
  }
  eg_graph_destroy(given);
  eg_graph_destroy(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  part rest = {(const char *)data, size};
  part given = take_part(&rest), result = take_part(&rest);
  eg_explained explained;
  if (reads(rest, &explained)) {
    check_round_trip(&explained);
    replay(given, result, &explained);
  }
  eg_explained_deinit(&explained);
  return 0;
}
