// The ranks of MPI, the only place that knows it. Calls are serialised, and none waits within the library: ranks that
// share processors would take them from those that compute.
#define OMPI_SKIP_MPICXX  // the C++ interface of MPI 2
#define MPICH_SKIP_MPICXX
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "host/system/error.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

// Calls come from one thread at a time.
std::mutex& mpi_mutex() {
  static std::mutex mutex;
  return mutex;
}

template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  const std::lock_guard lock(mpi_mutex());
  const int code = function(arguments...);
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(fmt::format("MPI: {}", text));
}

// Parts of a message, each of which is as long as MPI counts.
class MpiRequest : public Message::Request {
 public:
  bool ended() override {
    int flag = 0;
    call(MPI_Testall, static_cast<int>(parts.size()), parts.data(), &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  }
  std::vector<MPI_Request> parts;
};

constexpr std::size_t most_bytes_a_part = std::size_t{1} << 30;

// begin_part(offset, bytes, request)
template <class Function>
Message begin(std::size_t bytes, const Function& begin_part) {
  auto request = std::make_unique<MpiRequest>();
  for (std::size_t at = 0; at < bytes || at == 0; at += most_bytes_a_part) {
    request->parts.push_back(MPI_REQUEST_NULL);
    begin_part(at, static_cast<int>(std::min(bytes - at, most_bytes_a_part)), &request->parts.back());
  }
  return Message(std::move(request));
}

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    call(MPI_Init_thread, nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    call(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (provided < MPI_THREAD_SERIALIZED)
      throw Error(
          fmt::format("{} does not take calls of several threads, not even one after the other; use a build of "
                      "it that does",
                      mpi_library()));
    call(MPI_Comm_rank, MPI_COMM_WORLD, &rank_);
    call(MPI_Comm_size, MPI_COMM_WORLD, &size_);
  }
  ~MpiRanks() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Message send(int to, int tag, const std::byte* from, std::size_t bytes) override {
    return begin(bytes, [&](std::size_t at, int count, MPI_Request* request) {
      call(MPI_Isend, from + at, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
    });
  }
  Message receive(int from, int tag, std::byte* to, std::size_t bytes) override {
    return begin(bytes, [&](std::size_t at, int count, MPI_Request* request) {
      call(MPI_Irecv, to + at, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, request);
    });
  }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 protected:
  std::vector<std::string> gather_bytes(const std::string& own) override {
    if (own.size() > most_bytes_a_part) throw Error("a rank gathers more bytes than one message of MPI takes");
    const int bytes = static_cast<int>(own.size());
    std::vector<int> counts(static_cast<std::size_t>(size_)), places(counts.size());
    begin(0, [&](std::size_t, int, MPI_Request* request) {
      call(MPI_Iallgather, &bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD, request);
    }).wait();
    if (std::accumulate(counts.begin(), counts.end(), std::size_t{0}) > most_bytes_a_part)
      throw Error("the ranks gather more bytes than one message of MPI takes");
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    std::string all(static_cast<std::size_t>(places.back() + counts.back()), '\0');
    begin(0, [&](std::size_t, int, MPI_Request* request) {
      call(MPI_Iallgatherv, own.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE,
           MPI_COMM_WORLD, request);
    }).wait();
    std::vector<std::string> result;
    for (std::size_t n = 0; n < counts.size(); ++n)
      result.push_back(all.substr(static_cast<std::size_t>(places[n]), static_cast<std::size_t>(counts[n])));
    return result;
  }

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Ranks> make_mpi_ranks() {
  return std::make_unique<MpiRanks>();
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string whole(text, static_cast<std::size_t>(length));
  std::replace(whole.begin(), whole.end(), '\t', ' ');
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace halocline
