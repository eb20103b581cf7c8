// Bytes in units for people.
#pragma once

#include <cstddef>
#include <string>

namespace halocline {

/// "1.50 GiB", "12.00 MiB", "3.50 KiB" or "17 B".
std::string bytes_text(double bytes);

}  // namespace halocline
