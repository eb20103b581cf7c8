#include "scheduling/planning/streaming_cost.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/skew.hpp"

namespace halocline {
namespace {

constexpr double command_seconds = 1e-5;  // seconds to enqueue and begin a kernel or copy
constexpr double commands_of_a_step = 3;  // a kernel and two copies of seams

// Slices of a device in one pass.
struct Part {
  double regions = 0, inputs = 0, interior = 0, halo = 0;
  double first = 0, last = 0;  // slices of these regions
};

Part part_of(const Plan& plan, int device) {
  Part part;
  const bool copied = is_overlapped(plan.requirements);  // inputs below a region are copied from the one before
  Range block{-1, 0}, whole;
  for (const auto& slab : plan.slabs) {
    if (slab.device != device) continue;
    part.inputs += static_cast<double>(slab.extended.count());
    if (block.begin < 0) block = slab.interior, whole = slab.extended;
    block.end = slab.interior.end;
    part.last = static_cast<double>(slab.interior.count());
    if (part.regions == 0) part.first = part.last;
    whole = {std::min(whole.begin, slab.extended.begin), slab.extended.end};
    part.regions += 1;
  }
  if (part.regions == 0) return part;
  part.interior = static_cast<double>(block.count());
  part.halo = static_cast<double>(whole.count()) - part.interior;
  if (copied) part.inputs = part.interior + part.halo;
  return part;
}

struct Moved {
  double up = 0, down = 0;
};

// Bytes (or seconds) of one pass. The first computes the state, the last stores the output alone.
Moved moved(const SliceBytes& bytes, const Part& part, bool first, bool last) {
  const double elsewhere = bytes.held * part.halo;  // on the neighbours' devices
  return {bytes.input * part.inputs + elsewhere + (first ? 0 : bytes.state * (part.interior + part.halo)),
          (last ? bytes.output : bytes.state) * part.interior + elsewhere};
}

// Calls work() for each kind of pass, with their number.
template <class Work>
void for_each_pass(double passes, Work&& work) {
  if (passes <= 1) return work(1.0, true, true);
  work(1.0, true, false);
  if (passes > 2) work(passes - 2, false, false);
  work(1.0, false, true);
}

double kernel_seconds(const Plan& plan, const DeviceModel& device, const SliceBytes& bytes, const Part& part) {
  const auto& need = plan.requirements;
  const double halo = need.halo_low + need.halo_high, iterations = std::max(1, need.iterations) / plan.passes;
  const double voxels = static_cast<double>(need.size[0]) * static_cast<double>(need.size[1]);
  // Every launch computes about its halos besides its slices, and every seam is copied twice.
  const double computed = part.interior + part.halo / 2 + part.regions * halo, seams = part.regions * halo;
  const double reductions = (static_cast<double>(need.reductions.size()) + 1) / plan.passes;
  return iterations * (voxels * computed / unit_rate(need.cost, need, device) +
                       4 * bytes.state * seams / device.memory_bandwidth) +
         reductions * need.cost.reduction_bytes * voxels * part.interior / device.memory_bandwidth;
}

}  // namespace

double count_streaming_passes(const Requirements& requirements, int iterations_per_pass) {
  if (requirements.reductions_steer) return count_passes(requirements, iterations_per_pass);
  const double before = !requirements.reductions.empty() && requirements.reductions.front() == 0 ? 1 : 0;
  return before + std::ceil(std::max(1.0, 1.0 * requirements.iterations) / std::max(1, iterations_per_pass));
}

double streaming_bus_bytes(const Plan& plan) {
  const auto bytes = slice_bytes(plan.requirements);
  double result = 0;
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    const Part part = part_of(plan, static_cast<int>(device));
    for_each_pass(plan.passes, [&](double count, bool first, bool last) {
      const Moved move = moved(bytes, part, first, last);
      result += count * (move.up + move.down);
    });
  }
  return result;
}

double streaming_seconds(const Plan& plan) {
  const auto bytes = slice_bytes(plan.requirements);
  const bool overlapped = is_overlapped(plan.requirements);
  const double steps = std::max(1, plan.requirements.iterations) / plan.passes / plan.requirements.together;
  std::vector<Part> parts;
  for (std::size_t n = 0; n < plan.devices.size(); ++n) parts.push_back(part_of(plan, static_cast<int>(n)));
  std::vector<double> seconds(parts.size(), 0);
  for_each_pass(plan.passes, [&](double count, bool first, bool last) {
    std::vector<Moved> times;
    Moved longest, all;  // seconds, bytes
    for (std::size_t n = 0; n < parts.size(); ++n) {
      const auto& device = plan.devices[n];
      const Moved move = moved(bytes, parts[n], first, last);
      const double download = device.download_bandwidth > 0 ? device.download_bandwidth : device.bus_bandwidth;
      times.push_back({move.up / device.bus_bandwidth, move.down / download});
      all = {all.up + move.up, all.down + move.down};
      longest = {std::max(longest.up, times[n].up), std::max(longest.down, times[n].down)};
    }
    // the host's limit is for one direction
    const double slower_up = congestion(all.up, longest.up, plan.options.host_bandwidth),
                 slower_down = congestion(all.down, longest.down, plan.options.host_bandwidth);
    for (std::size_t n = 0; n < parts.size(); ++n) {
      if (parts[n].regions == 0) continue;
      const auto& device = plan.devices[n];
      const double kernels = kernel_seconds(plan, device, bytes, parts[n]) +
                             parts[n].regions * (device.latency + steps * commands_of_a_step * command_seconds);
      const double up = slower_up * times[n].up, down = slower_down * times[n].down;
      // both directions of the bus share the host's copying threads
      const double host = device.host_copies > 0 ? (all.up + all.down) / device.host_copies : 0;
      seconds[n] += count * (overlapped ? std::max({kernels, up, down, host}) +
                                              (up * parts[n].first + down * parts[n].last) / parts[n].interior
                                        : kernels + up + down);
    }
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace halocline
