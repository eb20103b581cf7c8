// Ledger of device memory: OpenCL does not report free memory, so every allocation is booked here by name.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace halocline {

/// Bytes in use on one device, by name, against a budget. Safe to use from several threads.
class MemoryLedger {
 public:
  MemoryLedger(std::string device, std::size_t budget) : device_(std::move(device)), budget_(budget) {}

  /// Throws PlanError with a table of what is booked when the budget would be passed.
  void book(const std::string& name, std::size_t bytes);
  void release(const std::string& name, std::size_t bytes);

  std::size_t budget() const { return budget_; }
  /// Marks booked bytes as kept from job to job (DistributedArray), or no longer.
  void hold(std::size_t bytes);
  void let_go(std::size_t bytes);
  /// Bytes of the budget that a job may plan with.
  std::size_t available() const;
  std::size_t in_use() const;
  std::size_t peak() const;
  void reset_peak();

 private:
  std::string device_;
  std::size_t budget_;
  mutable std::mutex mutex_;
  std::size_t in_use_ = 0, peak_ = 0, held_ = 0;
  std::multimap<std::string, std::size_t> booked_;
};

}  // namespace halocline
