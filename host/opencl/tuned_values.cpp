#include "host/opencl/tuned_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <mutex>
#include <utility>

#include "host/opencl/opencl.hpp"
#include "host/opencl/tuning_text.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

std::string key_of(const DeviceInfo& device) {
  return fmt::format("tuning 2\n{}\n{}\n{}", HALOCLINE_VERSION, tuned_model(device), device.driver);
}

}  // namespace

// Cards of a model are tuned alike, parts of a CPU are not.
std::string tuned_model(const DeviceInfo& device) {
  return fmt::format("{}{}\n{}", model_of(device),
                     is_part(device) ? fmt::format(", {} units", device.compute_units) : "", device.platform);
}

std::string ProblemClass::text() const {
  std::array<std::uint64_t, 6> sizes{};
  std::transform(exponents.begin(), exponents.end(), sizes.begin(),
                 [](std::uint8_t exponent) { return std::uint64_t{1} << exponent; });
  return fmt::format("{} x {} x {} voxels, {} of {} x {} pixels", sizes[0], sizes[1], sizes[2], views_text(sizes[5]),
                     sizes[3], sizes[4]);
}

std::optional<ProblemClass> problem_class(const std::array<std::size_t, 3>& volume,
                                          const std::array<std::size_t, 3>& stack) {
  if (stack[2] == 0) return std::nullopt;
  ProblemClass result;
  for (std::size_t n = 0; n < 6; ++n)
    result.exponents[n] =
        static_cast<std::uint8_t>(std::bit_width(std::max<std::size_t>(1, n < 3 ? volume[n] : stack[n - 3]) - 1));
  return result;
}

Tuning tuning_of(const Device& device) {
  const std::lock_guard lock(device.state()->launch_mutex);
  return device.state()->tuning;
}

void use_tuning(const Device& device, Tuning tuning) {
  const std::lock_guard lock(device.state()->launch_mutex);
  device.state()->tuning = std::move(tuning);
}

int tuned_number(const Device& device, const std::string& name) {
  const std::lock_guard lock(device.state()->launch_mutex);
  const std::string* choice = device.state()->tuning.choice(name, device.problem());
  int value = 0;
  if (choice != nullptr) std::from_chars(choice->data(), choice->data() + choice->size(), value);
  return std::max(value, 0);
}

const std::set<std::string>& shaped_kernels(const Device& device) {
  return device.state()->shaped_kernels;
}

std::optional<Tuning> stored_tuning(const DeviceInfo& device) {
  const auto bytes = ProgramCache().load(key_of(device));
  if (!bytes) return std::nullopt;
  return parse_tuning({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

void store_tuning(const DeviceInfo& device, const Tuning& tuning) {
  const std::string text = tuning_text(tuning);
  ProgramCache().store(key_of(device), {text.begin(), text.end()});
}

}  // namespace halocline
