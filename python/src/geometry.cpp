// Geometries from and to Python.
#include <fmt/format.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <sstream>

#include "algorithms/geometry/default_volume.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/options/geometry_file.hpp"
#include "python/src/core.hpp"
#include "python/src/geometry_class.hpp"

namespace halocline::python {
namespace {

using Views = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
constexpr std::size_t parameters = 9;

DetectorPixels pixels_of(const std::optional<std::array<std::size_t, 2>>& size,
                         const std::optional<std::array<double, 2>>& spacing,
                         const std::optional<std::array<double, 2>>& origin) {
  DetectorPixels pixels;
  pixels.size = size;
  pixels.spacing = spacing;
  pixels.origin = origin;
  return pixels;
}

nb::object numpy(const std::vector<double>& values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<double>(values);
  nb::capsule owner(owned, [](void* held) noexcept { delete static_cast<std::vector<double>*>(held); });
  return nb::cast(nb::ndarray<nb::numpy, double>(owned->data(), shape.size(), shape.data(), owner));
}

GeometryFile from_views(const Views& rows, double radius, const DetectorPixels& detector, bool fan_stack) {
  return guarded([&] {
    if (rows.shape(1) != parameters) throw nb::value_error("views have 9 columns");
    ScanFile scan;
    for (std::size_t n = 0; n < rows.shape(0); ++n) {
      const double* row = rows.data() + parameters * n;
      View view;
      view.sid = row[0], view.sdd = row[1];
      view.gantry_angle = row[2], view.out_of_plane_angle = row[3], view.in_plane_angle = row[4];
      view.source_offset_x = row[5], view.source_offset_y = row[6];
      view.projection_offset_x = row[7], view.projection_offset_y = row[8];
      view.fan_stack = fan_stack;
      scan.geometry.views.push_back(view);
    }
    scan.geometry.radius_cylindrical_detector = radius;
    scan.detector = detector;
    check_geometry(scan.geometry, "`views`");
    return GeometryFile(scan);
  });
}

// The same scan with these numbers of views, of one that was taken from another.
GeometryFile with_numbers(const GeometryFile& file, const std::vector<int>& numbers) {
  ScanFile scan = file.scan();
  for (std::size_t n = 0; n < numbers.size(); ++n) scan.geometry.views.at(n).number = numbers[n];
  return GeometryFile(std::move(scan));
}

nb::object views_of(const GeometryFile& file) {
  std::vector<double> values;
  for (const View& v : file.scan().geometry.views)
    values.insert(values.end(), {v.sid, v.sdd, v.gantry_angle, v.out_of_plane_angle, v.in_plane_angle,
                                 v.source_offset_x, v.source_offset_y, v.projection_offset_x, v.projection_offset_y});
  return numpy(values, {file.scan().geometry.views.size(), parameters});
}

nb::object matrices_of(const GeometryFile& file) {
  guarded([&] {
    refuse_fan_stack(file.scan().geometry, "a list of matrices", "no projective map describes it: take `views`");
  });
  std::vector<double> values;
  for (const View& view : file.scan().geometry.views) {
    const Matrix34 matrix = projection_matrix(view);
    values.insert(values.end(), matrix.begin(), matrix.end());
  }
  return numpy(values, {file.scan().geometry.views.size(), 3, 4});
}

// Source, and two points of the detector, of each view: what a drawing needs.
nb::object positions_of(const GeometryFile& file, std::array<double, 2> first, std::array<double, 2> last) {
  std::vector<double> values;
  for (const View& view : file.scan().geometry.views)
    for (const auto& point :
         {source_position(view), detector_point(view, first[0], first[1]), detector_point(view, last[0], first[1]),
          detector_point(view, first[0], last[1]), detector_point(view, last[0], last[1])})
      values.insert(values.end(), point.begin(), point.end());
  return numpy(values, {file.scan().geometry.views.size(), 5, 3});
}

// The same scan with these of its views. numbers: in any order, checked by the caller.
GeometryFile take_views(const GeometryFile& file, const std::vector<std::size_t>& numbers) {
  ScanFile scan = file.scan();
  scan.geometry = select_views(scan.geometry, numbers);
  return GeometryFile(std::move(scan));
}

TextFormat text_format(const std::string& name) {
  return name == "astra" ? TextFormat::astra : TextFormat::matrices;
}

}  // namespace

void add_geometry(nb::module_& module) {
  nb::class_<DetectorPixels>(module, "DetectorPixels")
      .def(
          "__init__",
          [](DetectorPixels* self, std::optional<std::array<std::size_t, 2>> size,
             std::optional<std::array<double, 2>> spacing, std::optional<std::array<double, 2>> origin) {
            new (self) DetectorPixels(pixels_of(size, spacing, origin));
          },
          nb::arg("size").none(), nb::arg("spacing").none(), nb::arg("origin").none())
      .def_ro("size", &DetectorPixels::size)
      .def_ro("spacing", &DetectorPixels::spacing)
      .def_ro("origin", &DetectorPixels::origin)
      .def("or_else", &DetectorPixels::or_else, nb::arg("other"))
      .def(
          "grid",
          [](const DetectorPixels& self, std::size_t views) {
            return guarded([&] { return tuple_of(self.grid(views)); });
          },
          nb::arg("views"));
  nb::class_<GeometryFile>(module, "GeometryFile")
      .def_static("from_views", &from_views, nb::arg("views"), nb::arg("radius"), nb::arg("detector"),
                  nb::arg("fan_stack"))
      .def_static(
          "read",
          [](const std::string& path, const DetectorPixels& detector) {
            return guarded([&] { return GeometryFile(load_geometry(path, {}, detector, true)); });
          },
          nb::arg("path"), nb::arg("detector"))
      .def_static(
          "from_text",
          [](const std::string& text, const std::string& name, const std::string& format,
             const DetectorPixels& detector) {
            return guarded([&] {
              const TextFormat wanted = text_format(format);
              return GeometryFile(read_geometry_text(text, name, detector, &wanted));
            });
          },
          nb::arg("text"), nb::arg("name"), nb::arg("format"), nb::arg("detector"))
      .def(
          "text",
          [](const GeometryFile& self, const std::string& format) {
            return guarded(
                [&] { return geometry_text(self.scan().geometry, text_format(format), self.scan().detector); });
          },
          nb::arg("format"))
      .def("xml",
           [](const GeometryFile& self) {
             return guarded([&] { return geometry_xml(self.scan().geometry, self.scan().detector); });
           })
      .def(
          "with_detector",
          [](const GeometryFile& self, const DetectorPixels& detector) {
            ScanFile scan = self.scan();
            scan.detector = detector;
            return GeometryFile(scan);
          },
          nb::arg("detector"))
      .def("take_views", &take_views, nb::arg("numbers"))
      .def("with_numbers", &with_numbers, nb::arg("numbers"))
      .def_prop_ro("numbers", [](const GeometryFile& self) { return view_numbers(self.scan().geometry); })
      .def_prop_ro("count", [](const GeometryFile& self) { return self.scan().geometry.views.size(); })
      .def_prop_ro("parallel", [](const GeometryFile& self) { return self.scan().geometry.parallel(); })
      .def_prop_ro("fan_stack", [](const GeometryFile& self) { return self.scan().geometry.fan_stack(); })
      .def_prop_ro("radius", [](const GeometryFile& self) { return self.scan().geometry.radius_cylindrical_detector; })
      .def_prop_ro("detector", [](const GeometryFile& self) { return self.scan().detector; })
      .def_prop_ro("views", &views_of)
      .def_prop_ro("matrices", &matrices_of)
      .def("positions", &positions_of, nb::arg("first"), nb::arg("last"))
      .def(
          "default_grid",
          [](const GeometryFile& self, const GridTuple& stack, bool displaced) {
            return guarded([&] { return tuple_of(default_volume(self.scan().geometry, grid_of(stack), displaced)); });
          },
          nb::arg("stack"), nb::arg("displaced"));
}

}  // namespace halocline::python
