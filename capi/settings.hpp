// Settings as texts: a name of the command's options and a value as it stands on the command line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace halocline::capi {

/// Each function throws InputError that names the setting if the text is none of its kind.
class SettingValue {
 public:
  SettingValue(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  double number() const;  ///< finite
  double positive() const;
  std::int64_t whole() const;
  int count() const;          ///< a whole number from 0 on that an int holds
  bool flag() const;          ///< "true" or "false"
  std::size_t bytes() const;  ///< with K, M, G or T
  std::vector<double> numbers() const;
  std::array<std::size_t, 4> four_indices() const;
  /// One of these words.
  const std::string& one_of(const std::vector<std::string>& words) const;

 private:
  [[noreturn]] void refuse(const std::string& expected) const;

  std::string name_, text_;
};

/// What sets what. Names are those of the command, with '-' between words.
class Settings {
 public:
  using Take = std::function<void(const SettingValue&)>;
  void add(const std::string& name, Take take) { takes_[name] = std::move(take); }
  /// '_' in the name is '-'. Throws InputError for a name that is not there, with all that are.
  void set(const std::string& verb, const std::string& name, const std::string& value);
  /// Whether it was set.
  bool given(const std::string& name) const { return given_.contains(name); }
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Take> takes_;
  std::set<std::string> given_;
};

/// "a" or "a, b or c".
std::string either(const std::vector<std::string>& words);

}  // namespace halocline::capi
