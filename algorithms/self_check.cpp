#include "algorithms/self_check.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "algorithms/backprojection.hpp"
#include "algorithms/fused_pass.hpp"
#include "algorithms/projector.hpp"
#include "algorithms/registry.hpp"
#include "host/error.hpp"
#include "host/program_cache.hpp"
#include "host/work_groups.hpp"
#include "scheduling/iteration.hpp"

namespace halocline {
namespace {

struct Variant {
  std::string name;
  std::vector<std::string> files;  // whose text the answer depends on
  std::function<bool(const DeviceInfo&)> taken_by;
  std::function<std::string(const Device&)> fault;
};

// Values in [0, 1) without a pattern.
Volume noise(const Grid& grid) {
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = static_cast<float>(static_cast<std::uint32_t>(n * 2654435761u + 12345u) >> 8) / 16777216.0f;
  return volume;
}

// "" if no two values are farther apart than `tolerance`; 0: bits.
std::string difference(const Volume& values, const Volume& expected, double tolerance) {
  const std::size_t count = expected.voxels.size();
  if (tolerance == 0 && std::memcmp(values.voxels.data(), expected.voxels.data(), 4 * count) == 0) return {};
  double largest = 0;
  std::size_t where = 0, wrong = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const double apart = std::abs(static_cast<double>(values.voxels[n]) - expected.voxels[n]);
    if (apart <= tolerance) continue;  // false for NaN
    ++wrong;
    if (!(apart <= largest)) largest = apart, where = n;
  }
  if (wrong == 0) return {};
  return fmt::format("{} of {} values are wrong, e.g. {:.6g} instead of {:.6g}", wrong, count, values.voxels[where],
                     expected.voxels[where]);
}

const Grid& denoised_grid() {
  static const Grid grid = default_grid({40, 19, 23}, {0.8, 1.1, 1.4});  // columns of 4, 2 and 1 voxels divide 40
  return grid;
}

Variant fused(bool weighted, int stages) {
  const auto run = [weighted](const Device& device, int stages_of_it) {
    const Volume f = noise(denoised_grid());
    Volume w = f;
    for (float& value : w.voxels) value = 0.25f + 1.5f * value;
    MethodParameters parameters;
    parameters.size = f.grid.size;
    parameters.spacing = f.grid.spacing;
    parameters.iterations = 12;  // a multiple of all numbers of stages
    parameters.lambda = 0.2;
    parameters.least_weight = 0.25f;
    parameters.largest_weight = 1.75f;
    parameters.fused.stages = stages_of_it;
    std::map<std::string, const Volume*> inputs{{"f", &f}};
    if (weighted) inputs["w"] = &w;
    return run_iterations(*make_denoiser(weighted ? "spdu" : "pdu", parameters), inputs, f.grid, {device}).output;
  };
  return {fused_variant(weighted, stages),
          {"pdu_fused.cl", "pdu.cl", "spdu.cl"},
          [stages](const DeviceInfo& info) {
            for (int n = 1; n <= stages; ++n)
              if (!has_fused_tile(info, n, denoised_grid().size[0])) return false;
            return true;
          },
          [run, stages](const Device& device) { return difference(run(device, stages), run(device, 0), 0); }};
}

// A small cone-beam scan, and a volume off the axis.
struct Scan {
  Geometry geometry;
  Grid stack, volume;
};
const Scan& scan() {
  static const Scan scan = [] {
    CircularOptions circle;
    circle.sid = 500;
    circle.sdd = 800;
    circle.projections = 12;  // a multiple of four: views share texels
    Scan result;
    result.geometry = circular_geometry(circle);
    result.stack = default_grid({37, 29, 12}, {2, 2, 1});
    result.stack.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    result.stack.origin = {-36, -28, 0};
    result.volume = default_grid({26, 26, 21}, {1.7, 1.7, 2.1});
    return result;
  }();
  return scan;
}

// What the fractions of texture units come to: 8 bits on most GPUs, so that a coordinate may be off by 1/256 along
// either axis of an image of values in [0, 1).
constexpr double texture_error = 2.0 / 256, half_error = 1.0 / 2048;

Volume back_projection(const Device& device, const VoxelDriven::Options& options) {
  const auto& [geometry, stack, volume] = scan();
  return run_backprojection(Backprojection(geometry, stack, volume, options), noise(stack), volume, {device}).output;
}

// Whether a method's images are within the device's.
bool has_room(const auto& method, const DeviceInfo& info) {
  try {
    method.check_device(info);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

Variant back_projection_variant(const char* name,
                                const std::function<void(VoxelDriven::Options&, const DeviceInfo&)>& set,
                                const std::function<bool(const DeviceInfo&)>& taken_by, double error_of_a_view) {
  const auto takes = [set, taken_by](const DeviceInfo& info) {
    if (!taken_by(info)) return false;
    VoxelDriven::Options options;
    set(options, info);
    const auto& [geometry, stack, volume] = scan();
    return has_room(Backprojection(geometry, stack, volume, options), info);
  };
  return {name, {"backproject.cl"}, takes, [set, error_of_a_view](const Device& device) {
            VoxelDriven::Options options;
            set(options, device.info());
            return difference(back_projection(device, options), back_projection(device, {}),
                              error_of_a_view * static_cast<double>(scan().stack.size[2]));
          }};
}

Variant tile_check(const LocalTile& tile) {
  Variant check = back_projection_variant(
      "", [tile](auto& options, const auto&) { options.tile = tile; },
      [tile](const DeviceInfo& info) { return !info.cpu() && takes_tile(info, tile); }, 0);
  check.name = tile_variant(tile);
  check.files.emplace_back("backproject_tile.clh");
  return check;
}

Variant projection_variant(const char* name, const std::function<void(ProjectionParameters&, const DeviceInfo&)>& set,
                           const std::function<bool(const DeviceInfo&)>& taken_by, double error_of_a_voxel) {
  const auto takes = [set, taken_by](const DeviceInfo& info) {
    if (!taken_by(info)) return false;
    ProjectionParameters parameters;
    set(parameters, info);
    const auto& [geometry, stack, volume] = scan();
    return has_room(RayProjection(geometry, volume, stack, parameters), info);
  };
  return {name, {"joseph.cl", "siddon.cl"}, takes, [set, error_of_a_voxel](const Device& device) {
            const auto& [geometry, stack, volume] = scan();
            const Volume values = noise(volume);
            const auto run = [&](const ProjectionParameters& parameters) {
              return run_projection(RayProjection(geometry, volume, stack, parameters), values, stack, {device}).output;
            };
            ProjectionParameters parameters;
            set(parameters, device.info());
            // A ray crosses so many planes, each counted with at most sqrt(3) spacings of it.
            const double planes = static_cast<double>(std::max({volume.size[0], volume.size[1], volume.size[2]}));
            const double spacing = std::max({volume.spacing[0], volume.spacing[1], volume.spacing[2]});
            return difference(run(parameters), run({parameters.projector}),
                              error_of_a_voxel * planes * std::sqrt(3.0) * spacing);
          }};
}

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = [] {
    std::vector<Variant> result;
    for (const bool weighted : {false, true})
      for (int stages = 1; stages <= 4; ++stages) result.push_back(fused(weighted, stages));
    const auto on_cpu = [](const DeviceInfo& info) { return info.cpu(); };
    const auto on_gpu = [](const DeviceInfo& info) { return !info.cpu(); };
    const auto with_images = [](const DeviceInfo& info) { return info.images; };
    result.push_back(back_projection_variant(
        columns_variant, [](auto& options, const auto&) { options.cpu = true; }, on_cpu, 0));
    for (const LocalTile& tile : local_tiles()) result.push_back(tile_check(tile));
    result.push_back(back_projection_variant(
        image_variant,
        [](auto& options, const DeviceInfo& info) {
          options.image_side = std::min(info.image_width, info.image_height);
        },
        with_images, 0));
    const auto textures = [](auto& options, const DeviceInfo& info) {
      options.hardware_interpolation = true;
      options.texel_pairs = info.texel_pairs;
    };
    result.push_back(back_projection_variant(texture_variant, textures, with_images, texture_error));
    result.push_back(back_projection_variant(
        half_texture_variant,
        [textures](auto& options, const DeviceInfo& info) {
          textures(options, info);
          options.half_texels = true;
        },
        with_images, texture_error + half_error));
    Variant mirrored = back_projection_variant(
        mirrored_variant, [](auto& options, const auto&) { options.hardware_interpolation = options.mirrored = true; },
        [](const DeviceInfo& info) { return info.texel_pairs; }, texture_error);
    mirrored.files.emplace_back("backproject_mirrored.clh");
    result.push_back(std::move(mirrored));
    result.push_back(projection_variant(texture_projection_variant, textures, with_images, texture_error));
    result.push_back(projection_variant(
        siddon_image_variant,
        [](auto& parameters, const auto&) { parameters.projector = Projector::siddon, parameters.images = true; },
        [](const DeviceInfo& info) { return info.images && info.image_layers >= scan().volume.size[2]; }, 0));
    result.push_back(projection_variant(
        turned_projection_variant, [](auto& parameters, const auto&) { parameters.gpu = true; }, on_gpu, 0));
    return result;
  }();
  return all;
}

const Variant& variant_of(const std::string& name) {
  const auto& all = variants();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Variant& each) { return each.name == name; });
  if (found == all.end()) throw std::logic_error("there is no variant " + name);
  return *found;
}

