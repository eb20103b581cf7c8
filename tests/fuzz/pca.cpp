// Parameters that Waygate's systems write (.pca).
// lines of: algorithms/geometry/geometry_vendor.cpp algorithms/support/decimal_comma.cpp
#include "tests/fuzz/scan.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void pca(const std::string& bytes) {
  read_scan(file_of("input.pca", bytes));
}
const Registered registered("pca", pca);

}  // namespace
}  // namespace halocline::fuzz
