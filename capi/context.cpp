#include "capi/context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "capi/log.hpp"
#include "capi/status.hpp"

namespace halocline::capi {
namespace {

template <std::size_t size>
void copy_text(char (&to)[size], const std::string& from) {
  const std::size_t length = std::min(size - 1, from.size());
  std::copy_n(from.data(), length, to);
  std::fill(to + length, to + size, '\0');
}

void give_info(const DeviceInfo& device, halocline_device_info* info) {
  halocline_device_info all = HALOCLINE_DEVICE_INFO_INIT;
  all.index = device.index;
  all.compute_units = device.compute_units;
  all.memory = static_cast<int64_t>(device.global_memory);
  all.allocation = static_cast<int64_t>(device.max_allocation);
  copy_text(all.type, device.type);
  copy_text(all.name, device.name);
  copy_text(all.vendor, device.vendor);
  copy_text(all.platform, device.platform);
  copy_text(all.driver, device.driver);
  give(all, &required(info, "`info`"), "halocline_device_info");
}

std::size_t checked_index(int32_t number, std::size_t count) {
  if (number < 0 || static_cast<std::size_t>(number) >= count)
    throw InputError({.what = "the number of the device",
                      .found = fmt::to_string(number),
                      .expected = fmt::format("one from 0 on, below {}", count)});
  return static_cast<std::size_t>(number);
}

DeviceSelection selection_of(const halocline_context_options& options) {
  DeviceSelection selection;
  if (options.device != nullptr) selection.device = options.device;
  if (options.device_memory < 0 || options.sub_devices < 0)
    throw InputError({.what = options.sub_devices < 0 ? "`sub_devices`" : "`device_memory`",
                      .found = "negative",
                      .expected = "0 or a positive number"});
  selection.device_memory = static_cast<std::size_t>(options.device_memory);
  selection.sub_devices = options.sub_devices;
  return selection;
}

}  // namespace
}  // namespace halocline::capi

using namespace halocline;
using namespace halocline::capi;

extern "C" int halocline_device_count(int32_t* count) noexcept {
  return guarded([&] {
    take_over_log();
    required(count, "`count`") = static_cast<int32_t>(list_devices().size());
  });
}

extern "C" int halocline_device(int32_t index, halocline_device_info* info) noexcept {
  return guarded([&] {
    take_over_log();
    const auto devices = list_devices();
    give_info(devices[checked_index(index, devices.size())], info);
  });
}

extern "C" int halocline_context_new(const halocline_context_options* options, halocline_context** context) noexcept {
  return guarded([&] {
    take_over_log();
    auto& result = required(context, "`context`");
    const auto all =
        taken(options, halocline_context_options(HALOCLINE_CONTEXT_OPTIONS_INIT), "halocline_context_options");
    auto made = std::make_unique<halocline_context>();
    made->shared = std::make_shared<const Context>(Context{open_devices(selection_of(all)), {}});
    result = made.release();
  });
}

extern "C" int halocline_context_device_count(const halocline_context* context, int32_t* count) noexcept {
  return guarded([&] {
    required(count, "`count`") = static_cast<int32_t>(required(context, "`context`").shared->devices.size());
  });
}

extern "C" int halocline_context_device(const halocline_context* context, int32_t number,
                                        halocline_device_info* info) noexcept {
  return guarded([&] {
    const auto& devices = required(context, "`context`").shared->devices;
    give_info(devices[checked_index(number, devices.size())].info(), info);
  });
}

extern "C" void halocline_context_free(halocline_context* context) noexcept {
  delete context;
}
