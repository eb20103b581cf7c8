// labels: device
// Default projector: voxels finer than the rays need rays as wide as pixels.
#include "algorithms/projectors/default_projector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::default_projector_test {
namespace {

using reference::device;
using testing::HasSubstr;

Geometry scan(std::size_t views, double sdd = 150) {
  CircularOptions options;
  options.sid = 100;
  options.sdd = sdd;
  options.projections = views;
  return circular_geometry(options);
}

TEST(DefaultProjector, GoesByTheDistanceOfRaysInTheVolume) {
  const Grid stack = reference::detector(30, 24, 8, 1.2, 1.8);  // 0.8 and 1.2 mm at the isocentre
  const Geometry geometry = scan(8);
  const auto distances = ray_distances(geometry, default_grid({20, 20, 40}, {1, 0.5, 0.25}), stack);
  EXPECT_NEAR(distances[0], 0.8, 1e-9);
  EXPECT_NEAR(distances[1], 1.6, 1e-9);
  EXPECT_NEAR(distances[2], 4.8, 1e-9);
  const auto taken = [&](std::array<double, 3> spacing, std::array<std::size_t, 3> size = {20, 20, 20}) {
    return default_projector(geometry, default_grid(size, spacing), stack);
  };
  EXPECT_EQ(taken({0.8, 0.8, 1.2}), Projector::joseph);
  EXPECT_EQ(taken({2, 2, 2}), Projector::joseph);
  EXPECT_EQ(taken({0.8, 0.8, 0.6}), Projector::distance_driven) << "slices";
  EXPECT_EQ(taken({0.4, 0.8, 1.2}), Projector::distance_driven) << "columns";
  EXPECT_EQ(taken({0.8, 0.4, 1.2}), Projector::distance_driven) << "rows";
  EXPECT_EQ(taken({0.8, 0.8, 0.1}, {20, 20, 1}), Projector::joseph) << "one slice";
  Geometry parallel = scan(8, 0);
  EXPECT_NEAR(ray_distances(parallel, default_grid({20, 20, 40}, {1, 1, 1}), stack)[2], 1.8, 1e-9);
}

TEST(DefaultProjector, IsWhatIsChosenWhereSomebodyChooses) {
  const Grid stack = reference::detector(30, 24, 8, 1.2, 1.2), fine = default_grid({20, 20, 40}, {1, 1, 0.25});
  EXPECT_EQ(projector_of(std::nullopt, false, scan(8), fine, stack), Projector::distance_driven);
  EXPECT_EQ(projector_of(std::nullopt, true, scan(8), fine, stack), Projector::joseph) << "hardware interpolation";
  EXPECT_EQ(projector_of(Projector::siddon, false, scan(8), fine, stack), Projector::siddon);
  EXPECT_EQ(projector_choice("automatic"), std::nullopt);
  EXPECT_EQ(projector_choice("siddon"), Projector::siddon);
  EXPECT_THROW(projector_choice("best"), InputError);
}

TEST(DefaultProjector, IsNamedInANote) {
  const Grid stack = reference::detector(30, 24, 8, 1.2, 1.2), fine = default_grid({20, 20, 40}, {1, 1, 0.25});
  const auto note = [&](std::optional<Projector> chosen, const Grid& grid) {
    return note_on_fine_voxels(chosen, scan(8), grid, stack);
  };
  EXPECT_THAT(note(std::nullopt, fine), testing::AllOf(HasSubstr("1 x 1 x 0.25 mm"), HasSubstr("1 x 1 x 0.8 mm"),
                                                       HasSubstr("`projector = distance-driven` is taken")));
  EXPECT_THAT(note(Projector::joseph, fine), HasSubstr("joseph leaves voxels between its rays out"));
  EXPECT_THAT(note(Projector::siddon, fine), HasSubstr("siddon leaves voxels"));
  EXPECT_EQ(note(Projector::distance_driven, fine), "");
  EXPECT_EQ(note(std::nullopt, default_grid({20, 20, 20}, {1, 1, 0.8})), "");
}

// The middle slices of a ball, over its value; without a choice.
std::vector<double> slices_of(const std::string& method, std::array<double, 3> spacing,
                              std::array<std::size_t, 3> size) {
  Primitive ball;
  ball.centre = {1, 0, -1};
  ball.semi_axes = {9, 8, 9};
  ball.value = 0.02;
  const Geometry geometry = scan(24);
  const Volume stack = project_analytic({ball}, geometry, reference::detector(30, 26, 24, 1.2, 1.2));
  ReconstructionParameters parameters;
  parameters.method = method;
  parameters.passes = method == "sirt" ? 25 : 6;
  Volume found(default_grid(size, spacing));
  MemorySink sink(found);
  const MemorySource source(stack);
  reconstruct({&source}, geometry, sink, parameters, device());
  std::vector<double> means;
  for (std::size_t k = size[2] / 2 - 4; k < size[2] / 2 + 4; ++k) {
    double sum = 0;
    int count = 0;
    for (std::size_t j = size[1] * 3 / 8; j < size[1] * 5 / 8; ++j)
      for (std::size_t i = size[0] * 3 / 8; i < size[0] * 5 / 8; ++i, ++count) sum += found.at(i, j, k);
    means.push_back(sum / count / 0.02);
  }
  return means;
}

TEST(DefaultProjector, LeavesNoStripesInThinSlices) {
  for (const char* method : {"sirt", "cgls"})
    for (const double mean : slices_of(method, {1.25, 1.25, 0.25}, {18, 18, 80})) EXPECT_NEAR(mean, 1, 0.05) << method;
}

TEST(DefaultProjector, LeavesNoStripesInThinColumns) {
  for (const double mean : slices_of("sirt", {0.4, 1, 1}, {56, 22, 20})) EXPECT_NEAR(mean, 1, 0.05);
}

}  // namespace
}  // namespace halocline::default_projector_test
