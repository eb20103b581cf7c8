// The planner: from requirements and devices to slabs, halos, batches. Pure C++, tested without devices.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/requirements.hpp"

namespace halocline {

/// What the planner knows of a device. Bytes; bandwidths in bytes/s. Measured of open devices
/// (scheduling/profiling/rates.hpp), described for others (scheduling/planning/machine.hpp).
struct DeviceModel {
  std::string name;
  std::size_t memory = 0;
  std::size_t max_allocation = 0;
  double speed = 0;                     // relative, of all devices or of none; 0: by the rates below
  double bus_bandwidth = 12e9;          // to the device
  double download_bandwidth = 0;        // from it; 0: as bus_bandwidth
  double host_copies = 0;               // bytes/s that the host moves to and from memory for the bus; 0: no limit
  double memory_bandwidth = 200e9;      // of a kernel that copies in the device's own memory, read and written
  double latency = 1e-4;                // seconds until the host knows that a kernel has ended and can start the next
  std::map<std::string, double> rates;  // units of work a second, by KernelCost::name
  std::string platform;                 // the driver's name
  bool cpu = false;
  bool shares_memory = false;  // with the host: transfers take what kernels would
  bool part = false;           // of a device that was split: its parts work all, or none does
  bool texel_pairs = false;
  std::size_t image_side = 0, image_layers = 0;  // pixels of the largest square image, layers of an array; 0: no images
  std::map<std::string, std::string> choices;    // what tuning found: Tuning::choices of host/opencl/tuned_values.hpp
};

struct PlanOptions {
  int minimum_slabs = 0;            // at least so many slabs in all (for tests); 0: as few as fit
  int iterations_per_exchange = 0;  // 0: the planner chooses
  int batch = 0;                    // views at a time; 0: the planner chooses
  double host_bandwidth = 0;        // bytes/s over the bus of all devices together; 0: no limit
  bool may_end_early = false;       // a run of one pass, too, may have to keep its state
  bool may_stream = true;           // slabs that could be resident may be streamed where that hides their transfers
  std::vector<std::string> notes;   // for Plan::notes
  std::map<std::string, double> speeds;  // DeviceModel::speed by name, of all devices, instead of theirs; empty: none
  std::set<std::string> on_devices;      // names of arrays that get ArrayNeed::on_device
  /// Bytes of a device's memory, by its name, that others will hold while the job runs.
  std::map<std::string, std::size_t> reserved;
};

/// One slab: the slices it computes, those it holds (halos included, cut at the volume's faces), the detector rows it
/// needs.
struct SlabPlan {
  int device = 0;
  Range interior, extended, rows;
  std::size_t bytes = 0;  // of all its arrays
};

struct Plan {
  Requirements requirements;  // of the program, and the arrays that the planner adds
  PlanOptions options;        // by which it was made, and by which what is left is planned again
  std::vector<DeviceModel> devices;
  std::vector<SlabPlan> slabs;  // in order of slices; those of a device follow each other
  int iterations_per_exchange = 1;
  int batch = 0;          // views
  bool resident = true;   // each device has one slab, which resides there from pass to pass
  bool streamed = false;  // slabs are streamed although they could stay: in one pass, which hides their transfers
  double passes = 1;      // over the volume: exchanges of an iterative method
  // Predicted, of all passes:
  double bus_bytes = 0;            // both ways
  double seconds = 0;              // from inputs in host memory to the result there, kernels compiled
  double host_bytes = 0;           // of host memory, besides inputs and result
  std::vector<std::string> notes;  // why a device was excluded

  const DeviceModel& device_of(const SlabPlan& slab) const { return devices[static_cast<std::size_t>(slab.device)]; }
  /// A table for people: devices, slabs, halo, iterations per exchange, bytes per array, passes over the
  /// bus.
  std::string text() const;
  nlohmann::json json() const;
};

/// Every slice belongs to exactly one slab, no slab is empty, no device's budget or largest allocation is passed;
/// devices that would get no slice are excluded, and so are those that would not gain 2 %: the slowest, and of equally
/// fast ones all but 1, 2, 4 ... (unless speeds are given; and not some parts of a device that was split). Throws
/// PlanError with a table of needed and available bytes and the option that helps when not even one slice with its
/// halos (and one view) fits, or when there are no devices.
Plan make_plan(const Requirements& requirements, std::span<const DeviceModel> devices, const PlanOptions& options = {});

/// The same slabs with other borders: the plan's devices at other `speeds` (slices a second, by their numbers; those
/// without a slab do not count). Nothing where that does not fit.
std::optional<Plan> rebalanced(const Plan& plan, std::span<const double> speeds);

}  // namespace halocline
