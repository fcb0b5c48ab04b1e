// `ptbench doctor --noise`: what it leaves of a watch that was cut short, and what it learns.
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "app/session/noise_store.h"
#include "src/process/child_process.h"
#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

namespace fs = std::filesystem;

using Catch::Contains;

/// A watch with temporary folders of its own.
class NoiseWatch {
 public:
  NoiseWatch() : process_(command()) {}

  /// Until a process does this part.
  void wait_for(const std::string& pass) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      for (const auto& entry : fs::directory_iterator("/proc"))
        if (does(entry.path(), pass)) return;
      REQUIRE_FALSE(process_.wait(std::chrono::milliseconds(5)).has_value());
    }
    FAIL("no process does '" << pass << "'");
  }

  [[nodiscard]] int exit_code_after(int signal) {
    REQUIRE(kill(process_.id(), signal) == 0);
    return process_.wait(std::chrono::seconds(60)).value().code;
  }

  [[nodiscard]] const std::string& output() const { return output_; }
  [[nodiscard]] const std::string& errors() const { return errors_; }
  [[nodiscard]] bool left_nothing() const { return fs::is_empty(scratch()); }

 private:
  [[nodiscard]] fs::path scratch() const { return folder_.path() / "scratch"; }

  /// Its arguments name files in the temporary folder.
  [[nodiscard]] bool does(const fs::path& process, const std::string& pass) const {
    std::ifstream file(process / "cmdline", std::ios::binary);
    std::ostringstream arguments;
    arguments << file.rdbuf();
    return arguments.str().find("--pass=" + pass) != std::string::npos &&
           arguments.str().find(scratch().string()) != std::string::npos;
  }

  [[nodiscard]] ChildCommand command() {
    fs::create_directory(scratch());
    // As shells let jobs in the background ignore it.
    (void)std::signal(SIGINT, SIG_DFL);
    return {.program = "/usr/bin/env",
            .arguments = {"TMPDIR=" + scratch().string(),
                          "XDG_CACHE_HOME=" + (folder_.path() / "cache").string(),
                          PTBENCH_EXECUTABLE, "doctor", "--noise", "--seconds", "600"},
            .on_output = [this](std::string_view text) { output_ += text; },
            .on_errors = [this](std::string_view text) { errors_ += text; }};
  }

  TemporaryDirectory folder_;
  std::string output_;
  std::string errors_;
  ChildProcess process_;
};

PriorNoise noise_of(const std::string& placement, double deviation) {
  PriorNoise noise;
  noise.learn(placement, {.standard_deviation = deviation, .degrees_of_freedom = 4});
  return noise;
}

}  // namespace

TEST_CASE("a watch that a signal ends says so, and what it saw until then", "[run]") {
  NoiseWatch watch;
  watch.wait_for("next");
  CHECK(watch.exit_code_after(SIGTERM) == 130);
  CHECK_THAT(watch.errors(), Contains("interrupted after "));
  CHECK_THAT(watch.output(), Catch::StartsWith("the watch\n") && Contains("interrupted: after ") &&
                                 Contains("what disturbs it"));
  CHECK(watch.left_nothing());
}

TEST_CASE("a watch that a signal ends before it saw anything has no report", "[run]") {
  NoiseWatch watch;
  watch.wait_for("prepare");
  CHECK(watch.exit_code_after(SIGINT) == 130);
  CHECK_THAT(watch.errors(), Contains("interrupted after ") && Contains("nothing measured"));
  CHECK(watch.output().empty());
  CHECK(watch.left_nothing());
}

TEST_CASE("a cache is ready where it can be written, and only there", "[run]") {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "file") << "text";
  const std::string own = folder.path().string();
  const auto state_of = [](const std::string& cache) {
    const ProgramResult result = run_program({PTBENCH_EXECUTABLE, "doctor", "--json"},
                                             {.environment = {"XDG_CACHE_HOME=" + cache}});
    CHECK(result.exit_code == 0);
    const nlohmann::json report = nlohmann::json::parse(result.output);
    for (const auto& finding : report.at("files"))
      if (finding.at("name") == "plan_cache") return finding.at("state").get<std::string>();
    return std::string("missing");
  };
  CHECK(state_of(own) == "ready");
  CHECK(state_of(own + "/not/there/yet") == "ready");
  for (const std::string& impossible : {std::string("/dev/null/x"), own + "/file",
                                        own + "/file/below", std::string("/proc/no/such")})
    CHECK(state_of(impossible) == "warning");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("what was learnt of a host before is no news", "[run]") {
  const TemporaryDirectory folder;
  const NoiseStore store(folder.path() / "noise.json");
  REQUIRE(store.save("a", noise_of("near", 0.006)));
  PriorNoise learnt = noise_of("near", 0.02);
  learnt.learn("far", {.standard_deviation = 0.015, .degrees_of_freedom = 5});
  const PriorNoise unknown = store.unknown("a", learnt);
  CHECK(unknown.classes().size() == 1);
  CHECK(unknown.of("far") == 0.015);
  CHECK(store.unknown("b", learnt).classes().size() == 2);
  REQUIRE(store.save("a", unknown));
  CHECK(store.load("a").of("near") == 0.006);
}

}  // namespace ptbench::testing
