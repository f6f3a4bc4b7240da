// SPDX-License-Identifier: Apache-2.0
#include "base/json_fields.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void eg_json_fields_init(eg_json_fields_reader *reader, egraph_allocator alloc,
                         eg_json_scan *scan, eg_arena *arena) {
  *reader = (eg_json_fields_reader){.scan = scan, .arena = arena};
  eg_chars_init(&reader->scratch, alloc);
}

void eg_json_fields_deinit(eg_json_fields_reader *reader) {
  eg_chars_deinit(&reader->scratch);
}

static void go_down(eg_json_fields_reader *reader, const char *key, size_t index) {
  assert(reader->depth < EG_JSON_FIELDS_DEPTH && "tables of fields are not deep");
  reader->path[reader->depth++] = (eg_json_place){.key = key, .index = index};
}

static const eg_json_field *find_field(const eg_json_fields_reader *reader,
                                       const eg_json_field *fields, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(fields[i].key, reader->scratch.data) == 0) return &fields[i];
  return NULL;
}

static egraph_status read_field(eg_json_fields_reader *reader,
                                const eg_json_field *fields, size_t count,
                                uint32_t *inout_seen, void *record) {
  EG_TRY(eg_json_scan_key_text(reader->scan, &reader->scratch));
  const eg_json_field *field = find_field(reader, fields, count);
  if (field == NULL)
    return eg_json_scan_fail(reader->scan, "unknown key \"%.64s\"; take it out",
                             reader->scratch.data);
  uint32_t bit = UINT32_C(1) << (field - fields);
  if ((*inout_seen & bit) != 0)
    return eg_json_scan_fail(reader->scan, "a second \"%s\"; leave one", field->key);
  *inout_seen |= bit;
  go_down(reader, field->key, 0);
  EG_TRY(field->read(reader, record));
  reader->depth--;
  return EGRAPH_OK;
}

egraph_status eg_json_fields_object(eg_json_fields_reader *reader,
                                    const eg_json_field *fields, size_t count,
                                    void *record) {
  assert(count <= EG_JSON_FIELDS_MAX);
  uint32_t seen = 0;
  bool more = true;
  EG_TRY(eg_json_scan_enter(reader->scan, '{'));
  for (size_t keys = 0; more;) {
    EG_TRY(eg_json_scan_next(reader->scan, '}', &keys, &more));
    if (more) EG_TRY(read_field(reader, fields, count, &seen, record));
  }
  for (size_t i = 0; i < count; i++)
    if (fields[i].is_required && (seen >> i & 1) == 0)
      return eg_json_scan_fail(reader->scan, "no key \"%s\"; add it", fields[i].key);
  return EGRAPH_OK;
}

egraph_status eg_json_fields_array(eg_json_fields_reader *reader, eg_json_read_fn element,
                                   void *record) {
  EG_TRY(eg_json_scan_enter(reader->scan, '['));
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(reader->scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    go_down(reader, NULL, count - 1);
    EG_TRY(element(reader, record));
    reader->depth--;
  }
}

egraph_status eg_json_fields_text(eg_json_fields_reader *reader, const char **out) {
  EG_TRY(eg_json_scan_text(reader->scan, &reader->scratch));
  return eg_arena_string(reader->arena, reader->scratch.data, reader->scratch.len, out);
}

egraph_status eg_json_fields_u32(eg_json_fields_reader *reader, uint32_t least,
                                 uint32_t *out) {
  int64_t value;
  EG_TRY(eg_json_scan_int64(reader->scan, &value));
  if (value < (int64_t)least || value >= UINT32_MAX)
    return eg_json_scan_fail(reader->scan, "%lld is not from %u to %u", (long long)value,
                             least, UINT32_MAX - 1);
  *out = (uint32_t)value;
  return EGRAPH_OK;
}

egraph_status eg_json_fields_amount(eg_json_fields_reader *reader, double *out) {
  EG_TRY(eg_json_scan_double(reader->scan, out));
  if (*out < 0) return eg_json_scan_fail(reader->scan, "a number below zero");
  if (*out > EG_JSON_AMOUNT_MAX)
    return eg_json_scan_fail(reader->scan, "a number above %g, more than any amount is",
                             EG_JSON_AMOUNT_MAX);
  return EGRAPH_OK;
}

egraph_status eg_json_fields_tell(const eg_json_fields_reader *reader,
                                  egraph_status status) {
  if (status != EGRAPH_E_PARSE) return status;
  char path[256] = "$";
  size_t used = 1;
  for (uint32_t i = 0; i < reader->depth && used < sizeof path; i++) {
    const eg_json_place *place = &reader->path[i];
    int more = place->key != NULL
                   ? snprintf(path + used, sizeof path - used, ".%s", place->key)
                   : snprintf(path + used, sizeof path - used, "[%zu]", place->index);
    used += (size_t)more;
  }
  return EG_FAIL(status, "%s; at %s", egraph_last_error(), path);
}
