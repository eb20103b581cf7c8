// The plans of `halocline fdk`, and what they take.
#pragma once

#include <optional>

#include "apps/commands/fdk_work.hpp"

namespace halocline {

/// Options of the plan; the same for the forecast and for the run itself.
PlanOptions fdk_plan_options(Job& job, const FdkCommand& command);

/// The plans of one frame: all are alike.
class FdkPlans {
 public:
  FdkPlans(Job& job, const FdkCommand& command, const FdkWork& work);

  /// Prints what the runs take after --dry-run, and throws as Job::forecast() does if that is not there.
  void forecast() const;
  /// The plan of the run "fdk" or "variance"; other runs plan by themselves.
  std::optional<Plan> plan_of(const std::string& run) const;
  /// Projections are read as they are wanted.
  bool streamed() const { return streamed_; }
  /// The detector rows that this rank's slabs see, where it reads these alone into host memory.
  const std::optional<Range>& rows() const { return rows_; }
  /// The plans of --denoise; nullptr without it.
  const DenoisedPlan* denoised() const { return denoised_ ? &*denoised_ : nullptr; }

 private:
  Plan plan(const Geometry& geometry, const Grid& stack, const FdkParameters& parameters,
            const PlanOptions& options) const;
  void plan_denoised();
  Range rows_seen() const;

  Job& job_;
  const FdkCommand& command_;
  const FdkWork& work_;
  Plan attenuation_;
  std::optional<Plan> variance_;
  std::optional<DenoisedPlan> denoised_;
  bool streamed_ = false;
  std::optional<Range> rows_;
};

}  // namespace halocline
