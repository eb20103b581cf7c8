// labels: unit
// Pseudo-Morton orders: permutations of any sizes, with their inverses, and the paper's formula.
#include "algorithms/matrix/tile_order.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/refusal.hpp"

namespace halocline::tile_order_test {
namespace {

std::vector<TileOrder> orders() {
  return {{{16, 16}, {4, 4}, {4, 4}}, {{13, 9}, {4, 4}, {4, 4}},  {{1, 1}, {2, 4}, {2, 2}}, {{93, 7}, {8, 1}, {2, 2}},
          {{7, 93}, {4, 2}, {2, 2}},  {{33, 31}, {2, 4}, {2, 2}}, {{5, 3}, {1, 1}, {1, 1}}, {{50, 6}, {16, 1}, {1, 1}}};
}

TEST(TileOrder, HasEveryElementInOnePlace) {
  for (const TileOrder& order : orders()) {
    std::set<std::uint32_t> places;
    for (std::uint32_t y = 0; y < order.size[1]; ++y)
      for (std::uint32_t x = 0; x < order.size[0]; ++x) {
        const std::uint32_t place = order.place_of(x, y);
        ASSERT_LT(place, order.places());
        ASSERT_TRUE(places.insert(place).second);
        ASSERT_EQ(order.element_at(place), (Size2{x, y}));
        ASSERT_TRUE(order.has_element(place));
        ASSERT_EQ(place / order.elements_of_tile(), order.tile_number(x / order.tile[0], y / order.tile[1]));
      }
    std::size_t held = 0;
    for (std::uint32_t place = 0; place < order.places(); ++place) held += order.has_element(place) ? 1 : 0;
    EXPECT_EQ(held, places.size());
    for (std::uint32_t tile = 0; tile < order.tiles(); ++tile) {
      const Size2 at = order.tile_at(tile);
      ASSERT_EQ(order.tile_number(at[0], at[1]), tile);
    }
  }
}

TEST(TileOrder, TablesAreInverse) {
  for (const TileOrder& order : orders()) {
    const auto places = places_of_elements(order), elements = elements_of_places(order);
    ASSERT_EQ(elements.size(), order.places());
    std::size_t padding = 0;
    for (const std::uint32_t element : elements) padding += element == no_element ? 1 : 0;
    EXPECT_EQ(places.size() + padding, elements.size());
    for (std::uint32_t element = 0; element < places.size(); ++element) ASSERT_EQ(elements[places[element]], element);
  }
}

// Alg. 2 of the paper with a and b as x and y exchanged, so that x is fastest, and W the width.
TEST(TileOrder, IsThePapersWhereGroupsAreLikeTiles) {
  const std::uint32_t bx = 4, by = 2, width = 64, height = 24;
  const TileOrder order{{width, height}, {bx, by}, {bx, by}};
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t t = x % bx + bx * (y % by), tile_x = x / bx, tile_y = y / by;
      const std::uint32_t t2 = tile_x % bx + bx * (tile_y % by);
      const std::uint32_t group = tile_x / bx + width / (bx * bx) * (tile_y / by);
      ASSERT_EQ(order.place_of(x, y), t + bx * by * (t2 + bx * by * group));
    }
}

TEST(TileOrder, RefusesWhat31BitsDoNotCount) {
  const TileOrder small{{5, 3}, {1, 1}, {1, 1}}, none{{0, 4}, {4, 4}, {4, 4}}, large{{65536, 32767}, {4, 4}, {4, 4}};
  EXPECT_EQ(refusal_of([&] { check_orders(none, small); }),
            "`projections` has 0 x 4 rays; a system matrix takes at least 1, and fewer than 2^31");
  EXPECT_EQ(refusal_of([&] { check_orders(small, large); }),
            "`volume` has 65536 x 32767 voxels in a slice; a system matrix takes at least 1, and fewer than 2^31");
  check_orders(small, {{65536, 32752}, {4, 4}, {4, 4}});
}

}  // namespace
}  // namespace halocline::tile_order_test
