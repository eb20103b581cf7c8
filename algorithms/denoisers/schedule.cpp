#include "algorithms/denoisers/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr struct {
  const char* name;
  Schedule schedule;
} schedule_names[] = {{"default", Schedule::standard},
                      {"zhu-chan", Schedule::zhu_chan},
                      {"seed", Schedule::seed},
                      {"chambolle-pock", Schedule::chambolle_pock}};

// sigma = start + growth k, theta sigma = 4 (1 - dip / (decay + k)), in units of ||D||^2.
struct Constants {
  double start, growth, dip, decay;
};

// Zhu & Chan's 0.2 + 0.08k and 1/2 - 5/(15 + k) are those of unit 2D pixels with ||D||^2 = 8: here 12 times the dual
// step and 8 times the product, for every dimension and spacing.
constexpr Constants zhu_chan{2.4, 0.96, 10, 15};

// Constants found by random search (in double precision) for the fewest iterations to 1e-2, 1e-3 and 1e-4 on nine
// problems of two balls and of blocks in 2D and 3D: weak and strong smoothing, thick slices, weights. The optimum is
// flat.
constexpr Constants searched{2.5, 0.8, 3, 6};

// Growing further than k = 500 only adds rounding: float32 reaches a relative gap of 4e-8 with the stop and 2e-7
// without.
Steps dimensionless_steps(const Constants& constants, int iteration) {
  const double k = std::min(iteration, 500);
  const double sigma = constants.start + constants.growth * k,
               theta = 4 * (1 - constants.dip / (constants.decay + k)) / sigma;
  if (!(theta > 0 && theta <= 1 && theta * sigma < 4 - 2 * theta))
    throw std::logic_error(fmt::format("unstable steps in iteration {}: sigma {}, theta {}", iteration, sigma, theta));
  return {sigma, theta, 0};
}

Steps seed_steps(int iteration) {
  const double k = iteration, dual = 0.3 + 0.02 * k;
  return {dual, (1.0 / 6 - 5 / (15 + k)) / dual, 0};
}

}  // namespace

Schedule schedule_named(const std::string& name) {
  std::string list;
  for (const auto& each : schedule_names) {
    if (name == each.name) return each.schedule;
    list += (list.empty() ? "" : ", ") + std::string(each.name);
  }
  throw InputError({.what = "`schedule`", .found = '"' + name + '"', .expected = "one of: " + list});
}

std::string schedule_name(Schedule schedule) {
  for (const auto& each : schedule_names)
    if (schedule == each.schedule) return each.name;
  throw std::logic_error("a schedule without a name");
}

std::vector<Steps> make_steps(Schedule schedule, int count, double norm2, double gamma) {
  std::vector<Steps> steps;
  steps.reserve(static_cast<std::size_t>(count));
  // Algorithm 2 starts at any tau sigma ||D||^2 <= 1; a large first tau forgets the noisy start sooner.
  double tau = 1 / gamma, sigma = norm2 > 0 ? 1 / (tau * norm2) : 0;
  for (int k = 0; k < count; ++k) {
    if (schedule == Schedule::standard) {
      steps.push_back(dimensionless_steps(searched, k));
    } else if (schedule == Schedule::zhu_chan) {
      steps.push_back(dimensionless_steps(zhu_chan, k));
    } else if (schedule == Schedule::seed) {
      steps.push_back(seed_steps(k));
    } else {
      const double theta = 1 / std::sqrt(1 + 2 * gamma * tau);
      steps.push_back({sigma, tau, theta});
      tau *= theta;
      sigma /= theta;
    }
  }
  return steps;
}

double gradient_norm2(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (size[axis] > 1) sum += 4 / (spacing[axis] * spacing[axis]);
  return sum;
}

double coarsest_spacing(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing) {
  double most = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (size[axis] > 1) most = std::max(most, spacing[axis]);
  return most > 0 ? most : 1;
}

}  // namespace halocline
