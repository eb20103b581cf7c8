// `halocline fdk --checkpoint`.
#pragma once

#include <memory>

#include "apps/checkpoint/output_checkpoint.hpp"
#include "apps/commands/fdk_work.hpp"

namespace halocline {

/// Claims and checks the file; nullptr without the option.
std::unique_ptr<OutputCheckpoint> make_checkpoint(Job& job, const FdkCommand& command, const FdkWork& work);
/// Before the run: what it is about, and where it goes on from.
void begin_checkpoint(Job& job, OutputCheckpoint& checkpoint, const FdkCommand& command, const FdkWork& work);
/// Whether the files of a frame that was finished before are still there.
bool is_there(const FdkFrame& frame, const Grid& grid);

}  // namespace halocline
