#include "algorithms/projectors/scan_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "algorithms/projectors/joseph_slices_adjoint.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {
namespace {

using For = ScanForm::For;

// Error by the fractions of texture units: 8 bits on most GPUs, so that a coordinate may be off by 1/256 along either
// axis of an image of values in [0, 1).
constexpr double texture_error = 2.0 / 256, half_error = 1.0 / 2048;
// Error relative to the largest value: coordinates of bricks are rounded to some 2^-24 of the slices' number, and so
// are weights.
constexpr double brick_error = 1e-5;

std::vector<ScanForm> backprojection_forms() {
  std::vector<ScanForm> forms{{.mode = "exact"},
                              {.mode = "columns", .name = "back-projection from columns", .devices = For::cpus}};
  for (const LocalTile& tile : local_tiles())
    forms.push_back({.mode = &tile == local_tiles().data()
                                 ? "local"
                                 : fmt::format("local-{}x{}x{}", tile.width, tile.height, tile.slices),
                     .name = fmt::format("back-projection through local memory, {}", tile.text()),
                     .devices = For::gpus,
                     .tile = &tile});
  const auto joseph = Projector::joseph;
  forms.insert(forms.end(), {{.mode = "images", .name = "back-projection from images", .images = true},
                             {.mode = "texture",
                              .name = "back-projection by textures",
                              .images = true,
                              .hardware = true,
                              .error = texture_error},
                             {.mode = "pairs",
                              .name = "back-projection by textures, pairs of views",
                              .images = true,
                              .hardware = true,
                              .pack = 2,
                              .error = texture_error},
                             {.mode = "half",
                              .name = "back-projection by textures of half precision",
                              .images = true,
                              .hardware = true,
                              .half = true,
                              .pack = 4,
                              .error = texture_error + half_error},
                             {.mode = "joseph-adjoint", .projector = joseph},
                             {.mode = "joseph-adjoint-slices",
                              .name = "adjoint with slices innermost",
                              .projector = joseph,
                              .innermost = true},
                             {.mode = "siddon-adjoint", .projector = Projector::siddon},
                             {.mode = "distance-driven-adjoint", .projector = Projector::distance_driven}});
  for (const AdjointBrick& brick : adjoint_bricks())
    forms.push_back({.mode = "joseph-bricks-" + brick.text(),
                     .name = fmt::format("Joseph's adjoint in bricks, {}", brick.text()),
                     .projector = joseph,
                     .devices = For::gpus,
                     .brick = &brick});
  const AdjointBrick& brick = adjoint_bricks()[0];
  forms.push_back({.mode = "siddon-bricks-" + brick.text(),
                   .name = fmt::format("Siddon's adjoint in bricks, {}", brick.text()),
                   .projector = Projector::siddon,
                   .devices = For::gpus,
                   .brick = &brick});
  forms.push_back({.mode = "distance-driven-bricks-" + brick.text(),
                   .name = fmt::format("distance-driven adjoint in bricks, {}", brick.text()),
                   .projector = Projector::distance_driven,
                   .devices = For::gpus,
                   .brick = &brick});
  return forms;
}

std::vector<ScanForm> projection_forms() {
  const auto joseph = Projector::joseph, siddon = Projector::siddon;
  std::vector<ScanForm> forms{
      {.mode = "joseph", .name = "projection from a turned volume", .projector = joseph},
      {.mode = "joseph-slices", .name = "projection with slices innermost", .projector = joseph, .innermost = true},
      {.mode = "joseph-upright",
       .name = "projection of columns of rays",
       .projector = joseph,
       .devices = For::gpus,
       .upright = true},
      {.mode = "joseph-images", .name = "projection from images", .projector = joseph, .images = true},
      {.mode = "joseph-texture",
       .name = "projection by textures",
       .projector = joseph,
       .images = true,
       .hardware = true,
       .error = texture_error},
      {.mode = "joseph-pairs",
       .name = "projection by textures, pairs of views",
       .projector = joseph,
       .images = true,
       .hardware = true,
       .pack = 2,
       .error = texture_error},
      {.mode = "joseph-half",
       .name = "projection by textures of half precision",
       .projector = joseph,
       .images = true,
       .hardware = true,
       .half = true,
       .pack = 4,
       .error = texture_error + half_error},
      {.mode = "siddon", .projector = siddon},
      {.mode = "siddon-images", .name = "Siddon's projection from images", .projector = siddon, .images = true},
      {.mode = "distance-driven", .projector = Projector::distance_driven},
      {.mode = "distance-driven-upright",
       .name = "distance-driven projection of columns of rays",
       .projector = Projector::distance_driven,
       .devices = For::gpus,
       .upright = true}};
  for (ScanForm& form : forms) form.adjoint = false;
  return forms;
}

CircularOptions circle_of(double sdd) {
  CircularOptions circle;
  circle.sid = 500;
  circle.sdd = sdd;
  circle.projections = 12;  // a multiple of four: views share texels
  return circle;
}

Scan trial_scan(const CircularOptions& circle, const Grid& stack, const std::array<double, 2>& origin,
                const Grid& volume) {
  Scan scan{circular_geometry(circle), volume, stack};
  scan.stack.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  scan.stack.origin = {origin[0], origin[1], 0};
  return scan;
}

// A small cone beam and a volume off the axis; of bricks with views whose rays follow both axes, none nearly
// along a face, where float32 does not tell where it changes cells. Parallel beams and
// stacks of fans of rows on slices, as many as fill a work-group and some more, and between slices.
std::vector<Scan> trial_scans(const ScanForm& form) {
  CircularOptions cone = circle_of(800), parallel = circle_of(0);
  if (form.innermost) {
    std::vector<Scan> scans;
    cone.fan_stack = true;
    for (CircularOptions* circle : {&parallel, &cone}) {
      circle->first_angle = 7;
      for (const double height : {2.1, 1.9})
        if (height == 2.1 || !form.adjoint)
          scans.push_back(trial_scan(*circle, default_grid({37, 45, 12}, {1.9, 2.1, 1}), {-34, -2.1 * 22},
                                     default_grid({26, 26, 41}, {1.7, 1.7, height})));
    }
    return scans;
  }
  if (form.brick != nullptr || form.upright) {
    cone.angles = {2, 44, 46, 91, 134, 136, 181, 223, 227, 270, 314, 317};
    if (form.projector == Projector::siddon)  // a ray at 270 degrees runs in a face
      cone.angles = {8, 44, 46, 97, 134, 136, 187, 223, 227, 277, 314, 317};
  }
  return {
      trial_scan(cone, default_grid({37, 29, 12}, {2, 2, 1}), {-36, -28}, default_grid({26, 26, 21}, {1.7, 1.7, 2.1}))};
}

Volume computed(const ScanForm& form, const Scan& scan, bool gpu, const Device& device) {
  const Volume values = trial_volume(form.adjoint ? scan.stack : scan.volume);
  if (!form.adjoint)
    return run_program(program_of(*make_projection(form, scan, gpu)), {{"volume", &values}}, scan.stack, {device})
        .output;
  return run_program(program_of(*make_backprojection(form, scan, gpu)), {{"raw", &values}}, scan.volume, {device})
      .output;
}

// The form without all that makes it another one.
ScanForm reference_of(const ScanForm& form) {
  return {.mode = "reference", .adjoint = form.adjoint, .projector = form.projector};
}

// Tolerance of a value: every view, or every plane that a ray crosses with at most sqrt(3) spacings of it, may be off.
double tolerance_of(const ScanForm& form, const Scan& scan, const Volume& expected) {
  const bool other_order = form.upright && form.projector != Projector::joseph;
  if (form.brick != nullptr || other_order)
    return brick_error * *std::max_element(expected.voxels.begin(), expected.voxels.end());
  if (form.adjoint) return form.error * static_cast<double>(scan.stack.size[2]);
  const double planes = static_cast<double>(*std::max_element(scan.volume.size.begin(), scan.volume.size.end()));
  const double spacing = *std::max_element(scan.volume.spacing.begin(), scan.volume.spacing.end());
  return form.error * planes * std::sqrt(3.0) * spacing;
}

// Kernel files whose text the answer of a check depends on.
std::vector<std::string> files_of(const ScanForm& form) {
  if (form.brick != nullptr)
    return {"joseph_stacks.cl", "siddon.cl", "joseph_bricks.cl", "siddon_bricks.cl", "distance_driven_bricks.cl"};
  if (form.upright) return {"joseph.cl", "distance_driven.cl", "joseph_upright.cl", "distance_driven_upright.cl"};
  if (form.innermost) return {"joseph.cl", form.adjoint ? "joseph_slices_adjoint.cl" : "joseph_slices.cl"};
  if (!form.adjoint) return {"joseph.cl", "joseph_image.cl", "siddon.cl"};
  if (form.tile != nullptr) return {"backproject.cl", "backproject_tile.cl"};
  return {"backproject.cl", "backproject_columns.cl", "backproject_image.cl"};
}

std::string refusal_of(const auto& method, const DeviceInfo& device) {
  try {
    method.check_device(device);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

const std::vector<ScanForm>& scan_forms() {
  static const std::vector<ScanForm> all = [] {
    std::vector<ScanForm> forms = projection_forms();
    for (ScanForm& form : backprojection_forms()) forms.push_back(std::move(form));
    return forms;
  }();
  return all;
}

const ScanForm& scan_form(const std::string& mode) {
  for (const ScanForm& form : scan_forms())
    if (form.mode == mode) return form;
  throw std::logic_error("there is no form " + mode);
}

std::string lack_of(const ScanForm& form, const DeviceInfo& device) {
  if (form.devices == For::cpus && !device.cpu()) return "for CPUs only";
  if (form.devices == For::gpus && device.cpu()) return "for GPUs only";
  if ((form.tile != nullptr && !takes_tile(device, *form.tile)) ||
      (form.brick != nullptr && !takes_brick(device, *form.brick)) ||
      (form.upright && device.max_work_group < UprightForm::group))
    return "too small work-groups or local memory";
  if (form.images && !device.images) return "the device has no images";
  if (form.pack == 2 && !device.texel_pairs) return "the device has no textures of two channels";
  return {};
}

std::string lack_of(const ScanForm& form, const Scan& scan, const DeviceInfo& device) {
  if (std::string lack = lack_of(form, device); !lack.empty()) return lack;
  if (form.innermost) {
    const auto rows = slice_rows(make_rays(scan.geometry, scan.volume, scan.stack), scan.volume, scan.stack);
    if (!rows) return "rays of a cone beam do not lie within slices";
    if (form.adjoint && !rows->aligned) return "rows lie between slices";
  }
  if (!form.images) return {};
  if (!form.adjoint) return refusal_of(*make_projection(form, scan, true), device);
  if (scan.stack.size[0] > device.image_width || scan.stack.size[1] > device.image_height)
    return "the device's images are too small for it";
  return {};
}

std::unique_ptr<ProjectionMethod> make_projection(const ScanForm& form, const Scan& scan, bool gpu) {
  ProjectionParameters parameters{.projector = form.projector.value()};
  parameters.hardware_interpolation = form.hardware;
  parameters.half_texels = form.half;
  parameters.images = form.images;
  parameters.gpu = gpu;
  parameters.texel_pairs = form.pack == 2;
  parameters.slices_innermost = form.innermost;
  parameters.upright = form.upright;
  return std::make_unique<RayProjection>(scan.geometry, scan.volume, scan.stack, parameters);
}

std::unique_ptr<BackprojectionMethod> make_backprojection(const ScanForm& form, const Scan& scan, bool gpu) {
  if (form.innermost) return std::make_unique<SliceBackprojection>(scan.geometry, scan.stack, scan.volume);
  if (form.projector)
    return std::make_unique<RayBackprojection>(scan.geometry, scan.stack, scan.volume, *form.projector, gpu,
                                               form.brick);
  VoxelDriven::Options options;
  options.hardware_interpolation = form.hardware;
  options.half_texels = form.half;
  options.texel_pairs = form.pack == 2;
  options.cpu = form.devices == For::cpus;
  if (form.images && !form.hardware) options.image_side = std::max(scan.stack.size[0], scan.stack.size[1]);
  if (form.tile != nullptr) options.tile = *form.tile;
  options.distance_weight = true;
  return std::make_unique<Backprojection>(scan.geometry, scan.stack, scan.volume, options);
}

Variant variant_of(const ScanForm& form) {
  // Joseph's own form on GPUs reads a turned volume. It and slices innermost run on CPUs, too, where nothing takes
  // them.
  const bool turned = form.mode == "joseph";
  const auto reason = [form, turned](const DeviceInfo& device) -> std::string {
    if ((turned || form.innermost) && device.cpu()) return "for GPUs only";
    const Scan scan = trial_scans(form).front();
    std::string lack = lack_of(form, device);
    if (lack.empty()) lack = lack_of(form, scan, device);
    if (lack.empty() && form.images && !form.adjoint && device.image_layers < scan.volume.size[2])
      return "its images have too few layers";
    return lack;
  };
  const bool gpu = turned || form.upright || form.brick != nullptr;
  return {form.name, files_of(form), reason, [form, gpu](const Device& device) {
            Finding found;
            for (const Scan& scan : trial_scans(form)) {
              const Volume expected = computed(reference_of(form), scan, form.brick != nullptr, device);
              found = compared(computed(form, scan, gpu, device), expected, tolerance_of(form, scan, expected));
              if (found.verdict != Verdict::right) break;
            }
            return found;
          }};
}

Variant tile_variant(const LocalTile& tile) {
  const auto& forms = scan_forms();
  return variant_of(
      *std::find_if(forms.begin(), forms.end(), [&](const auto& form) { return form.tile && *form.tile == tile; }));
}

std::optional<Variant> brick_variant(const AdjointBrick& brick, const Projector& projector) {
  for (const ScanForm& form : scan_forms())
    if (form.brick && *form.brick == brick && form.projector == projector) return variant_of(form);
  return std::nullopt;
}

void require_textures(bool adjoint, bool half, const std::vector<Device>& devices, const std::string& parameter) {
  for (const Device& device : devices) {
    const std::string views = half ? "half" : device.info().texel_pairs ? "pairs" : "texture";
    require_variant(variant_of(adjoint ? views : "joseph-" + views), {device}, parameter);
  }
}

}  // namespace halocline
