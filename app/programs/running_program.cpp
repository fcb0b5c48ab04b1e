#include "app/programs/running_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "app/config/run_progress.h"
#include "src/base/error.h"
#include "src/base/install_paths.h"
#include "src/measure/step_protocol.h"
#include "src/process/process_tree.h"
#include "src/process/standard_streams.h"

namespace ptbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Between two looks at an interruption.
constexpr milliseconds kMoment{100};
/// No interval counts for more: this process may have been stopped itself while it waited.
constexpr milliseconds kLongestInterval{1000};
/// Between asking a process to end and killing it.
constexpr milliseconds kGrace{2000};

double seconds_of(milliseconds duration) { return std::chrono::duration<double>(duration).count(); }

std::string python_path() {
  std::string path = "PYTHONPATH=" + install_paths().python.string();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables
  if (const char* inherited = std::getenv("PYTHONPATH"); inherited != nullptr && *inherited != 0)
    path += std::string(":") + inherited;
  return path;
}

ChildCommand command_of(const RunningProgram::Setup& setup, const std::string& socket) {
  return {.program = "/bin/sh",
          .arguments = {"-c", setup.command},
          .leads_session = true,
          .environment = {"PTBENCH_STEPS=" + socket, python_path()}};
}

}  // namespace

RunningProgram::RunningProgram(Setup setup, Progress& progress)
    : setup_(std::move(setup)),
      server_(setup_.socket, setup_.world_size),
      output_(progress, false),
      errors_(progress, true),
      process_([&] {
        adopt_orphans();
        let_unread_writes_fail();  // who is told of the program may end first
        ChildCommand command = command_of(setup_, server_.path());
        command.on_output = [this](std::string_view text) { output_.take(text); };
        command.on_errors = [this](std::string_view text) { errors_.take(text); };
        return command;
      }()),
      last_look_(steady_clock::now()) {}

RunningProgram::~RunningProgram() {
  if (!ended_) {
    server_.close();
    (void)process_.terminate(kGrace);
  }
  end_descendants();
}

/// Whether anything was said.
bool RunningProgram::hear(milliseconds moment) {
  if (!ended_) ended_ = process_.wait(moment, server_.descriptor());
  if (!ended_) reap_orphans(process_.id());
  bool heard = server_.look();
  while (ended_ && server_.look()) heard = true;  // the last words
  return heard;
}

void RunningProgram::count_silence(bool heard) {
  const auto now = steady_clock::now();
  const auto interval = std::chrono::floor<milliseconds>(now - std::exchange(last_look_, now));
  silent_ = heard ? milliseconds(0) : silent_ + std::min(interval, kLongestInterval);
}

void RunningProgram::await_hellos() {
  const ProgramRanks& ranks = server_.ranks();
  while (!ranks.is_complete()) {
    if (is_interrupted()) throw Interrupted{};
    count_silence(hear(kMoment));
    if (ranks.is_complete()) break;
    const auto missing =
        std::ranges::count_if(ranks.hellos(), [](const auto& hello) { return !hello.has_value(); });
    const std::string who =
        ranks.hellos().empty() ? "it" : fmt::format("{} of its processes", missing);
    if (has_left()) {
      if (setup_.is_own && ended_ && ended_->code == static_cast<int>(ExitCode::capability))
        throw capability_error("the program cannot train here" + last_words());
      throw run_error(fmt::format("the program {} before {} said hello ({}){}", how_it_ended(), who,
                                  kStepsProtocol, last_words()),
                      "let its training loop go through ptbench.steps (docs/steps_protocol.md)");
    }
    if (silent_ >= setup_.timeout)
      throw run_error(fmt::format("the program said no hello ({}) for {:g} s: {} did not{}",
                                  kStepsProtocol, seconds_of(setup_.timeout), who, last_words()),
                      "let its training loop go through ptbench.steps (docs/steps_protocol.md), or "
                      "give a longer --timeout");
  }
  silent_ = {};
  last_look_ = steady_clock::now();
}

void RunningProgram::listen() {
  count_silence(hear(kMoment));
  if (ended_) require_success();
  const ProgramRanks& ranks = server_.ranks();
  if (has_left() || ranks.done() >= server_.granted()) {
    silent_ = {};
    return;
  }
  if (silent_ < setup_.timeout) return;
  throw run_error(
      fmt::format("rank {} of the program has reported nothing for {:g} s, after step {}{}",
                  ranks.slowest(), seconds_of(setup_.timeout), ranks.done(), last_words()),
      "see where it hangs, or give a longer --timeout");
}

bool RunningProgram::finish() {
  server_.close();
  const auto end = steady_clock::now() + setup_.timeout;
  while (!ended_ && steady_clock::now() < end && !is_interrupted()) ended_ = process_.wait(kMoment);
  if (ended_) {
    require_success();
    return true;
  }
  ended_ = process_.terminate(kGrace);
  return is_interrupted();
}

void RunningProgram::require_success() const {
  if (ended_->code == 0) return;
  throw run_error(fmt::format("the program {} after {} steps{}{}", how_it_ended(),
                              server_.ranks().done(), who_left_first(), last_words()));
}

/// Launchers end all ranks once one has failed.
std::string RunningProgram::who_left_first() const {
  const auto& rank = server_.first_to_leave();
  if (!rank || server_.ranks().hellos().size() < 2) return {};
  return fmt::format(", and rank {} closed its connection first", *rank);
}

std::string RunningProgram::how_it_ended() const {
  if (!ended_) return "closed its connection";
  // The shell tells of who it waited for by 128 and the signal.
  constexpr int kOfSignals = 128;
  const bool is_by_shell = ended_->code > kOfSignals && ended_->code < kOfSignals + NSIG;
  const int signal = is_by_shell ? ended_->code - kOfSignals : ended_->signal;
  if (signal != 0)
    return fmt::format("was killed by signal {}{}", signal,
                       signal == SIGKILL ? " (out of memory?)" : "");
  return fmt::format("ended with exit code {}", ended_->code);
}

/// What it printed last says why.
std::string RunningProgram::last_words() const {
  std::string lines = errors_.last_lines();
  if (lines.empty()) lines = output_.last_lines();
  return lines.empty() ? lines : ": " + lines;
}

}  // namespace ptbench
