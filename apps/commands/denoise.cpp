// halocline denoise
#include "algorithms/denoise/denoise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "algorithms/denoisers/registry.hpp"
#include "algorithms/noise/noise_map.hpp"
#include "apps/checkpoint/checkpoint.hpp"
#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/drawing/preview.hpp"
#include "apps/io/image_file.hpp"
#include "apps/io/png.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/job/validators.hpp"
#include "apps/options/denoise_control.hpp"
#include "apps/options/denoise_methods.hpp"
#include "apps/options/family_options.hpp"
#include "apps/options/frame_options.hpp"
#include "apps/options/output_type.hpp"
#include "apps/options/strength_options.hpp"
#include "host/error.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

struct DenoiseCommand {
  std::string input, weights, output;
  std::string output_type = "float32";
  bool rescale = false;
  FrameOptions frames;  // its first input is `input`
  DenoiseParameters parameters;
  MethodOptions options;
  RegulariserOptions regulariser;
  DenoiseControl control;
  StrengthOptions strength;

  bool descends() const { return parameters.method == "tvgd"; }
  bool filters() const { return is_filter(parameters.method); }
  // --weights is a file
  bool weights_given() const { return !weights.empty() && weights != "estimate" && weights != "halves"; }
};

void check_options(const DenoiseCommand& command) {
  const auto& method = command.parameters.method;
  check_denoise_parameters(command.parameters);
  if (method == "spdu" && command.weights.empty())
    throw InputError(
        "--weights is missing: spdu needs the noise variance of each voxel; 'halocline fdk --variance-out' makes it, "
        "--weights halves or estimate finds it, or use --method pdu");
  if (!command.weights.empty()) check_use_of_weights(command.parameters, !command.strength.halves.empty());
  check_method_options(command.options, command.parameters);
  if (!command.filters()) return;
  for (const auto& [option, given] : {std::pair("--gap", command.options.given("--gap")),
                                      {"--schedule", command.options.given("--schedule")},
                                      {"--iterations", command.options.given("--iterations")},
                                      {"--time-limit", command.control.time_limit > 0},
                                      {"--keep-partial", command.control.keep_partial},
                                      {"--checkpoint", !command.control.checkpoint.empty()},
                                      {"--init", !command.control.init.empty()}})
    if (given)
      throw InputError(
          fmt::format("{} is for methods that iterate; {} takes {}", option, method, filter_options(method)));
}

nlohmann::json results_json(const DenoiseCommand& command, const DenoiseResult& result) {
  nlohmann::json results = denoise_results(command.parameters, command.options, result);
  if (!command.filters() && command.frames.inputs.size() > 1) results["frames"] = command.frames.inputs.size();
  for (std::size_t n = 0; n < result.stages.size(); ++n) {
    const auto& stage = result.stages[n];
    results["stages"].push_back({{"alpha", command.parameters.alpha_path[n]},
                                 {"output", path_output(command.output, command.parameters.alpha_path[n])},
                                 {"iterations", stage.last.iteration},
                                 {"relative_gap", stage.last.relative_gap},
                                 {"fidelity", stage.last.fidelity},
                                 {"converged", stage.converged}});
  }
  return results;
}

// Where the result goes: of a path, the file of its last alpha.
std::string output_of(const DenoiseCommand& command, const DenoiseResult& result) {
  return result.stages.empty() ? command.output : path_output(command.output, result.alpha);
}

// Claims every output, so that nothing is lost after hours.
void claim_outputs(Job& job, const DenoiseCommand& command) {
  if (command.parameters.alpha_path.empty()) job.output_image("-o", command.output);
  for (const double alpha : command.parameters.alpha_path)
    job.output_image("-o with --alpha-path", path_output(command.output, alpha));
  if (command.control.png.empty()) return;
  require_png("--png", command.control.png);
  job.output("--png", command.control.png);
}

