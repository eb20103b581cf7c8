// labels: device
// Reads through page-locked chunks that are drained later: all of them arrive, however many are under way. Transfers
// from and to devices that share the host's memory move no bytes there.
#include "host/opencl/staging.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "host/opencl/trace.hpp"

namespace halocline::staging_test {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

Staging::Piece into(std::vector<unsigned>& target) {
  return [&target](std::byte* at, std::size_t begin, std::size_t count) {
    std::memcpy(reinterpret_cast<std::byte*>(target.data()) + begin, at, count);
  };
}

TEST(Staging, ReadsThatAreDrainedLaterAllArrive) {
  auto device = open_devices({}).front();
  std::vector<unsigned> numbers(50 * mebi / sizeof(unsigned));
  std::iota(numbers.begin(), numbers.end(), 7u);
  const auto buffer = device.buffer("numbers", sizeof(unsigned) * numbers.size());
  device.write(buffer, 0, numbers.data(), buffer.bytes()).wait();
  const auto other = device.buffer("copy", buffer.bytes());

  Staging staging(device);
  // More than the chunks hold, parts of chunks, a single number.
  const std::vector<std::pair<std::size_t, std::size_t>> parts{
      {0, 40 * mebi}, {mebi, 3 * mebi}, {17 * mebi + 64, 20 * mebi - 4}, {4, 4}, {33 * mebi, 16 * mebi}};
  std::vector<std::vector<unsigned>> read(parts.size());
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const auto [offset, bytes] = parts[n];
    read[n].resize(bytes / sizeof(unsigned));
    EXPECT_TRUE(staging.read_later(buffer, offset, bytes, into(read[n])));
  }
  // A transfer the other way needs the same chunks.
  const auto written = staging.write(other, 0, 20 * mebi, [&](std::byte* at, std::size_t begin, std::size_t count) {
    std::memcpy(at, reinterpret_cast<const std::byte*>(numbers.data()) + begin, count);
  });
  staging.settle();
  written.wait();
  for (std::size_t n = 0; n < parts.size(); ++n)
    EXPECT_EQ(0, std::memcmp(read[n].data(), numbers.data() + parts[n].first / sizeof(unsigned), parts[n].second)) << n;
  std::vector<unsigned> back(5 * mebi);
  staging.read(other, 0, 20 * mebi, into(back));
  EXPECT_EQ(0, std::memcmp(back.data(), numbers.data(), 20 * mebi));
  staging.settle();  // nothing is left
}

Staging::Piece from(const std::vector<unsigned>& source) {
  return [&source](std::byte* at, std::size_t begin, std::size_t count) {
    std::memcpy(at, reinterpret_cast<const std::byte*>(source.data()) + begin, count);
  };
}

// Bytes that the device's commands move while so many numbers go there and come back, which is checked.
std::size_t bytes_moved(std::size_t count, std::size_t first) {
  auto device = open_devices({}).front();
  const auto trace = std::make_shared<Trace>();
  device.record(trace);
  std::vector<unsigned> numbers(count), back(count);
  std::iota(numbers.begin(), numbers.end(), 3u);
  const std::size_t bytes = sizeof(unsigned) * count, offset = sizeof(unsigned) * first;
  const auto buffer = device.buffer("numbers", offset + bytes + 12);
  Staging staging(device);
  const Event cleared = device.fill(buffer, 0, 0, buffer.bytes());
  const Event written = staging.write(buffer, offset, bytes, from(numbers), {&cleared, 1});
  staging.read(buffer, offset, bytes, into(back), {&written, 1}).wait();
  EXPECT_EQ(back, numbers);
  device.finish();
  std::size_t sum = 0;
  for (const auto& entry : trace->entries()) sum += entry.bytes;
  return sum;
}

TEST(Staging, MapsMemoryThatTheDeviceShares) {
  for (const auto& [count, first] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 0}, {7, 1}, {93, 5}, {300001, 17}, {5 * mebi + 3, 1}}) {
    EXPECT_EQ(bytes_moved(count, first), 2 * sizeof(unsigned) * count) << count;
    ::setenv("HALOCLINE_MAP_MEMORY", "1", 1);
    EXPECT_EQ(bytes_moved(count, first), 0u) << count;
    ::unsetenv("HALOCLINE_MAP_MEMORY");
  }
}

TEST(Staging, EndsAtAnErrorAndUnmaps) {
  ::setenv("HALOCLINE_MAP_MEMORY", "1", 1);
  auto device = open_devices({}).front();
  ::unsetenv("HALOCLINE_MAP_MEMORY");
  const auto buffer = device.buffer("numbers", 3 * mebi);
  Staging staging(device);
  const Staging::Piece fail = [](std::byte*, std::size_t begin, std::size_t) {
    if (begin > 0) throw std::runtime_error("no more");
  };
  EXPECT_THROW(staging.write(buffer, 0, buffer.bytes(), fail), std::runtime_error);
  EXPECT_THROW(staging.read(buffer, 0, buffer.bytes(), fail), std::runtime_error);
  const std::vector<unsigned> numbers(buffer.bytes() / sizeof(unsigned), 5u);
  std::vector<unsigned> back(numbers.size());
  staging.write(buffer, 0, buffer.bytes(), from(numbers));
  staging.read(buffer, 0, buffer.bytes(), into(back)).wait();
  EXPECT_EQ(back, numbers);
}

}  // namespace
}  // namespace halocline::staging_test
