#include "apps/io/growing_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "host/error.hpp"
#include "host/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

}  // namespace

GrowingSeries::GrowingSeries(std::string name) : name_(std::move(name)), looked_(Clock::now()) {
  check_growing_series(name_);
  if (!fs::is_directory(name_)) place_ = number_place(name_);
  if (!place_.in_name()) place_ = {};
}

void GrowingSeries::expect(std::size_t files, std::string why) {
  expected_ = files;
  why_ = std::move(why);
}

std::optional<GrowingSeries::Stamp> GrowingSeries::stamp_of(const std::string& path) {
  std::error_code code;
  Stamp stamp;
  stamp.bytes = fs::file_size(path, code);
  if (!code) stamp.time = fs::last_write_time(path, code);
  if (code) return {};  // gone again
  return stamp;
}

void GrowingSeries::look() {
  looked_before_ = looked_;
  looked_ = Clock::now();
  auto files = files_so_far(name_);
  std::erase_if(files, [&](const std::string& file) { return names_taken_.contains(file); });
  ahead_ = std::move(files);
  if (ahead_.empty()) return;
  if (place_.found && !first_number_) first_number_ = numbered_files(name_, place_).begin()->first;
  if (taken_ > 0 && natural_less(ahead_.front(), last_))
    throw InputError(fmt::format(
        "'{}' came when '{}', which lies behind it in the order of '{}', had been taken: views must come in the order "
        "of their names. Where several are written at a time, a pattern with a number (such as 'scan/proj_%04d.tif') "
        "waits for each",
        ahead_.front(), last_, name_));
  if (ahead_.size() > expected_ - std::min(taken_, expected_))
    throw InputError(
        fmt::format("'{}' is file {} of '{}', but {}", ahead_[expected_ - taken_], expected_ + 1, name_, why_));
}

// Of numbered files the one whose turn it is, be there later ones or not.
std::optional<std::string> GrowingSeries::next() const {
  if (ahead_.empty()) return {};
  if (first_number_ && ahead_.front() != place_.with(*first_number_ + taken_)) return {};
  return ahead_.front();
}

std::optional<std::string> GrowingSeries::next_so_far() {
  look();
  return next();
}

// It was not there, or another, at the look before. In between its own time tells, if that can be.
GrowingSeries::Clock::time_point GrowingSeries::arrival(const Stamp& stamp) const {
  const auto age = std::chrono::duration_cast<Clock::duration>(fs::file_time_type::clock::now() - stamp.time);
  return std::clamp(Clock::now() - std::max(age, Clock::duration::zero()), looked_before_, looked_);
}

void GrowingSeries::give_up(double patience, const std::string& reason) const {
  const auto file = next();
  std::string text = fmt::format("view {} of '{}' did not come in {:.6g} s (--wait): ", taken_, name_, patience);
  if (file) {
    text += fmt::format("'{}' is there, but not whole: {}", *file, reason.empty() ? "it still changes" : reason);
  } else if (!ahead_.empty()) {
    text += fmt::format("'{}' is missing, though '{}' is there", place_.with(*first_number_ + taken_), ahead_.front());
  } else {
    const fs::path folder = fs::is_directory(name_) ? fs::path(name_) : fs::path(name_).parent_path();
    const bool gone =
        !folder.empty() && folder.string().find_first_of("*?[") == std::string::npos && !fs::exists(folder);
    text += gone ? fmt::format("the folder '{}' is gone", folder.string()) : "no further file is there";
    if (first_number_) text += fmt::format(", '{}' is expected", place_.with(*first_number_ + taken_));
  }
  text += expected_ == SIZE_MAX ? fmt::format("; {} views came", taken_)
                                : fmt::format("; {} of {} views came", taken_, expected_);
  if (taken_ > 0) text += fmt::format(", '{}' the last", last_);
  throw FileError(text + ". Give a longer --wait if the scan goes on, else see what became of it");
}

GrowingSeries::File GrowingSeries::take(std::chrono::duration<double> patience, const Read& read) {
  std::optional<std::string> file;
  std::optional<Stamp> stamp;
  std::string reason;
  auto changed = Clock::now(), tried = Clock::time_point::min();
  Clock::time_point arrived{};
  for (;;) {
    check_interrupt();
    const auto begun = Clock::now();
    if (ahead_.size() < 2 || !next()) look();  // else it is known already that this one is whole, as far as that goes
    const auto found = next();
    const auto seen = found ? stamp_of(*found) : std::nullopt;
    const auto now = Clock::now();
    if (found != file || seen != stamp) {
      file = found;
      stamp = seen;
      changed = now;
      tried = Clock::time_point::min();
      if (stamp) arrived = arrival(*stamp);
    }
    const bool due = tried == Clock::time_point::min() || now - tried >= settle;
    if (stamp && due && (ahead_.size() > 1 || now - changed >= settle)) {
      reason = read(*file);
      if (reason.empty()) {
        ahead_.erase(ahead_.begin());
        names_taken_.insert(*file);
        last_ = *file;
        ++taken_;
        return {*file, arrived};
      }
      tried = Clock::now();
    } else if (!stamp && file) {
      ahead_.clear();  // gone since the last look
    }
    if (Clock::now() - changed >= patience) give_up(patience.count(), reason);
    // folders with many files, or far away, are looked at less often
    std::this_thread::sleep_for(std::clamp<Clock::duration>(9 * (Clock::now() - begun), 20ms, 1s));
  }
}

}  // namespace halocline
