#include "host/opencl/memory_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

std::string row(const std::string& name, std::size_t bytes) {
  return fmt::format("  {:<24} {:>14.3f} MiB\n", name, static_cast<double>(bytes) / mebibyte);
}

}  // namespace

void MemoryLedger::book(const std::string& name, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  const std::size_t available = budget_ - in_use_;  // never negative: nothing is booked beyond the budget
  if (bytes > available) {
    std::vector<std::pair<std::string, std::size_t>> largest(booked_.begin(), booked_.end());
    std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string table = fmt::format("{}: array {} does not fit the budget of device memory.\n", device_, name);
    for (const auto& [booked_name, booked_bytes] : largest) table += row(booked_name, booked_bytes);
    table += row("in use", in_use_);
    table += row("needed for " + name, bytes);
    table += row("budget", budget_);
    throw BudgetError(table + "Give a larger `device_memory` if the device has more, or choose another `device`.");
  }
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  booked_.emplace(name, bytes);
}

void MemoryLedger::release(const std::string& name, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  const auto [first, last] = booked_.equal_range(name);
  const auto entry = std::find_if(first, last, [bytes](const auto& booked) { return booked.second == bytes; });
  if (entry == last) return;  // destructors call this, so it never throws
  in_use_ -= bytes;
  booked_.erase(entry);
}

void MemoryLedger::hold(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  held_ += bytes;
}

void MemoryLedger::let_go(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  held_ -= bytes;
}

std::size_t MemoryLedger::available() const {
  std::lock_guard lock(mutex_);
  return budget_ - held_;
}

std::size_t MemoryLedger::in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

std::size_t MemoryLedger::peak() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

void MemoryLedger::reset_peak() {
  std::lock_guard lock(mutex_);
  peak_ = in_use_;
}

}  // namespace halocline
