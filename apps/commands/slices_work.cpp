#include "apps/commands/slices_work.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "algorithms/checks/suspicious_projections.hpp"
#include "algorithms/fdk/half_scan.hpp"
#include "algorithms/geometry/slice_planes.hpp"
#include "algorithms/preprocessing/hounsfield.hpp"
#include "apps/job/report.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/scan_grid.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

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

void choose_planes(const SlicesCommand& command, SlicesWork& work) {
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

// Chooses the projections, too.
Grid grid_of_scan(Job& job, const SlicesCommand& command, const ImageInfo& input, SlicesWork& work) {
  work.chosen = choose_projections(command.projections, input, "'" + command.input + "'", command.geometry);
  const ScanFile scan = load_geometry(command.geometry, {}, DetectorPixels::of(work.chosen.file));
  return scan_grid(job, command.grid, scan, scan.geometry, work.chosen.stack(), command.filter.parameters().redundancy);
}

}  // namespace

Grid SlicesWork::window_stack() const {
  Grid grid = stack;
  grid.size[2] = window_views();
  return grid;
}

SlicesWork choose_slices(Job& job, const SlicesCommand& command, const ImageInfo* input) {
  if (command.step && !command.views) throw InputError("--step is between windows of --views views, which is missing");
  SlicesWork work;
  job.input("--geometry", command.geometry);
  job.input("--like", command.grid.like);
  job.input("--filter", command.filter.filter_file);
  if (input != nullptr)
    work.volume = make_grid(command.grid, [&] { return grid_of_scan(job, command, *input, work); });
  else
    work.volume = make_grid(command.grid);
  choose_planes(command, work);
  const std::string unit = command.water ? "HU" : "1/mm";
  work.quantities.push_back({"slices", unit, claim_outputs(job, "-o", command.outputs, work)});
  if (command.noise.wanted())
    work.quantities.push_back(
        {"variance", unit + "^2", claim_outputs(job, "--variance-out", command.noise.output, work)});
  return work;
}

std::vector<Range> slice_windows(const SlicesCommand& command, std::size_t views) {
  const std::size_t window = command.views.value_or(views);
  return windows_of(views, window, command.step.value_or(window));
}

void place_projections(Job& job, const SlicesCommand& command, SlicesWork& work, std::optional<Geometry> geometry) {
  const std::string input = "'" + command.input + "'", name = "'" + command.geometry + "'";
  if (work.chosen.frames.empty())
    work.chosen = choose_projections(command.projections, work.input, input, command.geometry);
  check_counts_or_integrals(job, command.counts, command.counts_arguments, work.input, command.input);
  work.stack = work.chosen.stack();
  FdkParameters parameters = command.filter.parameters();
  if (command.counts) parameters.counts = FdkParameters::Counts{};
  work.quantities.front().parameters = parameters;
  if (command.noise.wanted()) {
    parameters.variance = command.noise.noise(command.counts, work.chosen.pixels());
    work.quantities.back().parameters = parameters;
  }
  work.geometry = geometry ? std::move(*geometry)
                           : load_geometry(command.geometry, {}, DetectorPixels::of(work.chosen.file)).geometry;
  check_projections(work.stack, input, work.geometry, name, DetectorShape::flat_or_cylinder);
  work.windows = slice_windows(command, work.stack.size[2]);
  for (const auto& note : check_windows(work.geometry, work.stack, work.volume, work.quantities.front().parameters,
                                        work.windows, input, name))
    spdlog::warn("{}", note);
}

void warn_of_projections(const SlicesCommand& command, const SlicesWork& work, const Volume& projections,
                         const CountsCalibration* calibration) {
  const FdkParameters& parameters = work.quantities.front().parameters;
  const auto redundancy =
      redundancy_of(views_of(work.geometry, work.windows.front()), work.window_stack(), parameters.redundancy);
  const auto found =
      suspicious_projections(MemorySource(projections), calibration, redundancy, "'" + command.input + "'");
  for (const auto& text : {found.constant, found.unlike_integrals})
    if (!text.empty()) spdlog::warn("{}", text);
  if (!found.truncated.empty() && parameters.pad == 0) spdlog::warn("{}", found.truncated);
}

const Device& slices_device(Job& job, const SlicesWork& work, bool at_once, double projections) {
  if (job.devices().size() != 1)
    throw InputError(fmt::format("slices are made by one device, but {} are chosen; choose one with --device",
                                 job.devices().size()));
  const Device& device = job.devices().front();
  DeviceModel model = device_models({device}).front();
  const auto pixels = static_cast<double>(work.pixels * work.windows.size());
  for (const Quantity& quantity : work.quantities) {
    const Plan plan = plan_slices(views_of(work.geometry, work.windows.front()), work.window_stack(), work.volume,
                                  quantity.parameters, work.pixels, model);
    job.forecast(plan,
                 projections + sizeof(float) * pixels * static_cast<double>(at_once ? work.quantities.size() : 1));
    if (at_once) model.memory -= std::min(model.memory, plan.slabs.front().bytes);
  }
  return device;
}

