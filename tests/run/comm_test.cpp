// `ptbench comm` as a user calls it: processes, tables, mistakes, and ranks that die.
#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/collectives/comm_tables.h"
#include "reports/table.h"
#include "src/device/topology.h"
#include "tests/run/command.h"
#include "tests/support/built_modules.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

ProgramResult comm(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {PTBENCH_EXECUTABLE, "comm"});
  return run_program(arguments);
}

/// A shell script in which $P is a `ptbench comm` that takes a minute and $1, $2 are its ranks; all
/// of them are a process group of their own, in which signals are not ignored.
ProgramResult while_measuring(const std::string& options, const std::string& script) {
  std::string sizes = "1M";
  for (int i = 0; i < 400; ++i) sizes += ",1M";
  const std::string start = "set -m; " + std::string(PTBENCH_EXECUTABLE) + " comm -n 2 --sizes " +
                            sizes + " " + options + " & P=$!; ";
  const std::string ranks =
      "for i in $(seq 500); do set -- $(cat /proc/$P/task/*/children); [ $# -ge 2 ] && break; "
      "sleep 0.02; done; sleep 1; ";
  const std::string end =
      "; wait $P; code=$?; for rank in \"$@\"; do kill -0 $rank 2>/dev/null && echo left $rank; "
      "done; exit $code";
  return run_program({"/bin/bash", "-c", start + ranks + script + end});
}

/// Whether `ranks` are told that they share cores exactly where they do.
bool is_warned_of_shared_cores(const std::string& errors, std::size_t ranks) {
  const bool warned =
      errors.find("ptbench: warning: " + std::to_string(ranks) + " ranks share ") == 0;
  return warned == (ranks > discover_topology().cores.size());
}

std::set<std::string> shared_memory_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    names.insert(entry.path().string());
  return names;
}

TEST_CASE("every collective is measured and right, as a table of at most 100 columns", "[run]") {
  const ProgramResult result = comm({"-n", "2", "--collective",
                                     "all_reduce,reduce_scatter,all_gather,broadcast,reduce,gather",
                                     "--sizes", "4,60,4k,64K"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK(is_warned_of_shared_cores(result.errors, 2));
  std::istringstream lines(result.output);
  std::string line;
  std::getline(lines, line);
  CHECK_THAT(line, Contains("2 ranks") && Contains("communicator shm"));
  int rows = 0;
  while (std::getline(lines, line)) {
    CHECK(line.size() <= 100);
    if (line.find(" float ") == std::string::npos) continue;
    ++rows;
    CHECK_THAT(line, Catch::EndsWith("  0"));
  }
  CHECK(rows == 24);
}

/// The words of each line of the table between its units and what its columns mean.
std::vector<std::vector<std::string>> words_of_rows(const std::string& output) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(output.substr(output.find("(B)")));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.empty()) {
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words),
                      std::istream_iterator<std::string>());
  }
  return rows;
}

TEST_CASE("the table of comm has nccl-tests' columns", "[run]") {
  const ProgramResult result =
      comm({"-n", "2", "--collective",
            "all_reduce,reduce_scatter,all_gather,broadcast,reduce,gather", "--sizes", "64"});
  CAPTURE(result.output);
  std::istringstream lines(result.output);
  std::string line;
  while (line.find("collective ") != 0 && std::getline(lines, line)) {
  }
  CHECK_THAT(result.output, Contains("\n\n# time: of the slowest rank"));
  std::istringstream headings(line);
  CHECK(std::vector<std::string>(std::istream_iterator<std::string>(headings), {}) ==
        std::vector<std::string>{"collective", "size", "count", "type", "redop", "root", "time",
                                 "algbw", "busbw", "wrong"});
  std::vector<std::string> parts;
  for (const std::vector<std::string>& row : words_of_rows(result.output)) {
    REQUIRE(row.size() == 10);
    parts.push_back(row[0] + " " + row[3] + " " + row[4] + " " + row[5]);
  }
  CHECK(parts == std::vector<std::string>{"all_reduce float sum -1", "reduce_scatter float sum -1",
                                          "all_gather float none -1", "broadcast float none 0",
                                          "reduce float sum 0", "gather float none 0"});
}

