// labels: device slab error
// Runs that read their inputs from sources and write to sinks, in any type of voxels: bitwise identical to runs on
// volumes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/support/volume_sample.hpp"
#include "host/opencl/device.hpp"
#include "host/system/error.hpp"
#include "host/volume/typed_volume.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::streaming_test {
namespace {

using reference::device;

std::vector<Device> two_devices() {
  DeviceSelection two{.device = reference::cpu_or_default(), .sub_devices = 2};
  try {
    return open_devices(two);
  } catch (const InputError&) {  // there is no CPU to split
    return {};
  }
}

// Two balls in whole numbers, of odd sizes; large enough that a volume is more than one piece.
Volume counts() {
  const Volume balls = reference::two_balls(93, 0.1);
  Grid grid = balls.grid;
  grid.size[2] = 61;
  Volume volume(grid);
  const float* from = balls.voxels.data() + 16 * grid.slice();
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = std::clamp(std::round(100 * from[n] + 40), 0.0f, 255.0f);
  return volume;
}

TypedVolume typed(const Volume& volume, Component component, const Scaling& scaling = {}) {
  TypedVolume result(volume.grid, component, scaling);
  TypedSink sink(result);
  copy_voxels(MemorySource(volume), sink);
  EXPECT_EQ(sink.changed(), 0u);
  return result;
}

DenoiseParameters few_iterations(const std::string& method) {
  DenoiseParameters parameters{.method = method, .iterations = 12};
  if (method == "tvgd")
    parameters.step = 0.8;
  else
    parameters.alpha = 0.15;
  return parameters;
}

Volume weights_for(const Volume& volume) {
  Volume weights(volume.grid);
  for (std::size_t n = 0; n < weights.voxels.size(); ++n) weights.voxels[n] = static_cast<float>(n % 5);
  return weights;
}

class Streaming : public testing::TestWithParam<const char*> {
 protected:
  bool weighted() const { return std::string(GetParam()) == "spdu"; }
  DenoiseParameters parameters_ = few_iterations(GetParam());
  Volume f_ = counts(), weights_ = weights_for(f_);
};

TEST_P(Streaming, EveryTypeGivesTheBitsOfFloat) {
  const auto whole = denoise(f_, weighted() ? &weights_ : nullptr, parameters_, device());
  const TypedSource weights(typed(weights_, Component::uint8));
  for (const char* name : {"uint8", "int16", "uint16", "float16", "float32", "int32", "float64"}) {
    SCOPED_TRACE(name);
    const TypedSource source(typed(f_, component_named(name)));
    Volume output = Volume::uninitialised(f_.grid);
    MemorySink sink(output);
    const auto result = denoise_into(source, weighted() ? &weights : nullptr, sink, parameters_, device());
    EXPECT_EQ(output.voxels, whole.output.voxels);
    EXPECT_EQ(result.fidelity, whole.fidelity);
    EXPECT_TRUE(result.output.voxels.empty());
  }
}

TEST_P(Streaming, TheResultIsRoundedIntoEveryType) {
  const auto whole = denoise(f_, weighted() ? &weights_ : nullptr, parameters_, device());
  const MemorySource source(f_), weights(weights_);
  for (const char* name : {"uint8", "int16", "uint16", "float16", "float32"}) {
    SCOPED_TRACE(name);
    TypedVolume output(f_.grid, component_named(name));
    TypedSink sink(output);
    denoise_into(source, weighted() ? &weights : nullptr, sink, parameters_, device());
    TypedVolume expected(f_.grid, component_named(name));
    const auto changed =
        convert_from_float(component_named(name), whole.output.voxels.data(), expected.bytes(), f_.grid.count());
    EXPECT_EQ(0, std::memcmp(output.bytes(), expected.bytes(), expected.byte_count()));
    EXPECT_EQ(sink.changed(), changed);
  }
}

TEST_P(Streaming, ManySlabsAndTwoDevicesGiveTheBitsOfOne) {
  const TypedSource source(typed(f_, Component::uint8)), weights(typed(weights_, Component::uint8));
  const auto run = [&](const std::vector<Device>& devices, const RunOptions& options = {}) {
    TypedVolume output(f_.grid, Component::float32);
    TypedSink sink(output);
    const auto result = denoise_into(source, weighted() ? &weights : nullptr, sink, parameters_, devices, options);
    return std::pair(to_volume(std::move(output)), result);
  };
  const auto [one, one_result] = run(device());
  EXPECT_EQ(one_result.plan.slabs.size(), 1u);
  RunOptions options{.plan = {.minimum_slabs = 4}};
  const auto [many, many_result] = run(device(), options);
  EXPECT_GE(many_result.plan.slabs.size(), 4u);
  EXPECT_FALSE(many_result.plan.resident);  // the state has no place in the sink
  EXPECT_EQ(many.voxels, one.voxels);
  EXPECT_EQ(many_result.fidelity, one_result.fidelity);
  // the same with the state in the sink's own memory
  Volume in_memory = Volume::uninitialised(f_.grid);
  MemorySink memory(in_memory);
  denoise_into(source, weighted() ? &weights : nullptr, memory, parameters_, device(), options);
  EXPECT_EQ(in_memory.voxels, one.voxels);
  const auto two = two_devices();
  if (two.empty()) return;
  const auto [both, both_result] = run(two);
  EXPECT_TRUE(both_result.plan.resident);
  // one of the same kind, which need not be the default device
  DeviceSelection cpu;
  cpu.device = reference::cpu_or_default();
  EXPECT_EQ(both.voxels, run(open_devices(cpu)).first.voxels);
}

// Path of GPUs, on any device: results go through page-locked memory to the sink as they arrive, and the memory of one
// run is used by the next.
TEST_P(Streaming, StagedTransfersAndKeptMemoryGiveTheSameBits) {
  ::setenv("HALOCLINE_STAGE_TRANSFERS", "1", 1);
  ::setenv("HALOCLINE_KEEP_MEMORY", "1", 1);
  const auto staged = open_devices({});
  ::unsetenv("HALOCLINE_STAGE_TRANSFERS");
  ::unsetenv("HALOCLINE_KEEP_MEMORY");
  const MemorySource source(f_), weights(weights_);
  const auto run = [&](const std::vector<Device>& devices, int slabs, VolumeSink& sink) {
    RunOptions options{.plan = {.minimum_slabs = slabs}};
    denoise_into(source, weighted() ? &weights : nullptr, sink, parameters_, devices, options);
  };
  Volume one = Volume::uninitialised(f_.grid);
  MemorySink whole(one);
  run(device(), 1, whole);
  for (const int slabs : {4, 9, 1, 1}) {
    Volume memory = Volume::uninitialised(f_.grid);
    MemorySink sink(memory);
    run(staged, slabs, sink);
    EXPECT_EQ(memory.voxels, one.voxels) << slabs;
    TypedVolume elsewhere(f_.grid, Component::float32);
    TypedSink other(elsewhere);
    run(staged, slabs, other);
    EXPECT_EQ(to_volume(std::move(elsewhere)).voxels, one.voxels) << slabs;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Streaming, testing::Values("pdu", "spdu", "tvgd"),
                         [](const auto& info) { return std::string(info.param); });

TEST(StreamingChoice, AlphaIsChosenFromSourcesAsFromVolumes) {
  const Volume f = counts();
  const auto whole = denoise(f, nullptr, {}, device());
  const TypedSource source(typed(f, Component::uint8));
  Volume output = Volume::uninitialised(f.grid);
  MemorySink sink(output);
  const auto streamed = denoise_into(source, nullptr, sink, {}, device());
  EXPECT_EQ(streamed.alpha, whole.alpha);
  EXPECT_EQ(streamed.noise_sigma, whole.noise_sigma);
  EXPECT_EQ(output.voxels, whole.output.voxels);
}

TEST(StreamingChoice, NothingIsEstimatedThatNobodyNeeds) {
  const auto result = denoise(counts(), nullptr, few_iterations("pdu"), device());
  EXPECT_TRUE(std::isnan(result.noise_sigma));
  EXPECT_EQ(result.alpha_choice, "given");
}

// Only the rows of the part are read, a slice at a time.
TEST(StreamingChoice, TheCentralPartIsReadAlone) {
  const Volume f = reference::two_balls(48, 0.1);
  Grid grid{.size = {48, 48, 8000}};
  class Padded : public VolumeSource {
   public:
    Padded(const Volume& volume, const Grid& large) : volume_(volume), grid_(large) {}
    const Grid& grid() const override { return grid_; }
    void read(std::size_t first, std::size_t count, float* to) const override {
      read_voxels += count;
      const std::size_t begin = grid_.slice() * (grid_.size[2] - 48) / 2;
      for (std::size_t n = 0; n < count; ++n) {
        const std::size_t at = first + n;
        to[n] = at < begin || at >= begin + volume_.voxels.size() ? 1.0f : volume_.voxels[at - begin];
      }
    }
    mutable std::atomic<std::size_t> read_voxels{0};

   private:
    const Volume& volume_;
    Grid grid_;
  } padded(f, grid);
  const Volume part = central_part(padded, 48 * 48 * 48);
  EXPECT_EQ(part.voxels, f.voxels);
  EXPECT_EQ(padded.read_voxels, part.voxels.size());
}

// Something fails in the middle of a run: the error arrives, and the device can be used again.
TEST(StreamingErrors, SourcesAndSinksMayFail) {
  const Volume f = counts();
  class Failing : public VolumeSource {
   public:
    Failing(const Volume& volume, std::size_t from) : source_(volume), from_(from) {}
    const Grid& grid() const override { return source_.grid(); }
    void read(std::size_t first, std::size_t count, float* to) const override {
      // the sample is small; the pieces of an upload are not
      if (count > 2000 && first + count > from_) throw FileError("the disk is gone");
      source_.read(first, count, to);
    }

   private:
    MemorySource source_;
    std::size_t from_;
  };
  class FullSink : public VolumeSink {
   public:
    explicit FullSink(const Grid& grid) : grid_(grid) {}
    const Grid& grid() const override { return grid_; }
    void write(std::size_t first, std::size_t, float*) override {
      if (first > 0) throw FileError("the disk is full");
    }

   private:
    Grid grid_;
  };
  const auto message = [&](const VolumeSource& source, VolumeSink& sink, int slabs) -> std::string {
    RunOptions options{.plan = {.minimum_slabs = slabs}};
    return refusal_of<FileError>(
        [&] { denoise_into(source, nullptr, sink, few_iterations("pdu"), device(), options); });
  };
  Volume output = Volume::uninitialised(f.grid);
  MemorySink good_sink(output);
  FullSink full(f.grid);
  const MemorySource good(f);
  for (const int slabs : {1, 3}) {
    EXPECT_EQ(message(Failing(f, f.grid.count() / 2), good_sink, slabs), "the disk is gone");
    EXPECT_EQ(message(Failing(f, 0), good_sink, slabs), "the disk is gone");
    EXPECT_EQ(message(good, full, slabs), "the disk is full");
    EXPECT_EQ(message(good, good_sink, slabs), "");
  }
  EXPECT_EQ(output.voxels, denoise(f, nullptr, few_iterations("pdu"), device()).output.voxels);
}

TEST(StreamingErrors, SizesMustAgree) {
  const Volume f = counts();
  Grid other = f.grid;
  other.size[2] -= 1;
  Volume output(other);
  MemorySink sink(output);
  EXPECT_THROW(denoise_into(MemorySource(f), nullptr, sink, few_iterations("pdu"), device()), std::logic_error);
}

}  // namespace
}  // namespace halocline::streaming_test
