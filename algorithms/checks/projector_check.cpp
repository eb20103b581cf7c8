#include "algorithms/checks/projector_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "algorithms/projectors/user_projector.hpp"
#include "host/opencl/memory_check.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

using CheckedValues = std::vector<float>;

constexpr std::size_t most_numbers = 10'000'000;               // of a table
constexpr unsigned char not_a_number = 0xff, a_number = 0x4b;  // bytes of float32 that are NaN, and 13 million

ProjectorFinding::Verdict verdict_of(bool pass) {
  return pass ? ProjectorFinding::Verdict::pass : ProjectorFinding::Verdict::fail;
}

// Values from `least` to 1.
Volume random_volume(const Grid& grid, unsigned seed, float least = 0) {
  Volume volume(grid);
  std::mt19937 generator(seed);
  for (float& value : volume.voxels) value = least + (1 - least) * static_cast<float>(generator() >> 8) / 16777216.0f;
  return volume;
}

double product_of(const CheckedValues& a, const CheckedValues& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += static_cast<double>(a[n]) * b[n];
  return sum;
}

// Infinite where a value is not finite.
double distance_of(float a, float b) {
  const double distance = std::abs(static_cast<double>(a) - b);
  return std::isfinite(distance) ? distance : std::numeric_limits<double>::infinity();
}

bool are_same(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

// A x and A^T y of one scan.
struct ScanRuns {
  const ProjectorScan& scan;
  Projector projector;

  CheckedValues forward(const Volume& x, const std::vector<Device>& devices, const RunOptions& options = {}) const {
    return project(x, scan.geometry, scan.projections, {projector}, devices, options).output.voxels;
  }
  CheckedValues adjoint(const Volume& y, const std::vector<Device>& devices, const RunOptions& options = {}) const {
    return backproject(y, scan.geometry, scan.volume, projector, devices, options).output.voxels;
  }
  /// A x, or A^T y.
  CheckedValues of(bool forwards, const std::vector<Device>& devices, const RunOptions& options = {}) const {
    return forwards ? forward(random_volume(scan.volume, 7), devices, options)
                    : adjoint(random_volume(scan.projections, 3), devices, options);
  }
};

RunOptions split(int slabs, int batch, const std::vector<Device>& devices = {}) {
  RunOptions options;
  options.plan.minimum_slabs = slabs;
  options.plan.batch = batch;
  for (const Device& each : devices) options.plan.speeds[each.info().name] = 1;  // equal shares
  return options;
}

const char* what_of(bool forwards) {
  return forwards ? "A x" : "A^T y";
}

// The first result of a check that is not as it should be; how many were looked at.
struct RunWatch {
  std::string first;
  int runs = 0;

  ProjectorFinding finding(const std::string& check, const std::string& good) const {
    return {check, "", verdict_of(first.empty()), first.empty() ? fmt::format("{}, {} runs", good, runs) : first};
  }
  void expect_finite(const CheckedValues& values, const std::string& where) {
    ++runs;
    const auto count = std::count_if(values.begin(), values.end(), [](float each) { return !std::isfinite(each); });
    if (count > 0 && first.empty())
      first = fmt::format("{}: {} of {} values are not finite", where, count, values.size());
  }
  void expect_same_bits(const CheckedValues& values, const CheckedValues& expected, const std::string& where) {
    ++runs;
    if (!first.empty()) return;
    std::size_t count = 0;
    double largest = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (are_same(values[n], expected[n])) continue;
      ++count;
      largest = std::max(largest, distance_of(values[n], expected[n]));
    }
    if (count == 0) return;
    first = fmt::format("{}: {} of {} values differ, by up to {:.3g}", where, count, values.size(), largest);
  }
};

double adjoint_error(const ScanRuns& runs, float least, const std::vector<Device>& devices, RunWatch& finite) {
  const Volume x = random_volume(runs.scan.volume, 7, least), y = random_volume(runs.scan.projections, 3, least);
  const CheckedValues ax = runs.forward(x, devices), aty = runs.adjoint(y, devices);
  finite.expect_finite(ax, runs.scan.name + ", A x");
  finite.expect_finite(aty, runs.scan.name + ", A^T y");
  const double gap = std::abs(product_of(ax, y.voxels) - product_of(x.voxels, aty));
  return gap / std::sqrt(product_of(ax, ax) * product_of(y.voxels, y.voxels));
}

