#include "algorithms/expressions/pass.hpp"

#include <algorithm>
#include <map>

#include "host/opencl/program_cache.hpp"

namespace halocline::expressions {
namespace {

// Arrays must not be read where another work-item writes them. Where slices beside its own are read, slabs are loaded
// with these, and what is loaded is not written.
bool may_run_at_once(const Roles& roles) {
  const bool halo = roles.halo_low > 0 || roles.halo_high > 0;
  return std::none_of(roles.arrays.begin(), roles.arrays.end(),
                      [&](const Role& role) { return role.written && (role.neighbours || (halo && role.loaded)); });
}

}  // namespace

std::vector<int> Pass::key() const {
  std::vector<int> result;
  for (const Line& line : lines) {
    result.push_back(static_cast<int>(line.form->code.size()));
    for (const Op op : line.form->code) result.push_back(static_cast<int>(op));
    for (const Element& element : line.operands) result.insert(result.end(), {element.array, element.axis, element.by});
    result.push_back(line.target);
    for (const bool each : line.on_device) result.push_back(each ? 1 : 0);
  }
  for (const bool each : kept) result.push_back(each ? 1 : 0);
  return result;
}

Roles roles_of(const Pass& pass) {
  Roles roles;
  roles.arrays.resize(pass.kept.size());
  for (const Pass::Line& line : pass.lines) {
    std::size_t next = 0, next_scalar = 0;
    for (const Op op : line.form->code) {
      if (op == Op::scalar) roles.scalars.push_back(line.on_device.at(next_scalar++));
      roles.sums += is_reduction(op) ? 1 : 0;
      roles.largest += op == Op::largest ? 1 : 0;
      if (!takes_array(op)) continue;
      const Pass::Element& element = line.operands[next++];
      Role& role = roles.arrays[static_cast<std::size_t>(element.array)];
      if (op != Op::shifted && !role.written) role.loaded = true;
      if (!reads_neighbours(op)) continue;
      role.neighbours = roles.neighbours = true;
      if (element.axis < 2) continue;
      const int low = op == Op::shifted              ? -element.by
                      : op == Op::adjoint_difference ? 1
                                                     : 0,
                high = op == Op::shifted      ? element.by
                       : op == Op::difference ? 1
                                              : 0;
      roles.halo_low = std::max(roles.halo_low, low);
      roles.halo_high = std::max(roles.halo_high, high);
    }
    if (line.target < 0) continue;
    Role& role = roles.arrays[static_cast<std::size_t>(line.target)];
    role.written = true;
    role.stored = pass.kept[static_cast<std::size_t>(line.target)];
  }
  return roles;
}

PassKernel kernel_of(const Pass& pass) {
  PassKernel kernel{keep_kernel_text("expression", kernel_text(pass)), {}, roles_of(pass)};
  if (kernel.roles.sums == 0 && !kernel.roles.neighbours)
    kernel.wide_file = keep_kernel_text("expression of 4", wide_kernel_text(pass));
  return kernel;
}

int PassBuilder::number_of(Storage* storage, std::vector<Storage*>& storages) const {
  const auto found = std::find(storages.begin(), storages.end(), storage);
  if (found == storages.end()) return storages.push_back(storage), static_cast<int>(storages.size()) - 1;
  return static_cast<int>(found - storages.begin());
}

Pass::Line PassBuilder::line_of(const Statement& statement, std::vector<Storage*>& storages) const {
  Pass::Line line{statement.form, {}, -1};
  for (const Scalar& scalar : statement.leaves.scalars) line.on_device.push_back(is_on_device(*scalar.node()));
  for (const Operand& operand : statement.leaves.arrays)
    line.operands.push_back({number_of(operand.storage.get(), storages), operand.axis, operand.by});
  if (statement.target) line.target = number_of(statement.target.get(), storages);
  return line;
}

bool PassBuilder::takes(const Statement& statement) const {
  const auto& scalars = statement.leaves.scalars;
  if (std::any_of(scalars.begin(), scalars.end(), [](const Scalar& each) { return !each.ready(); })) return false;
  if (empty()) return true;
  if (statements_.front().kind != statement.kind || statements_.front().scope != statement.scope) return false;
  auto storages = storages_;
  Pass pass{lines_, {}};
  pass.lines.push_back(line_of(statement, storages));
  pass.kept.assign(storages.size(), true);
  const Roles roles = roles_of(pass);
  return storages.size() <= most_arrays && roles.scalars.size() <= most_scalars && roles.sums <= most_sums &&
         (roles.largest == 0 || roles.largest == roles.sums) && may_run_at_once(roles);
}

void PassBuilder::add(Statement statement) {
  lines_.push_back(line_of(statement, storages_));
  statements_.push_back(std::move(statement));
}

Pass PassBuilder::pass() const {
  std::map<const Storage*, long> inside, all;
  const auto count = [&](const std::shared_ptr<Storage>& storage) {
    ++inside[storage.get()];
    all[storage.get()] = storage.use_count();
  };
  for (const Statement& statement : statements_) {
    for (const Operand& operand : statement.leaves.arrays) count(operand.storage);
    if (statement.target) count(statement.target);
  }
  Pass result{lines_, {}};
  for (const Storage* storage : storages_) result.kept.push_back(all.at(storage) > inside.at(storage));
  return result;
}

}  // namespace halocline::expressions
