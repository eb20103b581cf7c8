#include "apps/options/geometry_file.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "algorithms/geometry/geometry_xml.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/images/hdf5_angles.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

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

std::uint32_t geometry_checksum(const std::string& path) {
  if (in_memory != nullptr)
    if (const auto found = in_memory->find(path); found != in_memory->end()) {
      const std::string text = geometry_xml(found->second.geometry, found->second.detector);
      return crc_of(text.data(), text.size());
    }
  return file_checksum(path);
}

const char* const geometry_file_help =
    "Scan geometry: RTK's XML, rows of ASTRA vectors or matrices that say their format, .xtekct, .pca, Data Exchange "
    "HDF5";

void add_geometry_option(Settings& settings, std::string& target, const std::string& more) {
  settings.add("geometry", target, geometry_file_help + more)
      .named("-g,--geometry")
      .required()
      .file(FileKind::geometry);
}

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
  if (known == GeometryFormat::dxchange) {
    out = from_angles(path);
    out.detector = detector.or_else(out.detector);
  } else {
    out = read_scan_file(path, known, detector);
  }
  if (!out.sense.empty() && !sense_is_known) spdlog::warn("{}: {}", path, out.sense);
  for (const auto& note : out.notes) spdlog::warn("{}: {}", path, note);
  return out;
}

DetectorPixels detector_in(const std::string& path) {
  if (const ScanFile* scan = memory_geometry(path)) return scan->detector;
  const auto known = guess_format(path);
  return known == GeometryFormat::dxchange ? DetectorPixels{} : detector_of_scan_file(path, known);
}

std::optional<double> white_level_in(const std::string& path) {
  if (const ScanFile* scan = memory_geometry(path)) return scan->white_level;
  if (guess_format(path) != GeometryFormat::xtekct) return {};
  return read_scan_file(path, GeometryFormat::xtekct, {}).white_level;
}

bool knows_no_detector(const std::string& path) {
  if (memory_geometry(path) != nullptr) return true;
  const auto known = guess_format(path);
  return known == GeometryFormat::rtk || known == GeometryFormat::dxchange;
}

void add_detector_options(Settings& settings, DetectorPixels& detector) {
  const char* group = "Detector, if the file does not say";
  settings.add_list("detector", detector.size, "NU,NV", Numbers::sizes, "Detector pixels: columns (u), rows (v)")
      .group(group);
  settings.add_list("pixel", detector.spacing, "DU,DV", Numbers::positive, "Pixel pitch, mm").group(group);
  settings
      .add_list("detector-origin", detector.origin, "U,V", Numbers::any,
                "Position of the centre of pixel (0,0), mm. Default: the detector is centred")
      .group(group);
}

}  // namespace halocline
