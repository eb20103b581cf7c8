#include "python/src/lazy.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "host/system/error.hpp"

namespace halocline::python {
namespace {

namespace ex = expressions;

constexpr std::size_t longest = 24;  // operations of a formula that goes into another one

// Formulas that are not recorded, by their Context, in the order in which they were made.
struct Pending {
  std::map<const ex::Recorder*, std::vector<std::weak_ptr<Lazy>>> formulas;
};
Pending& pending() {
  static Pending& all = *new Pending;
  return all;
}

void remember(const LazyPointer& formula) {
  auto& formulas = pending().formulas[&formula->space().recorder()];
  std::erase_if(formulas, [](const auto& each) { return each.expired(); });
  formulas.push_back(formula);
}

}  // namespace

std::recursive_mutex& lazy_mutex() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;
  return mutex;
}

// Memory of devices goes with arrays: not while another thread computes.
Lazy::~Lazy() {
  const std::lock_guard lock(lazy_mutex());
  leaves_ = {};
  array_ = ex::Array();
}

const ex::Array& Lazy::array() {
  if (array_.empty()) {
    array_.assign(ex::form_with(code_), std::move(leaves_));
    leaves_ = {};
  }
  return array_;
}

void Lazy::add_to(std::vector<ex::Op>& code, ex::Leaves& leaves) {
  if (array_.empty() && !std::exchange(used_, true) && code_.size() <= longest) {
    code.insert(code.end(), code_.begin(), code_.end());
    leaves.arrays.insert(leaves.arrays.end(), leaves_.arrays.begin(), leaves_.arrays.end());
    leaves.scalars.insert(leaves.scalars.end(), leaves_.scalars.begin(), leaves_.scalars.end());
    return;
  }
  code.push_back(ex::Op::array);
  leaves.arrays.push_back({array().storage()});
}

LazyPointer formula(ex::Op op, const std::vector<Operand>& operands) {
  std::vector<ex::Op> code;
  ex::Leaves leaves;
  const ex::Space* space = nullptr;
  for (const Operand& operand : operands)
    if (operand.array) {
      if (space != nullptr && operand.array->space() != *space)
        throw InputError({.what = "a formula",
                          .found = "of arrays over " + space->text() + " and over " + operand.array->space().text(),
                          .expected = "arrays of one space of one Context",
                          .remedy = "bring one to the space of the other with an operator"});
      space = &operand.array->space();
    }
  for (const Operand& operand : operands) {
    if (operand.array) {
      operand.array->add_to(code, leaves);
      continue;
    }
    code.push_back(ex::Op::scalar);
    leaves.scalars.push_back(operand.scalar);
  }
  code.push_back(op);
  auto result = std::make_shared<Lazy>(*space, std::move(code), std::move(leaves));
  remember(result);
  return result;
}

LazyPointer of_neighbours(const LazyPointer& array, ex::Op op, int axis, int by) {
  ex::Leaves leaves;
  ex::Operand operand{array->array().storage()};
  operand.reading = op;
  operand.axis = axis;
  operand.by = by;
  leaves.arrays.push_back(operand);
  std::vector<ex::Op> code{op};
  auto result = std::make_shared<Lazy>(array->space(), std::move(code), std::move(leaves));
  remember(result);
  return result;
}

void record_all(const ex::Recorder& context) {
  std::vector<std::weak_ptr<Lazy>> formulas;
  auto& all = pending().formulas;
  const auto found = all.find(&context);
  if (found == all.end()) return;
  formulas = std::move(found->second);
  all.erase(found);
  for (const auto& each : formulas)
    if (const LazyPointer formula = each.lock()) formula->array();
}

}  // namespace halocline::python
