// The answering end of reader_process.hpp.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/images/new_warning.hpp"
#include "apps/images/reader_pipe.hpp"
#include "apps/images/reader_process.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

using nlohmann::json;

// Keeps what is logged for the asker's log.
class KeptLog : public spdlog::sinks::base_sink<std::mutex> {
 public:
  json lines = json::array();

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    lines.push_back({static_cast<int>(message.level), std::string(message.payload.data(), message.payload.size())});
  }
  void flush_() override {}
};

ReaderAnswer answer_or_error(const Answerer& answerer, const json& question) {
  const auto error = [](const char* kind, const std::string& text) {
    return ReaderAnswer{{{"error", kind}, {"text", text}}};
  };
  try {
    return answerer(question);
  } catch (const InputError& refused) {
    return error("input", refused.what());
  } catch (const FileError& failed) {
    return error("file", failed.what());
  } catch (const std::bad_alloc&) {
    return error("memory", "");
  } catch (const std::system_error& failed) {
    return error(failed.code() == std::errc::resource_unavailable_try_again ? "process" : "other", failed.what());
  } catch (const std::exception& unknown) {
    return error("other", unknown.what());
  }
}

// Writes voxels piece by piece, and gives the memory of each back, so that not both ends hold all of them.
void write_voxels(int to, TypedVolume& voxels) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t piece = std::size_t{4} << 20;
  for (std::size_t at = 0; at < voxels.byte_count(); at += piece) {
    const std::size_t now = std::min(piece, voxels.byte_count() - at);
    if (!write_all(to, voxels.bytes() + at, now)) return;
    const auto from = reinterpret_cast<std::uintptr_t>(voxels.bytes() + at);
    const std::uintptr_t first = (from + page - 1) / page * page, last = (from + now) / page * page;
    if (last > first) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
}

void write_answer(int to, ReaderAnswer& answer) {
  const std::vector<std::uint8_t> packed = json::to_cbor(answer.facts);
  const AnswerSizes sizes{packed.size(), answer.voxels.byte_count()};
  if (write_all(to, &sizes, sizeof sizes) && write_all(to, packed.data(), packed.size()))
    write_voxels(to, answer.voxels);
}

// A worker: answers what comes through its channel until that is closed.
[[noreturn]] void work(const Answerer& answerer, int channel, const ProcessLimits& limits) {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  const auto log = std::make_shared<KeptLog>();
  const auto logger = std::make_shared<spdlog::logger>("reader", log);
  spdlog::set_default_logger(logger);
  set_library_log(nullptr);
  confine_process(limits);
  std::uint64_t bytes = 0;
  while (read_waiting(channel, &bytes, sizeof bytes)) {
    std::vector<std::uint8_t> packed(bytes);
    if (!read_waiting(channel, packed.data(), packed.size())) break;
    const json question = json::from_cbor(packed);
    logger->set_level(static_cast<spdlog::level::level_enum>(question.at("level").get<int>()));
    add_warnings(question.at("warned"));
    ReaderAnswer made = answer_or_error(answerer, question);
    made.facts["log"] = std::exchange(log->lines, json::array());
    made.facts["warned"] = all_warnings();
    write_answer(channel, made);
  }
  ::_exit(0);
}

// The status of a worker when it ends. It is ended if the asker wants another or goes.
int status_of(pid_t worker, int its_end, int socket) {
  pollfd ends[] = {{its_end, 0, 0}, {socket, POLLIN, 0}};
  while (::poll(ends, 2, -1) < 0 || (ends[0].revents == 0 && ends[1].revents == 0)) {
  }
  ::kill(worker, SIGKILL);
  int status = 0;
  while (::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

void answer_questions(int socket, const Answerer& answerer) {
  ::signal(SIGPIPE, SIG_IGN);
  while (true) {
    ProcessLimits limits;
    Descriptor channel(receive_with(socket, &limits, sizeof limits));
    if (channel.get() < 0) return;
    int alive[2];
    if (::pipe2(alive, O_CLOEXEC) != 0) return;
    Descriptor its_end(alive[0]), own(alive[1]);
    const pid_t worker = ::fork();
    if (worker == 0) {
      ::close(socket);
      its_end.close();
      work(answerer, channel.get(), limits);
    }
    own.close();
    channel.close();
    const int status = worker < 0 ? -1 : status_of(worker, its_end.get(), socket);
    if (!write_all(socket, &status, sizeof status)) return;
  }
}

}  // namespace halocline
