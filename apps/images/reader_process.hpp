// A process that answers questions about strangers' files, so that a hole in a library that reads them costs an error.
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "apps/images/confined.hpp"
#include "apps/images/reader_pipe.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

/// An answer, and the voxels that belong to it: the process writes both, and the asker reads both.
struct ReaderAnswer {
  nlohmann::json facts;
  TypedVolume voxels = {};
};

/// Begins an answer: bytes of its facts in CBOR, and of its voxels, which follow.
struct AnswerSizes {
  std::uint64_t facts = 0, voxels = 0;
};

/// Answers one question. Errors of this library are thrown again where the question was asked.
using Answerer = std::function<ReaderAnswer(const nlohmann::json& question)>;

/// Starts workers as `socket` asks for them, one at a time, until its other end is closed. A worker is a process that
/// is confined (confined.hpp) before it looks at a file, and answers the questions of one folder. Runs in a process of
/// one thread.
void answer_questions(int socket, const Answerer& answerer);

/// The asker's end.
class ReaderProcess {
 public:
  /// `start` begins a process group that calls answer_questions() with the other end of a socket, and returns its id.
  explicit ReaderProcess(std::function<pid_t(int socket)> start) : start_(std::move(start)) {}
  ~ReaderProcess() { end(); }
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  /// One question at a time. `path` is for messages, and its folder is what one worker serves, as long as its limits
  /// suffice and most of its time is left. Throws what the answerer throws, InputError that names the file if the
  /// worker crashes or exceeds the limits, and Interrupted; then the next question begins another worker.
  ReaderAnswer ask(const nlohmann::json& question, const std::string& path, const ProcessLimits& limits);

 private:
  struct Worker {
    int channel = -1;
    std::string folder;
    ProcessLimits limits;
    std::chrono::steady_clock::duration used{};  // of its time
  };

  void begin();
  void end();
  bool serves(const std::string& folder, const ProcessLimits& limits) const;
  bool start_worker(const std::string& folder, const ProcessLimits& limits);
  std::optional<ReaderAnswer> exchange(const nlohmann::json& question, const std::string& path, ReaderDeadline end);
  std::optional<int> status_of_worker(ReaderDeadline end);

  std::function<pid_t(int socket)> start_;
  std::mutex mutex_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::optional<Worker> worker_;  // whose status is still to come through the socket
};

/// Starts `program WORD` with the socket as its standard input, no other open file, and nothing on its outputs.
pid_t start_reader(const std::string& program, const std::string& word, int socket);

}  // namespace halocline
