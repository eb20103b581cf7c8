// Executor of programs (scheduling/planning/program.hpp) on any number of slabs, batches and devices.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/volume/volume.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/execution/run.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Source of an input of a program.
struct ArraySource {
  /// float32 voxels or projections (u, v, view), read in pieces, perhaps more than once.
  ArraySource(const VolumeSource* from);
  /// Projections in host memory, in the type that the program declares.
  explicit ArraySource(const std::byte* from) : values(from) {}
  const VolumeSource* source = nullptr;
  const std::byte* values = nullptr;  ///< nullptr where they are not in host memory
};
using ProgramInputs = std::map<std::string, ArraySource>;

/// Carries out RunOptions::planned, or a plan of its own. `inputs`: by the names of arrays of lifetime input, or of
/// Program::given. The result goes to `output`, whose grid has the size of the program's volume (ray sums: stack);
/// RunResult::output is empty. Inputs and the output may reside in host memory, in files or on devices. Results are
/// bitwise identical for any number of slabs, batches and devices. When a driver runs out of memory, plans again with
/// smaller slabs; when one of several devices fails, with the others: from the slices that are done (voxel sums), from
/// the last checkpoint, or from the beginning. Throws PlanError, ClError, BuildError, Interrupted; InputError where a
/// checkpoint is of another job.
RunResult run_program(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                      const std::vector<Device>& devices, const RunOptions& options = {});

/// Runs a program on volumes in host memory; the result goes to RunResult::output on `grid`.
RunResult run_program(const Program& program, const std::map<std::string, const Volume*>& inputs, const Grid& grid,
                      const std::vector<Device>& devices, const RunOptions& options = {});

/// The program with ArrayNeed::on_device for inputs and output on these devices.
Program placed_program(Program program, const ProgramInputs& inputs, const VolumeSink& output,
                       const std::vector<Device>& devices);

}  // namespace halocline
