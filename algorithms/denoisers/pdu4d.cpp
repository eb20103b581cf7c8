#include "algorithms/denoisers/pdu4d.hpp"

#include <fmt/format.h>

#include "host/system/error.hpp"

namespace halocline {

namespace structs {
#include "cl/pdu4d.clh"
static_assert(sizeof(FrameAxes) == 5 * 4);
}  // namespace structs

namespace {

StructArgument frame_axes(std::int32_t rows, const std::array<float, 3>& space, double time) {
  return argument_struct(structs::FrameAxes{rows, space[0], space[1], space[2], static_cast<float>(time)});
}

}  // namespace

Pdu4d::Pdu4d(const MethodParameters& parameters) : Pdu(parameters), time_weight_(parameters.time.weight.value_or(1)) {
  parameters_.fused = {};  // those kernels have three dimensions
  const std::size_t depth = parameters.time.depth;
  if (depth == 0 || parameters.size[1] % depth != 0)
    throw InputError(
        fmt::format("time.depth is {}; pdu4d takes frames stacked along y, whose {} rows are a multiple of it", depth,
                    parameters.size[1]));
  rows_ = static_cast<std::int32_t>(parameters.size[1] / depth);
  norm2_ = gradient_norm2({parameters.size[0], parameters.size[1] / depth, depth}, parameters.spacing) +
           gradient_norm2({parameters.size[2], 1, 1}, {time_weight_, 1, 1});
  steps_ = make_steps(parameters.schedule, static_cast<int>(steps_.size()), norm2_, 1);
}

Requirements Pdu4d::requirements() const {
  Requirements need = Pdu::requirements();
  need.algorithm = "pdu4d";
  need.arrays = {volume_array("f", Lifetime::input), volume_array("u", Lifetime::output)};
  for (const char* q : {"qx", "qy", "qz", "qt"}) need.arrays.push_back(volume_array(q, Lifetime::state));
  if (extrapolates()) need.arrays.push_back(volume_array("ubar", Lifetime::state));
  need.cost.name = "pdu4d";
  need.cost.bytes = 68;  // 8 for each component of the dual that PDU lacks, once in each kernel
  need.kernels = {"pdu4d_dual", "pdu4d_primal", "pdu4d_gap"};
  sums_.declare(need);
  return need;
}

void Pdu4d::start(Slab& slab) const {
  const Range all = slab.extended();
  const auto copy = [&](const char* to) {
    slab.launch({"copy.cl", "copy_slices", ""}, all, {in("f"), out(to), slab.extent(all)});
  };
  copy("u");
  if (extrapolates()) copy("ubar");
  for (const char* q : {"qx", "qy", "qz", "qt"}) slab.fill(q, 0);
}

// A work-item a voxel.
void Pdu4d::launch(Slab& slab, const KernelSpec& spec, Range frames, const std::vector<SlabArgument>& arguments) const {
  if (frames.empty()) return;
  slab.launch(spec,
              {parameters_.size[0], static_cast<std::size_t>(rows_),
               parameters_.time.depth * static_cast<std::size_t>(frames.count())},
              arguments);
}

void Pdu4d::dual(Slab& slab, const Steps& steps, Range slices) const {
  const bool seed = parameters_.schedule == Schedule::seed, dimensionless = !seed && !extrapolates();
  double scale = steps.dual;
  if (dimensionless) scale /= norm2_ > 0 ? norm2_ : 1;
  if (seed) scale *= parameters_.lambda;
  std::array<float, 3> step;
  for (int axis = 0; axis < 3; ++axis) step[axis] = static_cast<float>(scale / parameters_.spacing[axis]);
  launch(slab, {"pdu4d.cl", "pdu4d_dual", ""}, slices,
         {in(extrapolates() ? "ubar" : "u"), inout("qx"), inout("qy"), inout("qz"), inout("qt"), slab.extent(slices),
          frame_axes(rows_, step, scale / time_weight_), static_cast<float>(parameters_.lambda)});
}

void Pdu4d::primal(Slab& slab, const Steps& steps, Range slices) const {
  const double theta = extrapolates() ? steps.primal / (1 + steps.primal) : steps.primal;  // as in Pdu
  std::vector<SlabArgument> arguments{in("f"), in("qx"), in("qy"), in("qz"), in("qt"), inout("u")};
  push_extrapolation(arguments, steps);
  arguments.insert(arguments.end(),
                   {slab.extent(slices), frame_axes(rows_, inverse_, 1 / time_weight_), static_cast<float>(theta)});
  launch(slab, {"pdu4d.cl", "pdu4d_primal", primal_options()}, slices, arguments);
}

void Pdu4d::reduce(Slab& slab, int, Range slices) const {
  sums_.launch(slab, "pdu4d.cl", "pdu4d_gap", slices,
               {in("u"), in("f"), in("qx"), in("qy"), in("qz"), in("qt"), out("partials"), slab.extent(slices),
                frame_axes(rows_, inverse_, 1 / time_weight_), static_cast<float>(parameters_.lambda)});
}

}  // namespace halocline
