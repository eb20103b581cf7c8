// labels: device
// Projectors that are moved to scans of other kinds, on a device that takes forms for upright scans and for rays within
// slices: the layer of described limits makes it an H200 (tests/CMakeLists.txt).
#include "algorithms/solvers/moving_pair.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <tuple>
#include <vector>

#include "algorithms/expressions/expression.hpp"
#include "algorithms/expressions/prepared.hpp"
#include "algorithms/expressions/session_recorder.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "host/opencl/quirks.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/plain_forms.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::moving_pair_test {
namespace {

using namespace expressions;
using reference::device;

const Grid grid = [] {
  Grid made = default_grid({19, 17, 13}, {1.7, 2, 2.3});
  made.origin[0] += 1, made.origin[1] -= 2, made.origin[2] += 0.5;
  return made;
}();
const Grid stack = reference::detector(23, 35, 5, 2.1, 1.9);

CircularOptions scan_about_k(bool parallel) {
  return {.sid = 150, .sdd = parallel ? 0 : 230., .angles = {0, 31, 77, 140, 260}};
}

CircularOptions tilted(CircularOptions of) {
  of.in_plane_angle = 3, of.out_of_plane_angle = -2;
  return of;
}

CircularOptions displaced(CircularOptions of) {
  of.projection_offset_x += 0.8, of.projection_offset_y += 0.3;
  return of;
}

using Moved = std::tuple<Projector, bool>;  // parallel or not
class MovingPairs : public testing::TestWithParam<Moved> {};

INSTANTIATE_TEST_SUITE_P(Projectors, MovingPairs,
                         testing::Combine(testing::Values(Projector::joseph, Projector::siddon,
                                                          Projector::distance_driven),
                                          testing::Bool()),
                         [](const auto& instance) {
                           std::string name = projector_name(std::get<0>(instance.param));
                           std::erase(name, '-');
                           return name + (std::get<1>(instance.param) ? "Parallel" : "Cone");
                         });

LinearOperator projector_of(const Context& on, const CircularOptions& scan, const Projector& named) {
  return projector(on, circular_geometry(scan), grid, stack, named);
}

std::pair<Volume, Volume> both_directions(const LinearOperator& A) {
  return {read(A * load(A.domain(), reference::random_volume(grid, 1))),
          read(adjoint(A) * load(A.range(), reference::random_volume(stack, 2)))};
}

// The bits of an operator of that scan: with the device's forms, or with those of any scan.
void expect_bits(const LinearOperator& A, const Context& on, const CircularOptions& scan, const Projector& named) {
  const auto found = both_directions(A), expected = both_directions(projector_of(on, scan, named));
  EXPECT_TRUE(same_bits(found.first, expected.first));
  EXPECT_TRUE(same_bits(found.second, expected.second));
}

TEST_P(MovingPairs, LeaveUprightScansAndComeBack) {
  const auto& [named, parallel] = GetParam();
  ASSERT_TRUE(is_hopper(device().front().info().platform, device().front().info().name));
  const CircularOptions first = scan_about_k(parallel);
  const Context on(device()), fastest(device()), plain(plain_devices());
  const LinearOperator A = projector_of(on, first, named);
  expect_bits(A, fastest, first, named);
  EXPECT_FALSE(same_bits(both_directions(A).second, both_directions(projector_of(plain, first, named)).second))
      << "the forms are others";
  A.move_to(circular_geometry(tilted(first)));
  expect_bits(A, plain, tilted(first), named);
  A.move_to(circular_geometry(displaced(first)));
  expect_bits(A, fastest, displaced(first), named);
  A.move_to(circular_geometry(displaced(tilted(first))));
  expect_bits(A, plain, displaced(tilted(first)), named);
}

TEST_P(MovingPairs, BecomeUpright) {
  const auto& [named, parallel] = GetParam();
  const CircularOptions first = scan_about_k(parallel);
  const Context on(device()), plain(plain_devices());
  const LinearOperator A = projector_of(on, tilted(first), named);
  expect_bits(A, plain, tilted(first), named);
  A.move_to(circular_geometry(first));
  expect_bits(A, plain, first, named);
}

// Joseph's rays along i need an array that those along j do not.
TEST_P(MovingPairs, TurnToTheOtherAxis) {
  const auto& [named, parallel] = GetParam();
  const auto scan_from = [parallel = parallel](double angle) {
    CircularOptions scan = tilted(scan_about_k(parallel));
    for (std::size_t n = 0; n < 5; ++n) scan.angles[n] = angle + 2 * static_cast<double>(n);
    return scan;
  };
  const Context on(device()), plain(plain_devices());
  for (const double first : {-4.0, 86.0}) {
    const LinearOperator A = projector_of(on, scan_from(first), named);
    for (const double angle : {82 - first, first, 84 - first}) {
      A.move_to(circular_geometry(scan_from(angle)));
      expect_bits(A, plain, scan_from(angle), named);
    }
  }
}

TEST_P(MovingPairs, TakePreparedJobsWithThem) {
  const auto& [named, parallel] = GetParam();
  const CircularOptions first = scan_about_k(parallel);
  const Context on(device()), fastest(device()), plain(plain_devices());
  const LinearOperator A = projector_of(on, first, named);
  const Array x = uniform(A.domain(), 1), b = uniform(A.range(), 2);
  Array y;
  const Prepared job = on.record([&] { y = adjoint(A) * (A * x - b); });
  const auto expect_replay = [&](const CircularOptions& scan, const Context& other) {
    A.move_to(circular_geometry(scan));
    job.replay();
    const LinearOperator B = projector_of(other, scan, named);
    const Array expected = adjoint(B) * (B * uniform(B.domain(), 1) - uniform(B.range(), 2));
    EXPECT_TRUE(same_bits(read(y), read(expected)));
  };
  expect_replay(first, fastest);
  expect_replay(tilted(first), plain);
  expect_replay(displaced(tilted(first)), plain);
  expect_replay(displaced(first), fastest);
}

// Arrays for other scans are made when the first of them comes, and once.
TEST(MovingPair, TakesMemoryAsItIsNeeded) {
  const CircularOptions first = scan_about_k(false);
  const Context on(device());
  const LinearOperator A = projector_of(on, first, Projector::joseph);
  const auto arrays = [&] { return on.recorder().session().plan().requirements.arrays.size(); };
  both_directions(A);
  const std::size_t before = arrays();
  A.move_to(circular_geometry(displaced(first)));
  both_directions(A);
  EXPECT_EQ(arrays(), before);
  A.move_to(circular_geometry(tilted(first)));
  const std::size_t after = arrays();
  EXPECT_GT(after, before);
  A.move_to(circular_geometry(first));
  A.move_to(circular_geometry(displaced(tilted(first))));
  both_directions(A);
  EXPECT_EQ(arrays(), after);
}

class MovingViews : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Scans, MovingViews, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "WithinSlices" : "Cone"; });

TEST_P(MovingViews, ArePickedWhereverTheProjectorIs) {
  const CircularOptions first = scan_about_k(GetParam());
  const Context on(device()), other(plain_devices());
  const LinearOperator A = projector_of(on, first, Projector::joseph), some = A.views({3, 1});
  const LinearOperator B = projector_of(other, tilted(first), Projector::joseph).views({1, 3});
  both_directions(some);
  A.move_to(circular_geometry(tilted(first)));
  const auto found = both_directions(some), late = both_directions(A.views({1, 3})), expected = both_directions(B);
  EXPECT_TRUE(same_bits(found.first, expected.first));
  EXPECT_TRUE(same_bits(found.second, expected.second));
  EXPECT_TRUE(same_bits(late.first, expected.first));
  EXPECT_TRUE(same_bits(late.second, expected.second));
  A.move_to(circular_geometry(first));
  const auto back = both_directions(A.views({1, 3})),
             as_first = both_directions(projector_of(Context(device()), first, Projector::joseph).views({1, 3}));
  EXPECT_TRUE(same_bits(back.first, as_first.first));
  EXPECT_TRUE(same_bits(back.second, as_first.second));
}

}  // namespace
}  // namespace halocline::moving_pair_test
