// Runs of reconstruct() from memory to memory.
#pragma once

#include <optional>
#include <utility>

#include "algorithms/solvers/reconstruct.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline {

struct Reconstructed {
  Volume x, gap_map;
  ReconstructionResult result;
  /// Runs with the volume.
  RunResult run() && {
    result.run.output = std::move(x);
    return std::move(result.run);
  }
};

/// A scan in memory.
struct MeasuredScan {
  reference::Scene scene;
  Volume b;
  std::optional<Volume> w = {}, start = {}, reference = {};
  bool near_minimum = false;  // the start
  std::optional<Volume> truth = {};

  Reconstructed reconstructed(const ReconstructionParameters& parameters,
                              const std::vector<Device>& devices = reference::device(), const RunOptions& options = {},
                              bool gap_map = false) const {
    const auto source = [](const std::optional<Volume>& volume) {
      return volume ? std::optional<MemorySource>(*volume) : std::nullopt;
    };
    const MemorySource projections(b);
    const auto weights = source(w), from = source(start), guide = source(reference), sought = source(truth);
    const auto given = [](const auto& each) { return each ? &*each : nullptr; };
    Reconstructed all{Volume::uninitialised(scene.grid), Volume::uninitialised(scene.grid), {}};
    MemorySink sink(all.x), map(all.gap_map);
    all.result = reconstruct({&projections, given(weights), given(from), given(guide), near_minimum, given(sought)},
                             scene.geometry, sink, parameters, devices, options, gap_map ? &map : nullptr);
    return all;
  }
};

}  // namespace halocline
