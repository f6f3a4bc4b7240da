// Imports the substitutions of a file one after the other: names, duplicates, verdicts.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/import.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/names.h"
#include "rewrites/lab/import/import_internal.h"

enum { MAX_FILE_BYTES = 16 << 20 };

EG_NAME_DEFINE(eg_import_outcome, eg_import_outcome_name, EG_IMPORT_LIST)

// ---- formats ------------------------------------------------------------------------

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// True for a text, which begins after the blanks. A protocol buffer message begins with
// the key of its first field, 0x0a, which also is a blank; then comes its length, any
// byte, and then keys, which are no characters of a text.
static bool is_text(const char *bytes, size_t size) {
  if (size == 0 || !(bytes[0] == '(' || bytes[0] == '?' || is_letter(bytes[0])))
    return false;
  for (size_t at = 0; at + 1 < size; at++) {
    unsigned char c = (unsigned char)bytes[at];
    if ((c < ' ' && !is_blank(bytes[at])) || c > '~') return false;
    if (c == '=' && (bytes[at + 1] == '=' || bytes[at + 1] == '>')) return true;
  }
  return false;
}

static bool is_json(const char *bytes, size_t size) {
  if (size == 0 || bytes[0] != '{') return false;
  size_t at = 1;
  while (at < size && is_blank(bytes[at]))
    at++;
  return at < size && (bytes[at] == '"' || bytes[at] == '}');
}

static egraph_status parse_file(const char *name, const char *bytes, size_t size,
                                eg_subst_file *out) {
  size_t at = 0;
  while (at < size && is_blank(bytes[at]))
    at++;
  if (is_json(bytes + at, size - at)) return eg_subst_read_json(name, bytes, size, out);
  if (is_text(bytes + at, size - at)) return eg_subst_read_text(name, bytes, size, out);
  return eg_subst_read_protobuf(name, bytes, size, out);
}

// ---- one substitution -----------------------------------------------------------------

/// Names a rule "taso-graph-subst-17": origin, stem of the file, number. Unity's
/// substitutions were published in one file only, so their names have no stem.
static void name_rule(eg_importer *in) {
  const char *prefix = eg_subst_origin_prefix(in->file->origin), *slash = in->path;
  char stem[48];
  size_t length = 0;
  for (const char *c = in->path; *c != '\0'; c++)
    if (*c == '/') slash = c + 1;
  for (const char *c = slash; *c != '\0' && *c != '.' && length + 2 < sizeof stem; c++) {
    char lower = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))
      stem[length++] = lower;
    else if (length != 0 && stem[length - 1] != '-')
      stem[length++] = '-';
  }
  while (length != 0 && stem[length - 1] == '-')
    length--;
  stem[length] = '\0';
  bool is_said = length == 0 || in->file->origin == EG_SUBST_FROM_UNITY;
  bool has_prefix = !is_said && strncmp(stem, prefix, strlen(prefix)) == 0;
  (void)snprintf(in->name, sizeof in->name, "%s%s%s-%" PRIu32, has_prefix ? "" : prefix,
                 is_said || has_prefix ? "" : "-", is_said ? "" : stem, in->number);
}

static egraph_status is_duplicate(eg_importer *in, bool *out) {
  uint32_t first;
  *out = false;
  EG_TRY(eg_subst_canonical(in->subst, in->alloc, &in->text));
  const char *text = eg_text_of(&in->text);
  if (text[0] == '\0') return EGRAPH_OK;
  if (!eg_strmap_find(&in->known, text, &first))
    return eg_strmap_put(&in->known, text, in->number);
  *out = true;
  in->outcome = EG_IMPORT_DUPLICATE;
  eg_text_clear(&in->detail);
  return eg_text_printf(&in->detail, "of %" PRIu32, first);
}

static egraph_status import_one(eg_importer *in) {
  bool is_known;
  eg_text_clear(&in->detail);
  name_rule(in);
  EG_TRY(is_duplicate(in, &is_known));
  if (is_known) return EGRAPH_OK;
  return in->file->origin == EG_SUBST_FROM_UNITY ? eg_import_unity(in)
                                                 : eg_import_tensors(in);
}

EG_OWNER_DEFINE_STATIC(eg_importer, (eg_implied_checker, checker), (eg_strmap, known),
                       (eg_text, text, detail))

egraph_status eg_rules_import(eg_rules *rules, const char *path, eg_import_report *report,
                              void *user) {
  egraph_allocator alloc = eg_rules_allocator(rules);
  char *bytes;
  size_t size;
  EG_LOCAL(eg_subst_file, file, alloc);
  EG_LOCAL(eg_importer, in, alloc);
  EG_TRY(eg_file_read(alloc, path, MAX_FILE_BYTES, &bytes, &size));
  egraph_status status = parse_file(path, bytes, size, &file);
  eg_free(alloc, bytes, size + 1, 1);
  EG_TRY(status);
  if (file.list.len == 0)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: there is no substitution in it", path);
  in.rules = rules;
  in.alloc = alloc;
  in.path = path;
  in.file = &file;
  EG_TRY(eg_implied_checker_load(&in.checker));
  for (size_t i = 0; i < file.list.len; i++) {
    in.number = (uint32_t)i;
    in.subst = &file.list.data[i];
    EG_TRY(import_one(&in));
    if (report != NULL) report(user, in.number, in.outcome, eg_text_of(&in.detail));
  }
  return EGRAPH_OK;
}
