// SPDX-License-Identifier: Apache-2.0
#include "extract/patience.h"

#include "base/clock.h"
#include "extract/incumbent.h"

bool eg_patience_ended(const eg_patience *patience) {
  if (eg_clock_seconds() > patience->deadline) return true;
  return patience->incumbent != NULL && eg_incumbent_stop(patience->incumbent);
}

eg_patience eg_patience_of(eg_incumbent *incumbent) {
  return (eg_patience){eg_incumbent_deadline(incumbent), incumbent};
}
