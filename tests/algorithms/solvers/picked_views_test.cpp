// labels: device
// Steps on some views, in the forms for GPUs, too: the bits of the same form of a projector of these views alone.
#include "algorithms/solvers/picked_views.hpp"

#include <gtest/gtest.h>

#include "algorithms/projectors/joseph_slices_adjoint.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::picked_views_test {
namespace {

using reference::device;

// Upright, with a slice a detector row where the beam is parallel.
reference::Scene scan_of(double sdd) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = sdd;
  options.angles = {0, 3, 37, 45, 81, 90, 118, 135, 166, 180, 203, 251, 270, 290, 341};
  return {"scan", circular_geometry(options), reference::detector(29, 9, options.angles.size(), 1.25, 1.5),
          default_grid({13, 11, 9}, {2, 2, 1.5})};
}

reference::Scene part_of(reference::Scene scene, const std::vector<std::int32_t>& views) {
  const auto all = std::exchange(scene.geometry.views, {});
  for (const std::int32_t view : views) scene.geometry.views.push_back(all[static_cast<std::size_t>(view)]);
  scene.projections.size[2] = views.size();
  return scene;
}

struct Form {
  const char* name;
  double sdd;
  ProjectorPair (*pair)(const reference::Scene& scene);
};
void PrintTo(const Form& form, std::ostream* out) {
  *out << form.name;
}

template <const AdjointBrick& (*brick)() = nullptr>
ProjectorPair rays(const reference::Scene& scene, ProjectionParameters parameters) {
  const AdjointBrick* shape = nullptr;
  if constexpr (brick != nullptr) shape = &brick();
  return {std::make_shared<RayProjection>(scene.geometry, scene.grid, scene.projections, parameters),
          std::make_shared<RayBackprojection>(scene.geometry, scene.projections, scene.grid, parameters.projector,
                                              parameters.gpu, shape)};
}
const AdjointBrick& first_brick() {
  return adjoint_bricks().front();
}

ProjectorPair for_cpus(const reference::Scene& scene) {
  return rays(scene, {});
}
ProjectorPair for_gpus(const reference::Scene& scene) {
  return rays(scene, {.gpu = true});
}
ProjectorPair siddon_for_gpus(const reference::Scene& scene) {
  return rays(scene, {.projector = Projector::siddon, .gpu = true});
}
ProjectorPair from_images(const reference::Scene& scene) {
  return rays(scene, {.images = true, .gpu = true});
}
ProjectorPair in_bricks(const reference::Scene& scene) {
  return rays<first_brick>(scene, {.gpu = true});
}
ProjectorPair in_slices(const reference::Scene& scene) {
  ProjectorPair pair = rays(scene, {.gpu = true, .slices_innermost = true});
  pair.adjoint = std::make_shared<SliceBackprojection>(scene.geometry, scene.projections, scene.grid);
  return pair;
}

class PickedViewsForms : public testing::TestWithParam<Form> {
 protected:
  // A^T A x, of these views, or of all.
  static Volume computed(const reference::Scene& scene, const ViewNumbers& views, int slabs, int batch) {
    const RayOperator A(scene.grid, scene.projections, GetParam().pair(scene));
    Program program = A.program("picked");
    if (views) {
      const auto more = A.views_program().needs.arrays;
      program.needs.arrays.insert(program.needs.arrays.end(), more.begin(), more.end());
    }
    auto& arrays = program.needs.arrays;
    arrays.push_back({.name = "x", .kind = ArrayKind::volume, .lifetime = Lifetime::input});
    arrays.push_back({.name = "y", .kind = ArrayKind::projections, .lifetime = Lifetime::state});
    arrays.push_back({.name = "z", .kind = ArrayKind::volume, .lifetime = Lifetime::output});
    program.first = {views ? A.project("x", "y", views) : A.project("x", "y"),
                     views ? A.backproject("y", "z", views) : A.backproject("y", "z")};
    RunOptions options;
    options.plan.minimum_slabs = slabs;
    options.plan.batch = batch;
    const Volume x = reference::random_volume(scene.grid, 3);
    return run_program(program, {{"x", &x}}, scene.grid, device(), options).output;
  }
};

TEST_P(PickedViewsForms, HaveTheBitsOfTheseViews) {
  const reference::Scene scene = scan_of(GetParam().sdd);
  for (const std::vector<std::int32_t>& list : {std::vector<std::int32_t>{4}, {0, 3, 4, 9, 14}}) {
    const auto views = std::make_shared<const std::vector<std::int32_t>>(list);
    const Volume expected = computed(part_of(scene, list), nullptr, 0, 0);
    EXPECT_TRUE(same_bits(computed(scene, views, 0, 0), expected));
    EXPECT_TRUE(same_bits(computed(scene, views, 3, 4), expected)) << "in slabs and batches";
  }
}

INSTANTIATE_TEST_SUITE_P(All, PickedViewsForms,
                         testing::Values(Form{"cpus", 300, for_cpus}, Form{"gpus", 300, for_gpus},
                                         Form{"siddon", 300, siddon_for_gpus}, Form{"images", 300, from_images},
                                         Form{"bricks", 300, in_bricks}, Form{"parallel_bricks", 0, in_bricks},
                                         Form{"slices", 0, in_slices}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace halocline::picked_views_test
