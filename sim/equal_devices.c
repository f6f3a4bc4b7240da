// Outline: every device, link and flow has a number, its color. Its signature is this
// color and the sorted colors around it. Equal signatures get equal colors, until the
// number of colors no longer changes.
// SPDX-License-Identifier: Apache-2.0
#include "sim/equal_devices.h"

#include <stdlib.h>

#include "base/owner.h"

EG_OWNER_DEFINE(eg_equal_devices, (eg_real_flows, flows),
                (eg_u32s, links, device_class, link_class))

typedef struct signature {
  const uint32_t *words;
  uint32_t count, item;
} signature;
EG_VEC_DEFINE(signatures, signature);

/// The words of all signatures (color and colors around), one item after the other.
typedef struct palette {
  eg_u32s first; // [items + 1]
  eg_u32s words;
  signatures sorted;
} palette;
EG_OWNER_DEFINE_STATIC(palette, (eg_u32s, first, words), (signatures, sorted))

static int compare_words(const signature *x, const signature *y) {
  if (x->count != y->count) return x->count < y->count ? -1 : 1;
  for (uint32_t i = 0; i < x->count; i++)
    if (x->words[i] != y->words[i]) return x->words[i] < y->words[i] ? -1 : 1;
  return 0;
}

static int by_words(const void *a, const void *b) {
  const signature *x = a, *y = b;
  int order = compare_words(x, y);
  return order != 0 ? order : (x->item > y->item) - (x->item < y->item);
}

static egraph_status push_double(eg_u32s *words, double value) {
  uint32_t halves[2];
  memcpy(halves, &value, sizeof value);
  return eg_u32s_append(words, halves, 2);
}

/// Gives items with equal words the same color; colors are in the order of the words.
static egraph_status color_items(palette *p, uint32_t *colors, uint32_t *out_count) {
  size_t items = p->first.len - 1;
  uint32_t next = 0;
  EG_TRY(signatures_resize(&p->sorted, items));
  for (size_t i = 0; i < items; i++)
    p->sorted.data[i] = (signature){p->words.data + p->first.data[i],
                                    p->first.data[i + 1] - p->first.data[i], (uint32_t)i};
  if (items > 1) qsort(p->sorted.data, items, sizeof *p->sorted.data, by_words);
  for (size_t i = 0; i < items; i++) {
    next += i != 0 && compare_words(&p->sorted.data[i - 1], &p->sorted.data[i]) != 0;
    colors[p->sorted.data[i].item] = next;
  }
  *out_count = items == 0 ? 0 : next + 1;
  return EGRAPH_OK;
}

static egraph_status color_flows(eg_equal_devices *d, palette *p, uint32_t *colors) {
  p->words.len = p->first.len = 0;
  for (size_t i = 0; i < d->flows.len; i++) {
    const eg_real_flow *f = &d->flows.data[i];
    EG_TRY(eg_u32s_push(&p->first, (uint32_t)p->words.len));
    EG_TRY(eg_u32s_push(&p->words, f->round));
    EG_TRY(eg_u32s_push(&p->words, d->device_class.data[f->from]));
    EG_TRY(eg_u32s_push(&p->words, d->device_class.data[f->to]));
    EG_TRY(push_double(&p->words, f->share));
    EG_TRY(push_double(&p->words, f->latency));
    uint32_t from = (uint32_t)p->words.len;
    for (uint32_t k = 0; k < f->link_count; k++)
      EG_TRY(
          eg_u32s_push(&p->words, d->link_class.data[d->links.data[f->first_link + k]]));
    if (p->words.len - from > 1)
      qsort(p->words.data + from, p->words.len - from, sizeof *p->words.data,
            eg_compare_u32s);
  }
  EG_TRY(eg_u32s_push(&p->first, (uint32_t)p->words.len));
  return color_items(p, colors, &d->flow_classes);
}

