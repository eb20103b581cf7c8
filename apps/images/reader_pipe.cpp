#include "apps/images/reader_pipe.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/system/interrupt.hpp"

namespace halocline {

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

namespace {

// Waits for an event of a descriptor. Throws Interrupted.
bool wait_until_ready(int descriptor, short event, ReaderDeadline end) {
  constexpr int look = 100;  // milliseconds
  while (true) {
    check_interrupt();
    pollfd ready{descriptor, event, 0};
    const int found = ::poll(&ready, 1, look);
    if (found > 0) return true;
    if ((found < 0 && errno != EINTR) || std::chrono::steady_clock::now() > end) return false;
  }
}

// Moves bytes by `move`, which returns how many it moved, or -1 with errno.
template <typename Byte, typename Move>
bool move_all(Byte* at, std::size_t bytes, Move move) {
  while (bytes > 0) {
    const ssize_t done = move(at, bytes);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done <= 0) return false;
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace

bool read_all(int from, void* to, std::size_t bytes, ReaderDeadline end) {
  return move_all(static_cast<char*>(to), bytes, [&](char* at, std::size_t count) -> ssize_t {
    return wait_until_ready(from, POLLIN, end) ? ::read(from, at, count) : 0;
  });
}

bool read_waiting(int from, void* to, std::size_t bytes) {
  return move_all(static_cast<char*>(to), bytes, [&](char* at, std::size_t count) { return ::read(from, at, count); });
}

bool write_all(int to, const void* from, std::size_t bytes) {
  return move_all(static_cast<const char*>(from), bytes,
                  [&](const char* at, std::size_t count) { return ::write(to, at, count); });
}

bool send_all(int socket, const void* from, std::size_t bytes, ReaderDeadline end) {
  return move_all(static_cast<const char*>(from), bytes, [&](const char* at, std::size_t count) -> ssize_t {
    return wait_until_ready(socket, POLLOUT, end) ? ::send(socket, at, count, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
  });
}

bool send_with(int socket, const void* from, std::size_t bytes, int descriptor) {
  iovec part{const_cast<void*>(from), bytes};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

int receive_with(int socket, void* to, std::size_t bytes) {
  iovec part{to, bytes};
  int descriptor = -1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  ssize_t got = 0;
  do got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  if (got == static_cast<ssize_t>(bytes)) return descriptor;
  if (descriptor >= 0) ::close(descriptor);
  return -1;
}

}  // namespace halocline
