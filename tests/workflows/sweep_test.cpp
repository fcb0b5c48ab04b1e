// `ptbench sweep` from outside: what it measures, what it keeps, and what it refuses.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "reports/validate.h"
#include "tests/run/command.h"
#include "tests/support/built_modules.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

/// In the folder of `place`, with its plan cache.
ProgramResult ptbench(const RunCommand& place, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PTBENCH_EXECUTABLE);
  return run_program(arguments, {.folder = place.path(""),
                                 .environment = {"XDG_CACHE_HOME=" + place.path("cache").string(),
                                                 "COLUMNS=250"},  // no figure is left out
                                 .deadline = std::chrono::seconds(100)});
}

ProgramResult sweep(const RunCommand& place, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sweep");
  return ptbench(place, std::move(arguments));
}

void check_schema(const nlohmann::json& result) {
  const ResultSchema schema(PTBENCH_SOURCE_DIR "/reports/schema");
  for (const SchemaProblem& problem : schema.problems_of(result))
    FAIL_CHECK(problem.pointer << ": " << problem.message);
}

std::vector<std::string> statuses(const nlohmann::json& file) {
  std::vector<std::string> found;
  for (const auto& run : file["runs"])
    found.push_back(run["id"].get<std::string>() + " " + run["status"].get<std::string>());
  return found;
}

/// Of the rows on one thread each, without serial training on all cores: whether that is added
/// depends on how many there are.
std::vector<std::string> one_thread_statuses(nlohmann::json file) {
  nlohmann::json others = nlohmann::json::array();
  for (const nlohmann::json& run : file["runs"])
    if (run["strategy"]["name"] != "serial" || run["strategy"]["threads"] == 1)
      others.push_back(run);
  file["runs"] = others;
  return statuses(file);
}

/// When the repetitions of a file's first run began.
std::vector<double> starts(const nlohmann::json& file) {
  std::vector<double> seconds;
  for (const auto& repetition : file["runs"][0]["samples"]["repetitions"])
    seconds.push_back(repetition["started_unix_seconds"].get<double>());
  REQUIRE_FALSE(seconds.empty());
  return seconds;
}

struct Swept {
  ProgramResult result;
  nlohmann::json file;
};

/// With s.json among the outputs, which has to match the schema.
Swept swept(const RunCommand& place, std::vector<std::string> arguments, int exit_code = 0) {
  Swept done{.result = sweep(place, std::move(arguments))};
  INFO(done.result.errors);
  REQUIRE(done.result.exit_code == exit_code);
  done.file = place.json("s.json");
  check_schema(done.file);
  return done;
}

