// Declarations that the parts of the extension module share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/volume/component.hpp"
#include "host/volume/typed_volume.hpp"
#include "host/volume/volume.hpp"

namespace nb = nanobind;

namespace halocline::python {

/// (size, spacing, origin, direction) as Grid has them: i first.
using GridTuple =
    std::tuple<std::array<std::size_t, 3>, std::array<double, 3>, std::array<double, 3>, std::array<double, 9>>;
/// Values of the caller, C order, in the host's memory.
using Values = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

Grid grid_of(const GridTuple& tuple);
GridTuple tuple_of(const Grid& grid);
/// Throws ValueError for a type that is none of Component.
Component component_of(nb::dlpack::dtype type);
/// An array (k, j, i) that owns the voxels.
nb::object array_of(TypedVolume volume);

/// Runs `work` in a thread of its own, without the lock of the interpreter; meanwhile looks for Ctrl-C and calls
/// `meanwhile`, with the lock, every 20 ms and once at the end. An exception of either ends the work, through its
/// cancellation, and is thrown here.
class Cancellable {
 public:
  virtual ~Cancellable() = default;
  virtual void work() = 0;
  virtual void cancel() = 0;
  virtual void meanwhile() = 0;
};
void run_interruptible(Cancellable& job);

/// Cancels all of them and waits for their ends; later ones are refused. For the end of Python.
void end_all_calls();

/// Throws Python's RuntimeError in a child of fork(), where OpenCL is dead.
void require_same_process();

/// Raises what `error` is as Python's exception: a class of halocline.errors for the library's errors.
[[noreturn]] void raise(const std::exception_ptr& error);

/// Returns what `work` returns; its exceptions as raise() makes them.
template <typename Work>
auto guarded(Work&& work) {
  try {
    return work();
  } catch (const nb::python_error&) {
    throw;
  } catch (const nb::builtin_exception&) {
    throw;
  } catch (...) {
    raise(std::current_exception());
  }
}

/// The devices of this process that the selection names, which stay open.
std::vector<Device> devices_of(const std::string& selection, std::size_t device_memory);
/// The device option, or a cl_context and a cl_device_id of the caller's.
using GivenDevice = std::variant<std::string, std::pair<std::uintptr_t, std::uintptr_t>>;
Device device_of(const GivenDevice& given);

void add_run(nb::module_& module);
void add_geometry(nb::module_& module);
void add_arrays(nb::module_& module);
void add_kernels(nb::module_& module);  // after the arrays
void add_patches(nb::module_& module);
void add_slices(nb::module_& module);
void add_report(nb::module_& module);

}  // namespace halocline::python
