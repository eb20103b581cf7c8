#include "apps/bench/device_card.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/calibration/self_check.hpp"
#include "apps/bench/denoise_bench.hpp"
#include "apps/bench/scan_bench.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr std::size_t rabbit_views = 496, least_rabbit = 128;
constexpr std::array<std::size_t, 2> rabbit_detector{1248, 960};

std::map<std::string, std::string> findings_of(const Device& device) {
  std::map<std::string, std::string> result;
  for (const Variant& variant : all_variants()) {
    check_interrupt();
    result[variant.name] = finding_on(device, variant, false).text();
  }
  return result;
}

void add_scans(DeviceCard& card, const std::string& work, ScanBench bench, const Device& device,
               const ScanBenchOptions& options, const Progress& progress) {
  const ScanBenchResult found = run_scan_bench(bench, device, options, progress);
  for (const ScanRate& rate : found.rates) {
    const bool rays = bench == ScanBench::project;
    card.rows.push_back({work, rate.mode, rate.times, (rays ? rate.rays : rate.updates) / rate.seconds(),
                         rays ? "rays" : "updates",
                         rate.host ? -1 : std::max(rate.share_of_fetches(), rate.share_of_copy())});
  }
  for (const auto& each : found.plan.left_out) card.left_out.push_back(work + ", " + each);
}

// Voxel-driven modes, which are RabbitCT's; a CPU, which has no texture units, would read images for minutes.
std::vector<std::string> voxel_modes(const DeviceInfo& device) {
  if (device.cpu()) return {"exact", "columns"};
  std::vector<std::string> modes = scan_bench_modes(ScanBench::backproject);
  std::erase_if(modes, [](const std::string& mode) {
    return mode.find("adjoint") != mode.npos || mode.find("bricks") != mode.npos;
  });
  return modes;
}

void add_rabbit(DeviceCard& card, const Device& device, std::size_t size, double seconds, const Progress& progress) {
  ScanBenchOptions options{.views = rabbit_views, .modes = voxel_modes(device.info()), .seconds = seconds};
  options.detector = rabbit_detector;
  options.volume = std::array{size, size, size};
  if (size < least_rabbit) throw PlanError(fmt::format("it has {}^3 voxels and more", least_rabbit));
  add_scans(card, fmt::format("RabbitCT, {}^3", size), ScanBench::backproject, device, options, progress);
}

void add_denoisers(DeviceCard& card, const Device& device, std::size_t size, double seconds, const Progress& progress) {
  DenoiseBenchOptions options{.volume = VolumeSize{size, size, size}, .gaps = {}, .seconds = seconds};
  const DenoiseBench found = bench_denoise(device, options, progress);
  for (const FormRate& rate : found.rates)
    card.rows.push_back({"denoise", rate.form.method + " " + form_name(rate.form), rate.iteration,
                         rate.voxel_iterations(), "voxel iterations", rate.share_of_copy()});
  for (const auto& each : found.plan.left_out) card.left_out.push_back("denoise, " + each);
}

// Adds rows, or says why there are none.
template <class Add>
void attempt(DeviceCard& card, const std::string& work, Add&& add) {
  try {
    add();
  } catch (const PlanError& error) {
    card.left_out.push_back(work + ": " + error.what());
  }
}

ScanBenchOptions scan_options(const DeviceCardOptions& options) {
  return {.size = options.size, .seconds = options.seconds};
}

std::size_t size_of(const Device& device, const DeviceCardOptions& options) {
  return plan_scan_bench(ScanBench::fdk, device, scan_options(options)).size;
}

}  // namespace

double device_card_bytes(const Device& device, const DeviceCardOptions& options) {
  const auto size = static_cast<double>(size_of(device, options));
  const double rabbit = static_cast<double>(rabbit_views * rabbit_detector[0] * rabbit_detector[1]);
  return sizeof(float) * (size * size * size + std::max(size * size * size, size < least_rabbit ? 0 : rabbit));
}

DeviceCard device_card(const Device& device, const DeviceCardOptions& options, const Progress& progress) {
  DeviceCard card{device.info(), device_rates(device), findings_of(device), {}, {}};
  const std::size_t size = size_of(device, options);
  for (const ScanBench bench : {ScanBench::project, ScanBench::backproject, ScanBench::fdk}) {
    const std::string work = scan_bench_name(bench);
    attempt(card, work, [&] { add_scans(card, work, bench, device, scan_options(options), progress); });
  }
  attempt(card, "RabbitCT", [&] { add_rabbit(card, device, size, options.seconds, progress); });
  attempt(card, "denoise", [&] { add_denoisers(card, device, size, options.seconds, progress); });
  return card;
}

}  // namespace halocline
