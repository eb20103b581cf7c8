// Computes what is recorded, when a number or an array is read.
#pragma once

#include "algorithms/expressions/recorder.hpp"

namespace halocline::expressions {

class SessionRecorder : public Recorder {
 public:
  SessionRecorder(std::vector<Device> devices, PlanOptions options)
      : session_(std::move(devices), std::move(options)) {}

  /// The space of this kind. Throws InputError if there is one with another grid.
  Space space(ArrayKind kind, const Grid& grid);
  void record(Statement statement) override;
  void record(StepStatement statement) override;
  Session& session() override { return session_; }
  std::vector<Device> devices() override { return session_.devices(); }
  void release(const Storage& storage) override { session_.release(storage.name); }

  /// Label for the names of a step's private arrays: no other step gets it.
  std::string next_label() { return std::to_string(++labels_) + " "; }

 private:
  std::string allocate(ArrayKind kind) override { return session_.allocate(kind); }
  void perform(Step step, const Sums& sums, const Scope* scope) override;
  Number number_of(const Scalar& scalar) override;
  void flush_many();

  Session session_;
  int labels_ = 0;
};

}  // namespace halocline::expressions
