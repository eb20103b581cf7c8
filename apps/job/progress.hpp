// Progress lines on stderr.
#pragma once

#include "scheduling/execution/progress.hpp"

namespace halocline {

/// Progress on a terminal is one line that is written over, with the time left. Otherwise plain lines: one every 10 %
/// but not within two seconds of the last, and one a minute. Where slabs are streamed: how fast, since the line before.
Progress make_progress(bool terminal);

/// True if stderr is a terminal.
bool stderr_is_terminal();

}  // namespace halocline