// After Ctrl-C with --keep-partial, when what there is has been written.
[[noreturn]] void end_interrupted(Job& job, const DenoiseCommand& command, const DenoiseResult& result) {
  job.keep_report();
  const std::string state = command.descends() ? fmt::format("||u - f|| = {:.4g}", result.fidelity)
                                               : fmt::format("a relative gap of {:.3g}", result.relative_gap);
  throw Interrupted(fmt::format("interrupted: '{}' has the result after {} iterations, with {}{}",
                                output_of(command, result), result.iterations, state,
                                result.converged ? "; it had just been finished" : ""));
}

// How the result is stored; the scaling of --rescale is not known yet.
ImageStorage output_storage(const DenoiseCommand& command, const ImageInfo& input) {
  const bool same = command.output_type == "same";
  ImageStorage storage{component_named(same ? input.component : command.output_type), {}, input.notes};
  if (same && !command.rescale) storage.scaling = input.scaling;
  if (command.rescale && !is_integer(storage.component))
    throw InputError(
        fmt::format("--rescale is for --output-type uint8, int16 or uint16; {} keeps the values as they are",
                    component_name(storage.component)));
  check_storage(command.output, {storage.component, command.rescale ? Scaling{2, 0} : storage.scaling});
  return storage;
}

// What the result's values may be over the range of the type: total variation makes none larger or smaller than all
// that were in the volume and the image to start from, and bounds then hold.
Scaling rescaling(const VolumeSource& input, const DenoiseParameters& parameters, Component component) {
  ValueRange range = value_range(input);
  if (parameters.init != nullptr) {
    const ValueRange start = value_range(MemorySource(*parameters.init));
    range = {std::min(range.least, start.least), std::max(range.greatest, start.greatest)};
  }
  const auto& box = parameters.regulariser;
  const double least = std::clamp<double>(range.least, box.minimum, box.maximum);
  const double greatest = std::clamp<double>(range.greatest, box.minimum, box.maximum);
  if (!(greatest > least)) return {1, least};
  const double low = component_lowest(component), high = component_highest(component);
  const double slope = (greatest - least) / (high - low);
  return {slope, least - slope * low};
}

// What the type of the output took from the values.
void tell_of_storage(Job& job, const ImageStorage& storage, bool rescaled, std::size_t clamped, double rms_change) {
  tell_of_clamping(job, storage, clamped,
                   rescaled                        ? "--output-type float32"
                   : is_integer(storage.component) ? "--rescale or a wider --output-type"
                                                   : "a wider --output-type");
  const double slope = storage.scaling.slope;
  constexpr double rounding = 0.29;  // RMS of what is rounded off, in steps
  if (is_integer(storage.component) && rms_change > 0 && rms_change < rounding * std::abs(slope))
    spdlog::warn("rounding to steps of {:g} changes the values more than denoising did (RMS change {:.3g}); give {}",
                 std::abs(slope), rms_change,
                 !rescaled                               ? "--rescale or --output-type float32"
                 : storage.component == Component::uint8 ? "--output-type uint16 or float32"
                                                         : "--output-type float32");
}

// The variances that --weights says, where they are to be found out. A constant volume tells none, and no weights
// change anything there: as with methods that take none, it is to pass through.
Volume made_weights(Job& job, const DenoiseCommand& command, const Volume& volume, const Volume& half_a,
                    const Volume& half_b) {
  const ValueRange values = value_range(MemorySource(volume));
  if (command.weights == "estimate" && values.least == values.greatest) {
    job.results()["weights"] = "any: the volume is constant";
    return Volume(volume.grid, 1);
  }
  auto map = job.timed("noise map", [&] {
    return command.weights == "estimate" ? noise_map(volume)
                                         : noise_map(half_a, half_b, "'" + command.strength.files[0] + "'",
                                                     "'" + command.strength.files[1] + "'");
  });
  job.results()["weights"] = map.how;
  const char* doubt = command.weights == "estimate" ? " (less reliable: fine texture passes for noise)" : "";
  job.say(fmt::format("weights: noise {}{}, standard deviation {:.4g} to {:.4g}", map.how, doubt, map.least, map.most));
  return std::move(map.variance);
}

