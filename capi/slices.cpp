// Slices of projections that remain on the device.
#include "algorithms/fdk/slices.hpp"

#include <fmt/format.h>

#include <memory>

#include "algorithms/jobs/fdk_settings.hpp"
#include "capi/context.hpp"
#include "capi/geometry.hpp"
#include "capi/log.hpp"
#include "capi/status.hpp"
#include "host/system/log.hpp"
#include "host/volume/finite_source.hpp"

using namespace halocline;
using namespace halocline::capi;

struct halocline_slices {
  std::shared_ptr<const Context> context;
  std::unique_ptr<Slices> slices;
};

namespace {

FdkParameters parameters_of(const halocline_slices_options& options) {
  SlicesSettings slices;
  Settings settings;
  slices.add_to(settings);
  const auto set = [&](const char* name, const std::string& value) {
    settings.set("halocline_slices_options", name, {value});
  };
  const auto set_text = [&](const char* name, const char* value) {
    if (value != nullptr) set(name, value);
  };
  const auto set_number = [&](const char* name, double value) { set(name, fmt::format("{}", value)); };
  set_text("window", options.window);
  set_number("cutoff", options.cutoff);
  set_text("interpolation", options.interpolation);
  set_number("pad", options.pad);
  if (options.photons != 0) set_number("photons", options.photons), set("variance", "true");
  if (options.electronic != 0) set_number("electronic", options.electronic);
  if (options.allow_incomplete_arc != 0) set("allow-incomplete-arc", "true");
  settings.check(false);
  return slices.parameters();
}

std::size_t most_pixels_of(const halocline_slices_options& options, const Grid& volume) {
  if (options.most_pixels < 0)
    throw InputError(
        {.what = "`most_pixels`", .found = fmt::to_string(options.most_pixels), .expected = "0 or a positive number"});
  const auto [i, j, k] = volume.size;
  return options.most_pixels == 0 ? 4 * (i * j + i * k + j * k) : static_cast<std::size_t>(options.most_pixels);
}

MemorySource projections_of(const halocline_grid* grid, const float* projections) {
  const MemorySource source(grid_of(required(grid, "`projections_grid`"), "the grid of the projections"),
                            &required(projections, "`projections`"));
  require_rays(source, "the projections", false, mend_nonfinite);
  return source;
}

}  // namespace

extern "C" int halocline_slices_new(halocline_context* context, const halocline_geometry* geometry,
                                    const halocline_grid* projections_grid, const float* projections,
                                    const halocline_grid* volume, const halocline_slices_options* options,
                                    halocline_slices** slices) noexcept {
  return guarded([&] {
    take_over_log();
    auto& result = required(slices, "`slices`");
    const auto all =
        taken(options, halocline_slices_options(HALOCLINE_SLICES_OPTIONS_INIT), "halocline_slices_options");
    auto made = std::make_unique<halocline_slices>();
    made->context = required(context, "`context`").shared;
    const Geometry& scan = required(geometry, "`geometry`").geometry;
    const MemorySource source = projections_of(projections_grid, projections);
    const Grid grid = grid_of(required(volume, "`volume`"), "the grid of the volume");
    const FdkParameters parameters = parameters_of(all);
    const Range views{0, static_cast<std::int64_t>(scan.views.size())};
    for (const auto& note :
         check_windows(scan, source.grid(), grid, parameters, std::span(&views, 1), "the projections", "the geometry"))
      library_log()->warn("{}", note);
    made->slices = std::make_unique<Slices>(made->context->devices.front(), source, scan, grid, parameters,
                                            most_pixels_of(all, grid));
    result = made.release();
  });
}

extern "C" int halocline_slices_add(halocline_slices* slices, const halocline_geometry* geometry,
                                    const halocline_grid* projections_grid, const float* projections) noexcept {
  return guarded([&] {
    Slices& own = *required(slices, "`slices`").slices;
    own.add(projections_of(projections_grid, projections), required(geometry, "`geometry`").geometry);
  });
}

extern "C" int halocline_slices_reconstruct(halocline_slices* slices, const halocline_grid* grids, int64_t count,
                                            float* values) noexcept {
  return guarded([&] {
    Slices& own = *required(slices, "`slices`").slices;
    float* to = &required(values, "`values`");
    std::vector<MemorySink> memory;
    std::vector<VolumeSink*> sinks;
    for (const Grid& grid : grids_of(grids, count, "`grids`")) {
      memory.emplace_back(grid, to);
      to += grid.count();
    }
    for (MemorySink& sink : memory) sinks.push_back(&sink);
    own.reconstruct(sinks);
  });
}

extern "C" void halocline_slices_free(halocline_slices* slices) noexcept {
  delete slices;
}
