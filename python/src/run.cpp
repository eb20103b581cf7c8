// The verbs: values for settings, arrays in place of files.
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <optional>

#include "apps/command.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/embedded_command.hpp"
#include "apps/images/image_file.hpp"
#include "apps/job/common_options.hpp"
#include "apps/job/option_names.hpp"
#include "apps/version.hpp"
#include "host/system/error.hpp"
#include "python/src/core.hpp"
#include "python/src/geometry_class.hpp"

namespace halocline::python {
namespace {

// Lines of the log, of any thread, until somebody with the interpreter's lock takes them.
class LogLines : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::pair<int, std::string>> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    lines_.emplace_back(static_cast<int>(message.level), in_options(text, ""));
  }
  void flush_() override {}

 private:
  std::vector<std::pair<int, std::string>> lines_;
};

std::shared_ptr<LogLines>& log_lines() {
  static auto lines = std::make_shared<LogLines>();
  return lines;
}

std::unique_ptr<EmbeddedCommand>& the_command() {
  static std::unique_ptr<EmbeddedCommand> command = std::make_unique<EmbeddedCommand>();
  return command;
}

EmbeddedCommand& command() {
  require_same_process();
  if (!the_command()) throw std::runtime_error("halocline has been shut down; the process is ending");
  return *the_command();
}

void hand_on_log(const nb::object& log) {
  for (const auto& [level, text] : log_lines()->take()) log(level, text);
}

class Call : public Cancellable {
 public:
  Call(EmbeddedRun run, nb::object progress, nb::object log)
      : run_(std::move(run)), progress_(std::move(progress)), log_(std::move(log)), command_(command()) {
    run_.cancellation = &cancellation_;
    if (!progress_.is_none())
      run_.progress = [this](const ProgressState& state) {
        const std::lock_guard lock(mutex_);
        state_ = state;
      };
  }
  void work() override { result = command_.run(run_); }
  void cancel() override { cancellation_.request(); }
  void meanwhile() override {
    hand_on_log(log_);
    if (progress_.is_none()) return;
    std::optional<ProgressState> state;
    {
      const std::lock_guard lock(mutex_);
      state = std::exchange(state_, {});
    }
    if (state) progress_(state->stage, state->done, state->total, state->note);
  }

  EmbeddedResult result;

 private:
  EmbeddedRun run_;
  nb::object progress_, log_;
  EmbeddedCommand& command_;
  Cancellation cancellation_;
  std::mutex mutex_;
  std::optional<ProgressState> state_;
};

using Inputs = std::map<std::string, std::pair<std::optional<Values>, GridTuple>>;
using Places = std::map<std::string, nb::ndarray<float, nb::c_contig, nb::device::cpu>>;

// Memory of a device as Python has it: the number of a cl_mem that lives as long as this.
struct DeviceMemory {
  std::shared_ptr<DistributedArray> array;
  std::uintptr_t handle() const { return reinterpret_cast<std::uintptr_t>(array->buffer().handle()); }
};

// Arrays of another program's context, by their names.
struct ForeignArray {
  std::uintptr_t memory;
  std::size_t offset;
  Grid grid;

  std::shared_ptr<DistributedArray> on(const Device& device, const std::string& name) const {
    auto buffer = Buffer::adopt(device, name, reinterpret_cast<void*>(memory));
    return std::make_shared<DistributedArray>(grid, device, std::move(buffer), offset);
  }
};
using ForeignTuple = std::tuple<std::uintptr_t, std::size_t, GridTuple>;

struct ForeignArrays {
  std::uintptr_t context = 0, device = 0;
  std::map<std::string, ForeignArray> inputs, places;
  std::vector<std::string> results;  // which get memory of their own
  std::map<std::string, std::shared_ptr<DistributedArray>> opened = {};

  void add_to(MemoryFiles& images, const Device& on) {
    for (const auto& [name, array] : inputs) images.add(name, opened[name] = array.on(on, name));
    for (const auto& [name, array] : places) images.place(name, opened[name] = array.on(on, name));
    for (const auto& name : results) images.place(name, on);
  }
};

