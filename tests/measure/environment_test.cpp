#include "src/measure/environment.h"

#include <array>
#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("only allow-listed variables are recorded", "[measure]") {
  const std::array<const char*, 10> environment{"OMP_NUM_THREADS=2",
                                                "AWS_SECRET_ACCESS_KEY=hush",
                                                "PTBENCH_ISA=x86-64-v3",
                                                "CUDA_VISIBLE_DEVICES=",
                                                "RANK=3",
                                                "RANKLE=3",
                                                "DNNL_VERBOSE=a=b",
                                                "no equals sign",
                                                "=odd",
                                                nullptr};
  const std::map<std::string, std::string> expected{{"OMP_NUM_THREADS", "2"},
                                                    {"PTBENCH_ISA", "x86-64-v3"},
                                                    {"CUDA_VISIBLE_DEVICES", ""},
                                                    {"RANK", "3"},
                                                    {"DNNL_VERBOSE", "a=b"}};
  CHECK(measured_variables(environment.data()) == expected);
  CHECK(measured_variables(nullptr).empty());
}

TEST_CASE("values of variables are made valid UTF-8", "[measure]") {
  const std::array<const char*, 2> environment{"PTBENCH_HOST_ID=caf\xE9", nullptr};
  CHECK(measured_variables(environment.data()).at("PTBENCH_HOST_ID") == "caf\uFFFD");
}

TEST_CASE("the name of the system is read as a shell would", "[measure]") {
  CHECK(os_pretty_name(
            "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n") ==
        "Debian GNU/Linux 12 (bookworm)");
  CHECK(os_pretty_name("PRETTY_NAME=Plain") == "Plain");
  CHECK(os_pretty_name("PRETTY_NAME='single'") == "single");
  CHECK(os_pretty_name("PRETTY_NAME=\"a \\\"b\\\" \\$c\"") == "a \"b\" $c");
  CHECK_FALSE(os_pretty_name("NAME=x\n#PRETTY_NAME=y\n").has_value());
  CHECK_FALSE(os_pretty_name("").has_value());
  CHECK(os_pretty_name("PRETTY_NAME=").value().empty());
  CHECK(os_pretty_name("PRETTY_NAME=\"").value() == "\"");
}

TEST_CASE("the environment is that of this machine", "[measure]") {
  Topology topology;
  topology.cpu_model = "Some CPU";
  topology.cores.resize(2);
  topology.memory_bytes = 1024;
  const EnvironmentRecord environment = describe_environment(topology);
  CHECK_FALSE(environment.host.name.empty());
  CHECK(environment.host.kernel.has_value());
  CHECK(environment.cpu.model == "Some CPU");
  CHECK(environment.cpu.cores == 2);
  CHECK(environment.memory_bytes == Bytes{1024});
}

TEST_CASE("what the topology does not know is not known", "[measure]") {
  const EnvironmentRecord environment = describe_environment({});
  CHECK_FALSE(environment.cpu.model.has_value());
  CHECK_FALSE(environment.cpu.cores.has_value());
  CHECK_FALSE(environment.memory_bytes.has_value());
}

TEST_CASE("times are RFC 3339 in UTC", "[measure]") {
  using WallClock = std::chrono::system_clock;
  CHECK(rfc3339_utc(WallClock::from_time_t(0)) == "1970-01-01T00:00:00Z");
  CHECK(rfc3339_utc(WallClock::from_time_t(1'709'210'096)) == "2024-02-29T12:34:56Z");
  CHECK(parse_rfc3339("2024-02-29T12:34:56Z").value() == WallClock::from_time_t(1'709'210'096));
  for (const char* text :
       {"", "2024-02-30T12:34:56Z", "2024-02-29T12:34:56", "2024-02-29 12:34:56Z",
        "2024-02-29T25:34:56Z", "2024-02-29T12:34:5xZ", "9999999-01-01T00:0Z"})
    CHECK_FALSE(parse_rfc3339(text).has_value());
}

}  // namespace ptbench
