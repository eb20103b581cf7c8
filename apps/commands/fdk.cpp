// halocline fdk
#include "algorithms/fdk/fdk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "algorithms/checks/suspicious_projections.hpp"
#include "algorithms/checks/view_count.hpp"
#include "algorithms/fdk/half_scan.hpp"
#include "algorithms/preprocessing/counts_part.hpp"
#include "algorithms/preprocessing/hounsfield.hpp"
#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/checkpoint/output_checkpoint.hpp"
#include "apps/commands/fdk_denoise.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/io/image_file.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/job/validators.hpp"
#include "apps/options/counts_options.hpp"
#include "apps/options/filter_options.hpp"
#include "apps/options/frame_options.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/noise_options.hpp"
#include "apps/options/output_type.hpp"
#include "apps/options/projection_options.hpp"
#include "apps/options/scan_grid.hpp"
#include "apps/options/strength_options.hpp"
#include "host/error.hpp"
#include "host/fft.hpp"
#include "host/plural.hpp"
#include "scheduling/planning/plan_text.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

struct FdkCommand {
  std::string input, geometry, output, halves_output;
  ProjectionOptions projections;
  GridOptions grid;
  FilterOptions filter;
  NoiseOptions noise;
  bool counts = false;
  CountsArguments counts_arguments;
  std::optional<double> water;
  std::string output_type = "float32";
  std::string checkpoint;  // the file that keeps finished slices; empty: none
  bool resume = false;
  FdkDenoise denoise;

  const char* unit() const { return water ? "HU" : "1/mm"; }
};

// One frame of a dynamic scan; any other scan is the only one.
struct FdkFrame {
  Geometry geometry;
  std::vector<HalfScan> halves;  // two, with --halves-out
  std::string output, variance_output, undenoised_output;
  std::array<std::string, 2> half_outputs;
};

struct FdkWork {
  ImageInfo input;
  ChosenProjections chosen;
  Grid stack, grid;  // the stack is that of a frame
  FdkParameters attenuation, variance;
  ImageStorage storage;
  std::vector<FdkFrame> frames;
  bool streamed = false;  // projections are read as they are wanted
  OutputCheckpoint* checkpoint = nullptr;
  int minimum_slabs = 0;
  std::optional<DenoisedPlan> denoised;  // with --denoise
};

constexpr const char* half_names[] = {"odd", "even"};
constexpr int slabs_to_keep = 8;  // with --checkpoint, so that there is something to go on from

std::string half_name(std::size_t half) {
  return fmt::format("{} views", half_names[half]);
}

Grid half_stack(const FdkWork& work, const HalfScan& half) {
  Grid stack = work.stack;
  stack.size[2] = half.views.size();
  return stack;
}

const char* beam_of(const FdkWork& work) {
  return work.frames.front().geometry.parallel() ? "parallel beam" : work.stack.size[1] == 1 ? "fan beam" : "cone beam";
}

// Splits the scan, and makes sure that each half can be reconstructed.
void prepare_halves(const FdkCommand& command, const FdkWork& work, FdkFrame& frame) {
  try {
    const auto halves = half_scans(frame.geometry);
    frame.halves.assign(halves.begin(), halves.end());
    for (int n = 0; n < 2; ++n)
      check_fdk(frame.halves[n].geometry, half_stack(work, frame.halves[n]), work.grid, "'" + command.input + "'",
                fmt::format("the {} views of '{}'", half_names[n], command.geometry), work.attenuation.redundancy);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("--halves-out: {}; half of the views are too few, so leave --halves-out out", error.what()));
  }
}

