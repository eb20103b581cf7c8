// labels: device
// Patches and slices of the C interface: the bits of the C++ class and of the verb fdk, and what they refuse.
#include <gmock/gmock.h>
#include <halocline.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "algorithms/projectors/patches.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::c_patches_test {
namespace {

using Numbers = std::vector<float>;

template <class Object>
using Owned = std::unique_ptr<Object, void (*)(Object*)>;

halocline_grid c_grid(const Grid& grid) {
  halocline_grid result = HALOCLINE_GRID_INIT;
  for (int axis = 0; axis < 3; ++axis) result.size[axis] = static_cast<std::int64_t>(grid.size[axis]);
  std::copy(grid.spacing.begin(), grid.spacing.end(), result.spacing);
  std::copy(grid.origin.begin(), grid.origin.end(), result.origin);
  std::copy(grid.direction.begin(), grid.direction.end(), result.direction);
  return result;
}

Owned<halocline_geometry> c_geometry(const Geometry& geometry) {
  std::vector<double> numbers;
  for (const View& view : geometry.views)
    numbers.insert(numbers.end(),
                   {view.sid, view.sdd, view.gantry_angle, view.out_of_plane_angle, view.in_plane_angle,
                    view.source_offset_x, view.source_offset_y, view.projection_offset_x, view.projection_offset_y});
  halocline_geometry* made = nullptr;
  EXPECT_EQ(halocline_geometry_from_views(numbers.data(), static_cast<std::int64_t>(geometry.views.size()),
                                          geometry.radius_cylindrical_detector, &made),
            HALOCLINE_OK)
      << halocline_last_error();
  return {made, halocline_geometry_free};
}

Geometry some_views(const Geometry& geometry, std::size_t first, std::size_t count) {
  Geometry part = geometry;
  const auto begin = geometry.views.begin() + static_cast<std::ptrdiff_t>(first);
  part.views.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  return part;
}

Grid with_views(Grid stack, std::size_t views) {
  stack.size[2] = views;
  return stack;
}

class CPatches : public testing::Test {
 protected:
  CPatches() {
    geometry.views.clear();
    for (int n = 0; n < 24; ++n) {
      geometry.views.push_back(scene.geometry.views.front());
      geometry.views.back().gantry_angle = 15 * n + 2;
    }
    halocline_context* made = nullptr;
    EXPECT_EQ(halocline_context_new(nullptr, &made), HALOCLINE_OK) << halocline_last_error();
    context.reset(made);
    halocline_patches* new_patches = nullptr;
    expect_ok(halocline_patches_new(context.get(), c_geometry(geometry).get(), &volume, &stack, &new_patches));
    patches.reset(new_patches);
  }

  static void expect_ok(int status) { EXPECT_EQ(status, HALOCLINE_OK) << halocline_last_error(); }
  static void expect_refusal(int status, const char* text) {
    EXPECT_EQ(status, HALOCLINE_ERROR_INPUT);
    EXPECT_THAT(halocline_last_error(), testing::HasSubstr(text));
  }

  halocline_grid part(std::array<std::int64_t, 3> first, std::array<std::int64_t, 3> size) const {
    halocline_grid result = HALOCLINE_GRID_INIT;
    expect_ok(halocline_grid_part(&volume, first.data(), size.data(), &result));
    return result;
  }

  // A part of the volume, a plane of it, and a box of its own between the voxels.
  std::vector<halocline_grid> three_boxes() const {
    halocline_grid between = part({2, 1, 0}, {4, 3, 2});
    between.spacing[0] *= 0.7;
    return {part({1, 2, 0}, {3, 4, 2}), part({0, 3, 0}, {volume.size[0], 1, volume.size[2]}), between};
  }
  static std::vector<Grid> as_grids(const std::vector<halocline_grid>& boxes) {
    std::vector<Grid> grids;
    for (const halocline_grid& box : boxes) {
      Grid& grid = grids.emplace_back();
      for (int axis = 0; axis < 3; ++axis) grid.size[axis] = static_cast<std::size_t>(box.size[axis]);
      std::copy_n(box.spacing, 3, grid.spacing.begin());
      std::copy_n(box.origin, 3, grid.origin.begin());
      std::copy_n(box.direction, 9, grid.direction.begin());
    }
    return grids;
  }
  Numbers backprojected(const float* given) {
    std::int64_t count = 0;
    expect_ok(halocline_patches_voxel_count(patches.get(), &count));
    Numbers voxels(static_cast<std::size_t>(count), -1);
    expect_ok(halocline_patches_backproject(patches.get(), given, voxels.data()));
    return voxels;
  }

