// Errors that Halocline throws. Each says what was found, what was expected and what to do. Texts name parameters as
// this library does, in backticks: fields of parameter structs and arguments of functions, as `alpha`; with the member
// that contains them where the name alone is not clear, as `time.weight`; with a value as `method = spdu`. apps/
// replaces them by the flags of the command (apps/job/option_names.hpp).
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace halocline {

/// An error in parts. Each may be empty.
struct Problem {
  std::string what = {};      ///< that is wrong: a parameter in backticks, or a file
  std::string found = {};     ///< its value
  std::string expected = {};  ///< values that are right
  std::string remedy = {};    ///< what to do

  /// "`what` is found; expected expected; remedy".
  std::string text() const;
};

/// Base of all errors of this library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  explicit Error(Problem problem);

  /// All parts are empty where the error was thrown as a text alone.
  const Problem& problem() const;
  /// The parameters that the text names, in its order, each as often as it does.
  std::vector<std::string> parameters() const;

 private:
  std::shared_ptr<const Problem> problem_;
};

/// A file, a parameter or an array given by the user is wrong. Exit code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// A text of OpenCL C that the user wrote does not compile: the compiler's log and the lines that it names. Exit
/// code 2.
class TextError : public InputError {
 public:
  using InputError::InputError;
};

/// The work does not fit the devices: the text holds a table of needed and available bytes and the parameter that
/// helps.
/// Exit code 2.
class PlanError : public Error {
 public:
  using Error::Error;
};

/// Error of an allocation that would exceed a device's budget, because the plan lacks something (an FFT's own scratch).
class BudgetError : public PlanError {
 public:
  using PlanError::PlanError;
};

/// Error of one device; others may continue. Exit code 1.
class DeviceError : public Error {
 public:
  DeviceError(const std::string& text, std::string device) : Error(text), device_(std::move(device)) {}
  /// Its DeviceInfo::name, unique among the devices that were opened together; "": not known.
  const std::string& device() const { return device_; }

 private:
  std::string device_;
};

/// An OpenCL call failed: name of the code, call, kernel, ranges, device.
class ClError : public DeviceError {
 public:
  ClError(const std::string& text, int code, std::string device) : DeviceError(text, std::move(device)), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

/// A kernel did not compile: the log, the options and the numbered source, or the lines of it that the log names.
class BuildError : public DeviceError {
 public:
  BuildError(const std::string& text, std::string device, bool refused)
      : DeviceError(text, std::move(device)), refused_(refused) {}
  /// True if the compiler refuses the source; false if it was the device or the driver that failed.
  bool refused() const { return refused_; }

 private:
  bool refused_;
};

/// The disk is full, a folder cannot be written, a file vanished while it was read. Exit code 1.
class FileError : public Error {
 public:
  using Error::Error;
};

/// Ctrl-C. Exit code 1.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace halocline