std::string key_of(const Variant& variant, const DeviceInfo& info) {
  std::string key = fmt::format("self-check\n{}\n{}\n{}\n{}\n{}\n{}\n", variant.name, info.platform, info.vendor,
                                info.name, info.version, info.driver);
  for (const auto& file : variant.files) key += kernel_source(file) + "\n";
  return key;
}

// What keeps the variant from the device: a fault, or work-groups that the compiled kernels do not take; "": nothing. A
// device that fails in the check will fail in the run, where something is done about it.
std::string obstacle(const std::string& variant, const Device& device) {
  try {
    if (const auto fault = variant_fault(variant, device); fault && !fault->empty())
      return fmt::format("{} is wrong on {} with the driver {}: {}", variant, device.info().name, device.info().driver,
                         *fault);
  } catch (const ClError& error) {
    if (exceeds_group_limits(error)) return fmt::format("{} is not for this device: {}", variant, error.what());
  }
  return {};
}

}  // namespace

std::string fused_variant(bool weighted, int stages) {
  return fmt::format("{}, {} iteration{} a pass", weighted ? "S-PDU" : "PDU", stages, stages > 1 ? "s" : "");
}

std::string tile_variant(const LocalTile& tile) {
  return fmt::format("back-projection through local memory, {}", tile.text());
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names;
  for (const auto& variant : variants()) names.push_back(variant.name);
  return names;
}