// What the type of the stored values costs the result.
void warn_of_component(const DenoiseCommand& command, const ImageInfo& input, const DenoiseResult& result) {
  const Component component = component_named(input.component);
  const double level = is_integer(component) ? std::abs(input.scaling.slope) : 0;  // between the values
  const auto largest = static_cast<float>(result.largest);
  const double step = std::nextafter(largest, std::numeric_limits<float>::infinity()) - largest;
  const bool finer = component_bytes(component) > 4 || component == Component::int32 || component == Component::uint32;
  const bool seen = result.noise_sigma > 0 ? step > 0.1 * result.noise_sigma : result.spread == 0;
  if (finer && largest > 0 && step > level && seen)
    spdlog::warn(
        "'{}' holds {} values of up to {:.3g}; float32, in which all is calculated, has steps of {:.2g} there, and "
        "finer "
        "contrast is lost: subtract an offset from them first",
        command.input, input.component, result.largest, step);
  const auto& parameters = command.parameters;
  const bool by_noise = (parameters.method == "pdu" || parameters.method == "spdu") && !parameters.alpha &&
                        parameters.alpha_path.empty() && !parameters.target_fidelity;
  if (by_noise && result.noise_sigma > 0 && result.noise_sigma < 0.55 * level)
    spdlog::warn(
        "'{}' holds whole numbers, and its noise of {:.2g} is hardly more than half a step of {:.3g} between them: "
        "what was "
        "rounded away misleads the choice of alpha; give --alpha a number",
        command.input, result.noise_sigma, level);
}

// Bytes of host memory that inputs and results take beside the run. MetaImage files are read and written as they go;
// the other formats are held in their own type.
double held_bytes(const DenoiseCommand& command, const Plan& plan, const Grid& grid, const ImageInfo& input,
                  const ImageStorage& storage, bool streamed) {
  const double voxels = static_cast<double>(grid.count()), volume = grid_bytes(grid);
  const auto& control = command.control;
  double result = 0;
  const auto own_type = [&](const std::string& path, Component component) {
    return is_streamable(path) ? 0 : static_cast<double>(component_bytes(component)) * voxels;
  };
  for (const auto& path :
       {control.init, command.regulariser.reference, command.strength.files[0], command.strength.files[1]})
    result += path.empty() ? 0 : volume;
  if (!control.init.empty()) result += volume;  // less the mean
  if (!control.checkpoint.empty()) {
    const auto state = static_cast<double>(state_bytes(plan.requirements));
    // Slabs streamed in a single pass leave no state on the host, unless it is to be kept.
    if (!plan.resident && plan.passes <= 1) result += state - volume;
  }
  const double weights = command.weights.empty() ? 0 : 1;
  if (!streamed) return result + (2 + weights) * volume;
  result += own_type(command.input, component_named(input.component)) + own_type(command.output, storage.component);
  if (weights > 0) result += own_type(command.weights, component_named(read_image_info(command.weights).component));
  const bool keeps_result = !result_leaves_at_once(plan) || (!plan.resident && !control.checkpoint.empty());
  return result + (keeps_result ? volume : 0);
}

// Of host memory, while alpha is chosen (algorithms/denoise/parameter_choice.hpp): as measured, in volumes of the parts
// that are judged.
double judging_bytes(const DenoiseParameters& parameters, const Grid& grid, bool cpu) {
  const bool judges = (parameters.method == "pdu" || parameters.method == "spdu") && !parameters.alpha &&
                      !parameters.alpha_sigma && parameters.alpha_path.empty();
  if (!judges) return 0;
  const double voxels = static_cast<double>(grid.count());
  return sizeof(float) * (2 * std::min(voxels, 0x1p24) + (cpu ? 26 : 16) * std::min(voxels, 0x1p21));
}

