// Settings of total variation, its relatives and bounds, for the verbs that have one.
#pragma once

#include "algorithms/denoisers/regulariser.hpp"
#include "capi/settings.hpp"

namespace halocline::capi {

/// tv, huber-delta, minimum, maximum, nonnegative, reference-eta, reference-strength. They outlive `settings`.
void add_penalty(Settings& settings, Regulariser& regulariser);

}  // namespace halocline::capi
