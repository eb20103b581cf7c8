// labels: device slab
// A projector on some of its views: the bits of a projector of these views alone, however the work is split, without
// another transfer of the volume; lists that are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "algorithms/expressions/session_recorder.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::expressions::operator_views_test {
namespace {

using reference::device;
using testing::HasSubstr;

// A scene with so many views all round.
reference::Scene with_views(reference::Scene scene, int views) {
  const View first = scene.geometry.views.front();
  scene.geometry.views.assign(static_cast<std::size_t>(views), first);
  for (int n = 0; n < views; ++n)
    scene.geometry.views[static_cast<std::size_t>(n)].gantry_angle = first.gantry_angle + 360.0 * n / views;
  scene.projections.size[2] = static_cast<std::size_t>(views);
  return scene;
}

Volume part_of(const Volume& stack, const std::vector<int>& views) {
  Grid grid = stack.grid;
  grid.size[2] = views.size();
  Volume part(grid);
  for (std::size_t n = 0; n < views.size(); ++n)
    std::copy_n(stack.voxels.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(views[n]) * grid.slice()),
                grid.slice(), part.voxels.begin() + static_cast<std::ptrdiff_t>(n * grid.slice()));
  return part;
}

// Both directions of A.views(list) beside a projector of these views in a Context of its own, on one of these devices.
void expect_bits_of_part(const LinearOperator& A, const std::vector<Device>& devices, const reference::Scene& scene,
                         const std::optional<Projector>& named, const std::vector<int>& list, unsigned seed) {
  std::vector<int> views = list;
  std::sort(views.begin(), views.end());
  const Volume x = reference::random_volume(scene.grid, seed),
               y = reference::random_volume(scene.projections, seed + 1);
  const LinearOperator some = A.views(list);
  const Volume projected = read(some * load(A.domain(), x)), back = read(adjoint(some) * load(A.range(), y));

  Geometry geometry = scene.geometry;
  geometry.views.clear();
  for (const int view : views) geometry.views.push_back(scene.geometry.views[static_cast<std::size_t>(view)]);
  const Volume part = part_of(y, views);
  const Context own(devices);
  const LinearOperator B = projector(own, geometry, scene.grid, part.grid, named);
  EXPECT_TRUE(same_bits(part_of(projected, views), read(B * load(B.domain(), x))));
  EXPECT_TRUE(same_bits(back, read(adjoint(B) * load(B.range(), part))));
  for (int view = 0; view < static_cast<int>(scene.projections.size[2]); ++view) {
    if (std::binary_search(views.begin(), views.end(), view)) continue;
    const Volume other = part_of(projected, {view});
    EXPECT_TRUE(std::all_of(other.voxels.begin(), other.voxels.end(), [](float value) { return value == 0; })) << view;
  }
}

constexpr int view_count = 11;
const std::vector<std::vector<int>> lists{{7, 2, 9}, {0}, {10, 4, 5, 6, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};

TEST(OperatorViews, HaveTheBitsOfTheseViewsAlone) {
  for (const auto& each : reference::scenes())
    for (const Projector named : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
      SCOPED_TRACE(each.name + ", " + projector_name(named));
      const reference::Scene scene = with_views(each, view_count);
      const Context on(device());
      const LinearOperator A = projector(on, scene.geometry, scene.grid, scene.projections, named);
      unsigned seed = 1;
      for (const auto& list : lists) expect_bits_of_part(A, device(), scene, named, list, ++seed);
    }
}

TEST(OperatorViews, OfUsersProjectorsHaveThem) {
  const reference::Scene scene = with_views(reference::scene_named("cone"), view_count);
  for (const char* name : {"joseph", "siddon", "nearest"}) {
    SCOPED_TRACE(name);
    const Projector own = UserProjector::from_file(std::filesystem::path(HALOCLINE_SOURCE_DIR) / "docs/projectors" /
                                                   (std::string(name) + ".cl"));
    const Context on(device());
    const LinearOperator A = projector(on, scene.geometry, scene.grid, scene.projections, own);
    unsigned seed = 1;
    for (const auto& list : lists) expect_bits_of_part(A, device(), scene, own, list, ++seed);
  }
}

TEST(OperatorViews, HaveThemOnSlabsAndDevicesInBatches) {
  const reference::Scene scene = with_views(reference::scene_named("cone_tilted"), view_count);
  for (const int parts : {1, 2})
    for (const int slabs : {0, 3})
      for (const int batch : {0, 4}) {
        SCOPED_TRACE(testing::Message() << parts << " devices, " << slabs << " slabs, batches of " << batch);
        PlanOptions options;
        options.minimum_slabs = slabs;
        options.batch = batch;
        const Context on(parts == 1 ? std::vector{reference::undivided().front()} : reference::sub_devices(2), options);
        const LinearOperator A = projector(on, scene.geometry, scene.grid, scene.projections, Projector::siddon);
        unsigned seed = 1;
        for (const auto& list : lists)
          expect_bits_of_part(A, reference::undivided(), scene, Projector::siddon, list, ++seed);
      }
}

TEST(OperatorViews, LeaveTheVolumeWhereItIs) {
  const reference::Scene scene = with_views(reference::scene_named("cone"), view_count);
  const Context on(device());
  const LinearOperator A = projector(on, scene.geometry, scene.grid, scene.projections);
  const Array x = uniform(A.domain(), 1), b = uniform(A.range(), 2);
  Array result = adjoint(A.views({0})) * (A.views({0}) * x - b);
  on.wait();
  const double before = on.recorder().session().bus_bytes();
  for (int n = 0; n < 30; ++n) {
    const LinearOperator some =
        A.views({n % view_count, (3 * n + 5) % view_count == n % view_count ? 10 - n % 5 : (3 * n + 5) % view_count});
    result += adjoint(some) * (some * x - b);
  }
  on.wait();
  EXPECT_EQ(on.recorder().session().bus_bytes(), before);
  EXPECT_LT(adjoint_error(A.views({8, 1, 4})), 1e-6);
  const Array whole = A * x, parts = A.views({1, 3, 5, 7, 9}) * x + A.views({0, 2, 4, 6, 8, 10}) * x;
  EXPECT_EQ(value(norm(whole - parts)), 0);
}

TEST(OperatorViews, AreRefusedByName) {
  const reference::Scene scene = with_views(reference::scene_named("cone"), view_count);
  const Context on(device());
  const LinearOperator A = projector(on, scene.geometry, scene.grid, scene.projections);
  const auto refused = [](const auto& work) { return refusal_of<InputError>(work); };
  EXPECT_THAT(refused([&] { A.views({}); }), HasSubstr("`views` is empty; expected numbers of views from 0 to 10"));
  EXPECT_THAT(refused([&] { A.views({3, 11}); }), HasSubstr("`views` is 11"));
  EXPECT_THAT(refused([&] { adjoint(A).views({-1}); }), HasSubstr("`views` is -1"));
  EXPECT_THAT(refused([&] { A.views({4, 2, 4}); }), HasSubstr("`views` is 4 twice"));
  EXPECT_THAT(refused([&] { A.views({4, 2}).views({2}); }), HasSubstr("no projector of all views"));
  EXPECT_THAT(refused([&] { (2 * A).views({2}); }), HasSubstr("no projector of all views"));
  const Array x = uniform(A.domain(), 1);
  Array y;
  EXPECT_THAT(refused([&] { on.record([&] { y = A.views({4, 2}) * x; }); }), HasSubstr("list of views"));
  EXPECT_GT(value(norm(A.views({4}) * x)), 0);
}

}  // namespace
}  // namespace halocline::expressions::operator_views_test
