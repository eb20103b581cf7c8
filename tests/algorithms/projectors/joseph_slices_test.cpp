// labels: device slab dealt
// Projection and its adjoint with slices innermost: bit for bit what the portable forms compute, for any slabs and
// batches, against double precision, and each other's adjoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "algorithms/projectors/joseph_slices_adjoint.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/methods.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::joseph_slices_test {
namespace {

using reference::device;
using reference::split;

using Voxels = std::vector<float>;

struct SliceScene {
  reference::Scene scene;
  bool aligned;
};
void PrintTo(const SliceScene& each, std::ostream* out) {
  *out << each.scene.name;
}

// A parallel beam, or a fan of one row, or a stack of them; `offset` of the detector along its rows.
SliceScene scene_of(const std::string& name, bool aligned, Grid detector, const Grid& grid, double sdd = 0,
                    double offset = 0, bool fan_stack = false) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = sdd;
  options.projection_offset_x = offset;
  options.fan_stack = fan_stack;
  options.angles = {0, 3, 37, 45, 81, 90, 118, 135, 166, 180, 203, 251, 270, 290, 341};
  detector.size[2] = options.angles.size();
  return {{name, circular_geometry(options), detector, grid}, aligned};
}

// The middle of the grid is moved along k, by so many mm.
Grid moved(Grid grid, double along_k) {
  grid.origin[1] += along_k;  // k is the world's y
  return grid;
}

