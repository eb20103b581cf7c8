#include "apps/options/noise_options.hpp"

#include <CLI/CLI.hpp>

namespace halocline {

void add_variance_option(CLI::App& app, NoiseOptions& options, const std::string& about, const std::string& type) {
  app.add_option("--variance-out", options.output, about)->type_name(type)->group("Noise of the volume");
}

}  // namespace halocline
