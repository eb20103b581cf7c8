#include "tests/fuzz/scan.hpp"

#include <cmath>

#include "host/system/error.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {

ScanFile read_scan(const std::string& path, std::optional<GeometryFormat> format, const DetectorPixels& detector) {
  const ScanFile scan = load_geometry(path, format, detector);
  for (const View& view : scan.geometry.views)
    require(std::isfinite(view.gantry_angle) && std::isfinite(view.sid), "a view that is not finite");
  if (!format) {
    detector_in(path);
    white_level_in(path);
  }
  return scan;
}

void require_views(const ScanFile& scan, const std::string& path) {
  std::string why;
  try {
    const ScanFile copy = load_geometry(path);
    if (copy.geometry.views.size() != scan.geometry.views.size()) why = "it has another number of views";
  } catch (const Error& error) {
    why = error.what();
  }
  require(why.empty(), "a geometry that was written: " + why);
}

}  // namespace halocline::fuzz
