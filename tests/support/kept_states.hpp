// A checkpoint store in memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/execution/checkpoint_store.hpp"

namespace halocline {

/// Copies of the states of a run, and one of them to resume from.
class KeptStates : public CheckpointStore {
 public:
  struct Kept {
    RunState state;  // without read
    std::map<std::string, std::vector<std::byte>> arrays;
  };
  void keep(const RunState& state) override {
    Kept kept{state, {}};
    kept.state.read = nullptr;
    for (const auto& [name, bytes] : state.arrays) {
      auto& array = kept.arrays[name];
      array.resize(bytes);
      for (std::size_t at = 0; at < bytes; at += piece)
        state.read(name, at, std::min(piece, bytes - at), array.data() + at);
    }
    all.push_back(std::move(kept));
    if (follow) from = &all.back();
  }
  std::optional<RunState> kept() override {
    if (from == nullptr) return std::nullopt;
    RunState state = from->state;
    state.read = [kept = from](const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
      std::memcpy(to, kept->arrays.at(name).data() + first, count);
    };
    return state;
  }

  static constexpr std::size_t piece = 1001;  ///< bytes read at a time: across slices and slabs
  std::deque<Kept> all;
  const Kept* from = nullptr;
  bool follow = false;  ///< resume from the last one
};

}  // namespace halocline
