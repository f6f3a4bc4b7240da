// Readers of files: any bytes in a file are read plain or unpacked, piece by piece, or
// are refused with a reason; they are a profile database or are refused; and as the
// description of external data (offset, size, location) they give bytes of a file in the
// model's folder or an error.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <unistd.h>

#include "base/gzip.h"
#include "onnx/tensor.h"
#include "sim/profile_db.h"
#include "tests/fuzz/fuzz.h"

enum { PIECE = 97, MOST_PIECES = 4096 };

static char folder[] = "/tmp/egraph-fuzz-XXXXXX", path[64], data_path[64];
static const char contents[] = "0123456789abcdef";

static void write_file(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(name, "wb");
  FUZZ_CHECK(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static void remove_files(void) {
  (void)unlink(path);
  (void)unlink(data_path);
  (void)rmdir(folder);
}

static void set_up(void) {
  if (path[0] != '\0') return;
  FUZZ_CHECK(mkdtemp(folder) != NULL);
  (void)snprintf(path, sizeof path, "%s/f", folder);
  (void)snprintf(data_path, sizeof data_path, "%s/weights.data", folder);
  write_file(data_path, contents, sizeof contents - 1);
  FUZZ_CHECK(atexit(remove_files) == 0);
}

static void try_gzip(const uint8_t *data, size_t size) {
  eg_gzip file;
  char piece[PIECE];
  size_t got = 1, all = 0;
  FUZZ_CHECK(eg_gzip_open(path, &file) == EGRAPH_OK);
  egraph_status status = EGRAPH_OK;
  for (int i = 0; i < MOST_PIECES && got != 0 && status == EGRAPH_OK; i++) {
    status = eg_gzip_read(&file, piece, sizeof piece, &got);
    if (status != EGRAPH_OK) break;
    FUZZ_CHECK(got <= sizeof piece);
    bool is_plain = size < 2 || data[0] != 0x1f || data[1] != 0x8b;
    if (is_plain) FUZZ_CHECK(all + got <= size && memcmp(piece, data + all, got) == 0);
    all += got;
  }
  if (status != EGRAPH_OK) fuzz_check_failure(status);
  eg_gzip_close(&file);
  if (size > 0) (void)eg_inflate(data + 1, size - 1, piece, data[0] % sizeof piece);
}

static egraph_status see(void *user, const eg_profile_entry *entry) {
  *(size_t *)user += strlen(entry->spec) + strlen(entry->op);
  return EGRAPH_OK;
}

static void try_database(void) {
  eg_profile_db_options options = {.path = path, .read_only = true, .busy_seconds = 0};
  eg_profile_db *db;
  size_t letters = 0;
  egraph_status status = eg_profile_db_create(NULL, &options, &db);
  if (status == EGRAPH_OK) {
    status = eg_profile_db_load(db, "m", see, &letters);
    if (status != EGRAPH_OK) fuzz_check_failure(status);
    eg_profile_db_destroy(db);
  } else {
    fuzz_check_failure(status);
  }
}

static void try_external(const uint8_t *data, size_t size) {
  char location[256];
  eg_buffer *buffer = NULL;
  if (size < 3) return;
  size_t length = size - 2 < sizeof location ? size - 2 : sizeof location - 1;
  uint64_t offset = data[0] < 200 ? data[0] % 32 : UINT64_MAX - data[0];
  size_t wanted = data[1] < 200 ? data[1] % 32 : SIZE_MAX - data[1];
  memcpy(location, data + 2, length);
  location[length] = '\0';
  egraph_status status = eg_onnx_external_map(eg_allocator_heap(), folder, location,
                                              offset, wanted, &buffer);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return;
  }
  if (buffer == NULL) return;
  bool is_data = strstr(location, "weights.data") != NULL;
  FUZZ_CHECK(eg_buffer_size(buffer) == wanted);
  if (is_data) {
    FUZZ_CHECK(offset + wanted <= sizeof contents - 1);
    FUZZ_CHECK(memcmp(eg_buffer_data(buffer), contents + offset, wanted) == 0);
  }
  eg_buffer_release(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  set_up();
  write_file(path, data, size);
  try_gzip(data, size);
  try_database();
  try_external(data, size);
  return 0;
}
