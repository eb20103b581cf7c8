#include "apps/images/reader_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/images/allocate_volume.hpp"
#include "apps/images/new_warning.hpp"
#include "apps/images/reader_pipe.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse_crash(const std::string& path, const std::string& how) {
  throw InputError(fmt::format(
      "'{}' cannot be read: ITK ended its process over it ({}). It is damaged, or of a kind that is not read "
      "here: convert it to .mha",
      path, how));
}

std::string end_of(int status, const ProcessLimits& limits) {
  if (!WIFSIGNALED(status)) return "by an error of its own";
  if (WTERMSIG(status) == SIGXCPU) return fmt::format("after {} seconds of processor time", limits.seconds);
  return fmt::format("by signal {}, {}", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

[[noreturn]] void throw_again(const json& facts, const std::string& path, const ProcessLimits& limits) {
  const std::string kind = facts.at("error"), text = facts.at("text");
  if (kind == "file") throw FileError(text);
  if (kind == "memory")
    throw InputError(
        fmt::format("'{}' cannot be read: more than {} MiB of memory are asked for, which a file of its size "
                    "does not need, or which are not there; it is damaged, or convert it to .mha",
                    path, limits.bytes >> 20));
  if (kind == "input") throw InputError(text);
  refuse_crash(path, text);
}

// Repeats what was logged and warned of there.
void take_log(const json& facts) {
  for (const json& line : facts.at("log"))
    library_log()->log(static_cast<spdlog::level::level_enum>(line.at(0).get<int>()), "{}",
                       line.at(1).get<std::string>());
  add_warnings(facts.at("warned"));
}

// The whole answer; nothing if the process ended or was late before it was complete.
std::optional<ReaderAnswer> receive(int from, const std::string& path, ReaderDeadline end) {
  std::uint64_t bytes = 0;
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  if (!read_all(from, &bytes, sizeof bytes, end) || bytes > most) return {};
  std::vector<std::uint8_t> packed(bytes);
  if (!read_all(from, packed.data(), packed.size(), end)) return {};
  ReaderAnswer answer{json::from_cbor(packed)};
  if (!answer.facts.contains("voxels")) return answer;
  const json& voxels = answer.facts.at("voxels");
  Grid grid;
  grid.size = voxels.at("size");
  grid.spacing = voxels.at("spacing");
  grid.origin = voxels.at("origin");
  grid.direction = voxels.at("direction");
  answer.voxels = allocate_volume(grid, component_named(voxels.at("component")), path,
                                  {voxels.at("slope").get<double>(), voxels.at("offset").get<double>()});
  if (!read_all(from, answer.voxels.bytes(), answer.voxels.byte_count(), end)) return {};
  return answer;
}

}  // namespace

void ReaderProcess::begin() {
  if (process_ > 0) return;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(fmt::format("no socket can be had: {}", std::strerror(errno)));
  const Descriptor others(ends[1]);
  socket_ = ends[0];
  process_ = start_(ends[1]);
}

void ReaderProcess::end() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (process_ <= 0) return;
  ::kill(-process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

// The answer, if there is one, and the status of the process that made it, if it ended in time.
std::pair<std::optional<ReaderAnswer>, std::optional<int>> ReaderProcess::exchange(const json& question,
                                                                                   const std::string& path,
                                                                                   ReaderDeadline end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(fmt::format("no pipe can be had: {}", std::strerror(errno)));
  Descriptor from(ends[0]), to(ends[1]);
  constexpr int room = 1 << 20;
  ::fcntl(from.get(), F_SETPIPE_SZ, room);
  const std::vector<std::uint8_t> packed = json::to_cbor(question);
  const std::uint64_t bytes = packed.size();
  if (!send_with(socket_, &bytes, sizeof bytes, to.get()) || !send_all(socket_, packed.data(), packed.size()))
    return {};
  to.close();
  std::optional<ReaderAnswer> answer = receive(from.get(), path, end);
  from.close();
  int status = 0;
  if (!read_all(socket_, &status, sizeof status, end)) return {};
  return {std::move(answer), status};
}

ReaderAnswer ReaderProcess::ask(const json& question, const std::string& path, const ProcessLimits& limits) {
  const std::lock_guard lock(mutex_);
  json whole = question;
  whole["level"] = static_cast<int>(spdlog::get_level());
  whole["warned"] = all_warnings();
  whole["seconds"] = limits.seconds;
  whole["bytes"] = limits.bytes;
  const auto patience = std::chrono::seconds(4 * limits.seconds);  // for disks, and beside other programs
  std::optional<ReaderAnswer> answer;
  std::optional<int> status;
  try {
    begin();
    std::tie(answer, status) = exchange(whole, path, Clock::now() + patience);
    if (!status) end();
    if (answer && status == 0) take_log(answer->facts);
  } catch (const json::exception&) {
    end();
    refuse_crash(path, "it gave no answer that is one");
  } catch (...) {
    end();
    throw;
  }
  if (!status) refuse_crash(path, fmt::format("there was no answer after {} seconds", patience.count()));
  if (!answer || *status != 0) refuse_crash(path, end_of(*status, limits));
  if (answer->facts.contains("error")) throw_again(answer->facts, path, limits);
  return std::move(*answer);
}

pid_t start_reader(const std::string& program, const std::string& word, int socket) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::array<char*, 3> words{const_cast<char*>(program.c_str()), const_cast<char*>(word.c_str()), nullptr};
  pid_t process = -1;
  const int code = posix_spawn(&process, program.c_str(), &files, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) throw Error(fmt::format("'{}' cannot be started: {}", program, std::strerror(code)));
  return process;
}

}  // namespace halocline
