// labels: device
#include "host/opencl/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <random>

#include "host/opencl/fft.hpp"
#include "host/opencl/fft_library.hpp"
#include "host/opencl/quirks.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::device_test {
namespace {

namespace fs = std::filesystem;

std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (auto& value : values) value = normal(random);
  return values;
}

// Kernels of the test, in a folder that HALOCLINE_CL_PATH names.
class KernelFolder {
 public:
  KernelFolder() : folder_(fs::temp_directory_path() / ("halocline-kernels-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    ::setenv("HALOCLINE_CL_PATH", folder_.c_str(), 1);
  }
  ~KernelFolder() {
    ::unsetenv("HALOCLINE_CL_PATH");
    fs::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

 private:
  fs::path folder_;
};

TEST(Device, WritesCopiesFillsAndReadsBack) {
  Device device = open_devices({}).front();
  const auto values = random_values(1000, 1);
  Buffer a = device.buffer("a", 4000), b = device.buffer("b", 4000);
  const Event written = device.write(a, 0, values.data(), 4000);
  const Event filled = device.fill(b, -1.5f, 0, 4000);
  const Event waits[] = {written, filled};
  const Event copied = device.copy(a, 400, b, 800, 2000, waits);  // elements 100..600 to 200..700
  std::vector<float> back(1000);
  device.read(b, 0, back.data(), 4000, {&copied, 1}).wait();
  for (int n = 0; n < 1000; ++n) EXPECT_EQ(back[n], n >= 200 && n < 700 ? values[n - 100] : -1.5f) << n;
}

// Different sizes at different places; more than one kernel makes; also those that are no whole words.
TEST(Device, CopiesSeveralAtOnce) {
  for (const std::size_t unit : {std::size_t{16}, std::size_t{4}}) {
    Device device = open_devices({}).front();
    const std::size_t count = 6, floats = 5000;
    std::vector<Buffer> from, to;
    std::vector<std::vector<float>> values;
    std::vector<Event> events;
    for (std::size_t n = 0; n < count; ++n) {
      values.push_back(random_values(floats, static_cast<unsigned>(n)));
      from.push_back(device.buffer("from", floats * 4));
      to.push_back(device.buffer("to", floats * 4));
      events.push_back(device.write(from[n], 0, values[n].data(), floats * 4));
      events.push_back(device.fill(to[n], -2, 0, floats * 4));
    }
    std::vector<BufferCopy> copies;
    for (std::size_t n = 0; n < count; ++n)
      copies.push_back({&from[n], unit * (3 + n), &to[n], unit * (40 - 5 * n), unit * (n == 4 ? 0 : 200 * n + 7)});
    const Event copied = device.copy(copies, events);
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<float> back(floats);
      device.read(to[n], 0, back.data(), floats * 4, {&copied, 1}).wait();
      const auto& copy = copies[n];
      for (std::size_t i = 0; i < floats; ++i) {
        const bool inside = 4 * i >= copy.to_offset && 4 * i < copy.to_offset + copy.bytes;
        ASSERT_EQ(back[i], inside ? values[n][i - copy.to_offset / 4 + copy.from_offset / 4] : -2.0f) << n << ", " << i;
      }
    }
  }
}

TEST(Device, MemoryOfARetiredArrayServesTheNextOfItsSize) {
  ::setenv("HALOCLINE_KEEP_MEMORY", "1", 1);
  Device device = open_devices({}).front();
  ::unsetenv("HALOCLINE_KEEP_MEMORY");
  Buffer first = device.buffer("first", 4000), other = device.buffer("other", 8000);
  const void* memory = first.handle();
  first.retire();
  EXPECT_EQ(first.handle(), nullptr);
  EXPECT_EQ(device.ledger().in_use(), 8000u);
  other.retire();
  Buffer again = device.buffer("again", 4000);
  EXPECT_EQ(again.handle(), memory);
  EXPECT_EQ(again.name(), "again");
  EXPECT_EQ(device.ledger().in_use(), 4000u);
  device.fill(again, 2.5f, 0, 4000).wait();
  Buffer third = device.buffer("third", 12000);  // ends what is kept: all of it can be had
  std::vector<float> back(1000);
  device.read(again, 0, back.data(), 4000).wait();
  EXPECT_EQ(back, std::vector<float>(1000, 2.5f));
  first.retire();  // has none
}

TEST(Device, CopiesPastTheEndOfAnArrayAreRefused) {
  Device device = open_devices({}).front();
  Buffer a = device.buffer("a", 100);
  float value = 0;
  EXPECT_THROW(device.write(a, 98, &value, 4), std::logic_error);
  EXPECT_THROW(device.read(a, 0, &value, 101), std::logic_error);
}

TEST(Device, BooksMemoryAndKeepsTheBudget) {
  Device device = open_devices({.device = "", .sub_devices = 0, .device_memory = 1 << 20}).front();
  {
    Buffer a = device.buffer("first", 600000);
    EXPECT_EQ(device.ledger().in_use(), 600000u);
    const std::string error = refusal_of<PlanError>([&] { Buffer b = device.buffer("second", 600000); });
    EXPECT_NE(error.find("first"), std::string::npos) << error;
    EXPECT_NE(error.find("second"), std::string::npos) << error;
    Buffer moved = std::move(a);
    EXPECT_EQ(device.ledger().in_use(), 600000u);
  }
  EXPECT_EQ(device.ledger().in_use(), 0u);
  EXPECT_EQ(device.ledger().peak(), 600000u);
}

TEST(Device, KernelsTakeStructsByValue) {
  struct Inner {
    float x, y;
  };
  struct Values {
    std::int32_t a;
    Inner inner;
    std::uint32_t b;
  };
  Device device = open_devices({}).front();
  const KernelFolder folder;
  folder.write("struct.cl",
               "typedef struct { float x, y; } Inner;\n"
               "typedef struct { int a; Inner inner; uint b; } Values;\n"
               "__kernel void struct_read(__global float* to, Values first, float between, Values second) {\n"
               "  to[0] = first.a, to[1] = first.inner.x, to[2] = first.inner.y, to[3] = first.b, to[4] = between;\n"
               "  to[5] = second.a, to[6] = second.inner.x, to[7] = second.inner.y, to[8] = second.b;\n"
               "}\n");
  Buffer to = device.buffer("to", 36);
  const KernelArgument arguments[] = {&to, argument_struct(Values{-1, {2.5f, 3.5f}, 4}), 5.5f,
                                      argument_struct(Values{-6, {7.5f, 8.5f}, 9})};
  const Event run = device.launch({"struct.cl", "struct_read", ""}, {1, 1, 1}, arguments);
  std::vector<float> back(9);
  device.read(to, 0, back.data(), 36, {&run, 1}).wait();
  EXPECT_EQ(back, (std::vector<float>{-1, 2.5f, 3.5f, 4, 5.5f, -6, 7.5f, 8.5f, 9}));
}

TEST(Device, AWrongKernelShowsLogOptionsAndNumberedSource) {
  Device device = open_devices({}).front();
  const KernelFolder folder;
  folder.write("wrong.cl", "// first line\n__kernel void wrong_run(__global float* a) { a[0] = nonsense; }\n");
  const std::string error = refusal_of<BuildError>([&] {
    device.prepare({"wrong.cl", "wrong_run", "-D SOME_OPTION=3"});
  });
  const std::string text = error;
  EXPECT_NE(text.find("nonsense"), std::string::npos) << text;
  EXPECT_NE(text.find("SOME_OPTION=3"), std::string::npos) << text;
  EXPECT_NE(text.find("   2 __kernel"), std::string::npos) << text;
  EXPECT_NE(text.find(device.info().name), std::string::npos) << text;
}

// Ctrl-C ends a compiler that runs as a separate process too, and its compilation fails.
TEST(Device, WhatFailsAfterCtrlCIsInterrupted) {
  Device device = open_devices({}).front();
  const KernelFolder folder;
  folder.write("wrong.cl", "__kernel void wrong_run(__global float* a) { a[0] = nonsense; }\n");
  use_fft_library(device, FftLibrary::clfft);
  EXPECT_THROW(device.prepare({"wrong.cl", "wrong_run", ""}), BuildError);
  EXPECT_THROW(Fft(device, 17, 1), ClError);  // no length of clFFT
  request_interrupt(true);
  EXPECT_THROW(device.prepare({"wrong.cl", "wrong_run", ""}), Interrupted);
  EXPECT_THROW(Fft(device, 17, 1), Interrupted);
  request_interrupt(false);
}

TEST(Device, AMissingKernelIsNamed) {
  Device device = open_devices({}).front();
  const std::string error = refusal_of<ClError>([&] { device.prepare({"fill.cl", "fill_nothing", ""}); });
  EXPECT_NE(error.find("fill_nothing"), std::string::npos) << error;
  EXPECT_NE(error.find("CL_INVALID_KERNEL_NAME"), std::string::npos) << error;
}

TEST(Device, RunsTheSameFromTheDiskCache) {
  const auto cache = fs::temp_directory_path() / ("halocline-cache-" + std::to_string(::getpid()));
  const char* before = std::getenv("HALOCLINE_CACHE_DIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("HALOCLINE_CACHE_DIR", cache.c_str(), 1);
  const auto run = [] {
    Device device = open_devices({}).front();  // a new one has no program in memory
    Buffer a = device.buffer("a", 40);
    device.fill(a, 0, 0, 40);
    const KernelArgument arguments[] = {&a, std::uint64_t{3}, std::uint64_t{4}, 7.0f};
    const Event ended = device.launch({"fill.cl", "fill_value", ""}, {4, 1, 1}, arguments);
    std::vector<float> back(10);
    device.read(a, 0, back.data(), 40, {&ended, 1}).wait();
    return back;
  };
  const std::vector<float> expected{0, 0, 0, 7, 7, 7, 7, 0, 0, 0};
  const auto entries = [&] {
    const auto files = fs::recursive_directory_iterator(cache);
    return std::count_if(begin(files), end(files), [](const auto& entry) { return entry.is_regular_file(); });
  };
  const std::size_t uncounted = quirks_of(open_devices({}).front().info()).builds_before_binary;
  for (std::size_t n = 0; n < uncounted; ++n) {
    EXPECT_EQ(run(), expected);
    EXPECT_EQ(entries(), 1);  // the number of builds
  }
  EXPECT_EQ(run(), expected);
  EXPECT_EQ(entries(), uncounted == 0 ? 1 : 2);
  EXPECT_EQ(run(), expected);
  for (const auto& entry : fs::recursive_directory_iterator(cache))  // a corrupt entry is built again
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::in | std::ios::out).seekp(200) << "rubbish";
  EXPECT_EQ(run(), expected);
  if (kept.empty())
    ::unsetenv("HALOCLINE_CACHE_DIR");
  else
    ::setenv("HALOCLINE_CACHE_DIR", kept.c_str(), 1);
  fs::remove_all(cache);
}

TEST(Device, TheTraceHoldsEveryCommandOnce) {
  Device device = open_devices({}).front();
  auto trace = std::make_shared<Trace>();
  device.record(trace);
  const std::uint64_t begin = trace_clock();
  const auto values = random_values(100, 2);
  Buffer a = device.buffer("a", 400);
  const Event written = device.write(a, 0, values.data(), 400);
  const KernelArgument arguments[] = {&a, std::uint64_t{0}, std::uint64_t{4}, 7.0f};
  const Event run = device.launch({"fill.cl", "fill_value", ""}, {4, 1, 1}, arguments, {&written, 1});
  std::vector<float> back(100);
  device.read(a, 0, back.data(), 400, {&run, 1});
  device.finish();
  const auto entries = trace->entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].queue, "upload");
  EXPECT_EQ(entries[1].name, "fill_value");
  EXPECT_EQ(entries[2].bytes, 400u);
  EXPECT_LE(entries[0].end_ns, entries[1].start_ns);
  EXPECT_LE(entries[1].end_ns, entries[2].start_ns);
  EXPECT_GE(entries[0].start_ns, begin);  // the device's times on the host's clock
  EXPECT_LE(entries[2].end_ns, trace_clock() + 10'000'000);
  device.record(nullptr);
}