ForeignArrays foreign_arrays(const nb::object& home) {
  const auto arrays = [&](const char* key) {
    std::map<std::string, ForeignArray> result;
    for (const auto& [name, tuple] : nb::cast<std::map<std::string, ForeignTuple>>(home[key]))
      result[name] = {std::get<0>(tuple), std::get<1>(tuple), grid_of(std::get<2>(tuple))};
    return result;
  };
  return {nb::cast<std::uintptr_t>(home["context"]), nb::cast<std::uintptr_t>(home["device"]), arrays("inputs"),
          arrays("places"), nb::cast<std::vector<std::string>>(home["results"])};
}

// Images that a call wrote, by name: values and grid; None where they went to a place of the caller's.
nb::dict outputs_of(MemoryFiles& images, const std::vector<std::string>& wanted, ForeignArrays& foreign,
                    nlohmann::json& report) {
  nb::dict found;
  for (const auto& name : wanted) {
    if (!images.has(name)) continue;
    const auto array = images.on_device(name);
    TypedVolume volume = images.take(name);
    const GridTuple grid = tuple_of(volume.grid);
    nb::object values = nb::none();
    if (array && !foreign.places.contains(name))
      values = nb::cast(DeviceMemory{array});
    else if (!volume.memory.empty())
      values = array_of(std::move(volume));
    if (array) foreign.opened[name] = array;
    found[name.c_str()] = nb::make_tuple(values, grid);
  }
  for (const auto& [name, array] : foreign.opened) report["arrays_on_device"][name]["bus_bytes"] = array->bus_bytes();
  return found;
}

// An array, a grid or a geometry of the call, as the value of a setting.
struct Named {
  std::string name, before;  ///< text of the setting before it
};
using Value = std::variant<std::string, Named>;
using Given = std::vector<std::pair<std::string, std::vector<Value>>>;

std::vector<GivenSetting> words_of(const Given& given) {
  std::vector<GivenSetting> result;
  for (const auto& [name, values] : given) {
    result.push_back({name, {}});
    for (const Value& value : values) {
      const auto* named = std::get_if<Named>(&value);
      result.back().words.push_back(named != nullptr ? named->before + MemoryFiles::path(named->name)
                                                     : std::get<std::string>(value));
    }
  }
  return result;
}

nb::tuple run(const std::string& verb, const Given& given, const Inputs& inputs, const Places& places,
              const std::map<std::string, GeometryFile>& geometries, const MemoryProjectors::Map& given_projectors,
              const std::vector<std::string>& outputs, const nb::object& progress, const nb::object& log,
              const nb::object& home) {
  MemoryFiles images;
  for (const auto& [name, input] : inputs) {
    const Grid grid = grid_of(input.second);
    if (input.first && input.first->size() != grid.count()) throw nb::value_error("an array does not fit its grid");
    images.add(name, grid, input.first ? component_of(input.first->dtype()) : Component::float32,
               input.first ? input.first->data() : nullptr);
  }
  for (const auto& [name, place] : places) images.place(name, place.data(), place.size());
  std::map<std::string, ScanFile> scans;
  for (const auto& [name, geometry] : geometries) scans[MemoryFiles::path(name)] = geometry.scan();
  MemoryProjectors::Map projectors;
  for (const auto& [name, projector] : given_projectors) projectors.emplace(MemoryFiles::path(name), projector);
  EmbeddedRun wanted{verb, words_of(given), &images, &scans, &projectors};
  ForeignArrays foreign;
  if (!home.is_none()) {
    foreign = foreign_arrays(home);
    wanted.home = ForeignHome{reinterpret_cast<void*>(foreign.context), reinterpret_cast<void*>(foreign.device),
                              [&](const Device& device) { foreign.add_to(images, device); }};
  }
  Call call(std::move(wanted), progress, log);
  run_interruptible(call);
  nlohmann::json& report = call.result.report;
  const nb::dict found = outputs_of(images, outputs, foreign, report);
  return nb::make_tuple(call.result.text, report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), found);
}

