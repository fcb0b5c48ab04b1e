// Ranks that `ptbench launch` and `run --hosts` start. Other hosts are this one under another name,
// reached by a shell that is none of ssh's: tests/launchers has hosts of their own.
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/run/command.h"
#include "tests/support/built_modules.h"
#include "tests/support/skip.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using Words = std::vector<std::string>;

/// An address by which another host would reach this one; empty where there is none.
std::string own_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool is_v4 = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET;
    if (!is_v4 || (one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, NI_MAXHOST> host{};
    if (getnameinfo(one->ifa_addr, sizeof(sockaddr_in), host.data(), host.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0)
      return host.data();
  }
  return {};
}

class Launch {
 public:
  [[nodiscard]] ProgramResult operator()(const Words& arguments) const {
    Words command{PTBENCH_EXECUTABLE};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command, {.folder = files_.path("."),
                                 .environment = {"XDG_CACHE_HOME=" + files_.path("cache").string()},
                                 .deadline = std::chrono::seconds(120)});
  }

  /// A shell that "reaches" a host of any name by running `script` with the host's name as $1 and
  /// the command as $2.
  [[nodiscard]] std::string shell(const std::string& script) const {
    files_.write("reach", script);
    return "/bin/sh " + files_.path("reach").string();
  }

  [[nodiscard]] const RunCommand& files() const { return files_; }

 private:
  RunCommand files_;
};

constexpr const char* kAnotherName =
    "PTBENCH_HOST_ID=$1; export PTBENCH_HOST_ID; exec sh -c \"$2\"";

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const Words kShort{"-w", "linear", "--threads", "1", "--steps", "20", "-s", "ddp", "-o", "r.json"};

void check_hosts(const nlohmann::json& record, const Words& others) {
  CHECK(record["status"] == "ok");
  CHECK(record["verification"]["status"] == "passed");
  REQUIRE(record["ranks"].size() == 1 + others.size());
  for (std::size_t rank = 0; rank < others.size(); ++rank)
    if (!others[rank].empty()) CHECK(record["ranks"][rank + 1]["host"] == others[rank]);
}

TEST_CASE("launch starts ranks, which know their places", "[run]") {
  const Launch launch;
  const ProgramResult result = launch(
      {"launch", "--hosts", "localhost:3", "--", "/bin/sh", "-c",
       "echo $PTBENCH_RANK/$PTBENCH_WORLD_SIZE/$PTBENCH_LOCAL_RANK ${#PTBENCH_TOKEN} $0 \"$1\"; "
       "test $PTBENCH_RANK != 0 || { sleep 0.5; exit 7; }",
       "it's", "two words"});
  CAPTURE(result.errors);
  CHECK(result.exit_code == 7);
  for (const char* rank : {"0", "1", "2"})
    CHECK_THAT(result.output, Contains(std::string(rank) + "/3/" + rank + " 32 it's two words\n"));
}

