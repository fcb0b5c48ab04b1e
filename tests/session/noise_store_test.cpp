#include "app/session/noise_store.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

PriorNoise noise_of(const std::string& placement, double deviation, Size degrees) {
  PriorNoise noise;
  noise.learn(placement, {.standard_deviation = deviation, .degrees_of_freedom = degrees});
  return noise;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("what was learnt of a host is kept", "[app]") {
  const testing::TemporaryDirectory folder;
  const NoiseStore store(folder.path() / "new" / "folder" / "noise.json");
  CHECK(store.load("a").classes().empty());
  REQUIRE(store.save("a", noise_of("near", 0.0058, 4)));
  CHECK(store.load("a").of("near") == 0.0058);
  CHECK(store.load("a").classes().at("near").degrees_of_freedom == 4);
  CHECK(store.load("a").of("far") == PriorNoise::kUnlearnt);
  CHECK(store.load("b").classes().empty());
}

TEST_CASE("other hosts and other classes are left alone", "[app]") {
  const testing::TemporaryDirectory folder;
  const NoiseStore store(folder.path() / "noise.json");
  REQUIRE(store.save("a", noise_of("near", 0.0058, 4)));
  REQUIRE(store.save("b\x1b\xFF", noise_of("near", 0.002, 9)));
  REQUIRE(store.save("a", noise_of("far", 0.0146, 4)));
  REQUIRE(store.save("a", noise_of("near", 0.005, 8)));
  CHECK(store.load("a").of("near") == 0.005);
  CHECK(store.load("a").of("far") == 0.0146);
  CHECK(store.load("b\x1b\xFF").of("near") == 0.002);
  CHECK(text_of(store.file()).find('\x1b') == std::string::npos);
}

TEST_CASE("a store that went bad holds nothing, and is written anew", "[app]") {
  const testing::TemporaryDirectory folder;
  for (const std::string text :
       {"", "{", "[]", "3", R"({"schema": "other/1", "hosts": {}})",
        R"({"schema": "ptbench.noise/1"})", R"({"schema": "ptbench.noise/1", "hosts": [1]})",
        R"({"schema": 1, "hosts": {}})", R"({"schema": "ptbench.noise/1", "hosts": {"a": 3}})",
        R"({"schema": "ptbench.noise/1", "hosts": {"a": {"near": 3}}})"}) {
    INFO(text);
    const NoiseStore store(folder.write("noise.json", text));
    CHECK(store.load("a").classes().empty());
    CHECK(store.save("a", noise_of("near", 0.0058, 4)));
    CHECK(store.load("a").of("near") == 0.0058);
  }
}

TEST_CASE("noise that nobody can have learnt is passed over", "[app]") {
  const testing::TemporaryDirectory folder;
  for (const std::string learnt :
       {R"({"standard_deviation": 0, "degrees_of_freedom": 4})",
        R"({"standard_deviation": -0.1, "degrees_of_freedom": 4})",
        R"({"standard_deviation": 20, "degrees_of_freedom": 4})",
        R"({"standard_deviation": "0.1", "degrees_of_freedom": 4})",
        R"({"standard_deviation": 0.1, "degrees_of_freedom": -4})",
        R"({"standard_deviation": 0.1, "degrees_of_freedom": 18446744073709551615})",
        R"({"standard_deviation": 0.1})"}) {
    INFO(learnt);
    const NoiseStore store(folder.write(
        "noise.json", R"({"schema": "ptbench.noise/1", "hosts": {"a": {"near": )" + learnt +
                          R"(, "far": {"standard_deviation": 0.02, "degrees_of_freedom": 3}}}})"));
    CHECK(store.load("a").classes().size() == 1);
    CHECK(store.load("a").of("far") == 0.02);
  }
}

TEST_CASE("a store that cannot be written says so", "[app]") {
  const testing::TemporaryDirectory folder;
  CHECK_FALSE(NoiseStore(std::filesystem::path()).save("a", noise_of("near", 0.01, 1)));
  CHECK_FALSE(NoiseStore(folder.path()).save("a", noise_of("near", 0.01, 1)));
  const std::string file = folder.write("file", "");
  CHECK_FALSE(
      NoiseStore(std::filesystem::path(file) / "noise.json").save("a", noise_of("near", 0.01, 1)));
  CHECK(NoiseStore(std::filesystem::path()).load("a").classes().empty());
}

}  // namespace ptbench
