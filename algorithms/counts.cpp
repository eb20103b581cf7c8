#include "algorithms/counts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "algorithms/parallel_slices.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

std::vector<double> mean_over_views(const Volume& stack) {
  const std::size_t slice = stack.grid.slice(), views = stack.grid.size[2];
  std::vector<double> mean(slice, 0.0);
  for (std::size_t view = 0; view < views; ++view)
    for (std::size_t n = 0; n < slice; ++n) mean[n] += stack.voxels[view * slice + n];
  for (double& value : mean) value /= static_cast<double>(views);
  return mean;
}

void require_detector(const Volume& fields, const std::string& name, const Volume& counts,
                      const std::string& counts_name) {
  const auto &found = fields.grid.size, &expected = counts.grid.size;
  if (found[0] != expected[0] || found[1] != expected[1])
    throw InputError(
        fmt::format("{}: the detector has {} x {} pixels, but {} x {} in {}; both must come from the same detector "
                    "with the same crop and binning",
                    name, found[0], found[1], expected[0], expected[1], counts_name));
  if (found[2] == 0) throw InputError(fmt::format("{}: no views; at least one is needed", name));
}

}  // namespace

CountsReport counts_to_line_integrals(Volume& counts, const Volume& flats, const Volume& darks,
                                      const std::string& counts_name, const std::string& flats_name,
                                      const std::string& darks_name) {
  require_detector(flats, flats_name, counts, counts_name);
  require_detector(darks, darks_name, counts, counts_name);
  const std::vector<double> dark = mean_over_views(darks);
  std::vector<double> open = mean_over_views(flats);  // flat - dark: what the beam alone gives
  CountsReport report;
  report.pixels = counts.voxels.size();
  for (std::size_t n = 0; n < open.size(); ++n) {
    open[n] -= dark[n];
    if (!(open[n] > 0)) ++report.dead_pixels;
  }
  const std::size_t slice = counts.grid.slice(), views = counts.grid.size[2];
  std::vector<std::size_t> nonpositive(views, 0);
  parallel_slices(views, [&](std::size_t view) {
    for (std::size_t n = 0; n < slice; ++n) {
      float& value = counts.voxels[view * slice + n];
      if (!(open[n] > 0)) {
        value = 0;
        continue;
      }
      double signal = value - dark[n];
      if (!(signal > 0)) {
        signal = 0.5;
        ++nonpositive[view];
      }
      value = static_cast<float>(-std::log(signal / open[n]));
    }
  });
  for (const std::size_t count : nonpositive) report.nonpositive += count;
  return report;
}

}  // namespace halocline