// A x (forwards) or A^T y of the scan in several parts against one slab.
void watch_splits(const ScanRuns& runs, bool forwards, const std::vector<Device>& devices, RunWatch& watch) {
  const auto slices = static_cast<int>(runs.scan.volume.size[2]);
  const std::vector<Device> first{devices.front()};
  const CheckedValues whole = runs.of(forwards, first);
  for (const auto& [slabs, batch] : {std::pair{1, 1}, {1, 3}, {2, 3}, {3, 1}, {slices, 5}}) {
    if (slabs > slices) continue;
    watch.expect_same_bits(runs.of(forwards, first, split(slabs, batch)), whole,
                           fmt::format("{}, {} in {}, batches of {}", runs.scan.name, what_of(forwards),
                                       plural(slabs, "slab", "slabs"), views_text(static_cast<std::size_t>(batch))));
  }
  if (devices.size() > 1)
    watch.expect_same_bits(runs.of(forwards, devices, split(0, 2, devices)), whole,
                           fmt::format("{}, {} on {} devices", runs.scan.name, what_of(forwards), devices.size()));
}

// A run's values, or why there are none.
struct MemoryRun {
  CheckedValues values;
  std::string error;
};

void expect_same(const MemoryRun& found, const CheckedValues& expected, const std::string& where, RunWatch& watch) {
  if (found.error.empty()) return watch.expect_same_bits(found.values, expected, where);
  ++watch.runs;
  if (watch.first.empty()) watch.first = where + ": " + found.error;
}

struct ValueDifference {
  double largest = 0, rms = 0;  // relative to the largest value
};

ValueDifference difference_of(const CheckedValues& found, const CheckedValues& expected) {
  double largest = 0, greatest = 0, squares = 0;
  for (std::size_t n = 0; n < found.size(); ++n) {
    const double difference = distance_of(found[n], expected[n]);
    largest = std::max(largest, difference);
    greatest = std::max(greatest, std::abs(static_cast<double>(expected[n])));
    squares += difference * difference;
  }
  return {largest / greatest, std::sqrt(squares / static_cast<double>(found.size())) / greatest};
}

}  // namespace

UserProjector CheckedProjector::on(const ProjectorScan& scan) const {
  const auto& stack = scan.projections.size;
  const std::map<std::string, std::size_t> known{{"volume", scan.volume.count()},
                                                 {"views", stack[2]},
                                                 {"columns", stack[0]},
                                                 {"rows", stack[1]},
                                                 {"pixels", stack[0] * stack[1]}};
  UserProjectorOptions options;
  for (const auto& [name, table] : tables) {
    const auto found = known.find(table.size);
    const std::size_t count =
        found != known.end() ? found->second : static_cast<std::size_t>(std::strtoul(table.size.c_str(), nullptr, 10));
    const bool digits = table.size.find_first_not_of("0123456789") == std::string::npos;
    if ((found == known.end() && !digits) || count == 0 || count > most_numbers)
      throw InputError({.what = "the size of the table " + name,
                        .found = table.size,
                        .expected = "volume, views, columns, rows, pixels, or 1 to 10000000"});
    options.tables[name].assign(count, table.value);
  }
  return UserProjector::from_file(file, std::move(options));
}

ProjectorFindings check_adjoint(const CheckedProjector& projector, const std::vector<Device>& devices) {
  ProjectorFindings findings;
  RunWatch finite;
  for (const ProjectorScan& scan : projector_scans()) {
    const ScanRuns runs{scan, projector.on(scan)};
    const double positive = adjoint_error(runs, 0, devices, finite), sign = adjoint_error(runs, -1, devices, finite);
    const double error = positive >= sign ? positive : sign;
    findings.push_back({"adjoint", scan.name,
                        verdict_of(positive < largest_adjoint_error && sign < largest_adjoint_error),
                        std::isnan(positive + sign) ? "A x is zero, or not finite" : fmt::format("{:.2g}", error)});
  }
  findings.push_back(finite.finding("finite values", "all"));
  return findings;
}