// That there are too few views for the grid, or only the halves have too few; empty: neither.
std::string sparse_views(const FdkCommand& command, const FdkWork& work, const FdkFrame& frame) {
  const auto told = [&](const Geometry& geometry, const Grid& stack, const std::string& name) {
    return too_few_views(view_count(geometry, stack, work.grid, work.attenuation.redundancy), name);
  };
  if (auto text = told(frame.geometry, work.stack, "'" + command.geometry + "'"); !text.empty()) return text;
  for (const HalfScan& half : frame.halves)
    if (const auto text = told(half.geometry, half_stack(work, half), "--halves-out, each half"); !text.empty())
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

// What check_fdk() says; and that --crop is the reason, if the whole detector would do.
std::vector<std::string> check_frame(const FdkCommand& command, const FdkWork& work, std::size_t n) {
  const auto check = [&](const Grid& stack) {
    return check_fdk(work.frames[n].geometry, stack, work.grid, "'" + command.input + "'", "'" + command.geometry + "'",
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

FdkWork prepare(Job& job, const FdkCommand& command) {
  check_noise_options(command.noise, command.counts);
  FdkWork work;
  const std::string input = "'" + command.input + "'", geometry = "'" + command.geometry + "'";
  work.input = job.input_image("-i", command.input);
  work.chosen = choose_projections(command.projections, work.input, input, command.geometry);
  check_counts_or_integrals(job, command.counts, command.counts_arguments, work.input, command.input);
  work.stack = work.chosen.stack();
  work.storage = output_storage(command);
  job.input("--geometry", command.geometry);
  job.input("--like", command.grid.like);
  for (std::size_t n = 0; n < work.chosen.frames.size(); ++n) work.frames.push_back(claim_frame(job, command, n));
  const bool chosen = leaves_grid(command.grid);
  if (!chosen) work.grid = make_grid(command.grid);
  const ScanFile scan = load_geometry(command.geometry, {}, DetectorPixels::of(work.chosen.file));
  const Geometry& views = scan.geometry;
  check_view_count(work.chosen, command.projections, views, input, geometry);
  work.attenuation = fdk_parameters(command.filter);
  if (chosen)
    work.grid = make_grid(command.grid, [&] {
      return scan_grid(job, command.grid, scan, work.chosen.geometry(views, 0), work.stack,
                       work.attenuation.redundancy);
    });
  work.attenuation.tell = false;  // of the halves' geometries it would be the same again
  // Of all frames at once, in the numbers of the file: a view that is wrong is then reported once, and is the right
  // one.
  const auto taken = work.chosen.views(views);
  std::vector<std::string> notes = check_fdk_views(select_views(views, taken), work.grid, geometry, taken);
  for (std::size_t n = 0; n < work.frames.size(); ++n) {
    FdkFrame& frame = work.frames[n];
    frame.geometry = work.chosen.geometry(views, n);
    const auto of_frame = check_frame(command, work, n);
    notes.insert(notes.end(), of_frame.begin(), of_frame.end());
    if (!command.halves_output.empty()) prepare_halves(command, work, frame);
    if (auto note = sparse_views(command, work, frame); !note.empty()) notes.push_back(std::move(note));
  }
  std::set<std::string> told;
  for (const auto& note : notes)
    if (told.insert(note).second) spdlog::warn("{}", note);
  const Geometry& first = work.frames.front().geometry;
  const auto shared = redundancy_of(first, work.stack, work.attenuation.redundancy, geometry).kind;
  warn_of_coverage(job, first, work.stack, work.grid, shared == Redundancy::Kind::wang, chosen);
  if (command.counts)
    work.attenuation.counts = {nullptr,
                               work.chosen.whole && work.input.component == "uint16" && work.input.scaling.identity()
                                   ? Component::uint16
                                   : Component::float32};
  work.variance = work.attenuation;
  if (command.noise.wanted()) work.variance.variance = noise_of(command.noise, command.counts, work.chosen.pixels());
  return work;
}

// A volume on its way to its file, which is there after commit().
class Output {
 public:
  Output(Job& job, const FdkCommand& command, const Grid& grid, const std::string& path, const ImageStorage& storage,
         bool variance)
      : image_(job.create(path, grid, storage)) {
    if (command.water) in_units_.emplace(*image_, *command.water, variance);
  }
  VolumeSink& sink() { return in_units_ ? static_cast<VolumeSink&>(*in_units_) : *image_; }
  ImageSink& image() { return *image_; }

 private:
  std::unique_ptr<ImageSink> image_;
  std::optional<HounsfieldSink> in_units_;
};

// The projections of a frame: in host memory, or left where they are and read as they are wanted.
struct FdkInput {
  TypedSource memory{TypedVolume{}};
  std::unique_ptr<VolumeSource> file;
};

RunResult reconstruct(Job& job, const FdkWork& work, const Geometry& geometry, const FdkParameters& parameters,
                      const FdkInput& input, VolumeSink& output, const std::string& name, const std::string& frame) {
  job.tune_first_run("fdk");
  double updates = static_cast<double>(work.grid.count()) * static_cast<double>(work.stack.size[2]);
  if (work.checkpoint != nullptr) updates *= work.checkpoint->left(name);
  auto options = job.run_options({0, updates, "updates"});
  options.plan.minimum_slabs = work.minimum_slabs;
  if (work.checkpoint != nullptr) options.output_store = &work.checkpoint->result(name);
  auto result = job.timed(name, [&] {
    return input.file ? fdk_into(*input.file, work.stack, geometry, output, parameters, job.devices(), options)
                      : fdk_into(input.memory.volume(), geometry, output, parameters, job.devices(), options);
  });
  job.record(result, name + frame);
  return result;
}

// One half; its projections are copied.
void reconstruct_half(Job& job, const FdkWork& work, const HalfScan& half, FdkParameters parameters,
                      const FdkInput& input, VolumeSink& output, const std::string& name, const std::string& frame) {
  CountsCalibration calibration;
  if (parameters.counts) {
    calibration = parameters.counts->calibration->of_views(half.views);
    parameters.counts->calibration = &calibration;
  }
  const FdkInput views{TypedSource(select_views(input.memory.volume(), half.views)), nullptr};
  reconstruct(job, work, half.geometry, parameters, views, output, name, frame);
}

// A scan of which frames or other parts are taken.
struct WholeScan {
  std::unique_ptr<VolumeSource> file;
  CountsCalibration calibration;  // of counts
};

// Part n of a scan, or all of the input where there is none.
FdkInput read_projections(Job& job, const FdkCommand& command, const FdkWork& work, std::size_t n,
                          const WholeScan* scan) {
  FdkInput input;
  if (work.streamed) {
    input.file = open_line_integrals(job, command.counts_arguments, command.input);
    return input;
  }
  const auto taken = [&] {
    const ProjectionPart& part = work.chosen.frames[n];
    return command.counts ? take_counts(*scan->file, part, scan->calibration) : take_part(*scan->file, part);
  };
  TypedVolume projections = scan != nullptr ? to_typed(job.timed("read", taken))
                            : command.counts
                                ? read_counts(job, work.input, command.input)
                                : to_typed(read_line_integrals(job, command.counts_arguments, command.input));
  projections.grid = work.stack;
  input.memory = TypedSource(std::move(projections));
  return input;
}

// What was said of the projections of a frame is not said of others.
class ProjectionWarnings {
 public:
  void look_at(const FdkCommand& command, const FdkWork& work, const FdkFrame& frame, const FdkInput& input,
               const CountsCalibration* calibration, std::size_t n) {
    const std::string geometry = "'" + command.geometry + "'",
                      name = "'" + command.input + "'" + (work.frames.size() > 1 ? fmt::format(", frame {}", n) : "");
    const VolumeSource& projections = input.file ? *input.file : static_cast<const VolumeSource&>(input.memory);
    const auto found =
        suspicious_projections(projections, calibration,
                               redundancy_of(frame.geometry, work.stack, work.attenuation.redundancy, geometry), name);
    tell(found.constant, constant_);
    tell(found.unlike_integrals, unlike_integrals_);
    if (work.attenuation.pad == 0) tell(found.truncated, truncated_);
  }

 private:
  static void tell(const std::string& text, bool& told) {
    if (!text.empty() && !told) spdlog::warn("{}", text);
    told = told || !text.empty();
  }
  bool constant_ = false, unlike_integrals_ = false, truncated_ = false;
};

// The line that says what a frame was made of.
std::string made_of(const FdkCommand& command, const FdkWork& work, const std::string& suffix) {
  return fmt::format("{}, FDK of {}{} ({}), window {} with cut-off {:.4g}, {} interpolation{}", grid_summary(work.grid),
                     views_text(work.stack.size[2]), suffix, beam_of(work), command.filter.window,
                     command.filter.cutoff, command.filter.interpolation,
                     command.water ? fmt::format(", HU with water at {:.6g}/mm", *command.water) : "");
}

// On its way to an array, in the units of the output.
class ArraySink {
 public:
  ArraySink(DistributedArray& array, const FdkCommand& command, bool variance) : sink_(array) {
    if (command.water) in_units_.emplace(array, *command.water, variance);
  }
  VolumeSink& sink() { return in_units_ ? static_cast<VolumeSink&>(*in_units_) : sink_; }

 private:
  VolumeSink& sink_;
  std::optional<HounsfieldSink> in_units_;
};

void write_array(Job& job, const DistributedArray& array, ImageSink& image) {
  job.timed("write", [&] {
    image.begin();
    copy_voxels(array, image);
  });
  job.commit(image);
}

// run_frame() with --denoise.
std::size_t run_denoised_frame(Job& job, const FdkCommand& command, const FdkWork& work, std::size_t n, FdkInput input,
                               const FdkParameters& attenuation, const FdkParameters& noise) {
  const FdkFrame& frame = work.frames[n];
  const std::string suffix = work.frames.size() > 1 ? fmt::format(" of frame {}", n) : "";
  const auto image = job.create(frame.output, work.grid, work.storage);
  const auto created = [&](const std::string& path) {
    return path.empty() ? nullptr : job.create(path, work.grid, ImageStorage{});
  };
  const auto undenoised = created(frame.undenoised_output), variances = created(frame.variance_output);
  const auto volume = work.denoised->make("volume");
  DistributedArray* arrays[] = {volume.get(), nullptr};
  with_room(arrays, [&] {
    reconstruct(job, work, frame.geometry, attenuation, input, ArraySink(*volume, command, false).sink(), "fdk",
                suffix);
  });
  std::unique_ptr<DistributedArray> variance;
  if (command.denoise.weighted()) {
    variance = work.denoised->make("variance");
    arrays[1] = variance.get();
    with_room(arrays, [&] {
      reconstruct(job, work, frame.geometry, noise, input, ArraySink(*variance, command, true).sink(), "variance",
                  suffix);
    });
    if (variances) write_array(job, *variance, *variances);
  } else if (variances) {
    std::optional<HounsfieldSink> in_units;
    if (command.water) in_units.emplace(*variances, *command.water, true);
    reconstruct(job, work, frame.geometry, noise, input, in_units ? static_cast<VolumeSink&>(*in_units) : *variances,
                "variance", suffix);
    job.commit(*variances);
  }
  input = {};
  if (undenoised) write_array(job, *volume, *undenoised);
  const DenoiseResult result =
      denoise_reconstruction(job, command.denoise, *volume, variance.get(), *image, "denoise" + suffix);
  job.commit(*image);
  job.say(fmt::format("{}: {}\n  denoised: {}", frame.output, made_of(command, work, suffix),
                      tell_of_denoising(job, command.denoise, result, static_cast<double>(work.grid.count()))));
  return image->changed();
}

// Returns how many voxels the type of the output could not hold.
std::size_t run_frame(Job& job, const FdkCommand& command, const FdkWork& work, std::size_t n, const WholeScan* scan,
                      ProjectionWarnings& warnings) {
  const FdkFrame& frame = work.frames[n];
  const std::string suffix = work.frames.size() > 1 ? fmt::format(" of frame {}", n) : "";
  // All before any has its name: after Ctrl-C nothing is left, but for frames that were finished.
  FdkInput input = read_projections(job, command, work, n, scan);
  FdkParameters attenuation = work.attenuation, noise = work.variance;
  CountsCalibration calibration;
  if (command.counts) {
    calibration = scan != nullptr
                      ? part_calibration(scan->calibration, work.chosen.frames[n], "'" + command.input + "'")
                      : calibrate(job, command.counts_arguments, input.memory, work.input, command.input);
    attenuation.counts->calibration = noise.counts->calibration = &calibration;
  }
  warnings.look_at(command, work, frame, input, command.counts ? &calibration : nullptr, n);
  const auto tell_of_counts = [&] {
    if (command.counts && n == 0)
      job.say(fmt::format("  from {}: {}{}", command.input, scan != nullptr ? "of the whole scan, " : "",
                          counts_summary(calibration)));
  };
  if (work.denoised) {
    const std::size_t changed = run_denoised_frame(job, command, work, n, std::move(input), attenuation, noise);
    tell_of_counts();
    return changed;
  }
  // The room of all outputs is taken before the first run.
  Output volume(job, command, work.grid, frame.output, work.storage, false);
  std::optional<Output> variance;
  if (noise.variance) variance.emplace(job, command, work.grid, frame.variance_output, ImageStorage{}, true);
  std::vector<Output> halves;
  for (std::size_t half = 0; half < frame.halves.size(); ++half)
    halves.emplace_back(job, command, work.grid, frame.half_outputs[half], ImageStorage{}, false);
  const RunResult result = reconstruct(job, work, frame.geometry, attenuation, input, volume.sink(), "fdk", suffix);
  if (variance) reconstruct(job, work, frame.geometry, noise, input, variance->sink(), "variance", suffix);
  for (std::size_t half = 0; half < halves.size(); ++half)
    reconstruct_half(job, work, frame.halves[half], attenuation, input, halves[half].sink(), half_name(half), suffix);
  input = {};
  job.commit(volume.image());
  if (variance) job.commit(variance->image());
  for (Output& half : halves) job.commit(half.image());

  job.say(fmt::format("{}: {}{}", frame.output, made_of(command, work, suffix),
                      n + 1 == work.frames.size() ? job.how(result) : ""));
  tell_of_counts();
  if (variance)
    job.say(fmt::format("{}: noise variance of the same in {}^2, for {}", frame.variance_output,
                        command.water ? "HU" : "1/mm", command.noise.text()));
  for (std::size_t half = 0; half < halves.size(); ++half)
    job.say(fmt::format("{}: the same from the {} {} view{}", frame.half_outputs[half], frame.halves[half].views.size(),
                        half_names[half], frame.halves[half].views.size() == 1 ? "" : "s"));
  return volume.image().changed();
}

// What reconstruct() makes of a frame, by the names of the runs.
std::vector<std::string> results_of(const FdkWork& work) {
  std::vector<std::string> names{"fdk"};
  if (work.variance.variance) names.emplace_back("variance");
  for (std::size_t half = 0; half < work.frames.front().halves.size(); ++half) names.push_back(half_name(half));
  return names;
}

// Whether a frame that was finished before still is.
bool is_there(const FdkFrame& frame, const Grid& grid) {
  for (const auto& path : {frame.output, frame.variance_output, frame.half_outputs[0], frame.half_outputs[1]})
    if (!path.empty() && !was_written(path, grid.size[2])) return false;
  return true;
}

// All that the attenuations depend on; contents instead of the files that hold them. They are kept before they
// become CT numbers or another type.
nlohmann::json checkpoint_job(Job& job, const FdkCommand& command, const FdkWork& work) {
  auto result = options_of_bits(job, {"--input", "--geometry", "--like", "--flat", "--dark", "--bad-pixels"});
  // Frames that are finished have become what these say.
  if (work.frames.size() == 1)
    for (const char* name : {"--output", "--output-type", "--hu", "--variance-out", "--halves-out"}) result.erase(name);
  result["grid"] = grid_json(work.grid);
  result["the grid of -i"] = grid_json(work.chosen.file);
  result["results"] = results_of(work);
  result["the contents of --geometry"] = fmt::format("{:08x}", file_checksum(command.geometry));
  const auto& counts = command.counts_arguments;
  for (const auto& [option, path] : {std::pair<std::string, std::string>("-i", command.input),
                                     {"--flat", counts.flat},
                                     {"--dark", counts.dark},
                                     {"--bad-pixels", counts.bad_pixels}})
    if (!path.empty()) result["the voxels of " + option] = fmt::format("{:08x}", voxel_checksum(*job.open(path)));
  return result;
}

// Before the run: what it is about, and where it goes on from.
void begin_checkpoint(Job& job, OutputCheckpoint& checkpoint, const FdkCommand& command, const FdkWork& work) {
  job.timed("checksums", [&] { checkpoint.set_job(checkpoint_job(job, command, work)); });
  if (!command.resume) return;
  if (!job.timed("checksums", [&] { return checkpoint.resume(); })) {
    spdlog::info("there is no '{}': the run starts from the beginning", command.checkpoint);
    return;
  }
  spdlog::info("going on: {} are done", checkpoint.kept_text());
  job.results()["resumed_after_slices"] = checkpoint.slices();
  if (checkpoint.frame() > 0) job.results()["resumed_after_frames"] = checkpoint.frame();
}

void check_with_denoise(const FdkCommand& command) {
  if (!command.denoise.wanted()) return;
  if (!command.checkpoint.empty())
    throw InputError(
        "--checkpoint keeps slices of fdk alone, not what --denoise makes of them; leave one of them out, and run "
        "halocline denoise --checkpoint on the volume");
  if (!command.halves_output.empty())
    throw InputError("--halves-out does not go with --denoise; write the halves in a run of their own");
}

// Plans of a run, and what they hold of host memory.
class FdkPlans {
 public:
  FdkPlans(Job& job, const FdkCommand& command, FdkWork& work) : job_(job), command_(command), work_(work) {
    if (command.denoise.wanted()) plan_denoised();
    const FdkFrame& first = work.frames.front();
    attenuation_ = work.denoised ? work.denoised->fdk() : plan(first.geometry, work.stack, work.attenuation);
    if (work.variance.variance)
      variance_ = work.denoised ? work.denoised->variance() : plan(first.geometry, work.stack, work.variance);
    // What is read only once need not lie in host memory; nor can what is too large for it.
    work.streamed = work.chosen.whole && !command.counts && first.halves.empty() &&
                    ((attenuation_.resident && !variance_) || 4 * work.stack.count() > job.host_memory() / 2);
  }

  // Projections and results, or the page-locked chunks that they pass through on their way from and to files
  // (host/staging.hpp); half of the projections are copied.
  void forecast() const {
    constexpr double chunks = 64 << 20;
    const FdkFrame& first = work_.frames.front();
    const auto stored = command_.counts ? work_.attenuation.counts->stored : Component::float32;
    const double views = static_cast<double>(component_bytes(stored)) * static_cast<double>(work_.stack.count()),
                 volumes = grid_bytes(work_.grid) * static_cast<double>(1 + (variance_ ? 1 : 0) + first.halves.size()),
                 input = work_.streamed && is_streamable(command_.input) ? 0 : views,
                 results = is_streamable(first.output) ? 0 : volumes,
                 pieces = (input > 0 ? 0 : std::min(views, chunks)) + (results > 0 ? 0 : std::min(volumes, chunks)),
                 spilled = work_.denoised ? work_.denoised->spilled_bytes() : 0;
    job_.forecast(attenuation_, input + results + spilled, pieces);
    if (variance_) job_.forecast(*variance_, input + results + spilled, pieces);
    if (work_.denoised)
      job_.forecast(work_.denoised->denoise(), results + work_.denoised->denoise_bytes(command_.denoise), pieces);
    for (const auto& half : first.halves)  // which are never streamed
      job_.forecast(plan(half.geometry, half_stack(work_, half), work_.attenuation), 1.5 * input + results, pieces);
  }

 private:
  Plan plan(const Geometry& geometry, const Grid& stack, const FdkParameters& parameters) const {
    PlanOptions options;
    options.minimum_slabs = work_.minimum_slabs;
    return plan_with(geometry, stack, parameters, options);
  }
  Plan plan_with(const Geometry& geometry, const Grid& stack, const FdkParameters& parameters,
                 const PlanOptions& options) const {
    return plan_fdk(geometry, stack, work_.grid, parameters, device_models(job_.devices()), options);
  }

  void plan_denoised() {
    if (const std::string& guide = command_.denoise.regulariser.reference; !guide.empty())
      require_same_grid(work_.grid, "the volume", job_.input_volume("--reference", guide).grid,
                        "--reference '" + guide + "'");
    if (command_.denoise.parameters.method != "tvgd") job_.tune_first_run(command_.denoise.parameters.method);
    const auto of = [&](const FdkParameters& parameters) {
      return [&](const PlanOptions& how) {
        return plan_with(work_.frames.front().geometry, work_.stack, parameters, how);
      };
    };
    work_.denoised.emplace(job_, command_.denoise, work_.grid, of(work_.attenuation),
                           work_.variance.variance ? DenoisedPlan::FdkPlan(of(work_.variance)) : nullptr);
  }

  Job& job_;
  const FdkCommand& command_;
  FdkWork& work_;
  Plan attenuation_;
  std::optional<Plan> variance_;
};

std::unique_ptr<OutputCheckpoint> make_checkpoint(Job& job, const FdkCommand& command, const FdkWork& work) {
  if (command.checkpoint.empty()) return nullptr;
  job.output("--checkpoint", command.checkpoint);
  auto checkpoint = std::make_unique<OutputCheckpoint>(command.checkpoint, work.grid, results_of(work));
  if (job.dry_run())
    job.print(fmt::format("  checkpoint: up to {}", bytes_text(static_cast<double>(checkpoint->most_bytes()))));
  checkpoint->check(command.resume || job.dry_run());
  return checkpoint;
}

std::optional<WholeScan> open_whole_scan(Job& job, const FdkCommand& command, const FdkWork& work) {
  if (work.chosen.whole) return std::nullopt;
  std::optional<WholeScan> scan;
  scan.emplace(WholeScan{
      command.counts ? job.open(command.input) : open_line_integrals(job, command.counts_arguments, command.input),
      {}});
  if (command.counts)
    scan->calibration = calibrate(job, command.counts_arguments, *scan->file, work.input, command.input);
  return scan;
}

void run_fdk(Job& job, const FdkCommand& command) {
  check_with_denoise(command);
  FdkWork work = prepare(job, command);
  if (!command.checkpoint.empty()) work.minimum_slabs = slabs_to_keep;
  FdkPlans(job, command, work).forecast();
  const auto checkpoint = make_checkpoint(job, command, work);
  if (job.dry_run()) {
    if (work.frames.size() > 1) job.print(fmt::format("and so for each of {} frames", work.frames.size()));
    return;
  }
  job.results().update({{"grid", grid_json(work.grid)},
                        {"projections", grid_json(work.stack)},
                        {"views", work.stack.size[2]},
                        {"frames", work.frames.size()},
                        {"beam", beam_of(work)},
                        {"unit", command.unit()}});
  if (command.water) job.results()["water_per_mm"] = *command.water;
  const std::optional<WholeScan> scan = open_whole_scan(job, command, work);
  if (checkpoint) begin_checkpoint(job, *checkpoint, command, work);
  std::size_t clamped = checkpoint ? checkpoint->clamped() : 0;
  const std::size_t first_frame = checkpoint ? checkpoint->frame() : 0;
  const FftKernels kernels;  // of all frames
  ProjectionWarnings warnings;
  resumable(checkpoint.get(), [&] {
    for (std::size_t n = 0; n < work.frames.size(); ++n) {
      if (n < first_frame && is_there(work.frames[n], work.grid)) continue;
      work.checkpoint = checkpoint && n >= first_frame ? &*checkpoint : nullptr;
      if (work.checkpoint != nullptr) checkpoint->begin_frame(n, clamped);
      const std::size_t changed = run_frame(job, command, work, n, scan ? &*scan : nullptr, warnings);
      if (n >= first_frame) clamped += changed;  // those of frames before were counted then
    }
  });
  if (checkpoint) checkpoint->remove();
  tell_of_clamping(job, work.storage, clamped, "--output-type float32");
}

}  // namespace

void add_fdk(CLI::App& app, Action& action) {
  auto* sub =
      app.add_subcommand("fdk", "Reconstruct a circular scan by filtered back-projection (Feldkamp, Davis & Kress)");
  auto command = std::make_shared<FdkCommand>();
  sub->add_option("-i,--input", command->input,
                  "Projections (u, v, view): line integrals, or with --counts counts. A stack, or a file a view: a "
                  "folder of TIFF files, or a "
                  "pattern such as 'p*.tif' or p_%04d.tif")
      ->required()
      ->type_name("FILE");
  sub->add_option("-g,--geometry", command->geometry, geometry_file_help)->required()->type_name("FILE");
  add_projection_options(*sub, command->projections);
  add_grid_options(*sub, command->grid, true);
  add_filter_options(*sub, command->filter, true);
  auto* counts = add_counts_flag(*sub, command->counts, command->counts_arguments);
  add_noise_options(*sub, command->noise, counts,
                    "Also write the variance of each voxel (for denoise --weights), 1/mm^2, or HU^2", "FILE");
  sub->add_option("--halves-out", command->halves_output,
                  "Also write the reconstructions of the odd and of the even views as they lie on the circle (for "
                  "denoise --halves and noise-map), 1/mm, or HU; needs no model of the noise, and twice the time")
      ->type_name("A,B")
      ->group("Noise of the volume");
  sub->add_option("-o,--output", command->output,
                  std::string("Volume of attenuations to write, 1/mm, or HU with --hu") + slice_files_help)
      ->required()
      ->type_name("FILE");
  add_water_option(*sub, command->water);
  sub->add_option(
         "--output-type", command->output_type,
         "Type of the voxels of -o. Whole numbers need --hu; they are rounded to nearest, and those beyond the "
         "type's range are clamped and counted")
      ->check(CLI::IsMember({"uint8", "int16", "uint16", "float16", "float32"}))
      ->type_name("TYPE");
  add_fdk_denoise_options(*sub, command->denoise);
  const char* control = "Interruptions";
  auto* checkpoint =
      sub->add_option(
             "--checkpoint", command->checkpoint,
             "Keep slices there as they are done, so that --resume can go on from them whatever ends the run: a kill, "
             "a crash, a lost device, Ctrl-C. --dry-run says how large it can get. The work is cut into at least 8 "
             "slabs. Removed when the result has been written")
          ->type_name("FILE")
          ->group(control);
  sub->add_flag("--resume", command->resume,
                "Go on from the --checkpoint of the same command, to the same bits as without the interruption; where "
                "there is no such file, start from the beginning")
      ->needs(checkpoint)
      ->group(control);
  sub->footer(
      "Example:\n  halocline fdk -i projections.mha --geometry geometry.xml --size 128,128,128 --spacing 1.5,1.5,1.5 "
      "-o volume.mha\n  halocline fdk -i 'scan/*.tif' --geometry scan.xtekct -o volume.mha");
  sub->callback([&action, command] {
    action = [command](Job& job) {
      take_fdk_denoise(command->denoise);
      command->noise.for_weights = command->denoise.weighted();
      run_fdk(job, *command);
    };
  });
}

}  // namespace halocline
