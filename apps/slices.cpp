// halocline slices
#include "algorithms/slices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <numeric>

#include "algorithms/half_scan.hpp"
#include "algorithms/hounsfield.hpp"
#include "algorithms/slice_planes.hpp"
#include "algorithms/suspicious_projections.hpp"
#include "apps/chosen_scan.hpp"
#include "apps/counts_options.hpp"
#include "apps/filter_options.hpp"
#include "apps/geometry_file.hpp"
#include "apps/grid_options.hpp"
#include "apps/job.hpp"
#include "apps/noise_options.hpp"
#include "apps/output_type.hpp"
#include "apps/projection_options.hpp"
#include "apps/report.hpp"
#include "apps/subcommands.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"
#include "host/plural.hpp"

namespace halocline {
namespace {

struct SlicesCommand {
  std::string input, geometry, planes = "axial,coronal,sagittal", outputs;
  ProjectionOptions projections;  // but for the views
  GridOptions grid;
  FilterOptions filter;
  bool counts = false;
  CountsArguments counts_arguments;
  NoiseOptions noise;
  std::optional<double> water;
  std::optional<std::array<double, 3>> position, normal;
  std::optional<std::size_t> views, step;
};

// What is made of each slice: attenuations, or their variance.
struct Quantity {
  std::string name, unit;
  FdkParameters parameters;
  std::vector<std::string> outputs;
};

struct SlicesWork {
  ImageInfo input;
  ChosenProjections chosen;
  Geometry geometry;
  Grid stack, volume;
  std::vector<Quantity> quantities;
  std::vector<std::string> names;
  std::vector<Grid> slices;
  std::vector<Range> windows;
  std::size_t pixels = 0;
};

constexpr const char* plane_names[] = {"sagittal", "coronal", "axial"};  // across i, j, k

std::vector<std::string> comma_list(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    const auto end = std::min(list.find(',', at), list.size());
    words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

void choose_slices(const SlicesCommand& command, SlicesWork& work) {
  const auto position = command.position.value_or(centre_of(work.volume));
  if (command.normal) {
    work.names = {"oblique"};
    work.slices = {oblique_plane(work.volume, position, *command.normal)};
  } else {
    work.names = comma_list(command.planes);
    for (const auto& name : work.names) {
      const auto found = std::find(std::begin(plane_names), std::end(plane_names), name);
      if (found == std::end(plane_names))
        throw InputError(
            fmt::format("--plane has \"{}\"; expected some of axial, coronal, sagittal with commas between", name));
      work.slices.push_back(plane_across(work.volume, static_cast<int>(found - plane_names), position));
    }
  }
  for (const Grid& slice : work.slices) work.pixels += slice.count();
}

// One file a slice.
std::vector<std::string> claim_outputs(Job& job, const std::string& option, const std::string& list,
                                       const SlicesWork& work) {
  const auto outputs = comma_list(list);
  if (outputs.size() != work.slices.size())
    throw InputError(fmt::format("{} has {} file{} for {} slice{} ({}): give one a slice, with commas between", option,
                                 outputs.size(), outputs.size() == 1 ? "" : "s", work.slices.size(),
                                 work.slices.size() == 1 ? "" : "s", fmt::join(work.names, ", ")));
  for (const auto& path : outputs) job.output_image(option, path);
  return outputs;
}

SlicesWork prepare(Job& job, const SlicesCommand& command) {
  check_noise_options(command.noise, command.counts);
  SlicesWork work;
  const std::string input = "'" + command.input + "'", geometry = "'" + command.geometry + "'";
  work.input = job.input_image("-i", command.input);
  work.chosen = choose_projections(command.projections, work.input, input);
  if (command.counts)
    check_counts_arguments(job, command.counts_arguments, work.input, command.input);
  else
    warn_of_counts(work.input, command.input, "give --counts");
  work.stack = work.chosen.stack();
  job.input("--geometry", command.geometry);
  job.input("--like", command.grid.like);
  work.volume = make_grid(command.grid);
  choose_slices(command, work);
  FdkParameters parameters = fdk_parameters(command.filter);
  if (command.counts) parameters.counts = FdkParameters::Counts{};
  const std::string unit = command.water ? "HU" : "1/mm";
  work.quantities.push_back({"slices", unit, parameters, claim_outputs(job, "-o", command.outputs, work)});
  if (command.noise.wanted()) {
    parameters.variance = noise_of(command.noise, command.counts, work.chosen.pixels());
    work.quantities.push_back(
        {"variance", unit + "^2", parameters, claim_outputs(job, "--variance-out", command.noise.output, work)});
  }
  work.geometry = load_geometry(command.geometry, {}, DetectorPixels::of(work.chosen.file)).geometry;
  check_projections(work.stack, input, work.geometry, geometry, DetectorShape::flat_or_cylinder);
  if (command.step && !command.views) throw InputError("--step is between windows of --views views, which is missing");
  const std::size_t all = work.stack.size[2], window = command.views.value_or(all);
  work.windows = windows_of(all, window, command.step.value_or(window));
  for (const auto& note : check_windows(work.geometry, work.stack, work.volume, work.quantities.front().parameters,
                                        work.windows, input, geometry))
    spdlog::warn("{}", note);
  return work;
}

std::vector<std::size_t> numbers_of(Range views) {
  std::vector<std::size_t> numbers(static_cast<std::size_t>(views.count()));
  std::iota(numbers.begin(), numbers.end(), static_cast<std::size_t>(views.begin));
  return numbers;
}

Volume part_of(const Volume& projections, Range views) {
  return select_views(projections, numbers_of(views));
}

// One layer a window.
std::vector<Volume> stacks_of(const SlicesWork& work) {
  std::vector<Volume> stacks;
  for (Grid grid : work.slices) {
    grid.size[2] = work.windows.size();
    stacks.push_back(Volume::uninitialised(grid));
  }
  return stacks;
}

void warn_of_projections(const SlicesCommand& command, const SlicesWork& work, const ChosenScan& input) {
  const FdkParameters& parameters = work.quantities.front().parameters;
  Grid window = work.stack;
  window.size[2] = static_cast<std::size_t>(work.windows.front().count());
  const auto redundancy = redundancy_of(views_of(work.geometry, work.windows.front()), window, parameters.redundancy);
  const auto found =
      suspicious_projections(MemorySource(input.projections), command.counts ? &input.calibration : nullptr, redundancy,
                             "'" + command.input + "'");
  if (!found.constant.empty()) spdlog::warn("{}", found.constant);
  if (!found.truncated.empty() && parameters.pad == 0) spdlog::warn("{}", found.truncated);
}

// All slices of all windows.
std::vector<Volume> reconstruct(Job& job, const SlicesWork& work, const Quantity& quantity, const ChosenScan& input,
                                const Device& device) {
  auto stacks = stacks_of(work);
  std::unique_ptr<Slices> slices;
  const Progress progress = job.run_options().progress;
  for (std::size_t n = 0; n < work.windows.size(); ++n) {
    const Range window = work.windows[n];
    job.timed("filter", [&] {
      if (n == 0) {
        FdkParameters parameters = quantity.parameters;
        CountsCalibration calibration;
        if (parameters.counts) {
          calibration = input.calibration.of_views(numbers_of(window));
          parameters.counts->calibration = &calibration;
        }
        slices = std::make_unique<Slices>(device, part_of(input.projections, window), views_of(work.geometry, window),
                                          work.volume, parameters, work.pixels);
      } else {
        const Range fresh{work.windows[n - 1].end, window.end};
        const auto& beams = input.calibration.beams;
        slices->add(part_of(input.projections, fresh), views_of(work.geometry, fresh),
                    beams.empty() ? beams : std::vector<float>(beams.begin() + fresh.begin, beams.begin() + fresh.end));
      }
    });
    const auto found = job.timed(quantity.name, [&] { return slices->reconstruct(work.slices); });
    for (std::size_t slice = 0; slice < found.size(); ++slice)
      std::copy(found[slice].voxels.begin(), found[slice].voxels.end(),
                stacks[slice].voxels.begin() + static_cast<std::ptrdiff_t>(n * found[slice].voxels.size()));
    if (progress) progress({quantity.name, static_cast<double>(n + 1), static_cast<double>(work.windows.size()), {}});
  }
  return stacks;
}

void in_hounsfield_units(std::vector<Volume>& stacks, double water, bool variance) {
  for (Volume& stack : stacks) {
    MemorySink memory(stack);
    HounsfieldSink(memory, water, variance).write(0, stack.voxels.size(), stack.voxels.data());
  }
}

void run_slices(Job& job, const SlicesCommand& command) {
  const SlicesWork work = prepare(job, command);
  if (job.devices().size() != 1)
    throw InputError(fmt::format("slices are made by one device, but {} are chosen; choose one with --device",
                                 job.devices().size()));
  const Device& device = job.devices().front();
  const Grid first_stack = [&] {
    Grid stack = work.stack;
    stack.size[2] = static_cast<std::size_t>(work.windows.front().count());
    return stack;
  }();
  const auto pixels = static_cast<double>(work.pixels * work.windows.size());
  for (const Quantity& quantity : work.quantities)
    job.forecast(plan_slices(views_of(work.geometry, work.windows.front()), first_stack, work.volume,
                             quantity.parameters, work.pixels, budgets({device}).front()),
                 grid_bytes(work.stack) + grid_bytes(first_stack) + sizeof(float) * pixels);
  if (job.dry_run()) {
    for (const Quantity& quantity : work.quantities)
      for (std::size_t n = 0; n < work.slices.size(); ++n)
        job.print(fmt::format("{}: {}, {} of {}\n", quantity.outputs[n], work.names[n], work.windows.size(),
                              views_text(first_stack.size[2])));
    return;
  }
  const ChosenScan input =
      read_chosen(job, work.chosen, work.input, command.input, command.counts ? &command.counts_arguments : nullptr);
  warn_of_projections(command, work, input);
  auto& results = job.results();
  results["views"] = first_stack.size[2];
  results["windows"] = nlohmann::json::array();
  for (const Range& window : work.windows) results["windows"].push_back({window.begin, window.end - 1});
  results["slices"] = nlohmann::json::array();
  for (const Quantity& quantity : work.quantities) {
    const bool variance = quantity.parameters.variance.has_value();
    auto stacks = reconstruct(job, work, quantity, input, device);
    if (command.water) in_hounsfield_units(stacks, *command.water, variance);
    for (std::size_t n = 0; n < stacks.size(); ++n) {
      job.write(stacks[n], quantity.outputs[n]);
      results["slices"].push_back({{"plane", work.names[n]},
                                   {"file", quantity.outputs[n]},
                                   {"unit", quantity.unit},
                                   {"grid", grid_json(work.slices[n])}});
      if (variance) {
        job.say(fmt::format("{}: noise variance of the same in {}, for {}", quantity.outputs[n], quantity.unit,
                            command.noise.text()));
        continue;
      }
      job.say(fmt::format(
          "{}: {}, {} slice{} of {}, {}, {} interpolation{} on {}", quantity.outputs[n], grid_summary(stacks[n].grid),
          work.names[n], work.windows.size() == 1 ? "" : fmt::format(", {} windows", work.windows.size()),
          views_text(first_stack.size[2]),
          fmt::format("window {} with cut-off {:.4g}", command.filter.window, command.filter.cutoff),
          command.filter.interpolation,
          command.water ? fmt::format(", HU with water at {:.6g}/mm", *command.water) : "", device.info().name));
    }
    if (command.counts && !variance)
      job.say(fmt::format("  from {}: {}{}", command.input, work.chosen.whole ? "" : "of the whole scan, ",
                          counts_summary(input.calibration)));
  }
}

}  // namespace

void add_slices(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand(
      "slices", "Reconstruct a few slices by filtered back-projection, again and again as a scan goes on (quasi-3D)");
  auto command = std::make_shared<SlicesCommand>();
  sub->add_option("-i,--input", command->input, "Projections (u, v, view): line integrals, or with --counts counts")
      ->required()
      ->type_name("FILE");
  sub->add_option("-g,--geometry", command->geometry, geometry_file_help)->required()->type_name("FILE");
  add_detector_options(*sub, command->projections);
  add_grid_options(*sub, command->grid);
  const std::string slices = "Slices through that volume", scan = "Windows that move along the scan";
  auto* plane = sub->add_option("--plane", command->planes,
                                "Comma list of axial (across k, the rotation axis), coronal (across j) and sagittal "
                                "(across i); their pixels lie as the voxels do")
                    ->type_name("LIST")
                    ->group(slices);
  add_list(*sub, "--normal", command->normal, "X,Y,Z", Numbers::any,
           "One oblique slice instead, perpendicular to this direction in the world; its square pixels are as wide as "
           "the narrowest voxel and cover the volume")
      ->excludes(plane)
      ->group(slices);
  add_list(*sub, "--position", command->position, "X,Y,Z", Numbers::any,
           "World position in mm that all slices go through. Default: the middle of the volume, which lies between two "
           "voxels where their number is even")
      ->group(slices);
  sub->add_option("--views", command->views,
                  "Reconstruct from so many views at a time. Default: all. Windows that move must be full circles "
                  "(parallel beam: half circles)")
      ->check(whole_number_from(1))
      ->type_name("N")
      ->group(scan);
  sub->add_option("--step", command->step,
                  "Once so many new views are there, let them take the place of the oldest and reconstruct again. "
                  "Default: as many as --views")
      ->check(whole_number_from(1))
      ->type_name("M")
      ->group(scan);
  add_filter_options(*sub, command->filter, false);
  auto* counts = add_counts_flag(*sub, command->counts, command->counts_arguments);
  add_noise_options(*sub, command->noise, counts,
                    "Also write the variance of each slice's pixels, 1/mm^2, or HU^2, in files as for -o; all is then "
                    "filtered twice",
                    "A,B,C");
  sub->add_option("-o,--output", command->outputs,
                  "An image of attenuations, 1/mm, or HU with --hu, for each slice in the order of --plane, with "
                  "commas between; each window gives a layer")
      ->required()
      ->type_name("A,B,C");
  add_water_option(*sub, command->water);
  sub->footer(
      "Projections are uploaded and filtered once and stay on the device; all slices share them. A slice on a plane of "
      "the volume's voxels has the\nbits that fdk would give them (exact interpolation).\nExample:\n  halocline slices "
      "-i projections.mha --geometry geometry.xml --size 128,128,128 --spacing 1.5,1.5,1.5 --views 360 --step 30 -o "
      "axial.mha,coronal.mha,sagittal.mha");
  sub->callback([&action, command] { action = [command](Job& job) { run_slices(job, *command); }; });
}

}  // namespace halocline
