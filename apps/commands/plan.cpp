// halocline plan
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/machine_file.hpp"
#include "host/system/error.hpp"
#include "host/system/process_memory.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/host_memory.hpp"
#include "scheduling/planning/machine.hpp"
#include "scheduling/planning/plan_text.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

struct PlanCommand {
  std::string machine, method, interpolation, duals;
  std::vector<std::string> size, counts, node_counts;
  std::optional<std::array<std::size_t, 2>> detector;
  std::optional<int> stages, iterations;
  std::optional<double> gap;
  std::size_t views = 0;
  bool json = false;
};

// The plan of so many devices of each node, with what the host of a node needs for it.
struct Forecast {
  std::size_t devices = 0;  // in all
  Plan plan;
  HostMemoryEstimate need;
};

std::vector<std::string> methods() {
  auto names = denoiser_names();
  std::erase(names, "pdu4d");  // goes by its frames: denoise --dry-run
  for (const char* name : {"fdk", "project", "backproject"}) names.emplace_back(name);
  return names;
}

bool projects(const PlanCommand& command) {
  return command.method == "fdk" || command.method == "project" || command.method == "backproject";
}

// Refuses options that have no meaning for the method.
void check_options(const PlanCommand& command) {
  const std::array<std::pair<const char*, bool>, 4> of_denoise{{{"--iterations", command.iterations.has_value()},
                                                                {"--gap", command.gap.has_value()},
                                                                {"--stages", command.stages.has_value()},
                                                                {"--duals", !command.duals.empty()}}};
  const std::array<std::pair<const char*, bool>, 3> of_scans{{{"--views", command.views > 0},
                                                              {"--detector", command.detector.has_value()},
                                                              {"--interpolation", !command.interpolation.empty()}}};
  const auto wrong = projects(command) ? std::span<const std::pair<const char*, bool>>(of_denoise) : of_scans;
  for (const auto& [option, given] : wrong)
    if (given)
      throw InputError(fmt::format("{} does not go with --method {}: it is for {}", option, command.method,
                                   projects(command) ? "the methods of denoise" : "fdk, project and backproject"));
  if (command.gap && command.method != "pdu" && command.method != "spdu")
    throw InputError(fmt::format("--gap does not go with --method {}: it is for pdu and spdu", command.method));
}

// "512", a cube, or "512,512,720".
Grid volume_of(const PlanCommand& command) {
  const auto numbers = parse_numbers("--size", command.size);
  require_whole("--size", numbers, 1);
  if (numbers.size() != 1 && numbers.size() != 3)
    throw InputError(fmt::format("--size has {} numbers; expected N for a cube, or NX,NY,NZ", numbers.size()));
  Grid grid;
  for (int axis = 0; axis < 3; ++axis)
    grid.size[axis] = static_cast<std::size_t>(numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(axis)]);
  if (projects(command)) grid.direction = {1, 0, 0, 0, 0, 1, 0, -1, 0};  // slices lie across the axis of rotation, y
  for (int row = 0; row < 3; ++row) {
    grid.origin[row] = 0;
    for (int axis = 0; axis < 3; ++axis)
      grid.origin[row] -= 0.5 * grid.direction[3 * row + axis] * (static_cast<double>(grid.size[axis]) - 1);
  }
  require_reasonable(grid, "--size");
  return grid;
}

// A full circle about a volume of 1 mm voxels, magnified by 1.5 onto a detector that sees all of it.
struct PlannedScan {
  Geometry geometry;
  Grid stack;
};
PlannedScan scan_of(const PlanCommand& command, const Grid& volume) {
  const std::size_t across = std::max(volume.size[0], volume.size[1]);
  PlannedScan scan;
  auto& size = scan.stack.size;
  size = {across, volume.size[2], command.views > 0 ? command.views : across};
  if (command.detector) size = {(*command.detector)[0], (*command.detector)[1], size[2]};
  const double width = 1.8 * static_cast<double>(across), height = 1.8 * static_cast<double>(volume.size[2]);
  scan.stack.spacing = {width / static_cast<double>(size[0]), height / static_cast<double>(size[1]), 1};
  for (int axis = 0; axis < 2; ++axis)
    scan.stack.origin[axis] = -0.5 * scan.stack.spacing[axis] * (static_cast<double>(size[axis]) - 1);
  CircularOptions circle;
  circle.sid = 4 * static_cast<double>(across);
  circle.sdd = 6 * static_cast<double>(across);
  circle.projections = size[2];
  scan.geometry = circular_geometry(circle);
  return scan;
}

