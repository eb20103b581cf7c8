// --window --cutoff --interpolation --displaced --nodisplaced --pad --allow-incomplete-arc: how projections are
// filtered and read.
#pragma once

#include <string>

#include "algorithms/fdk/fdk.hpp"

namespace CLI {
class App;
}

namespace halocline {

struct FilterOptions {
  std::string window = "ram-lak", interpolation = "exact";
  double cutoff = 1, pad = 0;
  bool displaced = false, no_displaced = false, allow_incomplete_arc = false;
};

/// half: whether --interpolation half is offered.
void add_filter_options(CLI::App& app, FilterOptions& options, bool half);
FdkParameters fdk_parameters(const FilterOptions& options);

}  // namespace halocline
