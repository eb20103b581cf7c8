// `halocline fdk --checkpoint`.
#pragma once

#include <memory>

#include "apps/checkpoint/output_checkpoint.hpp"
#include "apps/commands/fdk_work.hpp"

namespace halocline {

/// Claims and checks the file; nullptr without the option.
std::unique_ptr<OutputCheckpoint> make_checkpoint(Job& job, const FdkCommand& command, const FdkWork& work);
/// Sets the job of the checkpoint before the run, and takes the state to go on from.
void begin_checkpoint(Job& job, OutputCheckpoint& checkpoint, const FdkCommand& command, const FdkWork& work);
/// True if the files of a frame that was finished before still exist.
bool is_there(const FdkFrame& frame, const Grid& grid);

}  // namespace halocline
