#include "algorithms/projectors/backproject_tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "host/opencl/quirks.hpp"

namespace halocline {
namespace {

constexpr LocalTile tile_choices[] = {{8, 16, 32, 20 << 10},
                                      {16, 16, 24, 20 << 10}};    // on an H200 1037 and 1020 GUPS, quads 781
constexpr std::size_t local_bytes_of_view = 8 * 8 + 3 * 16 + 40;  // corners, matrix, patch

std::string form_of(const DeviceModel& device) {
  if (device.cpu) return quads_form;
  if (const auto tuned = device.choices.find(exact_form_choice); tuned != device.choices.end()) return tuned->second;
  return is_hopper(device.platform, device.name) ? tile_choices[0].text() : quads_form;
}

}  // namespace

std::string LocalTile::options() const {
  return fmt::format(" -D GROUP_WIDTH={} -D GROUP_HEIGHT={} -D K_UNROLL={} -D TILE_BYTES={}", width, height, slices,
                     bytes);
}

std::string LocalTile::text() const {
  return fmt::format("{} x {} x {}, {} KiB", width, height, slices, bytes >> 10);
}

std::span<const LocalTile> local_tiles() {
  return tile_choices;
}

bool takes_tile(const DeviceInfo& device, const LocalTile& tile) {
  const auto items = static_cast<std::size_t>(tile.items());
  const std::size_t views = items / 8 * local_bytes_of_view;
  return items <= device.max_work_group && static_cast<std::size_t>(tile.bytes) + views <= usable_local_memory(device);
}

const LocalTile* fastest_tile(std::span<const DeviceModel> devices) {
  const auto found = std::find_if(std::begin(tile_choices), std::end(tile_choices), [&](const LocalTile& tile) {
    return std::all_of(devices.begin(), devices.end(),
                       [&](const DeviceModel& device) { return form_of(device) == tile.text(); });
  });
  return devices.empty() || found == std::end(tile_choices) ? nullptr : &*found;
}

}  // namespace halocline
