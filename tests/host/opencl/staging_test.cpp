// labels: device
// Reads through page-locked chunks that are drained later: all of them arrive, however many are under way.
#include "host/opencl/staging.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

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

}  // namespace
}  // namespace halocline::staging_test
