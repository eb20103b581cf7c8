// Finding and opening devices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "host/opencl/driver_environment.hpp"
#include "host/opencl/opencl.hpp"
#include "host/opencl/select_devices.hpp"
#include "host/system/captured_stderr.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

struct FoundDevice {
  DeviceInfo info;
  cl::Device device;
};

std::string without_padding(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// References that nothing gives back, not even the end of the process.
void keep_for_good(const std::vector<cl::Device>& devices) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<cl::Device>;
  const std::lock_guard lock(mutex);
  kept.insert(kept.end(), devices.begin(), devices.end());
}

// Lanes of Intel's smallest sub-groups; 0: the driver does not say.
unsigned smallest_sub_group(const cl::Device& device) {
  constexpr cl_device_info sub_group_sizes_intel = 0x4108;
  std::array<std::size_t, 8> sizes{};
  std::size_t bytes = 0;
  if (::clGetDeviceInfo(device(), sub_group_sizes_intel, sizeof sizes, sizes.data(), &bytes) != CL_SUCCESS) return 0;
  const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof sizes[0]);
  return end == sizes.begin() ? 0 : static_cast<unsigned>(*std::min_element(sizes.begin(), end));
}

DeviceInfo describe(const cl::Device& device, const std::string& platform, int index) {
  DeviceInfo info;
  info.index = index;
  info.name = without_padding(device.getInfo<CL_DEVICE_NAME>());
  info.vendor = without_padding(device.getInfo<CL_DEVICE_VENDOR>());
  info.platform = platform;
  info.driver = without_padding(device.getInfo<CL_DRIVER_VERSION>());
  info.version = without_padding(device.getInfo<CL_DEVICE_VERSION>());
  const auto type = device.getInfo<CL_DEVICE_TYPE>();
  info.type = type & CL_DEVICE_TYPE_GPU           ? "gpu"
              : type & CL_DEVICE_TYPE_CPU         ? "cpu"
              : type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
                                                  : "other";
  info.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  info.global_memory = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  info.max_allocation = device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  info.local_memory = device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
  info.max_work_group = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  info.address_bits = device.getInfo<CL_DEVICE_ADDRESS_BITS>();
  info.unified_memory = device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>() != 0;
  const auto extensions = device.getInfo<CL_DEVICE_EXTENSIONS>();
  info.fp64 = extensions.find("cl_khr_fp64") != std::string::npos;
  if (extensions.find("cl_intel_subgroup_matrix_multiply_accumulate") != std::string::npos)
    info.matrix_lanes = smallest_sub_group(device);
  if (device.getInfo<CL_DEVICE_IMAGE_SUPPORT>() != 0) {
    info.image_width = device.getInfo<CL_DEVICE_IMAGE2D_MAX_WIDTH>();
    info.image_height = device.getInfo<CL_DEVICE_IMAGE2D_MAX_HEIGHT>();
    info.image_layers = device.getInfo<CL_DEVICE_IMAGE_MAX_ARRAY_SIZE>();
    info.images = info.image_layers > 0;
  }
  return info;
}

std::vector<FoundDevice> find_devices() {
  [[maybe_unused]] static const bool prepared = (prepare_drivers(), true);
  const CapturedStderr captured("OpenCL driver");
  std::vector<FoundDevice> found;
  std::vector<cl::Platform> platforms;
  try {
    cl::Platform::get(&platforms);
  } catch (const cl::Error&) {
    return found;  // CL_PLATFORM_NOT_FOUND_KHR: the loader has no driver
  }
  for (const auto& platform : platforms) {
    std::vector<cl::Device> devices;
    try {
      const auto name = without_padding(platform.getInfo<CL_PLATFORM_NAME>());
      platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
      for (const auto& device : devices) {
        if (device.getInfo<CL_DEVICE_AVAILABLE>() == 0) continue;
        found.push_back({describe(device, name, static_cast<int>(found.size())), device});
      }
    } catch (const cl::Error&) {
      continue;  // a driver without devices; the others still count
    }
  }
  return found;
}

// A part of the memory belongs to the driver, the display and the kernels' own scratch.
std::size_t default_budget(const DeviceInfo& info) {
  return info.global_memory / 10 * 9;
}

