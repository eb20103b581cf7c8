// The ranks of MPI, the only place that knows it. Calls are serialised, and none waits within the library, but for long
// messages, for which a rank looks most of the time: ranks that share processors would take them from those that
// compute. A thread looks for messages that nobody waits for yet.
#define OMPI_SKIP_MPICXX  // the C++ interface of MPI 2
#define MPICH_SKIP_MPICXX
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "host/system/error.hpp"
#include "scheduling/transport/launch.hpp"
#include "scheduling/transport/ranks.hpp"
#include "scheduling/transport/tags.hpp"

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

constexpr std::size_t most_bytes_a_part = std::size_t{1} << 30;

// Messages between this rank and each other one, in parts: sent, and received.
struct Counts {
  explicit Counts(int ranks) : sent(static_cast<std::size_t>(ranks)), received(sent.size()) {}
  std::vector<std::atomic<std::uint64_t>> sent, received;
};

// Sends that are on their way, with their memory, while nobody waits for them.
class Abandoned {
 public:
  void add(MPI_Request request, std::shared_ptr<const void> memory) {
    const std::lock_guard lock(mutex_);
    sends_.push_back({request, std::move(memory)});
  }
  bool ended() {
    const std::lock_guard lock(mutex_);
    std::erase_if(sends_, [](auto& send) {
      int flag = 0;
      call(MPI_Test, &send.first, &flag, MPI_STATUS_IGNORE);
      return flag != 0;
    });
    return sends_.empty();
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<MPI_Request, std::shared_ptr<const void>>> sends_;
};

constexpr std::size_t long_message = std::size_t{1} << 20;

bool is_long(const MemoryBlocks& blocks) {
  return blocks.bytes * blocks.count >= long_message;
}

// Messages whose bytes move while a rank calls MPI; those of fewer bytes go at once.
constexpr std::size_t handled_message = std::size_t{1} << 12;

// When a thread that waits for a message last called MPI.
std::atomic<std::chrono::steady_clock::time_point>& last_look() {
  static std::atomic<std::chrono::steady_clock::time_point> time{};
  return time;
}

// A thread that calls MPI again and again while messages are under way for which nobody waits before the kernels beside
// them have ended. Nobody wakes it: messages that end sooner than its next turn do without.
class Progress {
 public:
  // call_mpi may throw Error, after which nothing is called: who waits meets the same error.
  explicit Progress(std::function<void()> call_mpi) : call_mpi_(std::move(call_mpi)), thread_([this] { run(); }) {}
  ~Progress() {
    ends_ = true;
    thread_.join();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A message under way, while it lives.
  std::shared_ptr<void> begin(const MemoryBlocks& blocks) {
    if (blocks.bytes * blocks.count < handled_message) return nullptr;
    ++under_way_;
    return {this, [](Progress* progress) { --progress->under_way_; }};
  }

 private:
  void run() {
    constexpr std::chrono::milliseconds turn{1};
    try {
      while (!ends_) {
        if (under_way_ > 0)
          look();
        else
          std::this_thread::sleep_for(turn);
      }
    } catch (const Error&) {
    }
  }
  // Long calls have moved bytes, so that the next one follows at once.
  void look() {
    constexpr std::chrono::microseconds pause{50}, moves_bytes{20};
    const auto begin = std::chrono::steady_clock::now();
    const bool others_look = begin - last_look().load() < pause;
    if (!others_look) call_mpi_();
    if (others_look || std::chrono::steady_clock::now() - begin < moves_bytes) std::this_thread::sleep_for(pause);
  }

  std::function<void()> call_mpi_;
  std::atomic<bool> ends_{false};
  std::atomic<int> under_way_{0};
  std::thread thread_;
};

// True if all have ended. Of a long message, some bytes move at each look, so that it is worth more than one.
bool all_ended(std::vector<MPI_Request>& parts, bool is_long) {
  constexpr std::chrono::milliseconds a_while{2};
  const auto begin = std::chrono::steady_clock::now();
  for (int flag = 0;;) {
    call(MPI_Testall, static_cast<int>(parts.size()), parts.data(), &flag, MPI_STATUSES_IGNORE);
    if (flag != 0) return true;
    const auto now = std::chrono::steady_clock::now();
    last_look() = now;
    if (!is_long || now - begin > a_while) return false;
    std::this_thread::yield();
  }
}

// Parts of a message, each of which is as long as MPI counts.
class Sending : public Message::Request {
 public:
  Sending(Abandoned& abandoned, std::shared_ptr<const void> memory, bool is_long, std::shared_ptr<void> progress)
      : abandoned_(abandoned), memory_(std::move(memory)), is_long_(is_long), progress_(std::move(progress)) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  ~Sending() override {
    for (MPI_Request& part : parts)
      if (part != MPI_REQUEST_NULL) abandoned_.add(part, memory_);
  }
  bool ended(bool patient) override { return all_ended(parts, is_long_ && patient); }
  std::vector<MPI_Request> parts;