// What the result depends on; voxels instead of the files that hold them.
nlohmann::json checkpoint_job(const Job& job, const Grid& grid,
                              const std::map<std::string, const VolumeSource*>& volumes) {
  auto result =
      options_of_bits(job, {"--input", "--weights", "--init", "--reference", "--halves", "--output", "--output-type",
                            "--rescale", "--png", "--stages", "--time-limit", "--keep-partial", "--checkpoint-every"});
  result["size"] = grid.size;
  result["spacing"] = grid.spacing;
  for (const auto& [name, volume] : volumes)
    if (volume != nullptr) result["the voxels of " + name] = fmt::format("{:08x}", voxel_checksum(*volume));
  return result;
}

// Before the run: what it is about, and where it goes on from.
void begin_checkpoint(Job& job, Checkpoint& checkpoint, DenoiseCommand& command, const Grid& grid,
                      const std::map<std::string, const VolumeSource*>& volumes) {
  job.timed("checksums", [&] { checkpoint.set_job(checkpoint_job(job, grid, volumes)); });
  command.parameters.on_parameter_chosen = [&](const ParameterChoice& choice) { checkpoint.strength = choice; };
  if (!command.control.resume) return;
  if (!checkpoint.resume()) {
    spdlog::info("there is no '{}': the run starts from the beginning", checkpoint.path());
    return;
  }
  command.parameters.chosen = checkpoint.strength;
  spdlog::info("going on after {} iterations", *checkpoint.iterations());
  job.results()["resumed_after_iterations"] = *checkpoint.iterations();
}

