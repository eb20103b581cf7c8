// Rows of ASTRA's vectors and of matrices. The first byte says what the reader is told beside the text, as options do.
// lines of: algorithms/geometry/geometry_text.cpp algorithms/geometry/geometry_decompose.cpp
// lines of: algorithms/support/decimal_comma.cpp
#include "tests/fuzz/scan.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void text_geometry(const std::string& bytes) {
  const char how = bytes.empty() ? ' ' : bytes.front();
  std::optional<GeometryFormat> format;
  if (how == 'a' || how == 'A') format = GeometryFormat::astra;
  if (how == 'm' || how == 'M') format = GeometryFormat::matrices;
  DetectorPixels detector;
  if (how == 'A' || how == 'M') detector = {.size = {{8, 4}}, .spacing = {{1, 0.5}}};
  const ScanFile scan = read_scan(file_of("input.txt", format ? bytes.substr(1) : bytes), format, detector);
  for (const TextFormat each : {TextFormat::astra, TextFormat::matrices}) {
    const std::string text = geometry_text(scan.geometry, each, scan.detector);
    require_views(scan, file_of("copy.txt", text));
  }
}
const Registered registered("text_geometry", text_geometry);

}  // namespace
}  // namespace halocline::fuzz