// `here`: the devices, if they are there.
Plan plan_for(const PlanCommand& command, const Grid& volume, const std::vector<DeviceModel>& devices,
              const std::vector<Device>& here, const PlanOptions& options) {
  if (!projects(command)) {
    DenoiseParameters parameters;
    parameters.method = command.method;
    parameters.iterations = command.iterations.value_or(200);
    parameters.stages = command.stages;
    if (command.gap) parameters.gap = *command.gap;
    if (!command.duals.empty()) parameters.dual_bits = dual_bits_named(command.duals);
    if (command.method == "tvgd") parameters.step = 1;
    if (!here.empty()) return plan_denoise(volume, parameters, here, options);
    return plan_denoise(volume, parameters, devices, options);
  }
  const PlannedScan scan = scan_of(command, volume);
  const bool half = command.interpolation == "half", hardware = half || command.interpolation == "hardware";
  if (command.method == "project") {
    ProjectionParameters parameters{Projector::joseph, hardware};
    parameters.half_texels = half;
    return plan_project(scan.geometry, volume, scan.stack, parameters, devices, options);
  }
  if (command.method == "backproject")
    return plan_backproject(scan.geometry, scan.stack, volume, BackprojectionParameters{hardware, half}, devices,
                            options);
  FdkParameters parameters;
  parameters.hardware_interpolation = hardware;
  parameters.half_texels = half;
  return plan_fdk(scan.geometry, scan.stack, volume, parameters, devices, options);
}

// Input and result in memory.
double volumes_of(const Plan& plan) {
  const auto& r = plan.requirements;
  const auto product = [](const std::array<std::size_t, 3>& size) {
    return sizeof(float) * static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  };
  if (r.stack[2] > 0) return product(r.size) + product(r.stack);
  const auto inputs = std::count_if(r.arrays.begin(), r.arrays.end(), [](const ArrayNeed& need) {
    return need.kind == ArrayKind::volume && need.lifetime == Lifetime::input;
  });
  return static_cast<double>(1 + inputs) * product(r.size);
}

std::vector<std::size_t> counts_of(const std::string& option, const std::vector<std::string>& given, std::size_t most) {
  if (given.empty()) return {most};
  const auto numbers = parse_numbers(option, given);
  require_whole(option, numbers, 1);
  std::vector<std::size_t> result;
  for (const double number : numbers) {
    result.push_back(static_cast<std::size_t>(number));
    if (result.back() > most)
      throw InputError(fmt::format("{} {}: there {} only {}", option, result.back(), most == 1 ? "is" : "are", most));
  }
  return result;
}

std::string table(const std::vector<Forecast>& forecasts) {
  std::string text = fmt::format("{:>7}  {:>5}  {:>9}  {:>6}  {:>9}  {:>9}  {:>10}  {:>10}  {:>12}  {:>12}  {:>12}\n",
                                 "devices", "slabs", "exchange", "passes", "seconds", "G/s", "speed-up", "efficiency",
                                 "on a device", "on the host", "over the bus");
  const auto& first = forecasts.front();
  for (const auto& [devices, plan, need] : forecasts) {
    std::size_t bytes = 0;
    for (const auto& slab : plan.slabs) bytes = std::max(bytes, slab.bytes);
    const double faster = first.plan.seconds / plan.seconds;
    text +=
        fmt::format("{:>7}  {:>5}  {:>9}  {:>6}  {:>9.4g}  {:>9.4g}  {:>10.3g}  {:>8.1f} %  {:>12}  {:>12}  {:>12}\n",
                    devices, plan.slabs.size(), plan.iterations_per_exchange, plan.passes, plan.seconds,
                    1e-9 * count_units(plan.requirements) / plan.seconds, faster,
                    100 * faster * static_cast<double>(first.devices) / static_cast<double>(devices),
                    bytes_text(static_cast<double>(bytes)), bytes_text(need.peak()), bytes_text(plan.bus_bytes));
    for (const auto& note : plan.notes) text += fmt::format("{:>9}{}\n", "", note);
  }
  return text;
}

nlohmann::json json_of(const Forecast& forecast) {
  return {{"devices", forecast.devices},
          {"plan", forecast.plan.json()},
          {"units", count_units(forecast.plan.requirements)},
          {"host_peak_bytes", forecast.need.peak()},
          {"scratch_bytes", forecast.need.on_scratch()}};
}

// The plan of the first `count` devices of each of the first nodes.
Plan plan_of(const PlanCommand& command, const Grid& volume, Machine machine, const std::vector<Device>& here,
             int nodes, std::size_t count) {
  machine.devices.resize(count);
  PlanOptions options;
  options.host_bandwidth = machine.host_bandwidth * nodes;
  if (nodes > 1) options.all_devices = machine.devices_of(nodes), options.link_bandwidth = machine.link_bandwidth;
  const std::vector<Device> first(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(here.empty() ? 0 : count));
  return plan_for(command, volume, machine.devices, first, options);
}

