#include "scheduling/planning/cost.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "scheduling/planning/rank_traffic.hpp"
#include "scheduling/planning/skew.hpp"
#include "scheduling/planning/step_tasks.hpp"
#include "scheduling/planning/streaming_cost.hpp"

namespace halocline {
namespace {

constexpr double alike_rates = 0.05;        // rates that differ by less are equal: so much they differ from run to run
constexpr double staging_bytes = 64 << 20;  // page-locked chunks of a device (host/opencl/staging.cpp)

// Bytes over the bus for one detector row of one view.
double row_bytes(const Requirements& requirements, Lifetime lifetime) {
  double result = 0;
  for (auto need : requirements.arrays) {
    if (need.kind != ArrayKind::projections || need.lifetime != lifetime || need.on_device) continue;
    need.rows = 0;  // however many there is room for
    result += static_cast<double>(array_bytes(need, requirements, 0, 1, 1));
  }
  return result;
}

double slice_voxels(const Requirements& requirements) {
  return static_cast<double>(requirements.size[0]) * static_cast<double>(requirements.size[1]);
}

double view_pixels(const Requirements& requirements) {
  return static_cast<double>(requirements.stack[0]) * static_cast<double>(requirements.stack[1]);
}

double views_of(const Requirements& requirements) {
  return static_cast<double>(requirements.stack[2]);
}

// Units of work on one slice.
double slice_units(const Requirements& requirements) {
  if (is_iterative(requirements)) return slice_voxels(requirements) * std::max(1, requirements.iterations);
  if (!shares_views(requirements)) return slice_voxels(requirements) * views_of(requirements);
  // A ray crosses as many planes as the volume has along the axis that it follows most.
  const auto planes = static_cast<double>(std::max(requirements.size[0], requirements.size[1]));
  return view_pixels(requirements) * views_of(requirements) * planes / requirements.slices().count();
}

double download_rate(const DeviceModel& device) {
  return device.download_bandwidth > 0 ? device.download_bandwidth : device.bus_bandwidth;
}

double count_batches(const Plan& plan, double share = 1) {
  return plan.batch > 0 ? std::ceil(views_of(plan.requirements) * share / plan.batch) : 0;
}

// Work of a slab, or of all slabs of a device, in all passes.
struct Work {
  double uploaded = 0, downloaded = 0;  // bytes
  double units = 0;                     // of the kernels: KernelCost
  double other = 0;                     // what they do besides, in bytes that a copy moves in that time
  double waits = 0;                     // times that the host waits for the device and starts it again
  double exchanged = 0;                 // bytes from other devices, moved while kernels run,
  double beside = 0;                    // which are this share of all
  double bytes() const { return uploaded + downloaded + 2 * exchanged; }
  void add(const Work& more) {
    uploaded += more.uploaded;
    downloaded += more.downloaded;
    units += more.units;
    other += more.other;
    waits += more.waits;
    exchanged += more.exchanged;
    beside += more.beside;
  }
};

// Slices that a slab receives from its neighbours between passes, for the next pass or its reduction.
double exchanged_slices(const Plan& plan, const SlabPlan& slab) {
  const auto& requirements = plan.requirements;
  const bool begins_with_sums = !requirements.reductions.empty() && requirements.reductions.front() == 0;
  const double exchanges = plan.passes - (begins_with_sums ? 2 : 1), extra = requirements.reduction_halo;
  const auto side = [&](std::int64_t held, int halo) {
    const auto most = static_cast<double>(held);
    return exchanges * std::min(most, std::max<double>(extra, plan.iterations_per_exchange * halo)) +
           std::min(most, extra);
  };
  return side(slab.interior.begin - slab.extended.begin, requirements.halo_low) +
         side(slab.extended.end - slab.interior.end, requirements.halo_high);
}

// Work of a resident slab. Halos that it sends are counted here. Where the last step of a pass is computed in parts,
// halos move while the larger part is computed.
Work resident_work(const Plan& plan, const SlabPlan& slab) {
  const auto bytes = slice_bytes(plan.requirements);
  Work work;
  work.uploaded = bytes.input * static_cast<double>(slab.extended.count());
  work.downloaded = bytes.output * static_cast<double>(slab.interior.count());
  // slices on the neighbours' devices move through the host
  const double elsewhere = bytes.held * static_cast<double>(slab.extended.count() - slab.interior.count());
  work.uploaded += elsewhere;
  work.downloaded += elsewhere;
  const double halos = bytes.state * exchanged_slices(plan, slab), together = plan.requirements.together;
  if (plan.requirements.takes_parts) {
    work.exchanged = halos;
    const auto interior = static_cast<double>(slab.interior.count());
    const double halo = static_cast<double>(slab.extended.count()) - interior;  // about what others wait for
    const double least = std::min<double>(plan.requirements.border_slices, interior / 4);
    const double border = halo > 0 ? std::max(halo, least) : 0;
    work.beside = std::min(1.0, together / plan.iterations_per_exchange) * std::max(0.0, 1 - border / interior);
    work.waits = plan.slabs.size() > 1 ? 2 * plan.passes : 1;  // halos, kernels
  } else {
    work.uploaded += halos;
    work.downloaded += halos;
    work.waits = plan.slabs.size() > 1 ? 3 * plan.passes : 1;  // halos down, halos up, kernels
  }
  return work;
}

// Slices computed by an iteration, on average: they shrink from the slab with its halos to the interior.
double computed_slices(const Plan& plan, double interior, double halo) {
  const double k = plan.iterations_per_exchange;
  return interior + halo * (k - 1) / (2 * k);
}

// Kernels for several iterations take as long for fewer, which are left at the end of an exchange.
double started_for_one(const Plan& plan) {
  const double k = plan.iterations_per_exchange, together = plan.requirements.together;
  return std::ceil(k / together) * together / k;
}

Work iterative_work(const Plan& plan, const SlabPlan& slab) {
  const auto interior = static_cast<double>(slab.interior.count()),
             halo = static_cast<double>(slab.extended.count()) - interior;
  Work work = resident_work(plan, slab);
  work.units = slice_units(plan.requirements) * computed_slices(plan, interior, halo) * started_for_one(plan);
  const double reductions = static_cast<double>(plan.requirements.reductions.size()) + 1;
  work.other = reductions * plan.requirements.cost.reduction_bytes * slice_voxels(plan.requirements) * interior;
  return work;
}

Work backprojection_work(const Plan& plan, const SlabPlan& slab) {
  const auto& requirements = plan.requirements;
  const auto bytes = slice_bytes(requirements);
  const auto extended = static_cast<double>(slab.extended.count());
  const double rows = static_cast<double>(slab.rows.count()) * views_of(requirements);
  Work work;
  work.uploaded = row_bytes(requirements, Lifetime::input) * rows + bytes.input * extended;
  work.downloaded = bytes.output * static_cast<double>(slab.interior.count());
  work.units = slice_units(requirements) * extended;
  work.other = rows * static_cast<double>(requirements.stack[0]) * requirements.cost.pixel_bytes;
  work.waits = count_batches(plan);
  return work;
}

// Work of one device with its share of the views: all slabs for each batch, or a single slab once.
Work projection_work(const Plan& plan, double share) {
  if (share <= 0) return {};
  const auto& requirements = plan.requirements;
  const auto bytes = slice_bytes(requirements);
  double extended = 0;
  for (const auto& slab : plan.slabs) extended += static_cast<double>(slab.extended.count());
  const double batches = count_batches(plan, share), slabs = static_cast<double>(plan.slabs.size());
  Work work;
  work.uploaded = bytes.input * extended * (slabs > 1 ? batches : 1);
  work.downloaded = row_bytes(requirements, Lifetime::output) * static_cast<double>(requirements.stack[1]) *
                    views_of(requirements) * share;
  work.units = count_units(requirements) * share;
  work.waits = batches * slabs;
  return work;
}

// Seconds of a device. Limits of the host make transfers `slower`, and all exchanges take at least `exchanging`
// seconds.
PhaseSeconds phases_of(const Work& work, const Requirements& requirements, const DeviceModel& device, double slower = 1,
                       double exchanging = 0) {
  PhaseSeconds phases;
  phases.upload = slower * work.uploaded / device.bus_bandwidth;
  phases.download = slower * work.downloaded / download_rate(device);
  phases.kernels =
      work.units / unit_rate(requirements.cost, requirements, device) + work.other / device.memory_bandwidth;
  // Transfers through host memory take up to twice as long as the bus alone (two and four H200).
  constexpr double through_host = 2;
  const double exchange = through_host * work.exchanged / std::min(device.bus_bandwidth, download_rate(device));
  phases.waits =
      work.waits * device.latency + std::max(0.0, std::max(exchanging, exchange) - work.beside * phases.kernels);
  return phases;
}

// Pieces of a device's work that overlap with each other's transfers: batches of views (see pipelined()). For streamed
// slabs see streaming_cost.hpp.
double pieces_in_flight(const Plan& plan) {
  return std::max(1.0, count_batches(plan));
}

// Seconds of a device's slabs one after the other. Views are sent while those of the batch before are added, slices
// while the next slab is computed, and those of the last slab in pieces during its last batch.
double batched(const PhaseSeconds& phases, double slabs, double batches) {
  constexpr double pieces = 8;
  const double last = phases.kernels / slabs / batches, leaving = phases.download / slabs;
  return phases.upload / slabs / batches + std::max({phases.kernels, phases.upload, phases.download}) +
         std::max(leaving / pieces, leaving - last * (1 - 1 / pieces)) + phases.waits;
}

// Work of each device, idle ones included.
std::vector<Work> work_by_device(const Plan& plan) {
  std::vector<Work> work(plan.devices.size());
  if (shares_views(plan.requirements)) {
    const auto shares = view_shares(plan);
    for (std::size_t d = 0; d < work.size(); ++d) work[d] = projection_work(plan, shares[d]);
    return work;
  }
  for (const auto& slab : plan.slabs)
    work[static_cast<std::size_t>(slab.device)].add(is_iterative(plan.requirements) ? iterative_work(plan, slab)
                                                                                    : backprojection_work(plan, slab));
  return work;
}

double seconds_of_work(const Plan& plan, const std::vector<Work>& work) {
  double longest = 0, bytes = 0, exchanged = 0, result = 0;
  for (std::size_t d = 0; d < work.size(); ++d) {
    const auto phases = phases_of(work[d], plan.requirements, plan.devices[d]);
    longest = std::max(longest, phases.upload + phases.download);
    bytes += work[d].uploaded + work[d].downloaded;
    exchanged += 2 * work[d].exchanged;  // at other times
  }
  const double slower = congestion(bytes, longest, plan.options.host_bandwidth),
               exchanging = plan.options.host_bandwidth > 0 ? exchanged / plan.options.host_bandwidth : 0;
  for (std::size_t d = 0; d < work.size(); ++d) {
    const auto phases = phases_of(work[d], plan.requirements, plan.devices[d], slower, exchanging);
    const auto slabs =
        static_cast<double>(std::count_if(plan.slabs.begin(), plan.slabs.end(),
                                          [&](const SlabPlan& slab) { return slab.device == static_cast<int>(d); }));
    const bool adds_views = plan.batch > 0 && !shares_views(plan.requirements);
    result = std::max(result, adds_views && slabs > 0 ? batched(phases, slabs, count_batches(plan))
                                                      : pipelined(phases, pieces_in_flight(plan)));
  }
  return result;
}

// Device numbers, the fastest first.
std::vector<std::size_t> by_speed(const std::vector<double>& speeds) {
  std::vector<std::size_t> order(speeds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return speeds[a] > speeds[b]; });
  return order;
}

// Host memory for halos: three chunks between any two neighbours (scheduling/transport/halo_exchange.cpp).
double exchange_bytes(const Plan& plan) {
  double slice = 0, result = 0;
  for (const auto& need : plan.requirements.arrays)
    if (is_state(need)) slice = std::max(slice, static_cast<double>(array_bytes(need, plan.requirements, 1, 0, 0)));
  for (const auto& slab : plan.slabs) {
    const bool cpu = plan.device_of(slab).cpu;
    for (const auto held : {slab.interior.begin - slab.extended.begin, slab.extended.end - slab.interior.end})
      if (held > 0)
        result += 3 * (cpu ? std::min(staging_bytes / 4, slice * static_cast<double>(held)) : staging_bytes / 4);
  }
  return result;
}

// Bytes that a device which shares host memory touches of its staging chunks. Volumes of iterative methods are
// converted in them; all other data are sent directly.
double touched_staging(const Plan& plan, const SlabPlan& slab) {
  constexpr int chunks = 4;
  constexpr double chunk = staging_bytes / chunks;
  if (!is_iterative(plan.requirements)) return 0;
  std::vector<double> largest;
  for (const auto& need : plan.requirements.arrays) {
    if (need.on_device || (need.lifetime != Lifetime::input && need.lifetime != Lifetime::output)) continue;
    const bool copied = !plan.resident && is_overlapped(plan.requirements);  // halos from the slab before
    const auto& sent = copied ? slab.interior : slab.extended;
    const auto bytes = static_cast<double>(array_bytes(need, plan.requirements, sent.count(), 0, 0));
    const double filled = plan.resident ? std::min<double>(chunks, std::ceil(bytes / chunk)) : chunks;
    largest.insert(largest.end(), static_cast<std::size_t>(filled), std::min(chunk, bytes));
  }
  std::sort(largest.begin(), largest.end(), std::greater<>());
  largest.resize(std::min<std::size_t>(largest.size(), chunks));
  return std::accumulate(largest.begin(), largest.end(), 0.0);
}

}  // namespace

