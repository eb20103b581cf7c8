// A program that starts MPI itself, as mpi4py does, and runs a command of Halocline twice on its ranks.
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include "apps/command.hpp"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int code = halocline::run_command(argc, argv);
  if (code == 0) code = halocline::run_command(argc, argv);
  MPI_Finalize();
  return code;
}
