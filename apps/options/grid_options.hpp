// --size --spacing --origin --direction --like: on which grid a volume is made.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "algorithms/jobs/settings.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

struct GridOptions {
  std::optional<std::array<std::size_t, 3>> size;
  std::optional<std::array<double, 3>> spacing, origin;
  std::optional<std::array<double, 9>> direction;
  std::string like;
};

/// from_scan: what they leave open is chosen by the scan.
void add_grid_options(Settings& settings, GridOptions& options, bool from_scan = false);

/// The grid that the options mean: that of the file's header for --like; otherwise default_grid(), with the direction
/// and the origin replaced where they are given. Without --origin the volume is centred on the isocentre, whatever its
/// direction. otherwise: what else makes a grid of options that leave it open. Throws InputError that names the option.
Grid make_grid(const GridOptions& options, const std::function<Grid()>& otherwise = {});

/// True if size or spacing, or both, are to be chosen.
bool leaves_grid(const GridOptions& options);
/// The grid of options that leave nothing open: what is wrong with it is found before a scan is looked at.
std::optional<Grid> stated_grid(const GridOptions& options);

/// Throws InputError if the product of the sizes cannot be meant (2^48 values).
void require_reasonable(const Grid& grid, const std::string& what);

}  // namespace halocline
