#include "algorithms/matrix/system_matrix.hpp"

#include <fmt/format.h>

#include <numeric>

#include "algorithms/projectors/batch_argument.hpp"
#include "algorithms/projectors/ray_arguments.hpp"
#include "host/system/error.hpp"
#include "scheduling/slabs/structs.hpp"

namespace halocline {
namespace {

// Slices that a pixel may be high: beyond it, the distance-driven projector's weights in other slices are more than
// halves round.
constexpr double most_height = 1 + 1e-4, widened = 1.05;  // widened: RayTable::widths

std::string refusal(const RayTable& table, const Grid& volume, const Grid& projections, const Projector& projector) {
  if (projector.users())
    return "the stored system matrix (`operator`) has the weights of joseph, siddon and distance-driven; " +
           projector_text(projector) + " goes with `operator = rays`";
  const auto rows = slice_rows(table, volume, projections);
  if (!rows || !rows->aligned)
    return fmt::format(
        "the stored system matrix (`operator`) needs a parallel beam, a fan or a stack of fans, with a row of the "
        "detector on each slice; `geometry` has {}. Use `operator = rays`",
        rows ? "rows of the detector between slices" : "rays that leave their slices");
  const double height = table.widths[2] / widened;
  if (projector == Projector::distance_driven && !table.within_slice && height > most_height)
    return fmt::format(
        "the stored system matrix (`operator`) with `projector = distance-driven` needs pixels that are no higher than "
        "slices; `geometry` has pixels {:.3g} slices high. Use `operator = rays`, or `projector = joseph`",
        height);
  return "";
}

Projector::Named stored(const Projector& projector, const RayTable& table, const Grid& volume,
                        const Grid& projections) {
  if (const std::string text = refusal(table, volume, projections, projector); !text.empty()) throw InputError(text);
  return projector.named();
}

std::vector<std::int32_t> places_of_tiles(const TileOrder& order, std::int64_t first_x, std::int64_t first_y) {
  std::vector<std::int32_t> places;
  for (std::uint32_t n = 0; n < order.tiles(); ++n) {
    const Size2 at = order.tile_at(n);
    places.push_back(static_cast<std::int32_t>(first_x + at[0] * order.tile[0]));
    places.push_back(static_cast<std::int32_t>(first_y + at[1] * order.tile[1]));
  }
  return places;
}

// The views alone, as a scan.
SliceRays rays_of(const Geometry& geometry, const Grid& volume, const Grid& projections, Projector::Named projector,
                  Range views) {
  Geometry some = geometry;
  some.views.assign(geometry.views.begin() + views.begin, geometry.views.begin() + views.end);
  Grid stack = projections;
  stack.size[2] = some.views.size();
  return {some, volume, stack, projector};
}

// Names and contents of the lists that kernels read.
std::vector<std::pair<const char*, const std::vector<std::uint32_t>*>> lists_of(const TileStructure& structure) {
  return {{"ray_super_begins", &structure.ray_super_begins},
          {"ray_super_places", &structure.ray_super_places},
          {"pixel_super_begins", &structure.pixel_super_begins},
          {"pixel_super_places", &structure.pixel_super_places},
          {"pixel_super_tiles", &structure.pixel_super_tiles}};
}

struct UnitsForm {
  std::size_t lanes;
  const char* options;  // of the kernels
};

UnitsForm form_of(MatrixUnits units) {
  switch (units) {
    case MatrixUnits::nvidia:
      return {32, "-D UNITS_NVIDIA "};
    case MatrixUnits::amd_64:
      return {64, "-D UNITS_AMD -D LANES=64 "};
    case MatrixUnits::amd_32:
      return {32, "-D UNITS_AMD -D LANES=32 "};
    case MatrixUnits::intel_16:
      return {16, "-D UNITS_INTEL -D LANES=16 "};
    case MatrixUnits::intel_8:
      return {8, "-D UNITS_INTEL -D LANES=8 "};
    default:
      return {16, ""};
  }
}

std::size_t at_least_one(std::size_t count) {
  return std::max<std::size_t>(count, 1);
}

}  // namespace

std::string refusal_to_store(const Geometry& geometry, const Grid& volume, const Grid& projections,
                             const Projector& projector) {
  return refusal(make_rays(geometry, volume, projections), volume, projections, projector);
}

SystemMatrix::SystemMatrix(const Geometry& geometry, const Grid& volume, const Grid& projections,
                           const Projector& projector, const MatrixOptions& options)
    : options_(options),
      volume_(volume),
      projections_(projections),
      table_(make_rays(geometry, volume, projections)),
      projector_(stored(projector, table_, volume, projections)),
      rows_(*halocline::slice_rows(table_, volume, projections)) {
  if (options_.symmetric) sectors_ = sectors_of(geometry, volume, projections);
  if (options_.parts.empty()) options_.parts = {static_cast<int>(geometry.views.size())};
  std::int64_t begin = 0;
  Size2 shape{};
  for (const int views : options_.parts) {
    MatrixPart part;
    part.views = part.stored = {begin, begin + views};
    SliceRays rays = rays_of(geometry, volume, projections, projector_, part.views);
    if (sectors_) {
      rays = rays.stored(sectors_->first_column, sectors_->stored_views);
      part.stored.end = static_cast<std::int64_t>(sectors_->stored_views);
    }
    if (begin == 0) shape = choose_ray_shape(rays);
    part.structure = tile_structure(rays, shape, options_.chunk_bytes, super_rays());
    part.ray_places = places_of_tiles(part.structure.rays, rays.first_column(), begin);
    begin = part.views.end;
    parts_.push_back(std::move(part));
  }
  pixel_places_ = places_of_tiles(parts_.front().structure.pixels, 0, 0);
}

std::uint32_t SystemMatrix::first_ray_tile(std::size_t part) const {
  return std::accumulate(
      parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(part), std::uint32_t{0},
      [](std::uint32_t sum, const MatrixPart& before) { return sum + before.structure.rays.tiles(); });
}

std::uint64_t SystemMatrix::tile_bytes() const {
  return std::accumulate(parts_.begin(), parts_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const MatrixPart& part) { return sum + part.structure.bytes(); });
}

