// Prints Graphviz: one dashed cluster per class, one box per node, one arc per child, to
// the first node of the child's class (clipped at its cluster).
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "base/owner.h"
#include "egraph/engine_internal.h"

/// Appends text for a quoted Graphviz string.
static void append_escaped(eg_text *out, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '\n') {
      eg_text_append(out, "\\n");
    } else {
      if (*text == '"' || *text == '\\') eg_text_append(out, "\\");
      eg_text_append_bytes(out, text, 1);
    }
  }
}

typedef struct dot {
  const eg_engine *engine;
  egraph_status (*spell)(void *user, const eg_term *, eg_text *);
  void *user;
  eg_text head; // text of one node's head, before escaping
  eg_text *out;
} dot;
EG_OWNER_DEFINE_STATIC(dot, (eg_text, head))

static egraph_status print_node_box(dot *d, eg_node node) {
  eg_term term = eg_engine_term(d->engine, node);
  eg_text_clear(&d->head);
  EG_TRY(d->spell(d->user, &term, &d->head));
  EG_TRY(eg_text_status(&d->head));
  eg_text_printf(d->out, "    n%u [label=\"", node.id);
  append_escaped(d->out, eg_text_of(&d->head));
  return eg_text_append(d->out, "\"];\n");
}

static egraph_status print_class(dot *d, eg_class class) {
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(d->engine, class, &count);
  eg_text_printf(d->out,
                 "  subgraph cluster_%u {\n    label=\"%u\"; style=\"rounded,dashed\";\n",
                 class.id, class.id);
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(print_node_box(d, nodes[i]));
  return eg_text_append(d->out, "  }\n");
}

static void print_arcs(dot *d, eg_node node) {
  eg_term term = eg_engine_term(d->engine, node);
  uint32_t from = eg_engine_class_of(d->engine, node).id;
  for (uint32_t i = 0; i < term.arity; i++) {
    uint32_t to = term.children[i].id, count;
    const eg_node *targets = eg_engine_class_nodes(d->engine, term.children[i], &count);
    eg_text_printf(d->out, "  n%u -> n%u [", node.id, targets[0].id);
    // Without this test Graphviz warns: an arc cannot be clipped at the cluster in which
    // it starts.
    if (to != from) eg_text_printf(d->out, "lhead=cluster_%u", to);
    if (term.arity > 1)
      eg_text_printf(d->out, "%slabel=\"%u\"", to != from ? "," : "", i);
    eg_text_append(d->out, "];\n");
  }
}

egraph_status eg_engine_dot(const eg_engine *engine,
                            egraph_status (*spell)(void *user, const eg_term *,
                                                   eg_text *),
                            void *user, eg_text *out) {
  assert(eg_engine_is_clean(engine));
  EG_LOCAL_WITH(dot, d, engine->alloc, .engine = engine, .spell = spell, .user = user,
                .out = out);
  eg_text_append(out, "digraph egraph {\n  compound=true; clusterrank=local;\n"
                      "  node [shape=box,style=rounded,fontname=\"Helvetica\"];\n");
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c))
    EG_TRY(print_class(&d, c));
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n))
    print_arcs(&d, n);
  return eg_text_append(out, "}\n");
}
