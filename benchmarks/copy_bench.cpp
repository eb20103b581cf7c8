// The limit of everything that streams: a kernel that copies one volume to another.
#include <algorithm>
#include <chrono>

#include "benchmarks/bench.hpp"

namespace halocline {
namespace {

Requirements copy_requirements() {
  Requirements requirements;
  requirements.algorithm = "copy";
  requirements.size = {bench_size(), bench_size(), bench_size()};
  requirements.arrays = {{.name = "from"}, {.name = "to"}};
  return requirements;
}

void copy(Slab& slab) {
  const std::size_t vectors = bench_size() * bench_size() * bench_size() / 4;
  slab.launch({"copy.cl", "copy_vector", ""}, {vectors, 1, 1}, {256, 1, 1},
              {in("from"), out("to"), static_cast<std::uint64_t>(vectors)});
}

}  // namespace

double copy_bandwidth() {
  static const double bandwidth = [] {
    Slab slab(bench_device(), whole_plan(copy_requirements()), 0);
    slab.fill("from", 1);
    copy(slab);
    slab.wait();
    double best = 1e30;
    for (int run = 0; run < 5; ++run) {
      const auto start = std::chrono::steady_clock::now();
      for (int n = 0; n < 20; ++n) copy(slab);
      slab.wait();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 20);
    }
    const double n = static_cast<double>(bench_size());
    return 8 * n * n * n / best;
  }();
  return bandwidth;
}

}  // namespace halocline