TEST_CASE("launch starts the first ranks of its hosts", "[run]") {
  const Launch launch;
  const ProgramResult result =
      launch({"launch", "--hosts", "localhost:3", "-n", "2", "--", "ptbench-is-not-asked"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.errors, Contains("rank 0 on localhost: there is no 'ptbench-is-not-asked'"));
  const ProgramResult many = launch({"launch", "--hosts", "localhost:3", "-n", "4", "--", "true"});
  CHECK(many.exit_code == 1);
  CHECK_THAT(many.errors, Contains("--nproc 4: --hosts names only 3 ranks"));
}

TEST_CASE("several hosts without the module of gloo are told how to get it", "[run]") {
  const std::string here = own_address();
  if (here.empty()) skip("this host has no address but its own");
  const TemporaryDirectory folder;
  const std::string program = (folder.path() / "ptbench").string();
  std::filesystem::copy_file(PTBENCH_EXECUTABLE, program);
  const ProgramResult result =
      run_program({program, "run", "-s", "ddp", "--hosts", here + ":1,elsewhere:1"});
  CHECK(result.exit_code == 5);
  CHECK_THAT(result.errors, Contains("several hosts need gloo: there is no module ") &&
                                Contains("remedy: on each host install libgloo-dev") &&
                                !Contains("communicator shm"));
}

TEST_CASE("run --hosts on this host alone is repeated as any run", "[run][long]") {
  const RunCommand run(std::chrono::seconds(120));
  const ProgramResult result =
      run({"-w", "linear", "-s", "ddp", "--threads", "1", "--hosts", "localhost:2", "--repeats",
           "2", "--max-time", "10", "-o", "r.json"});
  const nlohmann::json record = record_of(run, result);
  CHECK(record["samples"]["repetitions"].size() == 2);
  CHECK(record["strategy"]["world_size"] == 2);
  CHECK_THAT(record["strategy"]["launcher"].get<std::string>(),
             Contains("launch --hosts=localhost:2"));
  CHECK_THAT(result.errors, Contains("2 on 1 host ("));
  CHECK(result.output.find("token") == std::string::npos);
  CHECK(run.text("r.json").find("PTBENCH_TOKEN") == std::string::npos);
}

TEST_CASE("run --hosts has ranks of several hosts meet", "[run]") {
  const std::string own = own_address();
  if (own.empty() || !is_built("gloo")) skip("no network, or no gloo");
  const Launch launch;
  const Words start{"run", "--hosts", own + ":2,other:1", "--shell", launch.shell(kAnotherName)};
  const ProgramResult result = launch(joined(start, kShort));
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json record = launch.files().json("r.json")["runs"][0];
  check_hosts(record, {"", "other"});
  CHECK(record["strategy"]["communicator"] == "shm+gloo");
  CHECK_THAT(result.errors,
             Contains("3 on 2 hosts (") && Contains("other), communicator shm+gloo"));
}

TEST_CASE("run --try-hosts pretends that this machine is several hosts", "[run]") {
  if (own_address().empty() || !is_built("gloo")) skip("no network, or no gloo");
  const Launch launch;
  const ProgramResult result = launch(joined({"run", "--try-hosts", "2"}, kShort));
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json record = launch.files().json("r.json")["runs"][0];
  check_hosts(record, {"pretended-2"});
  CHECK(record["strategy"]["hosts"] == 2);
  CHECK(record["strategy"]["communicator"] == "shm+gloo");
  CHECK_THAT(result.errors, Contains("2 on 2 hosts (") && Contains("pretended-2)"));
}

TEST_CASE("a host that is not reached ends the run with its name", "[run]") {
  const std::string own = own_address();
  if (own.empty() || !is_built("gloo")) skip("no network, or no gloo");
  const Launch launch;
  const Words start{"run", "--hosts", own + ":1,other:1", "--shell",
                    launch.shell("echo the network is unreachable >&2; exit 255")};
  const ProgramResult result = launch(joined(start, kShort));
  CAPTURE(result.errors, result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.errors, Contains("the network is unreachable"));
  const nlohmann::json record = launch.files().json("r.json")["runs"][0];
  CHECK_THAT(record["reason"].get<std::string>(),
             Contains("rank 1 on other: the --shell command for this host ended with 255"));
}

TEST_CASE("a shell that reads its commands byte by byte ends as its ranks do", "[run]") {
  const std::string own = own_address();
  if (own.empty() || !std::filesystem::exists("/bin/bash")) skip("no network, or no bash");
  const Launch launch;
  const auto begin = std::chrono::steady_clock::now();
  const ProgramResult result = launch({"launch", "--hosts", own + ":1,other:2", "--shell",
                                       launch.shell("exec /bin/bash --posix"), "--", "/bin/true"});
  CHECK(result.exit_code == 0);
  // Else the shell would wait for the end of its input, which comes half a minute later.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(25));
}

TEST_CASE("a rank of another host that fails is named, with its exit code", "[run]") {
  const std::string own = own_address();
  if (own.empty()) skip("no network");
  const Launch launch;
  const ProgramResult result = launch({"launch", "--hosts", own + ":1,other:3", "--shell",
                                       launch.shell(kAnotherName), "--", "/bin/sh", "-c",
                                       "echo rank $PTBENCH_RANK is $PTBENCH_LOCAL_RANK there; "
                                       "test $PTBENCH_RANK != 2 || exit 3; exec sleep 60"});
  CAPTURE(result.errors);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.errors, Contains("rank 2 on other ended with exit code 3"));
  for (const char* line :
       {"rank 0 is 0 there\n", "rank 1 is 0 there\n", "rank 2 is 1 there\n", "rank 3 is 2 there\n"})
    CHECK_THAT(result.output, Contains(line));
  CHECK(result.output.size() == 4 * std::string("rank 0 is 0 there\n").size());
}

