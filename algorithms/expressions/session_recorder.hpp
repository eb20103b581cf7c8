// Computes what is recorded, when a number or an array is read.
#pragma once

#include <map>
#include <optional>

#include "algorithms/expressions/job_numbers.hpp"
#include "algorithms/expressions/recorder.hpp"

namespace halocline::expressions {

class Prepared;

class SessionRecorder : public Recorder {
 public:
  SessionRecorder(std::vector<Device> devices, PlanOptions options)
      : session_(std::move(devices), std::move(options)) {}

  /// The space of this kind. Throws InputError if there is one with another grid.
  Space space(ArrayKind kind, const Grid& grid);
  void record(Statement statement) override;
  void record(StepStatement statement) override;
  /// Throws InputError while a job is prepared.
  void flush() override;
  Session& session() override { return session_; }
  std::vector<Device> devices() override { return session_.devices(); }
  void release(const Storage& storage) override;

  /// Makes the statements from here to end_job() those of a prepared job (Context::record).
  void begin_job();
  /// Throws as Context::record() does; the statements have been lost or computed then.
  Prepared end_job();
  /// Makes them statements like others.
  void cancel_job();

  /// Numbers on the device once the steps of a job have ended.
  std::vector<double> numbers(const KeptJob& job);

  /// Label for the names of a step's private arrays: no other step gets it.
  std::string next_label() { return std::to_string(++labels_) + " "; }

 private:
  // A job that is prepared.
  struct Job {
    std::vector<Step> steps;
    std::multimap<ArrayKind, std::string> free;  // arrays of the job that it needs no longer
    std::shared_ptr<JobNumbers> numbers;
  };
  std::string allocate(ArrayKind kind) override;
  void extend(const Program& program) override { session_.extend_now(program); }
  void perform(Step step, const Sums& sums, const std::shared_ptr<const Scope>& scope) override;
  Number number_of(const Scalar& scalar) override;
  void flush_many();

  Session session_;
  std::optional<Job> job_;
  std::shared_ptr<NumbersPool> numbers_ = std::make_shared<NumbersPool>();
  int labels_ = 0;
};

}  // namespace halocline::expressions
