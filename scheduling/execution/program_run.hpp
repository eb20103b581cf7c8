// The executor of programs (scheduling/planning/program.hpp): plans, and runs on any number of slabs, batches and
// devices.
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

/// Where an input of a program comes from.
struct ArraySource {
  /// float32 of a volume or of projections (u, v, view), read piece by piece; where slabs need an input again, it is
  /// read again.
  ArraySource(const VolumeSource* from);
  /// Projections in host memory, in the type that the program declares.
  explicit ArraySource(const std::byte* from) : values(from) {}
  const VolumeSource* source = nullptr;
  const std::byte* values = nullptr;  ///< or nullptr where they are not whole in host memory
};
using ProgramInputs = std::map<std::string, ArraySource>;

/// Carries out RunOptions::planned, or a plan that it makes. `inputs`: by the names of arrays of lifetime input, or of
/// Program::given, in the program's sizes. The result goes to `output`, whose grid has the size of the program's volume
/// (of ray sums: stack); RunResult::output stays empty. Inputs and the output may lie in host memory, in files or on
/// devices. The result is bitwise identical for any number of slabs, batches and devices. When a device's driver runs
/// out of memory, the work is planned again with smaller slabs; when one of several devices fails, with the others: it
/// goes on from the slices that are done (voxel sums) or from the last checkpoint, or begins again. Throws PlanError,
/// ClError, BuildError, Interrupted; InputError where a checkpoint is of another job.
RunResult run_program(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                      const std::vector<Device>& devices, const RunOptions& options = {});

/// The same of volumes in host memory, to RunResult::output on `grid`.
RunResult run_program(const Program& program, const std::map<std::string, const Volume*>& inputs, const Grid& grid,
                      const std::vector<Device>& devices, const RunOptions& options = {});

/// The program with ArrayNeed::on_device as its inputs and output lie on these devices, which plans go by.
Program placed_program(Program program, const ProgramInputs& inputs, const VolumeSink& output,
                       const std::vector<Device>& devices);

}  // namespace halocline
