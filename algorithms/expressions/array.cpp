#include "algorithms/expressions/array.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/expressions/expression.hpp"
#include "algorithms/expressions/recorder.hpp"
#include "algorithms/support/philox.hpp"
#include "host/system/error.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline::expressions {
namespace {

// Operand with the same number for every element.
struct Everywhere {
  Scalar value;
  static void write(std::vector<Op>& code) { code.push_back(Op::scalar); }
  void collect(Leaves& leaves) const { leaves.scalars.push_back(value); }
};

const char* name_of(ArrayKind kind) {
  return kind == ArrayKind::volume ? "a volume" : "projections";
}

// Throws if the arrays of an expression are not all of one space; which one they are of.
const Storage& only_space(const Leaves& leaves) {
  const Storage& first = *leaves.arrays.front().storage;
  for (const Operand& operand : leaves.arrays) {
    const Storage& other = *operand.storage;
    if (other.kind == first.kind && other.recorder.lock() == first.recorder.lock()) continue;
    throw InputError({.what = "an expression",
                      .found = other.kind == first.kind
                                   ? "of arrays of two Contexts"
                                   : fmt::format("of {} and {}", name_of(first.kind), name_of(other.kind)),
                      .expected = "arrays of one space",
                      .remedy = "bring one to the space of the other with an operator, or with read() and load()"});
  }
  return first;
}

bool is_through(const Operand& operand) {
  const bool beside = operand.reading == Op::shifted ? operand.by != 0 : reads_neighbours(operand.reading);
  return beside && operand.axis == 2;
}

// True if the target of a statement that reads it has to be other memory.
bool needs_other_memory(const Leaves& leaves, const Storage* target) {
  const auto& arrays = leaves.arrays;
  const bool reads_it =
      std::any_of(arrays.begin(), arrays.end(), [&](const Operand& each) { return each.storage.get() == target; });
  const bool neighbours_of_it = std::any_of(arrays.begin(), arrays.end(), [&](const Operand& each) {
    return each.storage.get() == target && reads_neighbours(each.reading);
  });
  return neighbours_of_it || (reads_it && std::any_of(arrays.begin(), arrays.end(), is_through));
}

}  // namespace

std::string Space::text() const {
  const auto& size = grid_->size;
  return fmt::format("{} of {} x {} x {}", name_of(kind_), size[0], size[1], size[2]);
}

Array& Array::operator=(const Array& other) {
  if (owned_ && other.owned_ && owned_->space != other.owned_->space)
    throw InputError({.what = "an array over " + owned_->space.text(),
                      .found = "assigned one over " + other.owned_->space.text(),
                      .expected = "the same space",
                      .remedy = "make a new array of it"});
  if (owned_ && owned_->storage->declared) {
    if (owned_->storage != other.storage()) assign(form_of<Elements<Op::array>>(), leaves_of(part_of(other)));
    return *this;
  }
  owned_ = other.owned_;
  return *this;
}

Array& Array::operator=(Array&& other) {
  const bool result =
      owned_ && owned_->storage->declared && other.owned_ && !other.is_shared() && owned_->space == other.owned_->space;
  if (result && owned_->space.recorder().redirect(other.owned_->storage, owned_->storage)) return *this;
  return *this = static_cast<const Array&>(other);
}

Array Array::declared(const Space& space, const std::string& name) {
  Array result;
  result.overwrite(space)->name = name;
  result.owned_->storage->declared = true;
  return result;
}

Array& Array::operator=(const Scalar& value) {
  const Space of = space();
  Statement statement{&form_of<Everywhere>(), leaves_of(Everywhere{value}), overwrite(of), nullptr, of.kind()};
  of.recorder().record(std::move(statement));
  return *this;
}

const Space& Array::space() const {
  if (!owned_) throw InputError("an array is read that nothing was assigned to");
  return owned_->space;
}

const std::shared_ptr<Storage>& Array::storage() const {
  space();
  return owned_->storage;
}

const std::shared_ptr<Storage>& Array::overwrite(const Space& space) {
  if (owned_ && owned_->space != space) *this = Array(zeros(space));  // throws
  if (!owned_ || (owned_.use_count() > 1 && !owned_->storage->declared))
    owned_ = std::make_shared<Owned>(Owned{space, space.recorder().storage(space.kind())});
  return owned_->storage;
}

