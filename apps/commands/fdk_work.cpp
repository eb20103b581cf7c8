#include "apps/commands/fdk_work.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <set>

#include "algorithms/checks/view_count.hpp"
#include "apps/options/file_names.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/scan_grid.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// Splits the scan, and makes sure that each half can be reconstructed.
void prepare_halves(const FdkCommand& command, const FdkWork& work, FdkFrame& frame) {
  try {
    const auto halves = half_scans(frame.geometry);
    frame.halves.assign(halves.begin(), halves.end());
    for (int n = 0; n < 2; ++n)
      check_fdk(frame.halves[n].geometry, work.half_stack(frame.halves[n]), work.grid, command.input_name(),
                fmt::format("the {} views of '{}'", half_names[n], command.geometry), work.attenuation.redundancy);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("--halves-out: {}; half of the views are too few, so leave --halves-out out", error.what()));
  }
}

// A warning of too few views for the grid, or of halves that have too few; empty: neither.
std::string sparse_views(const FdkCommand& command, const FdkWork& work, const FdkFrame& frame) {
  const auto warning = [&](const Geometry& geometry, const Grid& stack, const std::string& name) {
    return too_few_views(view_count(geometry, stack, work.grid, work.attenuation.redundancy), name);
  };
  if (auto text = warning(frame.geometry, work.stack, command.geometry_name()); !text.empty()) return text;
  for (const HalfScan& half : frame.halves)
    if (const auto text = warning(half.geometry, work.half_stack(half), "--halves-out, each half"); !text.empty())
      return text + "; an alpha chosen by the halves is less certain for it";
  return {};
}

// Claims the outputs of frame `n`.
FdkFrame claim_frame(Job& job, const FdkCommand& command, std::size_t n) {
  const auto claimed = [&](const std::string& option, const std::string& path) {
    const std::string name = path.empty() || !command.projections.views_per_frame ? path : numbered(option, path, n);
    job.output_image(option, name);
    return name;
  };
  FdkFrame frame;
  frame.output = claimed("-o", command.output);
  frame.variance_output = claimed("--variance-out", command.noise.output);
  frame.undenoised_output = claimed("--undenoised", command.denoise.undenoised);
  if (command.halves_output.empty()) return frame;
  const auto halves = parse_pair("--halves-out", command.halves_output);
  for (int half = 0; half < 2; ++half) frame.half_outputs[half] = claimed("--halves-out", halves[half]);
  return frame;
}

ImageStorage output_storage(const FdkCommand& command) {
  const ImageStorage storage{component_named(command.output_type), {}};
  if (is_integer(storage.component) && !command.water)
    throw InputError(fmt::format(
        "--output-type {}: attenuations in 1/mm are fractions; give --hu WATER with whole numbers, or float32",
        command.output_type));
  check_storage(command.output, storage);
  return storage;
}

// Notes of check_fdk(); its error names --crop if the whole detector would do.
std::vector<std::string> check_frame(const FdkCommand& command, const FdkWork& work, std::size_t n) {
  const auto check = [&](const Grid& stack) {
    return check_fdk(work.frames[n].geometry, stack, work.grid, command.input_name(), command.geometry_name(),
                     work.attenuation.redundancy);
  };
  std::string why;
  try {
    return check(work.stack);
  } catch (const InputError& error) {
    if (!command.projections.crop) throw;
    why = error.what();
  }
  ProjectionPart part = work.chosen.frames[n];
  part.first = {0, 0};
  part.size = {work.chosen.file.size[0], work.chosen.file.size[1]};
  try {
    check(part_grid(work.chosen.file, part));
  } catch (const InputError&) {
    throw InputError(why);
  }
  throw InputError(fmt::format("{}; but for --crop {} it could be reconstructed, so leave more of the detector", why,
                               fmt::join(*command.projections.crop, ",")));
}

