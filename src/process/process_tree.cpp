#include "src/process/process_tree.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "src/base/process_state.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLongestEnding{5};
constexpr std::chrono::milliseconds kBetweenKills{2};
constexpr char kZombie = 'Z';

/// Of proc_pid_stat(5).
struct TreeMember {
  int id = 0;
  char state = '?';
  int parent = 0;
  int session = 0;
  double cpu_seconds = 0;
};

std::string whole_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<TreeMember> member_of(int id) {
  const std::string stat = whole_text(fmt::format("/proc/{}/stat", id));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(stat.substr(name_end + 1));
  TreeMember member{.id = id};
  int group = 0;
  rest >> member.state >> member.parent >> group >> member.session;
  std::string skipped;
  for (int field = 7; field < 14; ++field) rest >> skipped;
  for (int field = 14; field < 18; ++field) {  // its own, and of children that it waited for
    std::uint64_t ticks = 0;
    rest >> ticks;
    member.cpu_seconds += static_cast<double>(ticks) / static_cast<double>(kTicksPerSecond);
  }
  return member;
}

std::vector<TreeMember> all_processes() {
  std::vector<TreeMember> members;
  std::error_code failure;
  fs::directory_iterator entry("/proc", failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    int id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    if (const auto member = member_of(id)) members.push_back(*member);
  }
  return members;
}

/// With those that have ended and wait to be reaped.
std::vector<TreeMember> tree_of(int root, TreePart part, std::span<const int> spared = {}) {
  std::vector<TreeMember> others = all_processes();
  std::vector<TreeMember> tree;
  const auto move_children = [&](int parent, auto&& wanted) {
    const auto rest = std::ranges::partition(
        others, [&](const TreeMember& one) { return one.parent != parent || !wanted(one); });
    tree.insert(tree.end(), rest.begin(), rest.end());
    others.erase(rest.begin(), rest.end());
  };
  const int session = getsid(0);
  move_children(root, [&](const TreeMember& child) {
    return (part == TreePart::whole || child.session != session) &&
           std::ranges::find(spared, child.id) == spared.end();
  });
  // NOLINTNEXTLINE(modernize-loop-convert): the tree grows meanwhile
  for (std::size_t next = 0; next < tree.size(); ++next)
    move_children(tree[next].id, [](const TreeMember&) { return true; });
  return tree;
}

/// The sum of the values, in KiB, of lines that begin so.
std::optional<Bytes> kibibytes_in(const std::string& text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(at + label.size()));
  Bytes value = 0;
  if (!(rest >> value)) return std::nullopt;
  return value << 10U;
}

}  // namespace

void adopt_orphans() { (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

void reap_orphans(int child) {
  for (;;) {
    siginfo_t ended{};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0 ||
        ended.si_pid == child)
      return;
    (void)waitpid(ended.si_pid, nullptr, WNOHANG);
  }
}

std::vector<int> descendants() {
  std::vector<int> ids;
  for (const TreeMember& member : tree_of(getpid(), TreePart::whole))
    if (member.state != kZombie) ids.push_back(member.id);
  return ids;
}

double cpu_seconds_of(std::span<const int> processes) {
  double seconds = 0;
  for (const int id : processes)
    if (const auto member = member_of(id)) seconds += member->cpu_seconds;
  return seconds;
}

bool are_asleep(std::span<const int> processes) {
  const auto rests = [](const ProcessState& state) {
    return !state.is_running() && !state.waits_for_disk();
  };
  return std::ranges::all_of(processes, [&](int id) {
    std::error_code failure;
    fs::directory_iterator thread(fmt::format("/proc/{}/task", id), failure);
    for (; !failure && thread != fs::directory_iterator(); thread.increment(failure))
      if (!rests(state_in(thread->path()))) return false;
    return true;
  });
}

std::optional<Bytes> peak_memory_of(int process) {
  return kibibytes_in(whole_text(fmt::format("/proc/{}/status", process)), "\nVmHWM:");
}

std::optional<TreeMemory> memory_of(std::span<const int> processes) {
  TreeMemory memory;
  Bytes counted_again = 0;
  bool any = false;
  for (const int id : processes) {
    const std::string rollup = whole_text(fmt::format("/proc/{}/smaps_rollup", id));
    const auto resident = kibibytes_in(rollup, "\nRss:");
    const auto proportional = kibibytes_in(rollup, "\nPss:");
    const auto peak = peak_memory_of(id);
    if (!resident || !proportional || !peak) continue;  // it has just ended
    any = true;
    memory.resident += *proportional;
    memory.peak += *peak;
    counted_again += *resident - *proportional;
  }
  if (!any) return std::nullopt;
  memory.peak = std::max(memory.resident, memory.peak - counted_again);
  return memory;
}

void reset_peak_memory(std::span<const int> processes) {
  constexpr std::string_view kResetPeak = "5";  // proc_pid_clear_refs(5)
  for (const int id : processes)
    std::ofstream(fmt::format("/proc/{}/clear_refs", id)) << kResetPeak;
}

void end_descendants(TreePart part, std::span<const int> spared) {
  const auto end = std::chrono::steady_clock::now() + kLongestEnding;
  while (std::chrono::steady_clock::now() < end) {
    const std::vector<TreeMember> tree = tree_of(getpid(), part, spared);
    if (tree.empty()) return;
    // First all, so that none starts another in the place of one that is gone.
    for (const TreeMember& member : tree)
      if (member.state != kZombie) (void)kill(member.id, SIGKILL);
    for (const TreeMember& member : tree)
      if (member.parent == getpid()) (void)waitpid(member.id, nullptr, WNOHANG);
    std::this_thread::sleep_for(kBetweenKills);
  }
}

}  // namespace ptbench