// The settings of a verb, those of every verb among them.
nb::dict settings_of(const std::string& verb) {
  return guarded([&] {
    const NamedCommand named = make_named_command(verb);
    CommonOptions common;
    Settings common_settings;
    add_common_options(common_settings, common);
    nb::dict result;
    for (const Settings* settings : {&named.command->settings, &common_settings})
      for (const Setting& setting : settings->all()) {
        nb::dict row;
        const FileUse file = setting.file();
        row["flag"] = setting.kind() == SettingKind::flag;
        row["image"] = file.kind == FileKind::image && !file.written;
        row["image_out"] = file.kind == FileKind::image && file.written;
        row["expected"] = setting.words().empty() ? setting.unit() : either(setting.words());
        row["help"] = in_options(setting.help(), verb);
        result[setting.id().c_str()] = row;
      }
    return result;
  });
}

// An image file's voxels and grid.
class Reading : public Cancellable {
 public:
  explicit Reading(std::string path, bool allow_nonfinite) : path_(std::move(path)), allow_(allow_nonfinite) {}
  void work() override {
    const CancellationScope scope(&cancellation_);
    volume = read_image(path_, allow_);
  }
  void cancel() override { cancellation_.request(); }
  void meanwhile() override {}
  Volume volume;

 private:
  std::string path_;
  bool allow_;
  Cancellation cancellation_;
};

nb::tuple read(const std::string& path, bool allow_nonfinite, const nb::object& log) {
  Reading reading(path, allow_nonfinite);
  run_interruptible(reading);
  hand_on_log(log);
  const GridTuple grid = tuple_of(reading.volume.grid);
  return nb::make_tuple(array_of(to_typed(std::move(reading.volume))), grid);
}

nb::tuple info(const std::string& path) {
  return guarded([&] {
    const ImageInfo found = read_image_info(path);
    return nb::make_tuple(tuple_of(found.grid), found.component, found.format);
  });
}

class Writing : public Cancellable {
 public:
  Writing(std::string path, const Values& values, const Grid& grid, Component component)
      : path_(std::move(path)), from_(values.data()), grid_(grid), component_(component) {}
  void work() override {
    const CancellationScope scope(&cancellation_);
    MemoryFiles images;
    images.add("image", grid_, component_, from_);
    check_writable(path_);
    const auto sink = create_image(path_, grid_, {component_});
    sink->reserve();
    sink->begin();
    copy_voxels(*images.open("image"), *sink);
    sink->commit();
  }
  void cancel() override { cancellation_.request(); }
  void meanwhile() override {}

 private:
  std::string path_;
  const void* from_;
  Grid grid_;
  Component component_;
  Cancellation cancellation_;
};

void write(const std::string& path, const Values& values, const GridTuple& tuple, const nb::object& log) {
  const Grid grid = grid_of(tuple);
  if (values.size() != grid.count()) throw nb::value_error("the array does not fit its grid");
  Writing writing(path, values, grid, component_of(values.dtype()));
  run_interruptible(writing);
  hand_on_log(log);
}

nb::list list_of_devices() {
  require_same_process();
  nb::list result;
  for (const DeviceInfo& info : list_devices()) {
    nb::dict device;
    device["name"] = info.name;
    device["vendor"] = info.vendor;
    device["platform"] = info.platform;
    device["type"] = info.cpu() ? "cpu" : "gpu";
    device["memory_bytes"] = info.global_memory;
    device["driver"] = info.driver;
    result.append(device);
  }
  return result;
}

