// Ranks: processes that do one job together, each with the devices of its node. A process that no launcher of MPI
// started is the only rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/opencl/trace.hpp"

namespace halocline {

/// MemoryBlocks of as many bytes, each `stride` after the one before.
struct MemoryBlocks {
  std::byte* first = nullptr;
  std::size_t bytes = 0, count = 1, stride = 0;
};

/// A message under way. Memory that it fills must outlive it.
class Message {
 public:
  /// The work that is left of it.
  class Request {
   public:
    virtual ~Request() = default;
    /// True when the memory may be used again (sent), or holds the bytes (received). patient: it may look for a while.
    virtual bool ended(bool patient) = 0;
  };
  Message() = default;
  explicit Message(std::unique_ptr<Request> request) : request_(std::move(request)) {}
  /// Waits for the end; at once for no message, and for one that has ended. Throws Interrupted, after which the ranks
  /// are of no more use.
  void wait();
  /// True if it has ended, or there is none; it does not wait.
  bool ended() { return !request_ || request_->ended(false); }
  /// Adds it to a trace when it is seen to have ended; it began now.
  void record(std::shared_ptr<Trace> trace, std::string name, std::size_t bytes);

 private:
  std::unique_ptr<Request> request_;
  std::shared_ptr<Trace> trace_;
  TraceEntry entry_;
};

/// This form is of one rank.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  bool several() const { return size() > 1; }
  bool first() const { return rank() == 0; }

  /// The bytes of each rank, by rank, on all of them. All ranks make these calls in the same order, one thread of each
  /// at a time, with the same `what` ("the files"). Throws Error that names a rank which is elsewhere.
  std::vector<std::string> gather(const std::string& what, const std::string& own);
  /// Waits for all ranks.
  void meet(const std::string& what) { gather(what, {}); }
  /// The text, or number, of the first rank, on all of them.
  std::string of_first(const std::string& what, const std::string& own) { return gather(what, own).front(); }
  double of_first(const std::string& what, double own);
  /// The least number of all ranks, on all of them.
  double least(const std::string& what, double own);
  /// True on all ranks where it is on any of them.
  bool any(const std::string& what, bool own);

  /// Begins to send blocks to a rank, or to receive as many of these bytes from it. Messages with the same tag (from 0
  /// on) arrive in order. `owner` keeps the memory: it goes when the message has ended, perhaps after `Message`. Called
  /// by any thread.
  virtual Message send(int to, int tag, const MemoryBlocks& from, std::shared_ptr<const void> owner);
  virtual Message receive(int from, int tag, const MemoryBlocks& to);
  /// Sends bytes of its own.
  Message send(int to, int tag, std::vector<std::byte> bytes);

  /// Ends all waiting for messages in this process with ClError, until end_attempt(): a device of several here has
  /// failed, and the others would wait for ranks that wait for it.
  void give_up();
  /// Begins and ends work that all ranks do again if one of them lacks something for it, which it names. All ranks call
  /// these; where one lacks something, waiting for messages of the work ends on the others with ClError, and what was
  /// sent is received and dropped. Returns what each rank lacks, on all of them; empty: nothing.
  void begin_attempt() { attempting_ = true; }
  std::vector<std::string> end_attempt(const std::string& lack);
  /// Another rank has ended the attempt, because it lacks something.
  bool left_elsewhere() { return attempting_ && leaver_came(); }

  /// Adds messages that begin from here on to a trace, until nullptr. While no other thread uses the ranks.
  void record(std::shared_ptr<Trace> trace) { trace_ = std::move(trace); }

  /// Bytes that this rank has sent to others: messages, and what it gathered.
  std::size_t sent() const { return sent_; }

  /// Tells the first rank that this one has failed: its waiting for messages ends with Interrupted.
  virtual void report_failure() {}
  /// On the first rank: another one has reported a failure.
  virtual bool failed_elsewhere() { return false; }

  /// Ends the processes of all ranks; those of the launcher end with `code`, too.
  [[noreturn]] virtual void abort(int code);

 protected:
  virtual std::vector<std::string> gather_bytes(const std::string& own) { return {own}; }
  virtual std::vector<std::string> gather_lacks(const std::string& own) { return {own}; }
  virtual bool leaver_came() { return false; }
  Message recorded(Message message, const char* direction, int rank, int tag, const MemoryBlocks& blocks) const;
  std::atomic<std::size_t> sent_{0};

 private:
  std::atomic<bool> attempting_{false};
  std::shared_ptr<Trace> trace_;
};

/// The ranks that a RanksInUse has joined, else the form of one rank.
Ranks& ranks();
/// The form of one rank.
Ranks& one_rank();

/// Joins the ranks that a launcher of MPI has started, during its lifetime. HALOCLINE_MPI=off in the environment keeps
/// each process for itself, and is set for child processes meanwhile. Throws InputError where several processes were
/// started and this build has no MPI, or another library of MPI than the launcher, and where MPI has ended in the
/// launch.
class RanksInUse {
 public:
  RanksInUse();
  /// Joins these (for tests).
  explicit RanksInUse(std::unique_ptr<Ranks> ranks);
  ~RanksInUse();
  RanksInUse(const RanksInUse&) = delete;
  RanksInUse& operator=(const RanksInUse&) = delete;

 private:
  void join(std::unique_ptr<Ranks> ranks);

  std::unique_ptr<Ranks> joined_;
};

/// The ranks of MPI: initialises it, and ends it at destruction, unless the program does so itself (mpi4py). In builds
/// with MPI. Throws InputError where MPI has ended in this process.
std::unique_ptr<Ranks> make_mpi_ranks();
/// Name and version of the library of MPI; empty in builds without.
std::string mpi_library();

}  // namespace halocline
