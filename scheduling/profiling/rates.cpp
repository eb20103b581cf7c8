#include "scheduling/profiling/rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <vector>

#include "host/opencl/program_cache.hpp"
#include "host/opencl/quirks.hpp"
#include "host/opencl/tuned_values.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "host/system/thread_pool.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/layout.hpp"
#include "scheduling/profiling/measure.hpp"
#include "scheduling/profiling/rates_text.hpp"

namespace halocline {
namespace {

constexpr double long_enough = 8e-3;            // seconds of a transfer or copy that is worth timing
constexpr std::size_t most_bytes = 256u << 20;  // larger than every cache
constexpr std::size_t least_bytes = 16u << 10;
constexpr int warm_up = 4;           // transfers before the timed ones
constexpr double worth_a_trial = 1;  // predicted seconds of a job
constexpr std::int64_t day = 24 * 60 * 60;

std::string key_of(const DeviceInfo& info) {
  return fmt::format("rates {}\n{}\n{}\n{}\n{} units", rates_version, model_of(info), info.platform, info.driver,
                     info.compute_units);
}

// Rates of this process, so that it reads and measures once.
struct Known {
  std::mutex mutex;
  std::map<std::string, std::optional<DeviceRates>> rates;
  std::set<std::string> forgotten;  // in the cache, but not in this process
};
Known& known() {
  static Known instance;
  return instance;
}

double best_time(DeviceSlab& slab, const std::function<void()>& work) {
  return best_of_tries([&] { return seconds_of(slab, work); });
}

struct Timed {
  double copy = 0, upload = 0, download = 0, latency = 0;  // seconds
};

// Times of arrays of so many bytes. Small ones give only `latency`.
Timed time_arrays(const Device& device, std::size_t bytes, std::vector<std::byte>& host) {
  DeviceSlab slab(device, whole_plan(copy_requirements(bytes)), 0);
  Timed result;
  slab.fill("from", 1);
  copy_once(slab, bytes);
  const double one = seconds_of(slab, [&] { copy_once(slab, bytes); });
  const int times = std::clamp(static_cast<int>(long_enough / std::max(one, 1e-9)), 1, 10);
  result.copy = best_time(slab,
                          [&] {
                            for (int n = 0; n < times; ++n) copy_once(slab, bytes);
                          }) /
                times;
  // Staged transfers use several chunks of page-locked memory, each of which takes milliseconds to allocate.
  for (int n = 0; n < warm_up; ++n) slab.upload_bytes("from", 0, host.data(), bytes);
  slab.wait();
  result.upload = best_time(slab, [&] { slab.upload_bytes("from", 0, host.data(), bytes); });
  slab.download_bytes("from", 0, host.data(), bytes);  // small ones use a chunk as well
  result.download = best_time(slab, [&] { slab.download_bytes("from", 0, host.data(), bytes); });
  result.latency = best_time(slab, [&] {
    copy_once(slab, least_bytes);
    slab.download_bytes("to", 0, host.data(), 16);
  });
  return result;
}

// Measures with growing arrays until they take long enough, or reach the budget. `small`: the budget was too small; the
// rates are then those of caches and latencies.
DeviceRates measure(const Device& device, bool* small) {
  const std::size_t most = std::min({most_bytes, device.ledger().available() / 4, device.max_allocation()});
  if (most < least_bytes) throw PlanError("the budget is too small to measure anything");
  DeviceRates rates;
  rates.latency = std::numeric_limits<double>::infinity();
  std::vector<std::byte> host;
  for (std::size_t bytes = least_bytes;; bytes *= 16) {
    bytes = std::min(bytes, most) / 4096 * 4096;
    host.assign(bytes, std::byte{1});
    const Timed timed = time_arrays(device, bytes, host);
    const auto size = static_cast<double>(bytes);
    rates.copy = 2 * size / timed.copy;
    rates.upload = size / timed.upload;
    rates.download = size / timed.download;
    rates.latency = std::min(rates.latency, timed.latency);
    *small = most < most_bytes && std::max({timed.copy, timed.upload, timed.download}) <= long_enough;
    if (bytes == most / 4096 * 4096 || std::max({timed.copy, timed.upload, timed.download}) > long_enough) break;
  }
  library_log()->debug("{}: copy {:.3g} GB/s, up {:.3g}, down {:.3g}, latency {:.3g} us", device.info().name,
                       1e-9 * rates.copy, 1e-9 * rates.upload, 1e-9 * rates.download, 1e6 * rates.latency);
  return rates;
}

void store(const std::string& key, const std::string& text) {
  ProgramCache().store(key, {text.begin(), text.end()});
}

std::string load(const std::string& key) {
  const auto bytes = ProgramCache().load(key);
  return bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
}

// Called with the lock held.
std::optional<DeviceRates> find_or_measure(const Device& device,
                                           std::map<std::string, std::optional<DeviceRates>>& all) {
  const std::string key = key_of(device.info());
  if (const auto found = all.find(key); found != all.end()) return found->second;
  const std::string kept = load(key);
  auto rates = rates_from_text(kept);
  if (!rates) {
    try {
      bool small = false;
      rates = measure(device, &small);
      rates->doubted = doubts_from_text(kept);
      if (!small) store(key, rates_text(*rates));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      // A tiny budget, or a fault that the run will report. Another device of the kind may succeed.
      library_log()->debug("{}: its rates were not measured: {}", device.info().name, error.what());
      return std::nullopt;
    }
  }
  all[key] = rates;
  return rates;
}

bool unlike(const std::vector<Device>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [&](const Device& device) { return key_of(device.info()) != key_of(devices.front().info()); });
}

// Plan of a slab in the middle of the volume, as thick as fits.
Plan trial_plan(const Requirements& requirements, const Device& device, int iterations) {
  // A GPU needs enough slices to be busy: a few of 1024^2 voxels would give a fraction of its rate.
  const std::size_t most = device.info().cpu() ? std::size_t{256} << 20 : std::size_t{4} << 30;
  const std::size_t budget = std::min(most, device.ledger().available() / (device.info().cpu() ? 1 : 2));
  const auto slices = requirements.slices().count();
  const int step = requirements.batch_step;
  Plan plan;
  plan.requirements = requirements;
  plan.batch = std::min(static_cast<int>(requirements.stack[2]), std::max(1, 16 / step) * step);
  for (std::int64_t thickness = std::min<std::int64_t>(64, slices); thickness > 0; thickness /= 2) {
    const std::int64_t begin = (slices - thickness) / 2;
    const auto slab = make_slab(requirements, 0, {begin, begin + thickness}, iterations, plan.batch);
    if (slab.bytes > budget) continue;
    plan.slabs = {slab};
    return plan;
  }
  throw PlanError("not even a slice fits the memory of a trial");
}

double measure_kernels(const Device& device, const Requirements& requirements, const KernelTrial& trial) {
  const Plan plan = trial_plan(requirements, device, trial.iterations);
  const Range views{0, plan.batch};
  DeviceSlab slab(device, plan, 0);
  trial.prepare(slab, views);
  seconds_of(slab, [&] { trial.work(slab, views); });  // compiles
  return trial.units(slab, views) / best_time(slab, [&] { trial.work(slab, views); });
}

}  // namespace

