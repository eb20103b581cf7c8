// Verbs of the C interface: settings, arrays and work of a job, one class a verb.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/jobs/settings.hpp"
#include "host/opencl/device.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline::capi {

using Sources = std::map<std::string, std::unique_ptr<VolumeSource>>;
using Sinks = std::map<std::string, std::unique_ptr<VolumeSink>>;

/// One run: what is given and what is wanted.
class Work {
 public:
  Work(const std::vector<Device>& on, const Geometry* geometry, const Sources& inputs, const Sinks& outputs,
       const RunOptions& run)
      : devices(on), options(run), geometry_(geometry), inputs_(inputs), outputs_(outputs) {}

  /// Throws InputError if there is none.
  const Geometry& geometry() const;
  /// nullptr: not given.
  const VolumeSource* input(const std::string& name) const;
  VolumeSink* output(const std::string& name) const;
  /// Throw InputError if it is not given.
  const VolumeSource& required_input(const std::string& name) const;
  VolumeSink& required_output(const std::string& name) const;
  /// The values of an input; empty if it is not given.
  Volume copy_of(const std::string& name) const;

  const std::vector<Device>& devices;
  RunOptions options;  ///< progress

 private:
  const Geometry* geometry_;
  const Sources& inputs_;
  const Sinks& outputs_;
};

class Verb {
 public:
  /// The setting that all of them have.
  Verb();
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  virtual ~Verb() = default;
  Settings& settings() { return settings_; }
  /// Values of inputs that are NaN or infinite are not refused: they count as 0, or as takes_unmeasured() says.
  bool allows_nonfinite() const { return allows_nonfinite_; }
  /// Returns whether such values of this input were not measured, and stay as they are.
  virtual bool takes_unmeasured(const std::string& /*input*/) const { return false; }
  /// Names; one that ends in '*' stands for numbered ones.
  virtual std::vector<std::string> inputs() const = 0;
  virtual std::vector<std::string> outputs() const = 0;
  /// The results, by the names of the command's report.
  virtual nlohmann::json run(Work& work) = 0;

 protected:
  Settings settings_;

 private:
  bool allows_nonfinite_ = false;
};

std::vector<std::string> verb_names();
/// Throws InputError that lists the verbs.
std::unique_ptr<Verb> make_verb(const std::string& name);

std::unique_ptr<Verb> make_fdk();
std::unique_ptr<Verb> make_project();
std::unique_ptr<Verb> make_backproject();
std::unique_ptr<Verb> make_denoise();
std::unique_ptr<Verb> make_reconstruct();

/// Throws InputError that names the array `name` unless its grid has the size of `wanted`.
void require_size(const Grid& grid, const std::string& name, const Grid& wanted, const std::string& of);
/// A name of `names`, or a numbered one. Throws InputError that lists them.
void require_array_name(const std::string& name, const std::vector<std::string>& names, const std::string& kind);
/// "frame-3": the prefix and a number.
std::string numbered(const std::string& prefix, std::size_t number);

/// Seconds, bytes, device times of a run.
void put_run(nlohmann::json& results, const RunResult& run);

/// NumbersOf of this interface, which reads no files. Throws InputError.
[[noreturn]] std::vector<float> no_tables(const std::string& image);

}  // namespace halocline::capi
