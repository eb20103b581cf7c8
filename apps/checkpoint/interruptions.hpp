// What commands that iterate do about interruptions: the file of --checkpoint from its check before the run to its
// removal after it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "apps/checkpoint/checkpoint.hpp"
#include "apps/job/job.hpp"

namespace halocline {

/// Claims the file of --checkpoint and checks it for states of so many bytes; tells their size after --dry-run.
/// nullptr where `path` is empty.
std::unique_ptr<Checkpoint> make_checkpoint(Job& job, const std::string& path, std::size_t state_bytes, bool resume);

/// --resume: whether there is a state to go on from; says after how many iterations, or that there is none.
bool go_on_from(Job& job, Checkpoint& checkpoint);

/// Once the result has been written: says how to go on with a run that ended early, or removes the file. checkpoint:
/// nullptr is none.
void finish_checkpoint(Job& job, Checkpoint* checkpoint, bool ended_early);

/// Throws Interrupted if an interrupt ended the run before its first iteration.
void require_an_iteration(const RunResult& run);

}  // namespace halocline
