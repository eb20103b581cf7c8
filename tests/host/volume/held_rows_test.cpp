// labels: unit
// Rows in host memory and rows that are read again, seen as one stack.
#include "host/volume/held_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "host/system/error.hpp"

namespace halocline::held_rows_test {
namespace {

// Pixel n has the value n; rows read so far are counted by the caller.
class Stack : public VolumeSource {
 public:
  Stack(const Grid& grid, std::shared_ptr<std::atomic<std::size_t>> pixels) : grid_(grid), pixels_(std::move(pixels)) {}
  const Grid& grid() const override { return grid_; }
  void read(std::size_t first, std::size_t count, float* to) const override {
    *pixels_ += count;
    for (std::size_t n = 0; n < count; ++n) to[n] = static_cast<float>(first + n);
  }

 private:
  Grid grid_;
  std::shared_ptr<std::atomic<std::size_t>> pixels_;
};

TEST(HeldRows, AreReadOnceAndTheOthersAsTheyAreAskedFor) {
  constexpr std::size_t columns = 5, rows = 7, views = 3;
  const Grid grid{.size = {columns, rows, views}};
  for (std::size_t begin = 0; begin <= rows; ++begin)
    for (std::size_t end = begin; end <= rows; ++end) {
      const auto pixels = std::make_shared<std::atomic<std::size_t>>(0);
      const HeldRows held(std::make_unique<Stack>(grid, pixels), begin, end);
      EXPECT_EQ(held.grid().size, grid.size);
      EXPECT_EQ(*pixels, (end - begin) * columns * views);
      for (std::size_t first = 0; first < grid.count(); first += 4)
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{13}, grid.count() - first}) {
          if (first + count > grid.count()) continue;
          std::vector<float> values(count + 1, -1);
          std::size_t others = 0;
          for (std::size_t n = first; n < first + count; ++n) {
            const std::size_t row = n / columns % rows;
            others += row < begin || row >= end ? 1 : 0;
          }
          *pixels = 0;
          held.read(first, count, values.data());
          EXPECT_EQ(*pixels, others) << "rows " << begin << " to " << end << ", " << count << " pixels from " << first;
          for (std::size_t n = 0; n < count; ++n) ASSERT_EQ(values[n], static_cast<float>(first + n));
          EXPECT_EQ(values[count], -1) << "written beyond the end";
        }
    }
}

class Broken : public Stack {
 public:
  using Stack::Stack;
  void read(std::size_t, std::size_t, float*) const override { throw InputError("row 3 is damaged"); }
};

TEST(HeldRows, ThrowWhatTheSourceThrows) {
  const auto pixels = std::make_shared<std::atomic<std::size_t>>(0);
  const Grid grid{.size = {2, 4, 9}};
  EXPECT_THROW(HeldRows(std::make_unique<Broken>(grid, pixels), 1, 3), InputError);
  const HeldRows none(std::make_unique<Broken>(grid, pixels), 1, 1);
  float value = 0;
  EXPECT_THROW(none.read(0, 1, &value), InputError);
}

}  // namespace
}  // namespace halocline::held_rows_test