TEST_CASE("a sweep measures every row of its grid", "[workflows]") {
  const RunCommand place;
  const auto [result, file] = swept(place, {"-w", "linear", "-b", "16,32", "--rounds", "2",
                                            "--max-time", "1", "-o", "s.json", "-o", "s.csv"});
  CHECK(statuses(file) ==
        std::vector<std::string>{"linear/serial/n1/b16/fp32 ok", "linear/serial/n1/b32/fp32 ok"});
  for (const auto& run : file["runs"]) {
    CHECK(run["samples"]["repetitions"].size() == 2);
    CHECK(run["throughput"]["value"].get<double>() > 0);
  }
  CHECK(file["command"][1] == "sweep");
  CHECK_THAT(result.output, Contains("batch") && Contains("samples/s"));
  const std::string csv = place.text("s.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK(place.partial_files() == 0);
}

TEST_CASE("a sweep skips what is impossible", "[workflows]") {
  const RunCommand place;
  const auto [result, file] = swept(place, {"-w", "linear", "--precision", "fp16,fp32", "--rounds",
                                            "1", "--max-time", "0.2", "-o", "s.json"});
  CHECK(statuses(file) == std::vector<std::string>{"linear/serial/n1/b32/fp16 skipped",
                                                   "linear/serial/n1/b32/fp32 ok"});
  CHECK_THAT(file["runs"][0]["reason"].get<std::string>(), Contains("fp16"));
  CHECK_THAT(result.output, Contains("skipped"));
}

TEST_CASE("a sweep that is resumed measures only what is missing", "[workflows]") {
  const RunCommand place;
  const auto with_batches = [](const std::string& batches, const std::string& rounds) {
    return std::vector<std::string>{"-w",      "linear", "-b", batches,  "--rounds", rounds,
                                    "--steps", "200",    "-o", "s.json", "--resume"};
  };
  REQUIRE(sweep(place, with_batches("16", "1")).exit_code == 0);
  const nlohmann::json first = place.json("s.json");
  REQUIRE(sweep(place, with_batches("16,32", "1")).exit_code == 0);
  const nlohmann::json second = place.json("s.json");
  REQUIRE(second["runs"].size() == 2);
  CHECK(second["runs"][0]["samples"] == first["runs"][0]["samples"]);
  REQUIRE(sweep(place, with_batches("32", "2")).exit_code == 0);
  const nlohmann::json third = place.json("s.json");
  check_schema(third);
  CHECK(statuses(third) ==
        std::vector<std::string>{"linear/serial/n1/b32/fp32 ok", "linear/serial/n1/b16/fp32 ok"});
  CHECK(third["runs"][0]["samples"]["repetitions"].size() == 2);
  CHECK(third["runs"][1]["samples"] == first["runs"][0]["samples"]);
}

/// Shares of the loss, together.
double lost(const nlohmann::json& scaling) {
  double sum = 0;
  for (const auto& term : scaling["loss"]) sum += term.get<double>();
  return sum;
}

TEST_CASE("a sweep over ranks adds its baseline, and compares with it", "[workflows]") {
  const RunCommand place;
  const std::vector<std::string> arguments{
      "-w", "linear",  "-s",  "ddp", "-n",     "1,2", "--threads", "1",       "--rounds",
      "3",  "--steps", "200", "-o",  "s.json", "-o",  "s.csv",     "--resume"};
  const auto [result, file] = swept(place, arguments);
  CHECK(one_thread_statuses(file) ==
        std::vector<std::string>{"linear/serial/n1/b32/fp32/threads=1 ok",
                                 "linear/ddp/n1/b32/fp32/threads=1 ok",
                                 "linear/ddp/n2/b32/fp32/threads=1 ok"});
  CHECK(file["runs"][0]["scaling"]["speedup"] == 1);
  CHECK(file["runs"][0]["scaling"]["efficiency"] == 1);
  const auto& run = file["runs"][2];
  const auto& scaling = run["scaling"];
  CHECK(scaling["mode"] == "weak");
  CHECK(scaling["baseline"] == file["runs"][0]["id"]);
  CHECK(scaling["speedup"].get<double>() ==
        Approx(run["throughput"]["value"].get<double>() /
               file["runs"][0]["throughput"]["value"].get<double>()));
  CHECK(scaling["efficiency"].get<double>() == Approx(scaling["speedup"].get<double>() / 2));
  CHECK(scaling["efficiency_ci95"].size() == 2);
  CHECK(scaling["efficiency_vs_one_rank"].is_number());
  if (file["runs"].size() == 4)  // there are two cores
    CHECK(scaling["efficiency_vs_all_cores"].get<double>() ==
          Approx(run["throughput"]["value"].get<double>() /
                 file["runs"][3]["throughput"]["value"].get<double>()));
  CHECK(file["runs"][1]["scaling"]["efficiency_vs_all_cores"].is_null());
  if (scaling["loss"]["overhead"].is_number())
    CHECK(lost(scaling) == Approx(1 - scaling["efficiency"].get<double>()).margin(1e-9));
  CHECK_THAT(result.output, Contains("efficiency") && Contains("\nscaling      ddp n2: "));

  REQUIRE(sweep(place, arguments).exit_code == 0);
  const nlohmann::json again = place.json("s.json");
  REQUIRE(again["runs"].size() == file["runs"].size());
  CHECK(again["runs"][0]["samples"] == file["runs"][0]["samples"]);
  CHECK(again["runs"][2]["samples"] == run["samples"]);
  CHECK(again["runs"][2]["scaling"]["speedup"] == scaling["speedup"]);
}

namespace {

/// Of a run's repetitions.
std::ptrdiff_t count_clean(const nlohmann::json& run) {
  return std::ranges::count_if(run["samples"]["repetitions"], [](const nlohmann::json& repetition) {
    return repetition["clean_slices"].get<int>() > 0;
  });
}

}  // namespace

TEST_CASE("a sweep in turns calls nothing clean of unknown load, and rests a row on one basis",
          "[workflows]") {
  const RunCommand place;
  const auto [result, file] =
      swept(place, {"-w", "linear", "-s", "ddp", "-n", "1,2", "--threads", "1", "--rounds", "3",
                    "--max-time", "3", "-o", "s.json"});
  const nlohmann::json& baseline = file["runs"][0];
  for (const nlohmann::json& run : file["runs"]) {
    for (const nlohmann::json& slice : run["samples"]["slices"])
      CHECK((slice["clean"] != true || slice["foreign_cpu_fraction"].is_number()));
    const nlohmann::json scaling = run["scaling"];
    if (scaling.is_null() || scaling["rounds"] != 3) continue;
    const bool of_all = count_clean(run) < 3 && count_clean(baseline) < 3;
    if (scaling["basis"] == "clean_rounds" || of_all)
      CHECK(scaling["speedup"].get<double>() ==
            Approx(run["throughput"]["value"].get<double>() /
                   baseline["throughput"]["value"].get<double>()));
  }
}

TEST_CASE("strong scaling skips ranks that cannot share the batch", "[workflows]") {
  const RunCommand place;
  const auto [result, file] =
      swept(place, {"-w", "linear", "-s", "ddp", "-n", "2,3", "--scaling", "strong", "--threads",
                    "1", "--rounds", "1", "--steps", "50", "-o", "s.json"});
  CHECK(one_thread_statuses(file) ==
        std::vector<std::string>{"linear/serial/n1/b32/fp32/threads=1 ok",
                                 "linear/ddp/n2/b16/fp32/threads=1 ok",
                                 "linear/ddp/n3/b10/fp32/threads=1/global-batch=32 skipped",
                                 "linear/serial/n1/b16/fp32/threads=1 ok"});
  const nlohmann::json& scaling = file["runs"][1]["scaling"];
  CHECK(scaling["mode"] == "strong");
  if (scaling["loss"]["overhead"].is_number()) {
    CHECK(scaling["loss"]["batch_effect"].is_number());
    CHECK(lost(scaling) == Approx(1 - scaling["efficiency"].get<double>()).margin(1e-9));
  }
  CHECK(file["runs"][2]["scaling"].is_null());
  CHECK_THAT(file["runs"][2]["reason"].get<std::string>(), Contains("nearest possible one is 33"));
  const ProgramResult refused = sweep(place, {"--scaling", "strong", "-b", "8"});
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.errors, Contains("--global-batch"));
}