// Files, and the projections that are taken of them.
void take_files(Job& job, const FdkCommand& command, FdkWork& work) {
  work.input = job.input_image("-i", command.input);
  work.chosen = choose_projections(command.projections, work.input, command.input_name(), command.geometry);
  check_counts_or_integrals(job, command.counts, command.counts_arguments, work.input, command.input);
  work.stack = work.chosen.stack();
  work.storage = output_storage(command);
  job.input("--geometry", command.geometry);
  job.input("--like", command.grid.like);
  job.input("--filter", command.filter.filter_file);
  for (std::size_t n = 0; n < work.chosen.frames.size(); ++n) work.frames.push_back(claim_frame(job, command, n));
}

// The views of the scan and the grid of the volume.
Geometry take_geometry(Job& job, const FdkCommand& command, FdkWork& work) {
  const std::optional<Grid> stated = stated_grid(command.grid);
  ScanFile scan = load_geometry(command.geometry, {}, DetectorPixels::of(work.chosen.file));
  check_view_count(work.chosen, command.projections, scan.geometry, command.input_name(), command.geometry_name());
  work.attenuation = command.filter.parameters();
  work.grid = stated ? *stated : make_grid(command.grid, [&] {
    return scan_grid(job, command.grid, scan, work.chosen.geometry(scan.geometry, 0), work.stack,
                     work.attenuation.redundancy);
  });
  work.attenuation.log_notes = false;  // notes on the halves' geometries would repeat those on the whole
  return std::move(scan.geometry);
}

// Gives each frame its views. Returns notes on doubtful views of all and of each.
std::vector<std::string> check_frames(const FdkCommand& command, const Geometry& views, FdkWork& work) {
  // All frames are checked at once, in the numbers of the file: a wrong view is then reported once, under the right
  // one.
  const auto taken = work.chosen.views(views);
  std::vector<std::string> notes =
      check_fdk_views(select_views(views, taken), work.grid, command.geometry_name(), taken);
  for (std::size_t n = 0; n < work.frames.size(); ++n) {
    FdkFrame& frame = work.frames[n];
    frame.geometry = work.chosen.geometry(views, n);
    const auto of_frame = check_frame(command, work, n);
    notes.insert(notes.end(), of_frame.begin(), of_frame.end());
    if (!command.halves_output.empty()) prepare_halves(command, work, frame);
    if (auto note = sparse_views(command, work, frame); !note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

// Adds the parameters of counts and of the variance of noise.
void complete_parameters(const FdkCommand& command, FdkWork& work) {
  if (command.counts)
    work.attenuation.counts = {nullptr,
                               work.chosen.whole && work.input.component == "uint16" && work.input.scaling.identity()
                                   ? Component::uint16
                                   : Component::float32};
  work.variance = work.attenuation;
  if (command.noise.wanted()) work.variance.variance = command.noise.noise(command.counts, work.chosen.pixels());
}

}  // namespace

const char* FdkWork::beam() const {
  if (frames.front().geometry.fan_stack()) return "stack of fans";
  return frames.front().geometry.parallel() ? "parallel beam" : stack.size[1] == 1 ? "fan beam" : "cone beam";
}

Grid FdkWork::half_stack(const HalfScan& half) const {
  Grid result = stack;
  result.size[2] = half.views.size();
  return result;
}

std::string half_name(std::size_t half) {
  return fmt::format("{} views", half_names[half]);
}

FdkWork prepare_fdk(Job& job, const FdkCommand& command) {
  command.noise.check(command.counts);
  FdkWork work;
  take_files(job, command, work);
  const Geometry views = take_geometry(job, command, work);
  std::set<std::string> warned;
  for (const auto& note : check_frames(command, views, work))
    if (warned.insert(note).second) spdlog::warn("{}", note);
  const Geometry& first = work.frames.front().geometry;
  const auto shared = redundancy_of(first, work.stack, work.attenuation.redundancy, command.geometry_name()).kind;
  warn_of_coverage(job, first, work.stack, work.grid, shared == Redundancy::Kind::wang, leaves_grid(command.grid));
  complete_parameters(command, work);
  return work;
}

}  // namespace halocline
