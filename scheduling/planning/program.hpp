// Programs: algorithms of several steps over volumes and projections, as they declare them. A step names the arrays
// that it reads and writes; where these lie, on how many devices and in how many pieces is the planner's and the
// executor's business.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/array_access.hpp"
#include "scheduling/planning/requirements.hpp"

namespace halocline {

class Slab;

/// Values that the host knows, by name. They follow from sums over whole arrays in a fixed order, so they are the same
/// for any split.
using Scalars = std::map<std::string, double>;

struct Step {
  std::string name;
  Domain over = Domain::slices;
  /// Arrays of the program that outlive the step. What ray_sums and voxel_sums write is set to 0 first.
  std::vector<ArrayAccess> arrays;
  /// Names that `prepare` and `work` use, and the program's arrays that they stand for.
  std::map<std::string, std::string> names = {};
  /// slices: how many slices below and above its own `work` reads of the volumes that the step only reads. At the
  /// volume's faces there are fewer. The program's halos are at least as large.
  int halo_low = 0, halo_high = 0;
  /// ray_sums: once for every slab, before its first batch.
  std::function<void(Slab&)> prepare = {};
  /// Launches the kernels, for slices of the slab's interior or for the views of a batch, the first of which lie first
  /// in the arrays. slices: the volume's slices of the slab; views, ray_sums, voxel_sums: the views.
  std::function<void(Slab&, Range, const Scalars&)> work = {};
  /// If there is one, `work` leaves two doubles a slice in the array "sums", or a view in "view_sums", whose sum is a
  /// value. This is told the value added up over all slices or views, in order.
  std::function<void(double sum, Scalars&)> reduced = {};
  /// For forecasts: the kernels' rate and the units of work of the whole step (KernelCost).
  KernelCost cost = {};
  double units = 0;
};

struct Program {
  std::string name;
  /// Sizes, arrays, kernels, the number of iterations, and for how many slices beyond its interior a slab has room:
  /// halo_high slices of a volume that ray_sums read, and those that steps read (Step::halo_low, halo_high). Volumes
  /// and projections of lifetime scratch are lost after a step's work on one slab and batch, others outlive it. One
  /// volume is the output.
  Requirements needs;
  /// Detector rows that voxel_sums need for slices; empty: all.
  std::function<Range(Range slices)> detector_rows = {};
  /// All values that its steps know, and what they are at first.
  Scalars scalars = {};
  /// Fills fixed arrays, once for each device.
  std::vector<std::function<void(Slab&)>> start = {};
  std::vector<Step> first = {};  ///< once
  std::vector<Step> each = {};   ///< an iteration
  /// After each iteration: whether to stop.
  std::function<bool(int done, const Scalars&)> ends = {};
  /// For progress lines.
  std::function<std::string(const Scalars&)> note = {};
};

/// Whether an array outlives a step.
inline bool is_kept(const ArrayNeed& need) {
  return (need.kind == ArrayKind::volume || need.kind == ArrayKind::projections) &&
         need.lifetime != Lifetime::scratch && need.lifetime != Lifetime::sums;
}

/// The array of a program that has this name.
const ArrayNeed& array_of(const Requirements& requirements, const std::string& name);

/// Bytes of an array of kind volume or projections: all slices, all rows of all views.
std::size_t whole_bytes(const ArrayNeed& need, const Requirements& requirements);

}  // namespace halocline
