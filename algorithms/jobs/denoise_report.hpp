// The results of denoising as texts and values, for every front end.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/jobs/denoise_settings.hpp"

namespace halocline {

/// The part of a result that every run has.
RunResult run_of(const DenoiseResult& result);
/// Values for the report.
nlohmann::json denoise_results(const DenoiseSettings& denoise, const DenoiseResult& result);
/// "pdu with alpha 20 (given) ...", for a result's line. reference: name of the guiding volume; empty: none.
std::string what_was_done(const DenoiseSettings& denoise, const std::string& reference, const DenoiseResult& result,
                          double voxels);
/// One line an alpha: iterations, relative gap, RMS change.
std::string path_table(const DenoiseResult& result, const std::vector<double>& alphas, double voxels);
/// "gap", "target", "flat" (nothing left for a descent without a target), "iterations", "time", "interrupt" or
/// "stalled", for reports.
std::string what_ended(const DenoiseResult& result, bool descends);
/// The end of a descent, after "ended by".
std::string descent_end(const DenoiseResult& result);
/// Texts about a gap or a target that was not reached. init: the run began with a given image.
std::vector<std::string> shortfalls(const DenoiseSettings& denoise, const DenoiseResult& result, bool init,
                                    double voxels);
/// Warns of these, and of what the result itself warns of.
void warn_of_result(const DenoiseSettings& denoise, const DenoiseResult& result, bool init, double voxels);

}  // namespace halocline
