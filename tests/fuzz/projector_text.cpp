// Texts of OpenCL C that users write as projectors.
// lines of: algorithms/projectors/projector_text.cpp
#include "algorithms/projectors/projector_text.hpp"

#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void projector_text(const std::string& bytes) {
  read_projector_text(bytes, {{"TABLE_SIZE", "4"}, {"A", ""}});
  require(with_lines_named(bytes).size() + 1 >= bytes.size(), "a text that lost bytes");
}
const Registered registered("projector_text", projector_text);

}  // namespace
}  // namespace halocline::fuzz
