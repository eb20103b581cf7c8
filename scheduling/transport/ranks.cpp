#include "scheduling/transport/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/transport/launch.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {
namespace {

Ranks* joined = nullptr;
std::atomic<bool> given_up{false};

bool is_off() {
  const char* const value = std::getenv("HALOCLINE_MPI");
  const std::string_view text = value == nullptr ? "" : value;
  return text == "off" || text == "OFF" || text == "0";
}

std::string bytes_of(double number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

double number_of(const std::string& bytes) {
  double number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

}  // namespace

void Message::wait() {
  if (!request_) return;
  constexpr std::chrono::microseconds soon{50}, pause{20};
  const auto begin = std::chrono::steady_clock::now();
  while (!request_->ended(true)) {
    check_interrupt();  // where another rank has failed, the launcher ends this one
    if (ranks().failed_elsewhere()) throw_interrupted();
    if (ranks().left_elsewhere()) throw ClError("another rank begins again", failed_before, {});
    if (given_up) throw ClError("a device of this rank has failed", failed_before, {});
    if (std::chrono::steady_clock::now() - begin < soon)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(pause);  // ranks that share processors compute meanwhile
  }
  request_.reset();
  if (!trace_) return;
  entry_.end_ns = trace_clock();
  trace_->add(std::move(entry_));
  trace_.reset();
}

void Message::record(std::shared_ptr<Trace> trace, std::string name, std::size_t bytes) {
  trace_ = std::move(trace);
  entry_ = {std::move(name), "messages", "messages", trace_clock(), 0, bytes, true};
}

std::vector<std::string> Ranks::gather(const std::string& what, const std::string& own) {
  if (!several()) return {own};
  auto all = gather_bytes(what + '\n' + own);
  sent_ += own.size() * static_cast<std::size_t>(size() - 1);
  for (int n = 0; n < size(); ++n) {
    std::string& bytes = all[static_cast<std::size_t>(n)];
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    if (bytes.compare(0, end, what) != 0)
      throw Error(fmt::format("rank {} gathers {} while rank {} gathers {}: the ranks do not do the same work", rank(),
                              what, n, bytes.substr(0, end)));
    bytes.erase(0, end + 1);
  }
  return all;
}

double Ranks::of_first(const std::string& what, double own) {
  return number_of(of_first(what, bytes_of(own)));
}

double Ranks::least(const std::string& what, double own) {
  for (const std::string& bytes : gather(what, bytes_of(own))) own = std::min(own, number_of(bytes));
  return own;
}

bool Ranks::any(const std::string& what, bool own) {
  const auto all = gather(what, own ? "1" : "0");
  return std::find(all.begin(), all.end(), "1") != all.end();
}

Message Ranks::send(int, int, const MemoryBlocks&, std::shared_ptr<const void>) {
  throw std::logic_error("there is no other rank to send to");
}

Message Ranks::receive(int, int, const MemoryBlocks&) {
  throw std::logic_error("there is no other rank to receive from");
}

Message Ranks::recorded(Message message, const char* direction, int rank, int tag, const MemoryBlocks& blocks) const {
  if (trace_)
    message.record(trace_, fmt::format("{} rank {}, tag {}", direction, rank, tag), blocks.bytes * blocks.count);
  return message;
}

Message Ranks::send(int to, int tag, std::vector<std::byte> bytes) {
  const auto own = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return send(to, tag, {own->data(), own->size()}, own);
}

std::vector<std::string> Ranks::end_attempt(const std::string& lack) {
  attempting_ = false;  // what is awaited from here on is of the end
  given_up = false;
  return gather_lacks(lack);
}

void Ranks::give_up() {
  if (several()) given_up = true;
}

void Ranks::abort(int code) {
  std::exit(code);
}

Ranks& one_rank() {
  static Ranks one;
  return one;
}

Ranks& ranks() {
  return joined != nullptr ? *joined : one_rank();
}

RanksInUse::RanksInUse() {
  const auto launch = current_launch();
  if (!launch || launch->processes == 1 || is_off()) return;  // 1: such as children of a program under a launcher
  constexpr const char* alone = "; HALOCLINE_MPI=off in the environment makes each of them a job of its own";
  if (mpi_library().empty()) {
    if (!launch->processes && launch->rank == 0) return;  // the others, if there are any, are refused
    throw InputError(fmt::format(
        "a launcher of MPI started {}, but this build of Halocline has no MPI: start it without the launcher, or "
        "build it with HALOCLINE_WITH_MPI{}",
        launch->processes ? fmt::format("{} processes", *launch->processes) : "several processes", alone));
  }
  auto all = make_mpi_ranks();
  if (launch->processes && all->size() != *launch->processes)
    throw InputError(
        fmt::format("the launcher started {} processes, but {} sees {}: use the launcher of that library{}",
                    *launch->processes, mpi_library(), all->size(), alone));
  join(std::move(all));
}

RanksInUse::RanksInUse(std::unique_ptr<Ranks> ranks) {
  join(std::move(ranks));
}

void RanksInUse::join(std::unique_ptr<Ranks> ranks) {
  joined_ = std::move(ranks);
  joined = joined_.get();
  ::setenv("HALOCLINE_MPI", "off", 1);  // child processes are no ranks
}

RanksInUse::~RanksInUse() {
  if (!joined_ || joined != joined_.get()) return;
  joined = nullptr;
  ::unsetenv("HALOCLINE_MPI");
}

}  // namespace halocline