TEST_CASE("a result of another CPU is not resumed", "[workflows]") {
  const RunCommand place;
  const std::vector<std::string> arguments{"-w", "linear", "--rounds", "1",       "--steps",
                                           "50", "-o",     "s.json",   "--resume"};
  REQUIRE(sweep(place, arguments).exit_code == 0);
  auto file = nlohmann::ordered_json::parse(place.text("s.json"));  // the schema comes first
  file["environment"]["cpu"]["model"] = "Another CPU";
  place.write("s.json", file.dump());
  const ProgramResult result = sweep(place, arguments);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("another CPU: Another CPU"));
  CHECK(place.text("s.json") == file.dump());
}

TEST_CASE("two builds are measured side by side, and can be compared", "[workflows]") {
  const RunCommand place;
  const ProgramResult result = sweep(
      place, {"-w", "linear", "--threads", "1", "--rounds", "1", "--max-time", "1", "--binary",
              PTBENCH_EXECUTABLE, "-o", "a.json", "--binary", PTBENCH_EXECUTABLE, "-o", "b.json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json a = place.json("a.json");
  const nlohmann::json b = place.json("b.json");
  check_schema(a);
  CHECK(statuses(a) == statuses(b));
  CHECK(a["generator"] == b["generator"]);
  CHECK(a["generator"]["version"] != "unknown");
  const std::vector<double> base = starts(a);
  const std::vector<double> fresh = starts(b);
  for (std::size_t round = 0; round + 1 < std::min(base.size(), fresh.size()); ++round)
    CHECK(std::max(base[round], fresh[round]) < std::min(base[round + 1], fresh[round + 1]));
  const ProgramResult compared = ptbench(place, {"compare", "a.json", "b.json"});
  CAPTURE(compared.output, compared.errors);
  CHECK((compared.exit_code == 0 || compared.exit_code == 3));
  CHECK_THAT(compared.output, Contains("linear/serial/n1/b32/fp32"));
}

/// A sweep of both builds whose choices no cache keeps, as on a machine that is busy.
ProgramResult sweep_uncached(const RunCommand& place, const std::vector<std::string>& more = {}) {
  place.write("no-folder", "");
  std::vector<std::string> command{
      PTBENCH_EXECUTABLE, "sweep", "-w",       "linear", "-b",      "16,32",
      "--threads",        "1",     "--rounds", "1",      "--steps", "20"};
  for (const char* name : {"a.json", "b.json"})
    command.insert(command.end(), {"--binary", PTBENCH_EXECUTABLE, "-o", name});
  command.insert(command.end(), more.begin(), more.end());
  return run_program(command,
                     {.folder = place.path(""),
                      .environment = {"XDG_CACHE_HOME=" + place.path("no-folder").string()},
                      .deadline = std::chrono::seconds(100)});
}

void check_equal_plans(const RunCommand& place) {
  const nlohmann::json a = place.json("a.json");
  const nlohmann::json b = place.json("b.json");
  REQUIRE(a["runs"].size() == 2);
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(a["runs"][row]["status"] == "ok");
    CHECK(a["runs"][row]["strategy"]["plan_hash"].is_string());
    CHECK(a["runs"][row]["strategy"]["plan_hash"] == b["runs"][row]["strategy"]["plan_hash"]);
  }
}

TEST_CASE("builds share the plans of their rows, though no cache keeps them", "[workflows]") {
  const RunCommand place;
  const ProgramResult result = sweep_uncached(place);
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.errors, !Contains("plan"));
  check_equal_plans(place);
  std::filesystem::remove(place.path("b.json"));
  const ProgramResult resumed = sweep_uncached(place, {"--resume"});
  CAPTURE(resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  check_equal_plans(place);
}

TEST_CASE("a build that refuses the plan of another one chooses its own", "[workflows]") {
  const RunCommand place;
  place.write("refuses",
              "#!/bin/sh\n"
              "case \"$*\" in *--pass=prepare*--plan=*)\n"
              "  echo \"ptbench: error: plan file is foreign\" >&2\n"
              "  exit 1\n"
              "esac\n"
              "exec " PTBENCH_EXECUTABLE " \"$@\"\n");
  std::filesystem::permissions(place.path("refuses"), std::filesystem::perms::owner_all);
  const ProgramResult result =
      sweep(place, {"-w", "linear", "--threads", "1", "--rounds", "1", "--steps", "20", "--binary",
                    PTBENCH_EXECUTABLE, "-o", "a.json", "--binary", place.path("refuses").string(),
                    "-o", "b.json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.errors, Contains("row 'linear/serial/n1/b32/fp32/threads=1': build 2 of 2 "
                                     "shares no plan with others: plan file is foreign"));
  CHECK(place.json("b.json")["runs"][0]["status"] == "ok");
}

TEST_CASE("JSON takes standard output of a sweep, and the table moves out of its way",
          "[workflows]") {
  const RunCommand place;
  const ProgramResult result =
      sweep(place, {"-w", "linear", "--rounds", "1", "--steps", "50", "--json"});
  REQUIRE(result.exit_code == 0);
  check_schema(nlohmann::json::parse(result.output));
  CHECK_THAT(result.errors, Contains("samples/s"));
}

TEST_CASE("a row that fails is a row of the result", "[workflows]") {
  const RunCommand place;
  const auto [result, file] = swept(
      place,
      {"-w", "linear", "-b", "32,1000000000000", "--rounds", "1", "--steps", "20", "-o", "s.json"},
      2);
  CHECK(file["runs"][0]["status"] == "ok");
  CHECK(file["runs"][1]["status"] == "failed");
  CHECK_THAT(file["runs"][1]["reason"].get<std::string>(), Contains("of memory"));
  CHECK_THAT(result.output, Contains("failed"));
}

TEST_CASE("a sweep skips ranks that the samples cannot fill, with the remedy", "[workflows]") {
  const RunCommand place;
  const auto [result, file] =
      swept(place, {"-w", "linear", "-s", "ddp", "-n", "1,4", "--samples", "64", "-b", "32",
                    "--threads", "1", "--rounds", "1", "--steps", "20", "-o", "s.json"});
  CHECK(one_thread_statuses(file) ==
        std::vector<std::string>{"linear/serial/n1/b32/fp32/threads=1/samples=64 ok",
                                 "linear/ddp/n1/b32/fp32/threads=1/samples=64 ok",
                                 "linear/ddp/n4/b32/fp32/threads=1/samples=64 skipped"});
  CHECK_THAT(file["runs"][2]["reason"].get<std::string>(), Contains("; use more --samples"));
}

TEST_CASE("a sweep skips what the data in a directory cannot fill", "[workflows]") {
  const RunCommand place;
  const auto with_batches = [&](const std::string& batches) {
    return sweep(place, {"-w", "mlp", "--data", PTBENCH_TEST_DATA "/digits", "-b", batches,
                         "--rounds", "1", "--steps", "20", "-o", "s.json"});
  };
  const ProgramResult result = with_batches("32,100000");
  CAPTURE(result.errors);
  CHECK(result.exit_code == 0);
  const nlohmann::json file = place.json("s.json");
  check_schema(file);
  CHECK(file["runs"][0]["status"] == "ok");
  CHECK(file["runs"][1]["status"] == "skipped");
  CHECK_THAT(file["runs"][1]["reason"].get<std::string>(), Contains("; choose a smaller"));
  const ProgramResult refused = with_batches("100000");
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.errors,
             Contains("do not fill one global batch") && Contains("ptbench: remedy: "));
}

