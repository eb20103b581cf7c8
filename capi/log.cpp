#include "capi/log.hpp"

#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <mutex>
#include <string>

#include "capi/status.hpp"
#include "host/system/log.hpp"

namespace halocline::capi {
namespace {

int32_t level_of(spdlog::level::level_enum level) {
  if (level >= spdlog::level::err) return HALOCLINE_LOG_ERROR;
  if (level == spdlog::level::warn) return HALOCLINE_LOG_WARNING;
  return level == spdlog::level::info ? HALOCLINE_LOG_INFO : HALOCLINE_LOG_DEBUG;
}

spdlog::level::level_enum level_named(int32_t level) {
  switch (level) {
    case HALOCLINE_LOG_DEBUG:
      return spdlog::level::debug;
    case HALOCLINE_LOG_INFO:
      return spdlog::level::info;
    case HALOCLINE_LOG_WARNING:
      return spdlog::level::warn;
    case HALOCLINE_LOG_ERROR:
      return spdlog::level::err;
    default:
      throw InputError({.what = "`level`", .found = std::to_string(level), .expected = "one of HALOCLINE_LOG_..."});
  }
}

class CallbackSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void go_to(halocline_log_callback callback, void* user) {
    const std::lock_guard lock(mutex_);
    callback_ = callback;
    user_ = user;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (callback_ == nullptr) return;
    const std::string text(message.payload.data(), message.payload.size());
    callback_(level_of(message.level), text.c_str(), user_);
  }
  void flush_() override {}

 private:
  halocline_log_callback callback_ = nullptr;
  void* user_ = nullptr;
};

struct Log {
  std::shared_ptr<CallbackSink> sink = std::make_shared<CallbackSink>();
  std::shared_ptr<spdlog::logger> logger = std::make_shared<spdlog::logger>("halocline", sink);
  Log() {
    logger->set_level(spdlog::level::off);
    set_library_log(logger);
  }
};

Log& log_of_process() {
  static auto& log = *new Log;  // threads of drivers may log while the process ends
  return log;
}

}  // namespace

void take_over_log() {
  log_of_process();
}

}  // namespace halocline::capi

using namespace halocline::capi;

extern "C" int halocline_set_log(int32_t level, halocline_log_callback callback, void* user) noexcept {
  return guarded([&] {
    auto& log = log_of_process();
    const auto least = level_named(level);
    log.sink->go_to(callback, user);
    log.logger->set_level(callback != nullptr ? least : spdlog::level::off);
  });
}
