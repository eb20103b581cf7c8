// Programs: algorithms over volumes and projections, as they declare them: steps, iterations of steps, iterations of a
// stencil. A step names the arrays that it reads and writes; where these lie, on how many devices and in how many
// pieces is the planner's and the executor's business.
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

/// Values that the host knows, by name. They follow from sums over whole arrays in a fixed order, so they are the same
/// for any split.
using Scalars = std::map<std::string, double>;

/// The scalar that the executor sets: the number of the iteration that is under way, from 0; in `last` steps, of those
/// done.
inline constexpr const char* iteration_scalar = "iteration";

/// What a step's kernels are launched for: slices of the slab, views of a batch, the first of which lie first in the
/// arrays. Steps over slices have no views.
struct WorkRange {
  Range slices, views;
};

struct Step {
  std::string name;
  Domain over = Domain::slices;
  /// Arrays of the program that outlive the step. What ray_sums and voxel_sums write is set to 0 first.
  std::vector<ArrayAccess> arrays = {};
  /// Names that `prepare` and `work` use, and the program's arrays that they stand for.
  std::map<std::string, std::string> names = {};
  /// slices: how many slices below and above its own `work` reads of the step's volumes, as they are before the step.
  /// At the volume's faces there are fewer. The program's halos are at least as large. Volumes that it writes, too,
  /// declare ArrayNeed::halo_inout; `work` may write their halos, which are lost.
  int halo_low = 0, halo_high = 0;
  /// views, ray_sums, voxel_sums: the views that it goes over. Empty: all. What ray_sums write is 0 in these alone.
  std::function<Range(const Scalars&)> views = {};
  /// Whether it is done at all. Empty: always.
  std::function<bool(const Scalars&)> due = {};
  /// ray_sums: once for every slab, before its first batch.
  std::function<void(Slab&)> prepare = {};
  /// voxel_sums: once for every batch and slab, before `work` adds the batch to slices (FDK's row filter).
  std::function<void(Slab&, Range views)> filter = {};
  /// Launches the kernels for a part of the arrays. voxel_sums: may be called for several parts of a slab's interior.
  std::function<void(Slab&, const WorkRange&, const Scalars&)> work = {};
  /// ray_sums, voxel_sums, where they are the only step of a program: the views in the order in which they are taken
  /// (what the step calls view n is order[n]); empty: as they lie.
  std::vector<int> order = {};
  /// The same of voxel_sums: rows of the projections that it reads for a slab's detector rows: others where `filter`
  /// resamples them. The array then has room for all (ArrayNeed::rows). Empty: the slab's.
  std::function<Range(Range rows)> rows_read = {};
  /// If there is one, `work` leaves `sums` values a slice in the array "sums", or a view in "view_sums", two doubles
  /// each that add up to it. This is told the values added up over all slices or views of the step, in order.
  std::function<void(std::span<const double> sums, Scalars&)> reduced = {};
  int sums = 1;
  bool largest = false;  ///< told the largest of the values instead of their sum
  /// For forecasts: the kernels' rate and the units of work of the whole step (KernelCost).
  KernelCost cost = {};
  double units = 0;
};

/// One of three kinds: iterations of a stencil (`loop`), steps of which some are repeated (`first`, `each`), and as a
/// special case of these one step over ray or voxel sums, for which the executor has faster forms.
struct Program {
  /// Sizes, arrays, kernels, the number of iterations, and for how many slices beyond its interior a slab has room:
  /// halo_high slices of a volume that ray_sums read, and those that steps read (Step::halo_low, halo_high). Volumes
  /// and projections of lifetime scratch are lost after a step's work on one slab and batch, others outlive it. One
  /// volume is the output.
  Requirements needs;
  /// All values that its steps know, and what they are at first.
  Scalars scalars = {};
  /// Volumes of lifetime state and output (float32) whose first values are inputs, too.
  std::vector<std::string> given = {};
  /// Fills fixed arrays, once for each device.
  std::vector<std::function<void(Slab&)>> start = {};
  std::vector<Step> first = {};  ///< once
  std::vector<Step> each = {};   ///< an iteration
  std::vector<Step> last = {};   ///< once, after the last iteration, whatever ended them
  /// Instead of steps: iterations of a stencil and the sums that steer them, which outlive the program.
  const StencilLoop* loop = nullptr;
  Reduction* reduction = nullptr;
  /// After each iteration: whether to stop.
  std::function<bool(int done, const Scalars&)> ends = {};
  /// For progress lines.
  std::function<std::string(const Scalars&)> note = {};
};

/// A program that has its only step, which goes over ray or voxel sums from inputs to the output. Its projections get a
/// second array (ArrayRole::next), so that batches go to the two in turn.
Program single_step(Requirements needs, std::function<void(Slab&)> start, Step step);

/// A program of iterations of a stencil, with what the planner has to know of them.
Program stencil_program(Requirements needs, const StencilLoop& loop, Reduction& reduction);

/// The array of the only step of a program that it reads, and that it writes.
const std::string& read_by(const Step& step);
const std::string& written_by(const Step& step);

/// The views that a step goes over, of all in the stack.
Range views_of(const Step& step, const Requirements& needs, const Scalars& scalars);

/// How often a program does a step over these views, as far as its scalars tell before it runs.
struct StepUse {
  const Step* step;
  Range views;
  double times;
};
std::vector<StepUse> uses_of(const Program& program);

bool is_given(const Program& program, const std::string& array);

/// Whether an array outlives a step.
inline bool is_kept(const ArrayNeed& need) {
  return (need.kind == ArrayKind::volume || need.kind == ArrayKind::projections) &&
         need.lifetime != Lifetime::scratch && need.lifetime != Lifetime::sums;
}

/// The array of a program that has this name.
const ArrayNeed& array_of(const Requirements& requirements, const std::string& name);

}  // namespace halocline
