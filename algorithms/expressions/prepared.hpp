// A job that is prepared once: its kernels are launched again and again with the arrays' present values.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/expressions/array.hpp"

namespace halocline {
struct KeptJob;
}

namespace halocline::expressions {

class JobNumbers;
class SessionRecorder;

/// The kernels of a function's statements (Context::record). Copies are the same job. It keeps the memory of all arrays
/// that the statements use: replay() reads the arrays from before the job as they are then, and writes the same arrays
/// as the statements did. An array that the statements changed goes on from replay to replay.
class Prepared {
 public:
  /// Enqueues the kernels: nothing is planned, looked up or compiled. May return before they have ended. Statements
  /// from before are computed first. Throws InputError if arrays have been placed again since record() to make room for
  /// others, ClError, Interrupted.
  void replay() const;
  /// Replaces the values of an array that the job reads, and of all copies that share its memory. Throws InputError for
  /// another array or size.
  void write(const Array& input, const VolumeSource& values) const;
  void write(const Array& input, const Volume& values) const;
  void write(const Array& input, const Array& values) const;
  /// The number as of the last replay (or of record()): a sum that the job states, or what follows from such sums.
  /// Waits for the kernels. Throws InputError for another one, ClError.
  double value(const Scalar& number) const;
  /// Commands that replay() enqueues.
  std::size_t commands() const;

 private:
  friend class SessionRecorder;
  struct State;
  using Arrays = std::vector<std::shared_ptr<Storage>>;
  Prepared(std::shared_ptr<SessionRecorder> recorder, std::shared_ptr<KeptJob> job, Arrays inputs, Arrays results,
           std::vector<std::string> scratch, std::shared_ptr<JobNumbers> numbers);
  void require_input(const Array& array) const;
  std::shared_ptr<State> state_;
};

}  // namespace halocline::expressions
