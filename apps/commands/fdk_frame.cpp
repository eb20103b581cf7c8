#include "apps/commands/fdk_frame.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "algorithms/preprocessing/hounsfield.hpp"
#include "apps/job/report.hpp"
#include "host/system/plural.hpp"
#include "host/system/thread_pool.hpp"
#include "scheduling/transport/share_volume.hpp"

namespace halocline {
namespace {

// A volume, or its variance, on its way to where it is kept, in the unit of the output.
class InOutputUnit {
 public:
  InOutputUnit(VolumeSink& kept, const FdkCommand& command, bool variance) : kept_(kept) {
    if (command.water) hounsfield_.emplace(kept, *command.water, variance);
  }
  VolumeSink& sink() { return hounsfield_ ? static_cast<VolumeSink&>(*hounsfield_) : kept_; }

 private:
  VolumeSink& kept_;
  std::optional<HounsfieldSink> hounsfield_;
};

// A volume or its variance on its way to its file, which exists after commit().
class Output {
 public:
  Output(Job& job, const FdkCommand& command, const Grid& grid, const std::string& path, const ImageStorage& storage,
         bool variance)
      : image_(job.images().create(path, grid, storage)), in_unit_(*image_, command, variance) {}
  VolumeSink& sink() { return in_unit_.sink(); }
  ImageSink& image() { return *image_; }

 private:
  std::unique_ptr<ImageSink> image_;
  InOutputUnit in_unit_;
};

// All ranks have the array, and each writes a part of it.
void write_array(Job& job, const DistributedArray& array, ImageSink& image) {
  const Range slices = slices_to_write(array.grid(), ranks());
  const std::size_t slice = array.grid().slice(), begin = slice * unsigned_count(slices.begin);
  job.timed("write", [&] {
    image.begin();
    if (!ranks().several()) return copy_voxels(array, image);
    parallel_ranges(slice * slices.size(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
      std::vector<float> piece(count);
      array.read(begin + first, count, piece.data());
      image.write(begin + first, count, piece.data());
    });
  });
  job.images().commit(image);
}

class FrameRun {
 public:
  FrameRun(const FdkScan& scan, std::size_t n, OutputCheckpoint* checkpoint)
      : job_(scan.job),
        plans_(scan.plans),
        command_(scan.command),
        work_(scan.work),
        frame_(scan.work.frames[n]),
        last_(n + 1 == scan.work.frames.size()),
        suffix_(scan.work.frames.size() > 1 ? fmt::format(" of frame {}", n) : ""),
        checkpoint_(checkpoint),
        input_(scan.projections.read(n)),
        attenuation_(scan.work.attenuation),
        noise_(scan.work.variance) {
    if (command_.counts) attenuation_.counts->calibration = noise_.counts->calibration = &input_.calibration;
  }
  FrameRun(const FrameRun&) = delete;
  FrameRun& operator=(const FrameRun&) = delete;

  const FdkInput& input() const { return input_; }

  // Each volume to its file. Returns how many voxels the type of the output could not hold.
  std::size_t reconstruct_all() {
    // The room of all outputs is taken before the first run. All are made before any has its name: after Ctrl-C nothing
    // is left, but for frames that were finished.
    Output volume = output(frame_.output, work_.storage, false);
    std::optional<Output> variance;
    if (noise_.variance) variance.emplace(output(frame_.variance_output, {}, true));
    std::vector<Output> halves;
    for (std::size_t half = 0; half < frame_.halves.size(); ++half)
      halves.push_back(output(frame_.half_outputs[half], {}, false));
    const RunResult result = reconstruct(frame_.geometry, attenuation_, input_, volume.sink(), "fdk");
    if (variance) reconstruct(frame_.geometry, noise_, input_, variance->sink(), "variance");
    for (std::size_t half = 0; half < halves.size(); ++half) reconstruct_half(half, halves[half].sink());
    input_.release();
    job_.images().commit(volume.image());
    if (variance) job_.images().commit(variance->image());
    for (Output& half : halves) job_.images().commit(half.image());
    show("FDK" + suffix_, command_.unit(), frame_.output);
    show("variance" + suffix_, std::string(command_.unit()) + "^2", frame_.variance_output);
    for (std::size_t half = 0; half < halves.size(); ++half)
      show(half_name(half) + suffix_, command_.unit(), frame_.half_outputs[half]);
    job_.say(fmt::format("{}: {}{}", frame_.output, made_of(), last_ ? job_.how(result) : ""));
    return volume.image().changed();
  }