/// Makes room for the signature of every item (its color and `counts[i]` further words),
/// and writes the old colors.
static egraph_status begin_items(palette *p, const eg_u32s *old, const eg_u32s *counts) {
  EG_TRY(eg_u32s_resize(&p->first, old->len + 1));
  uint32_t at = 0;
  for (size_t i = 0; i < old->len; i++) {
    p->first.data[i] = at;
    at += 1 + counts->data[i];
  }
  p->first.data[old->len] = at;
  EG_TRY(eg_u32s_resize(&p->words, at));
  for (size_t i = 0; i < old->len; i++)
    p->words.data[p->first.data[i]] = old->data[i];
  return EGRAPH_OK;
}

static void sort_items(palette *p) {
  for (size_t i = 0; i + 1 < p->first.len; i++) {
    uint32_t from = p->first.data[i] + 1, until = p->first.data[i + 1];
    if (until - from > 1)
      qsort(p->words.data + from, until - from, sizeof *p->words.data, eg_compare_u32s);
  }
}

static egraph_status color_devices(eg_equal_devices *d, palette *p, eg_u32s *counts,
                                   const uint32_t *flow_colors) {
  counts->len = 0;
  EG_TRY(eg_u32s_resize(counts, d->device_class.len));
  for (size_t i = 0; i < d->flows.len; i++) {
    counts->data[d->flows.data[i].from]++;
    counts->data[d->flows.data[i].to]++;
  }
  EG_TRY(begin_items(p, &d->device_class, counts));
  for (size_t i = 0; i < d->flows.len; i++) {
    const eg_real_flow *f = &d->flows.data[i];
    p->words.data[p->first.data[f->from] + counts->data[f->from]--] = 2 * flow_colors[i];
    p->words.data[p->first.data[f->to] + counts->data[f->to]--] = 2 * flow_colors[i] + 1;
  }
  sort_items(p);
  return color_items(p, d->device_class.data, &d->device_classes);
}

static egraph_status color_links(eg_equal_devices *d, palette *p, eg_u32s *counts,
                                 const uint32_t *flow_colors) {
  counts->len = 0;
  EG_TRY(eg_u32s_resize(counts, d->link_class.len));
  for (size_t i = 0; i < d->links.len; i++)
    counts->data[d->links.data[i]]++;
  EG_TRY(begin_items(p, &d->link_class, counts));
  for (size_t i = 0; i < d->flows.len; i++)
    for (uint32_t k = 0; k < d->flows.data[i].link_count; k++) {
      uint32_t link = d->links.data[d->flows.data[i].first_link + k];
      p->words.data[p->first.data[link] + counts->data[link]--] = flow_colors[i];
    }
  sort_items(p);
  return color_items(p, d->link_class.data, &d->link_classes);
}

/// Renumbers classes of devices in the order of their first devices.
static egraph_status number_devices(eg_equal_devices *d, eg_u32s *scratch) {
  uint32_t next = 0;
  scratch->len = 0;
  EG_TRY(eg_u32s_resize(scratch, d->device_classes));
  for (size_t i = 0; i < d->device_class.len; i++) {
    uint32_t *number = &scratch->data[d->device_class.data[i]];
    if (*number == 0) *number = ++next;
    d->device_class.data[i] = *number - 1;
  }
  return EGRAPH_OK;
}

egraph_status eg_equal_devices_find(eg_equal_devices *d) {
  EG_LOCAL(palette, p, d->flows.alloc);
  EG_LOCAL(eg_u32s, counts, d->flows.alloc);
  EG_LOCAL(eg_u32s, flow_colors, d->flows.alloc);
  uint32_t before;
  d->device_classes = d->flow_classes = d->link_classes = 0;
  EG_TRY(eg_u32s_resize(&flow_colors, d->flows.len));
  do {
    before = d->device_classes + d->link_classes + d->flow_classes;
    EG_TRY(color_flows(d, &p, flow_colors.data));
    EG_TRY(color_devices(d, &p, &counts, flow_colors.data));
    EG_TRY(color_links(d, &p, &counts, flow_colors.data));
  } while (d->device_classes + d->link_classes + d->flow_classes != before);
  for (size_t i = 0; i < d->flows.len; i++)
    d->flows.data[i].class = flow_colors.data[i];
  return number_devices(d, &counts);
}
