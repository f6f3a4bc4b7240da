// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/substitution_file.h"

static const char *const origin_words[EG_SUBST_ORIGINS] = {
    [EG_SUBST_FROM_TASO] = "TASO (SOSP'19)",
    [EG_SUBST_FROM_UNITY] = "Unity (OSDI'22)",
    [EG_SUBST_FROM_TENSAT] = "Tensat (MLSys'21)"};

static const char *const origin_prefixes[EG_SUBST_ORIGINS] = {
    [EG_SUBST_FROM_TASO] = "taso",
    [EG_SUBST_FROM_UNITY] = "unity",
    [EG_SUBST_FROM_TENSAT] = "tensat"};

const char *eg_subst_origin_words(eg_subst_origin origin) { return origin_words[origin]; }

const char *eg_subst_origin_prefix(eg_subst_origin origin) {
  return origin_prefixes[origin];
}

void eg_subst_file_init(eg_subst_file *file, egraph_allocator alloc) {
  file->origin = EG_SUBST_FROM_TASO;
  eg_substitutions_init(&file->list, alloc);
}

void eg_subst_file_deinit(eg_subst_file *file) { eg_substitutions_deinit(&file->list); }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A message of protocol buffers begins with the key of its first field, 0x0a, which is a
// blank as well; its length follows, which may be any byte, and then keys, which are no
// characters of a text.
static bool is_text(const char *bytes, size_t size) {
  size_t at = 0;
  while (at < size && is_blank(bytes[at]))
    at++;
  if (at == size || !(bytes[at] == '(' || bytes[at] == '?' || is_letter(bytes[at])))
    return false;
  for (; at + 1 < size; at++) {
    unsigned char c = (unsigned char)bytes[at];
    if ((c < ' ' && !is_blank(bytes[at])) || c > '~') return false;
    if (c == '=' && (bytes[at + 1] == '=' || bytes[at + 1] == '>')) return true;
  }
  return false;
}

static bool is_json(const char *bytes, size_t size) {
  size_t at = 0;
  while (at < size && is_blank(bytes[at]))
    at++;
  if (at == size || bytes[at] != '{') return false;
  for (at++; at < size && is_blank(bytes[at]); at++)
    ;
  return at < size && (bytes[at] == '"' || bytes[at] == '}');
}

egraph_status eg_subst_file_parse(const char *name, const char *bytes, size_t size,
                                  eg_subst_file *out) {
  if (is_json(bytes, size)) return eg_subst_read_json(name, bytes, size, out);
  if (is_text(bytes, size)) return eg_subst_read_text(name, bytes, size, out);
  return eg_subst_read_protobuf(name, bytes, size, out);
}
