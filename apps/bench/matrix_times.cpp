#include "apps/bench/matrix_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/matrix/matrix_projection.hpp"
#include "algorithms/matrix/matrix_variants.hpp"
#include "algorithms/solvers/matrix_pair.hpp"
#include "apps/bench/device_forms.hpp"
#include "apps/bench/exact_places.hpp"
#include "apps/bench/left_out.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/profiling/measure.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

// Modes of the stored matrix, and the rest of their names in float32.
const std::string matrix_mode = "matrix", half_mode = "matrix-half", symmetric_mode = "symmetric",
                  in_float32 = "-plain";
const char *const slices_mode = "slices", *const rays_mode = "rays";

bool is_stored(const std::string& mode) {
  return mode.starts_with(matrix_mode) || mode.starts_with(symmetric_mode);
}
OperatorForm form_of(const std::string& stored_mode) {
  return stored_mode == half_mode                  ? OperatorForm::matrix_half
         : stored_mode.starts_with(symmetric_mode) ? OperatorForm::symmetric
                                                   : OperatorForm::matrix;
}
bool takes_units(const std::string& mode) {
  return is_stored(mode) && !mode.ends_with(in_float32);
}

// The modes of one problem on a device, with what they share.
class ProductTimer {
 public:
  ProductTimer(const Device& device, const MatrixProblem& problem, std::size_t slices, double seconds)
      : device_(device),
        projector_(problem.projector),
        seconds_(seconds),
        scan_(scan_of(problem, slices)),
        pixels_(places_of(scan_.stack.size)),
        voxels_(places_of(scan_.volume.size)) {
    const ExactScan exact{scan_.geometry, scan_.volume, scan_.stack};
    projection_ = exact_values([&, value = bench_values(scan_.volume)](std::size_t n) {
      return exact_projection(exact, projector_, pixels_[n], value);
    });
    adjoint_ = exact_values([&, value = bench_values(scan_.stack)](std::size_t n) {
      return exact_adjoint(exact, projector_, voxels_[n], value);
    });
  }

  MatrixRate run(const std::string& mode) const {
    MatrixRate rate;
    rate.mode = mode;
    rate.stored = is_stored(mode);
    if (rate.stored)
      stored(rate);
    else
      unstored(rate);
    return rate;
  }

  // Arrays as large as volumes and matrices, that no cache holds, memory allowing.
  double copy_bandwidth(const std::vector<MatrixRate>& rates) const {
    double most = static_cast<double>(sizeof(float) * scan_.volume.count());
    for (const MatrixRate& rate : rates) most = std::max(most, static_cast<double>(rate.tile_bytes));
    constexpr std::size_t least_copy = std::size_t{32} << 20, most_copy = std::size_t{1} << 30;
    const std::size_t bytes = std::clamp(static_cast<std::size_t>(most), least_copy, most_copy);
    return halocline::copy_bandwidth(device_, std::min(bytes, device_.ledger().budget() / 3) / 16 * 16);
  }

 private:
  void stored(MatrixRate& rate) const {
    const auto begin = std::chrono::steady_clock::now();
    const ViewSubsets all(static_cast<int>(scan_.stack.size[2]), 1);
    const auto matrix = std::make_shared<const SystemMatrix>(
        scan_.geometry, scan_.volume, scan_.stack, projector_,
        matrix_options(device_models({device_}), takes_units(rate.mode), form_of(rate.mode), all));
    rate.list_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rate.tile_bytes = matrix->tile_bytes();
    const std::size_t slices = scan_.volume.size[2], of_pass = matrix->slices_together(slices);
    const auto passes = static_cast<double>((slices + of_pass - 1) / of_pass);
    rate.multiply_adds =
        static_cast<double>(rate.tile_bytes) / sizeof(std::uint16_t) * passes *
        static_cast<double>(SystemMatrix::slices_of_block * matrix->halves() * matrix->together(slices));
    {
      ProjectionLoop loop(device_, std::make_unique<MatrixProjection>(matrix));
      rate.fill_seconds = seconds_of(loop.slab(), [&] { matrix->start(loop.slab()); });
      measure(loop, rate.forward);
    }
    BackprojectionLoop loop(device_, std::make_unique<MatrixBackprojection>(matrix, false), true);
    measure(loop, rate.adjoint);
    for (ProductRate* each : {&rate.forward, &rate.adjoint})
      each->bytes += passes * static_cast<double>(rate.tile_bytes);
  }

