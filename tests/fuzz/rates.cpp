// Kept rates of devices.
// lines of: scheduling/profiling/rates.cpp
#include "scheduling/profiling/rates.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void rates(const std::string& bytes) {
  const auto rates = rates_from_text(bytes);
  if (rates) require(rates_from_text(rates_text(*rates)).has_value(), "rates that cannot be read after they were written");
}
const Registered registered("rates", rates);

}  // namespace
}  // namespace halocline::fuzz
