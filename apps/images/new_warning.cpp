#include "apps/images/new_warning.hpp"

#include <mutex>

namespace halocline {
namespace {

std::mutex warned_mutex;

std::set<std::string>& warned() {
  static std::set<std::string> texts;
  return texts;
}

}  // namespace

bool is_new_warning(const std::string& about) {
  const std::lock_guard lock(warned_mutex);
  return warned().insert(about).second;
}

std::set<std::string> all_warnings() {
  const std::lock_guard lock(warned_mutex);
  return warned();
}

void add_warnings(const std::set<std::string>& about) {
  const std::lock_guard lock(warned_mutex);
  warned().insert(about.begin(), about.end());
}

}  // namespace halocline
