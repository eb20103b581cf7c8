// Executors: a function for each ProgramForm, called by run_program(). Each carries out a plan, and plans again where
// memory runs out or a device fails.
#pragma once

#include "scheduling/execution/program_run.hpp"
#include "scheduling/execution/replanning.hpp"

namespace halocline {

/// A program with its inputs, output and options. The executors keep references.
struct RunRequest {
  const Program& program;
  const ProgramInputs& inputs;
  VolumeSink& output;
  const RunOptions& options;
};

/// Iterations of a stencil over resident or streamed slabs. RunOptions: all but output_store.
RunResult run_stencil(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan);
/// Slices are written to the output during the work; those that have arrived are not computed again when a device fails
/// or memory runs out: RunResult then reports the rest. RunOptions: plan, progress, output_store.
RunResult run_voxel_sums(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan);
/// Devices share the views; each computes its batches over all slabs in order of slices. RunOptions: plan, progress.
RunResult run_ray_sums(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan);
/// Steps task by task. RunOptions: plan, progress, time_limit, keep_partial, checkpoint_store, keep_every.
RunResult run_steps(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan);

/// Attempts that plan the whole program again with the same options. Bytes that sources and sinks on devices move over
/// the bus are added to those of `run`.
Attempts attempts_of(const RunRequest& request, const Plan& plan,
                     std::function<RunResult(const Plan&, const std::vector<Device>&)> run);

/// The source of an input that the program declares.
const ArraySource& input_of(const ProgramInputs& inputs, const Program& program, const std::string& name);

}  // namespace halocline
