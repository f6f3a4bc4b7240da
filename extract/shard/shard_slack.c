// A segment tree without pushing down: least[i] holds the minimum of the two below plus
// added[i].
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_slack.h"

#include "base/owner.h"

#define NO_ROW (INT64_C(1) << 62)

EG_OWNER_DEFINE(eg_shard_slack, (eg_i64s, least, added))

static void pull(eg_shard_slack *slack, uint32_t i) {
  int64_t left = slack->least.data[2 * i], right = slack->least.data[2 * i + 1];
  slack->least.data[i] = (left < right ? left : right) + slack->added.data[i];
}

egraph_status eg_shard_slack_start(eg_shard_slack *slack, const eg_shard_model *model) {
  uint32_t leaves = 1, rows = (uint32_t)model->capacity.len;
  while (leaves < rows)
    leaves *= 2;
  slack->leaves = leaves;
  slack->least.len = slack->added.len = 0;
  EG_TRY(eg_i64s_resize(&slack->least, 2 * (size_t)leaves));
  EG_TRY(eg_i64s_resize(&slack->added, 2 * (size_t)leaves));
  for (uint32_t r = 0; r < leaves; r++)
    slack->least.data[leaves + r] = r < rows ? model->capacity.data[r] : NO_ROW;
  for (uint32_t i = leaves; i-- > 1;)
    pull(slack, i);
  return EGRAPH_OK;
}

static void apply(eg_shard_slack *slack, uint32_t i, int64_t amount) {
  slack->least.data[i] += amount;
  slack->added.data[i] += amount;
}

void eg_shard_slack_add(eg_shard_slack *slack, uint32_t first, uint32_t last,
                        int64_t amount) {
  uint32_t left = first + slack->leaves, right = last - 1 + slack->leaves;
  for (uint32_t a = left, b = right + 1; a < b; a >>= 1, b >>= 1) {
    if (a & 1) apply(slack, a++, amount);
    if (b & 1) apply(slack, --b, amount);
  }
  for (uint32_t i = left >> 1; i > 0; i >>= 1)
    pull(slack, i);
  for (uint32_t i = right >> 1; i > 0; i >>= 1)
    pull(slack, i);
}

void eg_shard_slack_value(eg_shard_slack *slack, const eg_shard_model *model,
                          uint32_t node, uint32_t value, int64_t sign) {
  EG_SHARD_EACH_ITEM(model, node, item) {
    int64_t usage = model->usage.data[item->usage + value];
    if (usage != 0) eg_shard_slack_add(slack, item->first, item->last, sign * usage);
  }
}
