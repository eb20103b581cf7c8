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

/// One setting. Functions that return the setting complete its description.
class Setting {
 public:
  using Take = std::function<void(const std::string& text)>;
  Setting(std::string name, SettingKind kind, std::string help, Take take);
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  Setting& unit(std::string name) { return unit_ = std::move(name), *this; }  ///< name of its value, as "MM"
  Setting& group(std::string title) { return group_ = std::move(title), *this; }
  Setting& initial(std::string text) { return initial_ = std::move(text), *this; }  ///< the default that help shows
  Setting& one_of(std::vector<std::string> words);
  Setting& finite();
  Setting& positive();
  Setting& not_negative();
  Setting& between(double least, double greatest);
  Setting& whole_from(std::int64_t least, std::int64_t greatest = std::numeric_limits<std::int32_t>::max());
  Setting& not_empty(std::string expected);
  /// Names of settings of the same table: one without which it has no use, and one that it contradicts.
  Setting& needs(std::string name) { return needs_ = std::move(name), *this; }
  Setting& excludes(std::string name) { return excludes_ = std::move(name), *this; }
  /// Most words of a list on a command line.
  Setting& at_most(int words) { return most_words_ = words, *this; }

  const std::string& name() const { return name_; }  ///< with '-' between words
  SettingKind kind() const { return kind_; }
  const std::string& help() const { return help_; }
  const std::string& unit() const { return unit_; }
  const std::string& group() const { return group_; }
  const std::string& initial() const { return initial_; }
  const std::vector<std::string>& words() const { return words_; }
  const std::string& needs() const { return needs_; }
  const std::string& excludes() const { return excludes_; }
  int most_words() const { return most_words_; }
  /// What `text` would have to be instead; empty if it is right.
  std::string expected(const std::string& text) const;
  bool checked() const { return static_cast<bool>(good_) || !words_.empty(); }
  /// Sets it. Throws InputError that names the setting in backticks, with '_' between words, if `text` is none of its
  /// kind or out of range.
  void set(const std::string& text);
  bool given() const { return given_; }

 private:
  std::string name_, help_, unit_, group_, initial_, needs_, excludes_, expected_;
  SettingKind kind_;
  std::vector<std::string> words_;
  std::function<bool(const std::string&)> good_;
  Take take_;
  int most_words_ = 1;
  bool given_ = false;
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
  Setting& add(const std::string& name, SettingKind kind, const std::string& help, Setting::Take take);
  /// A word that stands for a value of an enumeration or the like.
  template <typename Value, typename Named>
  Setting& add_word(const std::string& name, Value& target, std::vector<std::string> words, Named named,
                    const std::string& help) {
    return add(name, SettingKind::word, help, [&target, named](const std::string& word) { target = named(word); })
        .one_of(std::move(words));
  }

  std::deque<Setting>& all() { return settings_; }
  /// '_' in the name counts as '-'; nullptr: there is none.
  Setting* find(const std::string& name);
  /// Throws InputError for a name that is not there, with all that are. job: its name, for that message.
  void set(const std::string& job, const std::string& name, const std::string& text);
  bool given(const std::string& name) const;
  /// Throws InputError for a setting that was given without the one that it needs, or with one that it excludes.
  void check_pairs() const;
  std::vector<std::string> names() const;

 private:
  std::deque<Setting> settings_;
};

/// "a" or "a, b or c".
std::string either(const std::vector<std::string>& words);

}  // namespace halocline
