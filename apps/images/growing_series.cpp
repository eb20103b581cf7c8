#include "apps/images/growing_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A file of a folder, if it holds any.
std::optional<std::string> any_file(const std::string& folder) {
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
    if (std::error_code gone; at->is_regular_file(gone)) return at->path().filename().string();
  return {};
}

}  // namespace

GrowingSeries::GrowingSeries(std::string name)
    : name_(std::move(name)), folder_(fs::is_directory(name_)), looked_(Clock::now()) {
  check_growing_series(name_);
  if (!folder_) place_ = number_place(name_);
  if (!place_.in_name()) place_ = {};
}

void GrowingSeries::expect(std::size_t files, std::string why) {
  expected_ = files;
  why_ = std::move(why);
  refuse_surplus();
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
  const auto differ = std::mismatch(files.begin(), files.end(), ahead_.begin(), ahead_.end()).first;
  sure_ = static_cast<std::size_t>(differ - files.begin());
  ahead_ = std::move(files);
  // Lower numbers may still appear until one was taken.
  if (taken_ == 0) first_number_ = ahead_.empty() ? std::nullopt : place_.number_in(ahead_.front());
  if (ahead_.empty()) return;
  if (taken_ > 0 && natural_less(ahead_.front(), last_))
    throw InputError(
        place_.found
            ? fmt::format("'{}' came when the series '{}' had begun with '{}': its first number is the lowest that is "
                          "there, and must come before the others. Begin again now that it is there",
                          ahead_.front(), name_, place_.with(*first_number_))
            : fmt::format("'{}' came when '{}', which lies behind it in the order of '{}', had been taken: views must "
                          "come in the order of their names. Where several are written at a time, a pattern with a "
                          "number (such as 'scan/proj_%04d.tif') waits for each",
                          ahead_.front(), last_, name_));
  refuse_surplus();
}

void GrowingSeries::refuse_surplus() const {
  const std::size_t wanted = expected_ - std::min(taken_, expected_);
  if (ahead_.size() > wanted)
    throw InputError(fmt::format("'{}' is file {} of '{}', but {}", ahead_[wanted], taken_ + wanted + 1, name_, why_));
}

// The next of numbered files, whether later ones exist or not.
std::optional<std::string> GrowingSeries::next() const {
  if (ahead_.empty()) return {};
  if (first_number_ && ahead_.front() != place_.with(*first_number_ + taken_)) return {};
  return ahead_.front();
}

std::optional<std::string> GrowingSeries::next_so_far() {
  look();
  return next();
}

// The time of a change: after the look at which the file was not there, or another, and its own time if that fits.
GrowingSeries::Clock::time_point GrowingSeries::arrival(const Stamp& stamp) const {
  const auto age = std::chrono::duration_cast<Clock::duration>(fs::file_time_type::clock::now() - stamp.time);
  return std::clamp(Clock::now() - std::max(age, Clock::duration::zero()), looked_before_, looked_);
}

void GrowingSeries::give_up(double patience, const std::string& reason) const {
  const auto file = next();
  std::string text = fmt::format("view {} of '{}' did not come in {:.6g} s (`patience`): ", taken_, name_, patience);
  if (file) {
    text += fmt::format("'{}' is there, but not whole: {}", *file, reason);
  } else if (!ahead_.empty()) {
    text += fmt::format("'{}' is missing, though '{}' is there", place_.with(*first_number_ + taken_), ahead_.front());
  } else {
    const fs::path folder = folder_ ? fs::path(name_) : fs::path(name_).parent_path();
    std::error_code code;
    const bool one_folder = folder_ || place_.found || folder.string().find_first_of("*?[") == std::string::npos;
    const bool gone = !folder.empty() && one_folder && fs::status(folder, code).type() == fs::file_type::not_found;
    const auto other = folder_ && taken_ == 0 ? any_file(name_) : std::nullopt;
    if (gone)
      text += fmt::format("the folder '{}' is gone", folder.string());
    else if (other)
      text += fmt::format(
          "no TIFF file (.tif, .tiff) is there, though '{}' is (other formats are followed by a pattern)", *other);
    else
      text += "no further file is there";
    if (first_number_) text += fmt::format(", '{}' is expected", place_.with(*first_number_ + taken_));
  }
  text += expected_ == SIZE_MAX ? fmt::format("; {} came", views_text(taken_))
                                : fmt::format("; {} of {} came", taken_, views_text(expected_));
  if (taken_ > 0) text += fmt::format(", '{}' the last", last_);
  throw FileError(text + ". Give a longer `patience` if the scan goes on, else see what became of it");
}

GrowingSeries::File GrowingSeries::take(std::chrono::duration<double> patience, const Read& read) {
  patience = std::max<std::chrono::duration<double>>(patience, 2 * settle);  // or nothing would be tried
  std::optional<std::string> file;
  std::optional<Stamp> stamp;
  std::string reason;
  auto changed = Clock::now(), tried = Clock::time_point::min();
  Clock::time_point arrived{};
  for (;;) {
    check_interrupt();
    const auto begun = Clock::now();
    // This one is known to be whole otherwise, as far as that is possible.
    if (ahead_.size() < 2 || sure_ == 0 || !next()) look();
    const auto found = next();
    const auto seen = found ? stamp_of(*found) : std::nullopt;
    const auto now = Clock::now();
    if (found != file || seen != stamp) {
      file = found;
      stamp = seen;
      changed = now;
      reason.clear();
      tried = Clock::time_point::min();
      if (stamp) arrived = arrival(*stamp);
    }
    const bool due = tried == Clock::time_point::min() || now - tried >= settle;
    if (stamp && due && ((ahead_.size() > 1 && sure_ > 0) || now - changed >= settle)) {
      reason = read(*file);
      if (reason.empty()) {
        ahead_.erase(ahead_.begin());
        sure_ -= std::min<std::size_t>(sure_, 1);
        names_taken_.insert(*file);
        last_ = *file;
        ++taken_;
        return {*file, arrived};
      }
      tried = Clock::now();
      sure_ = 0;  // look again: it may have been a later one after all
    } else if (!stamp && file) {
      reason = "it cannot be looked at";
      sure_ = 0;
    }
    if (now - changed >= patience) give_up(patience.count(), reason);
    if (!stamp) ahead_.clear();  // it may be gone since the last look
    // folders with many files, or far away, are looked at less often
    std::this_thread::sleep_for(std::clamp<Clock::duration>(9 * (Clock::now() - begun), 20ms, 1s));
  }
}

}  // namespace halocline
