// labels: device slab
// The cancellation of one run: it ends that run, whatever computes it, and no other that runs beside it.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::cancellation_test {
namespace {

using Work = std::function<Volume(const RunOptions&)>;

struct Job {
  std::string name;
  Work work;
};

const Geometry& circle() {
  static const Geometry geometry = [] { return circular_geometry({.sid = 200, .sdd = 300, .projections = 40}); }();
  return geometry;
}
const Grid& stack() {
  static const Grid grid = [] {
    Grid result{{30, 20, 40}, {2, 2, 1}};
    result.origin = {-29, -19, 0};
    return result;
  }();
  return grid;
}
Volume smooth(const Grid& grid) {
  Volume result(grid);
  for (std::size_t n = 0; n < result.voxels.size(); ++n)
    result.voxels[n] = static_cast<float>((n * 7919) % 101) / 101 + (n % grid.size[0] > grid.size[0] / 2 ? 1.0F : 0.0F);
  return result;
}
Grid cube() {
  Grid grid{{24, 20, 18}};
  grid.origin = {-11.5, -9.5, -8.5};
  return grid;
}

Volume denoised(const RunOptions& options, const std::vector<Device>& devices) {
  DenoiseParameters parameters{.alpha = 5, .iterations = 60};
  parameters.gap = 1e-12;  // the gap is evaluated every 5 or 10 iterations, and not reached
  return denoise(smooth(cube()), nullptr, parameters, devices, options).output;
}

Volume reconstructed(const RunOptions& options) {
  const Volume projections = smooth(stack());
  const MemorySource source(projections);
  ReconstructionParameters parameters{.method = "cgls", .passes = 10};
  Volume result(cube());
  MemorySink sink(result);
  reconstruct({.projections = &source}, circle(), sink, parameters, reference::device(), options);
  return result;
}

std::vector<Job> jobs() {
  return {
      {"denoise", [](const RunOptions& options) { return denoised(options, reference::device()); }},
      {"denoise_two_devices",
       [](const RunOptions& options) {
         RunOptions both = options;
         both.plan = shared(reference::sub_devices(2)).plan;
         return denoised(both, reference::sub_devices(2));
       }},
      {"denoise_streamed",
       [](const RunOptions& options) {
         RunOptions streamed = options;
         streamed.plan = split(4).plan;
         return denoised(streamed, reference::device());
       }},
      {"fdk",
       [](const RunOptions& options) {
         RunOptions slabs = options;
         slabs.plan = split(6, 5).plan;
         return fdk(smooth(stack()), circle(), cube(), {}, reference::device(), slabs).output;
       }},
      {"project",
       [](const RunOptions& options) {
         RunOptions batches = options;
         batches.plan = split(2, 5).plan;
         return project(smooth(cube()), circle(), stack(), reference::device(), batches).output;
       }},
      {"reconstruct", reconstructed},
  };
}

void PrintTo(const Job& job, std::ostream* out) {
  *out << job.name;
}

class Cancellations : public testing::TestWithParam<Job> {};

TEST_P(Cancellations, EndOneRunAndNotTheOther) {
  const Volume expected = GetParam().work({});

  Cancellation cancelled, kept;
  std::string error;
  std::optional<Volume> other;
  const auto begun = [](Cancellation* to_request) {
    RunOptions options;
    options.progress = [to_request](const ProgressState& state) {
      if (to_request != nullptr && state.done > 0) to_request->request();
    };
    return options;
  };
  {
    std::jthread first([&] {
      const CancellationScope scope(&cancelled);
      try {
        GetParam().work(begun(&cancelled));
      } catch (const Interrupted& interrupted) {
        error = interrupted.what();
      }
    });
    std::jthread second([&] {
      const CancellationScope scope(&kept);
      other = GetParam().work(begun(nullptr));
    });
  }
  EXPECT_EQ(error, "interrupted: nothing was written, the input files are untouched");
  ASSERT_TRUE(other.has_value());
  EXPECT_TRUE(other->voxels == expected.voxels);
  EXPECT_FALSE(interrupt_requested()) << "the process was not asked to end";
}

INSTANTIATE_TEST_SUITE_P(All, Cancellations, testing::ValuesIn(jobs()),
                         [](const auto& each) { return each.param.name; });

TEST(Cancellation, KeepsWhatThereIsIfThatIsAsked) {
  Cancellation cancellation;
  const CancellationScope scope(&cancellation);
  DenoiseParameters parameters{.alpha = 5, .iterations = 100000, .gap = 0};
  RunOptions options{.keep_partial = true};
  options.progress = [&](const ProgressState& state) {
    if (state.done > 20) cancellation.request();
  };
  const DenoiseResult result = denoise(smooth(cube()), nullptr, parameters, reference::device(), options);
  EXPECT_EQ(result.stopped_by, StoppedBy::interrupt);
  EXPECT_GT(result.iterations, 20);
  EXPECT_LT(result.iterations, 100000);
  EXPECT_FALSE(cancellation.requested()) << "it was answered";
}

TEST(Cancellation, IsThatOfTheInnermostScope) {
  Cancellation outer, inner;
  outer.request();
  {
    const CancellationScope first(&outer);
    EXPECT_TRUE(interrupt_requested());
    {
      const CancellationScope second(&inner);
      EXPECT_EQ(current_cancellation(), &inner);
      EXPECT_NO_THROW(check_interrupt());
    }
    EXPECT_THROW(check_interrupt(), Interrupted);
  }
  EXPECT_NO_THROW(check_interrupt());
}

}  // namespace
}  // namespace halocline::cancellation_test