  void unstored(MatrixRate& rate) const {
    const std::string form = rate.mode == slices_mode ? "joseph" : projector_name(projector_),
                      slices = rate.mode == slices_mode ? "-slices" : "";
    {
      ProjectionLoop loop(device_, projection_on(device_, scan_form(form + slices), scan_));
      measure(loop, rate.forward);
    }
    BackprojectionLoop loop(device_, backprojection_on(device_, scan_form(form + "-adjoint" + slices), scan_), true);
    measure(loop, rate.adjoint);
  }

  void measure(ProjectionLoop& loop, ProductRate& rate) const {
    rate.relative_rmse = projection_.relative_rmse(loop.of_numbers(pixels_));
    time(loop, rate);
  }

  void measure(BackprojectionLoop& loop, ProductRate& rate) const {
    rate.relative_rmse = adjoint_.relative_rmse(loop.of_numbers(voxels_));
    time(loop, rate);
  }

  void time(auto& loop, ProductRate& rate) const {
    rate.times = repeat(
        loop.slab(), [&] { loop.run(); }, seconds_);
    rate.bytes = loop.bytes();
  }

  Device device_;
  Projector::Named projector_;
  double seconds_;
  Scan scan_;
  std::vector<Index3> pixels_, voxels_;
  ExactValues projection_, adjoint_;
};

}  // namespace

std::vector<std::string> matrix_modes() {
  return {matrix_mode, half_mode, symmetric_mode, matrix_mode + in_float32, symmetric_mode + in_float32,
          slices_mode, rays_mode};
}

const MatrixRate* MatrixTimes::fastest_unstored() const {
  const MatrixRate* fastest = nullptr;
  for (const MatrixRate& rate : rates)
    if (!rate.stored && (fastest == nullptr || rate.seconds() < fastest->seconds())) fastest = &rate;
  return fastest;
}

std::optional<double> MatrixTimes::break_even(const MatrixRate& stored) const {
  const double gain = fastest_unstored()->seconds() - stored.seconds();
  if (gain <= 0) return std::nullopt;
  return std::ceil(stored.build_seconds() / gain);
}

std::string lack_of(const std::string& mode, const MatrixProblem& problem, const Device& device) {
  if (mode == slices_mode && problem.projector != Projector::joseph) return "for the projector joseph only";
  if (!takes_units(mode)) return {};
  if (const std::string reason = matrix_units_variant().reason_not(device.info()); !reason.empty()) return reason;
  const Finding found = check_variant(matrix_units_variant(), device);
  return found.verdict == Verdict::wrong ? found.text() : "";
}

MatrixTimes time_products(const Device& device, const MatrixProblem& problem, std::size_t slices,
                          const std::vector<std::string>& modes, double seconds, const Progress& progress) {
  MatrixTimes times;
  times.problem = problem;
  times.slices = slices;
  const ProductTimer timer(device, problem, slices, seconds);
  double done = 0;
  for (const std::string& mode : modes) {
    check_interrupt();
    if (progress)
      progress({"bench", done++, static_cast<double>(modes.size()),
                fmt::format("{}, {} slices, {}", problem.text(), slices, mode)});
    std::string lack = lack_of(mode, problem, device);
    try {
      if (lack.empty()) times.rates.push_back(timer.run(mode));
    } catch (const PlanError& error) {
      lack = error.what();
    } catch (const InputError& error) {
      lack = error.what();
    }
    if (!lack.empty()) times.left_out.push_back(left_out(mode, lack));
  }
  if (!times.rates.empty()) times.copy_bandwidth = timer.copy_bandwidth(times.rates);
  return times;
}

}  // namespace halocline