// Texels of two channels, as float32 and in half precision.
bool reads_pairs(const cl::Context& context) {
  std::vector<cl::ImageFormat> formats;
  context.getSupportedImageFormats(CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D_ARRAY, &formats);
  const auto has = [&](cl_channel_type type) {
    return std::any_of(formats.begin(), formats.end(), [&](const cl::ImageFormat& format) {
      return format.image_channel_order == CL_RG && format.image_channel_data_type == type;
    });
  };
  return has(CL_FLOAT) && has(CL_HALF_FLOAT);
}

// Opens a device in a context of its own unless there is one: on NVIDIA a shared one migrates buffers between devices
// at 1.3 GB/s.
Device open_device(const DeviceInfo& info, const cl::Device& device, std::size_t memory,
                   const cl::Context& context = {}) {
  auto state = std::make_shared<DeviceState>();
  state->info = info;
  state->quirks = quirks_of(info);
  state->groups.items = std::max<std::size_t>(1, info.max_work_group);
  state->device = device;
  const char* keep = std::getenv("HALOCLINE_KEEP_MEMORY");
  state->keeps_buffers = keep != nullptr ? std::string_view(keep) != "0" : !info.cpu() && !info.unified_memory;
  const char* stage = std::getenv("HALOCLINE_STAGE_TRANSFERS");
  state->stages_transfers = stage != nullptr ? std::string_view(stage) != "0" : !info.cpu() && !info.unified_memory;
  try {
    const auto axes = device.getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>();
    for (std::size_t axis = 0; axis < std::min<std::size_t>(3, axes.size()); ++axis)
      state->groups.axes[axis] = std::max<std::size_t>(1, axes[axis]);
    state->context = context() != nullptr ? context : cl::Context(device);
    for (auto& queue : state->queues) queue = cl::CommandQueue(state->context, device, CL_QUEUE_PROFILING_ENABLE);
    state->info.texel_pairs = info.images && reads_pairs(state->context);
  } catch (const cl::Error& error) {
    throw_cl_error(error.err(), error.what(), "the device could not be opened", info.name);
  }
  state->tuning = stored_tuning(info).value_or(Tuning{});
  state->ledger = std::make_unique<MemoryLedger>(info.name, memory > 0 ? memory : default_budget(info));
  return Device(std::move(state));
}

// Devices that can be opened; if there is none, throws the last one's error.
std::vector<Device> open_all(const std::vector<FoundDevice>& wanted, std::size_t memory) {
  std::vector<Device> result;
  for (const auto& each : wanted) {
    try {
      result.push_back(open_device(each.info, each.device, memory));
    } catch (const ClError& error) {
      if (result.empty() && &each == &wanted.back()) throw;
      library_log()->warn("{}; it is left out", error.what());
    }
  }
  return result;
}

// Chosen devices that can run jobs. Throws InputError if there is none.
std::vector<int> usable(const std::vector<DeviceInfo>& devices, const std::vector<int>& chosen) {
  std::vector<int> result;
  for (const int index : chosen) {
    const std::string reason = refusal(devices[index]);
    if (reason.empty()) {
      result.push_back(index);
      continue;
    }
    const std::string text = fmt::format("{} cannot be used: {}", devices[index].name, reason);
    if (result.empty() && index == chosen.back()) throw InputError(text + "; choose another `device`");
    library_log()->warn("{}; it is left out", text);
  }
  return result;
}

// The number of that device among all; -1: it is none of them, such as a part of one.
int index_of(const std::vector<FoundDevice>& found, const cl::Device& device) {
  for (std::size_t n = 0; n < found.size(); ++n)
    if (found[n].device() == device()) return static_cast<int>(n);
  return -1;
}

// Two cards of one model differ by their names, in plans, traces and reports.
DeviceInfo named(const std::vector<FoundDevice>& found, int index) {
  DeviceInfo info = found[index].info;
  const auto twins =
      std::count_if(found.begin(), found.end(), [&](const FoundDevice& other) { return other.info.name == info.name; });
  if (twins > 1) info.name += fmt::format(" #{}", index);
  return info;
}

