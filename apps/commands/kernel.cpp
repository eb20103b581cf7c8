// halocline kernel
#include "apps/commands/kernel_commands.hpp"

namespace halocline {

std::unique_ptr<Command> kernel_command() {
  auto command = std::make_unique<Command>("kernel", "Check projectors that you write in OpenCL C");
  command->subcommands.push_back(kernel_check_command());
  command->footer = "Example:\n  halocline kernel check projector.cl";
  return command;
}

}  // namespace halocline
