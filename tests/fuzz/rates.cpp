// Kept rates of devices.
// lines of: scheduling/profiling/rates_text.cpp
#include "scheduling/profiling/rates_text.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void rates(const std::string& bytes) {
  require(doubts_from_text(forgotten_text(doubts_from_text(bytes))) == doubts_from_text(bytes), "other doubts");
  const auto rates = rates_from_text(bytes);
  if (rates)
    require(rates_from_text(rates_text(*rates)).has_value(), "rates that cannot be read after they were written");
}
const Registered registered("rates", rates);

}  // namespace
}  // namespace halocline::fuzz
