// Options of the command line that are made of settings (algorithms/jobs/settings.hpp).
#pragma once

#include "algorithms/jobs/settings.hpp"

namespace CLI {
class App;
}

namespace halocline {

/// Adds an option for each setting, which sets it. Names in backticks of a help text appear as flags. `settings` has to
/// outlive the parser.
void add_settings(CLI::App& app, Settings& settings);

}  // namespace halocline
