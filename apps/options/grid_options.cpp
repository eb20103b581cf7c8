#include "apps/options/grid_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"

namespace halocline {

void add_grid_options(Settings& settings, GridOptions& options, bool from_scan) {
  const std::string group = "Grid of the volume",
                    chosen_size =
                        ". Default: what the detector sees (across, as many as it has "
                        "columns, and slices as its rows), or the voxels that an .xtekct "
                        "states",
                    chosen_spacing =
                        ". Default: the pixels at the isocentre, or with --size what the detector sees over it";
  settings.add_list("size", options.size, "NX,NY,NZ", Numbers::sizes,
                    "Voxels along the index axes i, j, k. By default i = +x, j = +z and k = +y, the rotation axis" +
                        (from_scan ? chosen_size : ""));
  settings.add_list("spacing", options.spacing, "SX,SY,SZ", Numbers::positive,
                    "Voxel size along i, j, k, mm" + (from_scan ? chosen_spacing : ""));
  settings.add_list(
      "origin", options.origin, "X,Y,Z", Numbers::any,
      "World position of the centre of voxel (0,0,0), mm. Default: the volume is centred on the isocentre");
  settings.add_list(
      "direction", options.direction, "D11,D12,...,D33", Numbers::any,
      "Nine numbers, row by row, whose columns are the axes i, j, k in the world, as ITK prints them; with commas or "
      "spaces between. Default: 1,0,0,0,0,1,0,1,0");
  Setting& like = settings.add("like", options.like, "Take the whole grid from this image's header");
  like.unit("FILE").group(group);
  for (const char* other : {"size", "spacing", "origin", "direction"}) {
    settings.find(other)->group(group);
    like.excludes(other);
  }
}

bool leaves_grid(const GridOptions& options) {
  return options.like.empty() && (!options.size || !options.spacing);
}

Grid make_grid(const GridOptions& options, const std::function<Grid()>& otherwise) {
  Grid grid;
  if (!options.like.empty()) {
    const ImageInfo info = read_image_info(options.like);
    grid = info.grid;
    check_grid(grid, "--like " + options.like);
    warn_of_grid(info, "--like '" + options.like + "'",
                 "if that is not so, give a .mha, .nrrd or .nii file, or --size, --spacing and --origin instead");
  } else if (leaves_grid(options) && otherwise && !options.direction) {
    grid = otherwise();
    if (options.origin) grid.origin = *options.origin;
    check_grid(grid, "the volume of the scan");
  } else {
    if (!options.size || !options.spacing)
      throw InputError(
          fmt::format("the grid of the volume is not known: {} is missing; give --size and --spacing, or --like",
                      options.size ? "--spacing" : "--size"));
    grid = default_grid(*options.size, *options.spacing);
    if (options.direction) {
      grid.direction = *options.direction;
      const auto& d = grid.direction;
      for (int row = 0; row < 3; ++row) {
        grid.origin[row] = 0;
        for (int axis = 0; axis < 3; ++axis)
          grid.origin[row] -= 0.5 * d[3 * row + axis] * (static_cast<double>(grid.size[axis]) - 1) * grid.spacing[axis];
      }
    }
    if (options.origin) grid.origin = *options.origin;
    require_reasonable(grid, "--size");
    check_grid(grid, "the volume of --size, --spacing, --origin and --direction");
  }
  require_reasonable(grid, options.like.empty() ? "--size" : "--like " + options.like);
  return grid;
}

std::optional<Grid> stated_grid(const GridOptions& options) {
  if (leaves_grid(options)) return std::nullopt;
  return make_grid(options);
}

void require_reasonable(const Grid& grid, const std::string& what) {
  const double count =
      static_cast<double>(grid.size[0]) * static_cast<double>(grid.size[1]) * static_cast<double>(grid.size[2]);
  if (count > 0x1p48)
    throw InputError(fmt::format("{} {}: {:.3g} values are more than any computer holds; expected at most 2^48", what,
                                 fmt::join(grid.size, ","), count));
}

}  // namespace halocline