SliceBytes slice_bytes(const Requirements& requirements) {
  SliceBytes result;
  for (const auto& need : requirements.arrays) {
    if ((need.kind != ArrayKind::volume && need.kind != ArrayKind::slice) || need.role == ArrayRole::second_buffer)
      continue;
    const auto bytes = static_cast<double>(array_bytes(need, requirements, 1, 0, 0));
    result.all += bytes;
    if (need.lifetime == Lifetime::input) (need.on_device ? result.held : result.input) += bytes;
    if (need.lifetime == Lifetime::output && !need.on_device) result.output += bytes;
    if (!is_state(need)) continue;
    result.state += bytes;
    ++result.states;
  }
  return result;
}

bool shares_views(const Requirements& requirements) {
  return requirements.form == ProgramForm::ray_sums;
}

double count_passes(const Requirements& requirements, int iterations_per_exchange) {
  // Every exchange and every reduction ends a pass.
  const double k = std::max(1, iterations_per_exchange);
  double passes = 0;
  int before = 0;
  const auto until = [&](int due) {
    passes += std::ceil((due - before) / k);
    before = due;
  };
  for (const int due : requirements.reductions)
    if (due == 0)
      passes += 1;
    else
      until(due);
  until(std::max(1, requirements.iterations));
  return passes;
}

