#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "tests/cuda_emulator/ranks/ranks.h"

namespace ptbench::emulator::cases {
bool in_processes(int ranks, const std::function<bool(const Rank&)>& body) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  std::vector<pid_t> processes;
  for (int number = 0; number < ranks; ++number) {
    const pid_t process = fork();  // before the first call of CUDA
    if (process == 0) {
      Rank rank{number, ranks, {}};
      if (number == 0) {
        NCCL_CHECK(ncclGetUniqueId(&rank.id));
        for (int other = 1; other < ranks; ++other)
          if (write(ends[1], &rank.id, sizeof rank.id) < 0) std::exit(1);
      } else if (read(ends[0], &rank.id, sizeof rank.id) != sizeof rank.id) {
        std::exit(1);
      }
      std::exit(body(rank) ? 0 : 1);
    }
    processes.push_back(process);
  }
  int worst = 0;
  for (std::size_t index = 0; index < processes.size(); ++index) {
    // The first fault that is found ends all.
    int status = 0;
    waitpid(-1, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code > 1 && worst <= 1) {
      worst = code;
      for (const pid_t process : processes) kill(process, SIGKILL);
    }
    if (worst == 0) worst = code;
  }
  if (worst > 1) std::_Exit(worst);
  return worst == 0;
}

}  // namespace ptbench::emulator::cases

/// ptbench_emulator_ranks NAME [faulty]; without a name, the names.
int main(int argc, char** argv) {
  using namespace ptbench::emulator::cases;
  const bool faulty = argc > 2 && std::strcmp(argv[2], "faulty") == 0;
  for (const auto table : {collective_cases, order_cases, forming_cases, several_device_cases})
    for (const Case& entry : table()) {
      if (argc < 2)
        std::puts(entry.name);
      else if (std::strcmp(entry.name, argv[1]) == 0)
        return entry.run(faulty) ? 0 : 1;
    }
  return argc < 2 ? 0 : 2;
}
