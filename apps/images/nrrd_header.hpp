// Headers of NRRD files (Kindlmann, "Definition of NRRD File Format").
#pragma once

#include <map>
#include <optional>
#include <string>

#include "apps/images/image_info.hpp"
#include "apps/images/nrrd_data.hpp"

namespace halocline {

/// The values behind a header; nothing for another file. Throws InputError where a header of a NRRD file never ends,
/// where a file that it names as that of its voxels ("data file: NAME", a pattern with its range, or LIST) is no
/// regular file that may be read, and where the data are too few for the sizes, for which ITK would ask for memory
/// first.
std::optional<NrrdData> read_nrrd_header(const std::string& path);

/// The notes of a header: its `content`, and keys of its writer's own ("key:=value").
HeaderNotes read_nrrd_notes(const std::string& path);

/// The fields of an NRRD header by their names in lower case without blanks; none for another file.
std::map<std::string, std::string> nrrd_fields(const std::string& path);

}  // namespace halocline
