#include "src/ranks/host_list.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/refusal.h"

namespace ptbench {
namespace {

using Catch::Contains;

std::vector<HostSlots> parsed(const std::string& text) {
  return parse_host_list({.name = "hosts", .example = "node1:2", .domain = "hosts"}, text);
}

TEST_CASE("a list of hosts has their ranks in order", "[ranks]") {
  CHECK(parsed("a:2,b") == std::vector<HostSlots>{{"a", 2}, {"b", 1}});
  CHECK(parsed("node-1.lan:4096") == std::vector<HostSlots>{{"node-1.lan", 4096}});
  CHECK(parsed("[fd00::1]:3,10.0.0.2:1") ==
        std::vector<HostSlots>{{"fd00::1", 3}, {"10.0.0.2", 1}});
  CHECK(parsed("[fd00::1]") == std::vector<HostSlots>{{"fd00::1", 1}});
}

TEST_CASE("what is no list of hosts is refused with the option's name", "[ranks]") {
  for (const std::string text :
       {"", ",", "a:", "a:0", "a:4097", "a:x", "a:2,", ":2", "-oProxy=x:2", "a b:2", "u@a:2",
        "fd00::1:2", "[fd00::1", "[fd00::1]2", "[]:2", "a:2;b", "a\n:2"}) {
    CAPTURE(text);
    CHECK_THAT(testing::refusal_of([&] { return parsed(text); }), Contains("--hosts"));
  }
  CHECK_THAT(testing::refusal_of([] { return parsed("a:2,b,a:1"); }), Contains("a twice"));
  CHECK_THAT(testing::refusal_of([] { return parsed("a:4000,b:97"); }), Contains("4097 ranks"));
}

TEST_CASE("a list of hosts is written as it is read", "[ranks]") {
  for (const std::string text : {"a:2,b:1", "[fd00::1]:3,10.0.0.2:1"})
    CHECK(text_of(parsed(text)) == text);
}

TEST_CASE("the first ranks are those of the first hosts", "[ranks]") {
  const std::vector<HostSlots> hosts = parsed("a:2,b:3");
  CHECK(ranks_of(hosts) == 5);
  CHECK(text_of(first_ranks(hosts, 1)) == "a:1");
  CHECK(text_of(first_ranks(hosts, 2)) == "a:2");
  CHECK(text_of(first_ranks(hosts, 4)) == "a:2,b:2");
  CHECK(first_ranks(hosts, 5) == hosts);
}

}  // namespace
}  // namespace ptbench
