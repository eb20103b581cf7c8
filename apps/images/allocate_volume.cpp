#include "apps/images/allocate_volume.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/system/error.hpp"

namespace halocline {

TypedVolume allocate_volume(const Grid& grid, Component component, const std::string& path, const Scaling& scaling) {
  check_grid(grid, "'" + path + "'");
  try {
    return TypedVolume(grid, component, scaling);
  } catch (const InputError&) {  // an error about `scratch`
    throw;
  } catch (const std::exception&) {  // bad_alloc or length_error
    throw InputError(
        fmt::format("'{}': a volume of {} voxels needs {} bytes of host memory, which are not there; crop it or use a "
                    "larger machine",
                    path, fmt::join(grid.size, " x "), grid.count() * component_bytes(component)));
  }
}

}  // namespace halocline
