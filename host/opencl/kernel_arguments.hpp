// The arguments that a compiled kernel takes, for texts of users.
#pragma once

#include <string>
#include <vector>

#include "host/opencl/device.hpp"

namespace halocline {

class ClError;

struct DeclaredArgument {
  std::string name, type;    ///< as in "weight", "float" or "float*"
  bool global, is_constant;  ///< __global, const: of pointers
};

/// The declaration, as in "__global const float* weight".
std::string text_of(const DeclaredArgument& argument);
/// True for a pointer to float in global memory, not const if it is written.
bool takes_floats(const DeclaredArgument& argument, bool written);

struct DeclaredArguments {
  std::size_t count = 0;
  std::vector<DeclaredArgument> list;  ///< empty where the driver does not report it
};

/// Option of a KernelSpec without which many drivers report the number alone.
inline constexpr const char* with_argument_names = "-cl-kernel-arg-info";

/// Compiles the kernel, or loads it. Throws BuildError with log, options and source, ClError.
DeclaredArguments declared_arguments(Device& device, const KernelSpec& spec);

/// True if a kernel takes other arguments than it got.
bool is_wrong_argument(const ClError& error);

}  // namespace halocline
