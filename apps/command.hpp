// The `halocline` command without its main(), so that tests can call it in process.
#pragma once

namespace halocline {

/// Parses the command line, runs the subcommand, prints errors on stderr. Returns the exit code: 0, also after --help;
/// 2 for a wrong command line, a wrong input or work that does not fit the devices; 1 for what else fails, Ctrl-C among
/// it.
int run_command(int argc, const char* const* argv);

}  // namespace halocline
