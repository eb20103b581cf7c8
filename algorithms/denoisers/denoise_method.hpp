// Common parts of the denoisers beyond iterating: parameters, and a record of their progress.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/denoisers/filter_parameters.hpp"
#include "algorithms/denoisers/fused_pass.hpp"
#include "algorithms/denoisers/iterative_method.hpp"
#include "algorithms/denoisers/regulariser.hpp"
#include "algorithms/denoisers/schedule.hpp"
#include "algorithms/denoisers/time_axis.hpp"
#include "algorithms/support/slice_sums.hpp"
#include "algorithms/support/volume_array.hpp"

namespace halocline {

/// Parameters that methods take as a user gives them.
struct GivenParameters {
  Schedule schedule = Schedule::standard;  // pdu, spdu
  std::optional<double> adaptive_delta;    // tvgd, grey values per mm: differences well above it are kept (TvgdVariant)
  bool statistical = false;                // tvgd: steps are proportional to the root of the input "w"
  Regulariser regulariser;                 // pdu, spdu
  FilterParameters filter;                 // gaussian, median, nlm
  TimeAxis time;                           // pdu4d; pdu, spdu where the third axis is time
};

/// Parameters of every method of the registry; each takes what it needs. Lengths in mm. The bounds of the regulariser
/// are less what was subtracted from the grey values.
struct MethodParameters : GivenParameters {
  std::array<std::size_t, 3> size{1, 1, 1};
  std::array<double, 3> spacing{1, 1, 1};
  int iterations = 1;
  // pdu, spdu
  double lambda = 1;          // grey values times mm
  double gap = 0;             // stop at this relative duality gap; 0: do all iterations
  double largest_weight = 1;  // spdu
  FusedForm fused;            // pdu, spdu with the default schedule
  // tvgd
  double step = 0;                                              // RMS change per voxel and iteration, grey values
  double epsilon = 1;                                           // smoothing of the gradient's norm, grey values per mm
  double target_rms = std::numeric_limits<double>::infinity();  // stop when ||u - f||_2 / sqrt(N) is this
  KernelVariants variants;
  double noise = 1;       // nlm: standard deviation, grey values
  bool compared = false;  // the records have the error to the input "truth" (RecordedReduction)
  std::vector<double>
      path;  // pdu, spdu: values of lambda to do after one another, `iterations` at most each; empty: one
};

/// Findings of a reduction after so many iterations. Not a number where a method has no such quantity (tvgd: no dual).
struct IterationRecord {
  int iteration = 0;
  double primal = std::numeric_limits<double>::quiet_NaN();
  double dual = std::numeric_limits<double>::quiet_NaN();
  double gap = std::numeric_limits<double>::quiet_NaN();           // primal - dual
  double relative_gap = std::numeric_limits<double>::quiet_NaN();  // gap / primal
  double total_variation = 0;
  double fidelity = 0;           // ||u - f||_2
  double weighted_fidelity = 0;  // ||u - f||_2 weighted with 1 / w
  // RecordedReduction
  double seconds = 0;  // since the run began, transfers and kernels that are built included
  double truth_rmse = std::numeric_limits<double>::quiet_NaN();      // ||u - truth||_2 / sqrt(voxels)
  double truth_relative = std::numeric_limits<double>::quiet_NaN();  // ||u - truth||_2 / ||truth||_2
};

/// One lambda of a path.
struct StageRecord {
  double lambda = 0;
  bool converged = false, stalled = false;
  IterationRecord last;  // its result; iterations counted from the stage's beginning
};

class DenoiseMethod : public IterativeMethod {
 public:
  /// One record a reduction, the last one of the result. For a path those of its last stage.
  const std::vector<IterationRecord>& history() const { return history_; }
  /// True if the stopping criterion was reached.
  bool converged() const { return converged_; }
  /// True if it was given up because float32 (or the type of the duals) gets no nearer.
  bool stalled() const { return stalled_; }
  /// The stages of a path, the one that is under way included.
  const std::vector<StageRecord>& stages() const { return stages_; }
  /// Arrays that hold the image before the first iteration, for a warm start.
  virtual std::vector<std::string> image_arrays() const { return {"u"}; }
  void begin() override {
    history_.clear();
    stages_.clear();
    converged_ = stalled_ = false;
  }
  /// Adds to the last record what the method does not sum itself.
  void complete_record(double seconds, double truth_rmse, double truth_relative) {
    const auto complete = [&](IterationRecord& record) {
      record.seconds = seconds;
      record.truth_rmse = truth_rmse;
      record.truth_relative = truth_relative;
    };
    complete(history_.back());
    if (!stages_.empty()) complete(stages_.back().last);
  }

 protected:
  std::vector<IterationRecord> history_;
  std::vector<StageRecord> stages_;
  bool converged_ = false, stalled_ = false;
};

}  // namespace halocline