std::optional<std::string> variant_fault(const std::string& name, const Device& device, bool afresh) {
  const Variant& variant = variant_of(name);
  if (!variant.taken_by(device.info())) return std::nullopt;
  static std::mutex mutex;
  static std::map<std::string, std::string> known;  // for folders that cannot be written, and to read none twice
  const std::lock_guard lock(mutex);
  const std::string key = key_of(variant, device.info());
  const ProgramCache cache;
  if (!afresh) {
    if (const auto found = known.find(key); found != known.end()) return found->second;
    if (const auto stored = cache.load(key))
      return known[key] = std::string(stored->begin() + 1, stored->end());  // never empty: see below
  }
  std::string fault;
  try {
    fault = variant.fault(device);
  } catch (const PlanError&) {
    return std::nullopt;         // --device-memory is too small even for these volumes
  } catch (const InputError&) {  // nothing is wrong with these inputs
    fault = "its result is not finite";
  } catch (const BuildError& error) {
    fault = error.what();
    fault = fault.substr(0, fault.find('\n'));
  }
  const std::string stored = ":" + fault;
  cache.store(key, {stored.begin(), stored.end()});
  return known[key] = fault;
}

namespace {

// Who looks for an axis asks before each reconstruction, and would be told each time.
void warn_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(text).second) spdlog::warn("{}", text);
}

}  // namespace

bool variant_works(const std::string& variant, const std::vector<Device>& devices, const std::string& instead) {
  for (const auto& device : devices) {
    const std::string found = obstacle(variant, device);
    if (found.empty()) continue;
    warn_once(fmt::format("{}; {} instead", found, instead));
    return false;
  }
  return true;
}

void require_variant(const std::string& variant, const std::vector<Device>& devices, const std::string& option) {
  for (const auto& device : devices) {
    if (const std::string found = obstacle(variant, device); !found.empty())
      throw InputError(fmt::format(
          "{}: {}. Leave the option out, choose another --device, or try another driver; 'halocline devices "
          "--check' then checks again",
          option, found));
  }
}

}  // namespace halocline
