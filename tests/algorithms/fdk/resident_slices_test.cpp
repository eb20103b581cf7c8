// labels: device
// Slices from projections that are on the device, into arrays there, without the bus; grids with one layer along any
// axis.
#include <gtest/gtest.h>

#include <memory>

#include "algorithms/fdk/slices.hpp"
#include "host/volume/device_array.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::resident_slices_test {
namespace {

using reference::device;

class ResidentSlices : public testing::Test {
 protected:
  // The plane number `at` across an axis.
  Grid plane(std::size_t axis, std::size_t at) const {
    Grid result = grid;
    std::array<double, 3> first{};
    first[axis] = static_cast<double>(at);
    result.size[axis] = 1;
    const auto origin = grid.world(first[0], first[1], first[2]);
    std::copy(origin.begin(), origin.end(), result.origin.begin());
    return result;
  }
  // Its pixels, in their order.
  Volume plane_of(const Volume& volume, std::size_t axis, std::size_t at) const {
    Volume result(plane(axis, at));
    const auto& size = result.grid.size;
    std::array<std::size_t, 3> from{};
    from[axis] = at;
    auto to = result.voxels.begin();
    for (std::size_t k = 0; k < size[2]; ++k)
      for (std::size_t j = 0; j < size[1]; ++j)
        for (std::size_t i = 0; i < size[0]; ++i) *to++ = volume.at(from[0] + i, from[1] + j, from[2] + k);
    return result;
  }
  std::unique_ptr<DistributedArray> array_on_device(const Grid& of) const {
    const DistributedArray::Share whole{on, 0, static_cast<std::int64_t>(of.size[2])};
    return std::make_unique<DistributedArray>("test", of, std::vector{whole});
  }
  std::unique_ptr<DistributedArray> copy_on_device(const Volume& volume) const {
    auto array = array_on_device(volume.grid);
    Volume copy = volume;
    array->write(0, copy.voxels.size(), copy.voxels.data());
    return array;
  }

  Device on = device().front();
  Geometry geometry = circular_geometry({.sid = 200, .sdd = 300, .projections = 31});
  Grid grid = default_grid({14, 12, 10}, {3, 2.5, 2});
  Volume projections = reference::random_volume(reference::detector(23, 19, 31, 3, 3), 4);
  Volume volume = fdk(projections, geometry, grid, {}, {on}).output;
};

TEST_F(ResidentSlices, StayOnTheDevice) {
  const auto given = copy_on_device(projections);
  const std::size_t written = given->bus_bytes();
  std::vector<std::unique_ptr<DistributedArray>> found;
  std::vector<VolumeSink*> sinks;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    found.push_back(array_on_device(plane(axis, 4)));
    sinks.push_back(found.back().get());
  }
  Slices slices(on, *given, geometry, grid, {}, grid.count());
  slices.reconstruct(sinks);
  EXPECT_EQ(given->bus_bytes(), written);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(found[axis]->bus_bytes(), 0u);
    EXPECT_TRUE(same_bits(read_volume(*found[axis]), plane_of(volume, axis, 4))) << axis;
  }
}

TEST_F(ResidentSlices, TakeNewViewsFromTheDevice) {
  Geometry again = geometry;
  again.views.resize(6);
  Grid stack = projections.grid;
  stack.size[2] = 6;
  const Volume fresh = reference::random_volume(stack, 5);
  const auto given = copy_on_device(fresh);
  const std::size_t written = given->bus_bytes();
  Slices slices(on, projections, geometry, grid, {}, grid.count()),
      expected(on, projections, geometry, grid, {}, grid.count());
  slices.add(*given, again);
  expected.add(fresh, again);
  EXPECT_EQ(given->bus_bytes(), written);
  const std::vector planes{plane(2, 3), plane(0, 5)};
  const auto found = slices.reconstruct(planes), wanted = expected.reconstruct(planes);
  for (std::size_t n = 0; n < planes.size(); ++n) EXPECT_TRUE(same_bits(found[n], wanted[n])) << n;
}

TEST_F(ResidentSlices, HaveTheirLayerAlongAnyAxis) {
  Slices slices(on, projections, geometry, grid, {}, grid.count());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Volume found = slices.reconstruct(std::vector{plane(axis, 7)}).front();
    EXPECT_EQ(found.grid.size, plane(axis, 7).size);
    EXPECT_TRUE(same_bits(found, plane_of(volume, axis, 7))) << axis;
  }
}

}  // namespace
}  // namespace halocline::resident_slices_test