void run_denoise(Job& job, DenoiseCommand& command) {
  const auto& control = command.control;
  command.input = command.frames.inputs.front();
  command.regulariser.put_into(command.parameters.regulariser, command.parameters.method);
  check_frame_options(command.frames, command.parameters);
  take_method_options(command.options, command.parameters);
  command.parameters.alpha_path = control.alphas();
  take_strength(command.strength, command.weights, command.parameters);
  check_options(command);
  command.parameters.statistical = command.descends() && !command.weights.empty();
  const bool several = command.frames.several();
  if (several && !(control.roi + control.init + control.png + control.alpha_path).empty())
    throw InputError("--preview-roi, --init, --png and --alpha-path are for one input volume; several -i were given");
  const Grid first = input_frames(job, command.frames), whole = input_grid(command.frames, first);
  const ImageInfo input = read_image_info(command.input);
  command.parameters.time.depth = several ? first.size[2] : 1;
  const std::string& guide = command.regulariser.reference;
  const auto same_grid = [&](const char* option, const std::string& path) {
    if (path.empty()) return;
    require_same_grid(several ? first : whole, "'" + command.input + "'", job.input_volume(option, path).grid,
                      fmt::format("{} '{}'", option, path));
  };
  const auto& halves = command.strength.files;
  if (command.weights_given()) same_grid("--weights", command.weights);
  for (const auto& half : halves) same_grid("--halves", half);
  same_grid("--init", control.init);
  same_grid("--reference", guide);
  std::optional<Cutout> region, taken;  // what is wanted, and with its margin
  if (!control.roi.empty()) {
    region = parse_roi(control.roi, whole.size);
    taken = region->grown(roi_margin, whole.size);
  }
  const Grid grid = taken ? cut_out(whole, *taken) : whole;
  ImageStorage storage = output_storage(command, input);
  std::vector<std::string> outputs;  // of frames
  if (several)
    outputs = output_frames(job, command.frames, command.output);
  else
    claim_outputs(job, command);
  if (command.parameters.method == "pdu" || command.parameters.method == "spdu")
    job.tune_first_run(command.parameters.method);
  PlanOptions plan_options;
  plan_options.may_end_early = control.time_limit > 0 || control.keep_partial;
  plan_options.may_stream = control.checkpoint.empty();
  const Plan plan = plan_denoise(grid, command.parameters, job.devices(), plan_options);
  // Straight from file to file where nothing needs the whole result in memory.
  const bool makes_weights = !command.weights.empty() && !command.weights_given();
  const bool streamed =
      !several && !region && command.parameters.alpha_path.empty() && control.png.empty() && !makes_weights;
  if (job.dry_run() && several)
    job.print(fmt::format("{}, of which the plan makes slices of {} x {}", frames_summary(command.frames, first),
                          whole.size[0], whole.size[1]));
  const double chunk =
      control.checkpoint.empty() ? 0 : std::min(grid_bytes(grid), static_cast<double>(checkpoint_buffer));
  const double judging = judging_bytes(command.parameters, grid, job.devices().front().info().cpu());
  job.forecast(plan, held_bytes(command, plan, grid, input, storage, streamed),
               chunk + std::max(0.0, judging - plan.host_bytes));  // before the run
  std::optional<Checkpoint> checkpoint;
  if (!control.checkpoint.empty()) {
    job.output("--checkpoint", control.checkpoint);
    const std::size_t bytes = state_bytes(plan.requirements);
    if (job.dry_run())
      job.print(
          fmt::format("  checkpoint: {}, twice while one replaces the other", bytes_text(static_cast<double>(bytes))));
    checkpoint.emplace(control.checkpoint).check(bytes, control.resume || job.dry_run());
  }
  // The room of all outputs is taken before the run, and the checkpoint's is what is left then.
  const auto room_is_taken = [&] {
    if (checkpoint) checkpoint->check(state_bytes(plan.requirements), true);
  };
  if (job.dry_run()) return;

  std::size_t changed = 0;  // by what the output's type can not hold
  const auto read = [&](const std::string& path) {
    return path.empty() ? Volume() : taken ? job.read(path, *taken) : job.read(path);
  };
  std::map<std::string, ReservedImage> places;  // of what is in memory until it is written
  const auto write = [&](const Volume& volume, const std::string& path) {
    const Volume part = region ? cut_out(volume, region->within(*taken)) : Volume();
    changed += job.write(region ? part : volume, places.at(path));
  };
  const Volume init = read(control.init), reference = read(guide);
  if (!control.init.empty()) command.parameters.init = &init;
  const Volume half_a = read(halves[0]), half_b = read(halves[1]);
  if (!halves[0].empty()) command.parameters.half_a = &half_a, command.parameters.half_b = &half_b;
  RunOptions options = job.run_options({static_cast<double>(grid.count()), 0, "voxel-iterations"});
  options.plan = plan_options;
  options.time_limit = control.time_limit;
  options.keep_partial = control.keep_partial;
  if (checkpoint) options.checkpoint_store = &*checkpoint;
  options.keep_every = control.checkpoint_every;
  std::vector<std::string> written;
  // Only for those who ask: without it the result of the last pass goes to the file as it arrives.
  if (!command.parameters.alpha_path.empty())
    options.stage_output = [&](int stage, const Volume& output) {
      written.clear();
      for (int n = 0; n <= stage; ++n)
        written.push_back(path_output(command.output, command.parameters.alpha_path[static_cast<std::size_t>(n)]));
      write(output, written.back());
    };
  const auto denoised = [&](const VolumeSource& from, const VolumeSource* weights, VolumeSink& to) {
    if (checkpoint) {
      const MemorySource start(init), guides(reference);
      begin_checkpoint(job, *checkpoint, command, grid,
                       {{"-i", &from},
                        {"--weights", weights},
                        {"--init", control.init.empty() ? nullptr : &start},
                        {"--reference", guide.empty() ? nullptr : &guides}});
    }
    const auto how = [&] { return checkpoint ? checkpoint->how_to_resume() : std::string(); };
    return job.timed("denoise", [&] {
      try {
        return resumable(how, [&] {
          return denoise_into(from, weights, to, command.parameters, job.devices(), options,
                              guide.empty() ? nullptr : &reference);
        });
      } catch (const Interrupted&) {
        if (written.empty() || (checkpoint && checkpoint->iterations())) throw;
        throw Interrupted(
            fmt::format("interrupted: '{}' had been written, and nothing after that", fmt::join(written, "', '")));
      }
    });
  };

  DenoiseResult result;
  Volume in_memory;
  std::unique_ptr<ImageSink> image;
  std::vector<ReservedImage> frames;
  if (streamed) {
    const auto volume = job.open(command.input);
    const auto weights = command.weights.empty() ? nullptr : job.open(command.weights);
    if (command.rescale) storage.scaling = rescaling(*volume, command.parameters, storage.component);
    image = job.create(command.output, grid, storage);
    room_is_taken();
    result = denoised(*volume, weights.get(), *image);
  } else {
    const Volume volume = several ? read_frames(job, command.frames, first) : read(command.input);
    const Volume weights = makes_weights ? made_weights(job, command, volume, half_a, half_b) : read(command.weights);
    const MemorySource weight_source(weights);
    if (command.rescale) storage.scaling = rescaling(MemorySource(volume), command.parameters, storage.component);
    const Grid written_grid = region ? cut_out(grid, region->within(*taken)) : grid;
    for (const auto& path : outputs) frames.emplace_back(path, first, storage);
    for (const double alpha : command.parameters.alpha_path)
      places.try_emplace(path_output(command.output, alpha), path_output(command.output, alpha), written_grid, storage);
    if (!several && places.empty()) places.try_emplace(command.output, command.output, written_grid, storage);
    room_is_taken();
    in_memory = Volume::uninitialised(volume.grid);
    MemorySink sink(in_memory);
    result = denoised(MemorySource(volume), command.weights.empty() ? nullptr : &weight_source, sink);
  }
  command.parameters.init = command.parameters.half_a = command.parameters.half_b = nullptr;
  const bool interrupted = result.stopped_by == StoppedBy::interrupt;
  const bool ended_early = interrupted || (result.stopped_by == StoppedBy::time && !result.converged);
  if (interrupted && result.iterations == 0)
    throw Interrupted("interrupted before the first iteration: nothing was written, the input files are untouched");
  const std::string output = several ? command.output : output_of(command, result);
  if (streamed) {
    job.commit(*image);
    changed = image->changed();
  } else if (several) {
    changed = write_frames(job, in_memory, frames, first);
  } else {
    write(in_memory, output);
  }
  if (checkpoint && ended_early && checkpoint->iterations())
    job.say(checkpoint->how_to_resume());
  else if (checkpoint)
    checkpoint->remove();
  if (!control.png.empty()) {
    const Volume shown = region ? cut_out(in_memory, region->within(*taken)) : Volume();
    PreviewOptions montage;
    montage.montage = true;
    write_png(render_preview(region ? shown : in_memory, montage), control.png);
  }

  RunResult run;
  run.iterations = result.iterations;
  run.plan = result.plan;
  run.seconds = result.seconds;
  run.peak_bytes = result.peak_bytes;
  run.bus_bytes = result.bus_bytes;
  job.record(run, "denoise");
  job.results().update(results_json(command, result));
  const auto voxels = static_cast<double>(grid.count());
  for (const auto& text : shortfalls(result, command.parameters, control, voxels)) spdlog::warn("{}", text);
  for (const auto& text : result.warnings) spdlog::warn("{}", text);
  warn_of_component(command, input, result);
  constexpr double noticeable = 0.05;
  if (result.weight_change >= noticeable)
    spdlog::warn("--weight-bits {} changes weights by up to {:.3g} %: they span too much for it; give --weight-bits {}",
                 command.parameters.weight_bits, 100 * result.weight_change,
                 command.parameters.weight_bits == 16 ? "32, or 8, whose codes follow their range" : "32");
  tell_of_storage(job, storage, command.rescale, changed, result.fidelity / std::sqrt(voxels));
  job.say(fmt::format("{}: {}, {}{}{}", output,
                      region ? grid_summary(cut_out(whole, *region)) : frames_summary(command.frames, first),
                      what_was_done(command.parameters, command.options, command.regulariser.reference, result, voxels),
                      region ? fmt::format(" (with a margin of {} voxels)", roi_margin) : "", job.how(run)));
  if (!result.stages.empty()) job.say(path_table(result, command.parameters.alpha_path, voxels));
  if (interrupted) end_interrupted(job, command, result);
}

}  // namespace

