// Keeps statements until they are needed, and then gathers them into as few passes as can be.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "algorithms/expressions/array.hpp"
#include "algorithms/expressions/pass.hpp"
#include "scheduling/execution/session.hpp"

namespace halocline::expressions {

/// Derived classes decide what becomes of the passes: a session runs them (SessionRecorder), a program gets them as
/// steps (Recording).
class Recorder : public std::enable_shared_from_this<Recorder> {
 public:
  virtual ~Recorder() = default;

  Space known_space(ArrayKind kind);
  std::shared_ptr<Storage> storage(ArrayKind kind);
  virtual void record(Statement statement) { pending_.emplace_back(std::move(statement)); }
  virtual void record(StepStatement statement) { pending_.emplace_back(std::move(statement)); }
  /// Lets the last statement write to other memory, if it is a step that writes `from` and nothing else.
  bool redirect(const std::shared_ptr<Storage>& from, const std::shared_ptr<Storage>& to);
  /// Gathers all that has been recorded.
  virtual void flush();
  bool empty() const { return pending_.empty(); }
  std::size_t count() const { return pending_.size(); }

  /// Name of an array of these numbers, whole on each device, which steps may read. Equal ones are one array.
  std::string table(const std::shared_ptr<const std::vector<float>>& values);

  /// Session that holds the values of arrays. Throws InputError where arrays get values when a program runs.
  virtual Session& session() = 0;
  virtual std::vector<Device> devices() = 0;
  virtual void release(const Storage& storage) = 0;

  void fuse(bool on) { fuses_ = on; }
  void use(KernelVariants variants) { variants_ = variants; }
  /// Kernels that have been written so far, and passes over arrays that elementwise statements took.
  std::size_t kernels() const { return kernels_.size(); }
  std::size_t passes() const { return passes_; }
  /// The text of the kernel that was written last.
  const std::string& last_text() const { return last_text_; }

 protected:
  /// A scalar of a program becomes a number that follows from others.
  struct Assignment {
    std::string to;
    Scalar value;
    std::weak_ptr<ScalarNode> before;                       ///< the earlier value
    std::function<void(double value, Scalars&)> more = {};  ///< instead
    std::shared_ptr<const Scope> scope = nullptr;
  };
  using Pending = std::variant<Statement, StepStatement, Assignment>;
  using Sums = std::vector<std::shared_ptr<ScalarNode>>;

  virtual std::string allocate(ArrayKind kind) = 0;
  /// Adds arrays that steps read, and what fills them.
  virtual void extend(const Program& program) = 0;
  virtual void perform(Step step, const Sums& sums, const std::shared_ptr<const Scope>& scope) = 0;
  virtual Number number_of(const Scalar& scalar) = 0;
  /// Comes before a statement joins a pass.
  virtual void prepare(std::vector<Scalar>&, const std::shared_ptr<const Scope>&) {}
  virtual void perform(const Assignment&) {}
  void record(Assignment assignment) { pending_.emplace_back(std::move(assignment)); }
  /// The memory of all arrays that recorded statements read and write.
  std::vector<std::shared_ptr<Storage>> recorded_storages() const;

  bool fp64() const { return variants_.fp64; }

  std::shared_ptr<const Grid> volume_, projections_;

 private:
  void gather(Statement statement, PassBuilder& builder);
  void gather(StepStatement statement, PassBuilder& builder);
  void gather(Assignment assignment, PassBuilder& builder);
  void perform_gathered(PassBuilder& builder);
  const PassKernel& kernel_of(const Pass& pass);
  std::string name_to_write(Storage& storage);

  std::deque<Pending> pending_;
  std::vector<Assignment> after_;  // the pass that is gathered, whose sums they need
  std::map<std::vector<int>, PassKernel> kernels_;
  std::string last_text_;
  std::size_t passes_ = 0;
  std::vector<std::shared_ptr<const std::vector<float>>> tables_;
  bool fuses_ = true;
  KernelVariants variants_;
};

}  // namespace halocline::expressions
