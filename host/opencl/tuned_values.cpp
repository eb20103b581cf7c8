#include "host/opencl/tuned_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/opencl/opencl.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

// Cards of a model are tuned alike, parts of a CPU are not.
std::string key_of(const DeviceInfo& device) {
  return fmt::format("tuning 2\n{}\n{}{}\n{}\n{}", HALOCLINE_VERSION, model_of(device),
                     is_part(device) ? fmt::format(", {} units", device.compute_units) : "", device.platform,
                     device.driver);
}

nlohmann::json json_of(const TunedValues& values) {
  return {{"groups", values.groups}, {"choices", values.choices}};
}

struct Unsound {};  // thrown for values that no device and no problem has

void require_whole(const nlohmann::json& list, std::size_t count, std::uint64_t least, std::uint64_t most) {
  const auto good = [&](const nlohmann::json& value) {
    return value.is_number_unsigned() && value.get<std::uint64_t>() >= least && value.get<std::uint64_t>() <= most;
  };
  if (!list.is_array() || list.size() != count || !std::all_of(list.begin(), list.end(), good)) throw Unsound();
}

// Throws Unsound or nlohmann::json::exception where it is no such thing.
TunedValues values_of(const nlohmann::json& json) {
  constexpr std::uint64_t most = 65536;  // work-items along an axis
  TunedValues values;
  for (const auto& shape : json.at("groups")) require_whole(shape, 3, 1, most);
  json.at("groups").get_to(values.groups);
  json.at("choices").get_to(values.choices);
  return values;
}

}  // namespace

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

std::string tuning_text(const Tuning& tuning) {
  nlohmann::json json = json_of(tuning);
  json["classes"] = tuning.classes;
  json["problems"] = nlohmann::json::array();
  for (const auto& [problem, values] : tuning.problems) {
    json["problems"].push_back(json_of(values));
    json["problems"].back()["exponents"] = problem.exponents;
  }
  return json.dump();
}

std::optional<Tuning> parse_tuning(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    Tuning tuning{values_of(json), {}, {}};
    json.at("classes").get_to(tuning.classes);
    for (const auto& problem : json.at("problems")) {
      const auto& exponents = problem.at("exponents");
      require_whole(exponents, 6, 0, 63);
      tuning.problems[{exponents.get<std::array<std::uint8_t, 6>>()}] = values_of(problem);
    }
    return tuning;
  } catch (const Unsound&) {
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
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
