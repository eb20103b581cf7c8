// The library's log, whose lines go to the program's callback, if it has one.
#pragma once

namespace halocline::capi {

/// From the first call on nothing goes to spdlog's default logger, which is the program's.
void take_over_log();

}  // namespace halocline::capi