std::vector<SliceScene> slice_scenes() {
  const auto pixels = [](std::size_t columns, std::size_t rows, double du, double dv) {
    return reference::detector(columns, rows, 1, du, dv);
  };
  const Grid small = default_grid({13, 9, 7}, {2, 2, 1.5});
  Grid flipped = pixels(29, 33, 1.25, 1.5);
  flipped.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  flipped.origin = {17.5, 24, 0};
  return {
      scene_of("aligned", true, pixels(29, 7, 1.25, 1.5), small),
      scene_of("one_slice", true, pixels(93, 1, 0.7, 1), default_grid({33, 33, 1}, {1, 1, 1})),
      scene_of("one_voxel", true, pixels(7, 1, 0.7, 1), default_grid({1, 1, 1}, {3, 3, 1})),
      scene_of("one_row_of_voxels", true, pixels(17, 5, 1, 1), default_grid({33, 1, 5}, {1, 1, 1})),
      scene_of("one_column_of_voxels", true, pixels(17, 6, 1, 1), default_grid({1, 33, 6}, {1, 1, 1})),
      scene_of("two_blocks", true, pixels(41, 33, 1.5, 2), default_grid({17, 19, 33}, {2, 2, 2})),
      scene_of("three_blocks_displaced", true, pixels(40, 93, 1.1, 2), default_grid({7, 33, 93}, {3, 1, 2}), 0, 9.3),
      scene_of("more_slices_than_rows", true, pixels(21, 33, 2, 1), default_grid({13, 9, 93}, {2, 3, 1})),
      scene_of("more_rows_than_slices", true, pixels(21, 93, 2, 1), default_grid({13, 9, 33}, {2, 3, 1})),
      scene_of("flipped", true, flipped, default_grid({13, 9, 31}, {2, 3, 1.5})),
      scene_of("moved_by_slices", true, pixels(21, 40, 2, 1), moved(default_grid({13, 9, 36}, {2, 3, 1}), 5)),
      scene_of("fine_columns", true, pixels(150, 9, 0.2, 1), default_grid({13, 9, 9}, {2, 3, 1})),
      scene_of("coarse_columns", true, pixels(7, 9, 6, 1), default_grid({13, 9, 9}, {2, 3, 1})),
      scene_of("one_column", true, pixels(1, 9, 3, 1), default_grid({5, 7, 9}, {2, 3, 1})),
      scene_of("two_columns", true, pixels(2, 9, 3, 1.4), default_grid({5, 7, 9}, {2, 3, 1.4}), 280, 1, true),
      scene_of("three_columns", true, pixels(3, 9, 2, 1), default_grid({5, 7, 9}, {1, 1, 1}), 280, -0.4, true),
      scene_of("three_columns_a_voxel", true, pixels(41, 9, 1, 1), default_grid({17, 17, 9}, {1.39, 1.39, 1})),
      scene_of("more_columns_a_voxel", true, pixels(41, 9, 1, 1), default_grid({17, 17, 9}, {1.42, 1.42, 1})),
      scene_of("source_near_the_corners", true, pixels(31, 5, 40, 1), default_grid({93, 91, 5}, {2.1, 2, 1}), 900, 30,
               true),
      scene_of("one_slice_of_a_fan", true, pixels(93, 1, 1.5, 1), default_grid({31, 33, 1}, {1.2, 1.2, 1}), 280, 7),
      scene_of("fan", true, pixels(33, 1, 1.7, 2), default_grid({15, 11, 1}, {2, 2.5, 1}), 280),
      scene_of("wide_fan", true, pixels(61, 1, 8, 2), default_grid({33, 31, 3}, {2, 2.5, 1}), 280, 5),
      scene_of("fan_between_slices", false, pixels(33, 1, 1.7, 2), default_grid({15, 11, 2}, {2, 2.5, 1}), 280),
      scene_of("fan_stack", true, pixels(33, 12, 1.7, 1.1), moved(default_grid({15, 11, 10}, {2, 2.5, 1.1}), 2.2), 280,
               3, true),
      scene_of("fan_stack_of_one", true, pixels(33, 1, 1.7, 2), default_grid({15, 11, 1}, {2, 2.5, 1}), 280, 0, true),
      scene_of("fan_stack_in_two_blocks", true, pixels(33, 70, 1.7, 0.7), default_grid({15, 11, 40}, {2, 2.5, 0.7}),
               280, 0, true),
      scene_of("fan_stack_flipped", true, flipped, default_grid({13, 9, 31}, {2, 3, 1.5}), 280, 0, true),
      scene_of("fan_stack_between", false, pixels(33, 12, 1.7, 0.8), default_grid({15, 11, 7}, {2, 2.5, 1.1}), 280, 3,
               true),
      scene_of("rows_between_slices", false, pixels(29, 7, 1.25, 1.5), moved(small, 0.4)),
      scene_of("half_a_slice", false, pixels(21, 33, 2, 1), default_grid({13, 9, 32}, {2, 3, 1})),
      scene_of("fine_rows", false, pixels(21, 93, 2, 0.3), default_grid({13, 9, 33}, {2, 3, 1})),
      scene_of("coarse_rows", false, pixels(21, 17, 2, 2.6), default_grid({13, 9, 40}, {2, 3, 1})),
      scene_of("flipped_between", false, flipped, moved(default_grid({13, 9, 70}, {2, 3, 0.9}), -2.1)),
  };
}

class SliceProjection : public testing::TestWithParam<SliceScene> {
 protected:
  const reference::Scene& scene = GetParam().scene;
  Volume volume = reference::random_volume(scene.grid, 7), stack = reference::random_volume(scene.projections, 3);

  Voxels projected(bool innermost, const RunOptions& options = {}) const {
    const RayProjection method(scene.geometry, scene.grid, scene.projections,
                               {.gpu = true, .slices_innermost = innermost});
    EXPECT_EQ(method.requirements().kernels.front(), innermost ? "joseph_slices_project" : "joseph_project");
    return run_program(program_of(method), {{"volume", &volume}}, scene.projections, device(), options).output.voxels;
  }
  Voxels backprojected(bool innermost, const RunOptions& options = {}) const {
    std::shared_ptr<const BackprojectionMethod> method;
    if (innermost && GetParam().aligned)
      method = std::make_shared<SliceBackprojection>(scene.geometry, scene.projections, scene.grid);
    else
      method =
          std::make_shared<RayBackprojection>(scene.geometry, scene.projections, scene.grid, Projector::joseph, true);
    return run_program(program_of(method), {{"raw", &stack}}, scene.grid, device(), options).output.voxels;
  }
};

