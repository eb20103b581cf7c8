// Messages of halos beside a plain ping-pong of MPI, on two ranks: of each size, both send to each other at a time, by
// MPI alone, and as a halo exchange does, in pieces of 4 MiB of which up to two are under way. Prints a line a size.
//   mpirun -n 2 messages_openmpi
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "scheduling/transport/ranks.hpp"

namespace {

constexpr std::size_t piece = std::size_t{4} << 20;
constexpr int rounds = 50;

using Memory = std::shared_ptr<std::vector<std::byte>>;

// Bytes a second of the best round; the ranks begin each together.
double rate(std::size_t bytes, const std::function<void()>& exchange) {
  double best = 0;
  for (int n = 0; n < rounds; ++n) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    exchange();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(bytes) / seconds.count());
  }
  return best;
}

void plain(int other, const Memory& out, const Memory& in) {
  MPI_Request requests[2];
  const int bytes = static_cast<int>(out->size());
  MPI_Irecv(in->data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out->data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

void as_halos(halocline::Ranks& all, int other, const Memory& out, const Memory& in) {
  const std::size_t pieces = (out->size() + piece - 1) / piece;
  std::vector<halocline::Message> going(pieces), coming(pieces);
  const auto begin = [&](std::size_t n) {
    if (n >= pieces) return;
    const std::size_t at = n * piece, bytes = std::min(piece, out->size() - at);
    coming[n] = all.receive(other, 0, {in->data() + at, bytes});
    going[n] = all.send(other, 0, {out->data() + at, bytes}, out);
  };
  begin(0);
  for (std::size_t n = 0; n < pieces; ++n) {
    begin(n + 1);
    coming[n].wait();
  }
  for (auto& message : going) message.wait();
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  {
    const halocline::RanksInUse joined;
    halocline::Ranks& all = halocline::ranks();
    const int other = 1 - all.rank();
    for (std::size_t bytes = std::size_t{1} << 14; bytes <= std::size_t{1} << 26 && all.size() == 2; bytes *= 4) {
      const auto out = std::make_shared<std::vector<std::byte>>(bytes),
                 in = std::make_shared<std::vector<std::byte>>(bytes);
      const double alone = rate(bytes, [&] { plain(other, out, in); });
      const double halos = rate(bytes, [&] { as_halos(all, other, out, in); });
      if (all.first())
        std::printf("%9zu bytes: ping-pong %7.3f GB/s, halos %7.3f GB/s, ratio %.2f\n", bytes, 1e-9 * alone,
                    1e-9 * halos, halos / alone);
    }
  }
  MPI_Finalize();
  return 0;
}