double count_units(const Requirements& requirements) {
  return slice_units(requirements) * requirements.slices().count();
}

double unit_rate(const KernelCost& cost, const Requirements& requirements, const DeviceModel& device) {
  if (const auto found = device.rates.find(cost.name); found != device.rates.end() && found->second > 0)
    return found->second;
  if (cost.bytes > 0) return device.memory_bandwidth / cost.bytes;
  return device.memory_bandwidth * slice_voxels(requirements) / (2 * std::max(1.0, slice_bytes(requirements).all));
}

std::vector<double> throughputs(const Requirements& requirements, std::span<const DeviceModel> devices) {
  const auto bytes = slice_bytes(requirements);
  const bool views = shares_views(requirements);
  const double parts = views ? views_of(requirements) : requirements.slices().count();
  Work part;
  part.units = count_units(requirements) / parts;
  const double rows = static_cast<double>(requirements.stack[1]) * views_of(requirements) / parts;
  part.uploaded = row_bytes(requirements, Lifetime::input) * rows + (views ? 0 : bytes.input);
  part.downloaded = row_bytes(requirements, Lifetime::output) * rows + (views ? 0 : bytes.output);
  part.other = views ? 0 : rows * static_cast<double>(requirements.stack[0]) * requirements.cost.pixel_bytes;
  std::vector<double> result;
  for (const auto& device : devices)
    result.push_back(device.speed > 0 ? device.speed : 1 / pipelined(phases_of(part, requirements, device), 1));
  const auto order = by_speed(result);
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    double sum = 0;
    const double fastest = result[order[begin]];
    while (end < order.size() && result[order[end]] >= (1 - alike_rates) * fastest && devices[order[end]].speed <= 0)
      sum += result[order[end++]];
    for (std::size_t n = begin; n < end; ++n) result[order[n]] = sum / static_cast<double>(end - begin);
    begin = std::max(end, begin + 1);
  }
  return result;
}

