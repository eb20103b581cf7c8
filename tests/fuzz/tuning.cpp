// Stored tuning.
// lines of: host/opencl/tuning_text.cpp
#include "host/opencl/tuning_text.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void tuning(const std::string& bytes) {
  const auto tuning = parse_tuning(bytes);
  if (!tuning) return;
  for (const auto& [problem, values] : tuning->problems) require(!problem.text().empty(), "a class without a name");
  require(parse_tuning(tuning_text(*tuning)) == tuning, "other values after they were written");
}
const Registered registered("tuning", tuning);

}  // namespace
}  // namespace halocline::fuzz