void add_denoise(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("denoise", "Remove noise from a volume by total variation");
  auto command = std::make_shared<DenoiseCommand>();
  auto& p = command->parameters;
  sub->add_option("-i,--input", command->frames.inputs, "Noisy volume; for pdu4d several, in the order of time")
      ->required()
      ->default_str("")
      ->type_name("FILE");
  sub->add_option("--method", p.method,
                  "pdu: the exact minimum of 1/2 ||u-f||^2 + 1/alpha TV(u), with a certificate; spdu: the same, "
                  "weighted with the noise "
                  "variance of each voxel; pdu4d: time frames together; tvgd: steps down the total variation. To "
                  "compare with: gaussian, median, nlm "
                  "(non-local means)")
      ->check(CLI::IsMember(denoiser_names()))
      ->required()
      ->default_str("");
  add_strength_options(*sub, command->strength);
  sub->add_option(
         "--weights", command->weights,
         "spdu, tvgd, pdu: noise variance of each voxel on the same grid, as fdk --variance-out makes it; halves: from "
         "the --halves; estimate: from the volume alone, less reliable, because fine texture passes for noise "
         "(halocline noise-map writes either). tvgd does without, or takes steps proportional to the standard "
         "deviation; pdu does without, or chooses --alpha sure, discrepancy or A/sigma by it, its problem having no "
         "weights")
      ->type_name("FILE|halves|estimate");
  add_method_options(*sub, p, command->options);
  add_control_options(*sub, command->control);
  add_regulariser_options(*sub, command->regulariser, p.regulariser);
  add_compared_filters(*sub, p.filter);
  add_time_options(*sub, command->frames, p.time);
  sub->add_option("-o,--output", command->output,
                  std::string("Volume to write; for pdu4d with a place for the frames' numbers, "
                              "from 0 on, as in frame_%02d.mha") +
                      slice_files_help)
      ->required()
      ->type_name("FILE");
  sub->add_option(
         "--output-type", command->output_type,
         "Type of the voxels written. Whole numbers are rounded to nearest, those beyond the type's range are "
         "clamped and counted; "
         "same: that of the (first) input, with its slope and offset; float16: .mha, .mhd and .raw only, and hardly "
         "any other program reads it")
      ->check(CLI::IsMember({"same", "uint8", "int16", "uint16", "float16", "float32"}))
      ->type_name("TYPE");
  sub->add_flag(
      "--rescale", command->rescale,
      "With an --output-type of whole numbers: spread the values that the result may have (those of the input, "
      "within bounds) over the range of the type. Slope and offset "
      "are written into the header (.mha, .mhd: ElementToIntensityFunctionSlope and ...Offset, which "
      "halocline applies when it "
      "reads, and ITK does not; .nii: scl_slope and scl_inter) and into --report");
  sub->footer(
      "Example:\n  halocline denoise -i volume.mha --method pdu -o denoised.mha\n"
      "  halocline denoise -i volume.mha --method pdu --alpha 1.5/sigma -o denoised.mha");
  sub->callback([&action, command] { action = [command](Job& job) { run_denoise(job, *command); }; });
}

}  // namespace halocline
