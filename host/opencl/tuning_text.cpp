#include "host/opencl/tuning_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace halocline {
namespace {

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

}  // namespace halocline
