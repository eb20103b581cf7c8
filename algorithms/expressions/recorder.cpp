#include "algorithms/expressions/recorder.hpp"

#include <algorithm>

namespace halocline::expressions {
namespace {

// True if any result of the pass outlives it.
bool has_results(const Pass& pass) {
  return std::any_of(pass.lines.begin(), pass.lines.end(), [&](const Pass::Line& line) {
    return line.target < 0 || pass.kept[static_cast<std::size_t>(line.target)];
  });
}

bool has_sums(const PassBuilder& builder) {
  const auto& statements = builder.statements();
  return std::any_of(statements.begin(), statements.end(), [](const Statement& each) { return each.sum != nullptr; });
}

bool depends_on(const ScalarNode& node, const std::string& variable) {
  return node.variable == variable || std::any_of(node.parts.begin(), node.parts.end(), [&](const auto& part) {
           return part && depends_on(*part, variable);
         });
}

}  // namespace

Storage::~Storage() {
  if (name.empty()) return;
  if (const auto alive = recorder.lock()) alive->release(*this);
}

Space Recorder::known_space(ArrayKind kind) {
  return Space(shared_from_this(), kind, kind == ArrayKind::volume ? volume_ : projections_);
}

std::shared_ptr<Storage> Recorder::storage(ArrayKind kind) {
  return std::make_shared<Storage>(kind, weak_from_this());
}

std::string Recorder::table(const std::shared_ptr<const std::vector<float>>& values) {
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const auto& each) { return each == values || *each == *values; });
  const std::string name = "table " + std::to_string(found - tables_.begin() + 1);
  if (found != tables_.end()) return name;
  Program program;
  program.needs.arrays = {{.name = name, .kind = ArrayKind::fixed, .elements = values->size()}};
  program.start = {[=](Slab& slab) { slab.set(name, values->data(), values->size() * sizeof(float)); }};
  extend(program);
  tables_.push_back(values);
  return name;
}

bool Recorder::redirect(const std::shared_ptr<Storage>& from, const std::shared_ptr<Storage>& to) {
  auto* step = pending_.empty() ? nullptr : std::get_if<StepStatement>(&pending_.back());
  if (step == nullptr || step->writes.size() != 1 || step->writes.front() != from || from->declared) return false;
  step->writes.front() = to;
  return true;
}

std::vector<std::shared_ptr<Storage>> Recorder::recorded_storages() const {
  std::vector<std::shared_ptr<Storage>> result;
  for (const Pending& each : pending_) {
    if (const auto* statement = std::get_if<Statement>(&each)) {
      for (const Operand& operand : statement->leaves.arrays) result.push_back(operand.storage);
      if (statement->target) result.push_back(statement->target);
    } else if (const auto* step = std::get_if<StepStatement>(&each)) {
      result.insert(result.end(), step->reads.begin(), step->reads.end());
      result.insert(result.end(), step->writes.begin(), step->writes.end());
    }
  }
  return result;
}

void Recorder::flush() {
  PassBuilder builder;
  try {
    while (!pending_.empty()) {
      Pending next = std::move(pending_.front());
      pending_.pop_front();
      std::visit([&](auto&& statement) { gather(std::move(statement), builder); }, std::move(next));
    }
    perform_gathered(builder);
  } catch (...) {
    pending_.clear();  // later statements have nothing to start from
    after_.clear();
    throw;
  }
}

void Recorder::gather(Statement statement, PassBuilder& builder) {
  const auto& scalars = statement.leaves.scalars;
  const bool waits = std::any_of(after_.begin(), after_.end(), [&](const Assignment& each) {
    return std::any_of(scalars.begin(), scalars.end(),
                       [&](const Scalar& scalar) { return depends_on(*scalar.node(), each.to); });
  });
  if (!fuses_ || waits || !builder.takes(statement)) perform_gathered(builder);
  prepare(statement.leaves.scalars, statement.scope);
  builder.add(std::move(statement));
}

void Recorder::gather(StepStatement statement, PassBuilder& builder) {
  perform_gathered(builder);
  prepare(statement.scalars, statement.scope);
  std::vector<std::string> reads, writes;
  std::vector<Number> numbers;
  for (const auto& storage : statement.reads) reads.push_back(storage->name);
  for (const auto& storage : statement.writes) writes.push_back(name_to_write(*storage));
  for (const Scalar& each : statement.scalars) numbers.push_back(number_of(each));
  perform(statement.make(reads, writes, numbers), {}, statement.scope);
}

void Recorder::gather(Assignment assignment, PassBuilder& builder) {
  if (has_sums(builder))
    after_.push_back(std::move(assignment));
  else
    perform(assignment);
}

void Recorder::perform_gathered(PassBuilder& gathered) {
  const PassBuilder builder = std::exchange(gathered, {});
  if (builder.empty()) return;
  const Pass pass = builder.pass();
  if (has_results(pass)) {
    const PassKernel& kernel = kernel_of(pass);
    const ArrayKind kind = builder.statements().front().kind;
    std::vector<std::string> names;
    std::vector<Number> numbers;
    Sums sums;
    for (std::size_t n = 0; n < builder.storages().size(); ++n)
      names.push_back(kernel.roles.arrays[n].stored ? name_to_write(*builder.storages()[n])
                                                    : builder.storages()[n]->name);
    for (const Statement& statement : builder.statements()) {
      for (const Scalar& scalar : statement.leaves.scalars) numbers.push_back(number_of(scalar));
      if (statement.sum) sums.push_back(statement.sum);
    }
    const auto size = kind == ArrayKind::volume ? volume_->size : projections_->size;
    perform(step_of(kernel, names, std::move(numbers), kind, size, variants_), sums,
            builder.statements().front().scope);
    ++passes_;
  }
  for (const Assignment& each : std::exchange(after_, {})) perform(each);
}

const PassKernel& Recorder::kernel_of(const Pass& pass) {
  auto key = pass.key();
  const auto found = kernels_.find(key);
  if (found != kernels_.end()) return found->second;
  last_text_ = kernel_text(pass);
  return kernels_.emplace(std::move(key), expressions::kernel_of(pass)).first->second;
}

std::string Recorder::name_to_write(Storage& storage) {
  if (storage.name.empty()) storage.name = allocate(storage.kind);
  return storage.name;
}

}  // namespace halocline::expressions
