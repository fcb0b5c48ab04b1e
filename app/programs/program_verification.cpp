#include "app/programs/program_verification.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/config/run_progress.h"
#include "app/programs/program_output.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/measure/pool_runs.h"
#include "src/process/child_process.h"
#include "src/process/process_tree.h"

namespace ptbench {
namespace {

using nlohmann::json;

/// Between two looks at an interruption.
constexpr ChildProcess::Duration kComparisonLook = std::chrono::milliseconds(100);
/// A model is compiled in some minutes.
constexpr ChildProcess::Duration kLongestComparison = std::chrono::minutes(20);
/// Between asking a process to end and killing it.
constexpr ChildProcess::Duration kComparisonGrace = std::chrono::seconds(2);
/// Of standard output, whose last line alone is read.
constexpr std::size_t kMostOfComparison = std::size_t{1} << 20U;

/// The processes of a comparison; all of them end with this object.
class Comparison {
 public:
  /// `folder`: for its temporary files.
  Comparison(const std::string& command, const std::filesystem::path& folder, Progress& progress)
      : errors_(progress, true), process_([&] {
          adopt_orphans();
          return ChildCommand{.program = "/bin/sh",
                              .arguments = {"-c", command},
                              .on_output = [this](std::string_view text) { keep(text); },
                              .on_errors = [this](std::string_view text) { errors_.take(text); },
                              .leads_session = true,
                              .environment = {"PTBENCH_SCRATCH=" + folder.string()}};
        }()) {
    process_.end_within(kLongestComparison);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;
  ~Comparison() {
    if (!ended_) (void)process_.terminate(kComparisonGrace);
    end_descendants();
  }

  /// Throws Interrupted where a signal came first.
  ChildExit wait(const RunProgress& watch) {
    while (!ended_) {
      watch.stop_if_interrupted();
      ended_ = process_.wait(kComparisonLook);
      if (!ended_) reap_orphans(process_.id());
    }
    return *ended_;
  }

  [[nodiscard]] std::string_view last_line() const {
    std::string_view text = output_;
    while (text.ends_with('\n')) text.remove_suffix(1);
    return text.substr(text.rfind('\n') + 1);
  }

  /// Of its errors, as the end of a message.
  [[nodiscard]] std::string last_words() const {
    const std::string lines = errors_.last_lines();
    return lines.empty() ? lines : ": " + lines;
  }

 private:
  void keep(std::string_view text) {
    output_ += text;
    if (output_.size() > kMostOfComparison) output_.erase(0, output_.size() - kMostOfComparison);
  }

  std::string output_;
  ProgramOutput errors_;
  ChildProcess process_;
  std::optional<ChildExit> ended_;
};

/// The session's, which is removed whatever becomes of its processes.
std::filesystem::path folder_of(const ProcessOrders& orders) {
  return std::filesystem::path(orders.steps_socket.value()).parent_path();
}

std::string how_comparison_ended(const ChildExit& ended) {
  if (ended.overdue)
    return fmt::format("had not ended after {} minutes",
                       std::chrono::floor<std::chrono::minutes>(kLongestComparison).count());
  if (ended.signal != 0) return fmt::format("was killed by signal {}", ended.signal);
  return fmt::format("ended with exit code {}", ended.code);
}

Error unreadable(std::string_view line) {
  return run_error(
      fmt::format("the comparison with ptbench's steps said '{}', which is not a result",
                  printable(line.substr(0, 200))),
      "see docs/peers.md, or leave it out with --verify off");
}

std::optional<double> told_number(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return {};
  return found->get<double>();
}

std::string text_of_number(const std::optional<double>& value) {
  return value ? fmt::format("{:.2g}", *value) : "no number";
}

/// Why it failed: the loss of a step, or the first update.
std::string difference_in(const json& said, const VerificationRecord& found) {
  if (!found.max_relative_error || !found.tolerance || *found.max_relative_error > *found.tolerance)
    return fmt::format("losses of single steps from equal weights differ by {}, of {} allowed",
                       text_of_number(found.max_relative_error), text_of_number(found.tolerance));
  return fmt::format("the first update from equal weights has {} of the length, and the cosine {}",
                     text_of_number(told_number(said, "update_length")),
                     text_of_number(told_number(said, "update_cosine")));
}

}  // namespace

VerificationRecord read_verification(std::string_view line) {
  const json said = json::parse(line, nullptr, false);
  if (!said.is_object()) throw unreadable(line);
  const auto status = said.find("verification");
  const auto steps = said.find("steps");
  if (status == said.end() || steps == said.end() || !steps->is_array() ||
      (*status != "passed" && *status != "failed"))
    throw unreadable(line);
  VerificationRecord found;
  found.status = *status == "passed" ? VerificationStatus::passed : VerificationStatus::failed;
  found.steps = std::ssize(*steps);
  found.max_relative_error = told_number(said, "max_relative_error");
  found.tolerance = told_number(said, "tolerance");
  if (found.status == VerificationStatus::failed) found.reason = difference_in(said, found);
  return found;
}

void verify_program(const RunConfig& config, const RunSurroundings& around, RunRecord& record) {
  RunProgress watch(around, 0);
  try {
    watch.enter(RankPhase::verifying);
    Comparison comparison(config.program->verification, folder_of(config.options.orders),
                          around.progress);
    const ChildExit ended = comparison.wait(watch);
    if (ended.code == static_cast<int>(ExitCode::capability))
      throw capability_error("the program cannot train here" + comparison.last_words());
    const bool has_compared = ended.code == 0 || ended.code == static_cast<int>(ExitCode::failed);
    if (!has_compared || comparison.last_line().empty())
      throw run_error(fmt::format("the comparison with ptbench's steps {}{}",
                                  how_comparison_ended(ended), comparison.last_words()),
                      "see docs/peers.md, or leave it out with --verify off");
    record.verification = read_verification(comparison.last_line());
    record.verification.lr = config.optimizer.lr;
  } catch (const Interrupted&) {
    record.status = Status::interrupted;
    record.reason = "stopped by a signal while the program was compared with ptbench";
  }
  if (record.verification.status == VerificationStatus::failed)
    fail_verification(record,
                      "does not train as ptbench does: " + record.verification.reason.value_or(""));
}

}  // namespace ptbench