std::optional<DeviceRates> device_rates(const Device& device) {
  std::lock_guard lock(known().mutex);
  return find_or_measure(device, known().rates);
}

void keep_kernel_rate(const Device& device, const std::string& name, double units_per_second) {
  if (!(units_per_second > 0) || !std::isfinite(units_per_second)) return;
  std::lock_guard lock(known().mutex);
  auto rates = find_or_measure(device, known().rates);
  if (!rates) return;
  rates->kernels[name] = units_per_second;
  const std::string key = key_of(device.info());
  known().rates[key] = rates;
  if (!known().forgotten.contains(key)) store(key, rates_text(*rates));
}

void forget_rates(const std::vector<Device>& devices, const std::string& reason, std::int64_t now) {
  std::lock_guard lock(known().mutex);
  for (const auto& device : devices) {
    const std::string key = key_of(device.info());
    auto rates = rates_from_text(load(key));
    if (!rates) continue;  // nothing is kept
    const auto last = rates->doubted.find(reason);
    if (last != rates->doubted.end() && now - last->second < day) continue;
    rates->doubted[reason] = now;
    store(key, forgotten_text(rates->doubted));
    known().forgotten.insert(key);
    library_log()->debug("{}: its rates seem {}, and are measured again at the next start", device.info().name, reason);
  }
}

std::vector<DeviceModel> device_models(const std::vector<Device>& devices) {
  std::vector<DeviceModel> result;
  for (const auto& device : devices) {
    DeviceModel model;
    model.name = device.info().name;
    model.memory = device.ledger().available();
    model.max_allocation = device.max_allocation();
    model.platform = device.info().platform;
    model.cpu = device.info().cpu();
    model.shares_memory = model.cpu || device.info().unified_memory;
    // 12 threads of a host moved 29 GB/s of state to and from an H200
    if (!model.shares_memory) model.host_copies = 2.5e9 * static_cast<double>(parallel_threads());
    model.part = is_part(device.info());
    model.texel_pairs = device.info().texel_pairs;
    model.matrix_units = matrix_units_of(device.info());
    model.local_memory = usable_local_memory(device.info());
    if (device.info().images) {
      model.image_side = std::min(device.info().image_width, device.info().image_height);
      model.image_layers = device.info().image_layers;
    }
    Tuning tuning = tuning_of(device);
    model.choices = std::move(tuning.choices);
    model.problems = std::move(tuning.problems);
    if (model.cpu) {  // host memory copies; a few channels
      model.bus_bandwidth = 8e9;
      model.memory_bandwidth = 30e9;
    }
    if (const auto rates = device_rates(device)) {
      model.bus_bandwidth = rates->upload;
      model.download_bandwidth = rates->download;
      model.memory_bandwidth = rates->copy;
      model.latency = rates->latency;
      model.rates = rates->kernels;
    }
    result.push_back(std::move(model));
  }
  return result;
}

bool learn_kernel_rate(const Requirements& requirements, const std::vector<Device>& devices, const KernelTrial& trial) {
  const std::string& name = requirements.cost.name;
  bool learned = false;
  if (name.empty()) return learned;
  const auto known_budgets = device_models(devices);
  const bool differ = unlike(devices);
  for (std::size_t n = 0; n < devices.size(); ++n) {
    const auto rates = device_rates(devices[n]);
    if (!rates || rates->kernels.contains(name)) continue;
    if (!differ &&
        count_units(requirements) / unit_rate(requirements.cost, requirements, known_budgets[n]) < worth_a_trial)
      continue;
    try {
      keep_kernel_rate(devices[n], name, measure_kernels(devices[n], requirements, trial));
      learned = true;
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      library_log()->debug("{}: the rate of {} was not measured: {}", devices[n].info().name, name, error.what());
    }
  }
  return learned;
}

}  // namespace halocline
