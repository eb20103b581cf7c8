// Numbers of files whose writer's language has a comma where others have a point.
#pragma once

#include <string>
#include <string_view>

namespace halocline {

/// True if all of a word is a number with digits on both sides of one comma (or of one point): "-12,5", "1,5e-3".
bool is_decimal(std::string_view word, char mark);

/// The number with a point for each comma.
std::string with_points(std::string_view number);

}  // namespace halocline
