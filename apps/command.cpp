#include "apps/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "apps/commands/command_line.hpp"
#include "apps/help/command_table.hpp"
#include "apps/job/common_options.hpp"
#include "apps/job/job.hpp"
#include "apps/job/option_names.hpp"
#include "apps/job/rank_checks.hpp"
#include "apps/job/report.hpp"
#include "apps/options/parsed_command.hpp"
#include "apps/options/setting_options.hpp"
#include "apps/options/unknown_option.hpp"
#include "apps/version.hpp"
#include "host/system/captured_stderr.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

// CLI11's arguments: last first, without the program's name. "-.5" is a number to us, but would be taken for an option.
// "help fdk" is "fdk --help", unless options of help itself are there.
bool is_option_of_help(std::string_view word) {
  return word == "--as" || word.starts_with("--as=") || word.starts_with("-o") || word.starts_with("--output");
}
bool is_help_of_subcommand(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != "help") return false;
  const std::string_view next = argc > 2 ? argv[2] : "";
  return next != "--help" && next != "-h" && std::none_of(argv + 2, argv + argc, is_option_of_help);
}
std::vector<std::string> arguments(int argc, const char* const* argv) {
  std::vector<std::string> result;
  if (is_help_of_subcommand(argc, argv)) {
    result.emplace_back("--help");
    for (int n = argc - 1; n > 1; --n) result.emplace_back(argv[n]);
    return result;
  }
  for (int n = argc - 1; n > 0; --n) {
    std::string word = argv[n];
    if (word.size() > 2 && word.compare(0, 2, "-.") == 0 && std::isdigit(static_cast<unsigned char>(word[2])) != 0)
      word.insert(1, "0");
    result.push_back(std::move(word));
  }
  return result;
}

// Breaks long descriptions, which CLI11 2.1 leaves to the terminal, and names the place of the common options:
// subcommands do not show them.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr std::size_t width = 100;
    const std::string text = CLI::Formatter::make_option_desc(option);
    std::string result;
    std::size_t column = get_column_width();
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find_first_of(" \n", at), text.size());
      const bool over = end < text.size() && text[end] == '\n';  // a line that the description ends itself
      if (!result.empty() && column + end - at >= width) {
        result.back() = '\n';
        column = get_column_width();
      }
      result += text.substr(at, end - at) + " ";
      column += end - at + 1;
      at = end + 1;
      if (!over) continue;
      result.back() = '\n';
      column = get_column_width();
    }
    if (!result.empty()) result.pop_back();
    return result;
  }

  std::string make_footer(const CLI::App* app) const override {
    if (app->get_parent() == nullptr) return CLI::Formatter::make_footer(app);
    return app->get_footer() +
           "\n\nFor the options of every subcommand (--device, --device-memory, --dry-run, --report, --quiet, ...) see "
           "'halocline --help'.\n";
  }
};

// CLI11's message, or a better one if it is the subcommand that is missing or unknown, or an option that is unknown:
// that one may be what CLI11 misses.
std::string parse_error_text(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& level = innermost(app);
  const auto subcommands = level.get_subcommands([](const CLI::App*) { return true; });
  if (subcommands.empty()) {
    const bool left_over = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                           dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    const std::string unknown = left_over ? unknown_option_text(app, level) : "";
    return unknown.empty() ? error.what() : unknown;
  }
  std::vector<std::string> names;
  for (const auto* sub : subcommands) names.push_back(sub->get_name());
  const auto unknown = app.remaining(true);
  if (unknown.empty()) return fmt::format("a subcommand is missing; the subcommands are: {}", fmt::join(names, ", "));
  const std::string meant = closest_name(unknown.front(), names);
  return fmt::format("there is no subcommand '{}'{}; the subcommands are: {}", unknown.front(),
                     meant.empty() ? "" : fmt::format(", did you mean '{}'?", meant), fmt::join(names, ", "));
}

// `--alpha "$ALPHA"` without such a variable must not run as if there were no --alpha.
void refuse_empty_values(const CLI::App& app) {
  for (const auto* option : app.get_options())
    for (const auto& value : option->results())
      if (value.empty())
        throw InputError(fmt::format(
            "{} has an empty value; give one, or leave the option out (has a variable of the shell no value?)",
            option->get_name()));
  for (const auto* sub : app.get_subcommands()) refuse_empty_values(*sub);
}

