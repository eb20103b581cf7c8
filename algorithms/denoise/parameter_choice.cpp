#include "algorithms/denoise/parameter_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "algorithms/denoise/discrepancy.hpp"
#include "algorithms/denoise/halves_streaks.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "algorithms/noise/noise.hpp"
#include "algorithms/noise/noise_details.hpp"
#include "algorithms/noise/noise_estimate.hpp"
#include "algorithms/noise/noise_map.hpp"
#include "algorithms/support/axis_filter.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "algorithms/support/philox.hpp"
#include "algorithms/support/volume_sample.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {
namespace {

constexpr double added = 0.5;                        // t: noise that is added, in units of the noise there is
const double louder = std::sqrt(1 + added * added);  // all the noise, in the same units

// The central parts of the volumes that a problem is made of.
struct Part {
  ParameterProblem problem;
  std::size_t given_voxels;
  bool whole;
  std::map<std::string, Volume> inputs;
  Volume half_a, half_b, variance;

  explicit Part(const ParameterProblem& given)
      : problem(given), given_voxels(given.inputs.at("f")->grid.count()), whole(given_voxels <= most_searched_voxels) {
    if (!whole) {
      for (auto& [name, volume] : problem.inputs)
        volume = &(inputs[name] = central_part(*volume, most_searched_voxels));
      if (given.half_a != nullptr) problem.half_a = &(half_a = central_part(*given.half_a, most_searched_voxels));
      if (given.variance != nullptr)
        problem.variance = &(variance = central_part(*given.variance, most_searched_voxels));
      if (given.half_b != nullptr) problem.half_b = &(half_b = central_part(*given.half_b, most_searched_voxels));
    }
    problem.parameters.size = f().grid.size;
  }
  const Volume& f() const { return *problem.inputs.at("f"); }
  // Variances of the noise, up to sigma^2.
  const Volume* weights() const {
    const auto found = problem.inputs.find("w");
    return found == problem.inputs.end() ? problem.variance : found->second;
  }
};

[[noreturn]] void refuse(const std::string& what) {
  throw InputError(fmt::format("{}, so there is nothing to choose alpha by: give `alpha` a number", what));
}

double mean_square(const Volume& volume) {
  double sum = 0;
  for (const float value : volume.voxels) sum += static_cast<double>(value) * value;
  return sum / static_cast<double>(volume.voxels.size());
}

// Weights of voxels 0, 1, 2, ... away that give white noise these correlations one, two, ... voxels apart: the
// transform of the root of the spectrum, of norm 1.
std::vector<double> colouring(const std::array<double, 4>& correlation) {
  constexpr int length = 32, reach = 7;
  constexpr double turn = 2 * std::numbers::pi / length;
  std::vector<double> weights(reach);
  double norm = 0;
  for (int n = 0; n < reach; ++n) {
    for (int w = 0; w < length; ++w) {
      double power = 1;
      for (std::size_t lag = 1; lag <= correlation.size(); ++lag)
        power += 2 * correlation[lag - 1] * std::cos(static_cast<double>(lag) * turn * w);
      weights[n] += std::sqrt(std::max(0.0, power)) * std::cos(turn * w * n);
    }
    norm += (n == 0 ? 1 : 2) * weights[n] * weights[n];
  }
  for (double& weight : weights) weight /= std::sqrt(norm);
  return weights;
}

// Noise of these standard deviations, which neighbours share as they do in f; none where the voxel and its neighbours
// have one value (filled background).
template <typename Deviation>
Volume noise_like(const Volume& f, const NoiseEstimate& estimate, const Deviation& deviation) {
  constexpr std::uint64_t seed = 0x5d7e;
  Volume noise(f.grid);
  parallel_slices(f.grid.size[2], [&](std::size_t k) {
    for (std::size_t n = k * f.grid.slice(); n < (k + 1) * f.grid.slice(); ++n) {
      PhiloxStream random(seed, n, 0);
      noise.voxels[n] = static_cast<float>(standard_normal(random));
    }
  });
  if (estimate.correlated)
    for (int axis = 0; axis < 3; ++axis) filter_along(noise, axis, colouring(estimate.correlation[axis]));
  const auto range = [&](std::size_t at, int axis) {
    return std::pair(at == 0 ? 0 : at - 1, std::min(at + 2, f.grid.size[axis]));
  };
  parallel_slices(f.grid.size[2], [&](std::size_t k) {
    const auto [k0, k1] = range(k, 2);
    for (std::size_t j = 0; j < f.grid.size[1]; ++j) {
      const auto [j0, j1] = range(j, 1);
      for (std::size_t i = 0; i < f.grid.size[0]; ++i) {
        const auto [i0, i1] = range(i, 0);
        bool uniform = true;
        for (std::size_t z = k0; z < k1 && uniform; ++z)
          for (std::size_t y = j0; y < j1 && uniform; ++y)
            for (std::size_t x = i0; x < i1 && uniform; ++x) uniform = f.at(x, y, z) == f.at(i, j, k);
        const std::size_t voxel = i + f.grid.size[0] * (j + f.grid.size[1] * k);
        noise.voxels[voxel] = uniform ? 0.0f : static_cast<float>(deviation(voxel) * noise.voxels[voxel]);
      }
    }
  });
  return noise;
}

// u of any f with any lambda, as exact as a choice needs it.
class Smoother {
 public:
  Smoother(const ParameterProblem& problem, const Device& device) : problem_(problem), devices_{device} {
    problem_.parameters.schedule = Schedule::standard;
    problem_.parameters.iterations = 300;
    problem_.parameters.gap = 3e-3;
  }
  Volume operator()(const Volume& f, double lambda) {
    problem_.inputs["f"] = &f;
    problem_.parameters.lambda = lambda;
    const auto method = make_denoiser(problem_.method, problem_.parameters);
    return run_program(method->program(), problem_.inputs, f.grid, devices_).output;
  }

