#include "algorithms/support/variant_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "host/opencl/program_cache.hpp"
#include "host/opencl/trial_values.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

// Relative difference of other roundings: that of a contraction of a product and a sum, or of another approximation of
// a root, in the largest values after a few iterations.
constexpr double last_bits = 1e-6;

std::string key_of(const Variant& variant, const DeviceInfo& info) {
  std::string key = fmt::format("variant check\n{}\n{}\n{}\n{}\n{}\n{}\n", variant.name, info.platform, info.vendor,
                                info.name, info.version, info.driver);
  for (const auto& file : variant.files) key += kernel_source(file) + "\n";
  return key;
}

std::vector<unsigned char> stored_form(const Finding& finding) {
  const std::string text = static_cast<char>(finding.verdict) + finding.detail;  // never empty
  return {text.begin(), text.end()};
}

Finding finding_of(const std::vector<unsigned char>& bytes) {
  return {static_cast<Verdict>(bytes.front()), std::string(bytes.begin() + 1, bytes.end())};
}

// Runs the check; nothing if its failure does not concern the variant.
std::optional<Finding> checked(const Variant& variant, const Device& device) {
  try {
    return variant.check(device);
  } catch (const PlanError&) {
    return std::nullopt;         // `device_memory` is too small even for these volumes
  } catch (const InputError&) {  // nothing is wrong with these inputs
    return Finding{Verdict::wrong, "its result is not finite"};
  } catch (const BuildError& error) {
    const std::string text = error.what();
    return Finding{Verdict::wrong, text.substr(0, text.find('\n'))};
  }
}

// Reason that keeps the variant from the device, unless the device does not take it anyway; "": none. A device that
// fails in the check will fail in the run, which handles it.
std::string obstacle(const Variant& variant, const Device& device, bool exactly) {
  const DeviceInfo& info = device.info();
  try {
    const Finding finding = check_variant(variant, device);
    if (finding.verdict == Verdict::wrong)
      return fmt::format("{} is wrong on {} with the driver {}: {}", variant.name, info.name, info.driver,
                         finding.detail);
    if (finding.verdict == Verdict::last_bits && exactly)
      return fmt::format("{} differs in the last bits on {} with the driver {}: {}", variant.name, info.name,
                         info.driver, finding.detail);
  } catch (const ClError& error) {
    if (exceeds_group_limits(error)) return fmt::format("{} is not for this device: {}", variant.name, error.what());
  }
  return {};
}

// Warns once: a search for an axis checks before each reconstruction.
void warn_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (warned.insert(text).second) library_log()->warn("{}", text);
}

}  // namespace

std::string Finding::text() const {
  switch (verdict) {
    case Verdict::right:
      return "right";
    case Verdict::last_bits:
      return "differs in the last bits: " + detail;
    case Verdict::wrong:
      return "wrong: " + detail;
    default:
      return "not for this device: " + detail;
  }
}

std::function<std::string(const DeviceInfo&)> unless(bool (*taken)(const DeviceInfo&), const char* reason) {
  return [=](const DeviceInfo& info) -> std::string { return taken(info) ? "" : reason; };
}

Volume trial_volume(const Grid& grid) {
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = trial_value(n);
  return volume;
}

Finding compared(const Volume& values, const Volume& expected, double tolerance) {
  const std::size_t count = expected.voxels.size();
  if (tolerance == 0 && std::memcmp(values.voxels.data(), expected.voxels.data(), 4 * count) == 0) return {};
  double farthest = 0, largest = 0;
  std::size_t where = 0, others = 0;
  for (std::size_t n = 0; n < count; ++n) {
    largest = std::max(largest, std::abs(static_cast<double>(expected.voxels[n])));
    const double apart = std::abs(static_cast<double>(values.voxels[n]) - expected.voxels[n]);
    if (apart <= tolerance) continue;  // false for NaN
    ++others;
    if (!(apart <= farthest)) farthest = apart, where = n;
  }
  if (others == 0) return {};
  const std::string example = fmt::format("{:.9g} instead of {:.9g}", values.voxels[where], expected.voxels[where]);
  if (tolerance == 0 && farthest <= last_bits * largest)
    return {Verdict::last_bits, fmt::format("{} of {} values, at most {}", others, count, example)};
  return {Verdict::wrong, fmt::format("{} of {} values are wrong, e.g. {}", others, count, example)};
}

Finding check_variant(const Variant& variant, const Device& device, bool again) {
  if (std::string reason = variant.reason_not(device.info()); !reason.empty()) return {Verdict::not_taken, reason};
  static std::mutex mutex;
  static std::map<std::string, Finding> known;  // for folders that cannot be written, and to read none twice
  const std::lock_guard lock(mutex);
  const std::string key = key_of(variant, device.info());
  const ProgramCache cache;
  if (!again) {
    if (const auto found = known.find(key); found != known.end()) return found->second;
    if (const auto stored = cache.load(key)) return known[key] = finding_of(*stored);
  }
  const auto finding = checked(variant, device);
  if (!finding) return {Verdict::not_taken, "`device_memory` is too small for the check"};
  cache.store(key, stored_form(*finding));
  return known[key] = *finding;
}

bool variant_works(const Variant& variant, const std::vector<Device>& devices, const std::string& instead, Ranks& all) {
  std::string own;
  for (const auto& device : devices)
    if (own = obstacle(variant, device, true); !own.empty()) break;
  const auto found = all.gather("the check of " + variant.name, own);
  const auto first = std::find_if(found.begin(), found.end(), [](const auto& each) { return !each.empty(); });
  if (first == found.end()) return true;
  const std::string where = all.several() ? fmt::format("rank {}: ", first - found.begin()) : "";
  warn_once(fmt::format("{}{}; {} instead", where, *first, instead));
  return false;
}

void require_variant(const Variant& variant, const std::vector<Device>& devices, const std::string& parameter) {
  for (const auto& device : devices) {
    if (const std::string found = obstacle(variant, device, false); !found.empty())
      throw InputError(
          fmt::format("{}: {}. Leave the option out, choose another `device`, or try another driver; `check_variant()` "
                      "then checks again",
                      parameter, found));
  }
}

}  // namespace halocline
