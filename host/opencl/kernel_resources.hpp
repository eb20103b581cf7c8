// Memory, registers and work-groups of compiled kernels.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"

namespace halocline {

struct KernelResources {
  std::string kernel;
  std::size_t private_bytes, local_bytes;  ///< of a work-item; of a work-group, arguments not counted
  std::size_t group_multiple;              ///< the preferred multiple of work-items in a work-group
  std::size_t largest_group;               ///< work-items
  /// Registers of a work-item, and bytes that did not fit into them; none where the compiler does not say them.
  std::optional<std::size_t> registers, spilled_bytes;
};

/// All kernels of a file, sorted by name, compiled from source with these options ("-D NAME=1 ..."). Throws BuildError
/// with log, options and source, ClError.
std::vector<KernelResources> kernel_resources(const Device& device, const std::string& file,
                                              const std::string& options = {});

struct RegisterUse {
  std::size_t registers = 0, spilled_bytes = 0;  ///< stores and loads together
  bool operator==(const RegisterUse&) const = default;
};
/// Registers by kernel, as NVIDIA's compiler states them with -cl-nv-verbose; empty for another log.
std::map<std::string, RegisterUse> register_use(const std::string& log);

}  // namespace halocline
