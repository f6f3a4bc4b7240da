// Arrays in files of NumPy: bytes that NumPy wrote, our own, and damaged ones.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/file.h"
#include "pcg/graph/arrays.h"
#include "tests/testing.h"

// numpy.savez_compressed(x=numpy.arange(6, dtype='f4').reshape(2, 3), n=numpy.array(7),
// e=numpy.zeros((0, 4), 'i4'), t=numpy.array([True, False]))
static const unsigned char numpy_bytes[] = {
    80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   79,  233, 0,
    42,  255, 255, 255, 255, 255, 255, 255, 255, 5,   0,   20,  0,   120, 46,  110, 112,
    121, 1,   0,   16,  0,   152, 0,   0,   0,   0,   0,   0,   0,   85,  0,   0,   0,
    0,   0,   0,   0,   155, 236, 23,  234, 27,  16,  201, 200, 80,  198, 80,  173, 158,
    146, 90,  156, 92,  164, 110, 165, 160, 110, 147, 102, 162, 174, 163, 160, 158, 150,
    95,  84,  82,  148, 152, 23,  159, 95,  148, 146, 10,  18,  119, 75,  204, 41,  78,
    5,   138, 23,  103, 36,  22,  164, 2,   249, 26,  70,  58,  10,  198, 154, 58,  10,
    181, 10,  100, 3,   46,  6,   48,  104, 176, 7,   18,  14,  64,  4,   196, 13,  64,
    188, 192, 1,   0,   80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,
    0,   35,  184, 240, 108, 255, 255, 255, 255, 255, 255, 255, 255, 5,   0,   20,  0,
    110, 46,  110, 112, 121, 1,   0,   16,  0,   136, 0,   0,   0,   0,   0,   0,   0,
    70,  0,   0,   0,   0,   0,   0,   0,   155, 236, 23,  234, 27,  16,  201, 200, 80,
    198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165, 160, 110, 147, 105, 161, 174,
    163, 160, 158, 150, 95,  84,  82,  148, 152, 23,  159, 95,  148, 146, 10,  18,  119,
    75,  204, 41,  78,  5,   138, 23,  103, 36,  22,  164, 2,   249, 26,  154, 58,  10,
    181, 10,  20,  1,   46,  118, 6,   8,   0,   0,   80,  75,  3,   4,   45,  0,   0,
    0,   8,   0,   0,   0,   33,  0,   60,  121, 7,   215, 255, 255, 255, 255, 255, 255,
    255, 255, 5,   0,   20,  0,   101, 46,  110, 112, 121, 1,   0,   16,  0,   128, 0,
    0,   0,   0,   0,   0,   0,   70,  0,   0,   0,   0,   0,   0,   0,   155, 236, 23,
    234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165,
    160, 110, 147, 105, 162, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152, 23,  159,
    95,  148, 146, 10,  18,  119, 75,  204, 41,  78,  5,   138, 23,  103, 36,  22,  164,
    2,   249, 26,  6,   58,  10,  38,  154, 58,  10,  181, 10,  100, 3,   46,  0,   80,
    75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   238, 25,  187, 93,
    255, 255, 255, 255, 255, 255, 255, 255, 5,   0,   20,  0,   116, 46,  110, 112, 121,
    1,   0,   16,  0,   130, 0,   0,   0,   0,   0,   0,   0,   70,  0,   0,   0,   0,
    0,   0,   0,   155, 236, 23,  234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146,
    90,  156, 92,  164, 110, 165, 160, 94,  147, 100, 168, 174, 163, 160, 158, 150, 95,
    84,  82,  148, 152, 23,  159, 95,  148, 146, 10,  18,  119, 75,  204, 41,  78,  5,
    138, 23,  103, 36,  22,  164, 2,   249, 26,  70,  58,  154, 58,  10,  181, 10,  20,
    0,   46,  70,  6,   0,   80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,
    0,   0,   33,  0,   79,  233, 0,   42,  85,  0,   0,   0,   152, 0,   0,   0,   5,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   128, 1,   0,   0,   0,   0,
    120, 46,  110, 112, 121, 80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,
    0,   0,   33,  0,   35,  184, 240, 108, 70,  0,   0,   0,   136, 0,   0,   0,   5,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   128, 1,   140, 0,   0,   0,
    110, 46,  110, 112, 121, 80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,
    0,   0,   33,  0,   60,  121, 7,   215, 70,  0,   0,   0,   128, 0,   0,   0,   5,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   128, 1,   9,   1,   0,   0,
    101, 46,  110, 112, 121, 80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,
    0,   0,   33,  0,   238, 25,  187, 93,  70,  0,   0,   0,   130, 0,   0,   0,   5,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   128, 1,   134, 1,   0,   0,
    116, 46,  110, 112, 121, 80,  75,  5,   6,   0,   0,   0,   0,   4,   0,   4,   0,
    204, 0,   0,   0,   3,   2,   0,   0,   0,   0};

static egraph_status parse(egraph_allocator alloc, const void *data, size_t size) {
  eg_arrays arrays;
  eg_arrays_init(&arrays, alloc);
  egraph_status status = eg_arrays_parse(&arrays, "a.npz", data, size);
  eg_arrays_deinit(&arrays);
  return status;
}

