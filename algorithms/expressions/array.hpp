// Arrays over the voxels of a volume or the pixels of projections, in whatever memory.
#pragma once

#include <memory>
#include <string>

#include "algorithms/expressions/statement.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline::expressions {

class Recorder;

/// Domain of an array: the voxels of a volume, or the pixels of a stack of projections, of one Context.
class Space {
 public:
  Space(std::shared_ptr<Recorder> recorder, ArrayKind kind, std::shared_ptr<const Grid> grid)
      : recorder_(std::move(recorder)), kind_(kind), grid_(std::move(grid)) {}
  ArrayKind kind() const { return kind_; }  ///< volume or projections
  const Grid& grid() const { return *grid_; }
  Recorder& recorder() const { return *recorder_; }
  /// Text for messages: "the volume of 4 x 5 x 6".
  std::string text() const;
  bool operator==(const Space& other) const { return recorder_ == other.recorder_ && kind_ == other.kind_; }

 private:
  std::shared_ptr<Recorder> recorder_;
  ArrayKind kind_;
  std::shared_ptr<const Grid> grid_;
};

template <class T>
concept ArrayExpression = requires {
  typename T::IsArrayExpression;
};

/// float32 values over a space. Copies are cheap: they share their memory until one of them is written. Assignments are
/// recorded, and computed when a number or an array is read (Context).
class Array {
 public:
  Array() = default;  ///< of no space, to be assigned
  Array(const Array&) = default;
  Array(Array&&) noexcept = default;
  /// Throws InputError for another space. An array of a program (Recording) gets the values of the other.
  Array& operator=(const Array& other);
  Array& operator=(Array&& other);
  template <ArrayExpression E>
  Array(const E& expression) {
    assign(form_of<E>(), leaves_of(expression));
  }
  template <ArrayExpression E>
  Array& operator=(const E& expression) {
    assign(form_of<E>(), leaves_of(expression));
    return *this;
  }
  /// Assigns the same value to every element.
  Array& operator=(const Scalar& value);

  /// True if nothing was assigned to it.
  bool empty() const { return !owned_; }
  /// Throws InputError if it is of none.
  const Space& space() const;

  // Members for classes that record statements:
  /// An array of a program, whose memory has this name there.
  static Array declared(const Space& space, const std::string& name);
  /// True if other arrays have the same memory.
  bool is_shared() const { return owned_.use_count() > 1 && !owned_->storage->declared; }
  /// Memory that statements read.
  const std::shared_ptr<Storage>& storage() const;
  /// Memory to write to, which no other array shares (that of a program's array is always the same); its contents count
  /// as lost. `space`: that of the statement's result.
  const std::shared_ptr<Storage>& overwrite(const Space& space);
  /// Records the assignment of an expression.
  void assign(const Form& form, Leaves leaves);

 private:
  struct Owned {
    Space space;
    std::shared_ptr<Storage> storage;
  };
  std::shared_ptr<Owned> owned_;  // by all copies
};

Array zeros(const Space& space);
/// `value` everywhere.
Array constant(const Space& space, const Scalar& value);
/// Array with these values, in the order of Volume::voxels. Throws InputError for another size.
Array load(const Space& space, const VolumeSource& values);
Array load(const Space& space, const Volume& values);
/// Replaces the values of an array, and of all copies that share its memory, where it lies. Throws as load() does.
void write(const Array& x, const VolumeSource& values);
/// The same with the values of an array, as a statement that is recorded. Throws InputError for another space.
void write(const Array& x, const Array& values);
/// Uniform in [0, 1), by Philox of `seed` and the element's number.
Array uniform(const Space& space, std::uint64_t seed);
/// An array with the same contents.
inline Array copy(const Array& x) {
  return x;
}
/// Computes what has been recorded, and brings the array to the host.
Volume read(const Array& x);
void read(const Array& x, VolumeSink& to);

}  // namespace halocline::expressions
