// A projector whose geometry is replaced between steps.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

class MovingPair {
 public:
  /// plain: makes the pair of the first geometry in forms for any scan, if it is needed. label: of the arrays that only
  /// those have.
  MovingPair(const ProjectorPair& first, std::function<ProjectorPair()> plain, std::string label);
  /// A pair that does what the present one does, whenever its steps run. It has no fast projection.
  const ProjectorPair& pair() const { return pair_; }
  /// True if the other pair has the forms of the first, and so its arrays.
  bool has_forms_of(const ProjectorPair& next) const;
  /// Arrays for pairs in forms for any scan that the first pair does not have. Throws InputError if `next`, in such
  /// forms, needs others.
  Program arrays_for(const ProjectorPair& next);
  /// Replaces the present pair. Tables have to be filled again (BackprojectionMethod::start()). The other one has the
  /// forms of the first, or arrays_for() it are there.
  void move_to(const ProjectorPair& next);

  struct Present;

 private:
  ProjectorPair first_;
  std::function<ProjectorPair()> make_plain_;
  std::string label_;
  std::shared_ptr<const ProjectorPair> plain_;
  std::shared_ptr<Present> present_;
  ProjectorPair pair_;
};

}  // namespace halocline
