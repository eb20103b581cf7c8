#include "algorithms/matrix/tile_order.hpp"

#include <fmt/format.h>

#include "host/system/error.hpp"

namespace halocline {
namespace {

std::uint32_t parts(std::uint32_t whole, std::uint32_t part) {
  return whole / part + (whole % part != 0 ? 1 : 0);
}

/// Some elements, and places that 31 bits count.
bool is_countable(const TileOrder& order) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 31;
  const auto padded = [&](int axis) {
    const std::uint64_t step = std::uint64_t{order.tile[axis]} * order.group[axis];
    return (order.size[axis] + step - 1) / step * step;
  };
  const std::uint64_t width = padded(0), height = padded(1);
  return width > 0 && height > 0 && width < limit && height < limit && width * height < limit;
}

}  // namespace

Size2 TileOrder::groups_across() const {
  return {parts(size[0], tile[0] * group[0]), parts(size[1], tile[1] * group[1])};
}

Size2 TileOrder::tiles_across() const {
  const Size2 groups = groups_across();
  return {groups[0] * group[0], groups[1] * group[1]};
}

std::uint32_t TileOrder::tile_number(std::uint32_t x, std::uint32_t y) const {
  const std::uint32_t of_group = x / group[0] + groups_across()[0] * (y / group[1]);
  return of_group * tiles_of_group() + x % group[0] + group[0] * (y % group[1]);
}

Size2 TileOrder::tile_at(std::uint32_t number) const {
  const std::uint32_t of_group = number / tiles_of_group(), within = number % tiles_of_group();
  const std::uint32_t across = groups_across()[0];
  return {of_group % across * group[0] + within % group[0], of_group / across * group[1] + within / group[0]};
}

std::uint32_t TileOrder::place_of(std::uint32_t x, std::uint32_t y) const {
  return tile_number(x / tile[0], y / tile[1]) * elements_of_tile() + x % tile[0] + tile[0] * (y % tile[1]);
}

Size2 TileOrder::element_at(std::uint32_t place) const {
  const Size2 at = tile_at(place / elements_of_tile());
  const std::uint32_t within = place % elements_of_tile();
  return {at[0] * tile[0] + within % tile[0], at[1] * tile[1] + within / tile[0]};
}

bool TileOrder::has_element(std::uint32_t place) const {
  const Size2 at = element_at(place);
  return at[0] < size[0] && at[1] < size[1];
}

void check_orders(const TileOrder& rays, const TileOrder& pixels) {
  constexpr const char* expected = "a system matrix takes at least 1, and fewer than 2^31";
  if (!is_countable(rays))
    throw InputError(fmt::format("`projections` has {} x {} rays; {}", rays.size[0], rays.size[1], expected));
  if (!is_countable(pixels))
    throw InputError(
        fmt::format("`volume` has {} x {} voxels in a slice; {}", pixels.size[0], pixels.size[1], expected));
}

std::vector<std::uint32_t> places_of_elements(const TileOrder& order) {
  std::vector<std::uint32_t> places;
  places.reserve(std::size_t{order.size[0]} * order.size[1]);
  for (std::uint32_t y = 0; y < order.size[1]; ++y)
    for (std::uint32_t x = 0; x < order.size[0]; ++x) places.push_back(order.place_of(x, y));
  return places;
}

std::vector<std::uint32_t> elements_of_places(const TileOrder& order) {
  std::vector<std::uint32_t> elements(order.places());
  for (std::uint32_t place = 0; place < order.places(); ++place) {
    const Size2 at = order.element_at(place);
    elements[place] = order.has_element(place) ? at[0] + order.size[0] * at[1] : no_element;
  }
  return elements;
}

}  // namespace halocline
