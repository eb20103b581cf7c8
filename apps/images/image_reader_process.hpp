// The process in which a program has strangers' files read.
#pragma once

#include <string>

namespace halocline {

/// Argument by which a program is started as a reader.
constexpr const char* reader_word = "read-images";

/// From now on, files in formats that ITK reads are read in a confined process, for which `program` is started with
/// reader_word; it then calls run_image_reader(). In builds without ITK there is nothing to read.
void read_images_in_process_of(const std::string& program);

/// Answers the program that started this one until it ends. False: this program was not started so, for its standard
/// input is no socket of that program, or it is another one.
bool run_image_reader();

}  // namespace halocline
