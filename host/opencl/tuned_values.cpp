#include "host/opencl/tuned_values.hpp"

#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/opencl/opencl.hpp"

namespace halocline {
namespace {

// Cards of a model are tuned alike, parts of a CPU are not.
std::string key_of(const DeviceInfo& device) {
  return fmt::format("tuning 1\n{}\n{}{}\n{}\n{}", HALOCLINE_VERSION, model_of(device),
                     is_part(device) ? fmt::format(", {} units", device.compute_units) : "", device.platform,
                     device.driver);
}

}  // namespace

Tuning tuning_of(const Device& device) {
  const std::lock_guard lock(device.state()->launch_mutex);
  return device.state()->tuning;
}

void use_tuning(const Device& device, Tuning tuning) {
  const std::lock_guard lock(device.state()->launch_mutex);
  device.state()->tuning = std::move(tuning);
}

const std::set<std::string>& shaped_kernels(const Device& device) {
  return device.state()->shaped_kernels;
}

std::optional<Tuning> stored_tuning(const DeviceInfo& device) {
  const auto bytes = ProgramCache().load(key_of(device));
  if (!bytes) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(*bytes);
    Tuning tuning;
    json.at("groups").get_to(tuning.groups);
    json.at("choices").get_to(tuning.choices);
    json.at("classes").get_to(tuning.classes);
    for (const auto& [kernel, shape] : tuning.groups)
      if (shape[0] * shape[1] * shape[2] == 0) return std::nullopt;
    return tuning;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void store_tuning(const DeviceInfo& device, const Tuning& tuning) {
  const nlohmann::json json{{"groups", tuning.groups}, {"choices", tuning.choices}, {"classes", tuning.classes}};
  const std::string text = json.dump();
  ProgramCache().store(key_of(device), {text.begin(), text.end()});
}

}  // namespace halocline
