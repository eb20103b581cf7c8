#include "algorithms/expressions/recorder.hpp"

#include <algorithm>

#include "algorithms/support/slice_sums.hpp"
#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

constexpr std::size_t most_pending = 64;

// What passes over arrays of this size need, and one of them, by whose cost plans are made.
Program needs_of(ArrayKind kind, const Grid& grid) {
  const bool volume = kind == ArrayKind::volume;
  Program program;
  const SliceSums sums(grid.size, PassBuilder::most_sums);
  if (volume) {
    program.needs.size = grid.size;
    sums.declare(program.needs);
  } else {
    program.needs.stack = grid.size;
    sums.declare_views(program.needs);
  }
  Step step{.name = "expression", .over = volume ? Domain::slices : Domain::views};
  step.reduced = [](std::span<const double>, Scalars&) {};
  step.sums = PassBuilder::most_sums;
  step.cost.bytes = 12;
  step.units = static_cast<double>(grid.count());
  program.each.push_back(std::move(step));
  return program;
}

// Whether anything of it outlives it.
bool has_results(const Pass& pass) {
  return std::any_of(pass.lines.begin(), pass.lines.end(), [&](const Pass::Line& line) {
    return line.target < 0 || pass.kept[static_cast<std::size_t>(line.target)];
  });
}

}  // namespace

Storage::~Storage() {
  if (name.empty()) return;
  if (const auto alive = recorder.lock()) alive->session().release(name);
}

Recorder::Recorder(std::vector<Device> devices, PlanOptions options)
    : session_(std::move(devices), std::move(options)) {}

Recorder::~Recorder() = default;

Space Recorder::space(ArrayKind kind, const Grid& grid) {
  const bool volume = kind == ArrayKind::volume;
  const std::string what = volume ? "volume" : "projections";
  check_grid(grid, what);
  auto& known = volume ? volume_ : projections_;
  if (known) {
    require_same_grid(grid, "this " + what + " grid", *known, "that of the Context, which has one of each kind");
  } else {
    session_.extend(needs_of(kind, grid));
    known = std::make_shared<const Grid>(grid);
  }
  return known_space(kind);
}

Space Recorder::known_space(ArrayKind kind) {
  return Space(shared_from_this(), kind, kind == ArrayKind::volume ? volume_ : projections_);
}

std::shared_ptr<Storage> Recorder::storage(ArrayKind kind) {
  return std::make_shared<Storage>(kind, weak_from_this());
}

void Recorder::record(Statement statement) {
  pending_.emplace_back(std::move(statement));
  added();
}

void Recorder::record(StepStatement statement) {
  pending_.emplace_back(std::move(statement));
  added();
}

void Recorder::added() {
  if (pending_.size() >= most_pending) flush();
}

void Recorder::flush() {
  PassBuilder builder;
  const auto perform_gathered = [&] {
    PassBuilder gathered = std::exchange(builder, {});
    if (!gathered.empty()) perform(gathered);
  };
  try {
    while (!pending_.empty()) {
      Pending next = std::move(pending_.front());
      pending_.pop_front();
      if (auto* statement = std::get_if<Statement>(&next)) {
        if (!fuses_ || !builder.takes(*statement)) perform_gathered();
        builder.add(std::move(*statement));
      } else {
        perform_gathered();
        perform(std::get<StepStatement>(next));
      }
    }
    perform_gathered();
  } catch (...) {
    pending_.clear();  // what follows has nothing to start from
    throw;
  }
}

const PassKernel& Recorder::kernel_of(const Pass& pass) {
  auto key = pass.key();
  const auto found = kernels_.find(key);
  if (found != kernels_.end()) return found->second;
  last_text_ = kernel_text(pass);
  return kernels_.emplace(std::move(key), expressions::kernel_of(pass)).first->second;
}

std::string Recorder::name_to_write(Storage& storage) {
  if (storage.name.empty()) storage.name = session_.allocate(storage.kind);
  return storage.name;
}

void Recorder::perform(PassBuilder& builder) {
  const Pass pass = builder.pass();
  if (!has_results(pass)) return;
  const PassKernel& kernel = kernel_of(pass);
  const ArrayKind kind = builder.statements().front().kind;
  session_.extend_halo(kernel.roles.halo_low, kernel.roles.halo_high);
  std::vector<std::string> names;
  std::vector<float> scalars;
  std::vector<std::shared_ptr<ScalarNode>> sums;
  for (std::size_t n = 0; n < builder.storages().size(); ++n)
    names.push_back(kernel.roles.arrays[n].stored ? name_to_write(*builder.storages()[n])
                                                  : builder.storages()[n]->name);
  for (const Statement& statement : builder.statements()) {
    for (const Scalar& scalar : statement.leaves.scalars) scalars.push_back(static_cast<float>(value(scalar)));
    if (statement.sum) sums.push_back(statement.sum);
  }
  const auto size = kind == ArrayKind::volume ? volume_->size : projections_->size;
  Step step = step_of(kernel, names, std::move(scalars), kind, size, variants_);
  if (!sums.empty())
    step.reduced = [&](std::span<const double> values, Scalars&) {
      for (std::size_t n = 0; n < sums.size(); ++n) sums[n]->value = values[n];
    };
  session_.perform(step);
  ++passes_;
}

void Recorder::perform(const StepStatement& statement) {
  std::vector<std::string> reads, writes;
  for (const auto& storage : statement.reads) reads.push_back(storage->name);
  for (const auto& storage : statement.writes) writes.push_back(name_to_write(*storage));
  const Step step = statement.make(reads, writes);
  session_.extend_halo(step.halo_low, step.halo_high);
  session_.perform(step);
}

}  // namespace halocline::expressions
