// SPDX-License-Identifier: Apache-2.0
#include "tools/exchange_report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/owned.h"

enum { STALE_DAYS = 30, DAY_SECONDS = 86400 };

void print_slowdown(const egraph_exchange_basis *basis) {
  if (!basis->stood_still)
    printf("computing takes %.3g times as long while an exchange runs beside it\n",
           basis->beside);
  else
    printf("computing stood still while an exchange ran beside it, so overlap gains "
           "nothing; doubtful: ranks share processors, or others were at work; measure "
           "again on a machine at rest\n");
}

static bool has_exchanges(const char *machine, uint32_t ranks) {
  return machine != NULL && is_this_host(machine) && ranks > 1;
}

static const char *channel_of(const char *machine) {
  return strncmp(machine, "host-mpi", 8) == 0 ? "mpi" : "local";
}

egraph_status exchanges_find(const char *machine, uint32_t ranks, const cost_flags *flags,
                             egraph_exchange_basis *out) {
  OWNED(egraph_costs, costs);
  *out = (egraph_exchange_basis){.date = 0};
  if (!has_exchanges(machine, ranks)) return EGRAPH_OK;
  EG_TRY(open_plan_costs(flags, machine, &costs));
  if (costs == NULL) return EGRAPH_OK;
  return egraph_costs_exchanges(costs, channel_of(machine), ranks, NULL, NULL, out);
}

void print_exchange_basis(const char *machine, uint32_t ranks,
                          const egraph_exchange_basis *basis) {
  if (!has_exchanges(machine, ranks)) return;
  const char *channel = channel_of(machine);
  bool is_mpi = strcmp(channel, "mpi") == 0;
  int64_t days = ((int64_t)time(NULL) - basis->date) / DAY_SECONDS;
  if (basis->date != 0)
    printf("exchanges   measured %s between %u ranks over %s",
           date_text(basis->date, DAY_FORMAT).text, ranks, channel);
  else
    printf("exchanges   priced by two figures of messages, not by kind and size");
  if (basis->date == 0 || days > STALE_DAYS)
    printf("; %segraph profile --collectives --ranks %u%s measures them%s",
           is_mpi ? "mpirun " : "", ranks, is_mpi ? " --channel mpi" : "",
           basis->date != 0 ? " again" : "");
  printf("\n");
  if (basis->stood_still) {
    printf("beside      ");
    print_slowdown(basis);
  } else if (!(basis->beside > 0)) {
    printf("beside      computing is taken not to slow down beside exchanges: not "
           "measured\n");
  }
}

void exchanges_json(const char *machine, uint32_t ranks,
                    const egraph_exchange_basis *basis) {
  bool is_host = has_exchanges(machine, ranks);
  json_open("exchanges", '{');
  json_text("basis", machine == NULL    ? "plan"
                     : !is_host         ? "machine"
                     : basis->date == 0 ? "messages"
                                        : "measured");
  if (is_host) JSON_MEMBERS(JSON("channel", channel_of(machine)), JSON("ranks", ranks));
  if (is_host && basis->date != 0)
    JSON_MEMBERS(JSON("date", date_text(basis->date, SECOND_FORMAT).text),
                 JSON("stood_still", basis->stood_still));
  json_close('}');
}
