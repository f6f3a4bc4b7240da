// The engine's numbers of symbols are those of eg_symbolic's reader, which interns the
// operands of a term before it looks at the next one. So a symbol gets its number from a
// term that is refused after its first operand: nothing is added. The number is then
// found among those that were not seen before; each is looked at once.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/symbolic_names.h"

#include <string.h>

#include "base/hash.h"
#include "rewrites/rule_reader.h"

void eg_symbolic_names_init(eg_symbolic_names *names, eg_symbolic *symbolic,
                            eg_arena *arena, egraph_allocator alloc) {
  *names = (eg_symbolic_names){.symbolic = symbolic, .arena = arena};
  eg_flatmap_init(&names->symbols, alloc);
  eg_text_init(&names->scratch, alloc);
  eg_atom_vec_init(&names->rules, alloc);
  eg_atom_vec_init(&names->pending, alloc);
}

void eg_symbolic_names_deinit(eg_symbolic_names *names) {
  eg_flatmap_deinit(&names->symbols);
  eg_text_deinit(&names->scratch);
  eg_atom_vec_deinit(&names->rules);
  eg_atom_vec_deinit(&names->pending);
}

// ---- symbols ---------------------------------------------------------------------

static uint64_t hash_of(const char *text) { return eg_hash_bytes(0, text, strlen(text)); }

static bool same_symbol(const void *user, uint32_t id, const void *key) {
  const eg_symbolic_names *names = user;
  return strcmp(eg_symbolic_atom(names->symbolic, id), key) == 0;
}

bool eg_symbolic_is_symbol(const char *text) {
  if (text[0] == '\0' || (text[0] == '?' && text[1] != '\0')) return false;
  for (const char *c = text; *c != '\0'; c++)
    if ((unsigned char)*c <= ' ' || strchr("()[]\";", *c) != NULL) return false;
  return true;
}

// Makes sure that eg_symbolic knows the symbol.
static egraph_status intern(eg_symbolic_names *names, const char *text) {
  eg_class none;
  eg_text_clear(&names->scratch);
  EG_TRY(eg_text_printf(&names->scratch, "(_ %s ?refused)", text));
  const eg_chars *chars = &names->scratch.chars;
  egraph_status status =
      eg_symbolic_add_term(names->symbolic, "symbol", chars->data, chars->len, &none);
  return status == EGRAPH_E_PARSE ? EGRAPH_OK : status;
}

egraph_status eg_symbolic_names_symbol(eg_symbolic_names *names, const char *text,
                                       uint32_t *out) {
  uint64_t hash = hash_of(text);
  if (eg_flatmap_find(&names->symbols, hash, text, same_symbol, names, out))
    return EGRAPH_OK;
  if (!eg_symbolic_is_symbol(text))
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "'%s' is no symbol; it has no blanks, brackets, quotes or ;, and is no "
        "?variable",
        text);
  EG_TRY(intern(names, text));
  for (;;) {
    const char *next = eg_symbolic_atom(names->symbolic, names->known);
    EG_TRY(eg_flatmap_insert(&names->symbols, hash_of(next), names->known));
    uint32_t number = names->known++;
    if (strcmp(next, text) != 0) continue;
    *out = number;
    return EGRAPH_OK;
  }
}

// ---- rules -----------------------------------------------------------------------

static egraph_status note_rule(eg_symbolic_names *names, const eg_sexpr *form) {
  eg_atom atom;
  const char *name = form->children[1].text;
  EG_TRY(eg_arena_string(names->arena, name, strlen(name), &atom.text));
  EG_TRY(eg_atom_vec_push(&names->pending, atom));
  bool both_ways = false;
  for (uint32_t i = 2; i < form->count; i++)
    both_ways = both_ways || eg_sexpr_is_atom(&form->children[i], "both-ways");
  if (!both_ways) return EGRAPH_OK;
  EG_TRY(eg_rule_reversed_name(names->arena, name, &atom.text));
  return eg_atom_vec_push(&names->pending, atom);
}

// Anything that is wrong is left to eg_symbolic_add_rules to say.
static egraph_status note_rules(eg_symbolic_names *names, const char *file,
                                const char *text, size_t size) {
  eg_arena scratch;
  eg_arena_init(&scratch, names->rules.alloc);
  eg_sexpr forms;
  names->pending.len = 0;
  egraph_status status = eg_sexpr_parse(&scratch, file, text, size, &forms);
  for (uint32_t i = 1; status == EGRAPH_OK && i < forms.count; i++) {
    const eg_sexpr *form = &forms.children[i];
    if (eg_sexpr_is_form(form, "rule") && form->count > 1 &&
        form->children[1].kind == EG_SEXPR_ATOM)
      status = note_rule(names, form);
  }
  eg_arena_deinit(&scratch);
  return status;
}

egraph_status eg_symbolic_names_add_rules(eg_symbolic_names *names, const char *file,
                                          const char *text, size_t size) {
  EG_TRY(note_rules(names, file, text, size));
  EG_TRY(eg_atom_vec_reserve(&names->rules, names->rules.len + names->pending.len));
  EG_TRY(eg_symbolic_add_rules(names->symbolic, file, text, size));
  return eg_atom_vec_append(&names->rules, names->pending.data, names->pending.len);
}

const char *eg_symbolic_names_rule(const eg_symbolic_names *names, uint32_t rule) {
  return eg_atom_vec_at(&names->rules, rule)->text;
}
