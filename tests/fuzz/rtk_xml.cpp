// RTK's XML.
// lines of: algorithms/geometry/geometry_xml.cpp
#include "algorithms/geometry/geometry_xml.hpp"
#include "tests/fuzz/scan.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void rtk_xml(const std::string& bytes) {
  const ScanFile scan = read_scan(file_of("input.xml", bytes));
  const std::string text = geometry_xml(scan.geometry, scan.detector);
  require_views(scan, file_of("copy.xml", text));
}
const Registered registered("rtk_xml", rtk_xml);

}  // namespace
}  // namespace halocline::fuzz
