#include "scheduling/planning/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/opencl/quirks.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"

namespace halocline {
namespace {

using nlohmann::json;

constexpr int deepest = 32;  // levels of the JSON: its writers are recursive
constexpr double gibi = 1024.0 * 1024 * 1024;

// One object of the file: typed members by name, with a message for each fault.
class Object {
 public:
  Object(const json& value, std::string where, std::vector<std::string> names)
      : value_(value), where_(std::move(where)) {
    if (!value.is_object()) throw InputError(fmt::format("{} is not an object in braces", where_));
    for (const auto& [name, member] : value.items())
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw InputError(
            fmt::format("{}: there is no \"{}\"; expected some of: {}", where_, name, fmt::join(names, ", ")));
  }
  std::string text(const char* name, const std::optional<std::string>& otherwise = {}) const {
    const json* member = find(name, otherwise.has_value());
    if (member == nullptr) return *otherwise;
    if (!member->is_string())
      throw InputError(fmt::format("{}: \"{}\" is {}; expected text", where_, name, member->dump()));
    return member->get<std::string>();
  }
  double positive(const char* name, std::optional<double> otherwise = {}) const {
    const json* member = find(name, otherwise.has_value());
    if (member == nullptr) return *otherwise;
    if (!member->is_number() || !(member->get<double>() > 0) || !std::isfinite(member->get<double>()))
      throw InputError(fmt::format("{}: \"{}\" is {}; expected a positive number", where_, name, member->dump()));
    return member->get<double>();
  }
  bool flag(const char* name) const {
    const json* member = find(name, true);
    if (member == nullptr) return false;
    if (!member->is_boolean())
      throw InputError(fmt::format("{}: \"{}\" is {}; expected true or false", where_, name, member->dump()));
    return member->get<bool>();
  }
  const json* find(const char* name, bool optional) const {
    const auto found = value_.find(name);
    if (found != value_.end()) return &*found;
    if (!optional) throw InputError(fmt::format("{}: \"{}\" is missing", where_, name));
    return nullptr;
  }

 private:
  const json& value_;
  std::string where_;
};

std::size_t bytes_of(double gibibytes) {
  constexpr double most = 1e9;  // an exbibyte, far from overflow
  return static_cast<std::size_t>(std::min(gibibytes, most) * gibi);
}

int whole_number(const Object& object, const char* name, std::optional<double> otherwise, const std::string& where) {
  const double count = object.positive(name, otherwise);
  constexpr double most = 1024;
  if (count != std::floor(count) || count > most)
    throw InputError(fmt::format("{}: \"{}\" is {}; expected a whole number from 1 to {}", where, name, count, most));
  return static_cast<int>(count);
}

void add_devices(const json& value, const std::string& where, std::vector<DeviceModel>& devices) {
  const Object object(value, where,
                      {"name", "count", "type", "platform", "memory_gib", "max_allocation_gib", "copy_gb_per_s",
                       "upload_gb_per_s", "download_gb_per_s", "latency_us", "texel_pairs", "shares_memory", "rates"});
  DeviceModel device;
  device.name = object.text("name");
  const std::string type = object.text("type", "gpu");
  if (type != "gpu" && type != "cpu")
    throw InputError(fmt::format("{}: \"type\" is \"{}\"; expected gpu or cpu", where, type));
  device.cpu = type == "cpu";
  device.platform = object.text("platform", "");
  DeviceInfo info;
  info.name = device.name;
  info.platform = device.platform;
  device.matrix_units = matrix_units_of(info);
  info.local_memory = 32 << 10;  // what OpenCL 1.2 promises
  device.local_memory = usable_local_memory(info);
  const double memory = object.positive("memory_gib");
  device.memory = bytes_of(0.9 * memory);
  device.max_allocation = bytes_of(object.positive("max_allocation_gib", memory));
  device.memory_bandwidth = 1e9 * object.positive("copy_gb_per_s");
  device.bus_bandwidth = 1e9 * object.positive("upload_gb_per_s");
  device.download_bandwidth = 1e9 * object.positive("download_gb_per_s", 1e-9 * device.bus_bandwidth);
  device.latency = 1e-6 * object.positive("latency_us", 50);
  device.texel_pairs = object.flag("texel_pairs");
  device.shares_memory = device.cpu || object.flag("shares_memory");
  if (device.texel_pairs) device.image_side = 8192, device.image_layers = 2048;  // what OpenCL 1.2 promises
  if (const json* rates = object.find("rates", true)) {
    if (!rates->is_object()) throw InputError(fmt::format("{}: \"rates\" is not an object in braces", where));
    std::vector<std::string> names;
    for (const auto& [name, rate] : rates->items()) names.push_back(name);
    const Object all(*rates, where + ", rates", names);
    for (const auto& name : names) device.rates[name] = all.positive(name.c_str());
  }
  const int count = whole_number(object, "count", 1, where);
  const std::string name = device.name;
  for (int n = 0; n < count; ++n) {
    if (count > 1) device.name = fmt::format("{} #{}", name, n);
    devices.push_back(device);
  }
}

}  // namespace

std::vector<DeviceModel> Machine::devices_of(int count) const {
  std::vector<DeviceModel> result;
  for (int rank = 0; rank < count; ++rank)
    for (DeviceModel device : devices) {
      device.rank = rank;
      result.push_back(std::move(device));
    }
  return result;
}

Machine parse_machine(const std::string& text, const std::string& file) {
  json value;
  try {
    value = json::parse(text, [&](int depth, json::parse_event_t, const json&) {
      if (depth > deepest)
        throw InputError(fmt::format("machine file '{}' nests lists and objects more than {} deep, where 4 are needed",
                                     file, deepest));
      return true;
    });
  } catch (const json::exception& error) {
    throw InputError(
        fmt::format("machine file '{}' is damaged: {}; expected JSON, as in apps/machines", file, error.what()));
  }
  const std::string where = fmt::format("machine file '{}'", file);
  const Object object(value, where, {"name", "source", "nodes", "host", "devices"});
  Machine machine;
  machine.name = object.text("name");
  machine.source = object.text("source", "");
  const Object host(*object.find("host", false), where + ", host", {"memory_gib", "bus_gb_per_s"});
  machine.host_memory = bytes_of(host.positive("memory_gib"));
  if (host.find("bus_gb_per_s", true) != nullptr) machine.host_bandwidth = 1e9 * host.positive("bus_gb_per_s");
  if (const json* nodes = object.find("nodes", true)) {
    const Object described(*nodes, where + ", nodes", {"count", "link_gb_per_s"});
    machine.nodes = whole_number(described, "count", {}, where + ", nodes");
    machine.link_bandwidth = 1e9 * described.positive("link_gb_per_s");
  }
  const json& devices = *object.find("devices", false);
  if (!devices.is_array() || devices.empty())
    throw InputError(fmt::format("{}: \"devices\" lists no device; expected at least one object in a list", where));
  for (std::size_t n = 0; n < devices.size(); ++n)
    add_devices(devices[n], fmt::format("{}, device {}", where, n), machine.devices);
  return machine;
}

Machine read_machine(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw InputError(
        fmt::format("`machine` '{}' is a folder; give one of its JSON files that describe a machine", path));
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
  return parse_machine(read_text_file(path, fmt::format("`machine` '{}'", path), most_bytes), path);
}

}  // namespace halocline
