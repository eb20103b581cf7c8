// Options of the denoising methods (--iterations, --gap, --schedule, ...), and what is said of their results: shared by
// `halocline denoise` and `halocline fdk --denoise`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/denoise/denoise.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace halocline {

/// What is not a DenoiseParameters' own.
struct MethodOptions {
  std::string schedule = "default", duals;  // duals empty: not given
  CLI::Option *gap = nullptr, *schedule_option = nullptr, *iterations = nullptr;

  /// Whether --gap, --schedule or --iterations stands on the command line.
  bool given(const std::string& option) const;
};

/// --iterations, --gap, --schedule, --stages, --duals, --weight-bits, --step, --target-fidelity, --adaptive-delta.
void add_method_options(CLI::App& app, DenoiseParameters& parameters, MethodOptions& options);
/// Puts the schedule and the type of the duals into the parameters.
void take_method_options(const MethodOptions& options, DenoiseParameters& parameters);
/// Throws InputError that names --gap or --schedule where the method has none.
void check_method_options(const MethodOptions& options, const DenoiseParameters& parameters);

/// What the run of the iterations did.
RunResult run_of(const DenoiseResult& result);
/// Values for the report.
nlohmann::json denoise_results(const DenoiseParameters& parameters, const MethodOptions& options,
                               const DenoiseResult& result);
/// "pdu with alpha 20 (given) ...", for a result's line. `reference`: path of the guiding volume; empty: none.
std::string what_was_done(const DenoiseParameters& parameters, const MethodOptions& options,
                          const std::string& reference, const DenoiseResult& result, double voxels);

}  // namespace halocline
