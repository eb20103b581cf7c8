// Builds without MPI. A program linked with mpi_ranks.cpp itself takes these functions from there.
#include <stdexcept>

#include "scheduling/transport/ranks.hpp"

namespace halocline {

std::unique_ptr<Ranks> make_mpi_ranks() {
  throw std::logic_error("this build has no MPI");
}

std::string mpi_library() {
  return {};
}

}  // namespace halocline