std::string SystemMatrix::tiles_name(std::size_t part, std::size_t chunk) {
  return fmt::format("tiles {} of part {}", chunk, part);
}

std::string SystemMatrix::list_name(std::size_t part, const char* list) {
  return fmt::format("{} of part {}", list, part);
}

void SystemMatrix::declare(Requirements& requirements) const {
  requirements.size = volume_.size;
  requirements.stack = projections_.size;
  const auto add = [&](const std::string& name, std::size_t elements, std::size_t bytes = 4) {
    requirements.arrays.push_back(
        {.name = name, .kind = ArrayKind::fixed, .element_bytes = bytes, .elements = at_least_one(elements)});
  };
  add_table_arrays(requirements, table_);
  add("pixel_places", pixel_places_.size());
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const TileStructure& structure = parts_[p].structure;
    add(list_name(p, "ray_places"), parts_[p].ray_places.size());
    for (const auto& [name, list] : lists_of(structure)) add(list_name(p, name), list->size());
    for (std::size_t c = 0; c < structure.chunks.size(); ++c)
      add(tiles_name(p, c),
          std::size_t{structure.chunks[c].end - structure.chunks[c].begin} * (halocline::tile_bytes / 2), 2);
  }
}

std::size_t SystemMatrix::lanes() const {
  return form_of(options_.units).lanes;
}

std::vector<std::string> SystemMatrix::arrays() const {
  Requirements requirements;
  declare(requirements);
  std::vector<std::string> names;
  for (const ArrayNeed& need : requirements.arrays) names.push_back(need.name);
  return names;
}

structs::Tiling SystemMatrix::tiling(std::size_t part, std::size_t slices, std::uint32_t first, std::uint32_t end,
                                     std::uint32_t first_tile) const {
  return {.row_of_0 = rows_.row_of_0,
          .row_step = rows_.row_step,
          .ray_width = number(parts_.front().structure.rays.tile[0]),
          .first_block = 0,
          .blocks = number(blocks(slices)),
          .part = number(part),
          .parts = number(parts_.size()),
          .first = first,
          .end = end,
          .first_tile = first_tile,
          .unit = static_cast<float>(volume_.spacing[0]),
          .quarter = sectors_ ? number(sectors_->quarter) : 0,
          .fan = sectors_ && sectors_->fan ? 1 : 0,
          .stored_views = sectors_ ? number(sectors_->stored_views) : 0,
          .turns = sectors_ ? sectors_->turns : 0};
}

std::string SystemMatrix::options(std::size_t slices) const {
  return fmt::format("{}{}{}-D RAY_TILES={} -D WARPS={} -D BLOCKS={}", form_of(options_.units).options,
                     units() && options_.half_vectors ? "-D HALF_VECTORS " : "", sectors_ ? "-D SECTORS " : "",
                     super_rays(), warps(), together(slices));
}

void SystemMatrix::start(Slab& slab) const {
  const auto set = [&](const std::string& name, const auto& values) {
    if (!values.empty()) slab.set(name, values.data(), values.size() * sizeof values[0]);
  };
  set_table(slab, table_);
  set("pixel_places", pixel_places_);
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    set(list_name(p, "ray_places"), parts_[p].ray_places);
    for (const auto& [name, list] : lists_of(parts_[p].structure)) set(list_name(p, name), *list);
    fill(slab, p);
  }
}

void SystemMatrix::fill(Slab& slab, std::size_t p) const {
  const MatrixPart& part = parts_[p];
  const char* form = projector_ == Projector::siddon            ? "-D SIDDON"
                     : projector_ == Projector::distance_driven ? "-D DISTANCE_DRIVEN"
                                                                : "";
  for (std::size_t c = 0; c < part.structure.chunks.size(); ++c) {
    const TileChunk& chunk = part.structure.chunks[c];
    slab.launch(
        {"matrix_fill.cl", "matrix_fill", fmt::format("-D RAY_TILES={} {}", super_rays(), form) + fans_option(table_)},
        {32, chunk.super_end - chunk.super_begin, 1}, {32, 4, 1},
        {out(tiles_name(p, c)), in(list_name(p, "ray_super_begins")), in(list_name(p, "ray_super_places")),
         in(list_name(p, "ray_places")), in("pixel_places"), in("rays"), slab.extent({0, slab.nz()}),
         per_axis(volume_.spacing), batch_of(projections_, {0, number(projections_.size[1])}, part.stored),
         argument_struct(tiling(p, 1, chunk.super_begin, chunk.super_end, chunk.begin))});
  }
}

}  // namespace halocline
