#include "scheduling/execution/failover.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "host/system/log.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

std::vector<Device> working_devices(const std::vector<Device>& devices) {
  std::vector<Device> result;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(result),
               [](const Device& device) { return !device.excluded(); });
  return result.empty() ? devices : result;
}

bool exclude_failed(const std::vector<Device>& devices, const DeviceError& error, const std::string& done) {
  const auto is_it = [&](const Device& device) { return device.info().name == error.device(); };
  if (std::none_of(devices.begin(), devices.end(), is_it)) return false;
  std::vector<std::string> others;  // others may have failed meanwhile
  for (const auto& device : devices)
    if (!is_it(device) && !device.excluded()) others.push_back(device.info().name);
  if (others.empty() || ranks().several()) return false;
  for (auto device : devices)
    if (is_it(device)) device.exclude();
  const std::string text = error.what();
  const std::string consequence = done.empty() ? "and the work begins again on" : done + ", and the rest is made by";
  library_log()->warn("{}; {} is left out, {} {}", text.substr(0, text.find('\n')), error.device(), consequence,
                      fmt::join(others, " + "));
  return true;
}

}  // namespace halocline
