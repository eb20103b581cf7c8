// The extension module of the Python package: halocline._core.
#include "python/src/core.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "host/system/error.hpp"

namespace halocline::python {

Grid grid_of(const GridTuple& tuple) {
  Grid grid;
  std::tie(grid.size, grid.spacing, grid.origin, grid.direction) = tuple;
  return grid;
}

GridTuple tuple_of(const Grid& grid) {
  return {grid.size, grid.spacing, grid.origin, grid.direction};
}

Component component_of(nb::dlpack::dtype type) {
  const auto is = [&](nb::dlpack::dtype_code code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  using Code = nb::dlpack::dtype_code;
  if (is(Code::Float, 32)) return Component::float32;
  if (is(Code::Float, 64)) return Component::float64;
  if (is(Code::Float, 16)) return Component::float16;
  if (is(Code::Int, 8)) return Component::int8;
  if (is(Code::Int, 16)) return Component::int16;
  if (is(Code::Int, 32)) return Component::int32;
  if (is(Code::Int, 64)) return Component::int64;
  if (is(Code::UInt, 8)) return Component::uint8;
  if (is(Code::UInt, 16)) return Component::uint16;
  if (is(Code::UInt, 32)) return Component::uint32;
  if (is(Code::UInt, 64)) return Component::uint64;
  throw nb::value_error("the array's type is not one that Halocline reads; convert it to float32");
}

namespace {

nb::dlpack::dtype dtype_of(Component component) {
  const auto of = [](nb::dlpack::dtype_code code, int bits) {
    nb::dlpack::dtype type{};
    type.code = static_cast<std::uint8_t>(code);
    type.bits = static_cast<std::uint8_t>(bits);
    type.lanes = 1;
    return type;
  };
  using Code = nb::dlpack::dtype_code;
  const int bits = static_cast<int>(8 * component_bytes(component));
  if (!is_integer(component)) return of(Code::Float, bits);
  return of(component_lowest(component) < 0 ? Code::Int : Code::UInt, bits);
}

}  // namespace

nb::object array_of(TypedVolume volume) {
  auto owned = std::make_unique<TypedVolume>(std::move(volume));
  const auto& size = owned->grid.size;
  void* const values = owned->bytes();
  const std::size_t shape[3] = {size[2], size[1], size[0]};
  const auto type = dtype_of(owned->component);
  nb::capsule owner(owned.release(), [](void* held) noexcept { delete static_cast<TypedVolume*>(held); });
  return nb::cast(nb::ndarray<nb::numpy>(values, 3, shape, owner, nullptr, type));
}

void require_same_process() {
  static const pid_t first = ::getpid();
  if (::getpid() != first)
    throw std::runtime_error(
        "this process is a child of fork(), in which OpenCL does not work; start it with multiprocessing's 'spawn' "
        "(torch: DataLoader(multiprocessing_context='spawn')), or load halocline in the child only");
}

namespace {

// The calls that are under way, so that the end of Python can wait for them: a thread that is ended from without, as a
// daemon's is, must not be within one.
struct Calls {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Cancellable*> running;
  bool ending = false;
};
Calls& calls() {
  static Calls& all = *new Calls;
  return all;
}

class Running {
 public:
  explicit Running(Cancellable& job) : job_(job) {
    const std::lock_guard lock(calls().mutex);
    if (calls().ending) throw std::runtime_error("halocline has been shut down; the process is ending");
    calls().running.insert(&job_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { leave(); }
  /// True if the process is ending.
  bool leave() {
    const std::lock_guard lock(calls().mutex);
    calls().running.erase(&job_);
    calls().changed.notify_all();
    return calls().ending;
  }

 private:
  Cancellable& job_;
};

}  // namespace

void end_all_calls() {
  const nb::gil_scoped_release released;
  std::unique_lock lock(calls().mutex);
  calls().ending = true;
  for (Cancellable* job : calls().running) job->cancel();
  calls().changed.wait_for(lock, std::chrono::seconds(30), [] { return calls().running.empty(); });
}

void run_interruptible(Cancellable& job) {
  Running running(job);
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  std::exception_ptr of_work, of_caller;
  std::thread worker([&] {
    try {
      job.work();
    } catch (...) {
      of_work = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    over = true;
    ended.notify_one();
  });
  const auto look = [&] {
    if (of_caller) return;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      job.meanwhile();
    } catch (...) {
      of_caller = std::current_exception();
      job.cancel();
    }
  };
  for (bool done = false; !done;) {
    {
      const nb::gil_scoped_release released;
      std::unique_lock lock(mutex);
      done = ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return over; });
    }
    if (!done) look();
  }
  worker.join();
  if (running.leave()) {  // a daemon's thread: an exception that it printed while Python ends would abort the process
    const nb::gil_scoped_release released;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  look();
  if (of_caller) std::rethrow_exception(of_caller);
  if (of_work) raise(of_work);
}

void raise(const std::exception_ptr& error) {
  const nb::module_ classes = nb::module_::import_("halocline.errors");
  const auto as = [&](const char* name, const char* text) {
    nb::object instance = classes.attr(name)(nb::str(text));
    PyErr_SetObject(classes.attr(name).ptr(), instance.ptr());
    throw nb::python_error();
  };
  try {
    std::rethrow_exception(error);
  } catch (const nb::python_error&) {
    throw;
  } catch (const InputError& found) {
    as("InputError", found.what());
  } catch (const PlanError& found) {
    as("PlanError", found.what());
  } catch (const DeviceError& found) {
    as("DeviceError", found.what());
  } catch (const FileError& found) {
    as("FileError", found.what());
  } catch (const Interrupted& found) {
    as("Interrupted", found.what());
  } catch (const std::exception& found) {
    as("Error", found.what());
  }
  throw std::logic_error("unreachable");
}

}  // namespace halocline::python

NB_MODULE(_core, module) {
  using namespace halocline::python;
  nb::set_leak_warnings(false);  // the command and its devices live until atexit
  add_run(module);
  add_geometry(module);
  add_arrays(module);
  add_kernels(module);
  add_patches(module);
  add_slices(module);
  add_report(module);
}
