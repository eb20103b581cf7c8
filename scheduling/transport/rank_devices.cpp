#include "scheduling/transport/rank_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "host/opencl/tuned_values.hpp"
#include "host/opencl/tuning_text.hpp"
#include "host/system/error.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

using nlohmann::json;

const char* kind_of(const DeviceModel& model) {
  return model.cpu ? "a CPU" : "a GPU";
}

void set_tuning(RankDevice& device, Tuning tuning) {
  device.model.choices = tuning.choices;
  device.model.problems = tuning.problems;
  device.tuning = std::move(tuning);
}

std::vector<RankDevice> described(const std::vector<Device>& devices) {
  std::vector<RankDevice> result;
  for (DeviceModel& model : device_models(devices)) {
    const Device& device = devices[result.size()];
    result.push_back({std::move(model), tuned_model(device.info()), tuning_of(device)});
  }
  return result;
}

constexpr std::string_view takes_tuning = ": all ranks take the tuning of rank ";

std::string name_of(const RankDevice& device) {
  return device.tuned_model.substr(0, device.tuned_model.find('\n'));
}

// The first device of a model with tuning for the most kinds of work.
const RankDevice& most_tuned(const std::vector<RankDevice>& devices, const std::string& tuned_model) {
  const auto rank_of = [&](const RankDevice& device) {
    const bool counts = device.tuned_model == tuned_model;
    return std::tuple(counts, device.tuning.classes.size(), device.tuning != Tuning{});
  };
  return *std::max_element(devices.begin(), devices.end(),
                           [&](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
}

}  // namespace

std::string packed(const std::vector<RankDevice>& devices) {
  json list = json::array();
  for (const auto& [model, tuned_model, tuning] : devices)
    list.push_back({model.name,
                    model.memory,
                    model.max_allocation,
                    model.bus_bandwidth,
                    model.download_bandwidth,
                    model.host_copies,
                    model.memory_bandwidth,
                    model.latency,
                    model.rates,
                    model.platform,
                    model.cpu,
                    model.shares_memory,
                    model.part,
                    model.texel_pairs,
                    model.matrix_units,
                    model.local_memory,
                    model.image_side,
                    model.image_layers,
                    tuned_model,
                    tuning_text(tuning)});
  const auto bytes = json::to_cbor(list);
  return {bytes.begin(), bytes.end()};
}

std::vector<RankDevice> unpacked(const std::string& bytes, int rank) {
  std::vector<RankDevice> devices;
  for (const json& values : json::from_cbor(bytes)) {
    RankDevice& device = devices.emplace_back();
    DeviceModel& model = device.model;
    model.rank = rank;
    std::size_t n = 0;
    std::string tuning;
    const auto take = [&](auto& member) { values.at(n++).get_to(member); };
    take(model.name), take(model.memory), take(model.max_allocation), take(model.bus_bandwidth);
    take(model.download_bandwidth), take(model.host_copies), take(model.memory_bandwidth), take(model.latency);
    take(model.rates), take(model.platform), take(model.cpu), take(model.shares_memory), take(model.part);
    take(model.texel_pairs), take(model.matrix_units), take(model.local_memory), take(model.image_side);
    take(model.image_layers), take(device.tuned_model), take(tuning);
    set_tuning(device, parse_tuning(tuning).value_or(Tuning{}));
  }
  return devices;
}

std::vector<std::string> take_one_tuning(std::vector<RankDevice>& devices) {
  std::vector<std::string> lines;
  std::set<std::string> models;
  for (const RankDevice& device : devices) {
    if (!models.insert(device.tuned_model).second) continue;
    const RankDevice& best = most_tuned(devices, device.tuned_model);
    bool differ = false;
    for (RankDevice& other : devices) {
      if (other.tuned_model != best.tuned_model || other.tuning == best.tuning) continue;
      set_tuning(other, best.tuning);
      differ = true;
    }
    if (differ) lines.push_back(fmt::format("{}{}{}", name_of(best), takes_tuning, best.model.rank));
  }
  return lines;
}

void plan_with_all(PlanOptions& options, const std::vector<Device>& devices, Ranks& ranks) {
  if (!ranks.several()) return;
  std::vector<RankDevice> all;
  const auto lists = ranks.gather("the devices", packed(described(devices)));
  for (std::size_t rank = 0; rank < lists.size(); ++rank)
    for (RankDevice& device : unpacked(lists[rank], static_cast<int>(rank))) all.push_back(std::move(device));
  for (std::string& line : take_one_tuning(all)) {
    const std::string begin =
        line.substr(0, line.find(takes_tuning)) + std::string(takes_tuning);  // of an earlier call
    std::erase_if(options.notes, [&](const std::string& note) { return note.starts_with(begin); });
    options.notes.push_back(std::move(line));
  }
  options.rank = ranks.rank();
  options.all_devices.clear();
  auto own = devices.begin();
  for (auto& [model, tuned_model, tuning] : all) {
    const DeviceModel& first = options.all_devices.empty() ? model : options.all_devices.front();
    if (model.cpu != first.cpu)
      throw InputError(
          fmt::format("rank {} has {} ({}) where rank 0 has {} ({}), and results are the same on devices "
                      "of one kind only; choose one for all ranks with `device`",
                      model.rank, kind_of(model), model.name, kind_of(first), first.name));
    if (model.rank == options.rank) use_tuning(*own++, std::move(tuning));
    options.all_devices.push_back(std::move(model));
  }
}

PlanOptions of_this_rank(PlanOptions options) {
  options.all_devices.clear();
  options.notes.clear();
  options.rank = 0;
  return options;
}

std::vector<DeviceModel> models_of_all(const std::vector<Device>& devices, const PlanOptions& options) {
  return options.all_devices.empty() ? device_models(devices) : options.all_devices;
}

void require_same_plan(const Plan& plan, Ranks& ranks) {
  if (!ranks.several()) return;
  const auto plans = ranks.gather("the plan", plan.json().dump());
  for (std::size_t rank = 1; rank < plans.size(); ++rank)
    if (plans[rank] != plans.front())
      throw Error(fmt::format("{}: rank {} made another plan than rank 0; use the same build and settings on all nodes",
                              plan.requirements.algorithm, rank));
}

ValueRange range_of_all(const Plan& plan, ValueRange own) {
  Ranks& all = ranks_of(plan);
  if (!all.several()) return own;
  std::string bytes(sizeof(own), '\0');
  std::memcpy(bytes.data(), &own, sizeof(own));
  for (const std::string& each : all.gather("the range of values", bytes)) {
    ValueRange range;
    std::memcpy(&range, each.data(), sizeof(range));
    own = own.with(range);
  }
  return own;
}

}  // namespace halocline
