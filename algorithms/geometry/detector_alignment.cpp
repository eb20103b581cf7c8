#include "algorithms/geometry/detector_alignment.hpp"

#include <algorithm>
#include <cmath>

namespace halocline {
namespace {

template <typename Get>
Alignment::Value statistics(const Geometry& geometry, Get get) {
  Alignment::Value out;
  for (const View& view : geometry.views) out.mean += get(view) / static_cast<double>(geometry.views.size());
  for (const View& view : geometry.views) out.spread = std::max(out.spread, std::abs(get(view) - out.mean));
  return out;
}

}  // namespace

Alignment alignment(const Geometry& geometry) {
  Alignment out;
  out.axis_u = statistics(geometry, [](const View& v) { return isocentre_on_detector(v)[0]; });
  out.axis_v = statistics(geometry, [](const View& v) { return isocentre_on_detector(v)[1]; });
  out.out_of_plane = statistics(geometry, [](const View& v) { return std::remainder(v.out_of_plane_angle, 360); });
  out.in_plane = statistics(geometry, [](const View& v) { return std::remainder(v.in_plane_angle, 360); });
  out.source_x = statistics(geometry, [](const View& v) { return v.source_offset_x; });
  out.source_y = statistics(geometry, [](const View& v) { return v.source_offset_y; });
  return out;
}

}  // namespace halocline
