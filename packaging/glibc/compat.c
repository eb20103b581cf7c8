/* What gcc 12's headers and libstdc++.a ask of later glibcs than 2.28, by what that one has. */
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

/* glibc 2.32. Nothing says that the process has one thread, so libstdc++ counts by atomic operations. */
char __libc_single_threaded = 0;

/* glibc 2.33. Before that, these are functions that take the version of the structure. */
enum { stat_version = 1 };
int __xstat(int version, const char* path, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int file, struct stat* result);
int __fxstat64(int version, int file, struct stat64* result);

int stat(const char* path, struct stat* result) {
  return __xstat(stat_version, path, result);
}
int lstat(const char* path, struct stat* result) {
  return __lxstat(stat_version, path, result);
}
int fstat(int file, struct stat* result) {
  return __fxstat(stat_version, file, result);
}
int fstat64(int file, struct stat64* result) {
  return __fxstat64(stat_version, file, result);
}

/* glibc 2.30. Callers look at their own clock when it returns, as std::condition_variable does. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, deadline;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += until->tv_sec - now.tv_sec;
  deadline.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (deadline.tv_nsec < 0) {
    deadline.tv_nsec += 1000000000;
    --deadline.tv_sec;
  } else if (deadline.tv_nsec >= 1000000000) {
    deadline.tv_nsec -= 1000000000;
    ++deadline.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &deadline);
}
