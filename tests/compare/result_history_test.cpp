#include "src/compare/result_history.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <thread>

#include "reports/read_result.h"
#include "src/base/error.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using Catch::Contains;

ResultFile result_named(const std::string& id) {
  ResultFile file;
  file.environment.host.name = "host\n";
  RunRecord& run = file.runs.emplace_back();
  run.id = id;
  run.step_seconds.median = 0.1;
  run.samples.step_seconds = {0.1, 1.0 / 3};
  run.samples.slices.push_back({.repetition = 0,
                                .first = 0,
                                .count = 2,
                                .clean = true,
                                .median_seconds = 0.1,
                                .placement = "near"});
  run.samples.repetitions.push_back(
      {.median_seconds = 1.0 / 3, .placement = "near", .clean_slices = 1});
  return file;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string ids_of(const std::vector<ResultFile>& results) {
  std::string ids;
  for (const ResultFile& result : results) ids += result.runs.at(0).id;
  return ids;
}

}  // namespace

TEST_CASE("a history keeps the newest result last", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory history(folder.path() / "h.jsonl");
  CHECK(history.last(10).empty());
  for (const char* id : {"a", "b", "c", "d"}) history.append(result_named(id));
  CHECK(ids_of(history.last(10)) == "abcd");
  CHECK(ids_of(history.last(2)) == "cd");
  const std::string text = text_of(history.file());
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

TEST_CASE("a history keeps means, of samples that it leaves out", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory history(folder.path() / "h.jsonl");
  ResultFile result = result_named("a");
  result.accepted = {"a"};
  history.append(result);
  const ResultFile entry = history.last(1).at(0);
  CHECK(entry.runs.at(0).samples.step_seconds.empty());
  CHECK(entry.runs.at(0).samples.repetitions.at(0).mean_seconds.value() ==
        Approx((0.1 + 1.0 / 3) / 2));
  CHECK(entry.accepted == std::vector<std::string>{"a"});
}

TEST_CASE("a history gives each record once, and none that is asked for without", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory history(folder.path() / "h.jsonl");
  const auto made = [](const std::string& id) {
    ResultFile result = result_named(id);
    result.created = "2025-06-30T12:34:56Z";
    return result;
  };
  CHECK_FALSE(history.holds(std::vector{made("a")}));
  for (const char* id : {"a", "b", "c", "c", "c", "d", "d"}) history.append(made(id));
  CHECK(ids_of(history.last(10)) == "abcd");
  CHECK(ids_of(history.last(2)) == "cd");
  CHECK(ids_of(history.last(1, std::vector{made("d"), made("x")})) == "c");
  CHECK(ids_of(history.last(2, std::vector{made("c")})) == "bd");
  CHECK(history.holds(std::vector{made("x"), made("a")}));
  CHECK_FALSE(history.holds(std::vector{made("x")}));
  // A record that does not know when it was made is like no other.
  CHECK_FALSE(history.holds(std::vector{result_named("a")}));
  (void)folder.write("h.jsonl", "{\"created\": \"2025-06-30T12:34:56Z\"\n");
  CHECK_FALSE(history.holds(std::vector{made("a")}));
}

TEST_CASE("a history leaves raw samples out and keeps the rest", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory history(folder.path() / "h.jsonl");
  history.append(result_named("a\n\x1b\u009b"));
  const ResultFile result = history.last(1).at(0);
  CHECK(result.environment.host.name == "host\n");
  const RunRecord& run = result.runs.at(0);
  CHECK(run.id == "a\n\x1b\u009b");
  CHECK(run.samples.step_seconds.empty());
  CHECK(run.samples.slices.at(0).count == 2);
  CHECK(run.samples.repetitions.at(0).median_seconds == 1.0 / 3);
  for (const char letter : text_of(history.file()))
    CHECK((letter == '\n' || (static_cast<unsigned char>(letter) >= 0x20 &&
                              static_cast<unsigned char>(letter) < 0x7F)));
}

TEST_CASE("a last line without its end is no part of the next", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory history(folder.path() / "h.jsonl");
  history.append(result_named("a"));
  std::string text = text_of(history.file());
  text.pop_back();
  (void)folder.write("h.jsonl", "\n" + text);
  history.append(result_named("b"));
  CHECK(ids_of(history.last(10)) == "ab");
}

TEST_CASE("an entry that cannot be read is named by its line", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory history(folder.path() / "h.jsonl");
  history.append(result_named("a"));
  std::ofstream(history.file(), std::ios::app) << "\n{\"schema\": \n";
  CHECK_THROWS_WITH(history.last(1), Contains("h.jsonl:3' is not JSON"));
  history.append(result_named("b"));
  CHECK_THROWS_AS(history.last(2), Error);
  CHECK(ids_of(history.last(1)) == "b");
}

TEST_CASE("a history that cannot be used is a usage error", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory folder_itself(folder.path());
  CHECK_THROWS_WITH(folder_itself.last(1), Contains("cannot be read"));
  CHECK_THROWS_WITH(folder_itself.append(result_named("a")), Contains("cannot be written"));
  const ResultHistory nowhere(folder.path() / "absent" / "h.jsonl");
  CHECK_THROWS_WITH(nowhere.append(result_named("a")), Contains("cannot be written"));
}

TEST_CASE("a history that has no end is refused", "[app]") {
  const testing::TemporaryDirectory folder;
  for (const char* name : {"/dev/zero", "/dev/null"}) {
    const ResultHistory device{std::filesystem::path(name)};
    CHECK_THROWS_WITH(device.last(1), Contains("not a regular file"));
    CHECK_THROWS_WITH(device.append(result_named("a")), Contains("cannot be written"));
  }
}

TEST_CASE("a line that is too long is refused unread", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory history(folder.path() / "h.jsonl");
  history.append(result_named("a"));
  std::filesystem::resize_file(history.file(), kLargestResultFile + 10'000);
  CHECK_THROWS_WITH(history.last(1), Contains("in line 2, more than the 512 MiB"));
  history.append(result_named("b"));
  CHECK(ids_of(history.last(1)) == "b");
  CHECK_THROWS_WITH(history.last(2), Contains("in line 2"));
}

TEST_CASE("lines that are added at a time do not mix", "[app]") {
  const testing::TemporaryDirectory folder;
  const ResultHistory history(folder.path() / "h.jsonl");
  const auto add = [&] {
    for (int line = 0; line < 20; ++line) history.append(result_named("a"));
  };
  std::thread other(add);
  add();
  other.join();
  CHECK(history.last(100).size() == 40);
}

}  // namespace ptbench
