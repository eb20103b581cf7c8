// Planner: slabs, halos and batches from requirements and devices. Pure C++, tested without devices.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/opencl/matrix_units.hpp"
#include "host/opencl/tuning.hpp"
#include "scheduling/planning/requirements.hpp"

namespace halocline {

/// A device as the planner sees it. Bytes; bytes/s. Measured for open devices (scheduling/profiling/rates.hpp),
/// described for others (machine.hpp).
struct DeviceModel {
  std::string name;
  int rank = 0;  // that drives it (scheduling/transport/ranks.hpp)
  std::size_t memory = 0;
  std::size_t max_allocation = 0;
  double speed = 0;                     // relative, of all devices or none; 0: from the rates below
  double bus_bandwidth = 12e9;          // to the device
  double download_bandwidth = 0;        // from it; 0: bus_bandwidth
  double host_copies = 0;               // bytes/s that the host copies to and from staging memory; 0: no limit
  double memory_bandwidth = 200e9;      // of a kernel that copies, bytes read and written
  double latency = 1e-4;                // seconds from the end of a kernel to the start of the next by the host
  std::map<std::string, double> rates;  // units of work a second, by KernelCost::name
  std::string platform;                 // the driver's name
  bool cpu = false;
  bool shares_memory = false;  // with the host: transfers compete with kernels
  bool part = false;           // of a split device: its parts all work, or none does
  bool texel_pairs = false;
  MatrixUnits matrix_units = MatrixUnits::none;
  std::size_t local_memory = 0;                  // bytes that a work-group can have
  std::size_t image_side = 0, image_layers = 0;  // pixels of the largest square image, layers of an array; 0: no images
  std::map<std::string, std::string> choices;    // results of tuning (host/opencl/tuning.hpp)
  std::map<ProblemClass, TunedValues> problems;  // ... for classes of problems
};

/// The devices with the choices for problems of this class in place of those for all problems.
std::vector<DeviceModel> models_for(std::span<const DeviceModel> devices, const std::array<std::size_t, 3>& volume,
                                    const std::array<std::size_t, 3>& stack);

struct PlanOptions {
  int minimum_slabs = 0;                 // smallest number of slabs (for tests); 0: as few as fit
  int iterations_per_exchange = 0;       // 0: the planner chooses
  int batch = 0;                         // views at a time; 0: the planner chooses
  double host_bandwidth = 0;             // bytes/s over all devices' buses together; 0: no limit
  bool may_end_early = false;            // the state must be kept even in a run of one pass
  bool may_stream = true;                // slabs that could be resident may be streamed where that is faster
  std::vector<std::string> notes;        // for Plan::notes
  std::map<std::string, double> speeds;  // DeviceModel::speed by name, for all devices; empty: not given
  std::set<std::string> on_devices;      // names of arrays that get ArrayNeed::on_device
  /// The devices of all ranks, by rank, which then have a part of the work each, in place of those that a plan is made
  /// for. Empty: this process works alone. The same on all ranks, and so are their plans.
  std::vector<DeviceModel> all_devices;
  int rank = 0;  ///< of this process
  /// Ranks may have no part of the work: there may be less of it than ranks.
  bool idle_ranks = false;
  double link_bandwidth = 0;  ///< bytes/s of a rank from the others together; 0: no limit
  /// Bytes of each device's memory, by its name, that other jobs hold.
  std::map<std::string, std::size_t> reserved;
};

/// One slab: its interior, the slices it holds (halos included, cut at the volume's faces), its detector rows.
struct SlabPlan {
  int device = 0;
  Range interior, extended, rows;
  std::size_t bytes = 0;  // of all its arrays
};

/// Slices (halos included) and detector rows of the largest slabs of a device, for which its arrays have room.
struct SlabExtent {
  std::int64_t slices = 0, rows = 0;
  void include(const SlabPlan& slab);
};

struct Plan {
  Requirements requirements;  // of the program, with the arrays that the planner adds
  PlanOptions options;        // by which it was made
  std::vector<DeviceModel> devices;
  std::vector<SlabPlan> slabs;  // in order of slices; those of a device follow each other
  int iterations_per_exchange = 1;
  int batch = 0;  // views
  /// Programs of steps: the detector rows of projections that each rank has, by rank, which overlap; empty: all rows.
  /// Ranks behind the last one, which have no device here, have none.
  std::vector<Range> rank_rows;
  bool resident = true;   // each device has one slab, which stays on it in all passes
  bool streamed = false;  // slabs are streamed although they would fit: in one pass, which hides transfers
  double passes = 1;      // exchanges of an iterative method
  // Predicted, of all passes:
  double bus_bytes = 0;            // both ways
  double rank_bytes = 0;           // sent by all ranks to others
  double seconds = 0;              // from inputs in host memory to the result there, kernels compiled
  double host_bytes = 0;           // besides inputs and result
  std::vector<std::string> notes;  // reasons for excluding devices

  SlabExtent extent_of(int device) const;
  const DeviceModel& device_of(const SlabPlan& slab) const { return devices[static_cast<std::size_t>(slab.device)]; }
  /// True for a plan of the devices of several ranks.
  bool several_ranks() const { return !devices.empty() && devices.back().rank > 0; }
  int rank_of(int device) const { return devices.empty() ? 0 : devices[static_cast<std::size_t>(device)].rank; }
  Range rows_of_rank(int rank) const;
  /// True for a device of this process.
  bool is_here(int device) const { return rank_of(device) == options.rank; }
  /// Number of a device among those of its rank.
  std::size_t number_on_rank(int device) const;
  /// Its name, with its rank where there are several.
  std::string device_name(int device) const;
  /// A table for people: devices, slabs, halo, iterations per exchange, bytes per array, passes over the bus.
  std::string text() const;
  nlohmann::json json() const;
};

/// Plan in which every slice belongs to one slab, no slab is empty, and no device's budget or largest allocation is
/// exceeded. Excludes devices without a slice, and those that would not gain 2 %: the slowest, and of equally fast ones
/// all but 1, 2, 4 ... (unless speeds are given; a split device's parts stay together). Throws PlanError with a table
/// of needed and available bytes and the option that helps where not even one slice with its halos (and one view) fits,
/// or where there are no devices. With PlanOptions::all_devices none is excluded, and ranks without a slice
/// (projections: view) are a PlanError that names the first.
Plan make_plan(const Requirements& requirements, std::span<const DeviceModel> devices, const PlanOptions& options = {});

/// Throws PlanError that names a rank which has nothing to do.
void require_work_for_ranks(const Plan& plan);

/// The plan with other borders of slabs, for devices at other `speeds` (slices a second, by device number; those
/// without a slab do not count). Nothing where that does not fit.
std::optional<Plan> rebalanced(const Plan& plan, std::span<const double> speeds);

}  // namespace halocline