TEST(Device, PinnedMemoryCanBeWrittenFrom) {
  Device device = open_devices({}).front();
  PinnedMemory pinned = device.pinned(4000);
  auto* values = reinterpret_cast<float*>(pinned.data());
  for (int n = 0; n < 1000; ++n) values[n] = static_cast<float>(n);
  Buffer a = device.buffer("a", 4000);
  const Event written = device.write(a, 0, values, 4000);
  std::vector<float> back(1000);
  device.read(a, 0, back.data(), 4000, {&written, 1}).wait();
  EXPECT_EQ(back[999], 999.0f);
  EXPECT_EQ(back[1], 1.0f);
}

TEST(Device, SubDevicesShareTheComputeUnits) {
  const auto whole = open_devices({.device = "cpu", .sub_devices = 0, .device_memory = 0}).front().info();
  if (whole.compute_units < 2) GTEST_SKIP() << "one compute unit cannot be split";
  const auto parts = open_devices({.device = "cpu", .sub_devices = 2, .device_memory = 0});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].info().compute_units, whole.compute_units / 2);
  EXPECT_NE(parts[0].info().name, parts[1].info().name);
  EXPECT_THROW(open_devices({.device = "cpu", .sub_devices = 10000, .device_memory = 0}), InputError);
}

TEST(Fft, LengthsArePowersOfTwo) {
  EXPECT_EQ(fft_length(1), 1u);
  EXPECT_EQ(fft_length(7), 8u);
  EXPECT_EQ(fft_length(1120), 2048u);
  EXPECT_EQ(fft_length(2048), 2048u);
}