  // Reconstructs for --denoise, through volumes that remain on the devices where they fit.
  std::size_t denoise(const DenoisedPlan& plan) {
    const auto image = job_.images().create(frame_.output, work_.grid, work_.storage);
    const auto created = [&](const std::string& path) {
      return path.empty() ? nullptr : job_.images().create(path, work_.grid, ImageStorage{});
    };
    const auto undenoised = created(frame_.undenoised_output), variances = created(frame_.variance_output);
    const auto volume = plan.make("volume");
    DistributedArray* arrays[] = {volume.get(), nullptr};
    const auto into = [&](DistributedArray& array, const FdkParameters& parameters, const char* name) {
      with_room(arrays, [&] {
        PartOfRank part(array);
        VolumeSink& sink = ranks().several() ? static_cast<VolumeSink&>(part) : array;
        InOutputUnit in_unit(sink, command_, parameters.variance.has_value());
        reconstruct(frame_.geometry, parameters, input_, in_unit.sink(), name);
        if (ranks().several()) share_volume(ranks(), part.made(), array.grid().count(), array.data());
      });
    };
    into(*volume, attenuation_, "fdk");
    std::unique_ptr<DistributedArray> variance;
    if (command_.denoise.weighted()) {
      variance = plan.make("variance");
      arrays[1] = variance.get();
      into(*variance, noise_, "variance");
      if (variances) write_array(job_, *variance, *variances);
    } else if (variances) {
      InOutputUnit in_unit(*variances, command_, true);
      reconstruct(frame_.geometry, noise_, input_, in_unit.sink(), "variance");
      job_.images().commit(*variances);
    }
    input_.release();
    if (undenoised) write_array(job_, *volume, *undenoised);
    const DenoiseResult result = denoise_reconstruction(job_, command_.denoise, plan.denoise(), *volume, variance.get(),
                                                        *image, "denoise" + suffix_);
    job_.images().commit(*image);
    job_.page().show({"FDK" + suffix_, command_.unit(), false, work_.grid}, *volume);
    show("denoised" + suffix_, command_.unit(), frame_.output);
    show("variance" + suffix_, std::string(command_.unit()) + "^2", frame_.variance_output);
    job_.say(fmt::format("{}: {}\n  denoised: {}", frame_.output, made_of(),
                         report_denoising(job_, command_.denoise, result, static_cast<double>(work_.grid.count()))));
    return image->changed();
  }

  // The lines after that of the volume.
  void report_noise() const {
    if (noise_.variance)
      job_.say(fmt::format("{}: noise variance of the same in {}^2, for {}", frame_.variance_output, command_.unit(),
                           command_.noise.text()));
    for (std::size_t half = 0; half < frame_.halves.size(); ++half) {
      const std::size_t views = frame_.halves[half].views.size();
      job_.say(fmt::format("{}: the same from the {} {} view{}", frame_.half_outputs[half], views, half_names[half],
                           views == 1 ? "" : "s"));
    }
  }

 private:
  void show(const std::string& name, const std::string& unit, const std::string& path) const {
    job_.page().show({name, unit, false, work_.grid}, path);
  }

  Output output(const std::string& path, const ImageStorage& storage, bool variance) const {
    return Output(job_, command_, work_.grid, path, storage, variance);
  }

  RunResult reconstruct(const Geometry& geometry, const FdkParameters& parameters, const FdkInput& input,
                        VolumeSink& output, const std::string& name) {
    job_.tune_first_run("fdk");
    double updates = static_cast<double>(work_.grid.count()) * static_cast<double>(work_.stack.size[2]);
    if (checkpoint_ != nullptr) updates *= checkpoint_->left(name);
    auto options = job_.run_options({0, updates, "updates"});
    options.plan = fdk_plan_options(job_, command_);
    options.planned = plans_.plan_of(name);
    if (checkpoint_ != nullptr) options.output_store = &checkpoint_->result(name);
    auto result = job_.timed(name, [&] {
      return input.file ? fdk_into(*input.file, work_.stack, geometry, output, parameters, job_.devices(), options)
                        : fdk_into(input.memory.volume(), geometry, output, parameters, job_.devices(), options);
    });
    job_.record(result, name + suffix_);
    return result;
  }

  // Its projections are copied.
  void reconstruct_half(std::size_t half, VolumeSink& output) {
    const HalfScan& scan = frame_.halves[half];
    FdkParameters parameters = attenuation_;
    CountsCalibration calibration;
    if (parameters.counts) {
      calibration = parameters.counts->calibration->of_views(scan.views);
      parameters.counts->calibration = &calibration;
    }
    const FdkInput views{TypedSource(select_views(input_.memory.volume(), scan.views)), nullptr, {}};
    reconstruct(scan.geometry, parameters, views, output, half_name(half));
  }

  std::string made_of() const {
    const bool gridding = command_.filter.algorithm == "gridding";
    return fmt::format("{}, FDK of {}{} ({}), {}, {}{}", grid_summary(work_.grid), views_text(work_.stack.size[2]),
                       suffix_, work_.beam(), command_.filter.text(),
                       gridding ? "gridding" : command_.filter.interpolation + " interpolation",
                       command_.water ? fmt::format(", HU with water at {:.6g}/mm", *command_.water) : "");
  }

  Job& job_;
  const FdkPlans& plans_;
  const FdkCommand& command_;
  const FdkWork& work_;
  const FdkFrame& frame_;
  bool last_;
  std::string suffix_;
  OutputCheckpoint* checkpoint_;
  FdkInput input_;
  FdkParameters attenuation_, noise_;
};

}  // namespace

std::size_t reconstruct_frame(const FdkScan& scan, std::size_t n, OutputCheckpoint* checkpoint) {
  FrameRun run(scan, n, checkpoint);
  const DenoisedPlan* denoised = scan.plans.denoised();
  const std::size_t changed = denoised != nullptr ? run.denoise(*denoised) : run.reconstruct_all();
  if (scan.command.counts && n == 0)
    scan.job.say(fmt::format("  from {}: {}", scan.command.input, scan.projections.counts_text(run.input())));
  if (denoised == nullptr) run.report_noise();
  return changed;
}

}  // namespace halocline
