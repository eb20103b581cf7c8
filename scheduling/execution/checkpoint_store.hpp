// State of a run between two passes, from which the run can continue to a bitwise identical result.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/planning/requirements.hpp"

namespace halocline {

struct RunState {
  /// Sums that the method received after so many iterations. Its own state on the host follows from them.
  struct Reduction {
    int done = 0;
    std::vector<double> sums;
  };
  /// A whole state or output array, with elements as the device stores them.
  struct Array {
    std::string name;
    std::size_t bytes = 0;
    bool operator==(const Array&) const = default;
  };
  int iterations = 0;  // done
  std::vector<Reduction> reductions;
  std::vector<Array> arrays;
  /// Reads bytes [first, first + count) of an array: by one thread at a time of a running job's state, by several of a
  /// stored one.
  std::function<void(const std::string& name, std::size_t first, std::size_t count, std::byte* to)> read;
};

/// Storage for the state of a run.
class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;
  /// Stores the state in place of the one before. `state` is valid during the call.
  virtual void keep(const RunState& state) = 0;
  /// The stored state of this job, if any. Called again when a run begins again on other devices or in smaller slabs.
  virtual std::optional<RunState> kept() = 0;
  /// Another rank has kept the state after so many iterations, for all of them.
  virtual void kept_elsewhere(int /*iterations*/) {}
};

/// The state arrays of a run with these requirements, and their bytes.
std::vector<RunState::Array> state_arrays(const Requirements& requirements);
std::size_t state_bytes(const Requirements& requirements);

}  // namespace halocline
