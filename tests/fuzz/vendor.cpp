// Parameters that the systems of Nikon (.xtekct) and of Waygate (.pca) write.
// lines of: algorithms/geometry/geometry_vendor.cpp algorithms/support/decimal_comma.cpp
#include "tests/fuzz/scan.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void vendor(const std::string& bytes) {
  const bool pca = bytes.find("[Geometry]") != std::string::npos;
  read_scan(file_of(pca ? "input.pca" : "input.xtekct", bytes));
  read_scan(file_of("input", bytes));
}
const Registered registered("vendor", vendor);

}  // namespace
}  // namespace halocline::fuzz
