#include "apps/options/geometry_file.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "algorithms/geometry/geometry_vendor.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "apps/io/hdf5_angles.hpp"
#include "apps/job/validators.hpp"
#include "host/error.hpp"
#include "host/input_file.hpp"

namespace halocline {
namespace {

std::string file_text(const std::string& path) {
  std::string text = read_text_file(path, fmt::format("the geometry file '{}'", path), most_geometry_bytes);
  if (text.empty()) throw InputError(fmt::format("{}: this geometry file is empty; check the path", path));
  return text;
}

std::string extension(const std::string& path) {
  std::string text = std::filesystem::path(path).extension().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

ScanFile from_angles(const std::string& path) {
  CircularOptions options;
  options.sdd = 0;
  options.angles = read_hdf5_angles(path);
  ScanFile out;
  out.geometry = circular_geometry(options);
  out.notes.push_back("taken for a parallel beam with the axis at u = 0; see 'halocline geometry find-axis'");
  return out;
}

thread_local const std::map<std::string, ScanFile>* in_memory = nullptr;

const ScanFile* memory_geometry(const std::string& path) {
  if (in_memory == nullptr) return nullptr;
  const auto found = in_memory->find(path);
  return found == in_memory->end() ? nullptr : &found->second;
}

}  // namespace

MemoryGeometries::MemoryGeometries(const std::map<std::string, ScanFile>* geometries)
    : before_(std::exchange(in_memory, geometries)) {}
MemoryGeometries::~MemoryGeometries() {
  in_memory = before_;
}

std::optional<GeometryFormat> guess_format(const std::string& path) {
  const std::string end = extension(path);
  if (end == ".xtekct") return GeometryFormat::xtekct;
  if (end == ".pca") return GeometryFormat::pca;
  if (end == ".h5" || end == ".hdf5" || end == ".nxs" || end == ".hdf") return GeometryFormat::dxchange;
  if (end == ".xml") return GeometryFormat::rtk;
  const std::string text = file_text(path);
  const auto first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos || text[first] == '<') return GeometryFormat::rtk;
  if (has_text_format(text)) return {};
  const std::string start = text.substr(0, 4000);
  if (start.find("[XTekCT]") != std::string::npos) return GeometryFormat::xtekct;
  if (start.find("[Geometry]") != std::string::npos) return GeometryFormat::pca;
  return {};
}

const char* const geometry_file_help =
    "Scan geometry: RTK's XML, rows of ASTRA vectors or matrices that say their format, .xtekct, .pca, Data Exchange "
    "HDF5";

const std::vector<std::string>& geometry_format_names() {
  static const std::vector<std::string> names{"rtk", "astra", "matrices", "xtekct", "pca", "dxchange"};
  return names;
}

GeometryFormat geometry_format(const std::string& name) {
  const auto& names = geometry_format_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw InputError(fmt::format("there is no geometry format '{}'", name));
  return static_cast<GeometryFormat>(found - names.begin());
}

ScanFile load_geometry(const std::string& path, std::optional<GeometryFormat> format, const DetectorPixels& detector,
                       bool sense_is_known) {
  if (const ScanFile* scan = memory_geometry(path)) {
    ScanFile out = *scan;
    out.detector = detector.or_else(out.detector);
    return out;
  }
  const auto known = format ? format : guess_format(path);
  ScanFile out;
  if (!known || known == GeometryFormat::astra || known == GeometryFormat::matrices) {
    const TextFormat text_format = known == GeometryFormat::astra ? TextFormat::astra : TextFormat::matrices;
    out = read_geometry_text(file_text(path), path, detector, known ? &text_format : nullptr);
  } else if (known == GeometryFormat::rtk) {
    out.geometry = read_geometry(path, &out.detector);
  } else if (known == GeometryFormat::xtekct) {
    out = read_xtekct(file_text(path), path);
  } else if (known == GeometryFormat::pca) {
    out = read_pca(file_text(path), path);
  } else {
    out = from_angles(path);
  }
  if (known == GeometryFormat::xtekct || known == GeometryFormat::pca) {
    // these know the place of the detector's centre, which need not be (u, v) = (0, 0) for the pixels at hand
    require_same_pixels(out.detector, detector, path);
    out.detector = detector.or_else(out.detector);
    const auto centre = out.detector.centre();
    for (View& view : out.geometry.views) {
      view.projection_offset_x -= centre[0];
      view.projection_offset_y -= centre[1];
    }
  } else if (known == GeometryFormat::rtk || known == GeometryFormat::dxchange) {
    out.detector = detector.or_else(out.detector);
  }
  if (!out.sense.empty() && !sense_is_known) spdlog::warn("{}: {}", path, out.sense);
  for (const auto& note : out.notes) spdlog::warn("{}: {}", path, note);
  return out;
}

DetectorPixels detector_in(const std::string& path) {
  if (const ScanFile* scan = memory_geometry(path)) return scan->detector;
  const auto known = guess_format(path);
  DetectorPixels noted;
  if (known == GeometryFormat::xtekct) return read_xtekct(file_text(path), path).detector;
  if (known == GeometryFormat::pca) return read_pca(file_text(path), path).detector;
  if (known == GeometryFormat::rtk) read_geometry(path, &noted);
  if (known) return noted;
  try {
    return read_geometry_text(file_text(path), path).detector;
  } catch (const InputError&) {  // of rows that are about pixels of a size that they do not say
    return {};
  }
}

bool knows_no_detector(const std::string& path) {
  if (memory_geometry(path) != nullptr) return true;
  const auto known = guess_format(path);
  return known == GeometryFormat::rtk || known == GeometryFormat::dxchange;
}

void add_detector_options(CLI::App& app, DetectorPixels& detector) {
  const char* group = "Detector, if the file does not say";
  add_list(app, "--detector", detector.size, "NU,NV", Numbers::sizes, "Detector pixels: columns (u), rows (v)")
      ->group(group);
  add_list(app, "--pixel", detector.spacing, "DU,DV", Numbers::positive, "Pixel pitch, mm")->group(group);
  add_list(app, "--detector-origin", detector.origin, "U,V", Numbers::any,
           "Position of the centre of pixel (0,0), mm. Default: the detector is centred")
      ->group(group);
}

}  // namespace halocline