 private:
  ParameterProblem problem_;
  std::vector<Device> devices_;
};

// Mean of ||u(f + t d) - (f - d / t)||^2, less the part that does not depend on lambda. With few voxels also with -d,
// and the mean of both: that removes what is odd in d, most of what chance has in it, and leaves little besides the
// chance that is in f itself.
class Risk {
 public:
  Risk(const ParameterProblem& problem, const Volume& noise, const Device& device)
      : smooth_(problem, device), f_(*problem.inputs.at("f")), noise_(noise), noisier_(f_.grid) {}

  double operator()(double lambda) {
    return f_.grid.count() > few_voxels ? with(added, lambda) : (with(added, lambda) + with(-added, lambda)) / 2;
  }

 private:
  static constexpr std::size_t few_voxels = 1 << 18;  // of more, chance has too little for the time that it takes

  // Risk of d with this factor.
  double with(double t, double lambda) {
    for (std::size_t n = 0; n < noisier_.voxels.size(); ++n)
      noisier_.voxels[n] = static_cast<float>(f_.voxels[n] + t * noise_.voxels[n]);
    const Volume u = smooth_(noisier_, lambda);
    double sum = 0;
    for (std::size_t n = 0; n < u.voxels.size(); ++n) {
      const double change = static_cast<double>(u.voxels[n]) - f_.voxels[n];
      sum += change * (change + 2 / t * noise_.voxels[n]);
    }
    if (!std::isfinite(sum)) refuse("the volume holds values that are not finite");
    return sum / static_cast<double>(u.voxels.size());
  }

