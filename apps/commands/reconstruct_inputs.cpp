#include "apps/commands/reconstruct_inputs.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "algorithms/checks/suspicious_projections.hpp"
#include "algorithms/checks/visibility.hpp"
#include "algorithms/solvers/fdk_start.hpp"
#include "algorithms/solvers/ray_weights.hpp"
#include "apps/commands/projector_tables.hpp"
#include "apps/images/image_file.hpp"
#include "apps/job/report.hpp"
#include "apps/options/chosen_scan.hpp"
#include "apps/options/counts_report.hpp"
#include "apps/options/file_names.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/scan_grid.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"
#include "host/volume/typed_volume.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/rank_rows.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

void require_size(const Grid& found, const Grid& wanted, const std::string& option, const std::string& path,
                  const char* of) {
  if (found.size == wanted.size) return;
  const auto text = [](const Grid& grid) {
    return fmt::format("{} x {} x {}", grid.size[0], grid.size[1], grid.size[2]);
  };
  throw InputError({.what = fmt::format("{} '{}'", option, path),
                    .found = text(found) + " values",
                    .expected = fmt::format("those of {}, {}", of, text(wanted))});
}

// A volume to begin with or to be guided by has the place of the result. TIFF does not state its place.
void require_place(Job& job, const Grid& wanted, const std::string& option, const std::string& path) {
  const ImageInfo info = job.input_volume(option, path);
  require_size(info.grid, wanted, option, path, "the volume");
  if (!info.format.starts_with("TIFF"))
    require_same_grid(wanted, "the volume", info.grid, fmt::format("{} '{}'", option, path));
}

void claim_files(Job& job, const ReconstructCommand& command) {
  job.input("--geometry", command.geometry);
  job.input("--like", command.grid.like);
  job.output_image("-o", command.output);
  job.output_image("--gap-map", command.gap_map);
  require_svg("--plot", command.plot);
  job.output("--plot", command.plot);
}

// The side on which a displaced detector ends short shows no air.
Redundancy redundancy_seen(const Geometry& geometry, const Grid& stack) {
  try {
    return redundancy_of(geometry, stack);
  } catch (const InputError&) {  // scans that only filtered back-projection refuses
    return {};
  }
}

void warn_of(const VolumeSource& projections, const Geometry& geometry, const ReconstructCommand& command) {
  const std::string name = command.input_name();
  const auto found = suspicious_projections(projections, nullptr, redundancy_seen(geometry, projections.grid()), name);
  const std::string method = solver_method(command.parameters.method).name;
  if (!found.truncated.empty() && command.pad_volume == 0)
    spdlog::warn(
        "the object of {} reaches over the detector's edge: what lies outside the volume becomes a bright rim. "
        "--pad-volume MM reconstructs it, too; take --method spdhg with it",
        name);
  else if (!found.truncated.empty() &&
           (method == "sirt" || method == "os-sart" || method == "sart" || method == "cgls" || method == "lsqr"))
    spdlog::warn(
        "the object of {} reaches over the detector's edge: --method {} brings what only part of the views see to its "
        "values so slowly that the volume is about 10 % low after the usual passes; take --method spdhg",
        name, method);
  for (const std::string& text : {found.constant, found.unlike_integrals})
    if (!text.empty()) spdlog::warn("{}", text);
}

// More voxels on each side of the axes that do not follow the rotation axis, which is y.
void pad(ReconstructWork& work, double mm) {
  work.wanted = {{0, 0, 0}, work.grid.size};
  const Grid before = work.grid;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool across = std::abs(before.direction[3 + axis]) < 0.5;
    if (!across || before.size[axis] == 1) continue;
    work.wanted.first[axis] = static_cast<std::size_t>(std::ceil(mm / before.spacing[axis]));
    work.grid.size[axis] += 2 * work.wanted.first[axis];
  }
  const auto index = [&](std::size_t axis) { return -static_cast<double>(work.wanted.first[axis]); };
  work.grid.origin = before.world(index(0), index(1), index(2));
}

// Weights of the chosen part: those of binned pixels add up.
Volume chosen_weights(Job& job, const ReconstructCommand& command, const ReconstructWork& work) {
  Volume weights;
  if (work.chosen.whole) {
    weights = job.images().read(command.weights);
  } else {
    weights = take_part(*job.images().open(command.weights), work.chosen.frames.front());
    const auto pixels = static_cast<float>(work.chosen.pixels());
    for (float& weight : weights.voxels) weight *= pixels;
  }
  weights.grid = work.stack;
  return weights;
}

