// halocline slices
#include <fmt/format.h>

#include <memory>
#include <numeric>

#include "algorithms/fdk/half_scan.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "apps/commands/slices_work.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/report.hpp"
#include "apps/options/chosen_scan.hpp"
#include "apps/options/counts_report.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/output_type.hpp"

namespace halocline {
namespace {

std::vector<std::size_t> numbers_of(Range views) {
  std::vector<std::size_t> numbers(static_cast<std::size_t>(views.count()));
  std::iota(numbers.begin(), numbers.end(), static_cast<std::size_t>(views.begin));
  return numbers;
}

Volume part_of(const Volume& projections, Range views) {
  return select_views(projections, numbers_of(views));
}

void run_slices(Job& job, const SlicesCommand& command) {
  if (command.follow) return follow_slices(job, command);
  command.noise.check(command.counts);
  const ImageInfo info = job.input_image("-i", command.input);
  SlicesWork work = choose_slices(job, command, &info);
  work.input = info;
  place_projections(job, command, work);
  const Device& device = slices_device(job, work, false, grid_bytes(work.stack) + grid_bytes(work.window_stack()));
  if (job.dry_run()) return print_slices(job, work);
  const ChosenScan input =
      read_chosen(job, work.chosen, work.input, command.input, command.counts_arguments, command.counts);
  warn_of_projections(command, work, input.projections, command.counts ? &input.calibration : nullptr);
  report_windows(job, work, work.windows.size());
  const Progress progress = job.run_options().progress;
  for (const Quantity& quantity : work.quantities) {
    SliceWindows windows(job, command, work, quantity, device);
    while (windows.done() < work.windows.size()) {
      const Range fresh = windows.fresh();
      const auto& beams = input.calibration.beams;
      windows.add(part_of(input.projections, fresh), &input.calibration,
                  beams.empty() ? beams : std::vector<float>(beams.begin() + fresh.begin, beams.begin() + fresh.end));
      if (progress)
        progress({quantity.name, static_cast<double>(windows.done()), static_cast<double>(work.windows.size()), {}});
    }
    write_windows(job, command, work, quantity, windows.take_stacks(work.windows.size()), device);
    if (command.counts && !quantity.parameters.variance)
      job.say(fmt::format("  from {}: {}{}", command.input, work.chosen.whole ? "" : "of the whole scan, ",
                          counts_summary(input.calibration)));
  }
}

void add_window_options(Settings& settings, const std::shared_ptr<SlicesCommand>& command) {
  const std::string scan = "Windows that move along the scan";
  settings
      .add("views", command->views,
           "Reconstruct from so many views at a time. Default: all. Windows that move must be full circles "
           "(parallel beam: half circles)")
      .whole_from(1)
      .unit("N")
      .group(scan);
  settings
      .add("step", command->step,
           "Once so many new views are there, let them take the place of the oldest and reconstruct again. "
           "Default: as many as --views")
      .whole_from(1)
      .unit("M")
      .group(scan);
  settings
      .add("follow", command->follow,
           "Work while the scan goes on: wait for its files, one view each, and write the slices "
           "again for each window. Takes --size and --spacing, or --like. See below")
      .group(scan);
  settings
      .add("wait", command->wait,
           "With --follow: end if the next view does not come, or grow, for so long; 0.5 s at least")
      .positive()
      .needs("follow")
      .unit("SECONDS")
      .group(scan);
}

}  // namespace

std::unique_ptr<Command> slices_command() {
  auto sub = std::make_unique<Command>(
      "slices", "Reconstruct a few slices by filtered back-projection, again and again as a scan goes on (quasi-3D)");
  Settings& settings = sub->settings;
  auto command = std::make_shared<SlicesCommand>();
  add_input(
      settings, command->input,
      "Projections (u, v, view): line integrals, or with --counts counts. With --follow a series, one file a view");
  add_geometry_option(settings, command->geometry);
  add_detector_options(settings, command->projections);
  add_grid_options(settings, command->grid, true);
  const std::string slices = "Slices through that volume";
  settings
      .add("plane", command->planes,
           "Comma list of axial (across k, the rotation axis), coronal (across j) and sagittal "
           "(across i); their pixels lie as the voxels do")
      .unit("LIST")
      .group(slices);
  settings
      .add_list(
          "normal", command->normal, "X,Y,Z", Numbers::any,
          "One oblique slice instead, perpendicular to this direction in the world; its square pixels are as wide as "
          "the narrowest voxel and cover the volume")
      .excludes("plane")
      .group(slices);
  settings
      .add_list(
          "position", command->position, "X,Y,Z", Numbers::any,
          "World position in mm that all slices go through. Default: the middle of the volume, which lies between two "
          "voxels where their number is even")
      .group(slices);
  add_window_options(settings, command);
  add_filter_settings(settings, command->filter, false);
  add_counts_flag(settings, command->counts, command->counts_arguments.options);
  add_noise_settings(settings, command->noise);
  add_counts_files(settings, command->counts_arguments);
  add_variance_option(
      settings, command->noise,
      "Also write the variance of each slice's pixels, 1/mm^2, or HU^2, in files as for -o; all is then "
      "filtered twice",
      "A,B,C");
  settings
      .add("output", command->outputs,
           std::string("An image of attenuations, 1/mm, or HU with --hu, for each slice in the order of "
                       "--plane, with commas between; each window gives a layer") +
               slice_files_help)
      .named("-o,--output")
      .required()
      .unit("A,B,C")
      .file(FileKind::image, true, true);
  add_water_option(settings, command->water);
  sub->footer =
      "Projections are uploaded and filtered once and stay on the device; all slices share them. A slice on a plane of "
      "the volume's voxels has the\nbits that fdk would give them (exact interpolation).\nExample:\n  halocline slices "
      "-i projections.mha --geometry geometry.xml --size 128,128,128 --spacing 1.5,1.5,1.5 --views 360 --step 30 -o "
      "axial.mha,coronal.mha,sagittal.mha\n\n"
      "A scan that goes on (--follow): -i is a folder of TIFF files or a pattern, 'scan/p*.tif' or 'scan/p_%04d.tif', "
      "of "
      "which nothing need\nbe there yet; --geometry has all views that are planned. Files are taken in the order of "
      "their names: with %04d each number is\nwaited for, with * one that comes after later ones is refused. A file is "
      "taken if it can be read, and if a later one is there or it\nhas not changed for 0.25 s; a program that leaves "
      "files half written for longer had better give them another name (p_0001.part)\nuntil they are whole. What was "
      "taken may be moved away.\nMeanwhile -o (and --variance-out) hold the slices of the newest window, replaced "
      "whole "
      "at once; in the end, and after Ctrl-C, --wait or an\nerror, a layer for each window, with the bits that the "
      "same "
      "command gives without --follow. Bad pixels (of --counts) and rings\n(--reduce-rings) are those that the first "
      "window shows, so the bits are the same without rings and with --bad-pixels, or if later views\nshow no others; "
      "--air is looked at in every view.\n  "
      "halocline slices --follow -i 'scan/p_%04d.tif' --pixel 0.2,0.2 --geometry geometry.xml --size 512,512,512 "
      "--spacing 0.1,0.1,0.1 --views 720\n      --step 36 -o axial.mha,coronal.mha,sagittal.mha";
  sub->run = [command](Job& job) {
    take_white_level(job, command->counts, command->geometry, command->counts_arguments);
    run_slices(job, *command);
  };
  return sub;
}

}  // namespace halocline