std::vector<std::vector<int>> possible_teams(std::span<const DeviceModel> devices) {
  std::vector<int> order(devices.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::size_t n) -> const DeviceModel& { return devices[static_cast<std::size_t>(order[n])]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto &first = devices[static_cast<std::size_t>(a)], &second = devices[static_cast<std::size_t>(b)];
    return first.speed != second.speed ? first.speed > second.speed : first.memory > second.memory;
  });
  std::vector<std::vector<int>> result;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    bool parts = false;
    for (; end < order.size() && at(end).speed == at(begin).speed; ++end) parts = parts || at(end).part;
    for (std::size_t count = parts ? end - begin : 1;; count *= 2) {
      const auto last = static_cast<std::ptrdiff_t>(std::min(begin + count, end));
      result.emplace_back(order.begin(), order.begin() + last);
      std::sort(result.back().begin(), result.back().end());
      if (begin + count >= end) break;
    }
  }
  return result;
}

std::vector<double> view_shares(const Plan& plan) {
  const auto speeds = throughputs(plan.requirements, plan.devices);
  std::vector<double> best;
  double best_seconds = 0;
  auto teams = possible_teams(plan.devices);
  if (plan.several_ranks()) teams.erase(teams.begin(), teams.end() - 1);  // all
  for (const auto& team : teams) {
    double total = 0;
    for (const int n : team) total += speeds[static_cast<std::size_t>(n)];
    std::vector<double> shares(speeds.size(), 0);
    std::vector<Work> work(speeds.size());
    for (const int each : team) {
      const auto n = static_cast<std::size_t>(each);
      shares[n] = speeds[n] / total;
      work[n] = projection_work(plan, shares[n]);
    }
    const double seconds = seconds_of_work(plan, work);
    if (!best.empty() && seconds > (1 - worth_another) * best_seconds) continue;
    best = shares;
    best_seconds = seconds;
  }
  return best;
}

