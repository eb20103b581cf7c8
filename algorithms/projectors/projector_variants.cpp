#include "algorithms/projectors/projector_variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/joseph_slices_adjoint.hpp"
#include "algorithms/projectors/projector.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {
namespace {

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
  const Volume values = trial_volume(stack);
  return run_program(program_of(Backprojection(geometry, stack, volume, options)), {{"raw", &values}}, volume, {device})
      .output;
}

// What the device lacks for a method's images.
std::string lack_of(const auto& method, const DeviceInfo& info) {
  try {
    method.check_device(info);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

Variant back_projection_variant(const char* name,
                                const std::function<void(VoxelDriven::Options&, const DeviceInfo&)>& set,
                                const std::function<std::string(const DeviceInfo&)>& reason_not,
                                double error_of_a_view) {
  const auto reason = [set, reason_not](const DeviceInfo& info) {
    if (auto given = reason_not(info); !given.empty()) return given;
    VoxelDriven::Options options;
    set(options, info);
    const auto& [geometry, stack, volume] = scan();
    return lack_of(Backprojection(geometry, stack, volume, options), info);
  };
  return {name,
          {"backproject.cl", "backproject_columns.cl", "backproject_image.cl"},
          reason,
          [set, error_of_a_view](const Device& device) {
            VoxelDriven::Options options;
            set(options, device.info());
            return compared(back_projection(device, options), back_projection(device, {}),
                            error_of_a_view * static_cast<double>(scan().stack.size[2]));
          }};
}

Variant projection_variant(const char* name, const std::function<void(ProjectionParameters&, const DeviceInfo&)>& set,
                           const std::function<std::string(const DeviceInfo&)>& reason_not, double error_of_a_voxel) {
  const auto reason = [set, reason_not](const DeviceInfo& info) {
    if (auto given = reason_not(info); !given.empty()) return given;
    ProjectionParameters parameters;
    set(parameters, info);
    const auto& [geometry, stack, volume] = scan();
    return lack_of(RayProjection(geometry, volume, stack, parameters), info);
  };
  return {name, {"joseph.cl", "joseph_image.cl", "siddon.cl"}, reason, [set, error_of_a_voxel](const Device& device) {
            const auto& [geometry, stack, volume] = scan();
            const Volume values = trial_volume(volume);
            const auto run = [&](const ProjectionParameters& parameters) {
              return run_program(program_of(RayProjection(geometry, volume, stack, parameters)), {{"volume", &values}},
                                 stack, {device})
                  .output;
            };
            ProjectionParameters parameters;
            set(parameters, device.info());
            // A ray crosses so many planes, each counted with at most sqrt(3) spacings of it.
            const double planes = static_cast<double>(std::max({volume.size[0], volume.size[1], volume.size[2]}));
            const double spacing = std::max({volume.spacing[0], volume.spacing[1], volume.spacing[2]});
            return compared(run(parameters), run({parameters.projector}),
                            error_of_a_voxel * planes * std::sqrt(3.0) * spacing);
          }};
}

// Parallel-beam scans: rows on slices, as many as fill a work-group and some more, and rows between slices.
const std::array<Scan, 2>& parallel_scans() {
  static const std::array<Scan, 2> scans = [] {
    CircularOptions circle;
    circle.sid = 500;
    circle.sdd = 0;
    circle.projections = 12;
    circle.first_angle = 7;
    std::array<Scan, 2> result;
    for (Scan& scan : result) {
      scan.geometry = circular_geometry(circle);
      scan.stack = default_grid({37, 45, 12}, {1.9, 2.1, 1});
      scan.stack.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
      scan.stack.origin = {-34, -2.1 * 22, 0};
    }
    result[0].volume = default_grid({26, 26, 41}, {1.7, 1.7, 2.1});
    result[1].volume = default_grid({26, 26, 41}, {1.7, 1.7, 1.9});
    return result;
  }();
  return scans;
}

const auto on_cpu = unless([](const DeviceInfo& info) { return info.cpu(); }, "it is for CPUs");
const auto on_gpu = unless([](const DeviceInfo& info) { return !info.cpu(); }, "it is for GPUs");
const auto with_images = unless([](const DeviceInfo& info) { return info.images; }, "no images");

// Options of back-projections and projections by textures.
void set_textures(auto& options, const DeviceInfo& info) {
  options.hardware_interpolation = true;
  options.texel_pairs = info.texel_pairs;
}

}  // namespace

Variant columns_variant() {
  return back_projection_variant(
      "back-projection from columns", [](auto& options, const auto&) { options.cpu = true; }, on_cpu, 0);
}

Variant tile_variant(const LocalTile& tile) {
  const std::string name = fmt::format("back-projection through local memory, {}", tile.text());
  Variant variant = back_projection_variant(
      name.c_str(), [tile](auto& options, const auto&) { options.tile = tile; },
      [tile](const DeviceInfo& info) -> std::string {
        if (info.cpu()) return "a CPU, where barriers are slow";
        return takes_tile(info, tile) ? "" : "too small work-groups or local memory";
      },
      0);
  variant.files.emplace_back("backproject_tile.cl");
  return variant;
}

Variant image_variant() {
  return back_projection_variant(
      "back-projection from images",
      [](auto& options, const DeviceInfo& info) { options.image_side = std::min(info.image_width, info.image_height); },
      with_images, 0);
}

Variant texture_variant() {
  return back_projection_variant(
      "back-projection by textures", [](auto& options, const DeviceInfo& info) { set_textures(options, info); },
      with_images, texture_error);
}

Variant half_texture_variant() {
  return back_projection_variant(
      "back-projection by textures of half precision",
      [](auto& options, const DeviceInfo& info) {
        set_textures(options, info);
        options.half_texels = true;
      },
      with_images, texture_error + half_error);
}

Variant texture_projection_variant() {
  return projection_variant(
      "projection by textures", [](auto& parameters, const DeviceInfo& info) { set_textures(parameters, info); },
      with_images, texture_error);
}

Variant siddon_image_variant() {
  return projection_variant(
      "Siddon's projection from images",
      [](auto& parameters, const auto&) { parameters.projector = Projector::siddon, parameters.images = true; },
      unless([](const DeviceInfo& info) { return info.images && info.image_layers >= scan().volume.size[2]; },
             "no images, or of too few layers"),
      0);
}

Variant turned_projection_variant() {
  return projection_variant(
      "projection from a turned volume", [](auto& parameters, const auto&) { parameters.gpu = true; }, on_gpu, 0);
}

// Of views whose rays follow both axes, too.
Variant brick_variant(const AdjointBrick& brick) {
  const auto reason = [brick](const DeviceInfo& info) -> std::string {
    if (info.cpu()) return "a CPU, where barriers are slow";
    return takes_brick(info, brick) ? "" : "too small work-groups or local memory";
  };
  return {fmt::format("Joseph's adjoint in bricks, {}", brick.text()),
          {"joseph_stacks.cl", "joseph_bricks.cl"},
          reason,
          [brick](const Device& device) {
            CircularOptions circle;
            circle.sid = 500;
            circle.sdd = 800;
            circle.angles = {2, 44, 46, 91, 134, 136, 181, 223, 227, 270, 314, 317};
            const auto& [unused, stack, volume] = scan();
            const Geometry geometry = circular_geometry(circle);
            const Volume values = trial_volume(stack);
            const auto run = [&](const AdjointBrick* taken) {
              return run_program(program_of(RayBackprojection(geometry, stack, volume, Projector::joseph, true, taken)),
                                 {{"raw", &values}}, volume, {device})
                  .output;
            };
            const Volume expected = run(nullptr);
            // coordinates are rounded to some 2^-24 of the slices' number, and so are weights
            const double largest = *std::max_element(expected.voxels.begin(), expected.voxels.end());
            return compared(run(&brick), expected, 1e-5 * largest);
          }};
}

Variant slice_projection_variant() {
  return {"projection with slices innermost", {"joseph.cl", "joseph_slices.cl"}, on_gpu, [](const Device& device) {
            Finding found;
            for (const Scan& scan : parallel_scans()) {
              const Volume values = trial_volume(scan.volume);
              const auto run = [&](bool innermost) {
                const RayProjection method(scan.geometry, scan.volume, scan.stack, {.slices_innermost = innermost});
                return run_program(program_of(method), {{"volume", &values}}, scan.stack, {device}).output;
              };
              if (found.verdict == Verdict::right) found = compared(run(true), run(false), 0);
            }
            return found;
          }};
}

Variant slice_adjoint_variant() {
  return {"adjoint with slices innermost", {"joseph.cl", "joseph_slices_adjoint.cl"}, on_gpu, [](const Device& device) {
            const Scan& scan = parallel_scans()[0];
            const Volume values = trial_volume(scan.stack);
            const auto run = [&](const BackprojectionMethod& method) {
              return run_program(program_of(method), {{"raw", &values}}, scan.volume, {device}).output;
            };
            return compared(run(SliceBackprojection(scan.geometry, scan.stack, scan.volume)),
                            run(RayBackprojection(scan.geometry, scan.stack, scan.volume, Projector::joseph)), 0);
          }};
}

}  // namespace halocline