void run_plan(Job& job, const PlanCommand& command) {
  const auto names = methods();
  if (std::find(names.begin(), names.end(), command.method) == names.end())
    throw InputError(fmt::format("--method is \"{}\"; expected one of: {}", command.method, fmt::join(names, ", ")));
  check_options(command);
  const std::string described = command.machine.empty() ? "" : machine_file(command.machine);
  job.input("--machine", described);
  Machine machine;
  std::vector<Device> here;
  if (!described.empty()) {
    if (job.common().devices.sub_devices > 0)
      throw InputError("--sub-devices splits a device that is here; --machine describes others");
    machine = read_machine(described);
  } else {
    here = job.devices();
    machine = {"this computer", "", host_memory_bytes(), 0, device_models(here), 1, 0};
  }
  if (job.common().host_memory > 0) machine.host_memory = job.common().host_memory;
  if (const std::size_t memory = job.common().devices.device_memory; memory > 0)
    for (auto& device : machine.devices) device.memory = memory;
  const Grid volume = volume_of(command);
  const double process = here.empty() ? 0 : static_cast<double>(process_bytes());
  const bool scratch = !job.common().scratch.empty();
  std::vector<Forecast> forecasts;
  for (const std::size_t nodes :
       counts_of("--node-count", command.node_counts, static_cast<std::size_t>(machine.nodes)))
    for (const std::size_t count : counts_of("--device-count", command.counts, machine.devices.size())) {
      Plan plan = plan_of(command, volume, machine, here, static_cast<int>(nodes), count);
      const double share = 1 / static_cast<double>(nodes), volumes = volumes_of(plan) * share;
      const HostMemoryEstimate need{process, volumes, plan.host_bytes * share, volumes, host_state_bytes(plan) * share,
                                    scratch};
      forecasts.push_back({nodes * count, std::move(plan), need});
    }
  auto list = nlohmann::json::array();
  for (const auto& forecast : forecasts) list.push_back(json_of(forecast));
  job.results() = {{"machine", machine.name}, {"forecasts", list}};
  if (command.json)
    job.print(json_text(job.results()));
  else if (!command.counts.empty() || !command.node_counts.empty())
    job.print(fmt::format("{}\n{}", machine.name, table(forecasts)));
  else
    job.print(fmt::format("{}\n{}{}", machine.name, forecasts[0].plan.text(),
                          host_text(forecasts[0].need, machine.host_memory)));
  for (const auto& forecast : forecasts)
    require_host_memory(forecast.plan, forecast.need, machine.host_memory, "--host-memory stands for another host.");
}

}  // namespace

std::unique_ptr<Command> plan_command() {
  auto sub =
      std::make_unique<Command>("plan", "Predict slabs, memory and time of a job, also on machines that are not here");
  Settings& settings = sub->settings;
  auto command = std::make_shared<PlanCommand>();
  settings
      .add("machine", command->machine,
           "A described machine: a JSON file, or the name of one that comes with Halocline (h200, h200x8, w8100x4, "
           "laptop, cluster-node, cluster). Default: the devices here, as --device chooses them")
      .unit("FILE|NAME")
      .file(FileKind::json);
  settings.add("method", command->method, fmt::format("One of {}", fmt::join(methods(), ", "))).required().initial("");
  settings.add("size", command->size, "Voxels: N for a cube, or NX,NY,NZ").required().initial("").unit("N|NX,NY,NZ");
  settings.add("iterations", command->iterations, "Of a method of denoise; all are counted. Default: 200")
      .whole_from(1)
      .unit("N");
  settings
      .add("gap", command->gap,
           "pdu, spdu: as for denoise. 0: nothing is evaluated before the end, so slabs may be streamed beside "
           "the kernels. Default: 0.001")
      .between(0.0, 1.0)
      .unit("G");
  settings.add("stages", command->stages, "pdu, spdu: as for denoise").unit("N");
  settings.add("duals", command->duals, "pdu, spdu: as for denoise").one_of(dual_names());
  settings.add("views", command->views, "Of a full circle. Default: as many as the volume is wide")
      .whole_from(1)
      .initial("")
      .unit("N");
  settings.add_list("detector", command->detector, "NU,NV", Numbers::sizes,
                    "Detector pixels. Default: as many as the volume has voxels across and along the axis");
  settings.add("interpolation", command->interpolation, "fdk, project, backproject: as there. Default: exact")
      .one_of({"exact", "hardware", "half"});
  settings
      .add("device-count", command->counts,
           "Comma list: a table with the first N devices (of each node) for each N, and how they scale. Default: "
           "all devices, and the whole plan")
      .unit("LIST");
  settings
      .add("node-count", command->node_counts,
           "Comma list, for a machine of several nodes: a table with the first N nodes for each N. Default: all nodes")
      .unit("LIST");
  settings.add("json", command->json, "Print JSON");
  sub->footer =
      "Nothing is computed. Times are those of the cost model, from inputs in host memory to the result there, with "
      "kernels compiled.\nExample:\n  halocline plan --machine h200x8 --method pdu --size 2048 "
      "--device-count 1,2,4,8";
  sub->run = [command](Job& job) { run_plan(job, *command); };
  return sub;
}

}  // namespace halocline
