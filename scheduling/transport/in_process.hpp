// DeviceParts are threads of one process: arrays lie in host memory.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "host/system/uninitialised.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

class InProcessTransport : public Transport {
 public:
  /// Before the run: an array of so many bytes, and one of float32 that only is read.
  void hold(const std::string& array, std::size_t bytes);
  void hold(const std::string& array, const VolumeSource& source);
  /// One that lies there already.
  void hold(const std::string& array, std::byte* memory);
  /// What lies elsewhere is no longer used.
  void give_back(const std::string& array);
  /// From now on two arrays of hold(array, bytes) have each other's contents.
  void swap(const std::string& a, const std::string& b) { arrays_.at(a).swap(arrays_.at(b)); }
  /// Gives the memory of such an array back.
  void drop(const std::string& array) { arrays_.erase(array); }

  void put(const std::string& array, std::size_t first, std::size_t count, const std::byte* from) override;
  void get(const std::string& array, std::size_t first, std::size_t count, std::byte* to) const override;
  /// All of an array of float32 from where the voxels come from, or to where they go.
  void put(const std::string& array, const VolumeSource& from);
  void get(const std::string& array, VolumeSink& to) const;
  void pass_on(std::size_t slab, std::int64_t batch) override;
  bool passed_on(std::size_t slab, std::int64_t batch) override;
  void await(std::size_t slab, std::int64_t batch) override;
  void begin_step() override;
  void fail() override;
  std::unique_ptr<HaloExchange> exchange(const Plan& plan, const std::vector<Device>& devices,
                                         std::vector<std::string> names, BusTraffic& traffic) override;

 private:
  const std::byte* memory_of(const std::string& array) const;

  std::map<std::string, UninitialisedVector<std::byte>> arrays_;
  std::map<std::string, std::byte*> elsewhere_;
  std::map<std::string, const VolumeSource*> sources_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::pair<std::size_t, std::int64_t>> passed_on_;
  bool failed_ = false;
};

}  // namespace halocline
