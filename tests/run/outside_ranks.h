#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "tests/run/command.h"

namespace ptbench::testing {

using Texts = std::vector<std::string>;

/// What one rank is started with.
struct Start {
  Texts arguments;
  Texts environment;
};

/// Ranks that somebody else starts. A folder, and a port that no other test has.
class OutsideRanks {
 public:
  OutsideRanks() {
    static int count = 0;
    constexpr int kFirst = 20'000;
    constexpr int kPorts = 40'000;
    port_ = std::to_string(kFirst + (static_cast<int>(getpid()) * 16 + count++) % kPorts);
  }

  [[nodiscard]] const std::string& port() const { return port_; }
  [[nodiscard]] std::string address() const { return "PTBENCH_ADDR=localhost:" + port_; }
  [[nodiscard]] const RunCommand& files() const { return files_; }

  /// Each start is a process, all at once.
  [[nodiscard]] std::vector<ProgramResult> operator()(const std::vector<Start>& starts) const {
    std::vector<std::future<ProgramResult>> running;
    for (const Start& start : starts)
      running.push_back(std::async(std::launch::async, [&] { return run(start); }));
    std::vector<ProgramResult> results;
    for (auto& result : running) results.push_back(result.get());
    return results;
  }

  /// By hand: --rank and --world-size after `arguments`, each rank with its own.
  [[nodiscard]] std::vector<ProgramResult> by_hand(const std::vector<Texts>& arguments) const {
    std::vector<Start> starts;
    for (const Texts& own : arguments) starts.push_back({own, {address()}});
    return (*this)(starts);
  }

  /// Two ranks of `ptbench comm`; `hosts`: that they say they are on.
  [[nodiscard]] std::vector<ProgramResult> comm(const Texts& arguments,
                                                const std::optional<Texts>& hosts = {}) const {
    std::vector<std::future<ProgramResult>> running;
    for (const std::size_t rank : {0U, 1U})
      running.push_back(std::async(std::launch::async, [&, rank] {
        Texts command{PTBENCH_EXECUTABLE, "comm"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        Texts environment{address(), fmt::format("PTBENCH_RANK={}", rank), "PTBENCH_WORLD_SIZE=2"};
        if (hosts) environment.push_back("PTBENCH_HOST_ID=" + hosts->at(rank));
        return run_program(command, {.folder = files_.path("."), .environment = environment});
      }));
    std::vector<ProgramResult> results;
    for (auto& result : running) results.push_back(result.get());
    return results;
  }

 private:
  [[nodiscard]] ProgramResult run(const Start& start) const {
    Texts command{PTBENCH_EXECUTABLE, "run", "-w", "linear", "--threads", "1"};
    command.insert(command.end(), start.arguments.begin(), start.arguments.end());
    Texts environment = start.environment;
    environment.push_back("XDG_CACHE_HOME=" + files_.path("cache").string());
    return run_program(command, {.folder = files_.path("."), .environment = environment});
  }

  RunCommand files_;
  std::string port_;
};

}  // namespace ptbench::testing
