// Patches: back-projection to boxes and its adjoint, at low latency.
#include "algorithms/projectors/patches.hpp"

#include <fmt/format.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

#include "host/system/error.hpp"
#include "python/src/core.hpp"
#include "python/src/geometry_class.hpp"

namespace halocline::python {
namespace {

using Numbers = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PartTuple = std::tuple<std::array<std::size_t, 3>, std::array<std::size_t, 3>>;

std::span<const float> span_of(const Numbers& numbers) {
  return {numbers.data(), numbers.size()};
}

// Results from host memory to host memory, without the interpreter's lock.
template <typename Work>
void to_host(Result& result, Work&& work) {
  guarded([&] {
    const nb::gil_scoped_release released;
    const std::vector<float> found = work();
    if (found.size() != result.size())
      throw InputError(fmt::format("the result has {} numbers, its array {}: another thread has set other boxes",
                                   found.size(), result.size()));
    std::copy(found.begin(), found.end(), result.data());
  });
}

// The same between memory of a caller's OpenCL context (cl_mem), until all has ended.
template <typename Work>
void on_device(Patches& patches, std::uintptr_t from, std::uintptr_t to, Work&& work) {
  guarded([&] {
    const nb::gil_scoped_release released;
    const Buffer read = Buffer::adopt(patches.device(), "patches: given", reinterpret_cast<void*>(from));
    const Buffer written = Buffer::adopt(patches.device(), "patches: result", reinterpret_cast<void*>(to));
    work(read, written).wait();
  });
}

}  // namespace

void add_patches(nb::module_& module) {
  nb::class_<Patches>(module, "Patches")
      .def("__init__",
           [](Patches* self, const GivenDevice& given, const GeometryFile& geometry, const GridTuple& volume,
              const GridTuple& stack) {
             guarded([&] {
               new (self) Patches(device_of(given), geometry.scan().geometry, grid_of(volume), grid_of(stack));
             });
           })
      .def("set_boxes",
           [](Patches& self, const std::vector<GridTuple>& boxes) {
             guarded([&] {
               std::vector<Grid> grids;
               for (const GridTuple& box : boxes) grids.push_back(grid_of(box));
               const nb::gil_scoped_release released;
               self.set_boxes(grids);
             });
           })
      .def("set_parts",
           [](Patches& self, const std::vector<PartTuple>& given) {
             guarded([&] {
               std::vector<Patches::Part> parts;
               for (const auto& [first, size] : given) parts.push_back({first, size});
               const nb::gil_scoped_release released;
               self.set_parts(parts);
             });
           })
      .def("set_views",
           [](Patches& self, const std::vector<int>& views) {
             guarded([&] {
               const nb::gil_scoped_release released;
               self.set_views(views);
             });
           })
      .def("replace_views",
           [](Patches& self, std::size_t first, const GeometryFile& geometry) {
             guarded([&] {
               const Geometry& poses = geometry.scan().geometry;
               const nb::gil_scoped_release released;
               self.replace_views(first, poses);
             });
           })
      .def_prop_ro("voxels", &Patches::voxels)
      .def_prop_ro("pixels", &Patches::pixels)
      .def("backproject",
           [](Patches& self, const Numbers& projections, Result result) {
             to_host(result, [&] { return self.backproject(span_of(projections)); });
           })
      .def("project", [](Patches& self, const Numbers& boxes,
                         Result result) { to_host(result, [&] { return self.project(span_of(boxes)); }); })
      .def("backproject_on_device",
           [](Patches& self, std::uintptr_t projections, std::uintptr_t boxes, bool add) {
             on_device(self, projections, boxes,
                       [&](const Buffer& from, const Buffer& to) { return self.backproject(from, to, add); });
           })
      .def("project_on_device", [](Patches& self, std::uintptr_t boxes, std::uintptr_t projections) {
        on_device(self, boxes, projections,
                  [&](const Buffer& from, const Buffer& to) { return self.project(from, to); });
      });
}

}  // namespace halocline::python