TEST_CASE("a plan file that is absent is written with the choices of all rows", "[workflows]") {
  const RunCommand place;
  const std::vector<std::string> arguments{"-w", "linear", "-b",     "16,32",     "--rounds", "1",
                                           "-o", "s.json", "--plan", "plan.json", "--steps",  "50"};
  const ProgramResult result = sweep(place, arguments);
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json both = place.json("plan.json");
  CHECK(both["schema"] == "ptbench.plan/1");
  const std::string text = place.text("plan.json");
  const auto with_batch = [&](const std::string& batch, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"-w", "linear", "-b", batch, "--rounds", "1", "-o", "t.json",
                               "--plan", "plan.json", "--steps", "50"});
    return sweep(place, more);
  };
  CHECK(with_batch("32").exit_code == 0);
  const nlohmann::json again = place.json("t.json");
  CHECK(again["runs"][0]["strategy"]["plan_hash"] ==
        place.json("s.json")["runs"][1]["strategy"]["plan_hash"]);
  // One that exists is left as it is: a row that it does not know fails, the rest goes on.
  const ProgramResult partial = with_batch("16,24");
  CAPTURE(partial.errors);
  CHECK(partial.exit_code == 2);
  const nlohmann::json file = place.json("t.json");
  CHECK(file["runs"][0]["status"] == "ok");
  CHECK(file["runs"][1]["status"] == "failed");
  CHECK_THAT(file["runs"][1]["reason"].get<std::string>(),
             Contains("plan.json") && Contains("lacks choices"));
  CHECK(place.text("plan.json") == text);
  CHECK(with_batch("16,24", {"--resume"}).exit_code == 0);
  CHECK(place.json("plan.json")["choices"].size() > both["choices"].size());
}

