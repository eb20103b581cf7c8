#include "apps/images/new_warning.hpp"

#include <mutex>
#include <set>

namespace halocline {

bool is_new_warning(const std::string& about) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  return warned.insert(about).second;
}

}  // namespace halocline
