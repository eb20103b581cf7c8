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
#include <filesystem>
#include <optional>
#include <thread>
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

constexpr const char* no_process =
    "the system allows no more processes or threads, which reading files of its kind takes; end other programs, or "
    "raise the limit (ulimit -u)";

[[noreturn]] void refuse_end(const std::string& path, int status, const ProcessLimits& limits) {
  if (status < 0) throw Error(fmt::format("'{}' cannot be read: {}", path, no_process));
  if (!WIFSIGNALED(status)) refuse_crash(path, "by an error of its own");
  if (WTERMSIG(status) == SIGXCPU)
    refuse_crash(path, fmt::format("after {} seconds of processor time", limits.seconds));
  if (WTERMSIG(status) == SIGKILL)
    throw InputError(
        fmt::format("'{}' cannot be read: the process that read it was killed, as systems do when memory runs short; "
                    "end other programs, or convert it to .mha on a computer with more memory",
                    path));
  refuse_crash(path, fmt::format("by signal {}, {}", WTERMSIG(status), ::strsignal(WTERMSIG(status))));
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
  if (kind == "process") throw Error(fmt::format("'{}' cannot be read: {}", path, no_process));
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
  AnswerSizes sizes;
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  if (!read_all(from, &sizes, sizeof sizes, end) || sizes.facts > most) return {};
  std::vector<std::uint8_t> packed(sizes.facts);
  if (!read_all(from, packed.data(), packed.size(), end)) return {};
  ReaderAnswer answer;
  Facts facts(answer.facts);
  if (!json::sax_parse(packed, &facts, json::input_format_t::cbor)) {
    answer.facts = nullptr;  // which has none of the entries that are looked for
    return answer;
  }
  if (!answer.facts.contains("voxels") && sizes.voxels == 0) return answer;
  const json& voxels = answer.facts.at("voxels");
  Grid grid;
  grid.size = voxels.at("size");
  grid.spacing = voxels.at("spacing");
  grid.origin = voxels.at("origin");
  grid.direction = voxels.at("direction");
  answer.voxels = allocate_volume(grid, component_named(voxels.at("component")), path,
                                  {voxels.at("slope").get<double>(), voxels.at("offset").get<double>()});
  if (sizes.voxels != answer.voxels.byte_count()) {
    answer.facts = nullptr;
    return answer;
  }
  if (!read_all(from, answer.voxels.bytes(), answer.voxels.byte_count(), end)) return {};
  return answer;
}

std::pair<int, int> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(fmt::format("no socket can be had: {}", std::strerror(errno)));
  return {ends[0], ends[1]};
}

}  // namespace

void ReaderProcess::begin() {
  if (process_ > 0) return;
  const auto [own, other] = socket_pair();
  const Descriptor others(other);
  socket_ = own;
  process_ = start_(other);
}

// The process ends its worker, and then itself, when the socket is closed; it is killed if it does not.
void ReaderProcess::end() {
  if (worker_) ::close(worker_->channel);
  worker_.reset();
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (process_ <= 0) return;
  constexpr std::chrono::milliseconds patience(2000), step(1);
  const auto late = Clock::now() + patience;
  while (::waitpid(process_, nullptr, WNOHANG) == 0) {
    if (Clock::now() > late) ::kill(-process_, SIGKILL);
    std::this_thread::sleep_for(step);
  }
  process_ = -1;
}

bool ReaderProcess::serves(const std::string& folder, const ProcessLimits& limits) const {
  constexpr std::uint64_t part = 8;  // of its time, after which another is started
  return worker_ && worker_->folder == folder && limits.bytes <= worker_->limits.bytes &&
         limits.seconds <= worker_->limits.seconds && part * worker_->used < std::chrono::seconds(limits.seconds);
}

// Ends the present worker. False: there is no process that starts another.
bool ReaderProcess::start_worker(const std::string& folder, const ProcessLimits& limits) {
  constexpr auto patience = std::chrono::seconds(10);
  if (worker_ && !status_of_worker(Clock::now() + patience)) return false;
  const auto [own, other] = socket_pair();
  const Descriptor others(other);
  worker_ = {own, folder, limits};
  return send_with(socket_, &limits, sizeof limits, other);
}

// The answer, if the worker gives one.
std::optional<ReaderAnswer> ReaderProcess::exchange(const json& question, const std::string& path, ReaderDeadline end) {
  const std::vector<std::uint8_t> packed = json::to_cbor(question);
  const std::uint64_t bytes = packed.size();
  const int channel = worker_->channel;
  const auto begin = Clock::now();
  if (!send_all(channel, &bytes, sizeof bytes, end) || !send_all(channel, packed.data(), packed.size(), end)) return {};
  std::optional<ReaderAnswer> answer = receive(channel, path, end);
  worker_->used += Clock::now() - begin;
  return answer;
}

// How the worker ended, which is then no more; nothing: it did not in time.
std::optional<int> ReaderProcess::status_of_worker(ReaderDeadline end) {
  ::close(worker_->channel);
  worker_.reset();
  int status = 0;
  if (!read_all(socket_, &status, sizeof status, end)) return {};
  return status;
}

ReaderAnswer ReaderProcess::ask(const json& question, const std::string& path, const ProcessLimits& limits) {
  const std::lock_guard lock(mutex_);
  json whole = question;
  whole["level"] = static_cast<int>(spdlog::get_level());
  whole["warned"] = all_warnings();
  const auto patience = std::chrono::seconds(4 * limits.seconds);  // for disks, and beside other programs
  const auto late = Clock::now() + patience;
  const std::string folder = std::filesystem::path(path).parent_path();
  std::optional<ReaderAnswer> answer;
  std::optional<int> status;
  ProcessLimits given = limits;  // the worker's, which it may have of a larger file
  const auto attempt = [&] {
    given = worker_->limits;
    answer = exchange(whole, path, late);
    if (!answer) status = status_of_worker(late);
  };
  try {
    begin();
    const bool served = serves(folder, limits);
    if (served || start_worker(folder, limits)) attempt();
    // It may have ended by what it read before.
    if (!answer && status && served && start_worker(folder, limits)) attempt();
    if (!answer && !status) end();
    if (answer) take_log(answer->facts);
  } catch (const json::exception&) {
    end();
    refuse_crash(path, "it gave no answer that is one");
  } catch (...) {
    end();
    throw;
  }
  if (!answer && status) refuse_end(path, *status, given);
  if (!answer && Clock::now() > late)
    refuse_crash(path, fmt::format("there was no answer after {} seconds", patience.count()));
  if (!answer)
    throw Error(
        fmt::format("'{}' cannot be read: the process that reads files of its kind ended or could not be "
                    "started; run the command again, or convert the file to .mha",
                    path));
  try {
    if (answer->facts.contains("error")) throw_again(answer->facts, path, given);
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
