// halocline fdk
#include "algorithms/fdk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "algorithms/half_scan.hpp"
#include "apps/filter_options.hpp"
#include "apps/geometry_file.hpp"
#include "apps/grid_options.hpp"
#include "apps/job.hpp"
#include "apps/report.hpp"
#include "apps/strength_options.hpp"
#include "apps/subcommands.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

struct FdkCommand {
  std::string input, geometry, output, variance_output, halves_output;
  GridOptions grid;
  FilterOptions filter;
  double electronic = 0;
  std::optional<double> photons;
};

struct FdkWork {
  Geometry geometry;
  Grid stack, grid;
  FdkParameters attenuation, variance;
  std::vector<HalfScan> halves;  // two, with --halves-out
  std::array<std::string, 2> half_outputs;
};

constexpr const char* half_names[] = {"odd", "even"};

Grid half_stack(const FdkWork& work, const HalfScan& half) {
  Grid stack = work.stack;
  stack.size[2] = half.views.size();
  return stack;
}

// Splits the scan, and makes sure that each half can be reconstructed.
void prepare_halves(Job& job, const FdkCommand& command, FdkWork& work) {
  if (command.halves_output.empty()) return;
  work.half_outputs = parse_pair("--halves-out", command.halves_output);
  for (const auto& path : work.half_outputs) job.output_image("--halves-out", path);
  try {
    const auto halves = half_scans(work.geometry);
    work.halves.assign(halves.begin(), halves.end());
    for (int n = 0; n < 2; ++n)
      check_fdk(work.halves[n].geometry, half_stack(work, work.halves[n]), work.grid, "'" + command.input + "'",
                fmt::format("the {} views of '{}'", half_names[n], command.geometry), work.attenuation.redundancy);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("--halves-out: {}; half of the views are too few, so leave --halves-out out", error.what()));
  }
}

FdkWork prepare(Job& job, const FdkCommand& command) {
  if (!command.variance_output.empty() && !command.photons)
    throw InputError(
        "--photons is missing: --variance-out needs the number of photons a pixel of the unattenuated beam");
  if (command.variance_output.empty() && (command.photons || command.electronic > 0))
    throw InputError("--photons and --electronic describe the noise for --variance-out, which is missing");
  FdkWork work;
  work.stack = job.input_image("-i", command.input).grid;
  job.input("--geometry", command.geometry);
  job.input("--like", command.grid.like);
  job.output_image("-o", command.output);
  job.output_image("--variance-out", command.variance_output);
  work.grid = make_grid(command.grid);
  work.geometry = load_geometry(command.geometry, {}, DetectorPixels::of(work.stack)).geometry;
  work.attenuation = fdk_parameters(command.filter);
  const auto notes = check_fdk(work.geometry, work.stack, work.grid, "'" + command.input + "'",
                               "'" + command.geometry + "'", work.attenuation.redundancy);
  if (job.dry_run())
    for (const auto& note : notes) spdlog::warn("{}", note);
  work.variance = work.attenuation;
  if (command.photons) work.variance.variance = FdkParameters::Noise{*command.photons, command.electronic};
  prepare_halves(job, command, work);
  return work;
}

RunResult reconstruct(Job& job, const FdkWork& work, const FdkParameters& parameters, const Volume& projections) {
  const std::string name = parameters.variance ? "variance" : "fdk";
  auto result = job.timed(
      name, [&] { return fdk(projections, work.geometry, work.grid, parameters, job.devices(), job.run_options()); });
  job.record(result, name);
  return result;
}

// One half; its projections are copied.
RunResult reconstruct_half(Job& job, const FdkWork& work, int n, const Volume& projections) {
  const Volume views = select_views(projections, work.halves[n].views);
  const std::string name = fmt::format("{} views", half_names[n]);
  auto result = job.timed(name, [&] {
    return fdk(views, work.halves[n].geometry, work.grid, work.attenuation, job.devices(), job.run_options());
  });
  job.record(result, name);
  return result;
}

