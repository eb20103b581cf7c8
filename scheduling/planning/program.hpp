// Declaration of an algorithm over volumes and projections: steps, iterations of steps, or iterations of a stencil.
// Steps name the arrays that they read and write; the planner and the executor place and split these.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/array_access.hpp"
#include "scheduling/planning/requirements.hpp"
#include "scheduling/planning/stencil_loop.hpp"

namespace halocline {

class Slab;

/// Values on the host, by name. They depend on sums over whole arrays in a fixed order, so they are the same for any
/// split.
using Scalars = std::map<std::string, double>;

/// Scalar set by the executor: the number of the current iteration, from 0; in `last` steps, of those done.
inline constexpr const char* iteration_scalar = "iteration";

/// Scalar set by the executor before Program::ends: the seconds since the run began, those up to the checkpoint that it
/// continues included. RunResult::iterating_seconds has the last of them.
inline constexpr const char* seconds_scalar = "seconds";

/// Work of a kernel launch: slices of the slab, and views of a batch, the first of which is the first in the arrays.
/// Steps over slices have no views.
struct WorkRange {
  Range slices, views;
};

/// Rows of a view whose values are one sum. Parts of views that ranks have begin at multiples of it.
inline constexpr std::int64_t rows_of_sum = 32;
inline std::int64_t sums_of_view(Range rows) {
  return (rows.count() + rows_of_sum - 1) / rows_of_sum;
}

struct Step {
  std::string name;
  Domain over = Domain::slices;
  /// Arrays of the program that the step uses. Those that ray_sums and voxel_sums write are set to 0 first.
  std::vector<ArrayAccess> arrays = {};
  /// Names that `prepare` and `work` use, and the program's arrays that they denote.
  std::map<std::string, std::string> names = {};
  /// slices: slices below and above its own that `work` reads of the step's volumes, as they are before the step; fewer
  /// at the volume's faces. The program's halos are at least as large. A volume that is also written declares
  /// ArrayNeed::halo_inout; its halos may be overwritten.
  int halo_low = 0, halo_high = 0;
  /// views, ray_sums, voxel_sums: the views of the step. Empty: all. ray_sums clear these alone.
  std::function<Range(const Scalars&)> views = {};
  /// ray_sums in programs of steps: detector rows whose rays cross these slices; `work` adds to the rows of its slab.
  /// Empty: all. They may be more, and beside the detector.
  std::function<Range(Range slices)> rows = {};
  /// views: `work` computes each row (Slab::rows()) from the same row of the step's arrays, so that ranks may have some
  /// rows each.
  bool by_rows = false;
  /// Condition for doing the step. Empty: always.
  std::function<bool(const Scalars&)> due = {};
  /// ray_sums, and voxel_sums in programs of steps: once a slab, before its first batch.
  std::function<void(Slab&)> prepare = {};
  /// voxel_sums: once a batch and slab, before `work` adds the batch (FDK's row filter).
  std::function<void(Slab&, Range views, const Scalars&)> filter = {};
  /// Launches the kernels for a part of the arrays. voxel_sums: may be called for parts of a slab's interior.
  std::function<void(Slab&, const WorkRange&, const Scalars&)> work = {};
  /// ray_sums, voxel_sums as the only step: order of the views (view n of the step is order[n]). Empty: as stored.
  std::vector<int> order = {};
  /// voxel_sums as the only step: rows of the projections to read for a slab's detector rows, where `filter` resamples
  /// rows. The array has room for all (ArrayNeed::rows). Empty: the slab's.
  std::function<Range(Range rows)> rows_read = {};
  /// Receives the sums over all slices or views of the step, in order. `work` writes `sums` values a slice to the array
  /// "sums", or for every rows_of_sum rows of a view to "view_sums", two doubles each that add up to the value.
  std::function<void(std::span<const double> sums, Scalars&)> reduced = {};
  int sums = 1;
  bool largest = false;  ///< receives the largest of the values instead of their sum; NaN if one of them is
  /// Forecast: the kernels' rate and the units of work of the whole step (KernelCost).
  KernelCost cost = {};
  double units = 0;
};

/// A program is a stencil (`loop`), or steps of which some are repeated (`first`, `each`, `last`), or one step over ray
/// or voxel sums, for which the executor has faster forms (ProgramForm).
struct Program {
  /// Sizes, arrays, kernels, the number of iterations, and the halo for which slabs have room: halo_high slices of a
  /// volume that ray_sums read, and those that steps read (Step::halo_low, halo_high). Scratch arrays are lost after a
  /// step's work on one slab and batch, others outlive it. One volume is the output.
  Requirements needs;
  /// Initial values of all scalars.
  Scalars scalars = {};
  /// Volumes of lifetime state and output (float32) whose initial values are inputs.
  std::vector<std::string> given = {};
  /// Fills fixed arrays, once for each device.
  std::vector<std::function<void(Slab&)>> start = {};
  /// Once in each run, also in one that continues a stored state, before `first`: they make arrays of
  /// Lifetime::iteration from inputs, which the iterations only read.
  std::vector<Step> derived = {};
  std::vector<Step> first = {};  ///< once
  std::vector<Step> each = {};   ///< an iteration
  std::vector<Step> last = {};   ///< once, after the last iteration, whatever ended them
  /// Iterations of a stencil and the sums that steer them, which outlive the program.
  const StencilLoop* loop = nullptr;
  Reduction* reduction = nullptr;
  /// Returns true after an iteration that is the last.
  std::function<bool(int done, const Scalars&)> ends = {};
  /// Text for progress lines.
  std::function<std::string(const Scalars&)> note = {};
};

/// A program of one step over ray or voxel sums from inputs to the output (Step::over follows from the form). Its
/// projections get a second array (ArrayRole::next), so that batches use the two in turn.
Program single_step(Requirements needs, std::function<void(Slab&)> start, Step step);

/// A program of iterations of a stencil.
Program stencil_program(Requirements needs, const StencilLoop& loop, Reduction& reduction);

/// The array that the only step of a program reads, or writes.
const std::string& read_by(const Step& step);
const std::string& written_by(const Step& step);
/// Further arrays that it writes: sums that continue from task to task beside that array.
std::vector<std::string> sums_beside(const Step& step);

/// All steps.
std::vector<const Step*> steps_of(const Program& program);

Range views_of(const Step& step, const Requirements& needs, const Scalars& scalars);

/// Number of times that a program does a step over these views, as far as it is known before a run.
struct StepUse {
  const Step* step;
  Range views;
  double times;
};
std::vector<StepUse> uses_of(const Program& program);

bool is_given(const Program& program, const std::string& array);

/// True where an array outlives a step.
inline bool is_kept(const ArrayNeed& need) {
  return (need.kind == ArrayKind::volume || need.kind == ArrayKind::projections) &&
         need.lifetime != Lifetime::scratch && need.lifetime != Lifetime::sums;
}

const ArrayNeed& array_of(const Requirements& requirements, const std::string& name);

}  // namespace halocline