TEST_P(SliceProjection, KnowsWhereRowsLie) {
  const auto rows = slice_rows(make_rays(scene.geometry, scene.grid, scene.projections), scene.grid, scene.projections);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->aligned, GetParam().aligned);
}

TEST_P(SliceProjection, HasTheBitsOfThePortableForm) {
  for (const auto& options : {RunOptions{}, split(1, 4), split(2, 5), split(3, 1), split(7, 15)}) {
    if (options.plan.minimum_slabs > static_cast<int>(scene.grid.size[2])) continue;
    SCOPED_TRACE(testing::Message() << options.plan.minimum_slabs << " slabs, batches of " << options.plan.batch);
    EXPECT_TRUE(projected(true, options) == projected(false));
    EXPECT_TRUE(backprojected(true, options) == backprojected(false));
  }
}

TEST_P(SliceProjection, MatchesDoublePrecision) {
  const auto rays = reference::project(Projector::joseph, volume, scene.geometry, scene.projections);
  const auto voxels = reference::backproject(Projector::joseph, stack, scene.geometry, scene.grid);
  ASSERT_GT(reference::largest(rays) * reference::largest(voxels), 0);
  const auto found = projected(true), back = backprojected(true);
  for (std::size_t n = 0; n < rays.size(); ++n)
    ASSERT_NEAR(found[n], rays[n], 2e-5 * reference::largest(rays)) << "ray " << n;
  for (std::size_t n = 0; n < voxels.size(); ++n)
    ASSERT_NEAR(back[n], voxels[n], 2e-5 * reference::largest(voxels)) << "voxel " << n;
}

TEST_P(SliceProjection, IsTheAdjoint) {
  const auto ax = projected(true), aty = backprojected(true);
  const double forward = std::inner_product(ax.begin(), ax.end(), stack.voxels.begin(), 0.0);
  const double back = std::inner_product(aty.begin(), aty.end(), volume.voxels.begin(), 0.0);
  ASSERT_GT(forward, 0);
  EXPECT_NEAR(forward, back, 1e-6 * forward);
}