// Against the sum in double; every row by itself, so that neighbours in a batch cannot change a bit.
class FftTransform : public testing::TestWithParam<std::tuple<FftLibrary, std::size_t>> {};

TEST_P(FftTransform, EqualsTheSumInDouble) {
  const auto [library, length] = GetParam();
  const std::size_t batch = 3;
  Device device = open_devices({}).front();
  if (library == FftLibrary::clfft && !fft_fault(device, library).empty()) GTEST_SKIP() << "clFFT does not work here";
  use_fft_library(device, library);
  auto values = random_values(2 * length * batch, 3);
  Buffer data = device.buffer("data", 8 * length * batch);
  Fft fft(device, length, batch);
  const Event written = device.write(data, 0, values.data(), data.bytes());
  const Event ended = fft.forward(data, {&written, 1});
  std::vector<float> spectrum(values.size()), back(values.size());
  device.read(data, 0, spectrum.data(), data.bytes(), {&ended, 1}).wait();
  for (std::size_t row = 0; row < batch; ++row)
    for (std::size_t k = 0; k < length; k += 1 + length / 17) {
      std::complex<double> sum = 0;
      for (std::size_t n = 0; n < length; ++n)
        sum +=
            std::complex<double>(values[2 * (row * length + n)], values[2 * (row * length + n) + 1]) *
            std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * n % length) / static_cast<double>(length));
      const double tolerance =
          4e-7 * std::sqrt(static_cast<double>(length)) * std::log2(static_cast<double>(length) + 1);
      EXPECT_NEAR(spectrum[2 * (row * length + k)], sum.real(), tolerance) << row << " " << k;
      EXPECT_NEAR(spectrum[2 * (row * length + k) + 1], sum.imag(), tolerance) << row << " " << k;
    }
  const Event inverted = fft.inverse(data);
  device.read(data, 0, back.data(), data.bytes(), {&inverted, 1}).wait();
  for (std::size_t n = 0; n < values.size(); ++n) EXPECT_NEAR(back[n], values[n], 4e-6) << n;

  // the second row alone, in a batch of one
  Buffer single = device.buffer("single", 8 * length);
  Fft one(device, length, 1);
  const Event again = device.write(single, 0, values.data() + 2 * length, single.bytes());
  const Event alone = one.forward(single, {&again, 1});
  std::vector<float> row(2 * length);
  device.read(single, 0, row.data(), single.bytes(), {&alone, 1}).wait();
  for (std::size_t n = 0; n < row.size(); ++n) EXPECT_EQ(row[n], spectrum[2 * length + n]) << n;
}

INSTANTIATE_TEST_SUITE_P(Lengths, FftTransform,
                         testing::Combine(testing::Values(FftLibrary::clfft, FftLibrary::vkfft),
                                          testing::Values(1, 2, 8, 64, 1024, 4096)),
                         [](const auto& info) {
                           return (std::get<0>(info.param) == FftLibrary::clfft ? "clfft_" : "vkfft_") +
                                  std::to_string(std::get<1>(info.param));
                         });

// The library is remembered, and looked for once.
TEST(Fft, ALibraryThatWorksIsFound) {
  const Device device = open_devices({}).front();
  EXPECT_EQ(fft_fault(device, fft_library(device)), "");
  EXPECT_EQ(fft_fault(device, FftLibrary::vkfft), "");
  use_fft_library(device, FftLibrary::vkfft);
  EXPECT_EQ(fft_library(device), FftLibrary::vkfft);
}

}  // namespace
}  // namespace halocline::device_test
