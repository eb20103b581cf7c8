// The launcher of MPI that started this process, as its environment shows it.
#pragma once

#include <optional>

namespace halocline {

/// Processes that a launcher started.
struct Launch {
  /// Their number, where the launcher says it.
  std::optional<int> processes;
  /// The number of this one among them, where the launcher says it.
  std::optional<int> rank;
};

/// The launch that this process is a part of; nothing where no launcher started it.
std::optional<Launch> current_launch();

/// Throws InputError if a process of Halocline joined the ranks of this launch before, in the place of this one: MPI
/// starts once in it. The launcher shows it at the end of that process, or not at all.
void require_first_in_launch();

}  // namespace halocline
