#include "apps/options/noise_options.hpp"

namespace halocline {

void add_variance_option(Settings& settings, NoiseOptions& options, const std::string& about, const std::string& type) {
  settings.add("variance-out", options.output, about)
      .unit(type)
      .group("Noise of the volume")
      .file(FileKind::image, true, type != "FILE");
}

}  // namespace halocline