void Array::assign(const Form& form, Leaves leaves) {
  const Storage& first = only_space(leaves);
  const auto recorder = first.recorder.lock();
  if (!recorder) throw InputError("an expression is of arrays whose Context has ended");
  const Space of = recorder->known_space(first.kind);
  if (owned_ && owned_->space == of && needs_other_memory(leaves, owned_->storage.get())) {
    if (owned_->storage->declared)
      throw InputError({.what = "a formula",
                        .found = "one that writes the array of a program whose neighbours it reads",
                        .expected = "another array for the result"});
    owned_ = nullptr;
  }
  recorder->record(Statement{&form, std::move(leaves), overwrite(of), nullptr, of.kind()});
}

Scalar reduce(const Form& form, Leaves leaves) {
  const Storage& first = only_space(leaves);
  const auto recorder = first.recorder.lock();
  if (!recorder) throw InputError("a sum is over arrays whose Context has ended");
  auto node = std::make_shared<ScalarNode>();
  node->recorder = recorder;
  const ArrayKind kind = first.kind;
  recorder->record(Statement{&form, std::move(leaves), nullptr, node, kind});
  return Scalar(std::move(node));
}

namespace {

Operand neighbours_of(const Array& x, Op reading, int axis, int by) {
  const bool volume = x.space().kind() == ArrayKind::volume;
  if (axis < 0 || axis > (volume ? 2 : 1))
    throw InputError({.what = "axis",
                      .found = std::to_string(axis),
                      .expected = volume ? "0, 1 or 2" : "0 or 1: the views of projections are no neighbours"});
  return {x.storage(), reading, axis, by};
}

ScalarLeaf spacing_along(const Array& x, int axis) {
  return {x.space().grid().spacing[static_cast<std::size_t>(axis)]};
}

}  // namespace

Elements<Op::shifted> shift(const Array& x, int axis, int by) {
  return {neighbours_of(x, Op::shifted, axis, by)};
}

Node<Op::divide, Elements<Op::difference>, ScalarLeaf> gradient(const Array& x, int axis) {
  const Elements<Op::difference> difference{neighbours_of(x, Op::difference, axis, 1)};
  return {{difference, spacing_along(x, axis)}};
}

Node<Op::divide, Elements<Op::adjoint_difference>, ScalarLeaf> adjoint_gradient(const Array& x, int axis) {
  const Elements<Op::adjoint_difference> difference{neighbours_of(x, Op::adjoint_difference, axis, 1)};
  return {{difference, spacing_along(x, axis)}};
}

Array constant(const Space& space, const Scalar& value) {
  Array result;
  result.overwrite(space);
  return result = value;
}

Array zeros(const Space& space) {
  return constant(space, 0);
}

namespace {

void require_size(const VolumeSource& values, const Space& space) {
  const auto& size = values.grid().size;
  if (size != space.grid().size)
    throw InputError({.what = "an array's values",
                      .found = fmt::format("{} x {} x {}", size[0], size[1], size[2]),
                      .expected = space.text()});
}

}  // namespace

Array load(const Space& space, const VolumeSource& values) {
  require_size(values, space);
  Array result;
  Session& session = space.recorder().session();
  Storage& storage = *result.overwrite(space);
  storage.name = session.allocate(space.kind());
  session.write(storage.name, values);
  return result;
}

Array load(const Space& space, const Volume& values) {
  return load(space, MemorySource(values));
}

void write(const Array& x, const VolumeSource& values) {
  require_size(values, x.space());
  Recorder& recorder = x.space().recorder();
  recorder.flush();
  recorder.session().write(x.storage()->name, values);
}

void write(const Array& x, const Array& values) {
  if (values.space() != x.space())
    throw InputError({.what = "the array whose values another one gets",
                      .found = "over " + values.space().text() +
                               (values.space().kind() == x.space().kind() ? " of another Context" : ""),
                      .expected = "over " + x.space().text(),
                      .remedy = "read it, and load the values into an array of the same space"});
  x.space().recorder().record(
      Statement{&form_of<Elements<Op::array>>(), leaves_of(part_of(values)), x.storage(), nullptr, x.space().kind()});
}

Array uniform(const Space& space, std::uint64_t seed) {
  constexpr std::uint32_t purpose = 0x75;
  Volume values = Volume::uninitialised(space.grid());
  parallel_ranges(values.voxels.size(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    for (std::size_t n = first; n < first + count; ++n)
      values.voxels[n] = static_cast<float>(PhiloxStream(seed, n, purpose).uniform());
  });
  return load(space, values);
}

void read(const Array& x, VolumeSink& to) {
  Recorder& recorder = x.space().recorder();
  recorder.flush();
  recorder.session().read(x.storage()->name, to);
}

Volume read(const Array& x) {
  Volume result = Volume::uninitialised(x.space().grid());
  MemorySink sink(result);
  read(x, sink);
  return result;
}

}  // namespace halocline::expressions
