#include "algorithms/denoisers/fused_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "host/opencl/quirks.hpp"

namespace halocline {

namespace structs {
#include "cl/pdu_fused.clh"
static_assert(sizeof(FusedStep) == 4 * 4 && sizeof(FusedPass) == (5 + most_stages * 4) * 4);
}  // namespace structs

namespace {

// Best first: one work-group of a multiprocessor's whole register file, then what fits into smaller devices.
constexpr FusedTile fused_tiles[] = {
    {1, 4, 33, 16}, {1, 4, 33, 7},  {1, 4, 9, 7},   {1, 2, 33, 12}, {1, 2, 33, 7},  {1, 2, 9, 7},   {1, 1, 65, 8},
    {1, 1, 33, 7},  {1, 1, 9, 7},   {2, 4, 34, 15}, {2, 4, 34, 12}, {2, 4, 18, 14}, {2, 4, 10, 12}, {2, 4, 6, 10},
    {2, 2, 34, 30}, {2, 2, 34, 16}, {2, 2, 18, 14}, {2, 2, 10, 6},  {2, 1, 67, 15}, {2, 1, 35, 7},  {2, 1, 11, 5},
};

const FusedTile* find_tile(const DeviceInfo& device, int stages, std::size_t nx) {
  for (const auto& tile : fused_tiles)
    if (tile.stages == stages && nx % static_cast<std::size_t>(tile.columns) == 0 &&
        tile.items() <= device.max_work_group && tile.local_bytes() <= usable_local_memory(device))
      return &tile;
  return nullptr;
}

int low_items(const FusedTile& tile) {
  return (tile.stages + tile.columns - 1) / tile.columns;
}

// Columns and rows of the volume that a tile's results cover.
std::array<int, 2> reach(const FusedTile& tile) {
  const int high_items = (tile.stages - 1 + tile.columns - 1) / tile.columns;
  return {(tile.x - low_items(tile) - high_items) * tile.columns, tile.y - 2 * tile.stages + 1};
}

std::array<std::size_t, 2> tile_counts(const FusedTile& tile, std::size_t nx, std::size_t ny) {
  const auto [columns, rows] = reach(tile);
  return {(nx + static_cast<std::size_t>(columns) - 1) / static_cast<std::size_t>(columns),
          (ny + static_cast<std::size_t>(rows) - 1) / static_cast<std::size_t>(rows)};
}

}  // namespace

std::size_t FusedTile::local_bytes() const {
  const auto n = static_cast<std::size_t>(stages), each = 4 * static_cast<std::size_t>(columns);
  return 2 * (n * (4 + each) * (items() + 1) + (n - 1) * each * items());
}

std::string fused_form_name(const FusedForm& form) {
  return form.stages == 0 ? "in-place" : fmt::format("{}x{}", form.stages, form.dual_bits);
}

double fused_bytes(bool weighted, const FusedForm& form) {
  if (form.stages == 0) return weighted ? 60 : 52;
  return ((weighted ? 16 : 12) + 6 * form.dual_bits / 8.0) / form.stages;
}

KernelCost fused_cost(bool weighted, const FusedForm& form) {
  constexpr double plain_share[] = {0.98, 0.86, 0.75}, weighted_share[] = {1, 0.72, 0.6};
  const double narrow = form.dual_bits == 32 ? 1 : 0.83;  // decoding them takes time
  const double share = (weighted ? weighted_share : plain_share)[form.stages] * narrow;
  KernelCost cost;
  cost.name = fmt::format("{} {}", weighted ? "spdu" : "pdu", fused_form_name(form));
  cost.bytes = fused_bytes(weighted, form) / share;
  cost.reduction_bytes = 21;
  return cost;
}

FusedTile fused_tile(const DeviceInfo& device, int stages, std::size_t nx) {
  if (const FusedTile* tile = find_tile(device, stages, nx)) return *tile;
  throw std::logic_error(fmt::format("{} takes no tile of {} stages", device.name, stages));
}

bool takes_stages(const DeviceInfo& device, int stages, std::size_t nx) {
  return stages == 0 || (find_tile(device, stages, nx) != nullptr && takes_stages(device, stages - 1, nx));
}

int fused_chunk(const FusedTile& tile, const DeviceInfo& device, std::size_t nx, std::size_t ny, std::int64_t slices) {
  const auto [columns, rows] = tile_counts(tile, nx, ny);
  const auto groups = static_cast<std::int64_t>(columns * rows);
  const auto units = static_cast<std::int64_t>(std::max<std::size_t>(1, device.compute_units));
  // A work-group computes 3 stages - 1 slices beyond its own; rounds of as many groups as there are units follow each
  // other.
  std::int64_t best = slices, least = 0;
  for (std::int64_t layers = 1; layers <= std::max<std::int64_t>(1, slices / 16); ++layers) {
    const std::int64_t chunk = (slices + layers - 1) / layers;
    const std::int64_t cost = (groups * layers + units - 1) / units * (chunk + 3 * tile.stages - 1);
    if (least == 0 || cost < least) least = cost, best = chunk;
  }
  return static_cast<int>(best);
}

std::optional<FusedForm> known_form(std::span<const DeviceModel> devices) {
  // Forms with float32 duals only: then results are bitwise identical to the kernels in place, whichever the plan
  // takes.
  std::optional<FusedForm> best;
  for (const auto& device : devices) {
    FusedForm form;  // CPUs: work-groups with barriers in a loop are slow there
    if (!device.cpu) {
      if (!is_hopper(device.platform, device.name)) return std::nullopt;
      form = {2, 32};
    }
    if (!best || form.stages < best->stages) best = form;
  }
  return best;
}

void launch_fused(Slab& slab, int dual_bits, bool weighted, Range core, const std::array<float, 3>& inverse_spacing,
                  float lambda, std::span<const std::array<float, 4>> steps) {
  if (core.empty()) return;
  const auto nx = static_cast<std::size_t>(slab.nx()), ny = static_cast<std::size_t>(slab.ny());
  const FusedTile tile = fused_tile(slab.device(), static_cast<int>(steps.size()), nx);
  const auto [columns, rows] = tile_counts(tile, nx, ny);
  const int chunk = fused_chunk(tile, slab.device(), nx, ny, core.count());
  const auto chunks = static_cast<std::size_t>((core.count() + chunk - 1) / chunk);
  const auto x = static_cast<std::size_t>(tile.x), y = static_cast<std::size_t>(tile.y);
  std::vector<SlabArgument> arguments{in("u"), in("f")};
  if (weighted) arguments.emplace_back(in("w"));
  for (const char* name : {"qx", "qy", "qz"}) arguments.emplace_back(in(name));
  for (const char* name : {"new_u", "new_qx", "new_qy", "new_qz"}) arguments.emplace_back(out(name));
  const auto step = [&](std::size_t n) {
    const auto& [along_x, along_y, along_z, primal] = steps[std::min(n, steps.size() - 1)];
    return structs::FusedStep{along_x, along_y, along_z, primal};
  };
  const auto [rx, ry, rz] = inverse_spacing;
  const structs::FusedPass pass{chunk, {rx, ry, rz}, lambda, step(0), step(1)};
  arguments.insert(arguments.end(), {slab.extent(core), argument_struct(pass)});
  slab.launch({"pdu_fused.cl", "pdu_fused_iterate",
               fmt::format("-D STAGES={} -D COLUMNS={} -D TILE_X={} -D TILE_Y={} -D DUAL_BITS={} {}", tile.stages,
                           tile.columns, tile.x, tile.y, dual_bits, weighted ? "-D WEIGHTED" : "")},
              {columns * x, rows * y, chunks}, {x, y, 1}, arguments);
}

void advance_fused(Slab& slab) {
  for (const char* name : {"u", "qx", "qy", "qz"}) slab.swap(name, std::string("new_") + name);
}

}  // namespace halocline
