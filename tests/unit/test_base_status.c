// Unit tests of base/status: messages, context, truncation, threads.
// SPDX-License-Identifier: Apache-2.0
#include <threads.h>

#include "base/status.h"
#include "tests/testing.h"

static void every_code_has_its_name(void **state) {
  (void)state;
#define CHECK_NAME(id, text) assert_string_equal(egraph_status_name(id), text);
  EGRAPH_STATUS_LIST(CHECK_NAME)
#undef CHECK_NAME
  assert_string_equal(egraph_status_name((egraph_status)99), "unknown status");
}

static void a_failure_keeps_its_message_and_code(void **state) {
  (void)state;
  assert_int_equal(EG_FAIL(EGRAPH_E_TYPE, "conv: %d channels", 3), EGRAPH_E_TYPE);
  assert_string_equal(egraph_last_error(), "conv: 3 channels");
}

static void context_goes_in_front(void **state) {
  (void)state;
  egraph_status status = EG_FAIL(EGRAPH_E_PARSE, "no 'x'");
  assert_int_equal(eg_fail_context(status, "while loading %s", "a.onnx"), EGRAPH_E_PARSE);
  assert_string_equal(egraph_last_error(), "while loading a.onnx: no 'x'");
}

static void a_message_may_quote_the_one_before(void **state) {
  (void)state;
  (void)EG_FAIL(EGRAPH_E_IO, "disk full");
  (void)EG_FAIL(EGRAPH_E_IO, "a.db: %s; make room", egraph_last_error());
  assert_string_equal(egraph_last_error(), "a.db: disk full; make room");
  (void)eg_fail_context(EGRAPH_E_IO, "<%s>", egraph_last_error());
  assert_string_equal(egraph_last_error(),
                      "<a.db: disk full; make room>: a.db: disk full; make room");
}

static void long_messages_are_cut(void **state) {
  (void)state;
  char text[5000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  (void)EG_FAIL(EGRAPH_E_PARSE, "%s", text);
  assert_int_equal(strlen(egraph_last_error()), 1023);
  (void)eg_fail_context(EGRAPH_E_PARSE, "y");
  assert_int_equal(strlen(egraph_last_error()), 1023);
  assert_memory_equal(egraph_last_error(), "y: xxx", 6);
  (void)eg_fail_context(EGRAPH_E_PARSE, "%s", text);
  assert_int_equal(strlen(egraph_last_error()), 1023);
}

static egraph_status fails_below(bool fail) {
  EG_TRY(fail ? EG_FAIL(EGRAPH_E_BUSY, "busy") : EGRAPH_OK);
  return EGRAPH_OK;
}

static egraph_status cleans_up(bool fail, bool *cleaned) {
  egraph_status status;
  EG_TRY_GOTO(status, fails_below(fail), done);
  return status;
done:
  *cleaned = true;
  return status;
}

static void try_passes_failures_up(void **state) {
  (void)state;
  bool cleaned = false;
  assert_ok(cleans_up(false, &cleaned));
  assert_false(cleaned);
  assert_int_equal(cleans_up(true, &cleaned), EGRAPH_E_BUSY);
  assert_true(cleaned);
}

static int fail_elsewhere(void *user) {
  (void)user;
  return (int)EG_FAIL(EGRAPH_E_IO, "other thread");
}

static void each_thread_has_its_own_message(void **state) {
  (void)state;
  (void)EG_FAIL(EGRAPH_E_IO, "this thread");
  thrd_t thread;
  int code;
  assert_int_equal(thrd_create(&thread, fail_elsewhere, NULL), thrd_success);
  assert_int_equal(thrd_join(thread, &code), thrd_success);
  assert_int_equal(code, EGRAPH_E_IO);
  assert_string_equal(egraph_last_error(), "this thread");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_code_has_its_name),
      cmocka_unit_test(a_failure_keeps_its_message_and_code),
      cmocka_unit_test(context_goes_in_front),
      cmocka_unit_test(a_message_may_quote_the_one_before),
      cmocka_unit_test(long_messages_are_cut),
      cmocka_unit_test(try_passes_failures_up),
      cmocka_unit_test(each_thread_has_its_own_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