ProjectorFindings check_splits(const CheckedProjector& projector, const std::vector<Device>& devices) {
  RunWatch forward, adjoint;
  for (const ProjectorScan& scan : projector_scans()) {
    const ScanRuns runs{scan, projector.on(scan)};
    watch_splits(runs, true, devices, forward);
    watch_splits(runs, false, devices, adjoint);
  }
  return {forward.finding("split forward", "the same bits"), adjoint.finding("split adjoint", "the same bits")};
}

ProjectorFindings check_parts(const CheckedProjector& projector, const Device& whole,
                              const std::vector<Device>& parts) {
  RunWatch watch;
  for (const ProjectorScan& scan : projector_scans()) {
    const ScanRuns runs{scan, projector.on(scan)};
    for (const bool forwards : {true, false})
      watch.expect_same_bits(runs.of(forwards, parts, split(2, 3, parts)), runs.of(forwards, {whole}),
                             fmt::format("{}, {} on {} parts", scan.name, what_of(forwards), parts.size()));
  }
  return {watch.finding("two sub-devices", "the same bits")};
}

ProjectorFindings check_memory(const CheckedProjector& projector, const Device& device) {
  RunWatch unwritten, outside, written;
  for (const ProjectorScan& scan : projector_scans()) {
    const ScanRuns runs{scan, projector.on(scan)};
    const int slabs = std::min(2, static_cast<int>(scan.volume.size[2]));
    for (const bool forwards : {true, false})
      for (const RunOptions& options : {RunOptions(), split(slabs, 3)}) {
        const std::string where = fmt::format("{}, {}", scan.name, what_of(forwards));
        const auto run = [&](unsigned char fill, unsigned char guard) {
          const MemoryCheck memory(fill, guard);
          MemoryRun result;
          try {
            result.values = runs.of(forwards, {device}, options);
          } catch (const TextError&) {
            throw;
          } catch (const InputError& error) {  // a weight that is not finite
            result.error = error.what();
          }
          ++written.runs;
          if (const auto found = memory.written_outside(); !found.empty() && written.first.empty())
            written.first = where + ": " + found.front();
          return result;
        };
        const MemoryRun zeros = run(0, 0);
        if (!zeros.error.empty()) throw InputError(zeros.error);
        for (const unsigned char byte : {not_a_number, a_number}) {
          expect_same(run(byte, 0), zeros.values, where + " on other memory", unwritten);
          expect_same(run(0, byte), zeros.values, where + " between other guard zones", outside);
        }
      }
  }
  return {unwritten.finding("unwritten memory", "not read"), outside.finding("reads outside", "none"),
          written.finding("guard zones", "unchanged")};
}

ProjectorFindings compare_projectors(const CheckedProjector& projector, Projector::Named named, double tolerance,
                                     const std::vector<Device>& devices) {
  ProjectorFindings findings;
  for (const ProjectorScan& scan : projector_scans()) {
    const Volume x = random_volume(scan.volume, 7);
    const auto [largest, rms] = difference_of(ScanRuns{scan, projector.on(scan)}.forward(x, devices),
                                              ScanRuns{scan, named}.forward(x, devices));
    findings.push_back({"like " + projector_name(named), scan.name, verdict_of(largest <= tolerance),
                        fmt::format("{:.2g} at most, {:.2g} in the mean (RMS)", largest, rms)});
  }
  return findings;
}

void run_tiny_scan(const CheckedProjector& projector, const std::vector<Device>& devices) {
  const ProjectorScan scan = tiny_projector_scan();
  const ScanRuns runs{scan, projector.on(scan)};
  for (const bool forwards : {true, false})
    for (const RunOptions& options : {RunOptions(), split(2, 1)}) runs.of(forwards, devices, options);
}

}  // namespace halocline
