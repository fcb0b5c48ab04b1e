#include "src/ranks/host_shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/comm/star_links.h"

namespace ptbench {
namespace {

constexpr int kShellFailed = 255;  // ssh(1)
// sh(1)
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

/// Starts the ranks and waits for them, each by a shell of its own, which tells how it ended.
/// Where standard input ends, ranks are asked to end, and killed a minute later. The last line is
/// read as one, before the first of its commands shares standard input with `cat`.
constexpr std::string_view kScript =
    R"(ptbench_rank() {{
  exec 4>&2 2>/dev/null  # where the shell would tell of signals
  trap 'pt_asked=1; kill -TERM $pt_rank 2>/dev/null' TERM
  trap 'kill -KILL $pt_rank 2>/dev/null' USR1
  PTBENCH_RANK=$1 PTBENCH_LOCAL_RANK=$2 {command} </dev/null 2>&4 3<&- 4>&- &
  pt_rank=$!
  if [ -n "$pt_asked" ]; then kill -TERM $pt_rank; fi
  wait $pt_rank
  pt_code=$?
  while kill -0 $pt_rank 2>/dev/null; do
    wait $pt_rank
    pt_code=$?
  done
  printf '\036{mark} %s %s\n' "$1" "$pt_code"
}}
ptbench_watch() {{
  cat <&3
  kill -TERM $pt_ranks
  pt_left=60
  while [ $pt_left -gt 0 ]; do
    sleep 1
    pt_left=$((pt_left - 1))
  done
  kill -USR1 $pt_ranks
}}
ptbench_all() {{
  exec 3<&0
  pt_number=0
  while [ $pt_number -lt {count} ]; do
    ptbench_rank $(({first} + pt_number)) $(({local} + pt_number)) &
    pt_ranks="$pt_ranks $!"
    pt_number=$((pt_number + 1))
  done
  ptbench_watch >/dev/null 2>&1 &
  pt_watcher=$!
  exec 3<&-
  wait $pt_ranks
  kill $pt_watcher
}}
{variables}pt_ranks=
pt_asked=
pt_rank=
ptbench_all; exit 0
)";

/// What a host's shell writes: its ranks' output, and between that, behind a mark, which of them
/// has ended with which code.
class MarkedOutput {
 public:
  using RankEnded = std::function<void(Size rank, int code)>;

  MarkedOutput(std::string mark, RankEnded ended)
      : mark_('\x1e' + std::move(mark)), ended_(std::move(ended)) {}

  void operator()(std::string_view text) {
    held_ += text;
    for (;;) {
      const std::size_t begin = held_.find(mark_);
      if (begin == std::string::npos) break;
      const std::size_t end = held_.find('\n', begin);
      if (end == std::string::npos) return pass_on(begin);
      take(std::string_view(held_).substr(begin + mark_.size(), end - begin - mark_.size()));
      held_.erase(begin, end + 1 - begin);
    }
    pass_on(held_.size() - begun_mark());
  }

 private:
  /// Bytes at the end that may be a mark's beginning.
  [[nodiscard]] std::size_t begun_mark() const {
    std::size_t most = std::min(held_.size(), mark_.size() - 1);
    while (most > 0 && !held_.ends_with(std::string_view(mark_).substr(0, most))) --most;
    return most;
  }

  void take(std::string_view words) const {
    Size rank = 0;
    int code = 0;
    const char* const end = words.data() + words.size();
    if (words.empty()) return;
    const auto number = std::from_chars(words.data() + 1, end, rank);
    if (number.ec != std::errc() || number.ptr == end) return;
    if (std::from_chars(number.ptr + 1, end, code).ec == std::errc()) ended_(rank, code);
  }

  void pass_on(std::size_t bytes) {
    (void)std::fwrite(held_.data(), 1, bytes, stdout);
    (void)std::fflush(stdout);
    held_.erase(0, bytes);
  }

  std::string mark_;
  RankEnded ended_;
  std::string held_;
};

}  // namespace

std::string RankStart::command_line() const {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

bool means_no_program(int code) { return code == kNotFound || code == kNotExecutable; }

Error rank_error(Size rank, const std::string& host, int code, const std::string& program) {
  const std::string name = fmt::format("rank {} on {}", rank, host);
  if (means_no_program(code))
    return run_error(fmt::format("{}: there is no '{}'", name, printable(program)),
                     "install the program at the same path on all hosts");
  if (code > kSignalCodes && code != kShellFailed)
    return run_error(fmt::format("{} was killed by signal {}", name, code - kSignalCodes));
  return run_error(fmt::format("{} ended with exit code {}", name, code), "see what it said above");
}

std::string random_word() { return fmt::format("{:016x}{:016x}", new_secret(), new_secret()); }

HostShell::HostShell(const HostRanks& ranks, const RankStart& start, const std::string& reach)
    : host_(ranks.host),
      program_(start.command.front()),
      first_(ranks.first),
      codes_(static_cast<std::size_t>(ranks.count)),
      process_(command_of(ranks, start, reach)) {}

bool HostShell::runs(ChildProcess::Duration duration) {
  if (!ended_) ended_ = process_.wait(duration);
  return !ended_;
}

std::optional<Error> HostShell::failure() const {
  for (std::size_t place = 0; place < codes_.size(); ++place) {
    const Size rank = first_ + static_cast<Size>(place);
    const std::optional<int> code = codes_[place];
    if (code && *code != 0) return rank_error(rank, host_, *code, program_);
    if (!code && ended_) return shell_error(rank);
  }
  return {};
}

ChildCommand HostShell::command_of(const HostRanks& ranks, const RankStart& start,
                                   const std::string& reach) {
  const std::string mark = random_word();
  ChildCommand command{
      .program = "/bin/sh",
      .input = fmt::format(kScript, fmt::arg("command", start.command_line()),
                           fmt::arg("mark", mark), fmt::arg("count", ranks.count),
                           fmt::arg("first", ranks.first), fmt::arg("local", ranks.first_local),
                           fmt::arg("variables", start.variables))};
  if (!reach.empty())
    command.arguments = {"-c", fmt::format("exec {} \"$0\" \"$1\"", reach), ranks.host,
                         "exec /bin/sh"};
  command.on_output = MarkedOutput(mark, [this](Size rank, int code) {
    if (rank >= first_ && rank - first_ < std::ssize(codes_))
      codes_[static_cast<std::size_t>(rank - first_)] = code;
  });
  command.keeps_input = true;
  command.leads_session = true;
  command.owner_end_signal = 0;  // its input ends then
  return command;
}

/// It has ended without a word of that rank.
Error HostShell::shell_error(Size rank) const {
  return run_error(
      fmt::format("rank {} on {}: the --shell command for this host ended with {}", rank, host_,
                  ended_->signal != 0 ? kSignalCodes + ended_->signal : ended_->code),
      fmt::format("see what it said above; `ssh {} true` must work without asking anything",
                  host_));
}

}  // namespace ptbench
