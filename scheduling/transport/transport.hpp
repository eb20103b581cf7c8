// Data that the devices' parts of a run share: arrays of the whole run in host memory, and ray sums that go from slab
// to slab. The parts, threads of one process, share nothing else.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "host/system/uninitialised.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/planning/range_set.hpp"
#include "scheduling/planning/ray_chain.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// The array of the sums over slices or views of a step or pass.
inline constexpr const char* sums_array = "(sums)";

/// Code of the ClError of work that ends because other work has failed, whose error is the one to report:
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.
inline constexpr int failed_before = -14;

class RayRoute;

/// Bytes [begin, begin + count) of each view, which has `view` bytes; view 0: all bytes of an array.
struct ViewPart {
  std::size_t view = 0, begin = 0, count = 0;
};

class Transport {
 public:
  /// Allocates an array; registers a float32 array that is only read; registers an array in the caller's memory.
  /// part: what of it gets memory. Other bytes are passed over by put(), and by get(), which leaves its target.
  void hold(const std::string& array, std::size_t bytes, const ViewPart& part = {});
  void hold(const std::string& array, const VolumeSource& source);
  void hold(const std::string& array, std::byte* memory);
  /// Forgets a registered array.
  void give_back(const std::string& array);
  /// Exchanges the contents of two allocated arrays.
  void swap(const std::string& a, const std::string& b) { std::swap(arrays_.at(a), arrays_.at(b)); }
  /// Frees an allocated array.
  void drop(const std::string& array) { arrays_.erase(array); }

  /// Copies bytes [first, first + count) of an array. Several threads may call these.
  void put(const std::string& array, std::size_t first, std::size_t count, const std::byte* from);
  void get(const std::string& array, std::size_t first, std::size_t count, std::byte* to) const;
  /// Memory of blocks of an array that was allocated, each `stride` after the one before, and what keeps it. In an
  /// array with parts of views the stride is a view; throws std::logic_error where a block is not in its part.
  MemoryBlocks blocks(const std::string& array, std::size_t first, std::size_t bytes, std::size_t count = 1,
                      std::size_t stride = 0);
  std::shared_ptr<const void> owner(const std::string& array) { return arrays_.at(array).memory; }
  /// Copies a whole float32 array, or voxels [first, first + count) of it.
  void put(const std::string& array, const VolumeSource& from) { put(array, from, 0, from.grid().count()); }
  void put(const std::string& array, const VolumeSource& from, std::size_t first, std::size_t count);
  void get(const std::string& array, VolumeSink& to) const { get(array, 0, to.grid().count(), to); }
  void get(const std::string& array, std::size_t first, std::size_t count, VolumeSink& to) const;

  /// Reports that the sums of these rows of a batch, named by its first view, over all slabs up to `slab` are stored.
  void pass_on(std::size_t slab, std::int64_t batch, Range rows);
  /// True after pass_on() of all rows of the link.
  bool passed_on(const RayLink& link, std::int64_t batch);
  /// Waits until they are passed on, perhaps by another rank. Throws ClError after fail().
  void await(const RayLink& link, std::int64_t batch);
  /// Begins a step, in which nothing has been passed on yet. route: of its ray sums between ranks, kept by reference;
  /// nullptr: all slabs are here.
  void begin_step(RayRoute* route = nullptr);
  /// Ends all waiting: a part has failed.
  void fail();

 private:
  struct Array {
    std::shared_ptr<UninitialisedVector<std::byte>> memory;
    ViewPart part;
  };
  // Memory, and the part of an array that it holds.
  std::pair<std::byte*, ViewPart> place_of(const std::string& array) const;

  RayRoute* route_ = nullptr;
  std::map<std::string, Array> arrays_;
  std::map<std::string, std::byte*> elsewhere_;
  std::map<std::string, const VolumeSource*> sources_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::size_t, std::int64_t>, RangeSet> passed_on_;  // rows by slab and batch
  bool failed_ = false;
};

}  // namespace halocline
