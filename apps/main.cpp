#include "apps/command.hpp"

int main(int argc, char** argv) {
  return halocline::run_command(argc, argv);
}