std::unique_ptr<VolumeSource> held(Volume volume) {
  return std::make_unique<TypedSource>(to_typed(std::move(volume)));
}

// The start; nullptr if fdk does not take the scan.
std::unique_ptr<VolumeSource> fdk_start(Job& job, const ReconstructWork& work, const VolumeSource& projections,
                                        const ReconstructionParameters& parameters, Range slices) {
  RunOptions options;
  options.plan = job.plan_options();
  FdkStart start = job.timed("fdk", [&] {
    return fdk_start(projections, work.geometry, work.grid, parameters, job.devices(), options, slices);
  });
  if (start.image)
    job.record(start.run, "fdk");
  else
    spdlog::warn("{}", start.why_not);
  return std::move(start.image);
}

// True if a rank reads the rows of Plan::rank_rows alone: not where a value depends on the whole scan, as calibrated
// counts, interpolated values and the choice of lambda do.
bool reads_rows(const ReconstructCommand& command, const ReconstructWork& work, const Plan& plan) {
  return !plan.rank_rows.empty() && work.chosen.whole && !command.counts && !command.allow_nonfinite &&
         !command.chooses_lambda() && is_read_in_pieces(command.input);
}

// True if a rank reads its slices of a volume alone; values that become 0 are counted in all of it.
bool reads_slices(const ReconstructCommand& command, const std::string& path) {
  return ranks().several() && !command.allow_nonfinite && is_read_in_pieces(path);
}

// A volume beside the projections, with these slices in host memory.
std::unique_ptr<VolumeSource> open_volume(Job& job, const ReconstructCommand& command, const std::string& path,
                                          Range slices) {
  if (path.empty()) return nullptr;
  if (!reads_slices(command, path)) return held(job.images().read(path));
  auto file = job.images().open(path);
  const Grid grid = file->grid(), rows{.size = {grid.slice(), grid.size[2], 1}};  // slices as the rows of a view
  auto here = job.images().hold_rows(std::make_unique<PlacedSource>(std::move(file), rows), slices);
  return std::make_unique<PlacedSource>(std::move(here), grid);
}

}  // namespace

ReconstructWork look_at_inputs(Job& job, ReconstructCommand& command) {
  ReconstructWork work;
  work.input = job.input_image("-i", command.input);
  command.allow_nonfinite = job.common().allow_nonfinite;
  work.chosen = choose_projections(command.projections, work.input, command.input_name(), command.geometry);
  check_counts_or_integrals(job, command.counts, command.counts_arguments, work.input, command.input);
  work.stack = work.chosen.stack();
  claim_files(job, command);
  const std::optional<Grid> stated = stated_grid(command.grid);
  const ScanFile scan = load_geometry(command.geometry, {}, DetectorPixels::of(work.chosen.file));
  check_view_count(work.chosen, command.projections, scan.geometry, command.input_name(), command.geometry_name());
  work.geometry = work.chosen.geometry(scan.geometry, 0);
  work.grid =
      stated ? *stated
             : make_grid(command.grid, [&] { return scan_grid(job, command.grid, scan, work.geometry, work.stack); });
  pad(work, command.pad_volume);
  check_projections(work.stack, command.input_name(), work.geometry, command.geometry_name(),
                    DetectorShape::flat_or_cylinder);
  require_seen(work.grid, "the volume", work.stack, command.input_name(), work.geometry);
  warn_of_unseen(work.grid, "the volume", work.stack, work.geometry);
  auto rays = choose_rays(command.rays, command.parameters.hardware_interpolation, work.geometry, work.grid,
                          "the volume", work.stack, table_numbers(job));
  work.geometry = std::move(rays.geometry);
  command.parameters.projector = rays.projector;
  if (!command.weights.empty())
    require_size(job.input_image("--weights", command.weights).grid, work.chosen.whole ? work.stack : work.chosen.file,
                 "--weights", command.weights, "the projections");
  if (command.starts_from_image()) require_place(job, work.grid, "--init", command.start());
  if (!command.reference.empty()) require_place(job, work.grid, "--reference", command.reference);
  if (!command.truth.empty()) require_place(job, work.grid, "--truth", command.truth);
  return work;
}

