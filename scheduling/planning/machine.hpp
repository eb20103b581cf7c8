// Description of a machine in a file, for plans without devices.
#pragma once

#include <string>
#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

struct Machine {
  std::string name, source;          // source of its numbers
  std::size_t host_memory = 0;       // bytes
  double host_bandwidth = 0;         // PlanOptions::host_bandwidth
  std::vector<DeviceModel> devices;  // of a node
  int nodes = 1;                     // alike
  double link_bandwidth = 0;         // PlanOptions::link_bandwidth, of a node

  /// The devices of so many nodes, each of which is a rank.
  std::vector<DeviceModel> devices_of(int count) const;
};

/// Parses a description. JSON:
/// {"name", "source" (optional), "host": {"memory_gib", "bus_gb_per_s" (optional, of all devices together)},
///  "nodes": {"count", "link_gb_per_s" (of a node, one way)} (optional: one),
///  "devices": [{"name", "count" (1), "type" ("gpu", "cpu"), "platform" (""), "memory_gib", "max_allocation_gib" (all),
///   "copy_gb_per_s", "upload_gb_per_s", "download_gb_per_s" (as upload), "latency_us" (50), "texel_pairs" (false),
///   "shares_memory" (with the host; false, but for CPUs),
///   "rates": {name of a kernel: units of work a second} (none)}]}
/// Memory, bus and devices are those of a node. A tenth of a GPU's memory is left to its driver, as for open devices.
/// Throws InputError that names `file`, the fault and what was expected.
Machine parse_machine(const std::string& text, const std::string& file);
Machine read_machine(const std::string& path);

}  // namespace halocline