  Smoother smooth_;
  const Volume& f_;
  const Volume& noise_;
  Volume noisier_;
};

struct Minimum {
  double lambda;
  const char* note;
};

// Searches a ladder of factors 2^(1/4) from `start`: in steps of four rungs, then two, then one; between the rungs, a
// parabola through the lowest and its neighbours, over log lambda. Wider ones lean to the flatter side, towards large
// lambda.
Minimum minimise(Risk& risk, double start) {
  constexpr int lowest = -40, highest = 32;
  const auto lambda = [&](double rung) { return start * std::exp2(rung / 4); };
  std::map<int, double> values;
  const auto at = [&](int rung) {
    const auto [found, missing] = values.try_emplace(rung, 0);
    if (missing) found->second = risk(lambda(rung));
    return found->second;
  };
  int best = 0;
  for (const int step : {4, 2, 1}) {
    const int from = best;
    while (best < highest && at(best + step) < at(best)) best += step;
    if (best == from)
      while (best > lowest && at(best - step) < at(best)) best -= step;
    if (best >= highest) return {lambda(best), "; the smoother the better: there seems to be noise only"};
    if (best <= lowest) return {lambda(best), "; the gentler the better: there seems to be hardly any noise"};
  }
  const double before = at(best - 1), here = at(best), after = at(best + 1);
  const double bend = before - 2 * here + after;
  return {lambda(best + (bend > 0 ? std::clamp(0.5 * (before - after) / bend, -1.0, 1.0) : 0)), ""};
}

std::string where(const Part& part) {
  if (part.whole) return {};
  const auto& size = part.f().grid.size;
  return fmt::format(", on the central {} x {} x {} voxels", size[0], size[1], size[2]);
}

// Chooses with noise like that of f, independent of it.
ParameterChoice by_risk(const Part& part, const Volume& noise, const std::string& how,
                        const std::vector<Device>& devices) {
  Risk risk(part.problem, noise, devices.front());
  ParameterChoice choice;
  choice.sigma = std::sqrt(mean_square(noise));
  const double h = typical_spacing(part.f().grid);
  // Far below delta Huber's variation is |d|^2 / (2 delta): the larger delta, the more of it a noise needs.
  const double softer = part.problem.parameters.regulariser.huber_delta.value_or(0) * h / (50 * choice.sigma);
  const auto found = minimise(risk, 0.7 * choice.sigma * louder * h * std::max(1.0, softer));
  choice.lambda = to_three_digits(found.lambda / louder);
  choice.how = how + where(part) + found.note;
  choice.met = *found.note == '\0';
  if (!choice.met)
    choice.warnings.push_back(
        fmt::format("alpha {:.3g} is an end of the search for it{}", 1 / choice.lambda, found.note));
  return choice;
}

// Noise that is seen in f or given by its weights.
struct PartNoise {
  NoiseEstimate estimate;
  NoiseMap map;      // if there are no weights
  double sigma = 0;  // RMS, or where the weight is 1; 0: none
  std::string from;  // for reports: " from the variances, which neighbours share"
};

PartNoise noise_of(const Part& part) {
  const Volume* weights = part.weights();
  PartNoise noise;
  noise.estimate = estimate_noise(part.f(), weights);
  noise.sigma = noise.estimate.sigma;
  if (weights != nullptr) {
    noise.sigma = part.problem.sigma.value_or(noise.sigma);
    noise.from = part.problem.sigma ? " from the variances" : " where the weight is 1";
  } else if (noise.sigma > 0) {
    noise.map = noise_map(part.f());
    noise.sigma = noise.map.sigma;  // where noise varies, it is the RMS that counts
  }
  if (noise.estimate.correlated) noise.from += ", which neighbours share";
  return noise;
}

PartNoise known_noise_of(const Part& part) {
  PartNoise noise = noise_of(part);
  if (!(noise.sigma > 0)) refuse("no noise can be measured in the volume");
  return noise;
}

ParameterChoice by_sure(const Part& part, const std::vector<Device>& devices) {
  const Volume* weights = part.weights();
  const PartNoise seen = known_noise_of(part);
  const Volume noise = noise_like(part.f(), seen.estimate, [&](std::size_t n) {
    return weights != nullptr ? seen.sigma * std::sqrt(static_cast<double>(weights->voxels[n]))
                              : std::sqrt(static_cast<double>(seen.map.variance.voxels[n]));
  });
  auto choice =
      by_risk(part, noise, fmt::format("Monte Carlo SURE with a noise of {:.4g}{}", seen.sigma, seen.from), devices);
  choice.sigma = seen.sigma;
  return choice;
}

void check_halves(const ParameterProblem& problem) {
  if (problem.half_a == nullptr || problem.half_b == nullptr)
    throw InputError(
        "`strength = halves` needs `half_a, half_b`, the reconstructions of the odd and of the even views (make them "
        "with `half_scans()`)");
  for (const auto& [half, name] : {std::pair{problem.half_a, "`half_a`"}, {problem.half_b, "`half_b`"}})
    require_same_grid(problem.inputs.at("f")->grid, "the volume", half->grid, name);
}

// (A - B) / 2, which is like the noise of f.
Volume noise_of_halves(const Part& part) {
  const Volume &f = part.f(), &a = *part.problem.half_a, &b = *part.problem.half_b;
  Volume noise(f.grid);
  double sum = 0, squares = 0;  // of what the halves' mean has that f has not
  for (std::size_t n = 0; n < noise.voxels.size(); ++n) {
    noise.voxels[n] = static_cast<float>((static_cast<double>(a.voxels[n]) - b.voxels[n]) / 2);
    const double other = (static_cast<double>(a.voxels[n]) + b.voxels[n]) / 2 - f.voxels[n];
    sum += other;
    squares += other * other;
  }
  const double sigma = std::sqrt(mean_square(noise)), count = static_cast<double>(noise.voxels.size());
  if (!std::isfinite(sigma)) refuse("the halves hold values that are not finite");
  if (!(sigma > 0))
    throw InputError(
        "`half_a, half_b`: the two volumes are the same, so their difference tells no noise; give reconstructions of "
        "different views (`half_scans()`)");
  // A half that is not of this reconstruction is about as far from it as the halves are from each other.
  constexpr double most_apart = 0.3;
  const double apart = std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
  if (apart > most_apart * sigma)
    throw InputError(fmt::format(
        "`half_a, half_b`: their mean is not the volume that is denoised: the two differ by {:.4g} (RMS), more than {} "
        "of the noise of {:.4g} that the halves tell; give the halves of the same reconstruction (`half_scans()`)",
        apart, most_apart, sigma));
  return noise;
}

ParameterChoice by_halves(const Part& part, const std::vector<Device>& devices) {
  constexpr double hardly = 0.98, mostly = 0.8;
  const Volume seen = noise_of_halves(part);
  const double sigma = std::sqrt(mean_square(seen));
  const auto choose = [&](const Volume& noise, const std::string& more) {
    return by_risk(part, noise, fmt::format("split halves, with a noise of {:.4g}{}", sigma, more), devices);
  };
  ParameterChoice choice = choose(seen, "");
  if (!choice.met) return choice;
  Smoother smooth(part.problem, devices.front());
  const Volume noise = noise_without_streaks(part.f(), seen, choice.lambda, smooth);
  const double share = std::sqrt(mean_square(noise)) / sigma;
  if (share > hardly) return choice;
  choice = choose(noise, fmt::format(", of which {:.3g} is in the whole, too", share * sigma));
  choice.sigma = sigma;
  if (share < mostly)
    choice.warnings.push_back(fmt::format(
        "`half_a, half_b` differ by more than the noise of the volume: {:.0f} % of their difference (RMS) is streaks "
        "of half the views; alpha was chosen without them, and is less certain than with enough views",
        100 * std::sqrt(1 - share * share)));
  return choice;
}

// lambda_by_noise: nothing is searched for, and nothing rounded.
ParameterChoice by_noise(const Part& part) {
  ParameterChoice choice;
  std::string from = " from split halves";
  if (part.problem.half_a != nullptr) {
    choice.sigma = std::sqrt(mean_square(noise_of_halves(part)));
  } else {
    const PartNoise noise = known_noise_of(part);
    choice.sigma = noise.sigma;
    from = noise.from;
  }
  choice.lambda = *part.problem.lambda_by_noise * choice.sigma;
  choice.how = fmt::format("for a noise of {:.4g}{}{}", choice.sigma, from, where(part));
  return choice;
}

// Mean of the positive weights.
double mean_weight(const Volume& weights) {
  double sum = 0, count = 0;
  for (const float weight : weights.voxels) {
    sum += weight;
    count += weight > 0 ? 1 : 0;
  }
  return count > 0 ? sum / count : 1;
}

// ||u - f||, given or that of the noise. The norm has no weights for S-PDU either: weighted with 1 / w it would count
// most where noise is least, and there S-PDU leaves much of it, because it smooths by lambda w against a noise of sigma
// sqrt w; the noisy places would have to be smoothed far too much to make up for that.
ParameterChoice by_discrepancy(const Part& part, const std::vector<Device>& devices) {
  const ParameterProblem& given = part.problem;
  const PartNoise noise = given.target_fidelity ? noise_of(part) : known_noise_of(part);
  DiscrepancyProblem problem;
  problem.method = given.method;
  problem.parameters = given.parameters;
  problem.parameters.schedule = Schedule::standard;
  problem.inputs = given.inputs;
  problem.sigma = noise.sigma;
  problem.variance = (part.weights() != nullptr ? mean_weight(*part.weights()) : 1) * noise.estimate.active_fraction;
  problem.noise = noise.from;
  problem.target_fidelity = given.target_fidelity;
  problem.whole_voxels = given.whole_voxels.value_or(part.given_voxels);
  problem.spacing = typical_spacing(part.f().grid);
  problem.part = where(part);
  const auto choice = choose_lambda(problem, devices.front());
  ParameterChoice result{choice.lambda, choice.sigma, choice.how, choice.warning.empty(), {}};
  if (!result.met) result.warnings.push_back(choice.warning);
  return result;
}

// Empty where the noise that is seen follows the weights: to a constant factor, they are then its variances.
std::string weights_warning(const Part& part) {
  constexpr double most_apart = 100;  // a factor of ten in the standard deviation, over the middle 80 %
  const auto spread = [](std::vector<float>& values) {
    if (values.empty()) return 1.0;
    const auto at = [&](double share) {
      const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
      std::nth_element(values.begin(), place, values.end());
      return *place;
    };
    const double low = at(0.1), high = at(0.9);
    return high / low;
  };
  std::vector<float> values;
  for (const float weight : part.weights()->voxels)
    if (weight > 0) values.push_back(weight);
  if (spread(values) < most_apart) return {};
  const NoiseMap map = noise_map(part.f());
  values.clear();
  for (std::size_t n = 0; n < map.variance.voxels.size(); ++n)
    if (map.variance.voxels[n] > 0 && part.weights()->voxels[n] > 0)
      values.push_back(std::max(map.variance.voxels[n] / part.weights()->voxels[n], std::numeric_limits<float>::min()));
  const double apart = spread(values);
  if (apart < most_apart) return {};
  return fmt::format(
      "`weights` do not agree with the noise that is seen in the volume: the one varies against the other by a factor "
      "of {:.2g}, and alpha cannot be right for all of it; give the variances of this volume (`noise_map()` finds "
      "them), or `alpha` a number",
      apart);
}

}  // namespace

