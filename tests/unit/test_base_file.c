// Unit tests of base/file: reading of anything, writing that is never half done.
// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/testing.h"

static char folder[] = "/tmp/egraph-file-XXXXXX";
static char path[200], link_path[200];

static int make_folder(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  (void)snprintf(path, sizeof path, "%s/data", folder);
  (void)snprintf(link_path, sizeof link_path, "%s/link", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  (void)unlink(path);
  (void)unlink(link_path);
  return rmdir(folder); // fails when a test left a temporary file behind
}

static void assert_content(const char *file, const void *data, size_t size) {
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  char *read;
  size_t read_size;
  assert_ok(eg_file_read(alloc, file, 1 << 20, &read, &read_size));
  assert_int_equal(read_size, size);
  assert_memory_equal(read, data, size);
  assert_int_equal(read[size], '\0');
  eg_free(alloc, read, read_size + 1, 1);
  assert_int_equal(heap.live_bytes, 0);
}

static void bytes_written_are_read_back_nul_included(void **state) {
  (void)state;
  assert_ok(eg_file_write(path, "a\0b\n", 4));
  assert_content(path, "a\0b\n", 4);
  assert_ok(eg_file_write(path, NULL, 0));
  assert_content(path, "", 0);
  static char large[300000];
  memset(large, 'x', sizeof large);
  assert_ok(eg_file_write(path, large, sizeof large));
  assert_content(path, large, sizeof large);
}

static void replacing_keeps_links_and_permissions(void **state) {
  (void)state;
  struct stat info;
  assert_ok(eg_file_write(path, "old", 3));
  assert_int_equal(chmod(path, 0751), 0);
  assert_int_equal(symlink("data", link_path), 0);
  assert_ok(eg_file_write(link_path, "new", 3));
  assert_content(path, "new", 3);
  assert_int_equal(lstat(link_path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0751);
}

static void unreadable_paths_are_named(void **state) {
  (void)state;
  char *data = NULL;
  size_t size = 5;
  egraph_allocator alloc = eg_allocator_heap();
  assert_fails(eg_file_read(alloc, "/nowhere/x", 10, &data, &size), EGRAPH_E_IO,
               "/nowhere/x: No such file");
  assert_fails(eg_file_read(alloc, folder, 10, &data, &size), EGRAPH_E_IO,
               "not a regular file");
  assert_fails(eg_file_read(alloc, "/dev/zero", 10, &data, &size), EGRAPH_E_IO,
               "not a regular file");
  assert_ok(eg_file_write(path, "12345", 5));
  assert_fails(eg_file_read(alloc, path, 4, &data, &size), EGRAPH_E_IO,
               "5 bytes is more than the limit of 4");
  assert_null(data);
  assert_int_equal(size, 5);
}

static void a_pipe_is_refused_without_waiting(void **state) {
  (void)state;
  (void)unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  char *data;
  size_t size;
  assert_fails(eg_file_read(eg_allocator_heap(), path, 10, &data, &size), EGRAPH_E_IO,
               "not a regular file");
  assert_int_equal(unlink(path), 0);
}

static void files_that_claim_to_be_empty_are_read_to_the_end(void **state) {
  (void)state;
  char *data;
  size_t size;
  if (access("/proc/self/status", R_OK) != 0) skip();
  assert_ok(
      eg_file_read(eg_allocator_heap(), "/proc/self/status", 1 << 20, &data, &size));
  assert_true(size > 100);
  assert_non_null(strstr(data, "Pid:"));
  eg_free(eg_allocator_heap(), data, size + 1, 1);
  assert_fails(eg_file_read(eg_allocator_heap(), "/proc/self/status", 20, &data, &size),
               EGRAPH_E_IO, "more than the limit of 20");
}

static void a_failed_write_leaves_the_old_file(void **state) {
  (void)state;
  assert_fails(eg_file_write("/nowhere/x", "a", 1), EGRAPH_E_IO,
               "/nowhere/x: cannot be written");
  assert_fails(eg_file_write(folder, "a", 1), EGRAPH_E_IO, "directory");
  if (access("/dev/full", W_OK) == 0)
    assert_fails(eg_file_write("/dev/full", "a", 1), EGRAPH_E_IO, "No space");
  // The name fits, but the temporary one does not.
  char long_path[PATH_MAX + 2] = {0};
  while (strlen(long_path) < PATH_MAX - 5)
    strcat(long_path, "./");
  assert_int_equal(eg_file_write(long_path, "a", 1), EGRAPH_E_IO);
  memset(long_path, 'x', 900);
  long_path[900] = '\0';
  assert_fails(eg_file_write(long_path, "a", 1), EGRAPH_E_IO, "too long");
}

static void a_device_is_written_and_stays_a_device(void **state) {
  (void)state;
  assert_ok(eg_file_write("/dev/null", "a", 1));
  struct stat info;
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
}

// A child rewrites the file without pause and is killed; the file must be whole each
// time.
static void a_killed_writer_leaves_a_whole_file(void **state) {
  (void)state;
  enum { SIZE = 200000 };
  static char content[SIZE];
  memset(content, 'a', SIZE);
  assert_ok(eg_file_write(path, content, SIZE));
  for (int round = 0; round < 8; round++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
      for (char fill = 'b';; fill = fill == 'z' ? 'b' : (char)(fill + 1)) {
        memset(content, fill, SIZE);
        if (eg_file_write(path, content, SIZE) != EGRAPH_OK) _exit(1);
      }
    (void)nanosleep(&(struct timespec){.tv_nsec = 7000000 + 1000000 * round}, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    char *data;
    size_t size;
    assert_ok(eg_file_read(eg_allocator_heap(), path, SIZE, &data, &size));
    assert_int_equal(size, SIZE);
    for (size_t i = 1; i < SIZE; i++)
      assert_int_equal(data[i], data[0]);
    eg_free(eg_allocator_heap(), data, size + 1, 1);
  }
  // A killed writer may leave its temporary file; nothing else.
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strstr(entry->d_name, ".tmp") == NULL) continue;
    char stale[600];
    (void)snprintf(stale, sizeof stale, "%s/%s", folder, entry->d_name);
    assert_int_equal(unlink(stale), 0);
  }
  (void)closedir(directory);
}

static egraph_status read_once(egraph_allocator alloc, void *user) {
  char *data;
  size_t size;
  EG_TRY(eg_file_read(alloc, user, 1000, &data, &size));
  eg_free(alloc, data, size + 1, 1);
  return EGRAPH_OK;
}

static void reading_survives_each_allocation_failing(void **state) {
  (void)state;
  assert_ok(eg_file_write(path, "12345", 5));
  test_every_allocation_failing(read_once, path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_written_are_read_back_nul_included),
      cmocka_unit_test(replacing_keeps_links_and_permissions),
      cmocka_unit_test(unreadable_paths_are_named),
      cmocka_unit_test(a_pipe_is_refused_without_waiting),
      cmocka_unit_test(files_that_claim_to_be_empty_are_read_to_the_end),
      cmocka_unit_test(a_failed_write_leaves_the_old_file),
      cmocka_unit_test(a_device_is_written_and_stays_a_device),
      cmocka_unit_test(a_killed_writer_leaves_a_whole_file),
      cmocka_unit_test(reading_survives_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
