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

/// Answers one question. Errors of this library are thrown again where the question was asked.
using Answerer = std::function<ReaderAnswer(const nlohmann::json& question)>;

/// Answers what comes through `socket` until its other end is closed: each question in a process of its own, which is
/// confined (confined.hpp) before it looks at the file. Runs in a process of one thread.
void answer_questions(int socket, const Answerer& answerer);

/// The asker's end.
class ReaderProcess {
 public:
  /// `start` begins a process group that calls answer_questions() with the other end of a socket, and returns its id.
  explicit ReaderProcess(std::function<pid_t(int socket)> start) : start_(std::move(start)) {}
  ~ReaderProcess() { end(); }
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  /// One question at a time. `path` is for messages. Throws what the answerer throws, InputError that names the file if
  /// the process crashes or exceeds the limits, and Interrupted; then the next question begins another process.
  ReaderAnswer ask(const nlohmann::json& question, const std::string& path, const ProcessLimits& limits);

 private:
  void begin();
  void end();
  std::pair<std::optional<ReaderAnswer>, std::optional<int>> exchange(const nlohmann::json& question,
                                                                      const std::string& path, ReaderDeadline end);

  std::function<pid_t(int socket)> start_;
  std::mutex mutex_;
  pid_t process_ = -1;
  int socket_ = -1;
};

/// Starts `program WORD` with the socket as its standard input, no other open file, and nothing on its outputs.
pid_t start_reader(const std::string& program, const std::string& word, int socket);

}  // namespace halocline
