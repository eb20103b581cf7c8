// Exceptions as statuses of the C interface, and the text of the last one.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "capi/include/halocline.h"
#include "host/system/error.hpp"

namespace halocline::capi {

/// Status of the exception that is being handled; its text becomes the thread's halocline_last_error().
int status_of_exception() noexcept;

/// Runs `work` for a function of the interface.
template <class Work>
int guarded(Work&& work) noexcept {
  try {
    std::forward<Work>(work)();
    return HALOCLINE_OK;
  } catch (...) {
    return status_of_exception();
  }
}

/// Throws InputError that names the argument if it is a null pointer.
template <class T>
T& required(T* argument, const char* name) {
  if (argument == nullptr) throw InputError({.what = name, .found = "a null pointer", .expected = "an object"});
  return *argument;
}

/// Throws InputError that names the struct unless its size can be right.
void check_struct_size(std::size_t size, const char* name);

/// The caller's struct of options, as far as it reaches, over the defaults. nullptr: the defaults.
template <class Options>
Options taken(const Options* given, const Options& defaults, const char* name) {
  Options options = defaults;
  if (given == nullptr) return options;
  check_struct_size(given->struct_size, name);
  std::memcpy(&options, given, given->struct_size < sizeof options ? given->struct_size : sizeof options);
  options.struct_size = sizeof options;
  return options;
}

/// The values of `result` into the caller's struct, no farther than it reaches.
template <class Result>
void give(const Result& result, Result* to, const char* name) {
  const std::size_t size = to->struct_size;
  check_struct_size(size, name);
  std::memcpy(to, &result, size < sizeof result ? size : sizeof result);
  to->struct_size = size;
}

}  // namespace halocline::capi
