// Ground terms as text. Terms can be deeper than any call stack, so the stack is a
// vector.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/terms/symbolic_explain.h"

typedef struct frame {
  uint32_t term, next; // operand
} frame;
EG_VEC_DEFINE(frame_vec, frame);

typedef struct printer {
  const eg_symbolic *symbolic;
  const eg_ground_terms *terms;
  frame_vec stack;
  uint32_t nodes;
  eg_text *out;
} printer;

static egraph_status open_term(printer *p, uint32_t term) {
  if (++p->nodes > EG_SYMBOLIC_MAX_PRINTED)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "a term has more than %d nodes, and is not written",
                   (int)EG_SYMBOLIC_MAX_PRINTED);
  eg_ground ground = eg_ground_at(p->terms, term);
  const char *atom = eg_symbolic_atom(p->symbolic, ground.op);
  if (ground.arity == 0) return eg_text_append(p->out, atom);
  EG_TRY(eg_text_append(p->out, "("));
  EG_TRY(eg_text_append(p->out, atom));
  return frame_vec_push(&p->stack, (frame){.term = term});
}

static egraph_status print(printer *p, uint32_t term) {
  EG_TRY(open_term(p, term));
  while (p->stack.len != 0) {
    frame *top = &p->stack.data[p->stack.len - 1];
    eg_ground ground = eg_ground_at(p->terms, top->term);
    if (top->next == ground.arity) {
      EG_TRY(eg_text_append(p->out, ")"));
      p->stack.len--;
      continue;
    }
    EG_TRY(eg_text_append(p->out, " "));
    EG_TRY(open_term(p, ground.children[top->next++]));
  }
  return EGRAPH_OK;
}

egraph_status eg_symbolic_print_ground(const eg_symbolic *symbolic,
                                       const eg_ground_terms *terms, uint32_t term,
                                       eg_text *out) {
  printer p = {.symbolic = symbolic, .terms = terms, .out = out};
  frame_vec_init(&p.stack, out->chars.alloc);
  egraph_status status = print(&p, term);
  frame_vec_deinit(&p.stack);
  return status;
}
