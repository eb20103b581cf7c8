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
#include "algorithms/row_filter.hpp"
#include "algorithms/row_filter_trial.hpp"
#include "host/error.hpp"
#include "host/fft_library.hpp"
#include "host/program_cache.hpp"
#include "host/trial_values.hpp"
#include "host/work_groups.hpp"
#include "scheduling/iteration.hpp"

namespace halocline {
namespace {

struct Variant {
  std::string name;
  std::vector<std::string> files;                            // whose text the answer depends on
  std::function<std::string(const DeviceInfo&)> reason_not;  // why a device does not take it; "": it does
  std::function<Finding(const Device&)> check;
};

// A reason of a condition.
std::function<std::string(const DeviceInfo&)> unless(bool (*taken)(const DeviceInfo&), const char* reason) {
  return [=](const DeviceInfo& info) -> std::string { return taken(info) ? "" : reason; };
}

Volume noise(const Grid& grid) {
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = trial_value(n);
  return volume;
}

// Rounded another way: what a contraction of a product and a sum, or another approximation of a root, comes to in the
// largest values after a few iterations.
constexpr double last_bits = 1e-6;

// Right if no two values are farther apart than `tolerance`; 0: if they have the same bits.
Finding compared(const Volume& values, const Volume& expected, double tolerance) {
  const std::size_t count = expected.voxels.size();
  if (tolerance == 0 && std::memcmp(values.voxels.data(), expected.voxels.data(), 4 * count) == 0) return {};
  double farthest = 0, largest = 0;
  std::size_t where = 0, others = 0;
  for (std::size_t n = 0; n < count; ++n) {
    largest = std::max(largest, std::abs(static_cast<double>(expected.voxels[n])));
    const double apart = std::abs(static_cast<double>(values.voxels[n]) - expected.voxels[n]);
    if (apart <= tolerance) continue;  // false for NaN
    ++others;
    if (!(apart <= farthest)) farthest = apart, where = n;
  }
  if (others == 0) return {};
  const std::string example = fmt::format("{:.9g} instead of {:.9g}", values.voxels[where], expected.voxels[where]);
  if (tolerance == 0 && farthest <= last_bits * largest)
    return {Verdict::last_bits, fmt::format("{} of {} values, at most {}", others, count, example)};
  return {Verdict::wrong, fmt::format("{} of {} values are wrong, e.g. {}", others, count, example)};
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
          [stages](const DeviceInfo& info) -> std::string {
            for (int n = 1; n <= stages; ++n)
              if (!has_fused_tile(info, n, denoised_grid().size[0])) return "too small work-groups or local memory";
            return {};
          },
          [run, stages](const Device& device) { return compared(run(device, stages), run(device, 0), 0); }};
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
  return {name, {"backproject.cl"}, reason, [set, error_of_a_view](const Device& device) {
            VoxelDriven::Options options;
            set(options, device.info());
            return compared(back_projection(device, options), back_projection(device, {}),
                            error_of_a_view * static_cast<double>(scan().stack.size[2]));
          }};
}

Variant tile_check(const LocalTile& tile) {
  Variant check = back_projection_variant(
      "", [tile](auto& options, const auto&) { options.tile = tile; },
      [tile](const DeviceInfo& info) -> std::string {
        if (info.cpu()) return "a CPU, where barriers are slow";
        return takes_tile(info, tile) ? "" : "too small work-groups or local memory";
      },
      0);
  check.name = tile_variant(tile);
  check.files.emplace_back("backproject_tile.clh");
  return check;
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
  return {name, {"joseph.cl", "siddon.cl"}, reason, [set, error_of_a_voxel](const Device& device) {
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
            return compared(run(parameters), run({parameters.projector}),
                            error_of_a_voxel * planes * std::sqrt(3.0) * spacing);
          }};
}

// Rows of lengths of every first radix (cl/fourier.clh), and so of groups of 64, 128 and 256 work-items, and of the
// longest that a GPU has local memory for.
Variant local_rows() {
  static constexpr std::size_t shortest = 512, longest = 8192;
  return {local_rows_variant,
          {"fdk_rows.cl"},
          unless([](const DeviceInfo& info) { return longest_rows_in(info) >= shortest; }, "too little local memory"),
          [](const Device& device) -> Finding {
            const std::size_t most = std::min(longest, longest_rows_in(device.info()));
            for (const std::size_t length : std::set<std::size_t>{shortest, 1024, 2048, most}) {
              if (length > most) continue;
              const RowFilterTrial trial = row_filter_trial(device, length);
              const Finding finding = compared(trial.filtered, trial.expected, trial.tolerance);
              if (finding.verdict != Verdict::right) return finding;
            }
            return {};
          }};
}

Variant transforms(const char* name, FftLibrary library) {
  return {name,
          {},
          [](const DeviceInfo&) { return std::string(); },
          [library](const Device& device) -> Finding {
            std::string fault = fft_fault(device, library);
            return {fault.empty() ? Verdict::right : Verdict::wrong, std::move(fault)};
          }};
}

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = [] {
    std::vector<Variant> result;
    for (const bool weighted : {false, true})
      for (int stages = 1; stages <= 4; ++stages) result.push_back(fused(weighted, stages));
    const auto on_cpu = unless([](const DeviceInfo& info) { return info.cpu(); }, "it is for CPUs");
    const auto on_gpu = unless([](const DeviceInfo& info) { return !info.cpu(); }, "it is for GPUs");
    const auto with_images = unless([](const DeviceInfo& info) { return info.images; }, "no images");
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
        unless([](const DeviceInfo& info) { return info.texel_pairs; }, "no images of two channels"), texture_error);
    mirrored.files.emplace_back("backproject_mirrored.clh");
    result.push_back(std::move(mirrored));
    result.push_back(projection_variant(texture_projection_variant, textures, with_images, texture_error));
    result.push_back(projection_variant(
        siddon_image_variant,
        [](auto& parameters, const auto&) { parameters.projector = Projector::siddon, parameters.images = true; },
        unless([](const DeviceInfo& info) { return info.images && info.image_layers >= scan().volume.size[2]; },
               "no images, or of too few layers"),
        0));
    result.push_back(projection_variant(
        turned_projection_variant, [](auto& parameters, const auto&) { parameters.gpu = true; }, on_gpu, 0));
    result.push_back(local_rows());
    result.push_back(transforms(clfft_variant, FftLibrary::clfft));
    result.push_back(transforms(vkfft_variant, FftLibrary::vkfft));
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
  std::string key = fmt::format("variant check\n{}\n{}\n{}\n{}\n{}\n{}\n", variant.name, info.platform, info.vendor,
                                info.name, info.version, info.driver);
  for (const auto& file : variant.files) key += kernel_source(file) + "\n";
  return key;
}

