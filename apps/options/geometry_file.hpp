// Scan geometries from any file that can be read, whatever its format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/scan_file.hpp"
#include "algorithms/jobs/settings.hpp"

namespace halocline {

/// "rtk", "astra", "matrices", "xtekct", "pca", "dxchange".
const std::vector<std::string>& geometry_format_names();
GeometryFormat geometry_format(const std::string& name);

/// Geometries that lie in memory under names such as "mem:geometry", which load_geometry() takes as files' names while
/// one of these lives, in this thread.
class MemoryGeometries {
 public:
  explicit MemoryGeometries(const std::map<std::string, ScanFile>* geometries);
  MemoryGeometries(const MemoryGeometries&) = delete;
  MemoryGeometries& operator=(const MemoryGeometries&) = delete;
  ~MemoryGeometries();

 private:
  const std::map<std::string, ScanFile>* before_;
};

/// CRC-32 of the contents of a geometry's file, or of one in memory.
std::uint32_t geometry_checksum(const std::string& path);

/// The formats of --geometry, for the options' descriptions.
extern const char* const geometry_file_help;
/// -g,--geometry, which is required. more: sentences that follow in its description.
void add_geometry_option(Settings& settings, std::string& target, const std::string& more = {});

/// Reads a geometry. Without a `format` the extension decides (.xtekct, .pca, .h5, .hdf5, .nxs), then by the
/// content: XML is RTK's, a `# format:` line is that of algorithms/geometry/geometry_text.hpp. `detector` are the
/// pixels that the geometry is wanted for; what it leaves open the file says. A Data Exchange file gives a parallel
/// beam. Notes become warnings, but for that on the sense of rotation if the user has said what it is. Throws
/// InputError.
ScanFile load_geometry(const std::string& path, std::optional<GeometryFormat> format = {},
                       const DetectorPixels& detector = {}, bool sense_is_known = false);

/// The pixels that a geometry file knows by itself, as far as it does: .xtekct, .pca, rows with vectors or comments
/// that say them, and XML in which 'halocline geometry' noted them. Throws InputError as load_geometry().
DetectorPixels detector_in(const std::string& path);

/// The count of a pixel without the object, where the file states it (.xtekct). Throws InputError as load_geometry().
std::optional<double> white_level_in(const std::string& path);

/// True if load_geometry() gives the same for any detector: the file is RTK's or Data Exchange.
bool knows_no_detector(const std::string& path);

/// --detector, --pixel, --detector-origin: what is known of the detector.
void add_detector_options(Settings& settings, DetectorPixels& detector);

}  // namespace halocline
