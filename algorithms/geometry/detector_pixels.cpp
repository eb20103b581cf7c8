#include "algorithms/geometry/detector_pixels.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/system/error.hpp"

namespace halocline {
namespace {

std::array<double, 2> half_extent(const std::optional<std::array<std::size_t, 2>>& size,
                                  const std::optional<std::array<double, 2>>& spacing) {
  if (!size)
    throw InputError(
        "the number of detector pixels is not known; give `detector.size = NU,NV` to place the detector's centre");
  if (!spacing) throw InputError("the size of a detector pixel is not known; give `detector.spacing = DU,DV` in mm");
  std::array<double, 2> half;
  for (int axis = 0; axis < 2; ++axis) half[axis] = 0.5 * (static_cast<double>((*size)[axis]) - 1) * (*spacing)[axis];
  return half;
}

}  // namespace

DetectorPixels DetectorPixels::or_else(const DetectorPixels& other) const {
  DetectorPixels out = *this;
  if (!out.size) out.size = other.size;
  if (!out.spacing) out.spacing = other.spacing;
  if (!out.origin) out.origin = other.origin;
  return out;
}

std::array<double, 2> DetectorPixels::centre() const {
  if (!origin) return {0, 0};
  const auto half = half_extent(size, spacing);
  return {(*origin)[0] + half[0], (*origin)[1] + half[1]};
}

std::array<double, 2> DetectorPixels::first() const {
  if (origin) return *origin;
  const auto half = half_extent(size, spacing);
  return {-half[0], -half[1]};
}

Grid DetectorPixels::grid(std::size_t views) const {
  half_extent(size, spacing);  // or says what is missing
  const auto corner = first();
  Grid grid;
  grid.size = {(*size)[0], (*size)[1], views};
  grid.spacing = {(*spacing)[0], (*spacing)[1], 1};
  grid.origin = {corner[0], corner[1], 0};
  return grid;
}

DetectorPixels DetectorPixels::of(const Grid& projections) {
  DetectorPixels pixels;
  pixels.size = {projections.size[0], projections.size[1]};
  pixels.spacing = {projections.spacing[0], projections.spacing[1]};
  pixels.origin = {projections.origin[0], projections.origin[1]};
  for (int axis = 0; axis < 2; ++axis)
    if (projections.direction[4 * axis] < 0)
      (*pixels.origin)[axis] -= static_cast<double>(projections.size[axis] - 1) * projections.spacing[axis];
  return pixels;
}

void require_same_pixels(const DetectorPixels& file, const DetectorPixels& given, const std::string& file_name) {
  if (file.size && given.size && *file.size != *given.size)
    throw InputError(
        fmt::format("{} is about a detector of {} x {} pixels, not of {} x {}; give the geometry of this "
                    "detector",
                    file_name, (*file.size)[0], (*file.size)[1], (*given.size)[0], (*given.size)[1]));
  if (!file.spacing || !given.spacing) return;
  for (int axis = 0; axis < 2; ++axis)
    if (!(std::abs((*file.spacing)[axis] / (*given.spacing)[axis] - 1) <= 1e-6))
      throw InputError(
          fmt::format("{} is about pixels of {:.9g} x {:.9g} mm, not of {:.9g} x {:.9g} mm; correct the "
                      "one that is wrong",
                      file_name, (*file.spacing)[0], (*file.spacing)[1], (*given.spacing)[0], (*given.spacing)[1]));
}

}  // namespace halocline
