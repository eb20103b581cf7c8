// Progress of a long job. Calls come from one thread at a time.
#pragma once

#include <functional>
#include <string>

namespace halocline {

/// done of total steps of a stage ("denoise", "fdk"); note: e.g. the gap reached.
struct ProgressState {
  std::string stage;
  double done = 0, total = 0;
  std::string note;
  double work = 0;          // work done, in `unit`; 0: unknown
  std::string unit{};       // "voxel-iterations"
  double up = 0, down = 0;  // bytes over the bus so far, where slabs are streamed
};
using Progress = std::function<void(const ProgressState&)>;

}  // namespace halocline
