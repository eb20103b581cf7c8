#include <fmt/format.h>

#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/ray_arguments.hpp"
#include "algorithms/projectors/ray_faces.hpp"
#include "algorithms/projectors/tunables.hpp"
#include "host/opencl/work_groups.hpp"

namespace halocline {

RayBackprojection::RayBackprojection(const Geometry& geometry, const Grid& projections, const Grid& volume,
                                     Projector projector, bool gpu, const AdjointBrick* brick)
    : projections_(projections),
      volume_(volume),
      projector_(projector),
      table_(make_rays(geometry, volume, projections)),
      faces_(projector == Projector::siddon && may_run_in_faces(table_, volume, projections)),
      tiles_(!gpu && projector == Projector::joseph && table_.plain()),
      stacks_(gpu && projector == Projector::joseph && table_.plain() && !table_.any_follows(2)),
      upright_(stacks_ && table_.upright()),
      slices_per_item_(stacks_ ? 16
                       : gpu   ? 4
                               : 8) {
  // seen from the source, a cylinder's rows are not those of the plane that touches it
  if (table_.arcs.empty())
    detector_rows_ = detector_rows_of(geometry, projections, volume, reach_of(projector, table_));
  if (brick != nullptr && gpu && !faces_ &&
      bricks_take(table_, *brick, projector, projections.size[0], projections.size[1]))
    brick_ = *brick;
  for (const View& view : geometry.views)
    for (const double value : index_to_detector(view, volume, projections))
      matrices_.push_back(static_cast<float>(value));
}

bool RayBackprojection::keeps_ends() const {
  return !table_.sources.empty() && projector_ != Projector::siddon;
}

Requirements RayBackprojection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "backproject";
  requirements.size = volume_.size;
  requirements.form = ProgramForm::voxel_sums;
  requirements.stack = projections_.size;
  requirements.arrays = {{.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input},
                         {.name = "lines",
                          .kind = ArrayKind::projections,
                          .components = 4 * static_cast<std::size_t>(kind_of(projector_).lines)},
                         {.name = "values", .kind = ArrayKind::projections, .components = keeps_ends() ? 4u : 2u},
                         {.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                         {.name = "matrices", .kind = ArrayKind::fixed, .elements = matrices_.size()},
                         {.name = "axes", .kind = ArrayKind::fixed, .elements = table_.axes.size()}};
  add_table_arrays(requirements, table_);
  const std::string form = tiles_ ? "tiles" : stacks_ ? "stacks" : "";
  requirements.kernels = {ray_kernel(projector_, "table", "", stacks_ ? form : "").kernel,
                          ray_kernel(projector_, "backproject", "", form).kernel};
  requirements.detector_rows = detector_rows_;
  requirements.cost.name = "adjoint " + projector_name(projector_);
  requirements.cost.bytes = projector_ == Projector::distance_driven ? 68 : 35;  // as measured on an H200
  if (stacks_) requirements.cost.name += " stacks", requirements.cost.bytes = 23.5;
  if (upright_) requirements.cost.name += " upright", requirements.cost.bytes = 14.5;
  if (brick_) declare_bricks(requirements);
  if (tiles_) requirements.cost.name += " tiles", requirements.cost.bytes = 40;  // on two CPU cores
  return requirements;
}

void RayBackprojection::start(Slab& slab) const {
  set_table(slab, table_);
  slab.set("matrices", matrices_.data(), matrices_.size() * sizeof(float));
  slab.set("axes", table_.axes.data(), table_.axes.size() * sizeof(std::int32_t));
}

ViewTables RayBackprojection::view_tables() const {
  ViewTables tables = halocline::view_tables(table_, projections_.size[0]);
  tables.insert(tables.end(), {{"matrices", 12}, {"axes", 1}});
  return tables;
}

void RayBackprojection::filter(Slab& slab, Range views, const Scalars&) const {
  if (brick_) return filter_bricks(slab, views);
  const Range rows = slab.rows();
  std::vector<SlabArgument> arguments{in("raw"), in("rays")};
  add_table(arguments, table_, projections_.size[0]);
  arguments.insert(arguments.end(), {out("lines"), out("values"), slab.extent(slab.interior())});
  add_spacing(arguments, volume_);
  arguments.emplace_back(batch_of(projections_, rows, views));
  slab.launch(
      ray_kernel(projector_, "table", table_options(table_) + faces_option(faces_) + form_options(projector_, table_),
                 stacks_ ? "stacks" : ""),
      {projections_.size[0], static_cast<std::size_t>(rows.count()), static_cast<std::size_t>(views.count())},
      arguments);
}

void RayBackprojection::accumulate(Slab& slab, Range views, Range slices, const Scalars&) const {
  if (brick_) return accumulate_bricks(slab, views, slices);
  const Range rows = slab.rows();
  std::vector<SlabArgument> arguments{in("lines"), in("values"), in("matrices"), in("axes")};
  add_table(arguments, table_, projections_.size[0], false);
  arguments.insert(arguments.end(), {inout("volume"), slab.extent(slices), batch_of(projections_, rows, views)});
  add_widths(arguments, projector_, table_);
  if (tiles_) {
    constexpr std::size_t tile = 16;  // TILE of joseph_tiles.cl
    const auto parts = [](std::size_t all) { return (all + tile - 1) / tile; };
    return slab.launch(
        ray_kernel(projector_, "backproject", fans_option(table_), "tiles"),
        {parts(volume_.size[0]), parts(volume_.size[1]), parts(static_cast<std::size_t>(slices.count()))}, {1, 1, 1},
        arguments);
  }
  const std::string plain = ray_kernel(projector_, "backproject", "").kernel;
  const std::string key = plain + " " + slices_tunable;
  const int together =
      filled_slices(stacks_ ? slices_per_item_ : candidate_or(slices_per_item_, key, slab.tuned(key)), volume_.size[2]);
  const std::array<std::size_t, 3> global{
      volume_.size[0], volume_.size[1],
      parts_of(static_cast<std::size_t>(slices.count()), static_cast<std::size_t>(together))};
  const std::string options = fmt::format("-D K_UNROLL={}", together);
  if (stacks_) {
    const auto group = work_group_within({8, 16, 1}, slab.device());
    const std::string shape =
        group[1] < 16 ? fmt::format(" -D GROUP_WIDTH={} -D GROUP_HEIGHT={}", group[0], group[1]) : "";
    return slab.launch(ray_kernel(projector_, "backproject",
                                  options + (upright_ ? " -D UPRIGHT" : "") + shape + fans_option(table_), "stacks"),
                       global, group, arguments);
  }
  slab.launch(ray_kernel(projector_, "backproject",
                         options + table_options(table_) + faces_option(faces_) + form_options(projector_, table_)),
              global, arguments);
}

}  // namespace halocline
