// Totals of projections before they are reconstructed.
#pragma once

#include "host/volume/volume_source.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

/// The weighted norm of the projections, squared; the number of rays with a weight above 0; whether all weights are
/// finite and at least 0.
struct RayTotals {
  double norm2 = 0, rays = 0;
  bool good = true;
};

/// Reads both stacks; weights may be nullptr: 1. The sums are those of rows_of_sum rows of a view, added in the order
/// of views. plan: each of its ranks reads the rows that it has, and all ranks call this; nullptr: one process.
RayTotals ray_totals(const VolumeSource& projections, const VolumeSource* weights, const Plan* plan);

}  // namespace halocline
