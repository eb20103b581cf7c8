// Messages of halos beside a plain ping-pong of MPI, on two ranks: of each size, both send to each other at a time, by
// MPI alone, and as a halo exchange does, in pieces of 4 MiB of which up to eleven are under way. Prints a line a size:
// the best of all rounds, and the median of their ratios.
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
constexpr std::size_t ahead = 11;
constexpr int rounds = 50;

using Memory = std::shared_ptr<std::vector<std::byte>>;

double seconds(const std::function<void()>& exchange) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  exchange();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + rounds / 2, values.end());
  return values[rounds / 2];
}

// Rounds do both, one after the other, so that others that use the processors disturb both alike.
void compare(std::size_t bytes, const std::function<void()>& plain, const std::function<void()>& halos) {
  std::vector<double> alone, as_halos, ratio;
  for (int n = 0; n < rounds; ++n) {
    alone.push_back(seconds(plain));
    as_halos.push_back(seconds(halos));
    ratio.push_back(alone.back() / as_halos.back());
  }
  const auto rate = [&](const std::vector<double>& all) {
    return 1e-9 * static_cast<double>(bytes) / *std::min_element(all.begin(), all.end());
  };
  if (halocline::ranks().first())
    std::printf("%9zu bytes: ping-pong %7.3f GB/s, halos %7.3f GB/s, ratio %.2f, median of rounds %.2f\n", bytes,
                rate(alone), rate(as_halos), rate(as_halos) / rate(alone), median(ratio));
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
  for (std::size_t n = 0; n < ahead; ++n) begin(n);
  for (std::size_t n = 0; n < pieces; ++n) {
    coming[n].wait();
    begin(n + ahead);
  }
  for (auto& message : going) message.wait();
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);  // ranks have a thread that calls MPI, too
  if (provided < MPI_THREAD_MULTIPLE) {
    std::fprintf(stderr, "messages: this library of MPI takes no calls of several threads at a time\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  {
    const halocline::RanksInUse joined;
    halocline::Ranks& all = halocline::ranks();
    const int other = 1 - all.rank();
    for (std::size_t bytes = std::size_t{1} << 14; bytes <= std::size_t{1} << 26 && all.size() == 2; bytes *= 4) {
      const auto out = std::make_shared<std::vector<std::byte>>(bytes),
                 in = std::make_shared<std::vector<std::byte>>(bytes);
      compare(
          bytes, [&] { plain(other, out, in); }, [&] { as_halos(all, other, out, in); });
    }
  }
  MPI_Finalize();
  return 0;
}