static void arrays_of_numpy_are_read(void **state) {
  (void)state;
  eg_arrays arrays;
  eg_arrays_init(&arrays, eg_allocator_heap());
  assert_ok(eg_arrays_parse(&arrays, "a.npz", numpy_bytes, sizeof numpy_bytes));
  assert_int_equal(arrays.rows.len, 4);
  const eg_tensor *x = &eg_arrays_find(&arrays, "x")->tensor;
  assert_int_equal(x->type.dtype, EGRAPH_FLOAT32);
  assert_int_equal(x->type.rank, 2);
  assert_int_equal(x->type.dims[1], 3);
  for (int i = 0; i < 6; i++)
    assert_true(((const float *)x->data)[i] == (float)i);
  const eg_tensor *n = &eg_arrays_find(&arrays, "n")->tensor;
  assert_int_equal(n->type.dtype, EGRAPH_INT64);
  assert_int_equal(n->type.rank, 0);
  assert_int_equal(*(const int64_t *)n->data, 7);
  assert_int_equal(eg_type_elements(&eg_arrays_find(&arrays, "e")->tensor.type), 0);
  const eg_tensor *t = &eg_arrays_find(&arrays, "t")->tensor;
  assert_int_equal(t->type.dtype, EGRAPH_BOOL);
  assert_memory_equal(t->data, "\1\0", 2);
  assert_null(eg_arrays_find(&arrays, "y"));
  eg_arrays_deinit(&arrays);
}

// ---- our own --------------------------------------------------------------------

static void add_all_types(eg_arrays *arrays) {
  unsigned char bytes[6 * 8];
  const int64_t dims[] = {2, 3};
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char)(37 * i + 11);
  for (int d = 0; d < EGRAPH_DTYPE_COUNT; d++) {
    eg_type type = eg_type_of((egraph_dtype)d, 2, dims);
    static const unsigned char bools[6] = {1, 0, 0, 1, 1, 0};
    assert_ok(eg_arrays_add(arrays, eg_dtype_name((egraph_dtype)d), &type,
                            d == EGRAPH_BOOL ? bools : bytes));
  }
  eg_type scalar = {.dtype = EGRAPH_INT64};
  assert_ok(eg_arrays_add(arrays, "a.b/c", &scalar, NULL));
}

static void what_is_written_is_read_again(void **state) {
  (void)state;
  static const char path[] = "test_arrays.npz", again[] = "test_arrays_again.npz";
  eg_arrays arrays, read;
  eg_arrays_init(&arrays, eg_allocator_heap());
  eg_arrays_init(&read, eg_allocator_heap());
  add_all_types(&arrays);
  assert_fails(eg_arrays_add(&arrays, "a.b/c", &arrays.rows.data[0].tensor.type, NULL),
               EGRAPH_E_ARGUMENT, "two arrays of the name 'a.b/c'");
  assert_ok(eg_arrays_write(&arrays, path));
  assert_ok(eg_arrays_read(&read, path));
  assert_int_equal(read.rows.len, arrays.rows.len);
  for (size_t i = 0; i < read.rows.len; i++) {
    const eg_array *a = &arrays.rows.data[i], *b = &read.rows.data[i];
    assert_string_equal(a->name, b->name);
    assert_true(eg_type_same(&a->tensor.type, &b->tensor.type));
    assert_memory_equal(a->tensor.data, b->tensor.data, eg_type_bytes(&a->tensor.type));
  }
  assert_ok(eg_arrays_write(&read, again));
  char *first, *second;
  size_t size, other;
  assert_ok(eg_file_read(eg_allocator_heap(), path, 1 << 20, &first, &size));
  assert_ok(eg_file_read(eg_allocator_heap(), again, 1 << 20, &second, &other));
  assert_int_equal(size, other);
  assert_memory_equal(first, second, size);
  // Every prefix and every changed byte is read or refused, and never more than that.
  for (size_t length = 0; length < size; length += 7)
    assert_int_not_equal(parse(eg_allocator_heap(), first, length), EGRAPH_OK);
  for (size_t i = 0; i < size; i++) {
    first[i] = (char)(first[i] ^ 0x41);
    (void)!parse(eg_allocator_heap(), first, size);
    first[i] = (char)(first[i] ^ 0x41);
  }
  eg_free(eg_allocator_heap(), first, size + 1, 1);
  eg_free(eg_allocator_heap(), second, other + 1, 1);
  eg_arrays_deinit(&read);
  eg_arrays_deinit(&arrays);
  (void)unlink(path);
  (void)unlink(again);
}

// ---- damaged ones ---------------------------------------------------------------

