// Dependencies of commands, from the names of the arrays that they read and write.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/planning/array_access.hpp"

namespace halocline {

/// Read-after-write, write-after-read and write-after-write order by array name. `Handle` is an event in the executor
/// and a number in tests. A lane is an in-order queue: only the latest of its readers of an array needs to be waited
/// for.
template <class Handle>
class DependencyGraph {
 public:
  /// Commands that a command with these accesses waits for.
  std::vector<Handle> waits(const std::vector<std::pair<std::string, Access>>& accesses) const {
    std::vector<Handle> result;
    for (const auto& [name, access] : accesses) {
      const auto found = arrays_.find(name);
      if (found == arrays_.end()) continue;
      const State& state = found->second;
      if (state.written) result.push_back(state.writer);
      if (access != Access::in)
        for (const auto& [lane, reader] : state.readers) result.push_back(reader);
    }
    return result;
  }

  /// Adds a command, enqueued on `lane`, that ends with `handle`.
  void add(const std::vector<std::pair<std::string, Access>>& accesses, const Handle& handle, int lane) {
    for (const auto& [name, access] : accesses) {
      State& state = arrays_[name];
      if (access == Access::in) {
        state.readers[lane] = handle;
      } else {
        state.writer = handle;
        state.written = true;
        state.readers.clear();
      }
    }
  }

  /// Swaps two names.
  void swap(const std::string& a, const std::string& b) { std::swap(arrays_[a], arrays_[b]); }

  /// Forgets all commands, which have ended.
  void clear() { arrays_.clear(); }

 private:
  struct State {
    Handle writer{};
    bool written = false;
    std::map<int, Handle> readers;  // by lane
  };
  std::map<std::string, State> arrays_;
};

}  // namespace halocline
