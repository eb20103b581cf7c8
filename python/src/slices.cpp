// Slices of filtered projections that stay on the device.
#include "algorithms/fdk/slices.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <variant>

#include "algorithms/jobs/fdk_settings.hpp"
#include "host/system/error.hpp"
#include "host/volume/device_array.hpp"
#include "host/volume/finite_source.hpp"
#include "python/src/core.hpp"
#include "python/src/geometry_class.hpp"

namespace halocline::python {
namespace {

using Numbers = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = std::vector<std::pair<std::string, std::vector<std::string>>>;
// Memory of a caller's OpenCL context: a cl_mem, and where an array begins in it, in bytes.
using GivenMemory = std::pair<std::uintptr_t, std::size_t>;
using GivenProjections = std::variant<Numbers, GivenMemory>;
using SliceMemory = std::variant<nb::ndarray<float, nb::c_contig>, GivenMemory>;

std::unique_ptr<DistributedArray> array_at(const GivenMemory& memory, const Grid& grid, const Device& device,
                                           const char* name) {
  return std::make_unique<DistributedArray>(
      grid, device, Buffer::adopt(device, name, reinterpret_cast<void*>(memory.first)), memory.second);
}

// Throws InputError for values that a filter would spread.
std::unique_ptr<VolumeSource> source_of(const GivenProjections& given, const Grid& grid, const Device& device) {
  std::unique_ptr<VolumeSource> source;
  if (const auto* numbers = std::get_if<Numbers>(&given)) {
    if (numbers->size() != grid.count()) throw InputError("the projections have another size than their grid");
    source = std::make_unique<MemorySource>(grid, numbers->data());
  } else {
    source = array_at(std::get<GivenMemory>(given), grid, device, "slices: projections");
  }
  require_rays(*source, "projections=", false, mend_nonfinite);
  return source;
}

std::unique_ptr<VolumeSink> sink_of(const SliceMemory& result, const Grid& grid, const Device& device) {
  if (const auto* memory = std::get_if<GivenMemory>(&result)) return array_at(*memory, grid, device, "slices: result");
  const auto& array = std::get<0>(result);
  if (array.size() != grid.count()) throw std::length_error("the result has another size");
  return std::make_unique<MemorySink>(grid, array.data());
}

FdkParameters parameters_of(const Words& words) {
  SlicesSettings slices;
  Settings settings;
  slices.add_to(settings);
  for (const auto& [name, given] : words) settings.set("Slices", name, given);
  settings.check(true);
  return slices.parameters();
}

class ResidentSlices {
 public:
  ResidentSlices(const GivenDevice& place, const GivenProjections& given, const GeometryFile& geometry,
                 const GridTuple& volume, const GridTuple& stack, std::size_t most_pixels, const Words& words)
      : device_(device_of(place)), window_(geometry.scan()) {
    const Grid grid = grid_of(volume), projections = grid_of(stack);
    const Geometry& scan = geometry.scan().geometry;
    const FdkParameters parameters = parameters_of(words);
    const Range all{0, static_cast<std::int64_t>(scan.views.size())};
    notes_ = check_windows(scan, projections, grid, parameters, std::span(&all, 1), "projections=", "geometry=");
    const nb::gil_scoped_release released;
    slices_ =
        std::make_unique<Slices>(device_, *source_of(given, projections, device_), scan, grid, parameters, most_pixels);
  }

  const std::vector<std::string>& notes() const { return notes_; }
  GeometryFile window() const { return GeometryFile(window_); }

  void add(const GivenProjections& given, const GeometryFile& geometry, const GridTuple& stack) {
    const nb::gil_scoped_release released;
    slices_->add(*source_of(given, grid_of(stack), device_), geometry.scan().geometry);
    window_.geometry = slices_->window();
  }

  void reconstruct(const std::vector<GridTuple>& tuples, const std::vector<SliceMemory>& results) {
    const nb::gil_scoped_release released;
    std::vector<std::unique_ptr<VolumeSink>> sinks;
    std::vector<VolumeSink*> slices;
    for (std::size_t n = 0; n < tuples.size(); ++n) {
      sinks.push_back(sink_of(results.at(n), grid_of(tuples[n]), device_));
      slices.push_back(sinks.back().get());
    }
    slices_->reconstruct(slices);
  }

 private:
  Device device_;
  std::unique_ptr<Slices> slices_;
  std::vector<std::string> notes_;
  ScanFile window_;
};

}  // namespace

void add_slices(nb::module_& module) {
  nb::class_<ResidentSlices>(module, "Slices")
      .def("__init__",
           [](ResidentSlices* self, const GivenDevice& place, const GivenProjections& given,
              const GeometryFile& geometry, const GridTuple& volume, const GridTuple& stack, std::size_t most_pixels,
              const Words& words) {
             guarded([&] { new (self) ResidentSlices(place, given, geometry, volume, stack, most_pixels, words); });
           })
      .def_prop_ro("notes", &ResidentSlices::notes)
      .def_prop_ro("window", &ResidentSlices::window)
      .def("add", [](ResidentSlices& self, const GivenProjections& given, const GeometryFile& geometry,
                     const GridTuple& stack) { guarded([&] { self.add(given, geometry, stack); }); })
      .def("reconstruct",
           [](ResidentSlices& self, const std::vector<GridTuple>& grids, const std::vector<SliceMemory>& results) {
             guarded([&] { self.reconstruct(grids, results); });
           });
}

}  // namespace halocline::python
