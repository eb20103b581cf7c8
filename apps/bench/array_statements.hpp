// Statements over whole arrays, each in three forms: as one expression, with a temporary array for each operator, and
// as a formula for a kernel that is written by hand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/expression.hpp"

namespace halocline {

/// Arrays of a statement, those that it does not need empty.
struct StatementArrays {
  expressions::Array x, y, z;
};

struct ArrayStatement {
  std::string text;     ///< "x = x * y + y"
  int arrays = 2;       ///< x, y and z, as many as it needs
  double bytes = 0;     ///< that it has to read and write, an element
  std::string formula;  ///< of element x[i], in OpenCL C; of a sum, of its terms; "": no kernel by hand
  bool sums = false;    ///< its result is a number
  std::function<void(StatementArrays&)> fused = {}, unfused = {};
};

/// Those of Petit's Quickvec, saxpy, sums and derivatives.
const std::vector<ArrayStatement>& array_statements();

}  // namespace halocline
