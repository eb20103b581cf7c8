// Runs of denoisers whose iterations go in single passes over memory.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "algorithms/denoisers/registry.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline {

/// Result and certificate of a denoiser's run.
struct FusedOutcome {
  Volume u;
  std::vector<IterationRecord> history;
};

/// Runs the denoiser `name` (pdu or spdu; `w` are the weights of the latter) with iterations in passes of `form`, on
/// all devices.
inline FusedOutcome run_fused(const std::string& name, const Volume& f, const Volume& w, MethodParameters parameters,
                              FusedForm form) {
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.fused = form;
  parameters.least_weight = 0.1;
  parameters.largest_weight = 1.1;
  const auto method = make_denoiser(name, parameters);
  std::map<std::string, const Volume*> inputs{{"f", &f}};
  if (name == "spdu") inputs["w"] = &w;
  return {run_program(method->program(), inputs, f.grid, open_devices({})).output, method->history()};
}

/// Random weights, three of 13 voxels 0.
inline Volume fused_weights(const Grid& grid) {
  Volume w = reference::random_volume(grid, 8);
  for (std::size_t n = 0; n < w.voxels.size(); ++n) w.voxels[n] = n % 13 < 3 ? 0.0f : std::abs(w.voxels[n]) + 0.1f;
  return w;
}

/// A denoiser and a volume's size.
struct FusedCase {
  std::string method;
  std::array<std::size_t, 3> size;
};

/// "spdu_44_31_9".
inline std::string name_of(const testing::TestParamInfo<FusedCase>& info) {
  std::string name = info.param.method;
  for (const auto n : info.param.size) name += "_" + std::to_string(n);
  return name;
}

}  // namespace halocline