std::string wanted_devices_of(const DeviceSelection& selection) {
  const char* environment = std::getenv("HALOCLINE_DEVICE");
  return selection.device.empty() && environment != nullptr ? environment : selection.device;
}

std::vector<DeviceInfo> infos_of(const std::vector<FoundDevice>& found) {
  std::vector<DeviceInfo> infos;
  for (const auto& each : found) infos.push_back(each.info);
  return infos;
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> result;
  for (auto& found : find_devices()) result.push_back(std::move(found.info));
  return result;
}

std::vector<Device> open_devices(const DeviceSelection& selection) {
  const auto found = find_devices();
  const std::vector<DeviceInfo> infos = infos_of(found);
  const std::string wanted = wanted_devices_of(selection);
  const auto chosen = usable(infos, select_devices(infos, wanted));
  for (const auto& text : repeated_devices(wanted)) library_log()->warn("{}", text);

  std::vector<FoundDevice> wanted_devices;
  if (selection.sub_devices < 2) {
    for (int index : chosen) wanted_devices.push_back({named(found, index), found[index].device});
    return open_all(wanted_devices, selection.device_memory);
  }
  if (chosen.size() != 1)
    throw InputError(
        fmt::format("`sub_devices` {} splits one device, but `device` names {}", selection.sub_devices, chosen.size()));
  DeviceInfo info = infos[chosen[0]];
  const auto parts = static_cast<unsigned>(selection.sub_devices);
  if (info.compute_units < parts)
    throw InputError(
        fmt::format("`sub_devices` {}: {} has only {} compute units", parts, info.name, info.compute_units));
  cl::Device whole = found[chosen[0]].device;
  std::vector<cl::Device> split;
  const cl_device_partition_property properties[] = {
      CL_DEVICE_PARTITION_EQUALLY, static_cast<cl_device_partition_property>(info.compute_units / parts), 0};
  try {
    whole.createSubDevices(properties, &split);
  } catch (const cl::Error& error) {
    throw InputError(fmt::format("`sub_devices` {}: {} cannot be split ({}); this works on CPU devices", parts,
                                 info.name, cl_error_name(error.err())));
  }
  split.resize(parts);
  if (pocl_frees_sub_devices_in_use(info)) keep_for_good(split);
  const std::string name = info.name;
  if (pocl_sub_devices_lack_images(info)) info.images = false;
  info.compute_units /= parts;
  info.global_memory /= parts;
  for (unsigned part = 0; part < parts; ++part) {
    info.name = fmt::format("{} (part {} of {})", name, part + 1, parts);
    wanted_devices.push_back({info, split[part]});
  }
  return open_all(wanted_devices, selection.device_memory);
}

Device adopt_device(void* context, void* device, std::size_t memory) {
  const auto found = find_devices();
  try {
    const cl::Context in(static_cast<cl_context>(context), true);
    const cl::Device on(static_cast<cl_device_id>(device), true);
    const auto devices = in.getInfo<CL_CONTEXT_DEVICES>();
    if (std::none_of(devices.begin(), devices.end(), [&](const cl::Device& each) { return each() == on(); }))
      throw InputError("the device is none of the context's");
    const int index = index_of(found, on);
    const DeviceInfo info =
        index >= 0
            ? named(found, index)
            : describe(on, without_padding(cl::Platform(on.getInfo<CL_DEVICE_PLATFORM>()).getInfo<CL_PLATFORM_NAME>()),
                       index);
    if (const std::string reason = refusal(info); !reason.empty())
      throw InputError(fmt::format("{} cannot be used: {}; choose another `device`", info.name, reason));
    return open_device(info, on, memory, in);
  } catch (const cl::Error& error) {
    throw_cl_error(error.err(), error.what(), "the context could not be taken over", "a device");
  }
}

bool means(const DeviceSelection& selection, const Device& device) {
  if (selection.sub_devices >= 2) return false;
  const std::string wanted = wanted_devices_of(selection);
  if (wanted.empty()) return true;
  const auto found = find_devices();
  const auto chosen = select_devices(infos_of(found), wanted);
  return chosen.size() == 1 && chosen.front() == index_of(found, device.state()->device);
}

}  // namespace halocline