/// Whether all of these processes have ended within some seconds.
bool have_ended(const std::string& processes) {
  std::istringstream ids(processes);
  for (std::string id; ids >> id;) {
    for (int look = 0; std::filesystem::exists("/proc/" + id); ++look) {
      if (look == 200) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  return true;
}

// Ranks that know nothing of each other.
constexpr const char* kUntilTerm =
    "echo $$ >> ids; trap 'echo $PTBENCH_RANK >> asked; exit 0' TERM; "
    "while :; do sleep 0.1; done";

TEST_CASE("what runs on other hosts is asked to end after rank 0 has failed", "[run]") {
  const std::string own = own_address();
  if (own.empty()) skip("no network");
  const Launch launch;
  const ProgramResult result =
      launch({"launch", "--hosts", own + ":2,other:2", "--shell", launch.shell(kAnotherName), "--",
              "/bin/sh", "-c",
              std::string("test $PTBENCH_RANK != 0 || { sleep 1; exit 3; }; ") + kUntilTerm});
  CAPTURE(result.errors);
  CHECK(result.exit_code == 3);
  const std::string asked = launch.files().text("asked");
  for (const char* rank : {"1\n", "2\n", "3\n"}) CHECK_THAT(asked, Contains(rank));
  CHECK(have_ended(launch.files().text("ids")));
}

TEST_CASE("a launch that is killed asks all ranks to end", "[run]") {
  const std::string own = own_address();
  if (own.empty()) skip("no network");
  const Launch launch;
  // The shell's own process becomes launch, which rank 0 kills.
  const ProgramResult result =
      launch({"launch", "--hosts", own + ":2,other:1", "--shell", launch.shell(kAnotherName), "--",
              "/bin/sh", "-c",
              std::string("test $PTBENCH_RANK != 0 || { launch=$PPID; (sleep 1; kill -KILL "
                          "$launch) & }; ") +
                  kUntilTerm});
  CHECK(result.signal == SIGKILL);
  const std::string ids = launch.files().text("ids");
  CHECK(std::ranges::count(ids, '\n') == 3);
  CHECK(have_ended(ids));
  const std::string asked = launch.files().text("asked");
  for (const char* rank : {"0\n", "1\n", "2\n"}) CHECK_THAT(asked, Contains(rank));
}

TEST_CASE("what a rank on another host cannot do is the run's exit code", "[run]") {
  const std::string own = own_address();
  if (own.empty() || !is_built("gloo")) skip("no network, or no gloo");
  const Launch launch;
  // That host has no instruction set of this name, so its rank is refused.
  const Words start{"run", "--hosts", own + ":1,other:1", "--shell",
                    launch.shell("PTBENCH_HOST_ID=$1; export PTBENCH_HOST_ID; "
                                 "PTBENCH_ISA=none; export PTBENCH_ISA; exec sh -c \"$2\"")};
  const ProgramResult result = launch(joined(start, kShort));
  CAPTURE(result.errors, result.output);
  CHECK(result.exit_code == 1);
  // As rank 1 tells it, or rank 0 after it: one of them ends the other.
  CHECK_THAT(result.errors, Contains("rank 1 on other: PTBENCH_ISA is 'none'"));
}

TEST_CASE("rows on several hosts have the ids of their rows", "[run]") {
  const std::string own = own_address();
  if (own.empty() || !is_built("gloo")) skip("no network, or no gloo");
  const Launch launch;
  const std::string command = std::string(PTBENCH_EXECUTABLE) + " launch --hosts " + own +
                              ":1,other:1 --shell '" + launch.shell(kAnotherName) + "' -n {n} --";
  const Words sweep{"sweep", "-w",         "linear", "-s",       "ddp",       "-n",
                    "1,2",   "--threads",  "1",      "--rounds", "1",         "--max-time",
                    "2",     "--launcher", command,  "-o",       "hosts.json"};
  const ProgramResult first = launch(sweep);
  CAPTURE(first.errors);
  REQUIRE(first.exit_code == 0);
  const auto ids = [&] {
    Words all;
    const nlohmann::json file = launch.files().json("hosts.json");
    for (const auto& run : file["runs"]) all.push_back(run["id"]);
    return all;
  };
  const Words before = ids();
  CHECK(std::ranges::count(before, "linear/ddp/n2/b32/fp32/threads=1") == 1);
  const ProgramResult again = launch(joined(sweep, {"--resume"}));
  CAPTURE(again.errors);
  CHECK(again.exit_code == 0);
  CHECK(ids() == before);
}

TEST_CASE("hosts that cannot be meant are refused", "[run]") {
  const RunCommand run;
  const auto refused = [&](const Words& arguments, const std::string& why) {
    const ProgramResult result = run(arguments);
    CAPTURE(result.errors);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains(why));
  };
  refused({"-s", "ddp", "--hosts", "192.0.2.1:1,b:1"},
          "begins with 192.0.2.1, which is not this host");
  refused({"-s", "ddp", "--hosts", "localhost:1,b:1"},
          "by which other hosts cannot reach this one");
  refused({"-s", "ddp", "--hosts", "localhost:1"}, "one rank does not need several hosts");
  refused({"--hosts", "localhost:2"}, "strategy 'serial' is one process");
  refused({"-s", "ddp", "--hosts", "localhost:2", "-n", "2"}, "--nproc");
  refused({"-s", "ddp", "--hosts", "a:2,a:1"}, "names a twice");
}

}  // namespace
}  // namespace ptbench::testing
