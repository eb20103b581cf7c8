#include "host/opencl/compiler_log.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace halocline {
namespace {

// Calls each(name, number, line, after): the name that `#line` states, "" for none; after: a `#line` came before.
void for_lines(const std::string& source,
               const std::function<void(const std::string&, int, const std::string&, bool)>& each) {
  constexpr std::string_view directive = "#line ";
  std::istringstream in(source);
  std::string line, name;
  bool after = false;
  for (int number = 1; std::getline(in, line); ++number) {
    each(name, number, line, after);
    if (!line.starts_with(directive)) continue;
    after = true;
    number = std::atoi(line.c_str() + directive.size()) - 1;
    const auto open = line.find('"'), close = open == line.npos ? open : line.find('"', open + 1);
    if (close != line.npos) name = line.substr(open + 1, close - open - 1);
  }
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "name:number" of each place in the log, and ":number" for the lines of sources without a name.
std::set<std::string> places_of(const std::string& log) {
  std::set<std::string> places;
  for (std::size_t colon = log.find(':'); colon != log.npos; colon = log.find(':', colon + 1)) {
    std::size_t end = colon + 1, begin = colon;
    while (end < log.size() && is_digit(log[end])) ++end;
    if (end == colon + 1 || end == log.size() || log[end] != ':') continue;
    while (begin > 0 && std::string_view(" \t\n\r\"'(:").find(log[begin - 1]) == std::string_view::npos) --begin;
    places.insert(log.substr(begin, end - begin));
    places.insert(log.substr(colon, end - colon));
    colon = end;  // past the colon before a column
  }
  return places;
}

}  // namespace

std::string in_own_lines(const std::string& log, const std::string& source) {
  constexpr std::string_view whole = "<kernel>:";
  if (log.find(whole) == log.npos) return log;
  std::vector<std::string> places{""};  // of line n, from 1 on
  for_lines(source, [&](const std::string& name, int number, const std::string&, bool) {
    places.push_back(fmt::format("{}:{}", name.empty() ? "<kernel>" : name, number));
  });
  std::string result;
  std::size_t rest = 0;
  for (std::size_t at = log.find(whole); at != log.npos; at = log.find(whole, at + 1)) {
    std::size_t end = at + whole.size();
    while (end < log.size() && is_digit(log[end])) ++end;
    const auto line = std::strtoull(log.c_str() + at + whole.size(), nullptr, 10);
    if (line == 0 || line >= places.size()) continue;
    result.append(log, rest, at - rest).append(places[line]);
    rest = end;
  }
  return result.append(log, rest);
}

std::string numbered(const std::string& source) {
  std::string result;
  for_lines(source, [&](const std::string&, int number, const std::string& line, bool) {
    result += fmt::format("{:4} {}\n", number, line);
  });
  return result;
}

std::string lines_of_log(const std::string& source, const std::string& log) {
  constexpr std::size_t most_lines = 20, most_bytes = 200;
  const auto places = places_of(log);
  std::string result;
  std::size_t lines = 0;
  for_lines(source, [&](const std::string& name, int number, const std::string& line, bool after) {
    if (!after || lines == most_lines || !places.contains(fmt::format("{}:{}", name, number))) return;
    ++lines;
    result += fmt::format("{}{:4} {}", result.empty() ? "" : "\n", number, line.substr(0, most_bytes));
  });
  return result;
}

}  // namespace halocline
