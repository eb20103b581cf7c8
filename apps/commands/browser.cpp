#include "apps/commands/browser.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

namespace halocline {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The program and its arguments; none if there is no browser.
std::vector<std::string> browser_command(const std::string& path) {
  std::string browser = environment("BROWSER");
  if (browser.empty())
    return environment("DISPLAY").empty() && environment("WAYLAND_DISPLAY").empty()
               ? std::vector<std::string>{}
               : std::vector<std::string>{"xdg-open", path};
  browser = browser.substr(0, browser.find(':'));  // it may be a list
  std::vector<std::string> words;
  std::istringstream in(browser);
  bool named = false;
  for (std::string word; in >> word; words.push_back(word))
    if (const auto place = word.find("%s"); place != std::string::npos) {
      word.replace(place, 2, path);
      named = true;
    }
  if (!words.empty() && !named) words.push_back(path);
  return words;
}

// Starts it in a new session, so that it outlives the terminal, and without a word on it.
bool start(const std::vector<std::string>& words, pid_t& child) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_RDWR, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  const int code = posix_spawnp(&child, arguments.front(), &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return code == 0;
}

}  // namespace

bool open_in_browser(const std::string& path) {
  const auto words = browser_command(std::filesystem::absolute(path).string());
  pid_t child = 0;
  if (words.empty() || !start(words, child)) return false;
  // One that runs on is a browser; what opens the page in another one ends soon.
  constexpr auto step = std::chrono::milliseconds(50);
  constexpr int steps = 60;
  for (int n = 0; n < steps; ++n) {
    int state = 0;
    if (waitpid(child, &state, WNOHANG) == child) return WIFEXITED(state) && WEXITSTATUS(state) == 0;
    std::this_thread::sleep_for(step);
  }
  return true;
}

}  // namespace halocline
