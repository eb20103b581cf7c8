// A projector whose geometry is replaced between steps.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

class MovingPair {
 public:
  /// label: of the arrays that the first pair does not have.
  MovingPair(const ProjectorPair& first, std::string label);
  /// A pair that does what the present one does, whenever its steps run. It has no fast projection.
  const ProjectorPair& pair() const { return pair_; }
  /// True if the other pair has the forms of the first, and so its arrays.
  bool has_forms_of(const ProjectorPair& next) const;
  /// Arrays of `next`, in forms for any scan, that the first pair does not have. Throws InputError if the steps of the
  /// first pair do not serve it.
  Program arrays_for(const ProjectorPair& next);
  /// Replaces the present pair. Tables have to be filled again (BackprojectionMethod::start()). The other one has the
  /// forms of the first, or arrays_for() it are there.
  void move_to(const ProjectorPair& next);
  /// The one that was moved to last, or the first.
  ProjectorPair present() const;

  struct Present;

 private:
  ProjectorPair first_;
  std::string label_;
  std::map<std::string, ArrayNeed> more_;  // arrays that the first pair does not have
  std::shared_ptr<Present> present_;
  ProjectorPair pair_;
};

}  // namespace halocline
