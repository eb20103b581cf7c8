#include "apps/images/confined.hpp"

#include <sys/resource.h>

#include <algorithm>

#ifdef __linux__
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>
#endif

namespace halocline {
namespace {

// A signal that a process may handle comes at `most`, the end a little later.
void limit_to(int resource, std::uint64_t most, std::uint64_t later = 0) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_max = std::min<rlim_t>(now.rlim_max, most + later);
  now.rlim_cur = std::min<rlim_t>(now.rlim_cur, most);
  ::setrlimit(resource, &now);
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#ifdef __x86_64__
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif

// Calls with any arguments. Those that open files are not among them.
constexpr std::array allowed_calls{
    SYS_read,
    SYS_pread64,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_flock,
    SYS_dup,
    SYS_fadvise64,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_sched_yield,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_getrandom,
    SYS_getrusage,
    SYS_times,
    SYS_uname,
    SYS_sysinfo,
    SYS_sched_getaffinity,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_set_robust_list,
    SYS_rseq,
#ifdef __x86_64__
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_time,
#endif
};

constexpr sock_filter load_word(std::size_t at) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at));
}
constexpr sock_filter skip_unless(long value, std::uint8_t count) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(value), 0, count);
}
constexpr sock_filter verdict(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}
constexpr std::size_t argument(std::size_t n) {
  return offsetof(seccomp_data, args) + n * sizeof(std::uint64_t);
}

// The lower half of an argument, on these little-endian machines, is `expected` behind `mask`.
void allow_if(std::vector<sock_filter>& program, long call, std::size_t at, std::uint32_t mask,
              std::uint32_t expected) {
  program.push_back(skip_unless(call, 5));
  program.push_back(load_word(argument(at)));
  program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
  program.push_back(skip_unless(expected, 1));
  program.push_back(verdict(SECCOMP_RET_ALLOW));
  program.push_back(verdict(SECCOMP_RET_ERRNO | EPERM));
}

// Those of fcntl() that neither send signals nor tie a file to another process.
void allow_fcntl(std::vector<sock_filter>& program) {
  constexpr std::array allowed{F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_GETLK, F_SETLK, F_SETLKW};
  program.push_back(skip_unless(SYS_fcntl, static_cast<std::uint8_t>(2 * allowed.size() + 2)));
  program.push_back(load_word(argument(1)));
  for (const int command : allowed) {
    program.push_back(skip_unless(command, 1));
    program.push_back(verdict(SECCOMP_RET_ALLOW));
  }
  program.push_back(verdict(SECCOMP_RET_ERRNO | EPERM));
}

// Unknown calls do not exist, by which the C library falls back to older ones.
std::vector<sock_filter> filter() {
  std::vector<sock_filter> program{load_word(offsetof(seccomp_data, arch)), skip_unless(architecture, 1),
                                   BPF_STMT(BPF_JMP | BPF_JA, 1), verdict(SECCOMP_RET_KILL_PROCESS),
                                   load_word(offsetof(seccomp_data, nr))};
  constexpr std::uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC;
  allow_if(program, SYS_openat, 2, writing, O_RDONLY);
#ifdef __x86_64__
  allow_if(program, SYS_open, 1, writing, O_RDONLY);
#endif
  allow_if(program, SYS_tgkill, 0, 0xffffffff, static_cast<std::uint32_t>(::getpid()));  // abort()
  allow_if(program, SYS_clone, 0, CLONE_THREAD, CLONE_THREAD);                           // ITK has a pool of threads
  allow_fcntl(program);
  for (const long call : allowed_calls) {
    program.push_back(skip_unless(call, 1));
    program.push_back(verdict(SECCOMP_RET_ALLOW));
  }
  program.push_back(verdict(SECCOMP_RET_ERRNO | ENOSYS));
  return program;
}

void filter_calls() {
  std::vector<sock_filter> program = filter();
  const sock_fprog compiled{static_cast<unsigned short>(program.size()), program.data()};
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &compiled);
}

#else

void filter_calls() {}

#endif

}  // namespace

void confine_process(const ProcessLimits& limits) {
  constexpr std::uint64_t files = 256;
  limit_to(RLIMIT_CORE, 0);
  limit_to(RLIMIT_FSIZE, 0);
  limit_to(RLIMIT_NOFILE, files);
  limit_to(RLIMIT_CPU, limits.seconds, 5);
#ifndef __SANITIZE_ADDRESS__  // whose shadow takes terabytes
  limit_to(RLIMIT_AS, limits.bytes);
#endif
#ifdef __linux__
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0);
  filter_calls();
#endif
}

}  // namespace halocline
