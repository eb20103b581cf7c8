// Jobs of the C interface.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "capi/context.hpp"
#include "capi/include/halocline.h"
#include "capi/verb.hpp"
#include "host/system/interrupt.hpp"

struct halocline_job {
 public:
  halocline_job(std::shared_ptr<const halocline::capi::Context> context, const std::string& verb);
  void set(const std::string& name, const std::string& value);
  /// Sets it as decimal text, which is exact.
  void set(const std::string& name, double value);
  void set_geometry(const halocline::Geometry& geometry) { geometry_ = geometry; }
  void set_input(const std::string& name, const halocline_grid& grid, const float* values);
  void set_output(const std::string& name, const halocline_grid& grid, float* values);
  void set_progress(halocline_progress callback, void* user);
  void run();
  void cancel();
  double number(const std::string& name) const;
  /// Not a number where the result has no such quantity.
  double number_or_nan(const std::string& name) const;
  const std::string& results() const;

 private:
  template <class Value>
  struct Array {
    halocline::Grid grid;
    Value* values;
    const void* begin() const { return values; }
    const void* end() const { return values + grid.count(); }
  };

  void require_apart() const;
  halocline::capi::Sources sources() const;
  halocline::capi::Sinks sinks() const;
  halocline::RunOptions run_options(halocline::Cancellation& cancellation);
  void run_verb(halocline::Cancellation& cancellation);
  const nlohmann::json& finished() const;

  std::shared_ptr<const halocline::capi::Context> context_;
  std::string name_;
  std::unique_ptr<halocline::capi::Verb> verb_;
  std::optional<halocline::Geometry> geometry_;
  std::map<std::string, Array<const float>> inputs_;
  std::map<std::string, Array<float>> outputs_;
  halocline_progress progress_ = nullptr;
  void* user_ = nullptr;
  std::atomic<bool> asked_{false};  // by the callback, for the run to end
  std::optional<nlohmann::json> results_;
  std::string results_text_;
  std::mutex mutex_;                                 // of the next
  halocline::Cancellation* cancellation_ = nullptr;  // of the run that goes on
};
