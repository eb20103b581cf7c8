#include "algorithms/calibration/kernel_programs.hpp"

#include <fmt/format.h>

#include <map>

#include "algorithms/fdk/row_filter.hpp"
#include "cl/sources.hpp"

namespace halocline {

std::vector<KernelProgram> kernel_programs(const DeviceInfo& device) {
  constexpr std::size_t row = 1024;  // of a detector of up to 512 columns, padded
  const std::map<std::string, std::string> needed{
      {"fdk_rows.cl", fmt::format("-D LENGTH={} -D GROUP={}", row, local_row_items(device, row))},
      {"gridding.cl", "-D PAIRS=4 -D REACH=3.5f"},
      {"matrix.cl", "-D RAY_TILES=1 -D BLOCKS=1"},
      {"median.cl", "-D RX=1 -D RY=1 -D RZ=1 -D PAD_X=1 -D PAD_Y=1"},
      {"nlm.cl", "-D SX=3 -D SY=3 -D SZ=3 -D TX=1 -D TY=1 -D TZ=1 -D PAD_X=4 -D PAD_Y=4"},
      {"tvgd_variant.cl", "-D MARCH_Z=8 -D SLICES=2"}};
  std::vector<KernelProgram> result;
  for (const auto& [file, text] : embedded_sources()) {
    if (!file.ends_with(".cl")) continue;
    const auto found = needed.find(file);
    result.push_back({file, found == needed.end() ? "" : found->second});
  }
  return result;
}

}  // namespace halocline
