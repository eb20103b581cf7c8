// labels: unit
// Arrays of which parts of views have memory.
#include "scheduling/transport/transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "host/volume/volume_source.hpp"

namespace halocline::transport_test {
namespace {

constexpr std::size_t views = 3, view = 10, begin = 4, count = 3;  // bytes

std::vector<std::byte> numbers(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t n = 0; n < bytes; ++n) result[n] = static_cast<std::byte>(n + 1);
  return result;
}

bool is_held(std::size_t place) {
  return place % view >= begin && place % view < begin + count;
}

TEST(Transport, KeepsPartsOfViewsAndPassesOverTheRest) {
  Transport transport;
  transport.hold("r", views * view, {view, begin, count});
  const auto all = numbers(views * view);
  transport.put("r", 0, all.size(), all.data());
  for (std::size_t first = 0; first < all.size(); ++first)
    for (std::size_t bytes = 0; first + bytes <= all.size(); ++bytes) {
      std::vector<std::byte> got(bytes + 1, std::byte{99});
      transport.get("r", first, bytes, got.data());
      for (std::size_t n = 0; n < bytes; ++n)
        ASSERT_EQ(got[n], is_held(first + n) ? all[first + n] : std::byte{99}) << first << " " << bytes << " " << n;
      EXPECT_EQ(got[bytes], std::byte{99}) << "written beyond the end";
    }
  const auto other = numbers(7);
  transport.put("r", view + 2, 4, other.data());  // bytes 4 and 5 of view 1 are there
  std::vector<std::byte> got(view);
  transport.get("r", view, view, got.data());
  EXPECT_EQ(got[4], other[2]);
  EXPECT_EQ(got[5], other[3]);
  EXPECT_EQ(got[6], all[view + 6]);
}

TEST(Transport, GivesTheMemoryOfBlocksInTheirParts) {
  Transport transport;
  transport.hold("r", views * view, {view, begin, count});
  transport.hold("whole", views * view);
  const auto all = numbers(views * view);
  for (const char* array : {"r", "whole"}) {
    transport.put(array, 0, all.size(), all.data());
    const MemoryBlocks blocks = transport.blocks(array, view + 5, 2, 2, view);
    EXPECT_EQ(blocks.bytes, 2u);
    EXPECT_EQ(blocks.count, 2u);
    for (std::size_t block = 0; block < 2; ++block)
      for (std::size_t n = 0; n < 2; ++n)
        EXPECT_EQ(blocks.first[block * blocks.stride + n], all[(1 + block) * view + 5 + n]) << array;
  }
  EXPECT_THROW(transport.blocks("r", 3, 2, 1, view), std::logic_error);
  EXPECT_THROW(transport.blocks("r", 6, 2, 1, view), std::logic_error);
  EXPECT_THROW(transport.blocks("r", 4, 1, 2, 1), std::logic_error) << "another stride";
}

TEST(Transport, ReadsTheVoxelsOfASourceThatHavePlaces) {
  Volume stack(Grid{.size = {2, 5, 3}});
  std::iota(stack.voxels.begin(), stack.voxels.end(), 1.0f);
  Transport transport;
  transport.hold("b", 4 * 30, {4 * 10, 4 * 2, 4 * 4});  // rows 1 and 2
  transport.put("b", MemorySource(stack));
  std::vector<float> got(30, -1);
  transport.get("b", 0, 4 * 30, reinterpret_cast<std::byte*>(got.data()));
  for (std::size_t n = 0; n < 30; ++n) EXPECT_EQ(got[n], n % 10 >= 2 && n % 10 < 6 ? stack.voxels[n] : -1) << n;
}

}  // namespace
}  // namespace halocline::transport_test
