// The parts of a page, which were embedded when the library was built.
#pragma once

#include <map>
#include <string>

namespace halocline {

/// File name (report_page.html, .css, .js) -> text.
const std::map<std::string, std::string>& page_files();

}  // namespace halocline
