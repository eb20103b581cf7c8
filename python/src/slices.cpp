// Slices of filtered projections that stay on the device.
#include "algorithms/fdk/slices.hpp"

#include <fmt/format.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "algorithms/jobs/fdk_settings.hpp"
#include "host/system/error.hpp"
#include "python/src/core.hpp"
#include "python/src/geometry_class.hpp"

namespace halocline::python {
namespace {

using Numbers = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = std::vector<std::pair<std::string, std::vector<std::string>>>;

Volume volume_of(const Numbers& numbers, const GridTuple& grid) {
  Volume volume = Volume::uninitialised(grid_of(grid));
  if (numbers.size() != volume.voxels.size()) throw InputError("the projections have another size than their grid");
  std::copy_n(numbers.data(), numbers.size(), volume.voxels.begin());
  return volume;
}

FdkParameters parameters_of(const Words& words) {
  FilterSettings filter;
  NoiseSettings noise;
  bool variance = false;
  Settings settings;
  add_filter_settings(settings, filter, false);
  settings.add("variance", variance, "The variance of each pixel in place of its value");
  settings.add("photons", noise.photons, "Photons a pixel of the unattenuated beam").positive();
  settings.add("electronic", noise.electronic, "Standard deviation of the electronic noise, photons").not_negative();
  for (const auto& [name, given] : words) settings.set("Slices", name, given);
  settings.check(true);
  noise.check(false, variance, "`variance`");
  FdkParameters parameters = filter.parameters();
  if (variance) parameters.variance = noise.noise(false, 1);
  return parameters;
}

class ResidentSlices {
 public:
  ResidentSlices(const std::string& device, const Numbers& numbers, const GeometryFile& geometry,
                 const GridTuple& volume, const GridTuple& stack, std::size_t most_pixels, const Words& words)
      : window_(geometry.scan()) {
    const Grid grid = grid_of(volume), projections = grid_of(stack);
    const Geometry& scan = geometry.scan().geometry;
    const FdkParameters parameters = parameters_of(words);
    const Range all{0, static_cast<std::int64_t>(scan.views.size())};
    notes_ = check_windows(scan, projections, grid, parameters, std::span(&all, 1), "projections=", "geometry=");
    const auto devices = devices_of(device, 0);
    const nb::gil_scoped_release released;
    slices_ = std::make_unique<Slices>(devices.front(), volume_of(numbers, stack), scan, grid, parameters, most_pixels);
  }

  const std::vector<std::string>& notes() const { return notes_; }
  GeometryFile window() const { return GeometryFile(window_); }

  void add(const Numbers& numbers, const GeometryFile& geometry, const GridTuple& stack) {
    const nb::gil_scoped_release released;
    slices_->add(volume_of(numbers, stack), geometry.scan().geometry);
    window_.geometry = slices_->window();
  }

  void reconstruct(const std::vector<GridTuple>& tuples, const std::vector<nb::ndarray<float, nb::c_contig>>& results) {
    std::vector<Grid> grids;
    for (const GridTuple& tuple : tuples) grids.push_back(grid_of(tuple));
    const nb::gil_scoped_release released;
    const auto found = slices_->reconstruct(grids);
    for (std::size_t n = 0; n < found.size(); ++n) {
      if (results.at(n).size() != found[n].voxels.size()) throw std::length_error("the result has another size");
      std::copy(found[n].voxels.begin(), found[n].voxels.end(), results[n].data());
    }
  }

 private:
  std::unique_ptr<Slices> slices_;
  std::vector<std::string> notes_;
  ScanFile window_;
};

}  // namespace

void add_slices(nb::module_& module) {
  nb::class_<ResidentSlices>(module, "Slices")
      .def("__init__",
           [](ResidentSlices* self, const std::string& device, const Numbers& numbers, const GeometryFile& geometry,
              const GridTuple& volume, const GridTuple& stack, std::size_t most_pixels, const Words& words) {
             guarded([&] { new (self) ResidentSlices(device, numbers, geometry, volume, stack, most_pixels, words); });
           })
      .def_prop_ro("notes", &ResidentSlices::notes)
      .def_prop_ro("window", &ResidentSlices::window)
      .def("add", [](ResidentSlices& self, const Numbers& numbers, const GeometryFile& geometry,
                     const GridTuple& stack) { guarded([&] { self.add(numbers, geometry, stack); }); })
      .def("reconstruct", [](ResidentSlices& self, const std::vector<GridTuple>& grids,
                             const std::vector<nb::ndarray<float, nb::c_contig>>& results) {
        guarded([&] { self.reconstruct(grids, results); });
      });
}

}  // namespace halocline::python
