// The state of a run between two of its passes: all that it takes to go on from there to a bitwise identical result.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/planning/requirements.hpp"

namespace halocline {

struct RunState {
  /// What the method was told: after so many iterations these sums. What a method knows on the host follows from them.
  struct Reduction {
    int done = 0;
    std::vector<double> sums;
  };
  /// All slices of a state or output array in order, its elements as the device stores them.
  struct Array {
    std::string name;
    std::size_t bytes = 0;
    bool operator==(const Array&) const = default;
  };
  int iterations = 0;  // done
  std::vector<Reduction> reductions;
  std::vector<Array> arrays;
  /// Bytes [first, first + count) of an array. What a run hands out: by one thread at a time; what it is
  /// given: by several.
  std::function<void(const std::string& name, std::size_t first, std::size_t count, std::byte* to)> read;
};

/// Keeps the state of a run where it outlives the run.
class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;
  /// In place of what was kept before. `state` is good for the time of the call.
  virtual void keep(const RunState& state) = 0;
  /// What a run of this job is to go on from; nothing: it starts from the beginning. Asked again when a run begins
  /// again on other devices or in smaller slabs.
  virtual std::optional<RunState> kept() = 0;
};

/// The arrays of RunState, of a run with these requirements.
std::vector<RunState::Array> state_arrays(const Requirements& requirements);
std::size_t state_bytes(const Requirements& requirements);

}  // namespace halocline