  reference::Scene scene = reference::scene_named("cone");
  Geometry geometry = scene.geometry;
  Volume projections = reference::random_volume(with_views(scene.projections, 24), 5);
  halocline_grid volume = c_grid(scene.grid), stack = c_grid(projections.grid);
  Owned<halocline_context> context{nullptr, halocline_context_free};
  Owned<halocline_patches> patches{nullptr, halocline_patches_free};
};

TEST_F(CPatches, HaveTheBitsOfTheClass) {
  const auto boxes = three_boxes();
  Patches expected(reference::device().front(), geometry, scene.grid, projections.grid);
  expected.set_boxes(as_grids(boxes));
  expect_ok(halocline_patches_set_boxes(patches.get(), boxes.data(), 3));
  const Numbers voxels = backprojected(projections.voxels.data());
  EXPECT_EQ(voxels, expected.backproject(projections.voxels));
  Numbers projected(projections.voxels.size(), -1);
  expect_ok(halocline_patches_project(patches.get(), voxels.data(), projected.data()));
  EXPECT_EQ(projected, expected.project(voxels));

  const std::int64_t some[] = {17, 3, 8};
  expect_ok(halocline_patches_set_views(patches.get(), some, 3));
  expected.set_views(std::vector{17, 3, 8});
  EXPECT_EQ(backprojected(projections.voxels.data()), expected.backproject(projections.voxels));
  expect_ok(halocline_patches_set_views(patches.get(), nullptr, 0));
  EXPECT_EQ(backprojected(projections.voxels.data()), voxels);
}

TEST_F(CPatches, ReplaceViewsOnTheDevice) {
  const auto boxes = three_boxes();
  expect_ok(halocline_patches_set_boxes(patches.get(), boxes.data(), 3));
  expect_ok(halocline_patches_set_projections(patches.get(), 0, 24, projections.voxels.data()));
  EXPECT_EQ(backprojected(nullptr), backprojected(projections.voxels.data()));
  Geometry turned = some_views(geometry, 0, 5);
  for (View& view : turned.views) view.gantry_angle += 3.5;
  const Volume fresh = reference::random_volume(with_views(projections.grid, 5), 6);
  expect_ok(halocline_patches_replace_views(patches.get(), 7, c_geometry(turned).get()));
  expect_ok(halocline_patches_set_projections(patches.get(), 7, 5, fresh.voxels.data()));

  Geometry moved = geometry;
  std::copy(turned.views.begin(), turned.views.end(), moved.views.begin() + 7);
  Volume all = projections;
  std::copy(fresh.voxels.begin(), fresh.voxels.end(),
            all.voxels.begin() + static_cast<std::ptrdiff_t>(7 * all.grid.slice()));
  Patches expected(reference::device().front(), moved, scene.grid, all.grid);
  expected.set_boxes(as_grids(boxes));
  EXPECT_EQ(backprojected(nullptr), expected.backproject(all.voxels));
}

TEST_F(CPatches, ViewsThatWereNeverGivenAreZero) {
  const halocline_grid box = part({0, 0, 0}, {4, 4, 2});
  expect_ok(halocline_patches_set_boxes(patches.get(), &box, 1));
  expect_ok(halocline_patches_set_projections(patches.get(), 3, 2, projections.voxels.data()));
  Volume all(projections.grid);
  std::copy_n(projections.voxels.begin(), 2 * all.grid.slice(),
              all.voxels.begin() + static_cast<std::ptrdiff_t>(3 * all.grid.slice()));
  EXPECT_EQ(backprojected(nullptr), backprojected(all.voxels.data()));
}

TEST_F(CPatches, RefuseWhatTheyCannotDo) {
  halocline_patches* const own = patches.get();
  Numbers voxels(volume.size[0] * volume.size[1] * volume.size[2]);
  halocline_grid box = volume;
  const std::int64_t one[3] = {1, 1, 1}, beyond[3] = {volume.size[0], 0, 0}, below[3] = {0, -1, 0};
  expect_refusal(halocline_grid_part(&volume, beyond, one, &box), "the part of the grid is 1 values from");
  expect_refusal(halocline_grid_part(&volume, below, one, &box), "from -1 on along axis 1");
  expect_refusal(halocline_grid_part(&volume, one, volume.size, &box), "expected a part of its");
  expect_refusal(halocline_grid_part(&volume, nullptr, one, &box), "`first` is a null pointer");

  expect_refusal(halocline_patches_backproject(own, projections.voxels.data(), voxels.data()), "set_boxes() before");
  expect_refusal(halocline_patches_set_boxes(own, &box, 0), "`count` is 0");
  expect_refusal(halocline_patches_set_boxes(own, nullptr, 1), "`boxes` is a null pointer");
  box.spacing[1] = -1;
  expect_refusal(halocline_patches_set_boxes(own, &box, 1), "`boxes`, number 0");
  expect_ok(halocline_patches_set_boxes(own, &volume, 1));
  expect_refusal(halocline_patches_backproject(own, nullptr, voxels.data()), "none are on the device");
  expect_refusal(halocline_patches_backproject(own, projections.voxels.data(), nullptr), "`voxels` is a null pointer");
  expect_refusal(halocline_patches_project(own, voxels.data(), nullptr), "`projections` is a null pointer");
  expect_refusal(halocline_patches_backproject(nullptr, nullptr, nullptr), "`patches` is a null pointer");

  const std::int64_t wrong[] = {3, std::int64_t{1} << 40};
  expect_refusal(halocline_patches_set_views(own, wrong, 2), "expected numbers from 0 to 23");
  expect_refusal(halocline_patches_set_views(own, wrong, 0), "the list of views");
  expect_refusal(halocline_patches_set_projections(own, 20, 5, projections.voxels.data()), "5 from 20 on");
  expect_refusal(halocline_patches_set_projections(own, -1, 1, projections.voxels.data()), "1 from -1 on");
  expect_refusal(halocline_patches_replace_views(own, 20, c_geometry(some_views(geometry, 0, 5)).get()),
                 "the new views is 5 from 20 on");
  Geometry bent = some_views(geometry, 0, 1);
  bent.radius_cylindrical_detector = 700;
  expect_refusal(halocline_patches_replace_views(own, 0, c_geometry(bent).get()), "cylindrical detector");
  halocline_patches* none = nullptr;
  stack.size[2] = 7;
  expect_refusal(halocline_patches_new(context.get(), c_geometry(geometry).get(), &volume, &stack, &none), "7");
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(halocline_patches_backproject(own, projections.voxels.data(), voxels.data()), HALOCLINE_OK);
  halocline_patches_free(nullptr);
}

// Beside the verb fdk of the same interface: the classes' clFFT cannot serve two libraries in one process.
class CSlices : public CPatches {
 protected:
  Owned<halocline_slices> made(const halocline_slices_options* options = nullptr) {
    halocline_slices* result = nullptr;
    expect_ok(halocline_slices_new(context.get(), c_geometry(geometry).get(), &stack, projections.voxels.data(),
                                   &volume, options, &result));
    return {result, halocline_slices_free};
  }
  std::vector<halocline_grid> planes() const {
    const auto [i, j, k] = volume.size;
    return {part({0, 0, k / 2}, {i, j, 1}), part({0, j / 3, 0}, {i, 1, k}), part({i / 4, 0, 0}, {1, j, k})};
  }
  // These planes of a volume.
  Numbers planes_of(const Numbers& voxels) const {
    const auto [ni, nj, nk] = scene.grid.size;
    Numbers values;
    const auto add = [&](std::size_t i, std::size_t j, std::size_t k) {
      values.push_back(voxels[i + ni * (j + nj * k)]);
    };
    for (std::size_t j = 0; j < nj; ++j)
      for (std::size_t i = 0; i < ni; ++i) add(i, j, nk / 2);
    for (std::size_t k = 0; k < nk; ++k)
      for (std::size_t i = 0; i < ni; ++i) add(i, nj / 3, k);
    for (std::size_t k = 0; k < nk; ++k)
      for (std::size_t j = 0; j < nj; ++j) add(ni / 4, j, k);
    return values;
  }
  Numbers reconstructed(halocline_slices* slices) {
    const auto grids = planes();
    std::size_t count = 0;
    for (const Grid& grid : as_grids(grids)) count += grid.count();
    Numbers values(count, -1);
    expect_ok(
        halocline_slices_reconstruct(slices, grids.data(), static_cast<std::int64_t>(grids.size()), values.data()));
    return values;
  }
  Numbers fdk_of(const Geometry& scan, const Volume& views) {
    Numbers voxels(scene.grid.count(), -1);
    const halocline_grid grid = c_grid(views.grid);
    expect_ok(halocline_fdk(context.get(), c_geometry(scan).get(), &grid, views.voxels.data(), &volume, voxels.data(),
                            nullptr));
    return voxels;
  }
};

TEST_F(CSlices, HaveTheBitsOfFdk) {
  const auto slices = made();
  EXPECT_EQ(reconstructed(slices.get()), planes_of(fdk_of(geometry, projections)));
  const Volume fresh = reference::random_volume(with_views(projections.grid, 6), 8);
  const Geometry again = some_views(geometry, 0, 6);
  const halocline_grid fresh_grid = c_grid(fresh.grid);
  expect_ok(halocline_slices_add(slices.get(), c_geometry(again).get(), &fresh_grid, fresh.voxels.data()));
  std::rotate(geometry.views.begin(), geometry.views.begin() + 6, geometry.views.end());
  Numbers all(projections.voxels.begin() + static_cast<std::ptrdiff_t>(fresh.voxels.size()), projections.voxels.end());
  all.insert(all.end(), fresh.voxels.begin(), fresh.voxels.end());
  Volume window(projections.grid);
  std::copy(all.begin(), all.end(), window.voxels.begin());
  EXPECT_EQ(reconstructed(slices.get()), planes_of(fdk_of(geometry, window)));
}

TEST_F(CSlices, TakeTheSettingsOfTheCommand) {
  halocline_slices_options options = HALOCLINE_SLICES_OPTIONS_INIT;
  options.window = "hann";
  options.cutoff = 0.8;
  options.photons = 1e4;
  Numbers voxels(scene.grid.count()), variance(scene.grid.count());
  halocline_job* made_job = nullptr;
  expect_ok(halocline_job_new(context.get(), "fdk", &made_job));
  const Owned<halocline_job> job(made_job, halocline_job_free);
  for (const auto& [name, value] : {std::pair{"window", "hann"}, {"cutoff", "0.8"}, {"photons", "1e4"}})
    expect_ok(halocline_job_set(made_job, name, value));
  expect_ok(halocline_job_geometry(made_job, c_geometry(geometry).get()));
  expect_ok(halocline_job_input(made_job, "projections", &stack, projections.voxels.data()));
  expect_ok(halocline_job_output(made_job, "volume", &volume, voxels.data()));
  expect_ok(halocline_job_output(made_job, "variance", &volume, variance.data()));
  expect_ok(halocline_job_run(made_job));
  EXPECT_EQ(reconstructed(made(&options).get()), planes_of(variance));
  options.photons = 0;
  EXPECT_EQ(reconstructed(made(&options).get()), planes_of(voxels));
}

TEST_F(CSlices, RefuseWhatTheyCannotDo) {
  const auto slices = made();
  halocline_slices* const own = slices.get();
  Numbers values(scene.grid.count());
  const auto grids = planes();
  expect_refusal(halocline_slices_reconstruct(own, &volume, 1, values.data()), "expected one layer along one axis");
  expect_refusal(halocline_slices_reconstruct(own, nullptr, 1, values.data()), "`grids` is a null pointer");
  expect_refusal(halocline_slices_reconstruct(own, grids.data(), 3, nullptr), "`values` is a null pointer");
  const std::vector<halocline_grid> many(65, grids[0]);
  expect_refusal(halocline_slices_reconstruct(own, many.data(), 65, values.data()), "65 slices");

  const Geometry four = some_views(geometry, 0, 4);
  halocline_grid other = stack;
  other.size[2] = 4;
  other.spacing[0] *= 2;
  expect_refusal(halocline_slices_add(own, c_geometry(four).get(), &other, projections.voxels.data()),
                 "the new projections");
  other = stack;
  other.size[2] = 5;
  expect_refusal(halocline_slices_add(own, c_geometry(four).get(), &other, projections.voxels.data()), "5");

  halocline_slices* none = nullptr;
  const auto refuse = [&](halocline_slices_options options, const char* text) {
    expect_refusal(halocline_slices_new(context.get(), c_geometry(geometry).get(), &stack, projections.voxels.data(),
                                        &volume, &options, &none),
                   text);
  };
  halocline_slices_options options = HALOCLINE_SLICES_OPTIONS_INIT;
  options.window = "round";
  refuse(options, "`window`");
  options = HALOCLINE_SLICES_OPTIONS_INIT;
  options.interpolation = "half";
  refuse(options, "`interpolation`");
  options = HALOCLINE_SLICES_OPTIONS_INIT;
  options.most_pixels = -1;
  refuse(options, "`most_pixels`");
  options = HALOCLINE_SLICES_OPTIONS_INIT;
  options.electronic = 3;
  refuse(options, "electronic");
  projections.voxels[7] = NAN;
  refuse(HALOCLINE_SLICES_OPTIONS_INIT,
         "the projections: 1 value is NaN or infinite, the first at index (7,0,0); mend");
  EXPECT_THAT(halocline_last_error(), testing::Not(testing::HasSubstr("nonfinite")));
  EXPECT_EQ(none, nullptr);
  halocline_slices_free(nullptr);
}

}  // namespace
}  // namespace halocline::c_patches_test
