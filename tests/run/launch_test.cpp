// Ranks that `ptbench launch` and `run --hosts` start. Other hosts are this one under another name,
// reached by a shell that is none of ssh's: tests/launchers has hosts of their own.
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
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
  CHECK_THAT(many.errors, Contains("--nproc 4: the hosts are to have 3 ranks"));
}

TEST_CASE("run --hosts on this host alone is repeated as any run", "[run]") {
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
             Contains("rank 1 on other: the shell that was to reach the host ended with 255"));
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
  refused({"-s", "ddp", "--hosts", "localhost:1,b:1"}, "by which no other host reaches this one");
  refused({"-s", "ddp", "--hosts", "localhost:1"}, "one rank is no run on hosts");
  refused({"--hosts", "localhost:2"}, "strategy 'serial' is one process");
  refused({"-s", "ddp", "--hosts", "localhost:2", "-n", "2"}, "--nproc");
  refused({"-s", "ddp", "--hosts", "a:2,a:1"}, "names a twice");
}

}  // namespace
}  // namespace ptbench::testing
