// Messages for which no thread waits move their bytes meanwhile: two ranks send each other 4 MiB, and look at the
// memory for what comes, without a call of MPI. Exit code 1 where it does not come.
//   mpirun -n 2 progress_openmpi
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "scheduling/transport/ranks.hpp"

namespace {

constexpr std::size_t bytes = std::size_t{4} << 20;
constexpr std::chrono::seconds patience{30};

// True once all of it has been written by another thread.
bool comes(const std::vector<std::byte>& memory) {
  const volatile std::byte* const first = memory.data();
  const auto is_there = [](const volatile std::byte& each) { return each != std::byte{0}; };
  for (const auto begin = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - begin < patience;) {
    if (std::all_of(first, first + memory.size(), is_there)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

int main() {
  const halocline::RanksInUse joined;
  halocline::Ranks& all = halocline::ranks();
  if (all.size() != 2) {
    std::fprintf(stderr, "progress: started on %d ranks; start it on two\n", all.size());
    return 2;
  }
  const int other = 1 - all.rank();
  const auto out = std::make_shared<std::vector<std::byte>>(bytes, std::byte{17});
  std::vector<std::byte> in(bytes);
  all.meet("the begin");
  halocline::Message coming = all.receive(other, 0, {in.data(), bytes});
  halocline::Message going = all.send(other, 0, {out->data(), bytes}, out);
  const bool came = comes(in);
  coming.wait();
  going.wait();
  const bool lacks = all.any("bytes that did not come", !came);
  if (all.first())
    std::printf("%s\n", lacks ? "messages wait for a call of MPI" : "messages come without a call of MPI");
  return lacks || in != *out ? 1 : 0;
}
