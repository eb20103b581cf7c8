// Transfers between ordinary host memory and a device with memory of its own, through page-locked chunks: several times
// as fast as the driver's path from pageable memory (measured on an H200: 8 GB/s up, 14 down without).
#pragma once

#include <array>
#include <span>

#include "host/device.hpp"

namespace halocline {

class Staging {
 public:
  explicit Staging(Device device) : device_(std::move(device)) {}

  /// As Device::write, but the host memory is free again when the call returns if the transfer was staged. Devices that
  /// share the host's memory, and small transfers, take the direct way.
  Event write(const Buffer& to, std::size_t offset, const void* from, std::size_t bytes,
              std::span<const Event> waits = {});
  /// As Device::read; a staged transfer has ended when the call returns.
  Event read(const Buffer& from, std::size_t offset, void* to, std::size_t bytes, std::span<const Event> waits = {});

 private:
  struct Chunk {
    PinnedMemory memory;
    Event busy;
  };
  bool direct(std::size_t bytes) const;
  Chunk& next_chunk();

  Device device_;
  std::array<Chunk, 3> chunks_;
  std::size_t next_ = 0;
};

}  // namespace halocline