std::vector<unsigned char> stored_form(const Finding& finding) {
  const std::string text = static_cast<char>(finding.verdict) + finding.detail;  // never empty
  return {text.begin(), text.end()};
}

Finding finding_of(const std::vector<unsigned char>& bytes) {
  return {static_cast<Verdict>(bytes.front()), std::string(bytes.begin() + 1, bytes.end())};
}

// Nothing if that says nothing of the variant.
std::optional<Finding> checked(const Variant& variant, const Device& device) {
  try {
    return variant.check(device);
  } catch (const PlanError&) {
    return std::nullopt;         // --device-memory is too small even for these volumes
  } catch (const InputError&) {  // nothing is wrong with these inputs
    return Finding{Verdict::wrong, "its result is not finite"};
  } catch (const BuildError& error) {
    const std::string text = error.what();
    return Finding{Verdict::wrong, text.substr(0, text.find('\n'))};
  }
}

// What keeps the variant from the device, unless that does not take it anyway; "": nothing. A device that fails in the
// check will fail in the run, where something is done about it.
std::string obstacle(const std::string& variant, const Device& device, bool exactly) {
  const DeviceInfo& info = device.info();
  try {
    const Finding finding = check_variant(variant, device);
    if (finding.verdict == Verdict::wrong)
      return fmt::format("{} is wrong on {} with the driver {}: {}", variant, info.name, info.driver, finding.detail);
    if (finding.verdict == Verdict::last_bits && exactly)
      return fmt::format("{} differs in the last bits on {} with the driver {}: {}", variant, info.name, info.driver,
                         finding.detail);
  } catch (const ClError& error) {
    if (exceeds_group_limits(error)) return fmt::format("{} is not for this device: {}", variant, error.what());
  }
  return {};
}

}  // namespace

std::string Finding::text() const {
  switch (verdict) {
    case Verdict::right:
      return "right";
    case Verdict::last_bits:
      return "differs in the last bits: " + detail;
    case Verdict::wrong:
      return "wrong: " + detail;
    default:
      return "not for this device: " + detail;
  }
}

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

Finding check_variant(const std::string& name, const Device& device, bool afresh) {
  const Variant& variant = variant_of(name);
  if (std::string reason = variant.reason_not(device.info()); !reason.empty()) return {Verdict::not_taken, reason};
  static std::mutex mutex;
  static std::map<std::string, Finding> known;  // for folders that cannot be written, and to read none twice
  const std::lock_guard lock(mutex);
  const std::string key = key_of(variant, device.info());
  const ProgramCache cache;
  if (!afresh) {
    if (const auto found = known.find(key); found != known.end()) return found->second;
    if (const auto stored = cache.load(key)) return known[key] = finding_of(*stored);
  }
  const auto finding = checked(variant, device);
  if (!finding) return {Verdict::not_taken, "--device-memory is too small for the check"};
  cache.store(key, stored_form(*finding));
  return known[key] = *finding;
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
    const std::string found = obstacle(variant, device, true);
    if (found.empty()) continue;
    warn_once(fmt::format("{}; {} instead", found, instead));
    return false;
  }
  return true;
}

void require_variant(const std::string& variant, const std::vector<Device>& devices, const std::string& option) {
  for (const auto& device : devices) {
    if (const std::string found = obstacle(variant, device, false); !found.empty())
      throw InputError(fmt::format(
          "{}: {}. Leave the option out, choose another --device, or try another driver; 'halocline devices "
          "--check' then checks again",
          option, found));
  }
}

}  // namespace halocline
