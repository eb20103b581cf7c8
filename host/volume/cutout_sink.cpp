#include "host/volume/cutout_sink.hpp"

#include <algorithm>

namespace halocline {

// Row by row of the whole volume.
void CutoutSink::write(std::size_t first, std::size_t count, float* from) {
  const auto& size = whole_.size;
  while (count > 0) {
    const std::size_t x = first % size[0], row = first / size[0], y = row % size[1], z = row / size[1];
    const std::size_t now = std::min(count, size[0] - x);
    const bool inside = y >= part_.first[1] && y < part_.first[1] + part_.size[1] && z >= part_.first[2] &&
                        z < part_.first[2] + part_.size[2];
    const std::size_t begin = std::max(x, part_.first[0]), end = std::min(x + now, part_.first[0] + part_.size[0]);
    if (inside && begin < end)
      inner_.write(begin - part_.first[0] + part_.size[0] * (y - part_.first[1] + part_.size[1] * (z - part_.first[2])),
                   end - begin, from + (begin - x));
    first += now;
    from += now;
    count -= now;
  }
}

}  // namespace halocline
