// labels: unit
// Pages made before a run writes them: they are there, and hold what they held.
#include "host/system/page_population.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <vector>

#include "host/system/scratch_folder.hpp"
#include "host/system/uninitialised.hpp"

namespace halocline::page_population_test {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

// New memory whose pages are not there.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(memory_, bytes, MADV_NOHUGEPAGE);
  }
  ~Pages() { ::munmap(memory_, bytes_); }
  std::byte* data() { return static_cast<std::byte*>(memory_); }
  // Pages of [begin, begin + count) that are there.
  std::size_t resident(std::size_t begin, std::size_t count) const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t first = begin / page * page, end = begin + count;
    std::vector<unsigned char> there((end - first + page - 1) / page);
    ::mincore(static_cast<std::byte*>(memory_) + first, end - first, there.data());
    return static_cast<std::size_t>(std::count_if(there.begin(), there.end(), [](auto each) { return each & 1; }));
  }

 private:
  std::size_t bytes_;
  void* memory_;
};

TEST(PagePopulation, MakesPagesAndChangesNothing) {
  constexpr std::size_t all = 100 * mebi, begin = 3 * mebi + 77, bytes = 90 * mebi + 5;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Pages pages(all);
  for (std::size_t at = begin; at < begin + bytes; at += 7 * mebi) std::memset(pages.data() + at, 93, 11);
  ASSERT_LT(pages.resident(0, all), 40u);
  PagePopulation population(pages.data() + begin, bytes);
  std::memset(pages.data() + begin + bytes - 1000, 7, 1000);  // what the run writes meanwhile
  population.wait();
  EXPECT_EQ(pages.resident(begin, bytes), (begin + bytes + page - 1) / page - begin / page);
  EXPECT_EQ(pages.resident(0, begin / page * page), 0u);
  const std::size_t after = (begin + bytes + page - 1) / page * page;
  EXPECT_EQ(pages.resident(after, all - after), 0u);
  std::size_t written = 0;
  for (std::size_t at = 0; at < all; ++at) written += pages.data()[at] != std::byte{0} ? 1 : 0;
  EXPECT_EQ(written, 11 * ((bytes + 7 * mebi - 1) / (7 * mebi)) + 1000);
  for (std::size_t at = begin; at < begin + bytes; at += 7 * mebi) EXPECT_EQ(pages.data()[at], std::byte{93});
  EXPECT_EQ(pages.data()[begin + bytes - 1], std::byte{7});
}

TEST(PagePopulation, EndsEarly) {
  Pages pages(100 * mebi);
  for (int n = 0; n < 20; ++n) PagePopulation(pages.data(), 100 * mebi);
}

TEST(PagePopulation, LeavesLittleMemoryAndScratchAlone) {
  Pages pages(100 * mebi);
  PagePopulation(pages.data(), mebi).wait();
  PagePopulation(nullptr, 100 * mebi).wait();
  EXPECT_EQ(pages.resident(0, 100 * mebi), 0u);
  const ScratchFolder folder(std::filesystem::temp_directory_path());
  void* memory = allocate_pages(100 * mebi);
  EXPECT_TRUE(lies_in_scratch(memory));
  EXPECT_TRUE(lies_in_scratch(static_cast<std::byte*>(memory) + 100 * mebi - 1));
  EXPECT_FALSE(lies_in_scratch(pages.data()));
  PagePopulation(memory, 100 * mebi).wait();
  std::vector<unsigned char> there(100 * mebi / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  ASSERT_EQ(::mincore(memory, 100 * mebi, there.data()), 0);
  // pages of the file are in the system's cache or not; none is in this process
  std::size_t mapped = 0;
  for (unsigned char each : there) mapped += each & 1;
  EXPECT_LT(mapped, there.size());
  free_pages(memory);
}

}  // namespace
}  // namespace halocline::page_population_test
