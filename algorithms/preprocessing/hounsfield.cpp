#include "algorithms/preprocessing/hounsfield.hpp"

namespace halocline {

void HounsfieldSink::write(std::size_t first, std::size_t count, float* from) {
  float* to = sink_.data() != nullptr ? sink_.data() + first : from;
  for (std::size_t n = 0; n < count; ++n) {
    const double value = from[n];
    to[n] =
        static_cast<float>(variance_ ? value * (1000 / water_) * (1000 / water_) : 1000 * (value - water_) / water_);
  }
  sink_.write(first, count, to);
}

}  // namespace halocline
