// The executor of programs: carries out their steps over slabs, batches and devices.
#pragma once

#include <map>
#include <string>

#include "host/device.hpp"
#include "host/volume_source.hpp"
#include "scheduling/execution/run.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// What a run of a program leaves beside the volume.
struct ProgramResult {
  RunResult run;
  Scalars scalars;  ///< as they are after the last iteration
};

/// Plans and runs. `inputs`: by the names of arrays of lifetime input; volumes and projections of the program's sizes.
/// The output goes to `output`. The result is bitwise identical for any number of slabs, batches and devices. Where the
/// options have a checkpoint, a run goes on from it; where a device fails or memory runs out it is planned again, and
/// goes on from the last checkpoint or begins anew. RunOptions: plan, progress, time_limit, keep_partial,
/// checkpoint_store, keep_every. Throws PlanError, ClError, BuildError, Interrupted.
ProgramResult run_program(const Program& program, const std::map<std::string, const VolumeSource*>& inputs,
                          VolumeSink& output, const std::vector<Device>& devices, const RunOptions& options = {});

}  // namespace halocline
