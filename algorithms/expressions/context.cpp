#include "algorithms/expressions/context.hpp"

#include "algorithms/expressions/session_recorder.hpp"

namespace halocline::expressions {

Context::Context(std::vector<Device> devices, const PlanOptions& options)
    : recorder_(std::make_shared<SessionRecorder>(std::move(devices), options)) {}

Space Context::volume(const Grid& grid) const {
  return recorder_->space(ArrayKind::volume, grid);
}
Space Context::projections(const Grid& grid) const {
  return recorder_->space(ArrayKind::projections, grid);
}
void Context::flush() const {
  recorder_->flush();
}
void Context::wait() const {
  recorder_->flush();
  recorder_->session().wait();
}
Prepared Context::record(const std::function<void()>& statements) const {
  recorder_->begin_job();
  try {
    statements();
  } catch (...) {
    recorder_->cancel_job();
    throw;
  }
  return recorder_->end_job();
}
void Context::fuse(bool on) const {
  recorder_->fuse(on);
}
void Context::use(KernelVariants variants) const {
  recorder_->use(variants);
}
const Plan& Context::plan() const {
  return recorder_->session().plan();
}
std::size_t Context::kernels() const {
  return recorder_->kernels();
}
std::size_t Context::passes() const {
  return recorder_->passes();
}
const std::string& Context::last_kernel() const {
  return recorder_->last_text();
}

}  // namespace halocline::expressions
