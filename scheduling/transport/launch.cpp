#include "scheduling/transport/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>

#include "host/system/error.hpp"

namespace halocline {
namespace {

// Variables of launchers, which are no settings of Halocline.
const char* variable(const char* name) {
  return std::getenv(name);
}

std::optional<int> number_in(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = variable(name)) return std::atoi(value);
  return std::nullopt;
}

// MPICH's launcher closes its end of a process's socket when MPI ends there.
bool socket_is_closed() {
  const auto number = number_in({"PMI_FD"});
  if (!number) return false;
  pollfd socket{*number, POLLIN, 0};
  return ::poll(&socket, 1, 0) > 0 && (socket.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

// PMIx's launchers have a folder for a launch, which they remove at its end.
bool left_a_mark() {
  const char* const folder = variable("PMIX_SERVER_TMPDIR");
  const char* const launch = variable("PMIX_NAMESPACE");
  const char* const rank = variable("PMIX_RANK");
  if (folder == nullptr || launch == nullptr || rank == nullptr) return false;
  const auto path = std::filesystem::path(folder) / fmt::format("halocline.{}.{}", launch, rank);
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
  return file < 0 && errno == EEXIST;
}

}  // namespace

// Open MPI; MPICH, Intel MPI and Slurm's PMI-2; PMIx, whose number of processes Slurm alone says.
std::optional<Launch> current_launch() {
  const bool pmix = variable("PMIX_RANK") != nullptr;
  auto processes = number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  if (!processes && pmix) processes = number_in({"SLURM_STEP_NUM_TASKS"});
  if (!processes && !pmix) return std::nullopt;
  return Launch{processes, number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})};
}

void require_first_in_launch() {
  if (!socket_is_closed() && !left_a_mark()) return;
  throw InputError(
      "another command of Halocline has run as this rank of the launch before, and MPI starts once in it; give each "
      "command a launch of its own, or set HALOCLINE_MPI=off for one process a rank");
}

}  // namespace halocline
