// Lists of angles in text files, as `halocline geometry circular --angles` takes them.
// lines of: apps/commands/geometry_circular.cpp
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void angles(const std::string& bytes) {
  run_verb("geometry circular", {{"sid", {"500"}},
                                 {"sdd", {"750"}},
                                 {"angles", {file_of("input.txt", bytes)}},
                                 {"output", {path_of("output.xml")}}});
}
const Registered registered("angles", angles);

}  // namespace
}  // namespace halocline::fuzz
