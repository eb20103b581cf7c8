// The settings of a job, each described once: the command makes its options of them, the C interface and Python set
// them by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halocline {

enum class SettingKind { flag, whole, number, word, text, numbers, bytes };
/// Files that a setting names.
enum class FileKind { none, image, geometry, picture, json, text, any };
struct FileUse {
  FileKind kind = FileKind::none;
  bool written = false;
  bool several = false;  ///< with commas between
};

enum class Numbers { any, positive, sizes, indices };  // sizes: whole, from 1; indices: whole, from 0

/// One setting. Functions that return the setting complete its description.
class Setting {
 public:
  /// Gets the words that were given, one but for lists.
  using Take = std::function<void(const std::vector<std::string>& words)>;
  Setting(std::string name, SettingKind kind, std::string help, Take take);
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  Setting& unit(std::string name) { return unit_ = std::move(name), *this; }  ///< name of its value, as "MM"
  /// Its value names such a file. Without it, one with the unit FILE names an image that is read.
  Setting& file(FileKind kind, bool written = false, bool several = false);
  Setting& writes(FileKind kind) { return file(kind, true); }
  /// Words that it takes beside others, for help and completion.
  Setting& also(std::vector<std::string> words) { return also_ = std::move(words), *this; }
  Setting& group(std::string title) { return group_ = std::move(title), *this; }
  Setting& initial(std::string text) { return initial_ = std::move(text), *this; }  ///< the default that help shows
  Setting& one_of(std::vector<std::string> words);
  /// Besides the words of one_of(), names of files that end so, such as ".cl".
  Setting& or_file(std::string suffix);
  Setting& finite();
  Setting& positive();
  Setting& not_negative();
  Setting& between(double least, double greatest);
  Setting& whole_from(std::int64_t least, std::int64_t greatest = std::numeric_limits<std::int32_t>::max());
  Setting& whole_of_64_bits();
  /// The checks so far hold until another is named.
  Setting& by_default() { return by_kind_ = true, *this; }
  Setting& not_empty(std::string expected);
  /// Names of settings of the same table: one without which it has no use, and one that it contradicts.
  Setting& needs(std::string name) { return needs_ = std::move(name), *this; }
  Setting& excludes(std::string name) { return excludes_.push_back(std::move(name)), *this; }
  /// Most words of a list on a command line.
  Setting& at_most(int words) { return most_words_ = words, *this; }
  Setting& required() { return required_ = true, *this; }
  /// All spellings on a command line, with commas between.
  Setting& named(std::string flags) { return flags_ = std::move(flags), *this; }
  /// A word without a flag on a command line.
  Setting& positional() { return flags_ = name_, *this; }

  const std::string& name() const { return name_; }  ///< with '-' between words
  std::string id() const;                            ///< with '_'
  SettingKind kind() const { return kind_; }
  const std::string& help() const { return help_; }
  const std::string& unit() const { return unit_; }
  const std::string& group() const { return group_; }
  const std::string& initial() const { return initial_; }
  const std::vector<std::string>& words() const { return words_; }
  const std::string& file_suffix() const { return suffix_; }
  FileUse file() const;
  const std::vector<std::string>& also() const { return also_; }
  const std::string& needs() const { return needs_; }
  const std::vector<std::string>& excludes() const { return excludes_; }
  int most_words() const { return most_words_; }
  bool is_required() const { return required_; }
  /// Spellings on a command line, with commas between.
  std::string flags() const { return flags_.empty() ? "--" + name_ : flags_; }
  bool is_positional() const { return flags_ == name_; }
  /// The name on a command line and in reports, with dashes unless it is positional.
  std::string option() const { return is_positional() ? name_ : "--" + name_; }
  /// Returns true if all values that are given count, however many.
  bool repeats() const { return most_words_ == any_number; }
  /// Describes what `text` would have to be instead; empty if it is right.
  std::string expected(const std::string& text) const;
  bool checked() const { return !checks_.empty(); }
  /// Sets it. Throws InputError that names the setting in backticks, with '_' between words, if `text` is none of its
  /// kind or out of range.
  void set(const std::vector<std::string>& words);
  bool given() const { return given_; }
  /// The words as given; empty: the default counts.
  const std::vector<std::string>& value() const { return value_; }

