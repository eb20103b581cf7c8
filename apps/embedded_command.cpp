#include "apps/embedded_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "apps/commands/subcommands.hpp"
#include "apps/job/common_options.hpp"
#include "apps/job/job.hpp"
#include "apps/job/option_names.hpp"
#include "apps/job/report.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/unknown_option.hpp"
#include "host/system/error.hpp"

namespace halocline {
EmbeddedCommand::EmbeddedCommand() = default;
EmbeddedCommand::~EmbeddedCommand() = default;

namespace {

// The same error with the command's flags in its text.
template <typename Kind>
[[noreturn]] void throw_in_options(const Kind& error, const std::string& command) {
  throw Kind(in_options(error.what(), command));
}

}  // namespace

namespace {

std::string key_of(const DeviceSelection& selection) {
  const char* given = std::getenv("HALOCLINE_DEVICE");
  return fmt::format("{}\n{}\n{}\n{}", selection.device, selection.sub_devices, selection.device_memory,
                     given == nullptr ? "" : given);
}

}  // namespace

std::vector<Device> EmbeddedCommand::devices(const DeviceSelection& selection) {
  const std::lock_guard lock(mutex_);
  auto& found = devices_[key_of(selection)];
  if (found.empty()) found = open_devices(selection);
  if (!fft_kernels_) fft_kernels_ = std::make_unique<FftKernels>();
  return found;
}

EmbeddedCommand::Limited EmbeddedCommand::take_limited(const DeviceSelection& selection) {
  const std::lock_guard lock(mutex_);
  if (!fft_kernels_) fft_kernels_ = std::make_unique<FftKernels>();
  const std::string key = key_of(selection);
  const auto found =
      std::find_if(limited_.begin(), limited_.end(), [&](const Limited& each) { return each.key == key; });
  if (found == limited_.end()) return {key, open_devices(selection)};
  Limited result = std::move(*found);
  limited_.erase(found);
  return result;
}

void EmbeddedCommand::give_back(Limited limited) {
  constexpr std::size_t most = 4;
  const std::lock_guard lock(mutex_);
  limited_.push_back(std::move(limited));
  if (limited_.size() > most) limited_.pop_front();
}

Device EmbeddedCommand::adopted(void* context, void* device, std::size_t memory) {
  constexpr std::size_t most = 4;  // a context lives as long as its device is kept
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(adopted_.begin(), adopted_.end(), [&](const Adopted& each) {
    return each.context == context && each.id == device && each.memory == memory;
  });
  Device result = found != adopted_.end() ? found->device : adopt_device(context, device, memory);
  if (found != adopted_.end()) adopted_.erase(found);
  adopted_.push_back({context, device, memory, result});
  if (adopted_.size() > most) adopted_.pop_front();
  if (!fft_kernels_) fft_kernels_ = std::make_unique<FftKernels>();
  return result;
}

// Devices of one run, which others may have afterwards.
class EmbeddedCommand::Borrowed {
 public:
  Borrowed(EmbeddedCommand& from, Limited limited) : from_(from), limited_(std::move(limited)) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { from_.give_back(std::move(limited_)); }
  const std::vector<Device>& devices() const { return limited_.devices; }

 private:
  EmbeddedCommand& from_;
  Limited limited_;
};

namespace {

void set_value(Setting& setting, const std::vector<std::string>& words) {
  if (words.empty() || std::find(words.begin(), words.end(), "") != words.end())
    throw InputError(fmt::format("`{}` has an empty value; give one, or leave it out", setting.id()));
  if (words.size() > 1 && setting.most_words() == 1)
    setting.set({fmt::format("{}", fmt::join(words, ","))});
  else
    setting.set(words);
}

void set_all(const std::vector<GivenSetting>& given, Settings& own, Settings& common) {
  for (const GivenSetting& each : given) {
    Setting* setting = own.find(each.name);
    if (setting == nullptr) setting = common.find(each.name);
    if (setting == nullptr) {
      std::vector<std::string> names;
      for (const Settings* settings : {&own, &common})
        for (const Setting& known : settings->all()) names.push_back(known.option());
      std::string option = "--" + each.name;
      std::replace(option.begin(), option.end(), '_', '-');
      throw InputError(unknown_option_text(option, names));
    }
    set_value(*setting, each.words);
  }
  common.check(true);
  own.check(true);
}

}  // namespace

EmbeddedResult EmbeddedCommand::run(const EmbeddedRun& run) {
  const CancellationScope cancellation(run.cancellation);
  const MemoryFilesScope images(run.images);
  const MemoryGeometries geometries(run.geometries);
  const MemoryProjectors projectors(run.projectors);
  const NamedCommand named = make_named_command(run.verb);
  CommonOptions common;
  Settings common_settings;
  add_common_options(common_settings, common);
  EmbeddedResult result;
  JobOutlet outlet;
  outlet.print = [&](const std::string& text) {
    result.text += in_options(text, run.verb) + (text.ends_with('\n') ? "" : "\n");
  };
  outlet.progress = run.progress;
  std::optional<Device> home;
  std::deque<Borrowed> limited;
  outlet.devices = [&](const DeviceSelection& selection) {
    if (home && means(selection, *home)) return std::vector{*home};
    if (selection.device_memory == 0) return devices(selection);
    return limited.emplace_back(*this, take_limited(selection)).devices();
  };
  outlet.report = [&](const nlohmann::json& report) { result.report = report; };
  try {
    set_all(run.settings, named.command->settings, common_settings);
    if (run.home) {
      home = adopted(run.home->context, run.home->device, common.devices.device_memory);
      run.home->add_arrays(*home);
    }
    Job job(run.verb, common, options_json(named.command->settings, common_settings), std::move(outlet));
    carry_out(named.command->run, job);
    return result;
  } catch (const InputError& error) {
    throw_in_options(error, run.verb);
  } catch (const PlanError& error) {
    throw_in_options(error, run.verb);
  } catch (const DeviceError& error) {
    throw DeviceError(in_options(error.what(), run.verb), error.device());
  } catch (const FileError& error) {
    throw_in_options(error, run.verb);
  } catch (const std::bad_alloc&) {
    throw PlanError("this computer has not enough free memory for the volumes; choose smaller sizes");
  } catch (const std::length_error&) {
    throw PlanError("a volume is too large for this computer; choose smaller sizes");
  }
}

}  // namespace halocline
