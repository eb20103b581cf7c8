#include "apps/version.hpp"

#include <fmt/format.h>

#include "halocline_commit.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

std::string version_text() {
#ifdef HALOCLINE_WITH_ITK
  const std::string files = "ITK " HALOCLINE_ITK_VERSION " (NRRD, NIfTI, TIFF, DICOM, HDF5)";
#else
  const std::string files = "no ITK (MetaImage and PNG only)";
#endif
  const std::string mpi = mpi_library();
  return fmt::format("halocline {} (commit {})\nbuilt with {} as {}: OpenCL 1.2 and later, {}{}", HALOCLINE_VERSION,
                     HALOCLINE_COMMIT, HALOCLINE_COMPILER, HALOCLINE_BUILD_TYPE, files, mpi.empty() ? "" : ", " + mpi);
}

}  // namespace halocline
