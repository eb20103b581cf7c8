// The planner: from requirements and devices to slabs, halos, batches. Pure C++, tested without devices.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "scheduling/requirements.hpp"

namespace halocline {

/// What the planner knows of a device. Bytes; speed is relative (measured, or 1); bandwidths in bytes/s.
struct DeviceBudget {
  std::string name;
  std::size_t memory = 0;
  std::size_t max_allocation = 0;
  double speed = 1;
  double bus_bandwidth = 12e9;      // each way
  double memory_bandwidth = 200e9;  // of the device's own memory
  std::string platform;             // the driver's name
  bool cpu = false;
  bool texel_pairs = false;
};

struct PlanOptions {
  int minimum_slabs = 0;            // at least so many slabs in all (for tests); 0: as few as fit
  int iterations_per_exchange = 0;  // 0: the planner chooses
  int batch = 0;                    // views at a time; 0: the planner chooses
};

/// One slab: the slices it computes, those it holds (halos included, cut at the volume's faces), the detector rows it
/// needs.
struct SlabPlan {
  int device = 0;
  Range interior, extended, rows;
  std::size_t bytes = 0;  // of all its arrays
};

struct Plan {
  Requirements requirements;
  std::vector<DeviceBudget> devices;
  std::vector<SlabPlan> slabs;  // in order of slices; those of a device follow each other
  int iterations_per_exchange = 1;
  int batch = 0;         // views
  bool resident = true;  // each device has one slab, which stays there from pass to pass
  double passes = 1;     // over the volume: exchanges of an iterative method
  double bus_bytes = 0;  // predicted, both ways, all passes

  /// The table that --dry-run prints: devices, slabs, halo, iterations per exchange, bytes per array, passes over the
  /// bus.
  std::string text() const;
  nlohmann::json json() const;
};

/// Every slice belongs to exactly one slab, no slab is empty, no device's budget or largest allocation is passed;
/// devices that would get no slice are left out. Throws PlanError with a table of needed and available bytes and the
/// option that helps when not even one slice with its halos (and one view) fits, or when there are no devices.
Plan make_plan(const Requirements& requirements, std::span<const DeviceBudget> devices,
               const PlanOptions& options = {});

}  // namespace halocline
