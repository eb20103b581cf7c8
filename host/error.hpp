// The errors that Halocline throws. Each says what was found, what was expected and what to do; apps/main.cpp catches
// them once.
#pragma once

#include <stdexcept>
#include <string>

namespace halocline {

/// Base of all errors of this library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file, an option or an array given by the user is wrong. Exit code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The work does not fit the devices: the text holds a table of needed and available bytes and the option that helps.
/// Exit code 2.
class PlanError : public Error {
 public:
  using Error::Error;
};

/// An allocation would pass a device's budget: the plan was too large by what it could not know of (an FFT's own
/// scratch).
class BudgetError : public PlanError {
 public:
  using PlanError::PlanError;
};

/// An OpenCL call failed: name of the code, call, kernel, ranges, device. Exit code 1.
class ClError : public Error {
 public:
  ClError(const std::string& text, int code) : Error(text), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

/// A kernel did not compile: the log, the options and the numbered source. Exit code 1.
class BuildError : public Error {
 public:
  using Error::Error;
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
