// Headers of NRRD files (Kindlmann, "Definition of NRRD File Format"), as far as ITK is not to be trusted with them.
#pragma once

#include <map>
#include <string>

namespace halocline {

/// Throws InputError where a header of a NRRD file never ends, where a file that it names as that of its voxels ("data
/// file: NAME", a pattern with its range, or LIST) is no regular file that may be read, and where the data are too few
/// for the sizes, for which ITK would ask for memory first. Files of other formats pass.
void check_nrrd_header(const std::string& path);

/// The fields of an NRRD header by their names in lower case without blanks; none for another file.
std::map<std::string, std::string> nrrd_fields(const std::string& path);

}  // namespace halocline
