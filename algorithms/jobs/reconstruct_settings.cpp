#include "algorithms/jobs/reconstruct_settings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "algorithms/jobs/counts_settings.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

const char* const weights_group = "Weights of the rays";
const char* const objective_group = "The objective: 1/2 sum w (A x - b)^2 + lambda sum |grad x|";
const char* const run_end_group = "End of the run";

std::string methods_text() {
  std::string text;
  for (const SolverMethod& method : solver_methods())
    text += fmt::format("{}{}: {} ({} passes)", text.empty() ? "" : "; ", method.name, method.about, method.passes);
  return text;
}

void add_method(Settings& settings, ReconstructSettings& reconstruct) {
  auto& p = reconstruct.parameters;
  settings.add("method", p.method, methods_text()).one_of(reconstruction_methods());
  settings
      .add("iterations", p.passes,
           "At most so many passes: a projection and a back-projection of all views each. Default: by the method")
      .whole_from(1, 1000000)
      .initial("")
      .unit("N");
  settings
      .add("init", reconstruct.init,
           "Begin with fdk, with zero, or with a volume of the same size. Default: fdk of methods with a penalty, of "
           "`method = fdk` and with `precondition = ramp`, else zero")
      .unit("fdk|zero|FILE");
  settings.add("subsets", p.subsets, "Of the views, for methods that go through them. Default: by the method")
      .whole_from(1, 1000000)
      .initial("")
      .unit("S");
  settings.add("seed", p.seed, "spdhg: of the order of the subsets, up to 2^64 - 1").unit("N");
  add_ray_settings(settings, reconstruct.rays, "Line integrals and their exact adjoint by this method");
  settings
      .add(
          "interpolation", reconstruct.interpolation,
          "hardware: methods with a penalty, and ba-gmres, project in the GPU's texture units, with the exact adjoint; "
          "the certificate goes by exact projections all the same")
      .one_of({"exact", "hardware"});
  settings
      .add(
          "operator", reconstruct.operator_form,
          "matrix: of scans whose rays run within slices, the system matrix is stored in half precision, by the matrix "
          "units of NVIDIA's GPUs or in float32. matrix-half: these round images and sinograms to half precision, too, "
          "which suits noisy data of many slices. symmetric: an eighth of the matrix, where the scan has the symmetry "
          "of a square; for few slices. auto: matrix from 16 slices on, symmetric of fewer, where passes make up for "
          "storing it; else rays")
      .one_of(operator_form_names());
  settings.add("relaxation", p.relaxation, "How far each step goes, between 0 and 2").unit("W");
  settings
      .add(
          "precondition", reconstruct.precondition,
          "cgls: ramp filters the slices of the gradient, so that 5 passes from fdk do what 20 do without. Noise comes "
          "back as soon")
      .one_of(preconditioner_names());
  settings
      .add(
          "tolerance", p.tolerance,
          "Least squares: end when the normal residual |A^T W (b - A x)| is so small a part of |A^T W b|. Default: all "
          "passes")
      .between(0, 1)
      .initial("")
      .unit("T");
}

void add_objective(Settings& settings, ReconstructSettings& reconstruct) {
  settings
      .add(
          "lambda", reconstruct.lambda,
          "Strength of the total variation; the gradient is in 1/mm. Default: what predicts left-out views best, which "
          "takes as long as 25 to 50 passes")
      .positive()
      .unit("L")
      .group(objective_group);
  settings.add("alpha", reconstruct.alpha, "The same as `lambda = 1/A`, as denoise has it")
      .positive()
      .excludes("lambda")
      .unit("A")
      .group(objective_group);
  settings
      .add("gap", reconstruct.parameters.gap,
           "End when the objective is certain to lie less than this part of itself above its minimum; 0: after all "
           "passes")
      .between(0, 1)
      .unit("G")
      .group(objective_group);
  add_penalty_settings(settings, reconstruct.penalty, reconstruct.parameters.regulariser,
                       "Other penalties than plain total variation, and bounds");
}

void add_weights(Settings& settings, ReconstructSettings& reconstruct) {
  settings
      .add("photons", reconstruct.photons,
           "Photons of the open beam in a pixel: the counts of line integrals p are then N exp(-p), and with `counts` "
           "those of the beam are N")
      .positive()
      .unit("N")
      .group(weights_group);
  settings.add("electronic", reconstruct.electronic, "Standard deviation of the detector's own noise, in photons")
      .not_negative()
      .unit("S")
      .group(weights_group);
  settings.add("no-weights", reconstruct.no_weights, "All rays count alike, with `counts`, too").group(weights_group);
}

void add_end(Settings& settings, ReconstructSettings& reconstruct) {
  settings
      .add("time-limit", reconstruct.time_limit,
           "End after so many seconds of iterations with what there is then. Default: none")
      .positive()
      .initial("")
      .unit("S")
      .group(run_end_group);
  settings
      .add("keep-partial", reconstruct.keep_partial,
           "At Ctrl-C or SIGTERM, write what there is (the exit code is 1 all the same)")
      .group(run_end_group);
}

}  // namespace

bool ReconstructSettings::weighted(bool given) const {
  if (no_weights) return false;
  return given || photons || (counts && solver_method(parameters.method).weights);
}

// Pixels that are put together count for all of them; the calibration's counts are those of such pixels already.
WeightsOfCounts ReconstructSettings::weights_of(const VolumeSource& line_integrals,
                                                const CountsCalibration* calibration, double pixels) const {
  return {line_integrals, photons ? pixels * *photons : open_beam(*calibration), std::sqrt(pixels) * electronic};
}

void add_reconstruct_settings(Settings& settings, ReconstructSettings& reconstruct, CountsOptions& counts) {
  add_method(settings, reconstruct);
  add_objective(settings, reconstruct);
  add_weights(settings, reconstruct);
  add_counts_flag(settings, reconstruct.counts, counts);
  add_end(settings, reconstruct);
}

void take_reconstruct_settings(ReconstructSettings& reconstruct, const ReconstructArrays& given) {
  auto& p = reconstruct.parameters;
  p.hardware_interpolation = reconstruct.interpolation == "hardware";
  p.precondition = preconditioner_from_name(reconstruct.precondition);
  p.operator_form = operator_form_from_name(reconstruct.operator_form);
  if (reconstruct.lambda) p.lambda = *reconstruct.lambda;
  if (reconstruct.alpha) p.lambda = 1 / *reconstruct.alpha;
  reconstruct.penalty.put_into(p.regulariser, "spdu", given.reference);
  if (reconstruct.chooses_lambda()) p.lambda = 1;  // until it is chosen
  if (given.weights && (reconstruct.photons || reconstruct.electronic > 0 || reconstruct.no_weights))
    throw InputError(
        "`weights` excludes `photons`, `electronic` and `no_weights`, which say how rays are weighted, too");
  if (reconstruct.photons && !solver_method(p.method).weights)
    throw InputError(fmt::format(
        "`photons` weights the rays, and {} takes no weights; leave it out, or take a method that does, such "
        "as spdhg or cgls",
        p.method));
  if (reconstruct.electronic > 0 && !reconstruct.photons && !reconstruct.counts)
    throw InputError("`electronic` needs counts: give `counts`, or `photons` for line integrals");
  p.gap_map = given.gap_map;
  check_parameters(
      p, {reconstruct.weighted(given.weights), reconstruct.start() != "zero", reconstruct.starts_from_image()});
}

}  // namespace halocline