namespace {

void report_counts(Job& job, const ReconstructCommand& command, const ReconstructWork& work, const ChosenScan& scan) {
  if (command.counts)
    job.say(fmt::format("from {}: {}{}", command.input, work.chosen.whole ? "" : "of the whole scan, ",
                        counts_summary(scan.calibration)));
  const std::size_t rays = scan.replaced.count();
  if (rays == 0) return;
  job.results()["rays_not_measured"] = rays;
  job.say(fmt::format("{}: {} not measured and {}", command.input_name(), plural(rays, "ray was", "rays were"),
                      command.may_be_weighted()
                          ? "left out (weight 0)"
                          : fmt::format("interpolated, for {} takes no weights; cgls and spdhg, among others, leave "
                                        "such rays out",
                                        command.parameters.method)));
}

}  // namespace

Range slices_held_here(const Plan& plan) {
  Range slices;
  for (const SlabPlan& slab : plan.slabs)
    if (plan.is_here(slab.device))
      slices = slices.empty()
                   ? slab.extended
                   : Range{std::min(slices.begin, slab.extended.begin), std::max(slices.end, slab.extended.end)};
  return slices;
}

ReconstructVolumes::ReconstructVolumes(Job& job, const ReconstructCommand& command, const ReconstructWork& work,
                                       const Plan& plan) {
  if (reads_rows(command, work, plan))
    read_rows(job, command, work, plan.rows_of_rank(ranks().rank()));
  else
    read_whole(job, command, work);
  if (ranks().first()) warn_of(*projections_, work.geometry, command);  // of views that not all ranks have
  const std::string start = command.start();
  const Range slices = slices_held_here(plan);
  if (start == "fdk")
    start_ = fdk_start(job, work, *projections_, command.parameters, slices);
  else if (command.starts_from_image())
    start_ = open_volume(job, command, start, slices);
  near_minimum_ = command.starts_from_image();
  reference_ = open_volume(job, command, command.reference, slices);
  truth_ = open_volume(job, command, command.truth, slices);
}

void ReconstructVolumes::read_rows(Job& job, const ReconstructCommand& command, const ReconstructWork& work,
                                   Range rows) {
  const auto hold = [&](std::unique_ptr<VolumeSource> source) {
    return job.images().hold_rows(std::move(source), rows);
  };
  const auto at_stack = [&](std::unique_ptr<VolumeSource> file) {
    return std::make_unique<PlacedSource>(std::move(file), work.stack);
  };
  projections_ = hold(at_stack(open_line_integrals(job, command.counts_arguments, command.input)));
  if (!command.weights.empty())
    weights_ = hold(at_stack(job.images().open(command.weights)));
  else if (command.weighted())
    weights_ = hold(std::make_unique<WeightsOfCounts>(command.weights_of(*projections_, nullptr)));
}

void ReconstructVolumes::read_whole(Job& job, const ReconstructCommand& command, const ReconstructWork& work) {
  ChosenScan scan = read_chosen(job, work.chosen, work.input, command.input, command.counts_arguments, command.counts);
  if (command.counts) counts_to_line_integrals(scan.projections, scan.calibration, command.input_name());
  report_counts(job, command, work, scan);
  scan.projections.grid = work.stack;
  projections_ = held(std::move(scan.projections));
  std::optional<Volume> weights;
  if (!command.weights.empty())
    weights = chosen_weights(job, command, work);
  else if (command.weighted())
    weights = read_volume(command.weights_of(*projections_, &scan.calibration, work.chosen.pixels()));
  else if (command.may_be_weighted() && !scan.replaced.empty())
    weights = Volume(work.stack, 1);
  if (!weights) return;
  withhold_unmeasured(scan, work.chosen, *weights);
  weights_ = held(std::move(*weights));
}

ReconstructionInputs ReconstructVolumes::inputs() const {
  return {projections_.get(), weights_.get(), start_.get(), reference_.get(), near_minimum_, truth_.get()};
}

double ReconstructVolumes::bytes(const ReconstructCommand& command, const ReconstructWork& work, const Plan& plan) {
  const double volume = grid_bytes(work.grid), stack = grid_bytes(work.stack),
               slices = volume * static_cast<double>(slices_held_here(plan).count()) /
                        static_cast<double>(plan.requirements.slices().count());
  const auto of_file = [&](const std::string& path) {
    return path.empty() ? 0 : reads_slices(command, path) ? slices : volume;
  };
  const bool rows = reads_rows(command, work, plan);
  const double beneath = rows && !command.weights.empty() && !is_read_in_pieces(command.weights) ? stack : 0;
  return (rows ? share_of_rows(plan, ranks().rank()) : 1) * (command.may_be_weighted() ? 2 : 1) * stack + beneath +
         (command.starts_from_image() ? of_file(command.start())
          : command.start() == "zero" ? 0
                                      : slices) +
         of_file(command.reference) + of_file(command.truth);
}

}  // namespace halocline