TEST_CASE("a row measured with a slowdown is not mixed with one that is not", "[workflows]") {
  const RunCommand place;
  const auto arguments = [](const std::string& rounds, const std::string& slowdown) {
    return std::vector<std::string>{"-w", "linear", "--rounds",   rounds,   "--steps", "50",
                                    "-o", "s.json", "--slowdown", slowdown, "--resume"};
  };
  REQUIRE(sweep(place, arguments("1", "0.5")).exit_code == 0);
  CHECK(place.json("s.json")["runs"][0]["samples"]["slowdown_realized"].get<double>() > 0);
  const ProgramResult result = sweep(place, arguments("2", "0"));
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.errors, Contains("row 'linear/serial/n1/b32/fp32' starts again"));
  const nlohmann::json run = place.json("s.json")["runs"][0];
  CHECK(run["samples"]["repetitions"].size() == 2);
  CHECK(run["samples"]["slowdown"].is_null());
  CHECK(run["samples"]["slowdown_realized"].is_null());
}

struct SweepMistake {
  std::vector<std::string> arguments;
  std::string says;
};

TEST_CASE("mistakes on the command line of a sweep", "[workflows]") {
  const RunCommand place;
  place.write("text", "no program");
  place.write("broken.json", "{");
  const std::vector<SweepMistake> mistakes{
      {{"-w", "linear,mpl"}, "did you mean 'mlp'?"},
      {{"-s", "serial,seral"}, "did you mean 'serial'?"},
      {{"-b", "8,,16"}, "--batch-size"},
      {{"--round", "3"}, "did you mean '--rounds'?"},
      {{"--rounds", "0"}, "--rounds"},
      {{"--repeats", "3"}, "--repeats"},
      {{"--loss-log", "l.csv"}, "--loss-log"},
      {{"--precision", "fp16"}, "--precision fp16"},
      {{"--resume"}, "add --output FILE.json"},
      {{"--resume", "-o", "broken.json"}, "broken.json"},
      {{"-o", "s.json", "-o", "./s.json"}, "s.json"},
      {{"-o", "nowhere/s.json"}, "nowhere"},
      {{"--binary", "text", "-o", "s.json"}, "--binary 'text'"},
      {{"--binary", "absent", "-o", "s.json"}, "--binary 'absent'"},
      {{"--binary", ".", "-o", "s.json"}, "--binary '.'"},
      {{"--binary", "/bin/true", "-o", "s.json"}, "--binary '/bin/true' is not a ptbench"},
      {{"--binary", PTBENCH_EXECUTABLE}, "--output FILE.json"},
      {{"--binary", PTBENCH_EXECUTABLE, "--binary", PTBENCH_EXECUTABLE, "-o", "s.json"}, "1 for 2"},
      {{"--binary", PTBENCH_EXECUTABLE, "-o", "s.csv"}, "--output FILE.json"},
      {{"--binary", PTBENCH_EXECUTABLE, "--json"}, "cannot be combined"}};
  for (const SweepMistake& mistake : mistakes) {
    std::string line;
    for (const std::string& word : mistake.arguments) line += word + " ";
    CAPTURE(line);
    const ProgramResult result = sweep(place, mistake.arguments);
    CAPTURE(result.errors);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains(mistake.says) && Contains("ptbench: error: "));
    CHECK_THAT(result.errors, Contains("ptbench: remedy: "));
    CHECK(result.output.empty());
    CHECK(place.partial_files() == 0);
  }
  CHECK(place.text("broken.json") == "{");
}

