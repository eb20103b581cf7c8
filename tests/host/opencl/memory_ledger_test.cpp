// labels: unit
#include "host/opencl/memory_ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::memory_ledger_test {
namespace {

using ::testing::HasSubstr;

TEST(MemoryLedger, countsWhatIsInUseAndThePeak) {
  MemoryLedger ledger("gpu", 100);
  EXPECT_EQ(ledger.budget(), 100u);
  ledger.book("u", 40);
  ledger.book("u", 20);  // the same name twice, as with two slabs
  EXPECT_EQ(ledger.in_use(), 60u);
  ledger.release("u", 40);
  EXPECT_EQ(ledger.in_use(), 20u);
  EXPECT_EQ(ledger.peak(), 60u);
  ledger.reset_peak();
  EXPECT_EQ(ledger.peak(), 20u);
  ledger.release("u", 20);
  EXPECT_EQ(ledger.in_use(), 0u);
}

TEST(MemoryLedger, takesTheLastByteButNoMore) {
  MemoryLedger ledger("gpu", 100);
  ledger.book("u", 99);
  EXPECT_NO_THROW(ledger.book("v", 1));
  EXPECT_THROW(ledger.book("w", 1), PlanError);
  EXPECT_THROW(ledger.book("w", ~std::size_t{0}), PlanError);  // the sum would wrap around
  EXPECT_EQ(ledger.in_use(), 100u);                            // a refused array is not booked
}

TEST(MemoryLedger, tellsWhatIsBookedWhenTheBudgetWouldBePassed) {
  MemoryLedger ledger("Card X", 10 << 20);
  ledger.book("primal", 4 << 20);
  ledger.book("dual", 5 << 20);
  const std::string error = refusal_of<PlanError>([&] { ledger.book("scratch", 2 << 20); });
  for (const char* part : {"Card X", "primal", "4.000 MiB", "dual", "5.000 MiB", "scratch", "2.000 MiB", "in use",
                           "9.000 MiB", "10.000 MiB", "`device_memory`"})
    EXPECT_THAT(error, HasSubstr(part));
}

TEST(MemoryLedger, ignoresAReleaseOfWhatWasNotBooked) {
  MemoryLedger ledger("gpu", 100);
  ledger.book("u", 10);
  ledger.release("v", 10);
  ledger.release("u", 11);
  EXPECT_EQ(ledger.in_use(), 10u);
}

TEST(MemoryLedger, serializesThreads) {
  MemoryLedger ledger("gpu", 4000);
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < 4; ++n)
      threads.emplace_back([&ledger, name = std::to_string(n)] {
        for (int times = 0; times < 2000; ++times) {
          ledger.book(name, 1000);
          ledger.release(name, 1000);
        }
      });
  }
  EXPECT_EQ(ledger.in_use(), 0u);
  EXPECT_LE(ledger.peak(), 4000u);
}

}  // namespace
}  // namespace halocline::memory_ledger_test
