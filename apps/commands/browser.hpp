// The user's web browser.
#pragma once

#include <string>

namespace halocline {

/// Shows a file in the browser that $BROWSER names, else in the default one of the desktop (xdg-open). Returns whether
/// a browser took it: not without a desktop, without these programs, or if they end with an error.
bool open_in_browser(const std::string& path);

}  // namespace halocline