/// Starts $1 ranks of the program that follows, as mpirun does, where EACH is set so many on each
/// of several hosts; the address is one that no other launch has.
constexpr const char* kLauncher = R"(#!/bin/sh
n=$1; shift
pids=
for rank in $(seq 0 $((n - 1))); do
  env ${EACH:+PTBENCH_HOST_ID=here$((rank / EACH))} PTBENCH_RANK=$rank PTBENCH_WORLD_SIZE=$n \
    PTBENCH_ADDR=localhost:$((10000 + $$ % 50000)) "$@" &
  pids="$pids $!"
done
code=0
for pid in $pids; do wait $pid || code=$?; done
echo launched $n >>launches
exit $code
)";

std::vector<std::string> launched_sweep(const std::string& launcher,
                                        const std::string& ranks = "1,2") {
  return {"-w", "linear",     "-s",  "ddp",       "-n", ranks,        "--threads", "1",  "--rounds",
          "3",  "--max-time", "0.6", "--timeout", "20", "--launcher", launcher,    "-o", "s.json"};
}

TEST_CASE("a launcher starts the ranks of a sweep's rows", "[workflows]") {
  const RunCommand place;
  place.write("launch", kLauncher);
  const ProgramResult result =
      sweep(place, launched_sweep("test {n} = 2 && BY=launcher sh ./launch {n}"));
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.errors, Catch::StartsWith("ptbench: 4 rows, about "));
  // Besides, at the most, that --rounds 3 takes longer than --max-time.
  const std::string more = result.errors.substr(result.errors.find('\n') + 1);
  CHECK((more.empty() || more.find(", past --max-time, for --rounds 3") != std::string::npos));
  CHECK(std::ranges::count(more, '\n') <= 1);
  const nlohmann::json file = place.json("s.json");
  CHECK(one_thread_statuses(file) ==
        std::vector<std::string>{"linear/serial/n1/b32/fp32/threads=1 ok",
                                 "linear/ddp/n1/b32/fp32/threads=1 ok",
                                 "linear/ddp/n2/b32/fp32/threads=1 ok"});
  const auto& launched = file["runs"][2];
  CHECK(launched["samples"]["repetitions"].size() == 3);
  CHECK(launched["verification"]["status"] == "passed");
  CHECK(launched["ranks"].size() == 2);
  CHECK(launched["strategy"]["launcher"] == "test 2 = 2 && BY=launcher sh ./launch 2");
  CHECK(file["runs"][1]["strategy"]["launcher"].is_null());
  CHECK(launched["scaling"]["efficiency"].get<double>() > 0);
  for (const auto& warning : launched["warnings"]) CHECK(warning["code"] != "one-repetition");
  // The preparation, and three repetitions.
  CHECK(place.text("launches") == "launched 2\nlaunched 2\nlaunched 2\nlaunched 2\n");
}

