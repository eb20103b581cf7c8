#include "scheduling/transport/rank_devices.hpp"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "host/system/error.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

using nlohmann::json;

// The members that plans depend on, as bytes that keep all numbers as they are.
std::string packed(const std::vector<DeviceModel>& models) {
  json list = json::array();
  for (const DeviceModel& model : models)
    list.push_back({model.name, model.memory, model.max_allocation, model.bus_bandwidth, model.download_bandwidth,
                    model.host_copies, model.memory_bandwidth, model.latency, model.rates, model.platform, model.cpu,
                    model.shares_memory, model.part, model.image_layers});
  const auto bytes = json::to_cbor(list);
  return {bytes.begin(), bytes.end()};
}

std::vector<DeviceModel> unpacked(const std::string& bytes, int rank) {
  std::vector<DeviceModel> models;
  for (const json& values : json::from_cbor(bytes)) {
    DeviceModel& model = models.emplace_back();
    model.rank = rank;
    std::size_t n = 0;
    const auto take = [&](auto& member) { values.at(n++).get_to(member); };
    take(model.name), take(model.memory), take(model.max_allocation), take(model.bus_bandwidth);
    take(model.download_bandwidth), take(model.host_copies), take(model.memory_bandwidth), take(model.latency);
    take(model.rates), take(model.platform), take(model.cpu), take(model.shares_memory), take(model.part);
    take(model.image_layers);
  }
  return models;
}

const char* kind_of(const DeviceModel& model) {
  return model.cpu ? "a CPU" : "a GPU";
}

}  // namespace

void plan_with_all(PlanOptions& options, const std::vector<Device>& devices, Ranks& ranks) {
  if (!ranks.several()) return;
  const auto lists = ranks.gather("the devices", packed(device_models(devices)));
  options.rank = ranks.rank();
  options.all_devices.clear();
  for (std::size_t rank = 0; rank < lists.size(); ++rank)
    for (DeviceModel& model : unpacked(lists[rank], static_cast<int>(rank))) {
      const DeviceModel& first = options.all_devices.empty() ? model : options.all_devices.front();
      if (model.cpu != first.cpu)
        throw InputError(
            fmt::format("rank {} has {} ({}) where rank 0 has {} ({}), and results are the same on devices "
                        "of one kind only; choose one for all ranks with `device`",
                        rank, kind_of(model), model.name, kind_of(first), first.name));
      options.all_devices.push_back(std::move(model));
    }
}

void require_same_plan(const Plan& plan, Ranks& ranks) {
  if (!ranks.several()) return;
  const auto plans = ranks.gather("the plan", plan.json().dump());
  for (std::size_t rank = 1; rank < plans.size(); ++rank)
    if (plans[rank] != plans.front())
      throw Error(
          fmt::format("{}: rank {} made another plan than rank 0; use the same build and settings on all nodes, "
                      "and the same tuning: a folder of caches that all see, or none",
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