  static constexpr int any_number = 1 << 20;

 private:
  struct Check {
    std::string expected;
    std::function<bool(const std::string&)> good;
  };
  // The first of these replaces what the kind alone asks for.
  Setting& require(std::string expected, std::function<bool(const std::string&)> good);

  std::string name_, flags_, help_, unit_, group_, initial_, needs_, suffix_;
  SettingKind kind_;
  std::vector<std::string> words_, also_, excludes_, value_;
  FileUse file_;
  std::vector<Check> checks_;
  Take take_;
  int most_words_ = 1;
  bool given_ = false, required_ = false, by_kind_ = false;
};

/// The settings of one job, in the order of its help. Targets have to outlive it.
class Settings {
 public:
  Settings() = default;
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  Setting& add(const std::string& name, bool& target, const std::string& help);
  Setting& add(const std::string& name, int& target, const std::string& help);
  Setting& add(const std::string& name, std::uint64_t& target, const std::string& help);
  Setting& add(const std::string& name, double& target, const std::string& help);
  Setting& add(const std::string& name, std::string& target, const std::string& help);
  Setting& add(const std::string& name, std::optional<int>& target, const std::string& help);
  Setting& add(const std::string& name, std::optional<std::size_t>& target, const std::string& help);
  Setting& add(const std::string& name, std::optional<double>& target, const std::string& help);
  Setting& add(const std::string& name, std::vector<double>& target, const std::string& help);
  /// Bytes, as parse_bytes() takes them.
  Setting& add_bytes(const std::string& name, std::size_t& target, const std::string& help);
  /// All words that are given.
  Setting& add(const std::string& name, std::vector<std::string>& target, const std::string& help);
  /// A list of exactly N numbers, as one word with commas or as N words. names: "NX,NY,NZ".
  template <typename T, std::size_t N>
  Setting& add_list(const std::string& name, std::optional<std::array<T, N>>& target, const std::string& names,
                    Numbers numbers, const std::string& help) {
    return add_numbers(name, N, names, numbers, help, [&target](const std::vector<double>& values) {
      target.emplace();
      for (std::size_t n = 0; n < N; ++n) (*target)[n] = static_cast<T>(values[n]);
    });
  }
  Setting& add(const std::string& name, SettingKind kind, const std::string& help, Setting::Take take);
  /// A word that stands for a value of an enumeration or the like.
  template <typename Value, typename Named>
  Setting& add_word(const std::string& name, Value& target, std::vector<std::string> words, Named named,
                    const std::string& help) {
    return add(name, SettingKind::word, help,
               [&target, named](const std::vector<std::string>& given) { target = named(given.front()); })
        .one_of(std::move(words));
  }

  std::deque<Setting>& all() { return settings_; }
  const std::deque<Setting>& all() const { return settings_; }
  /// '_' in the name counts as '-'; nullptr: there is none.
  Setting* find(const std::string& name);
  /// Throws InputError for a name that is not there, with all that are. job: its name, for that message.
  void set(const std::string& job, const std::string& name, const std::vector<std::string>& words);
  bool given(const std::string& name) const;
  /// Throws InputError for a setting that was given without the one that it needs, or with one that it excludes, and
  /// with `required` for one that is missing.
  void check(bool required) const;
  std::vector<std::string> names() const;

 private:
  Setting& add_numbers(const std::string& name, std::size_t count, const std::string& names, Numbers numbers,
                       const std::string& help, std::function<void(const std::vector<double>&)> take);

  std::deque<Setting> settings_;
};

/// "a" or "a, b or c".
std::string either(const std::vector<std::string>& words);

}  // namespace halocline