// The command line in a shell's words.
std::string command_line_of(int argc, const char* const* argv) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+./,:@%";
  std::string line = "halocline";
  for (int n = 1; n < argc; ++n) {
    const std::string_view word = argv[n];
    line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

// With several ranks ends all of them. The first one is given time to say what it may have in common with the others;
// an interrupt is `common`, and said by the first one alone, unless the failure of another one ended its work, or it
// has heard of none.
int fail(const std::string& command, const std::string& text, int code, bool common = false) {
  constexpr std::chrono::milliseconds to_speak{2000}, to_be_heard{300};
  Ranks& all = ranks();
  if (!common) all.report_failure();
  const bool silent = common && (!all.first() || all.failed_elsewhere());
  if (!all.first() || silent) std::this_thread::sleep_for(to_speak);
  if (all.first() && silent) std::this_thread::sleep_for(2 * to_be_heard);
  std::fflush(stdout);
  if (silent && all.first()) all.abort(code);
  write_stderr(fmt::format("halocline{}{}: {}error: {}\n", command.empty() ? "" : " ", command,
                           all.several() ? fmt::format("rank {}: ", all.rank()) : "", text));
  if (all.several()) {
    std::this_thread::sleep_for(to_be_heard);  // launchers end before they have forwarded all text
    all.abort(code);
  }
  return code;
}

// Ranks but the first one are silent and write the parts of images alone.
void leave_the_rest_to_the_first_rank(CommonOptions& common) {
  common.quiet = true;
  common.log_level = "error";
  common.report = common.html = "";
}

// The command of a rank that prints what CLI11 knows.
std::string asked_for(const std::string& command, const CLI::Success& success) {
  const bool version = dynamic_cast<const CLI::CallForVersion*>(&success) != nullptr;
  return fmt::format("{}{}{}", command, command.empty() ? "" : " ", version ? "--version" : "--help");
}

void join_ranks(std::optional<RanksInUse>& joined) {
  joined.emplace();
  if (!ranks().first() && std::freopen("/dev/null", "w", stdout) == nullptr) throw Error("/dev/null cannot be opened");
}

}  // namespace

int run_command(int argc, const char* const* argv) {
  std::optional<InterruptHandler> handler;
  std::optional<RanksInUse> joined;
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows past `ulimit -f` is then an error of write() like a full disk
  CLI::App app(program_about, "halocline");
  app.set_version_flag("-V,--version", version_text());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.option_defaults()->always_capture_default();
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->column_width(34);
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(program_footer + exit_codes_text());

  CommonOptions common;
  Settings common_settings;
  const auto commands = make_commands();
  const auto help = help_command(app, common_settings);
  Command* chosen = nullptr;
  std::string command;
  try {
    handler.emplace();
    join_ranks(joined);
    add_common_options(common_settings, common);
    add_settings(app, common_settings);
    for (const auto& each : commands) add_command(app, *each, chosen);
    add_command(app, *help, chosen);
    try {
      app.parse(arguments(argc, argv));
    } catch (const CLI::Success& success) {
      command = command_name(app);
      const auto words = app.remaining(true);
      if (!words.empty() && !innermost(app).get_subcommands([](const CLI::App*) { return true; }).empty())
        throw CLI::ExtrasError(words);  // help of a subcommand that does not exist
      require_same_command(ranks(), version_text(), asked_for(command, success), {});
      const int code = app.exit(success);
      std::cout.flush();
      return std::cout ? code : fail(command, "the standard output could not be written", 1);
    } catch (...) {
      command = command_name(app);
      throw;
    }
    command = command_name(app);
    refuse_empty_values(app);
    set_running_command(command);
    const auto options = options_json(chosen->settings, common_settings);
    require_same_command(ranks(), version_text(), command, options);
    if (!chosen->on_ranks) refuse_several_ranks(command);
    if (!ranks().first()) leave_the_rest_to_the_first_rank(common);
    set_up_logging(common);
    common.command_line = command_line_of(argc, argv);
    Job job(command, common, options);
    carry_out(chosen->run, job);
    return 0;
  } catch (const CLI::Error& error) {
    return fail(command,
                fmt::format("{}\nSee 'halocline {}{}--help'.", parse_error_text(app, error), command,
                            command.empty() ? "" : " "),
                2);
  } catch (const InputError& error) {
    return fail(command, in_options(error.what(), command), 2);
  } catch (const PlanError& error) {
    return fail(command, in_options(error.what(), command), 2);
  } catch (const Interrupted& error) {
    return fail(command, in_options(error.what(), command), 1, true);
  } catch (const std::bad_alloc&) {
    return fail(command, "this computer has not enough free memory for the volumes; choose smaller sizes", 1);
  } catch (const std::length_error&) {
    return fail(command, "a volume is too large for this computer; choose smaller sizes", 1);
  } catch (const std::filesystem::filesystem_error& error) {
    if (error.code() != std::errc::permission_denied) return fail(command, error.what(), 1);
    return fail(command,
                fmt::format("'{}' cannot be read: permission denied; allow it (chmod +r, for folders on the way chmod "
                            "+x), or give another",
                            error.path1().string()),
                2);
  } catch (const std::exception& error) {
    return fail(command, in_options(error.what(), command), 1);
  }
}

}  // namespace halocline