TEST_P(SliceProjection, HoldsWhatWasPlanned) {
  for (const int slabs : {1, 3}) {
    if (slabs > static_cast<int>(scene.grid.size[2])) continue;
    const RayProjection method(scene.geometry, scene.grid, scene.projections, {.slices_innermost = true});
    std::vector ran{
        run_program(program_of(method), {{"volume", &volume}}, scene.projections, device(), split(slabs, 4))};
    if (GetParam().aligned)
      ran.push_back(run_program(program_of(SliceBackprojection(scene.geometry, scene.projections, scene.grid)),
                                {{"raw", &stack}}, scene.grid, device(), split(slabs, 4)));
    for (const RunResult& result : ran) {
      std::size_t most = 0;
      for (const auto& slab : result.plan.slabs) most = std::max(most, slab.bytes);
      EXPECT_EQ(result.peak_bytes, most);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, SliceProjection, testing::ValuesIn(slice_scenes()),
                         [](const auto& info) { return info.param.scene.name; });

TEST(SliceRows, NeedsRaysWithinSlices) {
  const auto rows_of = [](const std::string& name) {
    const auto scene = reference::scene_named(name);
    return slice_rows(make_rays(scene.geometry, scene.grid, scene.projections), scene.grid, scene.projections);
  };
  EXPECT_TRUE(rows_of("parallel"));
  EXPECT_TRUE(rows_of("fan"));
  for (const char* name : {"cone", "cone_one_slice", "cone_axis_along_j", "parallel_tilted"})
    EXPECT_FALSE(rows_of(name)) << name;
}

TEST(SliceRows, AreWhereTheDetectorPutsThem) {
  for (const auto& [scene, aligned] : slice_scenes()) {
    const auto rows =
        slice_rows(make_rays(scene.geometry, scene.grid, scene.projections), scene.grid, scene.projections);
    ASSERT_TRUE(rows) << scene.name;
    if (!aligned) continue;
    for (const std::size_t k : {std::size_t{0}, scene.grid.size[2] - 1}) {
      const auto matrix = index_to_detector(scene.geometry.views[2], scene.grid, scene.projections);
      const double z = static_cast<double>(k) - 0.5 * static_cast<double>(scene.grid.size[2] - 1);
      const double row = rows->row_of_0 + rows->row_step * static_cast<double>(k);
      if (row < 0 || row >= static_cast<double>(scene.projections.size[1])) continue;
      EXPECT_NEAR(row, (matrix[6] * z + matrix[7]) / (matrix[10] * z + matrix[11]), 1e-6)
          << scene.name << " slice " << k;
    }
  }
}

TEST(SlicesInnermost, AreTakenWhereTheyWereFaster) {
  auto scene = slice_scenes()[5].scene;
  const auto kernels = [&](const std::vector<DeviceModel>& devices) {
    return std::pair{plan_project(scene.geometry, scene.grid, scene.projections, {}, devices).requirements.kernels,
                     plan_backproject(scene.geometry, scene.projections, scene.grid, Projector::joseph, devices)
                         .requirements.kernels};
  };
  DeviceModel plain, tuned;
  for (DeviceModel* each : {&plain, &tuned}) each->memory = each->max_allocation = std::size_t{1} << 30;
  tuned.choices[slice_form_choice] = innermost_form;
  EXPECT_EQ(kernels({plain}).first.front(), "joseph_project");
  EXPECT_EQ(kernels({plain, tuned}).second.back(), "joseph_stacks_backproject");
  EXPECT_EQ(kernels({tuned}).first.front(), "joseph_slices_project");
  EXPECT_EQ(kernels({tuned}).second.back(), "joseph_slices_adjoint_backproject");
  plain.cpu = true;  // CPUs take them for 33 slices, and the adjoint of rays for 7
  EXPECT_EQ(kernels({plain}).first.front(), "joseph_slices_project");
  EXPECT_EQ(kernels({plain}).second.back(), "joseph_slices_adjoint_backproject");
  scene = slice_scenes()[0].scene;
  EXPECT_EQ(kernels({plain}).first.front(), "joseph_lanes_project");
  EXPECT_EQ(kernels({plain}).second.back(), "joseph_tiles_backproject");
}

// A solver's program for such devices, on whatever device there is.
TEST(SlicesInnermost, AreTheSameInPrograms) {
  DeviceModel plain, tuned;
  tuned.choices[slice_form_choice] = innermost_form;
  for (const auto& [scene, aligned] : slice_scenes()) {
    if (scene.name != "two_blocks" && scene.name != "half_a_slice") continue;
    SCOPED_TRACE(scene.name);
    const Volume stack = reference::random_volume(scene.projections, 3);
    const auto solved = [&](const DeviceModel& model, const RunOptions& options) {
      const RayOperator A(scene.geometry, scene.grid, scene.projections, Projector::joseph, {&model, 1});
      const ViewSubsets all(static_cast<int>(scene.projections.size[2]), 1);
      const Program program = solver_program(A, all, {.method = "sirt", .passes = 3}, {});
      const auto& kernels = program.needs.kernels;
      EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "joseph_slices_project"), &model == &tuned ? 1 : 0);
      // of rows between slices the other adjoint is faster
      EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "joseph_slices_adjoint_backproject"),
                &model == &tuned && aligned ? 1 : 0);
      return run_program(program, {{"b", &stack}}, scene.grid, device(), options).output.voxels;
    };
    const Voxels expected = solved(plain, {});
    for (const auto& options : {RunOptions{}, split(1, 4), split(3, 7)})
      EXPECT_TRUE(solved(tuned, options) == expected)
          << options.plan.minimum_slabs << " slabs, batches of " << options.plan.batch;
  }
}

}  // namespace
}  // namespace halocline::joseph_slices_test
