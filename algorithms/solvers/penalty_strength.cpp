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

struct Halves {
  std::vector<int> used, left_out;
};

Halves halves_of(const Geometry& geometry) {
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

Geometry views_of(const Geometry& geometry, const std::vector<int>& views) {
  Geometry result = geometry;
  result.views.clear();
  for (const int view : views) result.views.push_back(geometry.views[static_cast<std::size_t>(view)]);
  return result;
}

void require_halves(const Geometry& geometry) {
  if (geometry.views.size() < 4)
    throw InputError({.what = "`lambda`",
                      .found = "a choice by halves of fewer than four views",
                      .expected = "a number for so short a scan"});
}

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
  const double pixels =
      stack.spacing[0] * (flat ? h * magnification : stack.spacing[1]) / (magnification * magnification);
  return first_guess * level * h *
         std::sqrt(mean_weight * static_cast<double>(geometry.views.size()) * h * h * h * h / pixels);
}

class Trials {
 public:
  Trials(const ReconstructionInputs& inputs, const Geometry& geometry, const Grid& grid,
         const ReconstructionParameters& parameters, const std::vector<Device>& devices, const RunOptions& options)
      : halves_(halves_of(geometry)),
        used_(views_of(with_ray_ends(geometry, grid, inputs.projections->grid()), halves_.used)),
        left_out_(views_of(with_ray_ends(geometry, grid, inputs.projections->grid()), halves_.left_out)),
        b_used_(*inputs.projections, halves_.used),
        b_left_out_(*inputs.projections, halves_.left_out),
        parameters_(parameters),
        devices_(devices),
        options_(options),
        x_(Volume::uninitialised(grid)) {
    if (inputs.weights != nullptr) {
      w_used_.emplace(*inputs.weights, halves_.used);
      w_left_out_.emplace(*inputs.weights, halves_.left_out);
    }
    reference_ = inputs.reference;
    start_ = inputs.start;
    parameters_.projector = projector_of(parameters.projector, parameters.hardware_interpolation, geometry, grid,
                                         inputs.projections->grid());
    options_ = {};
    options_.plan = options.plan;
    options_.progress = options.progress;
  }

  double mean_weight() const {
    if (!w_used_) return 1;
    double sum = 0;
    each_piece(*w_used_, [&](std::size_t, const std::vector<float>& values) {
      for (const float value : values) sum += value;
    });
    return sum / static_cast<double>(w_used_->grid().count());
  }
  // The noise of a view in the middle of the half, in standard deviations of 1 / sqrt(w): from second differences along
  // its rows, in which its object has little part. 1 where there is no noise.
  double noise_level() const {
    const auto [columns, rows, views] = b_used_.grid().size;
    std::vector<float> b(columns * rows), w(columns * rows, 1.0f), bends;
    b_used_.read(views / 2 * b.size(), b.size(), b.data());
    if (w_used_) w_used_->read(views / 2 * w.size(), w.size(), w.data());
    for (std::size_t n = 1; n + 1 < b.size(); ++n) {
      const bool inside = n % columns > 0 && n % columns + 1 < columns;
      const float least = std::min({w[n - 1], w[n], w[n + 1]});
      if (inside && least > 0) bends.push_back(std::sqrt(least / 6) * std::abs(b[n - 1] - 2 * b[n] + b[n + 1]));
    }
    const double level = median_sigma(bends);
    return level > 0 ? level : 1;
  }
  const Geometry& used() const { return used_; }
  const Grid& stack() const { return b_used_.grid(); }

  // `lambda` of the half.
  double misfit(double lambda) {
    ReconstructionInputs inputs{&b_used_, w_used_ ? &*w_used_ : nullptr, start_, reference_};
    const Volume before = x_;
    const MemorySource from(before);
    if (!first_) inputs.start = &from;
    ReconstructionParameters parameters = trial_parameters(parameters_, used_.views.size(), first_);
    parameters.lambda = lambda;
    MemorySink sink(x_);
    reconstruct(inputs, used_, sink, parameters, devices_, options_);
    first_ = false;
    ProjectionParameters projection;
    projection.projector = *parameters_.projector;
    const Volume p = project(x_, left_out_, b_left_out_.grid(), projection, devices_, options_).output;
    return sum_of_squares(p) / 2 / static_cast<double>(p.voxels.size());
  }

 private:
  template <class Function>
  static void each_piece(const VolumeSource& source, Function&& function) {
    std::vector<float> values;
    const std::size_t count = source.grid().count();
    for (std::size_t first = 0; first < count; first += voxels_in_a_piece) {
      values.resize(std::min(voxels_in_a_piece, count - first));
      source.read(first, values.size(), values.data());
      function(first, values);
    }
  }
  double sum_of_squares(const Volume& p) const {
    double sum = 0;
    std::vector<float> w;
    each_piece(b_left_out_, [&](std::size_t first, const std::vector<float>& b) {
      w.assign(b.size(), 1.0f);
      if (w_left_out_) w_left_out_->read(first, b.size(), w.data());
      for (std::size_t n = 0; n < b.size(); ++n) {
        const double residual = static_cast<double>(p.voxels[first + n]) - b[n];
        sum += w[n] * residual * residual;
      }
    });
    return sum;
  }

  Halves halves_;
  Geometry used_, left_out_;
  SortedViews b_used_, b_left_out_;
  std::optional<SortedViews> w_used_, w_left_out_;
  const VolumeSource* reference_ = nullptr;
  const VolumeSource* start_ = nullptr;
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
  require_halves(geometry);
  Trials trials(inputs, geometry, grid, parameters, devices, options);
  const double of_all = std::sqrt(2.0);
  const double start = of_all * strength_factor * strength_factor *
                       guess(grid, trials.used(), trials.stack(), trials.mean_weight(), trials.noise_level());
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
  require_halves(geometry);
  const Halves halves = halves_of(geometry);
  const Geometry used = views_of(geometry, halves.used), left_out = views_of(geometry, halves.left_out);
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
