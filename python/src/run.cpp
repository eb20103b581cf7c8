// The command's verbs with arrays in place of files.
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <optional>

#include "apps/command.hpp"
#include "apps/embedded_command.hpp"
#include "apps/io/image_file.hpp"
#include "apps/job/option_names.hpp"
#include "apps/version.hpp"
#include "host/error.hpp"
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

nb::tuple run(const std::vector<std::string>& words, const Inputs& inputs, const Places& places,
              const std::map<std::string, GeometryFile>& geometries, const std::vector<std::string>& outputs,
              const nb::object& progress, const nb::object& log) {
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
  Call call({words, &images, &scans}, progress, log);
  run_interruptible(call);
  nb::dict found;
  for (const auto& name : outputs) {
    if (!images.has(name)) continue;
    TypedVolume volume = images.take(name);
    const GridTuple grid = tuple_of(volume.grid);
    nb::object array = volume.memory.empty() ? nb::none() : array_of(std::move(volume));
    found[name.c_str()] = nb::make_tuple(array, grid);
  }
  return nb::make_tuple(call.result.text,
                        call.result.report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), found);
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
  module.def("run", &run, nb::arg("words"), nb::arg("inputs"), nb::arg("places"), nb::arg("geometries"),
             nb::arg("outputs"), nb::arg("progress").none(), nb::arg("log"),
             nb::sig("def run(words: collections.abc.Sequence[str], inputs: collections.abc.Mapping[str, typing.Any], "
                     "places: collections.abc.Mapping[str, typing.Any], geometries: collections.abc.Mapping[str, "
                     "GeometryFile], outputs: collections.abc.Sequence[str], progress: typing.Any, log: typing.Any) -> "
                     "tuple[str, str, dict[str, typing.Any]]"),
             "The command with these words. inputs: arrays and grids by their names, 'mem:NAME' in the words; outputs: "
             "names of images to give back. Returns the text, the report (JSON) and the outputs.");
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