std::vector<int> used_devices(const Plan& plan) {
  std::vector<bool> used(plan.devices.size(), false);
  if (shares_views(plan.requirements)) {
    const auto shares = view_shares(plan);
    for (std::size_t d = 0; d < shares.size(); ++d) used[d] = shares[d] > 0;
  } else {
    for (const auto& slab : plan.slabs) used[static_cast<std::size_t>(slab.device)] = true;
  }
  std::vector<int> result;
  for (std::size_t d = 0; d < used.size(); ++d)
    if (used[d]) result.push_back(static_cast<int>(d));
  return result;
}

double count_bus_bytes(const Plan& plan) {
  if (!plan.resident && is_iterative(plan.requirements)) return streaming_bus_bytes(plan);
  double result = 0;
  for (const auto& work : work_by_device(plan)) result += work.bytes();
  return result;
}

// State between passes. The result's memory holds the output.
double host_state_bytes(const Plan& plan) {
  if (plan.requirements.form == ProgramForm::steps) return bytes_on_host(plan);
  if (!is_iterative(plan.requirements) || plan.resident || (plan.passes <= 1 && !plan.options.may_end_early)) return 0;
  const auto bytes = slice_bytes(plan.requirements);
  return (bytes.state - bytes.output) * plan.requirements.slices().count();
}

bool result_leaves_at_once(const Plan& plan) {
  return plan.resident || (plan.passes <= 1 && !plan.options.may_end_early &&
                           std::none_of(plan.devices.begin(), plan.devices.end(),
                                        [](const DeviceModel& device) { return device.shares_memory; }));
}

double count_host_bytes(const Plan& plan) {
  double result = host_state_bytes(plan);
  const bool iterative = is_iterative(plan.requirements);
  if (iterative && plan.slabs.size() > 1 && plan.resident) result += exchange_bytes(plan);
  std::map<int, double> of_ranks;  // each has memory of its own
  for (std::size_t d = 0; d < plan.devices.size(); ++d) {
    std::size_t held = 0;
    double touched = 0;
    for (const auto& slab : plan.slabs)
      if (slab.device == static_cast<int>(d) || shares_views(plan.requirements)) {
        held = std::max(held, slab.bytes);
        touched = std::max(touched, touched_staging(plan, slab));
      }
    if (held == 0) continue;
    // streamed slabs leave through chunks of their own
    const double chunks = iterative && !plan.resident ? 2 * staging_bytes : staging_bytes;
    of_ranks[plan.devices[d].rank] += plan.devices[d].cpu ? static_cast<double>(held) + touched : chunks;
  }
  double largest = 0;
  for (const auto& [rank, bytes] : of_ranks) largest = std::max(largest, bytes);
  return result + largest;
}

double move_seconds(const Plan& from, const Plan& to) {
  const auto bytes = slice_bytes(from.requirements);
  double down = 0, up = 0;
  for (const auto& slab : from.slabs)
    down =
        std::max(down, bytes.state * static_cast<double>(slab.interior.count()) / download_rate(from.device_of(slab)));
  for (const auto& slab : to.slabs)
    up = std::max(up, (bytes.input + bytes.state) * static_cast<double>(slab.extended.count()) /
                          to.device_of(slab).bus_bandwidth);
  return down + up;
}

double estimate_seconds(const Plan& plan) {
  if (!plan.resident && is_iterative(plan.requirements)) return streaming_seconds(plan) + link_seconds(plan);
  return seconds_of_work(plan, work_by_device(plan)) + link_seconds(plan);
}

double congestion(double bytes, double longest, double host_bandwidth) {
  return host_bandwidth > 0 && longest > 0 ? std::max(1.0, bytes / host_bandwidth / longest) : 1;
}

double pipelined(const PhaseSeconds& phases, double pieces) {
  const double sum = phases.upload + phases.kernels + phases.download;
  const double longest = std::max({phases.upload, phases.kernels, phases.download});
  return longest + (sum - longest) / pieces + phases.waits;
}

}  // namespace halocline
