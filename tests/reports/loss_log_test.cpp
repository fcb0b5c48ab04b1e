#include "reports/loss_log.h"

#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "src/base/error.h"
#include "tests/reports/file_contents.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {

using testing::read_file;
using testing::TemporaryDirectory;

TEST_CASE("a loss log lists every step", "[reports]") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "losses.csv";
  LossLog log(path);
  for (const float loss : {2.3F, 0.1F, 1.0F, 1e-8F}) log.append(loss);
  CHECK_FALSE(std::filesystem::exists(path));
  log.commit();
  CHECK(read_file(path) == "step,loss\n1,2.3\n2,0.1\n3,1\n4,1e-08\n");
}

TEST_CASE("losses that are not finite are empty cells", "[reports]") {
  const TemporaryDirectory folder;
  LossLog log(folder.path() / "losses.csv");
  log.append(std::numeric_limits<float>::quiet_NaN());
  log.append(-std::numeric_limits<float>::infinity());
  log.commit();
  CHECK(read_file(folder.path() / "losses.csv") == "step,loss\n1,\n2,\n");
}

TEST_CASE("a loss log longer than its buffers is whole and reads back exactly", "[reports]") {
  const TemporaryDirectory folder;
  constexpr int kSteps = 100'000;
  const auto loss_of = [](int step) { return -1.2345678e-38F * static_cast<float>(step); };
  LossLog log(folder.path() / "losses.csv");
  for (int step = 1; step <= kSteps; ++step) {
    log.append(loss_of(step));
    if (step % 12'345 == 0) log.flush();
  }
  log.commit();
  std::istringstream lines(read_file(folder.path() / "losses.csv"));
  std::string line;
  std::getline(lines, line);
  int read = 0;
  while (std::getline(lines, line)) {
    ++read;
    const std::size_t comma = line.find(',');
    float loss = 0;
    std::from_chars(line.data() + comma + 1, line.data() + line.size(), loss);
    if (line.substr(0, comma) != std::to_string(read) || loss != loss_of(read)) FAIL(line);
  }
  CHECK(read == kSteps);
}

TEST_CASE("a run without steps leaves a log without lines", "[reports]") {
  const TemporaryDirectory folder;
  LossLog(folder.path() / "losses.csv").commit();
  CHECK(read_file(folder.path() / "losses.csv") == "step,loss\n");
}

TEST_CASE("a loss log that was not committed leaves nothing behind", "[reports]") {
  const TemporaryDirectory folder;
  {
    LossLog(folder.path() / "losses.csv").append(1);
  }
  CHECK(folder.names().empty());
  CHECK_THROWS_AS(LossLog(folder.path() / "absent" / "losses.csv"), Error);
}

}  // namespace ptbench
