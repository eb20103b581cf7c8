#include "algorithms/denoisers/time_axis.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/system/error.hpp"

namespace halocline {

void check_time_axis(const TimeAxis& time, const std::string& method) {
  if (time.weight && !(*time.weight > 0 && std::isfinite(*time.weight)))
    throw InputError(
        {.what = "`time.weight`", .found = fmt::to_string(*time.weight), .expected = "a positive number of mm"});
  if (method == "pdu4d" && !time.weight)
    throw InputError(
        "`time.weight` is missing: pdu4d divides differences between frames by it, in mm, as it divides differences "
        "between voxels by their spacing");
  if (time.weight && method != "pdu4d" && method != "pdu" && method != "spdu")
    throw InputError(fmt::format("`time.weight` belongs to the methods pdu4d, pdu and spdu; {} knows no time", method));
}

}  // namespace halocline
