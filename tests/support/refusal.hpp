// Message with which a piece of work is refused.
#pragma once

#include <string>

#include "host/system/error.hpp"

namespace halocline {

/// Message of the InputError, or another Refusal, that `work` throws; "": it throws none.
template <class Refusal = InputError, class Work>
std::string refusal_of(Work&& work) {
  try {
    work();
  } catch (const Refusal& error) {
    return error.what();
  }
  return "";
}

}  // namespace halocline
