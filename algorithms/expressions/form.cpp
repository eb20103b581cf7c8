#include "algorithms/expressions/form.hpp"

#include <map>
#include <mutex>

namespace halocline::expressions {

const Form& form_with(const std::vector<Op>& code) {
  static std::mutex mutex;
  static std::map<std::vector<Op>, Form> forms;
  const std::lock_guard lock(mutex);
  return forms.try_emplace(code, Form{code}).first->second;
}

}  // namespace halocline::expressions
