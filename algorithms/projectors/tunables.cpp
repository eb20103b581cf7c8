#include "algorithms/projectors/tunables.hpp"

#include <algorithm>
#include <charconv>

namespace halocline {

std::span<const Tunable> tunables() {
  static const std::vector<Tunable> table{
      {"backproject_exact", batch_tunable, {16, 32, 64, 128}},
      {"backproject_exact", slices_tunable, {1, 2, 4, 8}},
      {"backproject_image", batch_tunable, {16, 32, 64, 128, 256}},
      {"backproject_image", slices_tunable, {1, 2, 4, 8, 16}},
      {"joseph_backproject", slices_tunable, {2, 4, 8, 16}},
      {"siddon_backproject", slices_tunable, {2, 4, 8, 16}},
      {"patches_backproject", "FOLD", {1, 4, 16, 64}},
      {"patches_backproject", "UNROLL", {1, 2, 4}},
      {"patches_backproject", "GROUP", {8, 16, 32, 64, 128}},
  };
  return table;
}

int filled_slices(int together, std::size_t slices) {
  while (together > 1 && static_cast<std::size_t>(together) / 2 >= slices) together /= 2;
  return together;
}

int candidate_or(int standard, const std::string& key, int found) {
  const bool known = std::any_of(tunables().begin(), tunables().end(), [&](const Tunable& tunable) {
    const auto& candidates = tunable.candidates;
    return tunable.key() == key && std::find(candidates.begin(), candidates.end(), found) != candidates.end();
  });
  return known ? found : standard;
}

int tuned_on_all(std::span<const DeviceModel> devices, const std::string& key) {
  int least = 0;
  for (const DeviceModel& device : devices) {
    const auto found = device.choices.find(key);
    int value = 0;
    if (found != device.choices.end())
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
    value = candidate_or(0, key, value);
    if (value == 0) return 0;
    least = least == 0 ? value : std::min(least, value);
  }
  return least;
}

}  // namespace halocline
