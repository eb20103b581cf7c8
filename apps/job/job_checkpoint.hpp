// The file of --checkpoint in a job, from its check before the run to its removal after it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/checkpoint/checkpoint.hpp"
#include "apps/job/job.hpp"

namespace halocline {

/// The options that a result depends on, by name, and the version of this program: all but those of devices and
/// reports, and `others`.
nlohmann::json options_of_bits(const Job& job, std::initializer_list<const char*> others);

/// Logs that there is no file for --resume, so the run starts from the beginning.
void note_missing_checkpoint(const std::string& path);

/// Claims the file of --checkpoint and checks it for states of so many bytes; prints their size after --dry-run.
/// nullptr where `path` is empty.
std::unique_ptr<Checkpoint> make_checkpoint(Job& job, const std::string& path, std::size_t state_bytes, bool resume);

/// True if there is a state for --resume; logs after how many iterations, or that there is none.
bool go_on_from(Job& job, Checkpoint& checkpoint);

/// Says how to go on with a run that ended early, or removes the file; called once the result has been written.
/// checkpoint: nullptr is none.
void finish_checkpoint(Job& job, Checkpoint* checkpoint, bool ended_early);

/// Throws Interrupted if an interrupt ended the run before its first iteration.
void require_an_iteration(const RunResult& run);

}  // namespace halocline
