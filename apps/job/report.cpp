#include "apps/job/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduling/execution/rate_validation.hpp"

namespace halocline {
namespace {

// A word as what it is, so that a reader of the report need not convert.
nlohmann::json typed(const std::string& word) {
  if (word == "true" || word == "false") return word == "true";
  const auto value = nlohmann::json::parse(word, nullptr, false);
  return value.is_number() ? value : nlohmann::json(word);
}

}  // namespace

nlohmann::json options_json(const Settings& own, const Settings& common) {
  nlohmann::json result = nlohmann::json::object();
  for (const Settings* settings : {&own, &common})
    for (const Setting& setting : settings->all()) {
      const std::string name = setting.option();
      if (result.contains(name)) continue;
      const auto& words = setting.value();
      if (words.size() == 1)
        result[name] = typed(words.front());
      else if (words.size() > 1)
        for (const auto& word : words) result[name].push_back(typed(word));
      else if (setting.kind() == SettingKind::flag)
        result[name] = false;
      else if (!setting.initial().empty())
        result[name] = typed(setting.initial());
    }
  return result;
}

nlohmann::json grid_json(const Grid& grid) {
  return {{"size", grid.size}, {"spacing_mm", grid.spacing}, {"origin_mm", grid.origin}, {"direction", grid.direction}};
}

nlohmann::json device_json(const DeviceInfo& info) {
  return {{"index", info.index},
          {"name", info.name},
          {"vendor", info.vendor},
          {"platform", info.platform},
          {"driver", info.driver},
          {"version", info.version},
          {"type", info.type},
          {"compute_units", info.compute_units},
          {"global_memory_bytes", info.global_memory},
          {"max_allocation_bytes", info.max_allocation},
          {"local_memory_bytes", info.local_memory},
          {"max_work_group", info.max_work_group},
          {"images", info.images},
          {"fp64", info.fp64},
          {"unified_memory", info.unified_memory}};
}

nlohmann::json run_json(const RunResult& result) {
  const Plan done = plan_of_completed_work(result);
  std::size_t largest_slab = 0;
  for (const auto& slab : result.plan.slabs) largest_slab = std::max(largest_slab, slab.bytes);
  nlohmann::json run{
      {"plan", result.plan.json()},
      {"iterations", result.iterations},
      {"seconds", result.seconds},
      {"peak_bytes", result.peak_bytes},
      {"bus_bytes", result.bus_bytes},
      {"predicted", {{"seconds", done.seconds}, {"device_peak_bytes", largest_slab}, {"bus_bytes", done.bus_bytes}}},
      {"actual",
       {{"seconds", result.seconds}, {"device_peak_bytes", result.peak_bytes}, {"bus_bytes", result.bus_bytes}}}};
  if (done.several_ranks()) run["predicted"]["rank_bytes"] = done.rank_bytes;
  if (!result.taken_by.empty()) run["slabs_taken_by"] = result.taken_by;
  return run;
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string plan_summary(const Plan& plan) {
  std::set<int> devices;
  for (const auto& slab : plan.slabs) devices.insert(slab.device);
  std::string text = fmt::format("{} slab{}", plan.slabs.size(), plan.slabs.size() == 1 ? "" : "s");
  if (devices.size() > 1) text += fmt::format(" on {} devices", devices.size());
  if (plan.requirements.iterations > 1 && plan.slabs.size() > 1)
    text += fmt::format(", {} iteration{} per exchange", plan.iterations_per_exchange,
                        plan.iterations_per_exchange == 1 ? "" : "s");
  if (plan.batch > 0) text += fmt::format(", {} view{} at a time", plan.batch, plan.batch == 1 ? "" : "s");
  return text;
}

std::string grid_summary(const Grid& grid) {
  return fmt::format("{} of {:.9g} mm", fmt::join(grid.size, " x "), fmt::join(grid.spacing, " x "));
}

std::string seconds_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.2f} s", seconds);
  return fmt::format("{} min {:.0f} s", static_cast<long>(seconds / 60), std::fmod(seconds, 60.0));
}

}  // namespace halocline
