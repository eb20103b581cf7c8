// The text of `halocline --version`.
#pragma once

#include <string>

namespace halocline {

/// "halocline 0.1.0 (commit 1a2b3c4)" and a line that names what the program was built with. The commit is that of the
/// sources, with "+" if they had changes; "commit unknown" where they were no git checkout.
std::string version_text();

}  // namespace halocline
