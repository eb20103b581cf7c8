// Where the library's warnings and notes go.
#pragma once

#include <spdlog/logger.h>

#include <memory>

namespace halocline {

/// The logger of set_library_log(), or spdlog's default one.
std::shared_ptr<spdlog::logger> library_log();

/// From now on, for all threads. nullptr: spdlog's default logger.
void set_library_log(std::shared_ptr<spdlog::logger> logger);

}  // namespace halocline