int run_as_command(const std::vector<std::string>& words) {
  the_command().reset();  // the command opens devices of its own
  std::vector<const char*> argv;
  for (const auto& word : words) argv.push_back(word.c_str());
  const nb::gil_scoped_release released;
  return run_command(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

std::vector<Device> devices_of(const std::string& selection, std::size_t device_memory) {
  DeviceSelection wanted;
  wanted.device = selection;
  wanted.device_memory = device_memory;
  return command().devices(wanted);
}

Device device_of(const GivenDevice& given) {
  if (const auto* name = std::get_if<std::string>(&given)) return devices_of(*name, 0).front();
  const auto [context, device] = std::get<1>(given);
  return adopt_device(reinterpret_cast<void*>(context), reinterpret_cast<void*>(device));
}

void add_run(nb::module_& module) {
  auto logger = std::make_shared<spdlog::logger>("halocline", log_lines());
  logger->set_level(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
  module.attr("VERSION") = HALOCLINE_VERSION;
#ifdef HALOCLINE_WITH_ITK
  module.attr("WITH_ITK") = true;
#else
  module.attr("WITH_ITK") = false;
#endif
  nb::class_<Named>(module, "Named")
      .def(nb::init<std::string, std::string>(), nb::arg("name"), nb::arg("before") = "",
           "An array, a grid or a geometry of a call, as a setting's value, and the text before it.");
  module.def(
      "run", &run, nb::arg("verb"), nb::arg("settings"), nb::arg("inputs"), nb::arg("places"), nb::arg("geometries"),
      nb::arg("projectors"), nb::arg("outputs"), nb::arg("progress").none(), nb::arg("log"),
      nb::arg("home") = nb::none(),
      nb::sig(
          "def run(verb: str, settings: collections.abc.Sequence[tuple[str, collections.abc.Sequence[str | Named]]], "
          "inputs: collections.abc.Mapping[str, typing.Any], places: collections.abc.Mapping[str, typing.Any], "
          "geometries: collections.abc.Mapping[str, GeometryFile], "
          "projectors: collections.abc.Mapping[str, UserProjector], outputs: collections.abc.Sequence[str], "
          "progress: typing.Any, log: typing.Any, home: typing.Any = None) "
          "-> tuple[str, str, dict[str, typing.Any]]"),
      "Runs a verb with these settings. inputs: arrays and grids by their names, which Named() makes values of "
      "settings; "
      "outputs: names of images to return. Returns the text, the report (JSON) and the outputs. home: context and "
      "device of arrays there, by number; inputs and places: memory, offset and grid by name; results: names of those "
      "that are to lie there.");
  module.def("settings", &settings_of, nb::arg("verb"),
             nb::sig("def settings(verb: str) -> dict[str, dict[str, typing.Any]]"),
             "The settings of a verb by name: whether it is a flag, whether it names an image that is read or one that "
             "is written, what it takes, and its help.");
  nb::class_<DeviceMemory>(module, "DeviceMemory")
      .def_prop_ro("int_ptr", &DeviceMemory::handle, "The number of the memory object, while this lives.");
  module.def(
      "read_image", &read, nb::arg("path"), nb::arg("allow_nonfinite"), nb::arg("log"),
      nb::sig("def read_image(path: str, allow_nonfinite: bool, log: typing.Any) -> tuple[typing.Any, typing.Any]"));
  module.def("image_info", &info, nb::arg("path"), nb::sig("def image_info(path: str) -> tuple[typing.Any, str, str]"),
             "Of an image file: its grid, the type of its values and its format.");
  module.def("write_image", &write, nb::arg("path"), nb::arg("values"), nb::arg("grid"), nb::arg("log"),
             nb::sig("def write_image(path: str, values: typing.Any, grid: typing.Any, log: typing.Any) -> None"));
  module.def("devices", &list_of_devices, nb::sig("def devices() -> list[dict[str, typing.Any]]"));
  module.def("main", &run_as_command, nb::arg("words"), "The command on a terminal; its exit code.");
  module.def(
      "shut_down",
      [] {
        end_all_calls();
        the_command().reset();
      },
      "Ends all calls, and lets devices and kernels go.");
}

}  // namespace halocline::python
