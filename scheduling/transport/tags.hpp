// Tags of messages from one rank to another: those of the work from 0 on, below those of volumes and of what is
// gathered, the largest that every library of MPI has.
#pragma once

namespace halocline {

inline constexpr int gather_tag = 32767, volume_tag = 32766, work_tags = 32766;

}  // namespace halocline
