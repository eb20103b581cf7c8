// Keeps statements until something is read, and then computes them in as few passes as can be.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "algorithms/expressions/array.hpp"
#include "algorithms/expressions/pass.hpp"
#include "scheduling/execution/session.hpp"

namespace halocline::expressions {

class Recorder : public std::enable_shared_from_this<Recorder> {
 public:
  Recorder(std::vector<Device> devices, PlanOptions options);
  ~Recorder();

  /// The space of this kind. Throws InputError if there is one with another grid.
  Space space(ArrayKind kind, const Grid& grid);
  /// One that there is.
  Space known_space(ArrayKind kind);
  std::shared_ptr<Storage> storage(ArrayKind kind);
  void record(Statement statement);
  void record(StepStatement statement);
  /// Computes all that has been recorded.
  void flush();
  bool empty() const { return pending_.empty(); }

  /// For the names of arrays that steps have of their own: no other steps get it.
  std::string next_label() { return std::to_string(++labels_) + " "; }

  void fuse(bool on) { fuses_ = on; }
  void use(KernelVariants variants) { variants_ = variants; }
  Session& session() { return session_; }
  /// Kernels that have been written so far, and passes over arrays that elementwise statements took.
  std::size_t kernels() const { return kernels_.size(); }
  std::size_t passes() const { return passes_; }
  /// The text of the kernel that was written last.
  const std::string& last_text() const { return last_text_; }

 private:
  using Pending = std::variant<Statement, StepStatement>;
  void added();
  void perform(PassBuilder& builder);
  void perform(const StepStatement& statement);
  const PassKernel& kernel_of(const Pass& pass);
  std::string name_to_write(Storage& storage);

  Session session_;
  std::shared_ptr<const Grid> volume_, projections_;
  std::deque<Pending> pending_;
  std::map<std::vector<int>, PassKernel> kernels_;
  std::string last_text_;
  std::size_t passes_ = 0;
  int labels_ = 0;
  bool fuses_ = true;
  KernelVariants variants_;
};

}  // namespace halocline::expressions
