#include "algorithms/geometry/scan_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "algorithms/geometry/geometry_vendor.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

std::string file_text(const std::string& path) {
  std::string text = read_text_file(path, fmt::format("the geometry file '{}'", path), most_geometry_bytes);
  if (text.empty()) throw InputError(fmt::format("{}: this geometry file is empty; check the path", path));
  return text;
}

std::string extension(const std::string& path) {
  return lower_case(std::filesystem::path(path).extension().string());
}

}  // namespace

std::optional<GeometryFormat> guess_format(const std::string& path) {
  const std::string end = extension(path);
  if (end == ".xtekct") return GeometryFormat::xtekct;
  if (end == ".pca") return GeometryFormat::pca;
  if (end == ".h5" || end == ".hdf5" || end == ".nxs" || end == ".hdf") return GeometryFormat::dxchange;
  if (end == ".xml") return GeometryFormat::rtk;
  const std::string text = file_text(path);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] == '<') return GeometryFormat::rtk;
  if (has_text_format(text)) return {};
  const std::string start = text.substr(0, 4000);
  if (start.find("[XTekCT]") != std::string::npos) return GeometryFormat::xtekct;
  if (start.find("[Geometry]") != std::string::npos) return GeometryFormat::pca;
  return {};
}

ScanFile read_scan_file(const std::string& path, std::optional<GeometryFormat> format, const DetectorPixels& detector) {
  const auto known = format ? format : guess_format(path);
  ScanFile out;
  if (known == GeometryFormat::dxchange)
    throw InputError(
        fmt::format("'{}' is HDF5, which is no text; expected RTK's XML, rows of ASTRA vectors or of "
                    "matrices, .xtekct or .pca",
                    path));
  if (!known || known == GeometryFormat::astra || known == GeometryFormat::matrices) {
    const TextFormat text_format = known == GeometryFormat::astra ? TextFormat::astra : TextFormat::matrices;
    return read_geometry_text(file_text(path), path, detector, known ? &text_format : nullptr);
  }
  if (known == GeometryFormat::rtk) {
    out.geometry = read_geometry(path, &out.detector);
    out.detector = detector.or_else(out.detector);
    return out;
  }
  out = known == GeometryFormat::xtekct ? read_xtekct(file_text(path), path) : read_pca(file_text(path), path);
  // these know the place of the detector's centre, which need not be (u, v) = (0, 0) for the pixels at hand
  require_same_pixels(out.detector, detector, path);
  out.detector = detector.or_else(out.detector);
  const auto centre = out.detector.centre();
  for (View& view : out.geometry.views) {
    view.projection_offset_x -= centre[0];
    view.projection_offset_y -= centre[1];
  }
  return out;
}

DetectorPixels detector_of_scan_file(const std::string& path, std::optional<GeometryFormat> format) {
  DetectorPixels noted;
  if (format == GeometryFormat::xtekct) return read_xtekct(file_text(path), path).detector;
  if (format == GeometryFormat::pca) return read_pca(file_text(path), path).detector;
  if (format == GeometryFormat::rtk) read_geometry(path, &noted);
  if (format) return noted;
  try {
    return read_geometry_text(file_text(path), path).detector;
  } catch (const InputError&) {  // rows about pixels of a size that they do not say
    return {};
  }
}

}  // namespace halocline
