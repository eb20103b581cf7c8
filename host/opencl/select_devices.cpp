#include "host/opencl/select_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "host/opencl/device_info.hpp"
#include "host/opencl/quirks.hpp"
#include "host/system/error.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<std::string> entries_of(const std::string& selection) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at <= selection.size();) {
    const auto comma = std::min(selection.find(',', at), selection.size());
    result.push_back(trimmed(selection.substr(at, comma - at)));
    at = comma + 1;
  }
  return result;
}

std::string list_of(const std::vector<DeviceInfo>& devices) {
  std::string result = "The devices are:";
  for (std::size_t n = 0; n < devices.size(); ++n)
    result += fmt::format("\n  {}  {} ({}, {}; {})", n, devices[n].name, devices[n].vendor, devices[n].type,
                          devices[n].platform);
  return result;
}

// The first usable device, if there is one.
int default_device(const std::vector<DeviceInfo>& devices) {
  for (const std::string type : {"gpu", "accelerator", ""}) {
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& device) {
      return (type.empty() || device.type == type) && refusal(device).empty();
    });
    if (found != devices.end()) return static_cast<int>(found - devices.begin());
  }
  return 0;
}

bool is_number(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool names(const std::string& wanted, const DeviceInfo& device) {
  if (wanted == "all") return true;
  if (wanted == "cpu" || wanted == "gpu" || wanted == "accelerator") return device.type == wanted;
  for (const auto* text : {&device.name, &device.vendor, &device.platform})
    if (lower_case(*text).find(wanted) != std::string::npos) return true;
  return false;
}

std::vector<int> matches(const std::vector<DeviceInfo>& devices, const std::string& wanted) {
  std::vector<int> result;
  if (is_number(wanted)) {
    std::size_t index = 0;
    const auto parsed = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
    if (parsed.ec == std::errc{} && index < devices.size()) result.push_back(static_cast<int>(index));
    return result;
  }
  for (std::size_t n = 0; n < devices.size(); ++n)
    if (names(lower_case(wanted), devices[n])) result.push_back(static_cast<int>(n));
  return result;
}

constexpr const char* part_mark = " (part ";  // as open_devices() names them

}  // namespace

std::string model_of(const DeviceInfo& device) {
  const std::string whole = device.name.substr(0, device.name.find(part_mark));
  const auto number = whole.rfind(" #");
  return number == std::string::npos || whole.find_first_not_of("0123456789", number + 2) != std::string::npos
             ? whole
             : whole.substr(0, number);
}

bool is_part(const DeviceInfo& device) {
  return device.name.find(part_mark) != std::string::npos;
}

std::vector<int> select_devices(const std::vector<DeviceInfo>& devices, const std::string& selection) {
  if (devices.empty())
    throw InputError(
        "there is no OpenCL device: install the OpenCL driver of the GPU, or PoCL, which runs on any CPU (on Debian "
        "and Ubuntu: apt-get install pocl-opencl-icd). PoCL that is installed shows none where it has no folder to "
        "write to: set POCL_CACHE_DIR to one (and HALOCLINE_CACHE_DIR, for compiled kernels)");
  if (trimmed(selection).empty()) return {default_device(devices)};
  std::vector<int> result;
  for (const auto& wanted : entries_of(selection)) {
    const auto found = wanted.empty() ? std::vector<int>{} : matches(devices, wanted);
    if (found.empty())
      throw InputError(fmt::format(
          "`device` \"{}\": {}; expected a list of indices, cpu, gpu, accelerator, all, or parts of names, with commas "
          "between.\n{}",
          selection, wanted.empty() ? "an entry is empty" : "no device matches \"" + wanted + "\"", list_of(devices)));
    for (const int index : found)
      if (std::find(result.begin(), result.end(), index) == result.end()) result.push_back(index);
  }
  return result;
}

std::vector<std::string> repeated_devices(const std::string& selection) {
  std::vector<std::string> seen, result;
  const auto entries = entries_of(selection);
  const auto key_of = [](const std::string& entry) {
    return is_number(entry) ? entry.substr(std::min(entry.find_first_not_of('0'), entry.size() - 1))
                            : lower_case(entry);
  };
  for (const auto& entry : entries) {
    if (entry.empty()) continue;
    const std::string key = key_of(entry);
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
    seen.push_back(key);
    const auto times = std::count_if(entries.begin(), entries.end(),
                                     [&](const std::string& other) { return !other.empty() && key_of(other) == key; });
    if (times > 1)
      result.push_back(fmt::format("`device` names '{}' {}; it is used once", entry,
                                   times == 2 ? "twice" : fmt::format("{} times", times)));
  }
  return result;
}

}  // namespace halocline
