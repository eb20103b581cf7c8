// Checks of a projector that a user wrote, on small scans: exact adjoint, finite values, the same bits however the work
// is split, memory, and another projector's values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "algorithms/checks/projector_scans.hpp"
#include "algorithms/projectors/projector.hpp"
#include "host/opencl/device.hpp"

namespace halocline {

struct ProjectorFinding {
  enum class Verdict { pass, fail, skipped };
  std::string check;  ///< as "adjoint"
  std::string scan;   ///< on which; empty: on all
  Verdict verdict = Verdict::pass;
  std::string text;  ///< the figure, or what was found
};
using ProjectorFindings = std::vector<ProjectorFinding>;

/// A table whose numbers are all the same. size: "volume", "views", "columns", "rows", "pixels" of each scan, or a
/// number.
struct CheckedTable {
  float value = 0;
  std::string size = "volume";
};

/// The file of a projector, and its tables by their names.
struct CheckedProjector {
  std::string file;
  std::map<std::string, CheckedTable> tables;
  /// Throws InputError as UserProjector::from_file(), and for a size that there is not.
  UserProjector on(const ProjectorScan& scan) const;
};

inline constexpr double largest_adjoint_error = 1e-5;

// Functions below throw as project() does.

/// |<A x, y> - <x, A^T y>| / (|A x| |y|) of each scan, in double precision, for positive and for signed numbers;
/// whether all values are finite.
ProjectorFindings check_adjoint(const CheckedProjector& projector, const std::vector<Device>& devices);
/// Compares slabs and batches on the first device with one slab there, and all devices together, if there are several.
ProjectorFindings check_splits(const CheckedProjector& projector, const std::vector<Device>& devices);
/// Compares `parts` of the device together with the whole.
ProjectorFindings check_parts(const CheckedProjector& projector, const Device& whole, const std::vector<Device>& parts);
/// Runs on memory of two contents, between guard zones of two contents (MemoryCheck).
ProjectorFindings check_memory(const CheckedProjector& projector, const Device& device);
/// The largest and the root mean square difference of A x from the library's projector, relative to its largest value.
ProjectorFindings compare_projectors(const CheckedProjector& projector, Projector::Named named, double tolerance,
                                     const std::vector<Device>& devices);
/// A x and A^T y of the tiny scan, in slabs and batches: for tools that watch kernels.
void run_tiny_scan(const CheckedProjector& projector, const std::vector<Device>& devices);

}  // namespace halocline
