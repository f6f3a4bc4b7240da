// Runs files and whole folders through a fuzz target, for builds without libFuzzer; each
// file also cut short at several places, because truncation is what files suffer most.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

enum { CUTS = 16, MAX_BYTES = 1 << 24 };

// The input is a block of exactly its size, so that sanitizers see every read past the
// end.
static void run_bytes(const char *data, size_t size) {
  uint8_t *copy = malloc(size == 0 ? 1 : size);
  FUZZ_CHECK(copy != NULL);
  memcpy(copy, data, size);
  (void)LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

static int run_file(const char *path) {
  char *data;
  size_t size;
  if (eg_file_read(eg_allocator_heap(), path, MAX_BYTES, &data, &size) != EGRAPH_OK) {
    fprintf(stderr, "%s\n", egraph_last_error());
    return 1;
  }
  run_bytes(data, size);
  for (size_t cut = 0; cut < CUTS; cut++)
    run_bytes(data, size * cut / CUTS);
  eg_free(eg_allocator_heap(), data, size + 1, 1);
  return 0;
}

static int run_folder(const char *path, int *inout_count) {
  DIR *folder = opendir(path);
  if (folder == NULL) {
    fprintf(stderr, "%s: cannot be opened\n", path);
    return 1;
  }
  int bad = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char name[4096];
    (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    bad += run_file(name);
    ++*inout_count;
  }
  (void)closedir(folder);
  return bad;
}

int main(int argc, char **argv) {
  int count = 0, bad = 0;
  for (int i = 1; i < argc; i++) {
    struct stat info;
    if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode)) {
      bad += run_folder(argv[i], &count);
    } else {
      bad += run_file(argv[i]);
      count++;
    }
  }
  printf("%d inputs replayed\n", count);
  return bad == 0 && count != 0 ? 0 : 1;
}
