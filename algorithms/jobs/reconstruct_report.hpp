// The results of iterative reconstruction as texts and values, for every front end.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/jobs/reconstruct_settings.hpp"
#include "algorithms/solvers/reconstruct.hpp"

namespace halocline {

/// Passes over all rays, which are fractions where a method of subsets ended early.
double passes_of(const ReconstructionResult& result);
/// Values for the report. weighted: rays had weights.
nlohmann::json reconstruct_results(const ReconstructSettings& settings, const ReconstructionResult& result,
                                   bool weighted);
/// The certificate or the residual, for a result's line.
std::string quality(const ReconstructSettings& settings, const ReconstructionResult& result, bool weighted);
/// Warns of divergence, and of projections that the image does not meet. views: of the scan.
void warn_of_result(const ReconstructSettings& settings, const ReconstructionResult& result, bool weighted,
                    std::size_t views);

}  // namespace halocline