TEST_CASE("a sweep over several hosts tells what is lost between them", "[workflows]") {
  if (!is_built("gloo")) return;
  const RunCommand place;
  place.write("launch", kLauncher);
  const ProgramResult result = sweep(place, launched_sweep("EACH=2 sh ./launch {n}", "1,2,4"));
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("hosts") && Contains("across hosts") && Contains("predicted"));
  const nlohmann::json file = place.json("s.json");
  check_schema(file);
  const auto ddp = [&](int ranks) {
    for (const nlohmann::json& run : file["runs"])
      if (run["strategy"]["name"] == "ddp" && run["strategy"]["world_size"] == ranks) return run;
    return nlohmann::json();
  };
  for (const int ranks : {1, 2}) {
    const nlohmann::json together = ddp(ranks);
    CHECK(together["strategy"]["hosts"] == 1);
    CHECK(together["link"].is_null());
    CHECK(together["scaling"]["efficiency_across_hosts"].is_null());
  }
  const nlohmann::json apart = ddp(4);
  CHECK(apart["strategy"]["hosts"] == 2);
  CHECK(apart["link"]["latency_seconds"].get<double>() > 0);
  CHECK(apart["link"]["bandwidth_bytes_per_second"].get<double>() > 0);
  const nlohmann::json& scaling = apart["scaling"];
  CHECK(scaling["one_host"] == ddp(2)["id"]);
  CHECK(scaling["efficiency_within_hosts"].get<double>() > 0);
  CHECK(scaling["efficiency_across_hosts"].get<double>() > 0);
  CHECK(scaling["predicted"]["step_seconds"].get<double>() > 0);
  CHECK(scaling["predicted"]["efficiency_across_hosts"].get<double>() < 1);
}

TEST_CASE("a launcher that starts other ranks than a row has fails it", "[workflows]") {
  const RunCommand place;
  const auto [result, file] = swept(place, launched_sweep("env RANKS={n}"), 2);
  CHECK(file["runs"][1]["status"] == "ok");
  CHECK(file["runs"][2]["status"] == "failed");
  CHECK_THAT(file["runs"][2]["reason"].get<std::string>(),
             Contains("--launcher was to start 2 ranks, and this is one of 1 from nobody"));
}

TEST_CASE("a launcher that is not there fails the rows that need it", "[workflows]") {
  const RunCommand place;
  const auto [result, file] = swept(place, launched_sweep("no-such-launcher -n {n}"), 2);
  CHECK(file["runs"][0]["status"] == "ok");
  CHECK_THAT(file["runs"][2]["reason"].get<std::string>(),
             Contains("exit code 127") && Contains("no-such-launcher"));
}

}  // namespace
}  // namespace ptbench::testing
