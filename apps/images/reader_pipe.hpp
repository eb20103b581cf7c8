// Bytes through pipes and sockets of a reader process.
#pragma once

#include <chrono>
#include <cstddef>

namespace halocline {

/// A descriptor that is closed at the end of its lifetime.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  void close();

 private:
  int number_;
};

using ReaderDeadline = std::chrono::steady_clock::time_point;

/// Reads so many bytes; false: the other end was closed before, or the deadline passed. Throws Interrupted.
bool read_all(int from, void* to, std::size_t bytes, ReaderDeadline end);
/// Waits for so many bytes, with no other call than read(); false: the other end was closed before.
bool read_waiting(int from, void* to, std::size_t bytes);
/// Writes so many; false: the other end is closed.
bool write_all(int to, const void* from, std::size_t bytes);

/// Sends so many through a socket; false: its other end is closed, or does not take them in time. Throws Interrupted.
bool send_all(int socket, const void* from, std::size_t bytes, ReaderDeadline end);
/// Sends bytes through a socket, and a descriptor with their first; false as above.
bool send_with(int socket, const void* from, std::size_t bytes, int descriptor);
/// Receives such bytes. Returns the descriptor; -1: the other end is closed.
int receive_with(int socket, void* to, std::size_t bytes);

}  // namespace halocline
