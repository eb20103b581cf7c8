#include "apps/job/log_sink.hpp"

#include <spdlog/details/os.h>
#include <spdlog/sinks/base_sink.h>

#include <array>
#include <cstdio>
#include <mutex>
#include <string>

#include "apps/job/option_names.hpp"
#include "host/system/captured_stderr.hpp"

namespace halocline {
namespace {

class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    // trace, debug, info, warn, error, critical, off
    static constexpr std::array colours{"\033[37m",        "\033[36m",        "\033[32m", "\033[33m\033[1m",
                                        "\033[31m\033[1m", "\033[1m\033[41m", "\033[m"};
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    std::string text(formatted.data(), formatted.size());
    if (coloured_ && message.color_range_end > message.color_range_start) {
      text.insert(message.color_range_end, "\033[m");
      text.insert(message.color_range_start, colours[static_cast<std::size_t>(message.level)]);
    }
    write_stderr(in_options(text));
  }
  void flush_() override {}

 private:
  const bool coloured_ = spdlog::details::os::in_terminal(stderr) && spdlog::details::os::is_color_terminal();
};

}  // namespace

std::shared_ptr<spdlog::sinks::sink> make_stderr_sink() {
  return std::make_shared<StderrSink>();
}

}  // namespace halocline
