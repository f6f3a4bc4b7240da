// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/exchange_report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STALE_DAYS = 30, DAY_SECONDS = 86400 };

void beside_tell(const egraph_exchange_basis *basis) {
  if (!basis->stood_still)
    printf("computing takes %.3g times as long while an exchange runs beside it\n",
           basis->beside);
  else
    printf("computing stood still while an exchange ran beside it, so overlap gains "
           "nothing; doubtful: ranks share processors, or others were at work; measure "
           "again on a machine at rest\n");
}

static void tell(const egraph_exchange_basis *basis, const char *channel,
                 uint32_t ranks) {
  int64_t date = basis->date;
  char day[16] = "-";
  struct tm parts;
  time_t seconds = (time_t)date;
  int64_t days = ((int64_t)time(NULL) - date) / DAY_SECONDS;
  bool is_mpi = strcmp(channel, "mpi") == 0;
  if (gmtime_r(&seconds, &parts) != NULL)
    (void)strftime(day, sizeof day, "%Y-%m-%d", &parts);
  if (date != 0)
    printf("exchanges   measured %s between %u ranks over %s", day, ranks, channel);
  else
    printf("exchanges   priced by two figures of messages, not by kind and size");
  if (date == 0 || days > STALE_DAYS)
    printf("; %segraph profile --collectives --ranks %u%s measures them%s",
           is_mpi ? "mpirun " : "", ranks, is_mpi ? " --channel mpi" : "",
           date != 0 ? " again" : "");
  printf("\n");
  if (basis->stood_still) {
    printf("beside      ");
    beside_tell(basis);
  } else if (!(basis->beside > 0)) {
    printf("beside      computing is taken not to slow down beside exchanges: not "
           "measured\n");
  }
}

static bool has_exchanges(const char *machine, uint32_t ranks) {
  return machine != NULL && is_this_host(machine) && ranks > 1;
}

static const char *channel_of(const char *machine) {
  return strncmp(machine, "host-mpi", 8) == 0 ? "mpi" : "local";
}

egraph_status exchanges_find(const char *machine, uint32_t ranks, const cost_flags *flags,
                             egraph_exchange_basis *out) {
  egraph_costs *costs = NULL;
  *out = (egraph_exchange_basis){.date = 0};
  if (!has_exchanges(machine, ranks)) return EGRAPH_OK;
  egraph_status status = open_plan_costs(flags, machine, &costs);
  if (status == EGRAPH_OK && costs != NULL)
    status = egraph_costs_exchanges(costs, channel_of(machine), ranks, NULL, NULL, out);
  egraph_costs_destroy(costs);
  return status;
}

void exchanges_tell(const char *machine, uint32_t ranks,
                    const egraph_exchange_basis *basis) {
  if (has_exchanges(machine, ranks)) tell(basis, channel_of(machine), ranks);
}

void exchanges_json(const char *machine, uint32_t ranks,
                    const egraph_exchange_basis *basis) {
  bool is_host = has_exchanges(machine, ranks);
  char date[32];
  struct tm parts;
  time_t seconds = (time_t)basis->date;
  json_open("exchanges", '{');
  json_text("basis", machine == NULL    ? "plan"
                     : !is_host         ? "machine"
                     : basis->date == 0 ? "messages"
                                        : "measured");
  if (is_host) json_text("channel", channel_of(machine));
  if (is_host) json_int("ranks", ranks);
  if (is_host && basis->date != 0 && gmtime_r(&seconds, &parts) != NULL) {
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    JSON_MEMBERS(JSON("date", date), JSON("stood_still", basis->stood_still));
  }
  json_close('}');
}
