// A subcommand: its name, its settings and what it does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/jobs/settings.hpp"

namespace halocline {

class Job;
using Action = std::function<void(Job&)>;

struct Command {
  Command(std::string with_name, std::string with_about) : name(std::move(with_name)), about(std::move(with_about)) {}

  std::string name, about, footer;
  Settings settings;
  Action run;
  bool on_ranks = false;  ///< it runs on several ranks, too (scheduling/transport/ranks.hpp)
  std::vector<std::unique_ptr<Command>> subcommands;  ///< one of which is to be chosen; then there is no `run`
};

}  // namespace halocline