const std::vector<std::string>& parameter_rules() {
  static const std::vector<std::string> rules{"auto", "discrepancy", "halves", "sure"};
  return rules;
}

ParameterChoice choose_parameter(const std::string& rule, const ParameterProblem& problem,
                                 const std::vector<Device>& devices) {
  const auto& rules = parameter_rules();
  if (std::find(rules.begin(), rules.end(), rule) == rules.end())
    throw InputError({.what = "`strength`",
                      .found = '"' + rule + '"',
                      .expected = fmt::format("one of {}", fmt::join(rules, ", "))});
  const bool automatic = rule == "auto";
  const bool target = automatic && problem.target_fidelity, noise = automatic && problem.lambda_by_noise;
  const bool halves = rule == "halves" || (automatic && !target && problem.half_a != nullptr);
  if (problem.inputs.at("f")->grid.count() < 2) refuse("the volume is a single voxel");
  if (halves) check_halves(problem);
  const Part part(problem);
  ParameterChoice choice = rule == "discrepancy" || target ? by_discrepancy(part, devices)
                           : noise                         ? by_noise(part)
                           : halves                        ? by_halves(part, devices)
                                                           : by_sure(part, devices);
  if (part.weights() == nullptr || problem.target_fidelity) return choice;
  if (auto warning = weights_warning(part); !warning.empty()) choice.warnings.push_back(std::move(warning));
  return choice;
}

double mean_spacing(const Grid& grid) {
  double product = 1;
  int axes = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid.size[axis] < 2) continue;
    product *= grid.spacing[axis];
    ++axes;
  }
  return axes > 0 ? std::pow(product, 1.0 / axes) : 1;
}

std::string effect_warning(const ValueRange& input, const ValueRange& output, double rms_change, double noise,
                           const EffectAdvice& advice) {
  const auto range = [](const ValueRange& values) { return static_cast<double>(values.greatest) - values.least; };
  const double before = range(input);
  if (!(before > 0)) return constant_warning;
  const double scale = noise > 0 ? noise : before;
  if (rms_change < 1e-3 * scale)
    return fmt::format("hardly anything was changed: the RMS change of {:.3g} is below 1/1000 of {} of {:.3g}{}{}",
                       rms_change, noise > 0 ? "the noise" : "the grey values' range", scale,
                       advice.smoother.empty() ? "" : "; ", advice.smoother);
  const double after = range(output);
  if (after < 1e-3 * before)
    return fmt::format("nothing is left: the grey values span {:.3g} after and {:.3g} before{}{}", after, before,
                       advice.gentler.empty() ? "" : "; ", advice.gentler);
  return {};
}

}  // namespace halocline