void run_fdk(Job& job, const FdkCommand& command) {
  const FdkWork work = prepare(job, command);
  const bool with_variance = work.variance.variance.has_value();
  const auto plan = [&](const FdkParameters& parameters) {
    return plan_fdk(work.geometry, work.stack, work.grid, parameters, budgets(job.devices()));
  };
  const Plan first = plan(work.attenuation);
  const std::optional<Plan> second = with_variance ? std::optional(plan(work.variance)) : std::nullopt;
  if (job.dry_run()) {
    job.print(first.text());
    if (second) job.print(second->text());
    for (const auto& half : work.halves)
      job.print(
          plan_fdk(half.geometry, half_stack(work, half), work.grid, work.attenuation, budgets(job.devices())).text());
    return;
  }

  // All before any is written: after Ctrl-C nothing is left.
  Volume projections = job.read(command.input);
  const RunResult result = reconstruct(job, work, work.attenuation, projections);
  const std::optional<RunResult> variance =
      with_variance ? std::optional(reconstruct(job, work, work.variance, projections)) : std::nullopt;
  std::vector<RunResult> halves;
  for (int n = 0; n < static_cast<int>(work.halves.size()); ++n)
    halves.push_back(reconstruct_half(job, work, n, projections));
  projections = {};
  job.write(result.output, command.output);
  if (variance) job.write(variance->output, command.variance_output);
  for (std::size_t n = 0; n < halves.size(); ++n) job.write(halves[n].output, work.half_outputs[n]);

  const char* beam = work.geometry.parallel() ? "parallel beam" : work.stack.size[1] == 1 ? "fan beam" : "cone beam";
  job.results() = {{"grid", grid_json(work.grid)}, {"views", work.stack.size[2]}, {"beam", beam}};
  job.say(fmt::format("{}: {}, FDK of {} views ({}), window {} with cut-off {:.4g}, {} interpolation{}", command.output,
                      grid_summary(work.grid), work.stack.size[2], beam, command.filter.window, command.filter.cutoff,
                      command.filter.interpolation, job.how(result)));
  if (variance)
    job.say(fmt::format("{}: noise variance of the same in 1/mm^2, for {:.6g} photons and electronic noise {:.6g}",
                        command.variance_output, *command.photons, command.electronic));
  for (std::size_t n = 0; n < halves.size(); ++n)
    job.say(fmt::format("{}: the same from the {} {} views", work.half_outputs[n], work.halves[n].views.size(),
                        half_names[n]));
}

}  // namespace

void add_fdk(CLI::App& app, Action& action) {
  auto* sub =
      app.add_subcommand("fdk", "Reconstruct a circular scan by filtered back-projection (Feldkamp, Davis & Kress)");
  auto command = std::make_shared<FdkCommand>();
  sub->add_option("-i,--input", command->input, "Projections (u, v, view): line integrals")
      ->required()
      ->type_name("FILE");
  sub->add_option("-g,--geometry", command->geometry, geometry_file_help)->required()->type_name("FILE");
  add_grid_options(*sub, command->grid);
  add_filter_options(*sub, command->filter);
  const std::string group = "Noise of the volume";
  sub->add_option("--variance-out", command->variance_output,
                  "Also write the variance of each voxel (for denoise --weights), 1/mm^2")
      ->type_name("FILE")
      ->group(group);
  sub->add_option("--photons", command->photons,
                  "Photons a pixel of the unattenuated beam; required with --variance-out")
      ->check(positive_number())
      ->type_name("I0")
      ->group(group);
  sub->add_option("--electronic", command->electronic, "Standard deviation of the electronic noise, photons")
      ->check(not_negative())
      ->type_name("S")
      ->group(group);
  sub->add_option("--halves-out", command->halves_output,
                  "Also write the reconstructions of the odd and of the even views as they lie on the circle (for "
                  "denoise --halves and noise-map), 1/mm; needs no model of the noise, and twice the time")
      ->type_name("A,B")
      ->group(group);
  sub->add_option("-o,--output", command->output, "Volume of attenuations to write, 1/mm")
      ->required()
      ->type_name("FILE");
  sub->footer(
      "Example:\n  halocline fdk -i projections.mha --geometry geometry.xml --size 128,128,128 --spacing 1.5,1.5,1.5 "
      "-o volume.mha");
  sub->callback([&action, command] { action = [command](Job& job) { run_fdk(job, *command); }; });
}

}  // namespace halocline
