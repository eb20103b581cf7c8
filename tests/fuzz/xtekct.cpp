// Parameters that Nikon's systems write (.xtekct).
// lines of: algorithms/geometry/geometry_vendor.cpp algorithms/support/decimal_comma.cpp
#include "tests/fuzz/scan.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void xtekct(const std::string& bytes) {
  read_scan(file_of("input.xtekct", bytes));
}
const Registered registered("xtekct", xtekct);

}  // namespace
}  // namespace halocline::fuzz
