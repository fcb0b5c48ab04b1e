#include "src/device/quiet.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "src/base/process_state.h"

namespace ptbench {
namespace {

/// Between two looks. Whoever is asleep at both and works in between is not worth waiting for.
constexpr std::chrono::microseconds kBetweenLooks{200};

/// A thread that has just ended rests too.
bool is_asleep(const std::filesystem::path& thread) {
  const ProcessState state = state_in(thread);
  return !state.is_running() && !state.waits_for_disk();
}

bool others_are_asleep() {
  const std::string own = std::to_string(gettid());
  std::error_code error;  // without /proc nobody is seen to work
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  return std::ranges::all_of(threads, [&](const auto& thread) {
    return thread.path().filename() == own || is_asleep(thread.path());
  });
}

}  // namespace

bool wait_until_quiet(std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  bool were_asleep = others_are_asleep();
  do {
    std::this_thread::sleep_for(kBetweenLooks);
    const bool are_asleep = others_are_asleep();
    if (were_asleep && are_asleep) return true;
    were_asleep = are_asleep;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void come_to_rest(Device& device) {
  device.finish();
  (void)wait_until_quiet();
}

}  // namespace ptbench
