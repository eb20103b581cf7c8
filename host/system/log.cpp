#include "host/system/log.hpp"

#include <spdlog/spdlog.h>

#include <mutex>
#include <utility>

namespace halocline {
namespace {

struct Chosen {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;
};

Chosen& chosen() {
  static auto& result = *new Chosen;  // threads of drivers may log while the process ends
  return result;
}

}  // namespace

std::shared_ptr<spdlog::logger> library_log() {
  Chosen& now = chosen();
  const std::lock_guard lock(now.mutex);
  return now.logger != nullptr ? now.logger : spdlog::default_logger();
}

void set_library_log(std::shared_ptr<spdlog::logger> logger) {
  Chosen& now = chosen();
  const std::lock_guard lock(now.mutex);
  now.logger = std::move(logger);
}

}  // namespace halocline
