// The sink of log lines.
#pragma once

#include <spdlog/sinks/sink.h>

#include <memory>

namespace halocline {

/// The standard error output, also while what libraries write there is captured (host/system/captured_stderr.hpp); in
/// spdlog's colours where that is a terminal that has them. The library's parameters appear as the command's flags.
std::shared_ptr<spdlog::sinks::sink> make_stderr_sink();

}  // namespace halocline
