// The kernel sources that were embedded when the library was built.
#pragma once

#include <map>
#include <string>

namespace halocline {

/// File name (pdu.cl, grid.clh) -> text.
const std::map<std::string, std::string>& embedded_sources();

}  // namespace halocline
