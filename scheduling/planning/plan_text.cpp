// A plan as a table and as JSON.
#include "scheduling/planning/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "host/system/plural.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/rank_traffic.hpp"

namespace halocline {
namespace {

constexpr std::size_t listed_slabs = 16;  // a longer list is cut in its middle

const char* name_of(ArrayKind kind) {
  constexpr std::array names{"volume", "slices", "projections", "image", "planes", "fixed"};
  return names[static_cast<std::size_t>(kind)];
}

const char* name_of(Lifetime lifetime) {
  constexpr std::array names{"input", "state", "scratch", "output", "sums", "iteration"};
  return names[static_cast<std::size_t>(lifetime)];
}

std::string range_text(Range range) {
  return range.empty() ? "-" : fmt::format("{}..{}", range.begin, range.end - 1);
}

// Slices and rows that the arrays of the fullest device are made for.
SlabExtent largest_extent(const Plan& plan) {
  const auto fullest = std::max_element(plan.slabs.begin(), plan.slabs.end(),
                                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return plan.extent_of(fullest->device);
}

std::string header_text(const Plan& plan) {
  const auto& r = plan.requirements;
  std::string text = fmt::format("Plan of {}: volume {} x {} x {}", r.algorithm, r.size[0], r.size[1], r.size[2]);
  if (plan.batch > 0)
    text += fmt::format(", {} of {} x {}, {} at a time", views_text(r.stack[2]), r.stack[0], r.stack[1], plan.batch);
  if (plan.batch == 0 || r.iterations > 1) text += ", " + plural(r.iterations, "iteration", "iterations");
  return text + "\n";
}

// Slices and bytes of a device; the same for all devices that share the views.
struct DeviceUse {
  std::int64_t slices = 0;
  std::size_t bytes = 0;
};
DeviceUse device_part(const Plan& plan, std::size_t device) {
  DeviceUse part;
  if (shares_views(plan.requirements) && view_shares(plan)[device] <= 0) return part;
  for (const auto& slab : plan.slabs) {
    if (slab.device != static_cast<int>(device) && !shares_views(plan.requirements)) continue;
    part.slices += slab.interior.count();
    part.bytes = std::max(part.bytes, slab.bytes);
  }
  return part;
}

std::string devices_text(const Plan& plan) {
  std::size_t width = 6;
  for (std::size_t d = 0; d < plan.devices.size(); ++d)
    width = std::max(width, plan.device_name(static_cast<int>(d)).size());
  std::string text = fmt::format("\n  device  {:<{}}  {:>12}  {:>12}  {:>18}  {:>8}  {:>10}\n", "name", width, "used",
                                 "budget", "largest allocation", "slices", "copy GB/s");
  for (std::size_t d = 0; d < plan.devices.size(); ++d) {
    const auto& device = plan.devices[d];
    const DeviceUse part = device_part(plan, d);
    text += fmt::format(
        "  {:>6}  {:<{}}  {:>12}  {:>12}  {:>18}  {:>8}  {:>10.4g}\n", d, plan.device_name(static_cast<int>(d)), width,
        bytes_text(static_cast<double>(part.bytes)), bytes_text(static_cast<double>(device.memory)),
        bytes_text(static_cast<double>(device.max_allocation)), part.slices, 1e-9 * device.memory_bandwidth);
  }
  for (const auto& note : plan.notes) text += "  " + note + "\n";
  return text;
}

std::string slabs_text(const Plan& plan) {
  std::string text = fmt::format("\n  {:>6}  {:>6}  {:>13}  {:>13}  {:>13}  {:>12}\n", "slab", "device", "slices",
                                 "with halos", "detector rows", "memory");
  const auto count = plan.slabs.size();
  for (std::size_t n = 0; n < count; ++n) {
    if (count > listed_slabs && n == listed_slabs / 2) {
      text += fmt::format("  {:>6}  ({} more)\n", "...", count - listed_slabs);
      n = count - listed_slabs / 2;
    }
    const auto& slab = plan.slabs[n];
    text += fmt::format("  {:>6}  {:>6}  {:>13}  {:>13}  {:>13}  {:>12}\n", n, slab.device, range_text(slab.interior),
                        range_text(slab.extended), range_text(slab.rows), bytes_text(static_cast<double>(slab.bytes)));
  }
  return text;
}

std::string arrays_text(const Plan& plan) {
  const auto [slices, rows] = largest_extent(plan);
  std::size_t width = 5;
  for (const auto& need : plan.requirements.arrays) width = std::max(width, need.name.size());
  std::string text = fmt::format("\n  {:<{}}  {:<11}  {:<8}  {:>12}\n", "array", width, "kind", "lifetime", "memory");
  for (const auto& need : plan.requirements.arrays)
    text +=
        fmt::format("  {:<{}}  {:<11}  {:<8}  {:>12}{}\n", need.name, width, name_of(need.kind), name_of(need.lifetime),
                    bytes_text(static_cast<double>(array_bytes(need, plan.requirements, slices, rows, plan.batch))),
                    !need.on_device                     ? ""
                    : need.lifetime == Lifetime::output ? "  stays on the devices"
                                                        : "  is on the devices already");
  return text;
}

std::string summary_text(const Plan& plan) {
  const auto& r = plan.requirements;
  std::string text = fmt::format("\n  halo: {} below and {} above", plural(r.halo_low, "slice", "slices"), r.halo_high);
  if (plan.batch == 0)
    text += fmt::format(" an iteration, {} for sums; {}", r.reduction_halo,
                        plural(plan.iterations_per_exchange, "iteration an exchange", "iterations an exchange"));
  text += plan.resident   ? "\n  slabs stay on their devices"
          : plan.streamed ? "\n  slabs are streamed, which hides their transfers"
                          : "\n  slabs are streamed: the work is larger than the devices";
  if (plan.batch == 0) text += ", " + plural(plan.passes, "pass", "passes");
  text += fmt::format("\n  over the bus: {}\n", bytes_text(plan.bus_bytes));
  if (plan.several_ranks()) {
    text += "  between ranks: " + bytes_text(plan.rank_bytes);
    if (r.form != ProgramForm::steps) text += "; read by all of them: " + bytes_text(read_bytes(plan));
    for (const Range& rows : plan.rank_rows)
      text += fmt::format("{} {}", &rows == plan.rank_rows.data() ? "; detector rows of each:" : ",", rows.count());
    if (!plan.rank_rows.empty()) text += fmt::format(" of {}", r.rows().count());
    text += "\n";
  }
  text += fmt::format("  host memory besides inputs and result: {}\n", bytes_text(plan.host_bytes));
  text += fmt::format(
      "  predicted: {:.3g} s for {}\n", plan.seconds,
      plan.batch > 0 && r.iterations <= 1 ? "all views" : "all " + plural(r.iterations, "iteration", "iterations"));
  if (!r.kernels.empty()) text += fmt::format("  kernels: {}\n", fmt::join(r.kernels, ", "));
  return text;
}

nlohmann::json json_of(Range range) {
  return nlohmann::json::array({range.begin, range.end});
}

}  // namespace

std::string bytes_text(double bytes) {
  if (bytes >= 1024.0 * 1024 * 1024) return fmt::format("{:.2f} GiB", bytes / (1024.0 * 1024 * 1024));
  if (bytes >= 1024.0 * 1024) return fmt::format("{:.2f} MiB", bytes / (1024.0 * 1024));
  if (bytes >= 1024.0) return fmt::format("{:.2f} KiB", bytes / 1024.0);
  return fmt::format("{:.0f} B", bytes);
}

std::string Plan::text() const {
  return header_text(*this) + devices_text(*this) + slabs_text(*this) + arrays_text(*this) + summary_text(*this);
}

nlohmann::json Plan::json() const {
  nlohmann::json result{{"algorithm", requirements.algorithm},
                        {"size", requirements.size},
                        {"iterations", requirements.iterations},
                        {"halo_low", requirements.halo_low},
                        {"halo_high", requirements.halo_high},
                        {"iterations_per_exchange", iterations_per_exchange},
                        {"resident", resident},
                        {"streamed", streamed},
                        {"passes", passes},
                        {"bus_bytes", bus_bytes},
                        {"seconds", seconds},
                        {"host_bytes", host_bytes},
                        {"notes", notes},
                        {"kernels", requirements.kernels}};
  if (several_ranks()) result["rank_bytes"] = rank_bytes;
  for (const Range rows : rank_rows) result["rank_rows"].push_back({rows.begin, rows.end});
  if (several_ranks() && requirements.form != ProgramForm::steps) result["read_bytes"] = read_bytes(*this);
  if (batch > 0) {
    result["stack"] = requirements.stack;
    result["batch"] = batch;
  }
  result["devices"] = nlohmann::json::array();
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const auto& device = devices[d];
    const DeviceUse part = device_part(*this, d);
    result["devices"].push_back({{"name", device_name(static_cast<int>(d))},
                                 {"slices", part.slices},
                                 {"bytes", part.bytes},
                                 {"memory", device.memory},
                                 {"max_allocation", device.max_allocation},
                                 {"speed", device.speed},
                                 {"bus_bandwidth", device.bus_bandwidth},
                                 {"download_bandwidth", device.download_bandwidth},
                                 {"memory_bandwidth", device.memory_bandwidth},
                                 {"latency", device.latency},
                                 {"rates", device.rates}});
  }
  result["slabs"] = nlohmann::json::array();
  for (const auto& slab : slabs)
    result["slabs"].push_back({{"device", slab.device},
                               {"interior", json_of(slab.interior)},
                               {"extended", json_of(slab.extended)},
                               {"rows", json_of(slab.rows)},
                               {"bytes", slab.bytes}});
  const auto [slices, rows] = largest_extent(*this);
  result["arrays"] = nlohmann::json::array();
  for (const auto& need : requirements.arrays) {
    result["arrays"].push_back({{"name", need.name},
                                {"kind", name_of(need.kind)},
                                {"lifetime", name_of(need.lifetime)},
                                {"bytes", array_bytes(need, requirements, slices, rows, batch)}});
    if (need.on_device) result["arrays"].back()["on_device"] = true;
  }
  return result;
}

}  // namespace halocline
