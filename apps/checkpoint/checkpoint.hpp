// The state of an iterative run in a file, from which a later run goes on to a bitwise identical result.
//
// Layout: 32 bytes (see apps/checkpoint/checkpoint_file.hpp: place and length of what follows last), the arrays of the
// state, and a JSON text that names their job, how its strength was chosen, what the method was given as
// reductions (bits of doubles), where the arrays lie, and the CRC-32 of every 4 MiB of them. It is written under the
// name FILE.tmp, forced to the disk and renamed: whenever the process is killed, FILE is the last state or the one
// before.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "algorithms/denoise/parameter_choice.hpp"
#include "scheduling/execution/checkpoint_store.hpp"

namespace halocline {

/// Host memory that a state passes through on its way to the file.
constexpr std::size_t checkpoint_buffer = std::size_t{32} << 20;

class Checkpoint : public CheckpointStore {
 public:
  explicit Checkpoint(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  /// Throws InputError that names `checkpoint` if the file is there and `resume` is not given, or if the disk has no
  /// room for two states of so many bytes: one while it replaces the other.
  void check(std::size_t state_bytes, bool resume) const;
  /// Sets all that the result depends on, by name; to be called before anything is kept or read.
  void set_job(nlohmann::json job) { job_ = std::move(job); }
  /// Goes on from the file, and returns true, if there is one. Throws InputError if it is no checkpoint, of another
  /// format or job (which names all that differs), cut short or damaged (its arrays are looked at by kept()).
  bool resume();
  /// The strength of the state that resume() found, and of those that are kept from now on.
  std::optional<ParameterChoice> strength;

  /// Keeps a state. A full disk is a warning: the run goes on, the state that was kept before remains, and the next one
  /// is tried again. The warning appears once, and again only after a state could be kept in between.
  void keep(const RunState& state) override;
  std::optional<RunState> kept() override;
  void kept_elsewhere(int iterations) override { iterations_ = iterations; }

  /// Iterations of the state in the file, if this run has written it or goes on from it.
  std::optional<int> iterations() const { return iterations_; }
  /// Instructions to go on from there; empty if there is nothing.
  std::string how_to_resume() const;
  /// The job is done: removes the file.
  void remove();

 private:
  std::string path_;
  nlohmann::json job_;
  std::optional<int> iterations_;
  bool warned_ = false;  // true: the user knows that states cannot be kept now
};

}  // namespace halocline
