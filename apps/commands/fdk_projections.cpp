#include "apps/commands/fdk_projections.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "algorithms/checks/suspicious_projections.hpp"
#include "apps/options/counts_report.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

void warn_once(const std::string& text, bool& warned) {
  if (!text.empty() && !warned) spdlog::warn("{}", text);
  warned = warned || !text.empty();
}

}  // namespace

void FdkInput::release() {
  memory = TypedSource(TypedVolume{});
  file.reset();
}

FdkProjections::FdkProjections(Job& job, const FdkCommand& command, const FdkWork& work, const FdkPlans& plans)
    : job_(job), command_(command), work_(work), plans_(plans) {
  if (work.chosen.whole) return;
  scan_ = command.counts ? job.images().open_rays(command.input)
                         : open_line_integrals(job, command.counts_arguments, command.input);
  if (command.counts) scan_calibration_ = calibrate(job, command.counts_arguments, *scan_, work.input, command.input);
}

TypedVolume FdkProjections::read_voxels(std::size_t n) {
  if (scan_)
    return to_typed(job_.timed("read", [&] {
      const ProjectionPart& part = work_.chosen.frames[n];
      return command_.counts ? take_counts(*scan_, part, scan_calibration_) : take_part(*scan_, part);
    }));
  return command_.counts ? read_counts(job_, work_.input, command_.input)
                         : to_typed(read_line_integrals(job_, command_.counts_arguments, command_.input));
}

CountsCalibration FdkProjections::calibration_of(const FdkInput& input, std::size_t n) {
  return scan_ ? part_calibration(scan_calibration_, work_.chosen.frames[n])
               : calibrate(job_, command_.counts_arguments, input.memory, work_.input, command_.input);
}

void FdkProjections::warn_of(const FdkInput& input, std::size_t n) {
  const std::string name = command_.input_name() + (work_.frames.size() > 1 ? fmt::format(", frame {}", n) : "");
  const auto found = suspicious_projections(
      input.source(), command_.counts ? &input.calibration : nullptr,
      redundancy_of(work_.frames[n].geometry, work_.stack, work_.attenuation.redundancy, command_.geometry_name()),
      name);
  warn_once(found.constant, warned_constant_);
  warn_once(found.unlike_integrals, warned_unlike_integrals_);
  if (work_.attenuation.pad == 0) warn_once(found.truncated, warned_truncated_);
}

FdkInput FdkProjections::read(std::size_t n) {
  FdkInput input;
  if (plans_.streamed()) {
    input.file = open_line_integrals(job_, command_.counts_arguments, command_.input);
  } else if (const auto rows = plans_.rows()) {
    input.file = job_.images().hold_rows(open_line_integrals(job_, command_.counts_arguments, command_.input), *rows);
  } else {
    TypedVolume projections = read_voxels(n);
    projections.grid = work_.stack;
    input.memory = TypedSource(std::move(projections));
  }
  if (command_.counts) {
    input.calibration = calibration_of(input, n);
    if (!input.calibration.replaced.empty()) {  // not once a run
      TypedVolume counts = input.memory.take();
      input.calibration.replaced.put(counts);
      input.memory = TypedSource(std::move(counts));
    }
  }
  if (ranks().first()) warn_of(input, n);  // of views that not all ranks have
  return input;
}

std::string FdkProjections::counts_text(const FdkInput& input) const {
  return (scan_ ? "of the whole scan, " : "") + counts_summary(input.calibration);
}

}  // namespace halocline
