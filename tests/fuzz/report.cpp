// Reports of earlier runs, as `halocline plot` draws them.
// lines of: apps/commands/plot.cpp
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void report(const std::string& bytes) {
  run_verb("plot", {{"reports", {file_of("input.json", bytes)}}, {"output", {path_of("output.svg")}}});
}
const Registered registered("report", report);

}  // namespace
}  // namespace halocline::fuzz
