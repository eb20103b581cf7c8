// Fields of NRRD headers that are missing, doubled, unknown or out of range.
#pragma once

#include <string>
#include <vector>

namespace halocline {

struct NrrdField {
  std::string name, value;  // name in lower case
};

/// Throws InputError that names the file and the field unless the fields of a header are those of NRRD 1 to 5, each
/// once, with all that voxels need: type, encoding, dimension, and as many positive sizes. `magic` is the first line.
void check_nrrd_fields(const std::string& path, const std::string& magic, const std::vector<NrrdField>& fields);

}  // namespace halocline
