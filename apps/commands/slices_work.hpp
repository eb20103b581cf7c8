// The work of `slices`: for a finished scan, and for one that continues (slices_follow.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/fdk/slices.hpp"
#include "apps/job/job.hpp"
#include "apps/options/counts_options.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/noise_options.hpp"
#include "apps/options/projection_options.hpp"

namespace halocline {

struct SlicesCommand {
  std::string input, geometry, planes = "axial,coronal,sagittal", outputs;
  ProjectionOptions projections;  // but for the views
  GridOptions grid;
  FilterSettings filter;
  bool counts = false;
  CountsArguments counts_arguments{.options = {.within_views = true}};  // views come one by one
  NoiseOptions noise;
  std::optional<double> water;
  std::optional<std::array<double, 3>> position, normal;
  std::optional<std::size_t> views, step;
  bool follow = false;
  double wait = 60;  // s
};

/// A result for each slice: attenuations, or their variance.
struct Quantity {
  std::string name, unit;
  std::vector<std::string> outputs;
  FdkParameters parameters = {};
};

struct SlicesWork {
  Grid volume;
  std::vector<std::string> names;
  std::vector<Grid> slices;
  std::size_t pixels = 0;  // pixels of all slices
  std::vector<Quantity> quantities;
  // of the projections
  ImageInfo input;
  ChosenProjections chosen;
  Grid stack;
  Geometry geometry;
  std::vector<Range> windows;

  std::size_t window_views() const { return static_cast<std::size_t>(windows.front().count()); }
  Grid window_stack() const;
};

/// All that needs no projections: planes, outputs and options that do not go together. input: the projections, if they
/// are known, for a volume whose grid they decide.
SlicesWork choose_slices(Job& job, const SlicesCommand& command, const ImageInfo* input = nullptr);
/// The windows of a scan of so many views.
std::vector<Range> slice_windows(const SlicesCommand& command, std::size_t views);
/// Completes the work for projections like work.input. geometry: if it was read already.
void place_projections(Job& job, const SlicesCommand& command, SlicesWork& work, std::optional<Geometry> geometry = {});
/// Warns of projections that look wrong: all, or those of the first window. calibration: of counts.
void warn_of_projections(const SlicesCommand& command, const SlicesWork& work, const Volume& projections,
                         const CountsCalibration* calibration);
/// The one device, after it and the host are seen to have the memory. at_once: the quantities remain on the device
/// together; projections: bytes of those that are held.
const Device& slices_device(Job& job, const SlicesWork& work, bool at_once, double projections);

/// One quantity, window after window.
class SliceWindows {
 public:
  SliceWindows(Job& job, const SlicesCommand& command, const SlicesWork& work, const Quantity& quantity,
               const Device& device);
  /// The next window. fresh: the views that it has and those before had not. Of counts: the calibration, which only the
  /// first window needs, and the beams of these views.
  void add(const Volume& fresh, const CountsCalibration* calibration, const std::vector<float>& beams);
  std::size_t done() const { return done_; }
  Range fresh() const;
  /// The newest of each slice.
  const std::vector<Volume>& newest() const { return newest_; }
  /// One layer a window, of the first `count`.
  std::vector<Volume> take_stacks(std::size_t count);

 private:
  Job& job_;
  const SlicesCommand& command_;
  const SlicesWork& work_;
  const Quantity& quantity_;
  Device device_;
  std::unique_ptr<Slices> slices_;
  std::size_t done_ = 0;
  std::vector<Volume> newest_, stacks_;
};

/// Writes what the windows gave of each slice, with a line each, and puts it into the report.
void write_windows(Job& job, const SlicesCommand& command, const SlicesWork& work, const Quantity& quantity,
                   const std::vector<Volume>& stacks, const Device& device);
/// Puts the finished windows into the report.
void report_windows(Job& job, const SlicesWork& work, std::size_t done);
/// Prints the work after --dry-run.
void print_slices(Job& job, const SlicesWork& work);

/// `slices --follow`.
void follow_slices(Job& job, const SlicesCommand& command);

}  // namespace halocline