SliceWindows::SliceWindows(Job& job, const SlicesCommand& command, const SlicesWork& work, const Quantity& quantity,
                           const Device& device)
    : job_(job), command_(command), work_(work), quantity_(quantity), device_(device) {
  for (Grid grid : work.slices) {
    grid.size[2] = work.windows.size();
    stacks_.push_back(Volume::uninitialised(grid));
  }
}

Range SliceWindows::fresh() const {
  const auto& windows = work_.windows;
  return done_ == 0 ? windows.front() : Range{windows[done_ - 1].end, windows[done_].end};
}

void SliceWindows::add(const Volume& fresh, const CountsCalibration* calibration, const std::vector<float>& beams) {
  job_.timed("filter", [&] {
    const Geometry views = views_of(work_.geometry, this->fresh());
    if (slices_) {
      slices_->add(fresh, views, quantity_.parameters.counts ? beams : std::vector<float>());
    } else {
      FdkParameters parameters = quantity_.parameters;
      CountsCalibration first;
      if (parameters.counts) {
        first = *calibration;
        first.size[2] = beams.size();
        first.beams = beams;
        parameters.counts->calibration = &first;
      }
      slices_ = std::make_unique<Slices>(device_, fresh, views, work_.volume, parameters, work_.pixels);
    }
  });
  newest_ = job_.timed(quantity_.name, [&] { return slices_->reconstruct(work_.slices); });
  for (std::size_t n = 0; n < newest_.size(); ++n) {
    Volume& slice = newest_[n];
    if (command_.water) {
      MemorySink memory(slice);
      HounsfieldSink(memory, *command_.water, quantity_.parameters.variance.has_value())
          .write(0, slice.voxels.size(), slice.voxels.data());
    }
    std::copy(slice.voxels.begin(), slice.voxels.end(),
              stacks_[n].voxels.begin() + static_cast<std::ptrdiff_t>(done_ * slice.voxels.size()));
  }
  ++done_;
}

std::vector<Volume> SliceWindows::take_stacks(std::size_t count) {
  for (Volume& stack : stacks_) {
    stack.grid.size[2] = count;
    stack.voxels.resize(stack.grid.count());
  }
  return std::move(stacks_);
}

void write_windows(Job& job, const SlicesCommand& command, const SlicesWork& work, const Quantity& quantity,
                   const std::vector<Volume>& stacks, const Device& device) {
  const bool variance = quantity.parameters.variance.has_value();
  const std::size_t done = stacks.front().grid.size[2];
  for (std::size_t n = 0; n < stacks.size(); ++n) {
    job.images().write(stacks[n], quantity.outputs[n]);
    job.page().show({work.names[n] + (variance ? ", variance" : ""), quantity.unit}, quantity.outputs[n]);
    job.results()["slices"].push_back({{"plane", work.names[n]},
                                       {"file", quantity.outputs[n]},
                                       {"unit", quantity.unit},
                                       {"grid", grid_json(work.slices[n])}});
    if (variance) {
      job.say(fmt::format("{}: noise variance of the same in {}, for {}", quantity.outputs[n], quantity.unit,
                          command.noise.text()));
      continue;
    }
    job.say(fmt::format("{}: {}, {} slice{} of {}, {}, {} interpolation{} on {}", quantity.outputs[n],
                        grid_summary(stacks[n].grid), work.names[n], done == 1 ? "" : fmt::format(", {} windows", done),
                        views_text(work.window_views()), command.filter.text(), command.filter.interpolation,
                        command.water ? fmt::format(", HU with water at {:.6g}/mm", *command.water) : "",
                        device.info().name));
  }
}

void report_windows(Job& job, const SlicesWork& work, std::size_t done) {
  auto& results = job.results();
  results["views"] = work.window_views();
  results["windows"] = nlohmann::json::array();
  for (std::size_t n = 0; n < done; ++n) results["windows"].push_back({work.windows[n].begin, work.windows[n].end - 1});
  results["slices"] = nlohmann::json::array();
}

void print_slices(Job& job, const SlicesWork& work) {
  for (const Quantity& quantity : work.quantities)
    for (std::size_t n = 0; n < work.slices.size(); ++n)
      job.print(fmt::format("{}: {}, {} of {}\n", quantity.outputs[n], work.names[n], work.windows.size(),
                            views_text(work.window_views())));
}

}  // namespace halocline
