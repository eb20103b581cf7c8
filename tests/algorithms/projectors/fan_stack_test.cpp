// labels: device slab
// Stacks of fans: each row has the bits of a fan beam of its slice alone, in every projector, form and reconstruction;
// what cannot be one is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <memory>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/geometry/default_volume.hpp"
#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/field_of_view.hpp"
#include "algorithms/geometry/geometry_text.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/joseph_slices_adjoint.hpp"
#include "algorithms/projectors/projector.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::fan_stack_test {
namespace {

using reference::device;
using Voxels = std::vector<float>;

constexpr double height = 1.3;  // of a slice, mm

// Rows upside down, detector counted backwards; columns of the detector bent; the source within the volume.
struct Shape {
  const char* name;
  bool upside_down = false, backwards = false;
  double radius = 0, sid = 90;
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.name;
}

CircularOptions circle(const Shape& shape, bool fan_stack) {
  CircularOptions options;
  options.sid = shape.sid;
  options.sdd = 133;
  for (int n = 0; n < 21; ++n) options.angles.push_back(3.1 + n * 360.0 / 21 + std::sin(n));
  options.source_offset_x = 1.5;
  options.projection_offset_x = 2;
  options.in_plane_angle = shape.upside_down ? 180 : 0;
  options.fan_stack = fan_stack;
  return options;
}

Geometry geometry_of(const Shape& shape, bool fan_stack) {
  Geometry geometry = circular_geometry(circle(shape, fan_stack));
  geometry.radius_cylindrical_detector = shape.radius;
  return geometry;
}

// A stack with more rows than slices, both off the middle, and what one slice of it is alone.
class FanStack : public testing::TestWithParam<Shape> {
 protected:
  static constexpr std::size_t slices = 7, rows = 10, first_row = 2;
  Geometry stack = geometry_of(GetParam(), true), fan = geometry_of(GetParam(), false);
  Grid grid = volume_of(slices), slice = volume_of(1), projections = detector_of(rows), line = detector_of(1);
  Volume volume, values;

  FanStack() {
    grid.origin[1] = 4 * height;
    const double up = GetParam().upside_down ? -1 : 1, along = GetParam().backwards ? -1 : 1;
    projections.origin[1] = up * grid.origin[1] - along * height * static_cast<double>(row_of(0));
    volume = reference::random_volume(grid, 5);
    values = reference::random_volume(projections, 6);
  }

  static Grid volume_of(std::size_t count) {
    Grid out = default_grid({13, 9, count}, {2, 2.5, height});
    out.origin[0] += 1.5;
    out.origin[1] = 0;
    return out;
  }
  static Grid detector_of(std::size_t count) {
    Grid out = reference::detector(37, count, 21, 1.4, height);
    out.origin[1] = 0;
    if (!GetParam().backwards) return out;
    out.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
    out.origin[0] = -out.origin[0];
    return out;
  }

