// Keeps choices of tuning for the default device in the folder of caches, beside those that are there.
//   store_tuning NAME VALUE...
#include "host/opencl/device.hpp"
#include "host/opencl/tuned_values.hpp"

int main(int argc, char** argv) {
  using namespace halocline;
  const Device device = open_devices({}).front();
  Tuning tuning = tuning_of(device);
  for (int n = 1; n + 1 < argc; n += 2) tuning.choices[argv[n]] = argv[n + 1];
  store_tuning(device.info(), tuning);
}
