#include "algorithms/solvers/penalty_strength.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/noise/noise_details.hpp"
#include "algorithms/projectors/default_projector.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr double strength_factor = 2;  // between strengths
constexpr int passes_first = 20;       // of the half's views
constexpr int passes_next = 12;        // from the result of the strength before
constexpr int least_trials = 3, most_trials = 9;
constexpr double first_guess = 0.5;  // of the noise of the data term's gradient, see guess()

// Every second view by gantry angle, and the others.
struct Halves {
  std::vector<int> used, left_out;
};

Halves halves_of(const Geometry& geometry) {
  if (geometry.views.size() < 4)
    throw InputError({.what = "`lambda`",
                      .found = "a choice by halves of fewer than four views",
                      .expected = "a number for so short a scan"});
  std::vector<int> order(geometry.views.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return geometry.views[static_cast<std::size_t>(a)].gantry_angle <
           geometry.views[static_cast<std::size_t>(b)].gantry_angle;
  });
  Halves halves;
  for (std::size_t n = 0; n < order.size(); ++n) (n % 2 == 0 ? halves.used : halves.left_out).push_back(order[n]);
  return halves;
}

// One half of a scan.
struct Half {
  Half(const ReconstructionInputs& inputs, const Geometry& scan, const std::vector<int>& views)
      : geometry(select_views(scan, {views.begin(), views.end()})), b(*inputs.projections, views) {
    if (inputs.weights != nullptr) w.emplace(*inputs.weights, views);
  }
  // Calls a function with pieces of b and w.
  template <class Function>
  void each_piece(Function&& function) const {
    std::vector<float> values, weights;
    const std::size_t count = b.grid().count();
    for (std::size_t first = 0; first < count; first += voxels_in_a_piece) {
      values.resize(std::min(voxels_in_a_piece, count - first));
      read(first, values, weights);
      function(first, values, weights);
    }
  }
  void read(std::size_t first, std::vector<float>& values, std::vector<float>& weights) const {
    weights.assign(values.size(), 1.0f);
    b.read(first, values.size(), values.data());
    if (w) w->read(first, weights.size(), weights.data());
  }

  Geometry geometry;
  SortedViews b;
  std::optional<SortedViews> w;
};

// Parameters of the first trial, or of one of the next, on a half of so many views.
ReconstructionParameters trial_parameters(ReconstructionParameters parameters, std::size_t views, bool first) {
  parameters.gap = 0;
  parameters.gap_map = false;
  parameters.method = "spdhg";
  parameters.passes = first ? passes_first : passes_next;
  parameters.subsets = std::clamp(static_cast<int>(views) / 2, 1, 60);
  return parameters;
}

// h times the standard deviation of A^T W n in a voxel for noise n of variance level^2 / w: in a view, rays of pitch p
// see a voxel of edge h on h^3 / p^2 of their length in all, h on each.
double guess(const Grid& grid, const Geometry& geometry, const Grid& stack, double mean_weight, double level) {
  const View& view = geometry.views.front();
  const double magnification = view.parallel() ? 1 : view.sdd / view.sid;
  const double h = std::cbrt(grid.spacing[0] * grid.spacing[1] * grid.spacing[2]);
  const bool flat = stack.size[1] == 1;  // one row: its height has no part in it
  const double along = view.fan_stack ? 1 : magnification;
  const double pixels = stack.spacing[0] * (flat ? h * along : stack.spacing[1]) / (magnification * along);
  return first_guess * level * h *
         std::sqrt(mean_weight * static_cast<double>(geometry.views.size()) * h * h * h * h / pixels);
}

class Trials {
 public:
  Trials(const ReconstructionInputs& inputs, const Geometry& geometry, const Grid& grid,
         const ReconstructionParameters& parameters, const std::vector<Device>& devices, const RunOptions& options)
      : Trials(halves_of(geometry), with_ray_ends(geometry, grid, inputs.projections->grid()), inputs, grid, parameters,
               devices) {
    parameters_.projector = projector_of(parameters.projector, parameters.hardware_interpolation, geometry, grid,
                                         inputs.projections->grid());
    options_.plan = options.plan;
    options_.progress = options.progress;
  }

  double guess() const {
    return halocline::guess(x_.grid, used_.geometry, used_.b.grid(), mean_weight(), noise_level());
  }

  // `lambda` of the half.
  double misfit(double lambda) {
    ReconstructionInputs inputs{&used_.b, used_.w ? &*used_.w : nullptr, start_, reference_};
    const Volume before = x_;
    const MemorySource from(before);
    if (!first_) inputs.start = &from;
    ReconstructionParameters parameters = trial_parameters(parameters_, used_.geometry.views.size(), first_);
    parameters.lambda = lambda;
    MemorySink sink(x_);
    reconstruct(inputs, used_.geometry, sink, parameters, devices_, options_);
    first_ = false;
    ProjectionParameters projection;
    projection.projector = *parameters_.projector;
    const Volume p = project(x_, left_out_.geometry, left_out_.b.grid(), projection, devices_, options_).output;
    double sum = 0;
    left_out_.each_piece([&](std::size_t first, const std::vector<float>& b, const std::vector<float>& w) {
      for (std::size_t n = 0; n < b.size(); ++n) {
        const double residual = static_cast<double>(p.voxels[first + n]) - b[n];
        sum += w[n] * residual * residual;
      }
    });
    return sum / 2 / static_cast<double>(p.voxels.size());
  }