/// One entry "x.npy" with this head, and 8 bytes.
static void write_archive(const char *head, size_t size, eg_chars *out) {
  unsigned char entry[256] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  entry[8] = (unsigned char)size;
  memcpy(entry + 10, head, size);
  uint32_t packed = (uint32_t)(10 + size + 8);
  // By hand, so that a reader is not only tested with our writer: sizes of 4 bytes, and a
  // checksum that is computed bit by bit.
  uint32_t sum = UINT32_MAX;
  for (uint32_t i = 0; i < packed; i++) {
    sum ^= entry[i];
    for (int b = 0; b < 8; b++)
      sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
  }
  sum = ~sum;
  uint32_t local[] = {0x04034b50, 20, 0, 0, 0, 0, 0, 0};
  unsigned char bytes[30] = {0}, row[46] = {0}, end[22] = {0};
  memcpy(bytes, local, 4);
  memcpy(bytes + 14, &sum, 4);
  memcpy(bytes + 18, &packed, 4);
  memcpy(bytes + 22, &packed, 4);
  bytes[26] = 5;
  memcpy(row, "PK\1\2", 4);
  memcpy(row + 16, &sum, 4);
  memcpy(row + 20, &packed, 4);
  memcpy(row + 24, &packed, 4);
  row[28] = 5;
  uint32_t directory = 30 + 5 + packed, length = 46 + 5;
  memcpy(end, "PK\5\6", 4);
  end[8] = end[10] = 1;
  memcpy(end + 12, &length, 4);
  memcpy(end + 16, &directory, 4);
  assert_ok(eg_chars_append(out, (const char *)bytes, sizeof bytes));
  assert_ok(eg_chars_append(out, "x.npy", 5));
  assert_ok(eg_chars_append(out, (const char *)entry, packed));
  assert_ok(eg_chars_append(out, (const char *)row, sizeof row));
  assert_ok(eg_chars_append(out, "x.npy", 5));
  assert_ok(eg_chars_append(out, (const char *)end, sizeof end));
}

static void heads_are_checked(void **state) {
  (void)state;
#define HEAD(type, order, shape)                                                         \
  "{'descr': " type ", 'fortran_order': " order ", 'shape': " shape ", }\n"
  static const struct {
    const char *head, *message;
  } rows[] = {
      {HEAD("'<f4'", "False", "(2,)"), NULL},
      {HEAD("'<f8'", "False", "()"), NULL},
      {"{'shape': (1, 2), 'descr': '<f4', 'fortran_order': False}\n", NULL},
      {HEAD("'<f4'", "True", "(2,)"), "write numpy.ascontiguousarray of it"},
      {HEAD("'>f4'", "False", "(2,)"), "elements of type '>f4'; convert it, with astype"},
      {HEAD("'<U2'", "False", "(1,)"), "elements of type '<U2'"},
      {HEAD("[('a', '<f4')]", "False", "(2,)"), "elements of type [("},
      {HEAD("'<f4'", "False", "(3,)"), "more or fewer elements than its shape says"},
      {HEAD("'<f4'", "False", "(-2,)"), "its shape is damaged"},
      {HEAD("'<f4'", "False", "(2"), "its shape is damaged"},
      {HEAD("'<f4'", "False", "(99999999999999999999,)"), "a dimension is too large"},
      {HEAD("'<f4'", "False", "(4294967296, 4294967296, 4294967296)"),
       "its shape is too large"},
      {HEAD("'<f4'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,2)"), "more dimensions"},
      {HEAD("'<f4'", "False", "2"), "its head has no shape"},
      {"{'descr': '<f4', 'shape': (2,)}\n", "lacks type, order or shape"},
      {"{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}\n", "its head is damaged"},
      {"{'descr': '<f4'", "its head is damaged"},
      {"", "its head is damaged"},
  };
#undef HEAD
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    eg_chars archive;
    eg_chars_init(&archive, eg_allocator_heap());
    write_archive(rows[i].head, strlen(rows[i].head), &archive);
    egraph_status status = parse(eg_allocator_heap(), archive.data, archive.len);
    if (rows[i].message == NULL)
      assert_ok(status);
    else
      assert_fails(status, EGRAPH_E_PARSE, rows[i].message);
    eg_chars_deinit(&archive);
  }
}

static void archives_are_checked(void **state) {
  (void)state;
  unsigned char bytes[sizeof numpy_bytes];
  assert_fails(parse(eg_allocator_heap(), "PK", 2), EGRAPH_E_PARSE, "is no zip archive");
  memcpy(bytes, numpy_bytes, sizeof bytes);
  bytes[60] ^= 1; // of the deflated data of x
  assert_fails(parse(eg_allocator_heap(), bytes, sizeof bytes), EGRAPH_E_PARSE,
               "the data of an entry is damaged");
  eg_arrays arrays;
  eg_arrays_init(&arrays, eg_allocator_heap());
  assert_fails(eg_arrays_read(&arrays, "nowhere.npz"), EGRAPH_E_IO, "nowhere.npz");
  eg_arrays_deinit(&arrays);
}

static egraph_status parse_numpy(egraph_allocator alloc, void *user) {
  (void)user;
  return parse(alloc, numpy_bytes, sizeof numpy_bytes);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(parse_numpy, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_of_numpy_are_read),
      cmocka_unit_test(what_is_written_is_read_again),
      cmocka_unit_test(heads_are_checked),
      cmocka_unit_test(archives_are_checked),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
