// The ranks of MPI, the only place that knows it. Calls are serialised, and none waits within the library: ranks that
// share processors would take them from those that compute.
#define OMPI_SKIP_MPICXX  // the C++ interface of MPI 2
#define MPICH_SKIP_MPICXX
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include "host/system/error.hpp"
#include "scheduling/transport/launch.hpp"
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

// Ends a request whose memory is about to go. What was sent may be on its way: MPI ends that by itself.
void abandon(MPI_Request& request, bool receives) {
  const std::lock_guard lock(mpi_mutex());
  if (request == MPI_REQUEST_NULL) return;
  if (!receives) {
    MPI_Request_free(&request);
    return;
  }
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

enum class Kind { receives, sends, gathers };

// Parts of a message, each of which is as long as MPI counts.
class MpiRequest : public Message::Request {
 public:
  explicit MpiRequest(Kind kind) : kind_(kind) {}
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;
  // Requests that all ranks take part in cannot be given up; after an error in one, all ranks end.
  ~MpiRequest() override {
    if (kind_ == Kind::gathers) return;
    for (MPI_Request& part : parts) abandon(part, kind_ == Kind::receives);
  }
  bool ended() override {
    int flag = 0;
    call(MPI_Testall, static_cast<int>(parts.size()), parts.data(), &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  }
  std::vector<MPI_Request> parts;

 private:
  Kind kind_;
};

constexpr std::size_t most_bytes_a_part = std::size_t{1} << 30;

// begin_part(offset, bytes, request)
template <class Function>
Message begin(Kind kind, std::size_t bytes, const Function& begin_part) {
  auto request = std::make_unique<MpiRequest>(kind);
  for (std::size_t at = 0; at < bytes || at == 0; at += most_bytes_a_part) {
    request->parts.push_back(MPI_REQUEST_NULL);
    begin_part(at, static_cast<int>(std::min(bytes - at, most_bytes_a_part)), &request->parts.back());
  }
  return Message(std::move(request));
}

// Messages of report_failure(); all others have smaller tags.
constexpr int failure_tag = 32767;

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    start();
    call(MPI_Comm_dup, MPI_COMM_WORLD, &all_);
    call(MPI_Comm_set_errhandler, all_, MPI_ERRORS_RETURN);
    call(MPI_Comm_rank, all_, &rank_);
    call(MPI_Comm_size, all_, &size_);
    if (rank_ == 0) call(MPI_Irecv, &failed_, 1, MPI_BYTE, MPI_ANY_SOURCE, failure_tag, all_, &failure_);
  }
  ~MpiRanks() override {
    abandon(failure_, true);
    MPI_Comm_free(&all_);
    if (starts_) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Message send(int to, int tag, const std::byte* from, std::size_t bytes) override {
    sent_ += bytes;
    return begin(Kind::sends, bytes, [&](std::size_t at, int count, MPI_Request* request) {
      call(MPI_Isend, from + at, count, MPI_BYTE, to, tag, all_, request);
    });
  }
  Message receive(int from, int tag, std::byte* to, std::size_t bytes) override {
    return begin(Kind::receives, bytes, [&](std::size_t at, int count, MPI_Request* request) {
      call(MPI_Irecv, to + at, count, MPI_BYTE, from, tag, all_, request);
    });
  }

  void report_failure() override {
    const std::lock_guard lock(mpi_mutex());
    MPI_Request sent = MPI_REQUEST_NULL;  // it is never waited for: the first rank may be at its end
    if (rank_ > 0) MPI_Isend(&failed_, 1, MPI_BYTE, 0, failure_tag, all_, &sent);
  }
  bool failed_elsewhere() override {
    int flag = 0;
    if (failure_ != MPI_REQUEST_NULL) call(MPI_Test, &failure_, &flag, MPI_STATUS_IGNORE);
    failure_is_known_ = failure_is_known_ || flag != 0;
    return failure_is_known_;
  }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(all_, code);
    std::_Exit(code);
  }

 protected:
  std::vector<std::string> gather_bytes(const std::string& own) override {
    if (own.size() > most_bytes_a_part) throw Error("a rank gathers more bytes than one message of MPI takes");
    const int bytes = static_cast<int>(own.size());
    std::vector<int> counts(static_cast<std::size_t>(size_)), places(counts.size());
    begin(Kind::gathers, 0, [&](std::size_t, int, MPI_Request* request) {
      call(MPI_Iallgather, &bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, all_, request);
    }).wait();
    if (std::accumulate(counts.begin(), counts.end(), std::size_t{0}) > most_bytes_a_part)
      throw Error("the ranks gather more bytes than one message of MPI takes");
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    std::string all(static_cast<std::size_t>(places.back() + counts.back()), '\0');
    begin(Kind::gathers, 0, [&](std::size_t, int, MPI_Request* request) {
      call(MPI_Iallgatherv, own.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE, all_,
           request);
    }).wait();
    std::vector<std::string> result;
    for (std::size_t n = 0; n < counts.size(); ++n)
      result.push_back(all.substr(static_cast<std::size_t>(places[n]), static_cast<std::size_t>(counts[n])));
    return result;
  }

 private:
  // Unless the program that this is a part of has done so.
  void start() {
    int flag = 0, provided = 0;
    call(MPI_Finalized, &flag);
    if (flag != 0)
      throw InputError(
          "MPI has ended in this process, and it starts once; start MPI in the program (mpi4py does), or run one "
          "command");
    call(MPI_Initialized, &flag);
    starts_ = flag == 0;
    if (starts_) {
      require_first_in_launch();
      call(MPI_Init_thread, nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    } else {
      call(MPI_Query_thread, &provided);
    }
    if (provided >= MPI_THREAD_SERIALIZED) return;
    throw Error(
        fmt::format("{} does not take calls of several threads, not even one after the other; use a build of "
                    "it that does, or start it so",
                    mpi_library()));
  }

  MPI_Comm all_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool starts_ = false;
  char failed_ = 0;
  MPI_Request failure_ = MPI_REQUEST_NULL;  // on the first rank
  std::atomic<bool> failure_is_known_{false};
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
