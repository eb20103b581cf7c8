// The geometry of a scan with its detector, as Python holds it.
#pragma once

#include "algorithms/geometry/geometry_text.hpp"

namespace halocline::python {

class GeometryFile {
 public:
  explicit GeometryFile(ScanFile scan) : scan_(std::move(scan)) {}
  const ScanFile& scan() const { return scan_; }

 private:
  ScanFile scan_;
};

}  // namespace halocline::python
