// Limits of a process that reads strangers' files.
#pragma once

#include <cstdint>

namespace halocline {

struct ProcessLimits {
  std::uint64_t seconds = 0;  ///< of processor time
  std::uint64_t bytes = 0;    ///< of address space
};

/// Limits this process for the rest of its life: time, memory, 256 open files, no core dumps, no new rights, no writing
/// to files. On Linux on x86-64 and AArch64 a filter of system calls (seccomp) also refuses all but those by which its
/// threads read files, take memory and write to what is open: no network, no other programs or processes, no
/// signals to others, no files opened for writing. Where the system lacks one of them, the others hold.
void confine_process(const ProcessLimits& limits);

}  // namespace halocline