 private:
  Abandoned& abandoned_;
  std::shared_ptr<const void> memory_;
  bool is_long_;
  std::shared_ptr<void> progress_;
};

class Receiving : public Message::Request {
 public:
  Receiving(std::atomic<std::uint64_t>* received, bool is_long, std::shared_ptr<void> progress)
      : received_(received), is_long_(is_long), progress_(std::move(progress)) {}
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;
  // The memory is about to go.
  ~Receiving() override {
    for (MPI_Request& part : parts) {
      if (part == MPI_REQUEST_NULL) continue;
      const std::lock_guard lock(mpi_mutex());
      MPI_Status status;
      int cancelled = 0;
      MPI_Cancel(&part);
      MPI_Wait(&part, &status);
      MPI_Test_cancelled(&status, &cancelled);
      if (cancelled == 0 && received_ != nullptr) ++*received_;
    }
  }
  bool ended(bool patient) override {
    if (!all_ended(parts, is_long_ && patient)) return false;
    if (received_ != nullptr) *received_ += parts.size();
    parts.clear();
    return true;
  }
  std::vector<MPI_Request> parts;

 private:
  std::atomic<std::uint64_t>* received_;  // nullptr: not counted
  bool is_long_;
  std::shared_ptr<void> progress_;
};

// Blocks of which each is a message: libraries copy large ones faster, or let the network read them where they lie.
constexpr std::size_t large_block = std::size_t{1} << 20;

// begin_part(first byte, count, type, request), the same for a message that is sent and its receiver.
template <class Function>
void begin_parts(const MemoryBlocks& blocks, std::vector<MPI_Request>& parts, const Function& begin_part) {
  const auto begin = [&](std::byte* first, int count, MPI_Datatype type) {
    parts.push_back(MPI_REQUEST_NULL);
    begin_part(first, count, type, &parts.back());
  };
  const std::size_t together = blocks.bytes > 0 ? most_bytes_a_part / blocks.bytes : blocks.count;
  if (blocks.count > 1 && together > 1 && blocks.bytes < large_block) {
    for (std::size_t n = 0; n < blocks.count; n += together) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      call(MPI_Type_create_hvector, static_cast<int>(std::min(together, blocks.count - n)),
           static_cast<int>(blocks.bytes), static_cast<MPI_Aint>(blocks.stride), MPI_BYTE, &type);
      call(MPI_Type_commit, &type);
      begin(blocks.first + n * blocks.stride, 1, type);
      call(MPI_Type_free, &type);  // once the part has ended
    }
    return;
  }
  for (std::size_t n = 0; n < blocks.count; ++n)
    for (std::size_t at = 0; at < blocks.bytes || at == 0; at += most_bytes_a_part)
      begin(blocks.first + n * blocks.stride + at, static_cast<int>(std::min(blocks.bytes - at, most_bytes_a_part)),
            MPI_BYTE);
}

// Messages of the work have a communicator of their own, with tags from 0 on. Those of the control are of the failure
// of a rank, of a rank that leaves the work, and of the end of the work.
enum ControlTag { failure_tag, leave_tag };

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    start();
    for (MPI_Comm* comm : {&work_, &control_}) {
      call(MPI_Comm_dup, MPI_COMM_WORLD, comm);
      call(MPI_Comm_set_errhandler, *comm, MPI_ERRORS_RETURN);
    }
    call(MPI_Comm_rank, work_, &rank_);
    call(MPI_Comm_size, work_, &size_);
    counts_.emplace(size_);
    if (rank_ == 0) call(MPI_Irecv, &failed_, 1, MPI_BYTE, MPI_ANY_SOURCE, failure_tag, control_, &failure_);
    await_leaver();
    progress_.emplace([this] { count_leavers(); });
  }
  ~MpiRanks() override {
    progress_.reset();
    abandon(failure_);
    abandon(leaver_);
    MPI_Comm_free(&work_);
    MPI_Comm_free(&control_);
    if (starts_) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Message send(int to, int tag, const MemoryBlocks& from, std::shared_ptr<const void> owner) override {
    sent_ += from.bytes * from.count;
    return recorded(begin_send(work_, to, tag, from, std::move(owner)), "to", to, tag, from);
  }
  Message receive(int from, int tag, const MemoryBlocks& to) override {
    return recorded(begin_receive(work_, from, tag, to), "from", from, tag, to);
  }

  void report_failure() override {
    const std::lock_guard lock(mpi_mutex());
    MPI_Request sent = MPI_REQUEST_NULL;  // it is never waited for: the first rank may be at its end
    if (rank_ > 0) MPI_Isend(&failed_, 1, MPI_BYTE, 0, failure_tag, control_, &sent);
  }
  bool failed_elsewhere() override {
    int flag = 0;
    if (failure_ != MPI_REQUEST_NULL) call(MPI_Test, &failure_, &flag, MPI_STATUS_IGNORE);
    failure_is_known_ = failure_is_known_ || flag != 0;
    return failure_is_known_;
  }
  [[noreturn]] void abort(int code) override {
    MPI_Abort(work_, code);
    std::_Exit(code);
  }

 protected:
  std::vector<std::string> gather_bytes(const std::string& own) override { return gather_on(work_, own); }

  // No rank is in other work before all have been here, so that all that is received is of this work.
  std::vector<std::string> gather_lacks(const std::string& own) override {
    if (!own.empty())
      for (int n = 0; n < size_; ++n)
        if (n != rank_) begin_send(control_, n, leave_tag, {&word_, 1}, nullptr);
    const auto lacks = gather_on(control_, own);
    if (std::any_of(lacks.begin(), lacks.end(), [](const auto& lack) { return !lack.empty(); })) drop_messages(lacks);
    return lacks;
  }
  bool leaver_came() override {
    if (leavers_ == 0) count_leavers();
    return leavers_ > 0;
  }

 private:
  Message begin_send(MPI_Comm comm, int to, int tag, const MemoryBlocks& from, std::shared_ptr<const void> owner) {
    auto request = std::make_unique<Sending>(abandoned_, std::move(owner), is_long(from), progress_->begin(from));
    begin_parts(from, request->parts, [&](std::byte* first, int count, MPI_Datatype type, MPI_Request* part) {
      call(MPI_Isend, first, count, type, to, tag, comm, part);
    });
    if (comm == work_) counts_->sent[static_cast<std::size_t>(to)] += request->parts.size();
    return Message(std::move(request));
  }
  Message begin_receive(MPI_Comm comm, int from, int tag, const MemoryBlocks& to) {
    auto request =
        std::make_unique<Receiving>(comm == work_ ? &counts_->received[static_cast<std::size_t>(from)] : nullptr,
                                    is_long(to), progress_->begin(to));
    begin_parts(to, request->parts, [&](std::byte* first, int count, MPI_Datatype type, MPI_Request* part) {
      call(MPI_Irecv, first, count, type, from, tag, comm, part);
    });
    return Message(std::move(request));
  }

  // Not by collective calls, which a rank that leaves the work could not give up. First the lengths, then the bytes.
  std::vector<std::string> gather_on(MPI_Comm comm, const std::string& own) {
    std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size_), own.size());
    std::vector<std::string> all(lengths.size(), own);
    const auto length = std::make_shared<std::uint64_t>(own.size());
    const auto text = std::make_shared<std::string>(own);
    exchange(comm, {reinterpret_cast<std::byte*>(length.get()), sizeof *length}, length, [&](std::size_t n) {
      return MemoryBlocks{reinterpret_cast<std::byte*>(&lengths[n]), sizeof *length};
    });
    exchange(comm, {reinterpret_cast<std::byte*>(text->data()), text->size()}, text, [&](std::size_t n) {
      all[n].resize(lengths[n]);
      return MemoryBlocks{reinterpret_cast<std::byte*>(all[n].data()), all[n].size()};
    });
    return all;
  }
  // Sends the same to all other ranks, and receives what each sends to room_for(rank).
  template <class Function>
  void exchange(MPI_Comm comm, const MemoryBlocks& own, const std::shared_ptr<const void>& owner,
                const Function& room_for) {
    std::vector<Message> messages;
    for (int n = 0; n < size_; ++n) {
      if (n == rank_) continue;
      messages.push_back(begin_receive(comm, n, gather_tag, room_for(static_cast<std::size_t>(n))));
      messages.push_back(begin_send(comm, n, gather_tag, own, owner));
    }
    for (Message& message : messages) message.wait();
  }

  // Receives what was sent to this rank in the work that has ended, and the words of those that left.
  void drop_messages(const std::vector<std::string>& lacks) {
    std::string own;
    for (const auto& sent : counts_->sent) own += std::to_string(sent) + ' ';
    const auto texts = gather_on(control_, own);
    for (std::size_t from = 0; from < texts.size(); ++from) {
      std::istringstream text(texts[from]);
      std::uint64_t sent = 0;
      for (int n = 0; n <= rank_; ++n) text >> sent;
      auto& received = counts_->received[from];
      wait_until([&] { return received == sent || (drop_one(static_cast<int>(from), received), received == sent); });
    }
    const auto lacking = std::count_if(lacks.begin(), lacks.end(), [](const auto& lack) { return !lack.empty(); });
    const auto others = lacking - (lacks[static_cast<std::size_t>(rank_)].empty() ? 0 : 1);
    wait_until([&] { return leavers_ >= others || (count_leavers(), leavers_ >= others); });
    leavers_ -= static_cast<int>(others);
    wait_until([&] { return abandoned_.ended(); });
  }
  void drop_one(int from, std::atomic<std::uint64_t>& received) {
    int flag = 0, bytes = 0;
    MPI_Status status;
    call(MPI_Iprobe, from, MPI_ANY_TAG, work_, &flag, &status);
    if (flag == 0) return;
    call(MPI_Get_count, &status, MPI_BYTE, &bytes);
    std::vector<std::byte> room(static_cast<std::size_t>(bytes));
    call(MPI_Recv, room.data(), bytes, MPI_BYTE, from, status.MPI_TAG, work_, MPI_STATUS_IGNORE);
    ++received;
  }
  template <class Condition>
  void wait_until(const Condition& condition) {
    class Until : public Message::Request {
     public:
      explicit Until(const Condition& condition) : condition_(condition) {}
      bool ended(bool) override { return condition_(); }

     private:
      const Condition& condition_;
    };
    Message(std::make_unique<Until>(condition)).wait();
  }

  void await_leaver() { call(MPI_Irecv, &left_, 1, MPI_BYTE, MPI_ANY_SOURCE, leave_tag, control_, &leaver_); }
  void count_leavers() {
    const std::lock_guard lock(leaver_mutex_);
    if (leaver_ == MPI_REQUEST_NULL) return;  // after an error of MPI
    int flag = 0;
    call(MPI_Test, &leaver_, &flag, MPI_STATUS_IGNORE);
    if (flag == 0) return;
    ++leavers_;
    await_leaver();
  }
  static void abandon(MPI_Request& received) {
    const std::lock_guard lock(mpi_mutex());
    if (received == MPI_REQUEST_NULL) return;
    MPI_Cancel(&received);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
  }

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

  MPI_Comm work_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool starts_ = false;
  char failed_ = 0;
  MPI_Request failure_ = MPI_REQUEST_NULL;  // on the first rank
  std::atomic<bool> failure_is_known_{false};
  std::optional<Counts> counts_;
  Abandoned abandoned_;
  std::byte word_{}, left_{};
  MPI_Request leaver_ = MPI_REQUEST_NULL;
  std::mutex leaver_mutex_;
  std::atomic<int> leavers_{0};
  std::optional<Progress> progress_;
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
