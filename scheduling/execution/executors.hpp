// One function for each form of a program (Form), which run_program() calls: it carries out a plan, and plans again
// where memory runs out or a device fails.
#pragma once

#include "scheduling/execution/program_run.hpp"

namespace halocline {

/// Iterations of a stencil over resident or streamed slabs. RunOptions: all but output_store.
RunResult run_stencil(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                      const std::vector<Device>& devices, const Plan& plan, const RunOptions& options);
/// Slices arrive at the output while the work goes on; those that have are not computed again when a device fails or
/// memory runs out: RunResult then reports the rest. RunOptions: plan, progress, output_store.
RunResult run_voxel_sums(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                         const std::vector<Device>& devices, const Plan& plan, const RunOptions& options);
/// Devices share the views; each takes its batches over all slabs in order of slices. RunOptions: plan, progress.
RunResult run_ray_sums(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                       const std::vector<Device>& devices, const Plan& plan, const RunOptions& options);
/// RunOptions: plan, progress, time_limit, keep_partial, checkpoint_store, keep_every.
RunResult run_steps(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                    const std::vector<Device>& devices, const Plan& plan, const RunOptions& options);

/// The source of an input that the program declares.
const ArraySource& input_of(const ProgramInputs& inputs, const Program& program, const std::string& name);

/// Bytes that sources and sinks which lie on devices have moved over the bus so far.
double bus_bytes_of(const ProgramInputs& inputs, const VolumeSink& output);

}  // namespace halocline
