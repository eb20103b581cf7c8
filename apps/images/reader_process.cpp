#include "apps/images/reader_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

// Text of the process as a terminal may have it.
std::string plain(std::string text) {
  std::erase_if(text, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; });
  return text;
}

[[noreturn]] void throw_again(const json& facts, const std::string& path, const ProcessLimits& limits) {
  const std::string kind = facts.at("error"), text = plain(facts.at("text"));
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
    library_log()->log(static_cast<spdlog::level::level_enum>(std::clamp(line.at(0).get<int>(), 0, 5)), "{}",
                       plain(line.at(1)));
  add_warnings(facts.at("warned"));
}

// An answer's facts, nested a few times at most: the parser calls itself for each.
struct Facts : nlohmann::detail::json_sax_dom_parser<json> {
  using Parser = nlohmann::detail::json_sax_dom_parser<json>;
  static constexpr int deepest = 32;
  int depth = 0;
  explicit Facts(json& facts) : Parser(facts) {}
  bool start_object(std::size_t length) { return ++depth <= deepest && Parser::start_object(length); }
  bool start_array(std::size_t length) { return ++depth <= deepest && Parser::start_array(length); }
  bool end_object() { return --depth, Parser::end_object(); }
  bool end_array() { return --depth, Parser::end_array(); }
};

// The whole answer; nothing if the process ended or was late before it was complete.
std::optional<ReaderAnswer> receive(int from, const std::string& path, ReaderDeadline end) {
  std::uint64_t bytes = 0;
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  if (!read_all(from, &bytes, sizeof bytes, end) || bytes > most) return {};
  std::vector<std::uint8_t> packed(bytes);
  if (!read_all(from, packed.data(), packed.size(), end)) return {};
  ReaderAnswer answer;
  Facts facts(answer.facts);
  if (!json::sax_parse(packed, &facts, json::input_format_t::cbor)) {
    answer.facts = nullptr;  // which has none of the entries that are looked for
    return answer;
  }
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
  const auto late = Clock::now() + patience;
  std::optional<ReaderAnswer> answer;
  std::optional<int> status;
  try {
    begin();
    std::tie(answer, status) = exchange(whole, path, late);
    if (!status) end();
    if (answer && status == 0) take_log(answer->facts);
  } catch (const json::exception&) {
    end();
    refuse_crash(path, "it gave no answer that is one");
  } catch (...) {
    end();
    throw;
  }
  if (!status && Clock::now() < late)
    throw Error(
        fmt::format("'{}' cannot be read: the process that reads files of its kind ended or could not be "
                    "started; run the command again, or convert the file to .mha",
                    path));
  if (!status) refuse_crash(path, fmt::format("there was no answer after {} seconds", patience.count()));
  if (!answer || *status != 0) refuse_crash(path, end_of(*status, limits));
  try {
    if (answer->facts.contains("error")) throw_again(answer->facts, path, limits);
  } catch (const json::exception&) {
    refuse_crash(path, "it gave no answer that is one");
  }
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
  if (code != 0)
    throw Error(
        fmt::format("'{}', which reads what ITK reads, cannot be started: {}; is /proc mounted? Or convert the "
                    "files to .mha",
                    program, std::strerror(code)));
  return process;
}

}  // namespace halocline