  static std::size_t row_of(std::size_t k) {
    return first_row + (GetParam().upside_down == GetParam().backwards ? k : slices - 1 - k);
  }
  Volume slice_of(std::size_t k) const {
    Volume out(slice);
    std::copy_n(volume.voxels.begin() + static_cast<std::ptrdiff_t>(k * grid.slice()), grid.slice(),
                out.voxels.begin());
    return out;
  }
  // The row of slice k in all views.
  Volume line_of(std::size_t k, const Volume& all) const {
    Volume out(line);
    const std::size_t columns = projections.size[0];
    for (std::size_t view = 0; view < projections.size[2]; ++view)
      std::copy_n(all.voxels.begin() + static_cast<std::ptrdiff_t>((view * rows + row_of(k)) * columns), columns,
                  out.voxels.begin() + static_cast<std::ptrdiff_t>(view * columns));
    return out;
  }
  Voxels slice_in(const Voxels& all, std::size_t k) const {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(k * grid.slice());
    return {begin, begin + static_cast<std::ptrdiff_t>(grid.slice())};
  }
};

TEST_P(FanStack, RowsHaveTheBitsOfFans) {
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    for (const bool gpu : {false, true}) {
      SCOPED_TRACE(projector_name(projector) + (gpu ? ", for GPUs" : ""));
      const ProjectionParameters parameters{.projector = projector, .gpu = gpu};
      const Volume all = project(volume, stack, projections, parameters, device()).output;
      const auto back = [&](const Volume& raw, const Geometry& geometry, const Grid& out) {
        return run_program(program_of(RayBackprojection(geometry, raw.grid, out, projector, gpu)), {{"raw", &raw}}, out,
                           device())
            .output.voxels;
      };
      const Voxels whole = back(values, stack, grid);
      double sum = 0;
      for (std::size_t k = 0; k < slices; ++k) {
        const Volume expected = project(slice_of(k), fan, line, parameters, device()).output;
        EXPECT_TRUE(line_of(k, all).voxels == expected.voxels) << "slice " << k;
        EXPECT_TRUE(slice_in(whole, k) == back(line_of(k, values), fan, slice)) << "slice " << k;
        for (const float value : expected.voxels) sum += value;
      }
      EXPECT_GT(sum, 0);
      double everywhere = 0;  // rows beyond the volume see nothing
      for (const float value : all.voxels) everywhere += value;
      EXPECT_NEAR(everywhere, sum, 1e-6 * sum);
    }
}

TEST_P(FanStack, VoxelDrivenSlicesHaveTheBitsOfFans) {
  if (GetParam().radius > 0) GTEST_SKIP() << "for flat detectors";
  for (const bool cpu : {false, true}) {
    const auto back = [&](const Volume& raw, const Geometry& geometry, const Grid& out) {
      return run_program(program_of(Backprojection(geometry, raw.grid, out, {.cpu = cpu})), {{"raw", &raw}}, out,
                         device())
          .output.voxels;
    };
    const Voxels whole = back(values, stack, grid);
    for (std::size_t k = 0; k < slices; ++k)
      EXPECT_TRUE(slice_in(whole, k) == back(line_of(k, values), fan, slice)) << "slice " << k;
  }
}

TEST_P(FanStack, FilteredBackProjectionIsThatOfFans) {
  if (GetParam().sid < 20) GTEST_SKIP() << "the source is within the volume";
  for (const double pad : {0.0, 0.3}) {
    const FdkParameters parameters{.pad = pad, .log_notes = false, .longest_local_rows = 0};
    const Voxels whole = fdk(values, stack, grid, parameters, device()).output.voxels;
    for (std::size_t k = 0; k < slices; ++k) {
      // two rows are filtered as one complex row, which rounds what is beside a value
      const Voxels found = slice_in(whole, k),
                   expected = fdk(line_of(k, values), fan, slice, parameters, device()).output.voxels;
      double largest = 0, apart = 0;
      for (std::size_t n = 0; n < found.size(); ++n) {
        largest = std::max(largest, static_cast<double>(std::abs(expected[n])));
        apart = std::max(apart, static_cast<double>(std::abs(found[n] - expected[n])));
      }
      EXPECT_LT(apart, 2e-6 * largest) << "slice " << k;
    }
  }
}

TEST_P(FanStack, SlicesInnermostHaveTheBitsOfThePortableForm) {
  if (!make_rays(stack, grid, projections).plain()) GTEST_SKIP() << "for whole lines";
  const auto rows_found = slice_rows(make_rays(stack, grid, projections), grid, projections);
  ASSERT_TRUE(rows_found && rows_found->aligned);
  for (const auto& options : {RunOptions{}, split(3, 5), split(7, 1)}) {
    const auto projected = [&](bool innermost) {
      const RayProjection method(stack, grid, projections, {.gpu = true, .slices_innermost = innermost});
      return run_program(program_of(method), {{"volume", &volume}}, projections, device(), options).output.voxels;
    };
    EXPECT_TRUE(projected(true) == projected(false));
    const auto back = [&](std::shared_ptr<const BackprojectionMethod> method) {
      return run_program(program_of(method), {{"raw", &values}}, grid, device(), options).output.voxels;
    };
    EXPECT_TRUE(back(std::make_shared<SliceBackprojection>(stack, projections, grid)) ==
                back(std::make_shared<RayBackprojection>(stack, projections, grid, Projector::joseph, true)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, FanStack,
                         testing::Values(Shape{"plain"}, Shape{"upside_down", true}, Shape{"backwards", false, true},
                                         Shape{"upside_down_backwards", true, true},
                                         Shape{"cylinder", false, false, 133},
                                         Shape{"source_inside", false, false, 0, 11},
                                         Shape{"cylinder_source_inside", true, false, 133, 11}),
                         [](const auto& info) { return info.param.name; });

TEST(FanStackGeometry, RowsAreNotMagnified) {
  CircularOptions options = circle({}, true);
  options.source_offset_x = options.projection_offset_x = 0;
  options.projection_offset_y = 2;
  const Geometry geometry = circular_geometry(options);
  const View& view = geometry.views.front();
  for (const double v : {-3.0, 0.0, 7.5}) {
    const Ray ray = ViewRays(view).to(4, v);
    EXPECT_NEAR(ray.origin[1], v + 2, 1e-12);
    EXPECT_NEAR(ray.direction[1], 0, 1e-15);
    EXPECT_NEAR(std::hypot(ray.origin[0], ray.origin[2]), 90, 1e-9);
  }
  EXPECT_NEAR(isocentre_on_detector(view)[1], -2, 1e-12);
  const Grid stack = reference::detector(41, 9, 21, 1.33, 1.1);
  const Grid seen = default_volume(geometry, stack, false);
  EXPECT_EQ(seen.size, (std::array<std::size_t, 3>{41, 41, 9}));
  EXPECT_NEAR(seen.spacing[0], 0.9, 1e-9);
  EXPECT_NEAR(seen.spacing[2], 1.1, 1e-9);
  EXPECT_NEAR(seen.world(0, 0, 4)[1], 2, 1e-9);
  const FieldOfView field = field_of_view(geometry, DetectorPixels::of(stack));
  EXPECT_NEAR(field.low, 2 - 4.5 * 1.1, 1e-9);
  EXPECT_NEAR(field.high, 2 + 4.5 * 1.1, 1e-9);
}

TEST(FanStackGeometry, IsReadAsItWasWrittenAndIsNoConeToOthers) {
  const Geometry geometry = circular_geometry(circle({}, true));
  const std::string text = geometry_xml(geometry);
  EXPECT_THAT(text, testing::HasSubstr("version=\"fan stack 1\""));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("<Matrix>")));
  const std::string path = testing::TempDir() + "fan_stack.xml";
  std::ofstream(path) << text;
  const Geometry read = read_geometry(path);
  EXPECT_TRUE(read.fan_stack());
  EXPECT_EQ(geometry_xml(read), text);
  EXPECT_TRUE(select_views(read, {3, 1}).fan_stack());
  EXPECT_THAT([&] { geometry_text(geometry, TextFormat::matrices, {}); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("does not take a stack of fans; write RTK's XML")));
}

TEST(FanStackGeometry, WhatCannotBeOneIsRefused) {
  const auto refused = [](void (*change)(CircularOptions&), const std::string& expected) {
    CircularOptions options = circle({}, true);
    change(options);
    EXPECT_THAT([&] { circular_geometry(options); }, testing::ThrowsMessage<InputError>(testing::HasSubstr(expected)));
  };
  refused([](CircularOptions& c) { c.sdd = 0; }, "leave `fan_stack` out");
  refused([](CircularOptions& c) { c.out_of_plane_angle = 2; }, "the angles must be 0");
  refused([](CircularOptions& c) { c.in_plane_angle = 90; }, "the angles must be 0");
  refused([](CircularOptions& c) { c.source_offset_y = 1; }, "the source offset y is 1 mm");
  Geometry mixed = circular_geometry(circle({}, true));
  mixed.views.back().fan_stack = false;
  EXPECT_THAT([&] { check_geometry(mixed, "it"); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("give scans of one kind")));
  Grid world;
  world.size = {5, 6, 7};
  world.spacing = {1, 1, 1};
  const Geometry geometry = circular_geometry(circle({}, true));
  const Volume stack(reference::detector(9, 5, 21, 1, 1));
  for (const auto& run :
       {std::function<void()>([&] { project(Volume(world), geometry, stack.grid, device()); }),
        std::function<void()>([&] { backproject(stack, geometry, world, Projector::joseph, device()); }),
        std::function<void()>([&] { fdk(stack, geometry, world, {}, device()); })})
    EXPECT_THAT(run, testing::ThrowsMessage<InputError>(testing::HasSubstr("turn the volume so that k runs along y")));
}

// Root mean square error of the distance-driven projection of a slice through an ellipse, over the largest value.
double ellipse_error(double sdd, double pixel_height) {
  Primitive ellipse;
  ellipse.semi_axes = {40, 1000, 25};
  ellipse.centre = {6, 0, -9};
  ellipse.value = 0.02;
  CircularOptions options;
  options.sid = 300;
  options.sdd = sdd;
  options.projections = 40;
  options.first_angle = 0.3;
  const Geometry geometry = circular_geometry(options);
  const double voxel = 0.5;
  const Grid line = reference::detector(256, 1, 40, sdd == 0 ? 0.55 : 1.1, pixel_height);
  const Volume exact = project_analytic({ellipse}, geometry, line),
               slice = voxelise({ellipse}, default_grid({256, 256, 1}, {voxel, voxel, voxel}), 8),
               found = project(slice, geometry, line, {Projector::distance_driven}, device()).output;
  double squares = 0, largest = 0;
  for (std::size_t n = 0; n < exact.voxels.size(); ++n) {
    squares += std::pow(found.voxels[n] - exact.voxels[n], 2);
    largest = std::max(largest, static_cast<double>(exact.voxels[n]));
  }
  return std::sqrt(squares / static_cast<double>(exact.voxels.size())) / largest;
}

TEST(DistanceDrivenWithinASlice, HeightsOfPixelsDoNotCount) {
  for (const double sdd : {0.0, 600.0})
    for (const double pixel_height : {0.05, 0.5, 1.1, 20.0}) EXPECT_LT(ellipse_error(sdd, pixel_height), 0.004);
}

}  // namespace
}  // namespace halocline::fan_stack_test
