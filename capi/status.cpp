#include "capi/status.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>

namespace halocline::capi {
namespace {

// A text that needs no memory takes the place of one for which there is none.
struct LastError {
  std::string text;
  const char* instead = nullptr;
};
thread_local LastError last_error;

int fail(int status, const char* text) noexcept {
  try {
    last_error.text = text;
    last_error.instead = nullptr;
  } catch (...) {
    last_error.instead = "this computer has not enough free memory";
  }
  return status;
}

}  // namespace

int status_of_exception() noexcept {
  try {
    throw;
  } catch (const InputError& error) {
    return fail(HALOCLINE_ERROR_INPUT, error.what());
  } catch (const PlanError& error) {
    return fail(HALOCLINE_ERROR_PLAN, error.what());
  } catch (const DeviceError& error) {
    return fail(HALOCLINE_ERROR_DEVICE, error.what());
  } catch (const FileError& error) {
    return fail(HALOCLINE_ERROR_FILE, error.what());
  } catch (const Interrupted& error) {
    return fail(HALOCLINE_ERROR_INTERRUPTED, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(HALOCLINE_ERROR_FILE, error.what());
  } catch (const std::bad_alloc&) {
    return fail(HALOCLINE_ERROR_MEMORY, "this computer has not enough free memory; choose smaller sizes");
  } catch (const std::length_error&) {
    return fail(HALOCLINE_ERROR_MEMORY, "an array is too large for this computer; choose smaller sizes");
  } catch (const std::exception& error) {
    return fail(HALOCLINE_ERROR_UNKNOWN, error.what());
  } catch (...) {
    return fail(HALOCLINE_ERROR_UNKNOWN, "an error without a text");
  }
}

void check_struct_size(std::size_t size, const char* name) {
  constexpr std::size_t most = 1 << 16;
  if (size >= sizeof size && size <= most) return;
  throw InputError({.what = fmt::format("`struct_size` of {}", name),
                    .found = fmt::to_string(size),
                    .expected = "the size of the struct in bytes",
                    .remedy = "begin with the struct's _INIT macro"});
}

}  // namespace halocline::capi

extern "C" const char* halocline_last_error() noexcept {
  const auto& last = halocline::capi::last_error;
  return last.instead != nullptr ? last.instead : last.text.c_str();
}

extern "C" const char* halocline_version() noexcept {
  return HALOCLINE_VERSION;
}
