// labels: device slab dealt
// Users' projectors: the guide's examples (docs/projectors) beside the library's and double precision, exact adjoints,
// the same bits however the work is split, solvers, and texts that are refused.
#include "algorithms/projectors/user_projector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <sstream>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/measured_adjoint.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/log.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/reconstruct_run.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::user_projector_test {
namespace {

using reference::device;
using Voxels = std::vector<float>;

std::string example(const std::string& stem) {
  return (std::filesystem::path(HALOCLINE_SOURCE_DIR) / "docs" / "projectors" / (stem + ".cl")).string();
}

double largest_error(const Voxels& found, const Voxels& expected) {
  double error = 0, largest = 0;
  for (std::size_t n = 0; n < expected.size(); ++n) {
    error = std::max(error, std::abs(static_cast<double>(found[n]) - expected[n]));
    largest = std::max(largest, std::abs(static_cast<double>(expected[n])));
  }
  return error / largest;
}

double adjoint_gap(const Voxels& ax, const Volume& y, const Voxels& aty, const Volume& x) {
  const double forward = std::inner_product(ax.begin(), ax.end(), y.voxels.begin(), 0.0);
  const double back = std::inner_product(aty.begin(), aty.end(), x.voxels.begin(), 0.0);
  return std::abs(forward - back) / std::abs(forward);
}

void expect_refused(const std::function<void()>& action, const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "no error, expected: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

// Scenes whose rays end within the volume: at the source, at a flat and at a cylindrical detector.
std::vector<reference::Scene> scenes_with_ends() {
  std::vector<reference::Scene> all;
  const auto add = [&](const std::string& name, double sid, double sdd, double radius) {
    CircularOptions options;
    options.sid = sid;
    options.sdd = sdd;
    options.angles = {3, 37, 118, 251};
    options.out_of_plane_angle = 8;
    reference::Scene scene{name, circular_geometry(options), reference::detector(21, 17, 4, 1.5, 1.25),
                           default_grid({13, 9, 11}, {2, 3, 1.5})};
    scene.geometry.radius_cylindrical_detector = radius;
    scene.geometry.ray_ends = RayEnds::end;
    EXPECT_FALSE(make_rays(scene.geometry, scene.grid, scene.projections).sources.empty());
    all.push_back(scene);
  };
  add("source_within", 10, 40, 0);
  add("detector_within", 60, 66, 0);
  add("both_within", 9, 14, 0);
  add("cylinder_within", 60, 64, 60);
  return all;
}

class UserProjectors : public testing::TestWithParam<reference::Scene> {
 protected:
  const reference::Scene& scene = GetParam();
  Volume volume = reference::random_volume(scene.grid, 7), stack = reference::random_volume(scene.projections, 3);

  Projector own(const std::string& stem) const {
    if (stem != "attenuated") return projector_from_name(example(stem));
    UserProjectorOptions options;
    options.tables["mu"] = reference::random_volume(scene.grid, 9).voxels;
    for (float& each : options.tables["mu"]) each *= 0.02f;
    return UserProjector::from_file(example(stem), options);
  }
  SplitRun projecting(const Projector& projector) const {
    return [this, projector](const std::vector<Device>& devices, const RunOptions& options) {
      return project(volume, scene.geometry, scene.projections, {projector}, devices, options);
    };
  }
  // A pair of kernels may read matrices, which are not those of a stack of fans.
  bool refuses_fans(const std::string& stem, const Projector& projector) const {
    if (stem != "nearest" || !scene.geometry.fan_stack()) return false;
    for (const SplitRun& run : {projecting(projector), backprojecting(projector)})
      EXPECT_THAT([&] { run(device(), {}); },
                  testing::ThrowsMessage<InputError>(testing::HasSubstr("write it as a ray model")));
    return true;
  }
  SplitRun backprojecting(const Projector& projector) const {
    return [this, projector](const std::vector<Device>& devices, const RunOptions& options) {
      return backproject(stack, scene.geometry, scene.grid, projector, devices, options);
    };
  }
};

TEST_P(UserProjectors, JosephIsTheLibrarys) {
  const Projector model = own("joseph");
  EXPECT_LT(largest_error(projecting(model)(device(), {}).output.voxels,
                          projecting(Projector::joseph)(device(), {}).output.voxels),
            2e-6);
  EXPECT_LT(largest_error(backprojecting(model)(device(), {}).output.voxels,
                          backprojecting(Projector::joseph)(device(), {}).output.voxels),
            2e-6);
}

TEST_P(UserProjectors, SiddonIsTheLibrarys) {
  const Projector model = own("siddon");
  EXPECT_LT(largest_error(projecting(model)(device(), {}).output.voxels,
                          projecting(Projector::siddon)(device(), {}).output.voxels),
            1e-5);
  EXPECT_LT(largest_error(backprojecting(model)(device(), {}).output.voxels,
                          backprojecting(Projector::siddon)(device(), {}).output.voxels),
            1e-5);
}

TEST_P(UserProjectors, WithoutAttenuationItIsJosephs) {
  UserProjectorOptions options;
  options.tables["mu"].assign(scene.grid.count(), 0.0f);
  const Projector model = UserProjector::from_file(example("attenuated"), options);
  EXPECT_LT(largest_error(projecting(model)(device(), {}).output.voxels,
                          projecting(Projector::joseph)(device(), {}).output.voxels),
            2e-6);
}

TEST_P(UserProjectors, MatchDoublePrecision) {
  const auto expected = reference::project(Projector::joseph, volume, scene.geometry, scene.projections);
  EXPECT_LT(reference::largest_difference(projecting(own("joseph"))(device(), {}).output.voxels, expected),
            2e-5 * reference::largest(expected));
  const auto back = reference::backproject(Projector::joseph, stack, scene.geometry, scene.grid);
  EXPECT_LT(reference::largest_difference(backprojecting(own("joseph"))(device(), {}).output.voxels, back),
            2e-5 * reference::largest(back));
}

TEST_P(UserProjectors, AdjointsAreExact) {
  for (const std::string stem : {"joseph", "siddon", "attenuated", "nearest"}) {
    SCOPED_TRACE(stem);
    const Projector model = own(stem);
    if (refuses_fans(stem, model)) continue;
    EXPECT_LT(adjoint_gap(projecting(model)(device(), {}).output.voxels, stack,
                          backprojecting(model)(device(), {}).output.voxels, volume),
              1e-6);
  }
}

TEST_P(UserProjectors, SplitsChangeNoBit) {
  for (const std::string stem : {"joseph", "siddon", "attenuated", "nearest"}) {
    SCOPED_TRACE(stem);
    const Projector model = own(stem);
    if (refuses_fans(stem, model)) continue;
    for (const SplitRun& run : {projecting(model), backprojecting(model)}) {
      const RunResult whole = run(device(), {});
      EXPECT_EQ(whole.bus_bytes, whole.plan.bus_bytes);
      for (const auto& [slabs, batch] : {std::pair{2, 3}, {3, 1}, {static_cast<int>(scene.grid.size[2]), 5}}) {
        if (slabs > static_cast<int>(scene.grid.size[2])) continue;
        SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
        const RunResult other = run(device(), split(slabs, batch));
        EXPECT_EQ(other.plan.slabs.size(), static_cast<std::size_t>(slabs));
        EXPECT_TRUE(other.output.voxels == whole.output.voxels);
        EXPECT_EQ(other.bus_bytes, other.plan.bus_bytes);
      }
      const auto& two = reference::sub_devices(2);
      EXPECT_TRUE(run(two, shared(two, 2, 3)).output.voxels == run(reference::undivided(), {}).output.voxels);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ends, UserProjectors, testing::ValuesIn(scenes_with_ends()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Scenes, UserProjectors, testing::ValuesIn(reference::scenes()),
                         [](const auto& info) { return info.param.name; });

// A parallel beam along an axis of voxels, whose attenuated line integrals are a sum that a person can write down.
TEST(UserProjector, AttenuatesOnTheWayToTheDetector) {
  CircularOptions circle;
  circle.sid = 200;
  circle.sdd = 0;
  circle.angles = {0, 180};
  const Geometry geometry = circular_geometry(circle);
  const Grid grid = default_grid({8, 6, 5}, {2, 2, 2}), stack = reference::detector(8, 5, 2, 2, 2);
  UserProjectorOptions options;
  options.tables["mu"].assign(grid.count(), 0.03f);
  const Projector model = UserProjector::from_file(example("attenuated"), options);
  Volume activity = reference::random_volume(grid, 5);
  const Volume views = project(activity, geometry, stack, {model}, device()).output;
  for (std::size_t k = 0; k < 5; ++k)
    for (std::size_t i = 0; i < 8; ++i) {
      double towards_one_end = 0, towards_the_other = 0;
      for (std::size_t j = 0; j < 6; ++j) {
        towards_one_end += 2 * activity.at(i, j, k) * std::exp(-0.03 * 2 * (static_cast<double>(j) + 0.5));
        towards_the_other += 2 * activity.at(i, j, k) * std::exp(-0.03 * 2 * (5.5 - static_cast<double>(j)));
      }
      // The detector is at smaller z (j) than the source in the view at 0 degrees; at 180 its columns run backwards.
      EXPECT_NEAR(views.at(i, k, 0), towards_one_end, 1e-5) << i << ' ' << k;
      EXPECT_NEAR(views.at(7 - i, k, 1), towards_the_other, 1e-5) << i << ' ' << k;
    }
}

TEST(UserProjector, TextsKnowHowLongTablesAre) {
  const auto scene = reference::scenes().front();
  const std::string text =
      "#define PROJECTOR_VERSION 1\nvoid trace(TRACE_PARAMETERS) {\n"
      "  if (t_count == 3) VISIT(0, 0, 0, t[t_count - 1]);\n}\n";
  Volume ones(scene.grid);
  std::fill(ones.voxels.begin(), ones.voxels.end(), 1.0f);
  const UserProjector model("mine", text, {.tables = {{"t", {1, 2, 0.5f}}}});
  EXPECT_EQ(project(ones, scene.geometry, scene.projections, {model}, device()).output.voxels.front(), 0.5f);

  const std::string only_of_three = "#if t_count != 3\n#undef PROJECTOR_VERSION\n#else\n" + text + "#endif\n";
  EXPECT_TRUE(UserProjector("mine", only_of_three, {.tables = {{"t", {1, 2, 0.5f}}}}).is_ray_model());
  expect_refused([&] { UserProjector("mine", only_of_three, {.tables = {{"t", {1, 2}}}}); }, "no projector");
}

// A model that multiplies Joseph's weights by a number of the view.
Projector with_gains(const std::vector<float>& gains) {
  std::string text = read_text_file(example("joseph"), "the example", 1 << 20);
  const std::string length = "length = path *";
  text.replace(text.find(length), length.size(), length + " gain[pixel.view] *");
  return UserProjector("gains", text, {.tables = {{"gain", gains}}});
}

std::vector<float> gains_of(const reference::Scene& scene) {
  std::vector<float> gains;
  for (std::size_t n = 0; n < scene.geometry.views.size(); ++n) gains.push_back(n % 2 == 0 ? 1.0f : 0.125f);
  return gains;
}

TEST(UserProjector, ViewsHaveTheNumbersOfTheWholeScan) {
  const auto scene = reference::scenes().front();
  const Volume x = reference::random_volume(scene.grid, 7);
  const std::vector<float> gains = gains_of(scene);
  const std::size_t pixels = scene.projections.slice();
  Geometry some = select_views(scene.geometry, {5, 1, 4, 3});
  for (const auto& [geometry, numbers] : {std::pair{scene.geometry, std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}},
                                          {some, {5, 1, 4, 3}},
                                          {select_views(some, {2, 0}), {4, 5}}}) {
    Grid stack = scene.projections;
    stack.size[2] = geometry.views.size();
    const auto run = [&](const Projector& projector, const RunOptions& options) {
      return project(x, geometry, stack, {projector}, device(), options).output.voxels;
    };
    Voxels expected = run(projector_from_name(example("joseph")), {});
    for (std::size_t n = 0; n < numbers.size(); ++n)
      for (std::size_t at = n * pixels; at < (n + 1) * pixels; ++at)
        expected[at] *= gains[static_cast<std::size_t>(numbers[n])];
    EXPECT_LT(largest_error(run(with_gains(gains), {}), expected), 1e-6);
    EXPECT_LT(largest_error(run(with_gains(gains), split(2, 1)), expected), 1e-6);
  }
}

TEST(UserProjector, SubsetsOfSolversKeepTheNumbersOfViews) {
  const auto scene = reference::scenes().front();
  const Projector model = with_gains(gains_of(scene));
  const Volume truth = reference::random_volume(scene.grid, 7);
  const MeasuredScan scan{scene,
                          project(truth, scene.geometry, scene.projections, {model}, device(), RunOptions{}).output};
  ReconstructionParameters parameters{.method = "os-sart", .passes = 60, .subsets = 3};
  parameters.projector = model;
  const Reconstructed found = scan.reconstructed(parameters);
  const Volume again = project(found.x, scene.geometry, scene.projections, {model}, device(), RunOptions{}).output;
  EXPECT_LT(largest_error(again.voxels, scan.b.voxels), 0.05);
  EXPECT_TRUE(scan.reconstructed(parameters, device(), split(3, 1)).x.voxels == found.x.voxels);
  const auto two = reference::sub_devices(2);
  EXPECT_TRUE(scan.reconstructed(parameters, two, shared(two)).x.voxels ==
              scan.reconstructed(parameters, reference::undivided(), {}).x.voxels);
}

TEST(UserProjector, IsMeasuredOnceForAScan) {
  const auto scene = reference::scenes().front();
  std::ostringstream log;
  auto logger = std::make_shared<spdlog::logger>("own", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  logger->set_level(spdlog::level::debug);
  set_library_log(logger);
  const auto check = [&](const std::vector<float>& gains, const Geometry& geometry) {
    Grid stack = scene.projections;
    stack.size[2] = geometry.views.size();
    check_users_adjoint(with_gains(gains), "cgls", geometry, scene.grid, stack, device());
    const std::string text = log.str();
    std::size_t count = 0;
    for (auto at = text.find("is measured"); at != text.npos; at = text.find("is measured", at + 1)) ++count;
    return count;
  };
  const std::vector<float> gains{0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f};
  std::vector<float> others = gains;
  others.back() = 1;
  EXPECT_EQ(check(gains, scene.geometry), 1u);
  EXPECT_EQ(check(gains, scene.geometry), 1u);
  EXPECT_EQ(check(others, scene.geometry), 2u);
  EXPECT_EQ(check(gains, select_views(scene.geometry, {1, 0})), 3u);
  EXPECT_EQ(check(gains, scene.geometry), 3u);
  set_library_log(nullptr);
}

TEST(UserProjector, TextsThatDoNotKnowTheEndsOfRaysAreRefusedThere) {
  const auto scene = scenes_with_ends().front();
  const Projector plain(UserProjector("mine", "#define PROJECTOR_VERSION 1\nvoid trace(TRACE_PARAMETERS) {}\n"));
  const Volume x = reference::random_volume(scene.grid, 7);
  expect_refused([&] { project(x, scene.geometry, scene.projections, {plain}, device()); }, "without segment");
}

TEST(UserProjector, AtomicsOf32BitsGiveTheBitsOf64) {
  const auto scene = reference::scenes().front();
  const Volume stack = reference::random_volume(scene.projections, 3);
  const auto voxels = [&](const UserProjectorOptions& options) {
    return backproject(stack, scene.geometry, scene.grid, UserProjector::from_file(example("joseph"), options),
                       device())
        .output.voxels;
  };
  EXPECT_TRUE(voxels({.macros = {{"PORTABLE_ATOMICS", ""}}}) == voxels({}));
}

TEST(UserProjector, SumsOfAnySizeKeepTheirDigits) {
  const auto scene = reference::scenes().front();
  const Projector model = projector_from_name(example("joseph"));
  const auto of_size = [&](float size) {
    Volume volume = reference::random_volume(scene.grid, 7), stack = reference::random_volume(scene.projections, 3);
    for (Volume* each : {&volume, &stack})
      for (float& value : each->voxels) value *= size;
    Voxels both = project(volume, scene.geometry, scene.projections, {model}, device()).output.voxels;
    const Voxels back = backproject(stack, scene.geometry, scene.grid, model, device()).output.voxels;
    both.insert(both.end(), back.begin(), back.end());
    return both;
  };
  const Voxels ones = of_size(1);
  for (const int exponent : {-100, -60, 60, 100}) {
    Voxels scaled = of_size(std::ldexp(1.0f, exponent));
    for (float& each : scaled) each = std::ldexp(each, -exponent);
    EXPECT_TRUE(scaled == ones) << exponent;
  }
}

TEST(UserProjector, SolversTakeIt) {
  const auto scene = reference::scenes().front();
  const Volume truth = reference::random_volume(scene.grid, 7);
  const MeasuredScan scan{scene, project(truth, scene.geometry, scene.projections, device()).output};
  const auto image = [&](const std::string& method, const Projector& projector, const std::vector<Device>& devices,
                         const RunOptions& options) {
    ReconstructionParameters parameters;
    parameters.method = method;
    parameters.passes = 4;
    parameters.projector = projector;
    parameters.lambda = method == "spdhg" ? 0.01 : 0;
    return scan.reconstructed(parameters, devices, options).x.voxels;
  };
  for (const std::string method : {"sirt", "cgls", "osem", "spdhg"}) {
    SCOPED_TRACE(method);
    const Projector model = projector_from_name(example("joseph"));
    const Voxels found = image(method, model, device(), {});
    EXPECT_LT(largest_error(found, image(method, Projector::joseph, device(), {})), 1e-4);
    EXPECT_TRUE(image(method, model, device(), split(3, 2)) == found) << "slabs";
    const auto two = reference::sub_devices(2);
    EXPECT_TRUE(image(method, model, two, shared(two)) == image(method, model, reference::undivided(), {}))
        << "two devices";
  }
}

// Solvers of attenuated projections, whose weights depend on the path behind: near the truth of exact data, with a
// small gap by the certificate, and the same bits in slabs.
TEST(UserProjector, SolversTakeAttenuatedRays) {
  const auto scene = reference::scenes().front();
  UserProjectorOptions options;
  options.tables["mu"] = reference::random_volume(scene.grid, 9).voxels;
  for (float& each : options.tables["mu"]) each *= 0.02f;
  const Projector model = UserProjector::from_file(example("attenuated"), options);
  const Volume truth = reference::random_volume(scene.grid, 7);
  const MeasuredScan scan{scene,
                          project(truth, scene.geometry, scene.projections, {model}, device(), RunOptions{}).output};
  for (const std::string method : {"sirt", "cgls", "spdhg"}) {
    SCOPED_TRACE(method);
    const bool penalised = method == "spdhg";
    ReconstructionParameters parameters{.method = method, .passes = penalised ? 100 : 20};
    parameters.projector = model;
    parameters.lambda = penalised ? 1 : 0;
    const Reconstructed found = scan.reconstructed(parameters);
    const Volume again = project(found.x, scene.geometry, scene.projections, {model}, device(), RunOptions{}).output;
    double off = 0, all = 0;
    for (std::size_t n = 0; n < again.voxels.size(); ++n) {
      off += std::pow(static_cast<double>(again.voxels[n]) - scan.b.voxels[n], 2);
      all += std::pow(static_cast<double>(scan.b.voxels[n]), 2);
    }
    if (penalised) {
      EXPECT_LT(found.result.history.back().relative_gap, 0.1);
      EXPECT_GT(found.result.history.back().dual, 0);
    } else {
      EXPECT_LT(std::sqrt(off / all), 0.05);
    }
    EXPECT_TRUE(scan.reconstructed(parameters, device(), split(3, 2)).x.voxels == found.x.voxels) << "slabs";
  }
}

std::string text_of(const std::string& path) {
  return read_text_file(path, "the example", 1 << 20);
}

TEST(UserProjector, PairsThatAreNotAdjointAreFoundBySolvers) {
  const auto scene = reference::scenes().front();
  const MeasuredScan scan{
      scene, project(reference::random_volume(scene.grid, 7), scene.geometry, scene.projections, device()).output};
  const std::string right = text_of(example("nearest"));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = right;
    const auto at = text.rfind(from);
    EXPECT_NE(at, text.npos);
    return Projector(UserProjector("mine", text.replace(at, from.size(), to)));
  };
  const auto error = [&](const Projector& projector) {
    return measured_adjoint_error(projector, scene.geometry, scene.grid, scene.projections, device());
  };
  const Projector mine(UserProjector("mine", right)),
      scaled = replaced("path_mm(", "1.01f * path_mm("),
      shifted = replaced("near.y != (axis == 2 ? j : k)", "near.y + 1 != (axis == 2 ? j : k)");
  EXPECT_LT(error(mine), 1e-6);
  EXPECT_NEAR(error(scaled), 0.01, 1e-5);
  EXPECT_GT(error(shifted), 0.3);
  ReconstructionParameters parameters{.method = "cgls", .passes = 2};
  parameters.projector = mine;
  EXPECT_NO_THROW(scan.reconstructed(parameters));
  parameters.projector = scaled;
  expect_refused([&] { scan.reconstructed(parameters); }, "is not the adjoint of project (error 0.01)");
  parameters.method = "sirt";
  EXPECT_NO_THROW(scan.reconstructed(parameters));
}

TEST(UserProjector, RefusesTextsThatAreNoProjector) {
  const std::string version = "#define PROJECTOR_VERSION 1\n", trace = "void trace(TRACE_PARAMETERS) {}\n";
  const auto refused = [](const std::string& text, const std::string& part, const UserProjectorOptions& options = {}) {
    expect_refused([&] { UserProjector("mine", text, options); }, part);
  };
  refused(version, "mine is no projector; expected a ray model");
  refused(version + "// void trace(TRACE_PARAMETERS) {}", "no projector");
  refused(version + "__kernel void project(int a) {}", "without the kernel backproject");
  refused(version + "__kernel void backproject(int a) {}", "without the kernel project");
  refused(version + trace + "kernel void project(int a) {}", "both a ray model");
  refused(trace, "without PROJECTOR_VERSION; expected \"#define PROJECTOR_VERSION 1\"");
  refused("#define PROJECTOR_VERSION 2\n" + trace, "PROJECTOR_VERSION 2");
  const std::string pair = "__kernel void project(int a) {}\nkernel void backproject(int a) {}\n";
  refused(version + pair + "#define PROJECTOR_HALO 1.5e3\n", "PROJECTOR_HALO of mine is 1.5e3; expected 0 to 64");
  refused(version + trace + "#define PROJECTOR_HALO 1\n", "PROJECTOR_HALO of mine is given for a ray model");
  refused(version + "#if 0\n" + trace + "#endif\n", "no projector");
  refused(version + version + trace, "PROJECTOR_VERSION of mine is defined 2 times");
  refused(version + trace + "# define PROJECTOR_GROUP 1, 1, 1\n#define\tPROJECTOR_GROUP 1, 1, 2",
          "PROJECTOR_GROUP of mine is defined 2 times");
  refused(version + trace + "#define PROJECTOR_LARGEST_WEIGHT big\n", "is big; expected 1e-20 to 1e20 mm");
  refused(version + trace + "#define PROJECTOR_GROUP 16, 8\n", "PROJECTOR_GROUP of mine is 16, 8");
  refused(version + trace, "\"a b\"; expected names", {.macros = {{"a b", "1"}}});
  refused(version + trace, "mu without numbers", {.tables = {{"mu", {}}}});
  expect_refused([] { projector_from_name("no_such_file.cl"); }, "the projector 'no_such_file.cl'");
  expect_refused([] { projector_from_name("best"); }, "or a file of OpenCL C that ends in .cl");
}

TEST(UserProjector, ReadsTextsOfAnyForm) {
  const std::string version = "#define PROJECTOR_VERSION 1\n", trace = "void trace(TRACE_PARAMETERS) {}\n";
  const auto is_ray_model = [](const std::string& text) { return UserProjector("mine", text).is_ray_model(); };
  EXPECT_TRUE(is_ray_model("/*" + std::string(900'000, '*') + "*/" + version + trace));
  EXPECT_TRUE(is_ray_model("//" + std::string(900'000, 'a') + "\n" + version + trace));
  EXPECT_TRUE(is_ray_model(std::string(900'000, ' ') + "\n" + version + trace));
  EXPECT_TRUE(is_ray_model("#define LONG " + std::string(900'000, '1') + "\n" + version + trace));
  EXPECT_TRUE(is_ray_model("\xEF\xBB\xBF#define PROJECTOR_VERSION 1\r\n#include \"siddon.clh\"\r\n" + trace));
  EXPECT_TRUE(is_ray_model("#define PROJECTOR_VERSION \\\n1 // 2\nvoid trace ( TRACE_PARAMETERS\n)\n{}"));
  EXPECT_FALSE(is_ray_model(version + "__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void project(int a) {}\n"
                                      "kernel void __attribute__((noinline)) backproject(int a) {}"));
}

TEST(UserProjector, SaysWhatIsWrongInARun) {
  const auto scene = reference::scenes().front();
  Volume volume = reference::random_volume(scene.grid, 7);
  const auto run = [&](const std::string& body) {
    const UserProjector model("mine", "#define PROJECTOR_VERSION 1\nvoid trace(TRACE_PARAMETERS) {\n" + body + "\n}\n");
    return project(volume, scene.geometry, scene.projections, {model}, device()).output.voxels;
  };
  expect_refused([&] { run("VISIT(1, 1, 1, 1e6f);"); }, "#define PROJECTOR_LARGEST_WEIGHT");
  expect_refused([&] { run("VISIT(1, 1, 1, NAN);"); }, "a weight of mine is not finite");
  expect_refused([&] { run("wrong(1);"); }, ":3:");  // the user's line
  expect_refused([&] { run("wrong = 1;"); }, "if wrong is a table, give it: `projector_table`");
  try {
    run("wrong = 1;");
  } catch (const TextError& error) {
    const std::string text = error.what();
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20) << text;
  }
  const UserProjector other("mine",
                            "#define PROJECTOR_VERSION 1\n"
                            "__kernel void project(__global const float* volume, PROJECTOR_PARAMETERS) {}\n"
                            "__kernel void backproject(int a) {}\n");
  expect_refused([&] { project(volume, scene.geometry, scene.projections, {other}, device()); },
                 "the kernel project of mine, line 2, is one of other parameters; expected \"__kernel void project(");
  const auto pair = [&](const std::string& read, const std::string& written) {
    const UserProjector wrong("mine", "#define PROJECTOR_VERSION 1\n\n__kernel void project(" + read + " volume, " +
                                          written + " projections,\n                       PROJECTOR_PARAMETERS) {}\n" +
                                          "__kernel void backproject(int a) {}\n");
    return [&, wrong] { project(volume, scene.geometry, scene.projections, {wrong}, device()); };
  };
  expect_refused(
      pair("__global const int*", "__global float*"),
      "line 3, is one with \"__global const int* volume\" as parameter 1; expected \"__kernel void project(");
  expect_refused(pair("__global const float4*", "__global float*"), "\"__global const float4* volume\" as parameter 1");
  expect_refused(pair("__global const float*", "__global const float*"), "projections\" as parameter 2");
  expect_refused(pair("__global const float*", "__global uint*"), "\"__global uint* projections\" as parameter 2");
  std::string grouped = text_of(example("nearest"));
  const std::string declared = "__kernel void project(";
  grouped.replace(grouped.rfind(declared), declared.size(),
                  "__kernel __attribute__((reqd_work_group_size(2, 2, 2))) void project(");
  const auto run_text = [&](const std::string& text) {
    return project(volume, scene.geometry, scene.projections, {UserProjector("mine", text)}, device()).output.voxels;
  };
  expect_refused([&] { run_text(grouped); }, "#define PROJECTOR_GROUP");
  const Voxels outside = run("VISIT(-1, 0, 0, 1); VISIT(0, extent.ny, 0, 1); VISIT(0, 0, extent.nz, 1);");
  EXPECT_TRUE(std::all_of(outside.begin(), outside.end(), [](float each) { return each == 0; }));
  volume.voxels[3] = std::numeric_limits<float>::quiet_NaN();
  Volume views = Volume::uninitialised(scene.projections);
  MemorySink sink(views);
  expect_refused(
      [&] {
        project_into(MemorySource(volume), scene.geometry, sink, {projector_from_name(example("joseph"))}, device());
      },
      "values that are not finite");
}

}  // namespace
}  // namespace halocline::user_projector_test
