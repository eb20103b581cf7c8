// The step sizes of the primal-dual methods, iteration by iteration.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace halocline {

/// standard ("default"): of Zhu & Chan's form (2008, section 4), scaled to any dimension, spacing and weights, with
/// constants found by search: 25 to 40 % fewer iterations to a relative gap of 1e-3 than theirs. zhu_chan ("zhu-chan"):
/// their own constants, scaled likewise. seed: the schedule of TIGRE's tvdenoising and of the 3D thesis that took it
/// over, unstable in its first 15 iterations; kept for comparison. chambolle_pock ("chambolle-pock"): Chambolle & Pock
/// 2011, algorithm 2, with its proof of O(1/n^2).
enum class Schedule { standard, seed, chambolle_pock, zhu_chan };

/// Throws InputError that names `schedule` and lists the names.
Schedule schedule_named(const std::string& name);
std::string schedule_name(Schedule schedule);

/// One iteration. standard, zhu_chan: dual is dimensionless (times 1 / ||D||^2, or a step a voxel with weights), primal
/// is theta. seed: dual is times lambda, primal is theta. chambolle_pock: sigma, tau and the extrapolation.
struct Steps {
  double dual = 0, primal = 0, extrapolation = 0;
};

/// Steps of iterations 0 ... count - 1. norm2: a bound of ||D||^2; gamma: the data term's strong convexity (both used
/// by chambolle_pock alone). Throws std::logic_error if a dimensionless
/// schedule left its stability limits.
std::vector<Steps> make_steps(Schedule schedule, int count, double norm2, double gamma);

/// True if the dual step is dimensionless: one for every dimension and spacing, and a step a voxel with weights.
inline bool is_dimensionless(Schedule schedule) {
  return schedule == Schedule::standard || schedule == Schedule::zhu_chan;
}

/// 4 times the sum of 1 / h^2 over the axes with more than one voxel: no less than ||D||^2. 0 for a single voxel.
double gradient_norm2(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing);
/// The largest spacing of the axes with more than one voxel; 1 for a single voxel.
double coarsest_spacing(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing);

}  // namespace halocline
