// Log of the library's warnings and notes.
#pragma once

#include <spdlog/logger.h>

#include <memory>

namespace halocline {

/// The logger of set_library_log(), or spdlog's default one.
std::shared_ptr<spdlog::logger> library_log();

/// Sets the log of all threads. nullptr: spdlog's default logger.
void set_library_log(std::shared_ptr<spdlog::logger> logger);

}  // namespace halocline
