#include "tests/cuda_emulator/nccl/settings.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "tests/cuda_emulator/device/exports.h"

namespace ptbench::emulator::nccl {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Settings read_settings() {
  const std::string word = variable("PTBENCH_EMULATOR_NCCL");
  if (word.empty()) return {};
  if (word == "no-id") return {.failure = Failure::no_id};
  if (word == "failed") return {.failure = Failure::failed};
  if (word == "hangs") return {.failure = Failure::hangs};
  char* end = nullptr;
  const long version = std::strtol(word.c_str(), &end, 10);
  if (*end != '\0' || version < 1 || version > 99999)
    ptbench_emulator_report(("PTBENCH_EMULATOR_NCCL is '" + word +
                             "': use a version, as 22809, or no-id, failed or hangs")
                                .c_str());
  return {.version = static_cast<int>(version)};
}

}  // namespace

const Settings& settings() {
  static const Settings read = read_settings();
  return read;
}

std::string host_name() {
  if (const std::string id = variable("NCCL_HOSTID"); !id.empty()) return id;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return name.data() + boot;
}

}  // namespace ptbench::emulator::nccl
