// A series of files that somebody is still writing, a scanner say: each in its turn, once it is whole.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/images/image_series.hpp"

namespace halocline {

/// The files of a folder or pattern in the order of image_series.hpp, looked for again and again: that works on file
/// systems of other computers, too, which do not report what others write there.
///
/// Nobody says when a file is whole. It is taken if it can be read, and if a later one is there or neither its size nor
/// its time has changed for `settle`. So a writer that goes on with a file after the next was begun, or that gives it
/// its full size first and then pauses, had better write under another name, and rename. While files come and go a
/// folder's list may lack one that lies before others in it: nothing is taken because of a later one that was not the
/// next at two looks.
class GrowingSeries {
 public:
  using Clock = std::chrono::steady_clock;
  struct File {
    std::string path;
    Clock::time_point arrived;  ///< when it was last seen to change
  };
  /// Reads a file, and returns why it could not, as a file is read that is not whole yet; "": it is taken. What it
  /// throws ends the wait.
  using Read = std::function<std::string(const std::string& path)>;

  static constexpr std::chrono::milliseconds settle{250};

  /// `name`: see image_series.hpp. Throws InputError as check_growing_series() does.
  explicit GrowingSeries(std::string name);

  /// More than so many files are refused from now on, and those that were seen; `why` ends the sentence "... is file
  /// 49, but". Throws InputError.
  void expect(std::size_t files, std::string why);

  /// Waits for the next file. Throws
  ///   FileError   if it did not come, or change, for `patience`, and twice `settle`: says which one, where, and what
  ///               is there
  ///   InputError  for files that come before one that was taken, and for more than are expected
  ///   Interrupted
  File take(std::chrono::duration<double> patience, const Read& read);
  std::size_t taken() const { return taken_; }

  /// The one that would be taken next, if there is one by now.
  std::optional<std::string> next_so_far();

 private:
  struct Stamp {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type time;
    bool operator==(const Stamp&) const = default;
  };
  static std::optional<Stamp> stamp_of(const std::string& path);
  void look();
  void refuse_surplus() const;
  std::optional<std::string> next() const;
  Clock::time_point arrival(const Stamp& stamp) const;
  [[noreturn]] void give_up(double patience, const std::string& reason) const;

  std::string name_, why_;
  bool folder_;
  NumberPlace place_;
  std::optional<std::size_t> first_number_;
  std::size_t expected_ = SIZE_MAX, taken_ = 0;
  std::set<std::string> names_taken_;
  std::string last_;                // last file that was taken
  std::vector<std::string> ahead_;  // files that existed at the last look and are not taken, in order
  std::size_t sure_ = 0;            // so many of them were the next ones at the look before, too
  Clock::time_point looked_, looked_before_;
};

}  // namespace halocline
