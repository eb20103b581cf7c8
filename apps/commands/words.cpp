#include "apps/commands/words.hpp"

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <sstream>

#include "apps/options/unknown_option.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 && word[1] != '.';
}

// Reads words one after the other.
class Reader {
 public:
  Reader(const std::vector<std::string>& words, std::size_t first, Settings& own, Settings& common)
      : words_(words), at_(first) {
    for (Settings* settings : {&own, &common})
      for (Setting& setting : settings->all()) {
        if (setting.is_positional()) positional_ = &setting;
        std::istringstream flags(setting.flags());
        for (std::string flag; std::getline(flags, flag, ',');) options_.try_emplace(flag, &setting);
      }
  }

  void read() {
    while (at_ < words_.size()) read_next();
    for (auto& [setting, words] : values_) setting->set(words);
  }

 private:
  void read_next() {
    const std::string word = words_[at_++];
    const auto equals = word.starts_with("--") ? word.find('=') : word.npos;
    const bool attached = word.size() > 2 && word[0] == '-' && options_.contains(word.substr(0, 2));  // "-ivolume.mha"
    const auto found = options_.find(attached ? word.substr(0, 2) : word.substr(0, equals));
    if (found == options_.end() || found->second->is_positional()) return read_positional(word);
    Setting& setting = *found->second;
    auto& values = values_[&setting];
    if (!setting.repeats()) values.clear();
    if (attached || equals != word.npos)
      values.push_back(word.substr(attached ? 2 : equals + 1));
    else if (setting.kind() == SettingKind::flag)
      values.emplace_back("true");
    else
      read_values(word, setting, values);
    for (const auto& value : values)
      if (value.empty())
        throw InputError(fmt::format("{} has an empty value; give one, or leave the option out", setting.option()));
  }

  void read_positional(const std::string& word) {
    if (looks_like_option(word)) {
      std::vector<std::string> names;
      for (const auto& [name, setting] : options_)
        if (name.starts_with("--")) names.push_back(name);
      throw InputError(unknown_option_text(word, names));
    }
    if (positional_ == nullptr)
      throw InputError(fmt::format("'{}' was not expected; is the name of an option missing?", word));
    values_[positional_].push_back(word);
  }

  // One value, or as many as follow of a list.
  void read_values(const std::string& option, const Setting& setting, std::vector<std::string>& values) {
    const std::size_t before = values.size(), most = static_cast<std::size_t>(setting.most_words());
    while (at_ < words_.size() && values.size() - before < most &&
           (values.size() == before || !(options_.contains(words_[at_]) || looks_like_option(words_[at_]))))
      values.push_back(words_[at_++]);
    if (values.size() == before)
      throw InputError(fmt::format("{} has no value; expected {}", option,
                                   setting.words().empty() ? setting.unit() : either(setting.words())));
  }

  const std::vector<std::string>& words_;
  std::size_t at_;
  std::map<std::string, Setting*> options_;
  std::map<Setting*, std::vector<std::string>> values_;
  Setting* positional_ = nullptr;
};

}  // namespace

NamedCommand named_command(const std::vector<std::string>& words) {
  NamedCommand result;
  result.root = make_command(words.empty() ? "" : words.front());
  result.command = result.root.get();
  result.name = result.root->name;
  for (result.words = 1; !result.command->subcommands.empty(); ++result.words) {
    const std::string next = result.words < words.size() ? words[result.words] : "";
    Command* found = nullptr;
    std::string names;
    for (const auto& each : result.command->subcommands) {
      if (each->name == next) found = each.get();
      names += (names.empty() ? "" : ", ") + each->name;
    }
    if (found == nullptr)
      throw InputError(fmt::format("there is no subcommand '{}'; the subcommands are: {}", next, names));
    result.command = found;
    result.name += " " + found->name;
  }
  return result;
}

void set_words(const std::vector<std::string>& words, std::size_t first, Settings& own, Settings& common) {
  Reader(words, first, own, common).read();
  common.check(true);
  own.check(true);
}

}  // namespace halocline
