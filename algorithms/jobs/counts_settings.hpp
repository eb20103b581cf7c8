// Settings of how a detector's counts become line integrals.
#pragma once

#include "algorithms/jobs/settings.hpp"
#include "algorithms/preprocessing/counts.hpp"

namespace halocline {

constexpr const char* counts_group = "From counts to line integrals";

/// `air` to `reduce-rings`, of a job whose projections are counts.
void add_counts_settings(Settings& settings, CountsOptions& options);
/// `counts`, and these, which need it but for `reduce-rings`, which serves line integrals, too.
void add_counts_flag(Settings& settings, bool& counts, CountsOptions& options);

}  // namespace halocline