 private:
  Trials(const Halves& halves, const Geometry& scan, const ReconstructionInputs& inputs, const Grid& grid,
         const ReconstructionParameters& parameters, const std::vector<Device>& devices)
      : used_(inputs, scan, halves.used),
        left_out_(inputs, scan, halves.left_out),
        reference_(inputs.reference),
        start_(inputs.start),
        parameters_(parameters),
        devices_(devices),
        x_(Volume::uninitialised(grid)) {}

  double mean_weight() const {
    if (!used_.w) return 1;
    double sum = 0;
    used_.each_piece([&](std::size_t, const std::vector<float>&, const std::vector<float>& w) {
      for (const float value : w) sum += value;
    });
    return sum / static_cast<double>(used_.b.grid().count());
  }
  // The noise of a view in the middle of the half, in standard deviations of 1 / sqrt(w): from second differences along
  // its rows, in which its object has little part. 1 where there is no noise.
  double noise_level() const {
    const auto [columns, rows, views] = used_.b.grid().size;
    std::vector<float> b(columns * rows), w, bends;
    used_.read(views / 2 * b.size(), b, w);
    for (std::size_t n = 1; n + 1 < b.size(); ++n) {
      const bool inside = n % columns > 0 && n % columns + 1 < columns;
      const float least = std::min({w[n - 1], w[n], w[n + 1]});
      if (inside && least > 0) bends.push_back(std::sqrt(least / 6) * std::abs(b[n - 1] - 2 * b[n] + b[n + 1]));
    }
    const double level = median_sigma(bends);
    return level > 0 ? level : 1;
  }

  Half used_, left_out_;
  const VolumeSource *reference_, *start_;
  ReconstructionParameters parameters_;
  const std::vector<Device>& devices_;
  RunOptions options_;
  Volume x_;
  bool first_ = true;
};

// Minimum between three neighbours on a logarithmic scale, of which the middle one is the least.
double least_between(const StrengthTrial& low, const StrengthTrial& middle, const StrengthTrial& high) {
  const double curvature = low.misfit - 2 * middle.misfit + high.misfit;
  const double shift = curvature > 0 ? (low.misfit - high.misfit) / (2 * curvature) : 0;
  return middle.lambda * std::pow(strength_factor, std::clamp(shift, -0.5, 0.5));
}

}  // namespace

PenaltyStrength choose_strength(const ReconstructionInputs& inputs, const Geometry& geometry, const Grid& grid,
                                const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                                const RunOptions& options) {
  Trials trials(inputs, geometry, grid, parameters, devices, options);
  const double of_all = std::sqrt(2.0);
  const double start = of_all * strength_factor * strength_factor * trials.guess();
  PenaltyStrength result;
  std::vector<StrengthTrial> sorted;  // by lambda
  const auto look = [&](double lambda) {
    const StrengthTrial trial{lambda, trials.misfit(lambda / of_all)};
    result.trials.push_back(trial);
    sorted.push_back(trial);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.lambda < b.lambda; });
  };
  const auto least = [&] {
    return static_cast<std::size_t>(std::min_element(sorted.begin(), sorted.end(),
                                                     [](const auto& a, const auto& b) { return a.misfit < b.misfit; }) -
                                    sorted.begin());
  };
  for (int n = 0; n < least_trials; ++n) look(start / std::pow(strength_factor, n));
  while (static_cast<int>(sorted.size()) < most_trials) {
    if (least() == 0)
      look(sorted.front().lambda / strength_factor);
    else if (least() + 1 == sorted.size())
      look(sorted.back().lambda * strength_factor);
    else
      break;
  }
  const std::size_t n = least();
  const bool inside = n > 0 && n + 1 < sorted.size();
  result.lambda = inside ? least_between(sorted[n - 1], sorted[n], sorted[n + 1]) : sorted[n].lambda;
  return result;
}

StrengthForecast plan_strength(const Grid& projections, const Geometry& geometry, const Grid& grid,
                               const ReconstructionParameters& parameters, const GivenInputs& given,
                               const std::vector<DeviceModel>& devices, const PlanOptions& options) {
  const Halves halves = halves_of(geometry);
  const Geometry used = select_views(geometry, {halves.used.begin(), halves.used.end()}),
                 left_out = select_views(geometry, {halves.left_out.begin(), halves.left_out.end()});
  const auto stack_of = [&](const Geometry& half) {
    Grid stack = projections;
    stack.size[2] = half.views.size();
    return stack;
  };
  const Projector projector =
      projector_of(parameters.projector, parameters.hardware_interpolation, geometry, grid, projections);
  const auto plan = [&](bool first) {
    ReconstructionParameters trial = trial_parameters(parameters, used.views.size(), first);
    trial.projector = projector;
    if (!(trial.lambda > 0)) trial.lambda = 1;  // no plan depends on it
    return plan_reconstruct(stack_of(used), used, grid, trial, {given.weights, given.start || !first}, devices,
                            options);
  };
  ProjectionParameters projection;
  projection.projector = projector;
  const double judged = plan_project(left_out, grid, stack_of(left_out), projection, devices, options).seconds;
  StrengthForecast result{plan(true), least_trials, most_trials, 0, 0, 0};
  const double next = plan(false).seconds + judged;
  const auto seconds = [&](int trials) { return result.plan.seconds + judged + (trials - 1) * next; };
  result.least_seconds = seconds(least_trials);
  result.most_seconds = seconds(most_trials);
  constexpr double images = 2;  // the last trial's and this one's
  result.host_bytes =
      sizeof(float) * (images * static_cast<double>(grid.count()) + static_cast<double>(stack_of(left_out).count()));
  return result;
}

}  // namespace halocline
