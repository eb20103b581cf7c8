// DICOM through ITK: files of several frames and series of files as one volume, whose slices lie where each of them
// says. Only in builds with HALOCLINE_WITH_ITK.
#pragma once

#include <string>
#include <vector>

#include "apps/images/image_info.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

/// True if these functions read this file: DICOM with several frames, or with functional groups. Throws InputError as
/// read_dicom_frames() does.
bool holds_dicom_frames(const std::string& path);

/// Warns, once a folder, of a file of one image whose pixel size is ITK's guess of 1 mm. itk: the grid that ITK has for
/// it.
void warn_of_unsaid_pixels(const std::string& path, const Grid& itk);

/// True if there are DICOM files in a folder.
bool holds_dicom_series(const std::string& folder);

/// The files of the one DICOM series in a folder. Throws InputError if there is none or several, which it lists.
std::vector<std::string> dicom_series_files(const std::string& folder);

/// True if each of these files is DICOM of one frame and states its place, and not all state the same.
bool have_dicom_places(const std::vector<std::string>& files);
/// Brings such files into the order of their places. Returns read_dicom_info() of them.
ImageInfo order_dicom_files(std::vector<std::string>& files, const std::string& name);

/// Throws InputError that begins with `what` if one of the DICOM files among these lacks a rescale that others have.
void require_dicom_rescales(const std::vector<std::string>& files, const std::string& what);

/// All frames of all files, in the order of their positions (stack_slices()). `name` is for messages. Frames without
/// places are taken in their order; a warning says so, and where pixel sizes are a guess.
/// Throws InputError where one file lacks a rescale that others have.
ImageInfo read_dicom_info(const std::vector<std::string>& files, const std::string& name);
/// Values are rescaled as each frame says; float32 if that gives them different types.
TypedVolume read_dicom(const std::vector<std::string>& files, const std::string& name);

}  // namespace halocline