TEST_CASE("the table of comm has at most 100 columns at the largest sizes too", "[run]") {
  const std::vector<CommMeasurement> rows{{.collective = "reduce_scatter",
                                           .ranks = 2,
                                           .count = Size{16} << 30U,
                                           .seconds = 99.9,
                                           .wrong = 0},
                                          {.collective = "all_gather",
                                           .ranks = 2,
                                           .count = Size{16} << 30U,
                                           .seconds = 0.5,
                                           .wrong = 0}};
  std::istringstream lines(table_text(comm_text_table(rows)));
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    CHECK(line.size() <= 100);
    ++count;
  }
  CHECK(count == 4);
}

TEST_CASE("the JSON of comm has raw numbers and nccl-tests' formulas", "[run]") {
  const ProgramResult result =
      comm({"-n", "3", "--collective", "all_reduce,gather,broadcast,all_to_all,send_receive",
            "--sizes", "1K,3M", "--json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json rows = nlohmann::json::parse(result.output);
  REQUIRE(rows.size() == 10);
  for (const nlohmann::json& row : rows) {
    CHECK(row["communicator"] == "shm");
    CHECK(row["ranks"] == 3);
    CHECK(row["type"] == "float");
    const std::string name = row["collective"];
    CHECK(row["wrong"] == 0);
    const auto bytes = row["bytes"].get<double>();
    CHECK(row["count"].get<double>() * 4 == bytes);
    const double bandwidth = bytes / row["seconds"].get<double>();
    CHECK(row["algbw_bytes_per_second"].get<double>() == Approx(bandwidth));
    const double factor = name == "all_reduce"                       ? 4.0 / 3
                          : name == "gather" || name == "all_to_all" ? 2.0 / 3
                                                                     : 1;
    CHECK(row["busbw_bytes_per_second"].get<double>() == Approx(bandwidth * factor));
  }
  CHECK(rows[1]["bytes"] == 3 << 20);
  // A gather has equal parts: 1026 bytes would be the least, in whole floats 1032.
  CHECK(rows[2]["bytes"] == 1032);
  CHECK(rows[6]["bytes"] == 1032);  // and so has an exchange of all
}

TEST_CASE("several communicators are measured into one table", "[run]") {
  std::vector<std::string> names{"solo", "shm"};
  if (is_built("gloo")) names.emplace_back("gloo");
  std::string list = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) list += "," + names[i];
  const ProgramResult result =
      comm({"-n", "1", "--communicator", list, "--sizes", "64", "--iters", "3"});
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  std::vector<std::string> found;
  for (const std::vector<std::string>& row : words_of_rows(result.output)) {
    REQUIRE(row.size() == 11);
    CHECK(row[1] == "all_reduce");
    CHECK(row[10] == "0");
    found.push_back(row[0]);
  }
  CHECK(found == names);
  for (const std::string& name : names)
    CHECK_THAT(result.output, Contains("; communicator " + name + "\n"));
}

TEST_CASE("gloo's values are right between processes", "[run]") {
  if (!is_built("gloo")) skip("no module of gloo was built");
  const ProgramResult result = comm({"-n", "2", "--communicator", "gloo", "--collective",
                                     "all_reduce,reduce_scatter,all_gather,broadcast,reduce,gather",
                                     "--sizes", "4,1M", "--iters", "3", "--json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json rows = nlohmann::json::parse(result.output);
  CHECK(rows.size() == 12);
  for (const nlohmann::json& row : rows) {
    CHECK(row["communicator"] == "gloo");
    CHECK(row["wrong"] == 0);
  }
}

TEST_CASE("comm measures one rank too, without other processes or with", "[run]") {
  for (const std::string& name : {std::string("solo"), std::string("auto"), std::string("shm")}) {
    const ProgramResult result =
        comm({"-n", "1", "--communicator", name, "--sizes", "4K", "--json"});
    REQUIRE(result.exit_code == 0);
    const nlohmann::json rows = nlohmann::json::parse(result.output);
    CHECK(rows[0]["communicator"] == (name == "shm" ? "shm" : "solo"));
    CHECK(rows[0]["busbw_bytes_per_second"] == 0.0);
    CHECK(rows[0]["wrong"] == 0);
  }
}

TEST_CASE("more ranks than cores are measured and warned of", "[run]") {
  const ProgramResult result = comm({"-n", "9", "--sizes", "4,100K", "--json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK(is_warned_of_shared_cores(result.errors, 9));
  for (const nlohmann::json& row : nlohmann::json::parse(result.output)) CHECK(row["wrong"] == 0);
}

TEST_CASE("mistakes on the command line of comm", "[run]") {
  struct Mistake {
    std::vector<std::string> arguments;
    std::string says;
  };
  for (const Mistake& mistake : std::vector<Mistake>{
           {{"--collective", "all_reduse"}, "did you mean 'all_reduce'?"},
           {{"--collective", "all_reduce,"}, "--collective"},
           {{"--sizes", "5"}, "--sizes"},
           {{"--sizes", "0"}, "--sizes"},
           {{"--sizes", "4,,8"}, "--sizes"},
           {{"--sizes", "4T"}, "--sizes"},
           {{"--sizes", "K"}, "--sizes"},
           {{"--sizes", "99999999999999999999G"}, "--sizes"},
           {{"-n", "100", "--sizes", "64G"}, "choose smaller --sizes"},
           {{"-n", "0"}, "--nproc"},
           {{"-n", "2", "--communicator", "solo"}, "--communicator solo"},
           {{"--communicator", "mpl"}, "--communicator"},
           {{"--timeout", "0"}, "--timeout"},
       }) {
    const ProgramResult result = comm(mistake.arguments);
    CAPTURE(mistake.says, result.errors);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains(mistake.says) && Contains("ptbench: error: ") &&
                                  Contains("ptbench: remedy: "));
    CHECK(result.output.empty());
  }
}

TEST_CASE("a rank that dies ends comm with one error and leaves nothing", "[run]") {
  const auto files = shared_memory_files();
  std::vector<std::string> communicators{"shm"};
  if (is_built("gloo")) communicators.emplace_back("gloo");
  for (const std::string& communicator : communicators) {
    const ProgramResult result = while_measuring("--communicator " + communicator, "kill -KILL $2");
    CAPTURE(communicator, result.errors);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.errors,
               Contains("rank 1 on ") && Contains("while measuring, was killed by signal 9"));
    CHECK(result.errors.find("error:") == result.errors.rfind("error:"));
    CHECK(result.output.empty());
  }
  CHECK(shared_memory_files() == files);
}

TEST_CASE("a rank that stands still is named when its time is over", "[run]") {
  const ProgramResult result = while_measuring("--timeout 0.3", "kill -STOP $1");
  CAPTURE(result.errors);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.errors, Contains("rank 1: ") && Contains(": rank 0 did not"));
  CHECK(result.output.empty());
}

TEST_CASE("a signal ends comm and its ranks, and what was measured is kept", "[run]") {
  // To the process that the user started, as kill does, to all of them, as a terminal does, and to
  // one rank.
  const std::string victims = GENERATE("-TERM $P", "-INT -- -$P", "-TERM $2");
  const TemporaryDirectory folder;
  const std::string file = (folder.path() / "comm").string();
  const ProgramResult result = while_measuring(
      "-o " + file + ".json -o " + file + ".md -o " + file + ".txt", "kill " + victims);
  CAPTURE(victims, result.errors);
  CHECK(result.exit_code == 130);
  CHECK_THAT(result.errors, Contains("ptbench: warning: interrupted after ") &&
                                Contains(" of 401 rows") && Contains(file + ".json"));
  CHECK_THAT(result.output, !Contains("left"));
  CHECK_FALSE(words_of_rows(result.output).empty());
  const nlohmann::json rows = nlohmann::json::parse(contents_of(file + ".json"));
  CHECK_FALSE(rows.empty());
  CHECK(rows.size() < 401);
  for (const nlohmann::json& row : rows) CHECK(row["wrong"] == 0);
  CHECK_THAT(contents_of(file + ".md"), Contains("| all_reduce | 1048576 |"));
  CHECK_THAT(contents_of(file + ".txt"), Contains("# time: of the slowest rank"));
}

TEST_CASE("comm writes the files that it is told to, and refuses others", "[run]") {
  const TemporaryDirectory folder;
  const std::string file = (folder.path() / "comm.json").string();
  const ProgramResult result = comm({"-n", "1", "--sizes", "4K", "-o", file});
  CHECK(result.exit_code == 0);
  CHECK(nlohmann::json::parse(contents_of(file)).size() == 1);
  const ProgramResult refused = comm({"-n", "1", "--sizes", "4K", "-o", "comm.png"});
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.errors, Contains("--output 'comm.png' ends in no known format"));
}

}  // namespace
}  // namespace ptbench::testing
