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

/// Input of all cases: random data and weights on unequal spacings.
struct FusedScene {
  FusedScene(const FusedCase& each, int iterations) : FusedScene(default_grid(each.size, {0.7, 1, 1.9}), iterations) {}
  FusedOutcome run(const std::string& method, FusedForm form) const {
    return run_fused(method, f, w, parameters, form);
  }

  Volume f, w;
  MethodParameters parameters;

 private:
  FusedScene(const Grid& grid, int iterations) : f(reference::random_volume(grid, 7)), w(fused_weights(grid)) {
    parameters.iterations = iterations;
    parameters.lambda = 0.2;
  }
};

/// "spdu_44_31_9".
inline std::string name_of(const testing::TestParamInfo<FusedCase>& info) {
  std::string name = info.param.method;
  for (const auto n : info.param.size) name += "_" + std::to_string(n);
  return name;
}

}  // namespace halocline
