#include "tests/architecture/include_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace ptbench::architecture {
namespace {

using Words = std::vector<std::string_view>;

bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool starts_with_any(std::string_view text, const Words& prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); });
}

const Room* find_room(std::string_view path) {
  const auto room = std::ranges::find_if(
      rooms(), [&](const Room& candidate) { return path.starts_with(candidate.folder); });
  return room == rooms().end() ? nullptr : &*room;
}

bool may_use(const Room& room, std::string_view other) {
  return room.name == other || contains(room.may_use, other);
}

// Libraries and the folders that may include them. Tests and benchmark programs may include all.

struct Library {
  std::string_view name;
  Words headers;  ///< beginnings
  Words folders;
};

const Words& engine_folders() {
  static const Words folders{"src/device/cuda/", "kernels/cuda/", "src/comm/nccl/", "src/comm/mpi/",
                             "src/comm/gloo/"};
  return folders;
}

const std::vector<Library>& libraries() {
  static const Words cuda{"src/device/cuda/", "kernels/cuda/", "src/comm/nccl/"};
  static const std::vector<Library> libraries{
      {"fmt",
       {"fmt/"},
       {"src/", "app/", "kernels/", "workloads/", "strategies/", "reports/", "charts/", "page/",
        "exports/"}},
      {"hwloc", {"hwloc"}, {"src/device/"}},
      {"oneDNN", {"oneapi/dnnl", "dnnl"}, {"kernels/cpu/"}},
      {"OpenMP", {"omp.h"}, {"kernels/cpu/"}},
      {"zlib", {"zlib.h"}, {"src/data/"}},
      {"nlohmann/json",
       {"nlohmann/"},
       {"src/measure/", "workloads/", "reports/", "page/", "exports/", "app/training/",
        "app/programs/", "app/session/", "app/results/"}},
      {"valijson", {"valijson/"}, {"reports/"}},
      {"CLI11", {"CLI/"}, {"app/cli/"}},
      {"Boost.Math", {"boost/math/"}, {"src/measure/"}},
      {"Boost.PropertyTree", {"boost/property_tree/"}, {}},
      {"NVTX", {"nvtx3/", "nvToolsExt"}, {"src/measure/"}},
      {"NCCL", {"nccl"}, {"src/comm/nccl/"}},
      {"CUDA",
       {"cuda", "cub", "cudnn", "cupti", "nvml", "thrust/", "mma.h", "math_constants.h"},
       cuda},
      {"MPI", {"mpi"}, {"src/comm/mpi/"}},
      {"gloo", {"gloo/"}, {"src/comm/gloo/"}},
      {"Catch2", {"catch2/"}, {}},
  };
  return libraries;
}

/// Standard C++ headers have neither a slash nor a dot in their names; what else the system brings
/// is listed.
bool is_system_header(std::string_view header) {
  static const Words folders{"sys/", "linux/", "arpa/", "netinet/", "net/", "sanitizer/"};
  static const Words files{
      "cpuid.h", "cxxabi.h", "dirent.h",  "dlfcn.h",   "elf.h",     "errno.h",  "execinfo.h",
      "fcntl.h", "ftw.h",    "ifaddrs.h", "limits.h",  "link.h",    "malloc.h", "netdb.h",
      "poll.h",  "pty.h",    "pthread.h", "pwd.h",     "sched.h",   "signal.h", "spawn.h",
      "stdio.h", "stdlib.h", "string.h",  "syscall.h", "termios.h", "time.h",   "unistd.h"};
  return header.find_first_of("./") == std::string_view::npos || header.ends_with("intrin.h") ||
         starts_with_any(header, folders) || contains(files, header);
}

/// Engines are modules: what is built does not depend on which are there.
std::string engine_condition(const std::string& line) {
  static const std::regex condition(R"(^\s*#\s*(if|ifdef|ifndef|elif|elifdef|elifndef)\b(.*))");
  static const std::regex engine(
      "(^|[^A-Za-z0-9])(CUDA|CUDACC|NVCC|CUDNN|CUBLAS|NCCL|MPI|GLOO)(?![A-Za-z0-9])");
  std::smatch parts;
  std::smatch found;
  if (!std::regex_search(line, parts, condition)) return {};
  const std::string expression = parts[2];
  return std::regex_search(expression, found, engine) ? found[2].str() : std::string{};
}

std::string check_own_header(const Room& room, const std::string& header) {
  if (header == "ptbench_git_commit.h" && room.name == "config") return {};  // written by the build
  if (header.find('/') == std::string::npos)
    return fmt::format("'{}' is named without its path from the root of the tree", header);
  const Room* other = find_room(header);
  if (other == nullptr) return fmt::format("'{}' lies in no room", header);
  if (may_use(room, other->name)) return {};
  return fmt::format("{} may not use {} ('{}')", room.name, other->name, header);
}

std::string check_library_header(const Room& room, const std::string& path,
                                 const std::string& header) {
  for (const Library& library : libraries()) {
    if (!starts_with_any(header, library.headers)) continue;
    const bool free = room.name == "tests" || (room.name == "bench" && library.name != "Catch2");
    if (free || starts_with_any(path, library.folders)) return {};
    return fmt::format("{} may not be included here (<{}>)", library.name, header);
  }
  if (is_system_header(header)) return {};
  return fmt::format("<{}> belongs to no known library: add it to the table in {}", header,
                     "tests/architecture/include_rules.cpp");
}

bool is_keyword(std::string_view argument) {
  return std::ranges::all_of(argument, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

/// The empty string where the line is fine.
std::string check_line(const Room& room, const std::string& path, const std::string& line) {
  static const std::regex include(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::smatch parts;
  if (std::regex_search(line, parts, include))
    return parts[1] == "\"" ? check_own_header(room, parts[2])
                            : check_library_header(room, path, parts[2]);
  if (room.name == "tests" || starts_with_any(path, engine_folders())) return {};
  const std::string engine = engine_condition(line);
  if (engine.empty()) return {};
  return fmt::format("a condition on {} outside of the engines' folders", engine);
}

template <class Check>
std::vector<Finding> check_lines(const SourceFile& file, const Check& check) {
  std::vector<Finding> findings;
  std::istringstream lines(file.text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string what = check(line);
    if (!what.empty()) findings.push_back({file.path, number, what});
  }
  return findings;
}

}  // namespace

const std::vector<Room>& rooms() {
  static const Words all{"base",     "process", "device",  "comm",        "ranks",      "data",
                         "measure",  "judge",   "kernels", "workloads",   "strategies", "reports",
                         "charts",   "page",    "exports", "publish",     "config",     "training",
                         "programs", "session", "results", "collectives", "doctor",     "cli"};
  static const std::vector<Room> rooms{
      {"base", "src/base/", {}},
      {"process", "src/process/", {"base"}},
      {"device", "src/device/", {"base"}},
      {"comm", "src/comm/", {"device", "process", "base"}},
      {"ranks", "src/ranks/", {"comm", "process", "base"}},
      {"data", "src/data/", {"device", "base"}},
      {"measure", "src/measure/", {"device", "process", "base"}},
      {"judge", "src/judge/", {"measure", "base"}},
      {"kernels", "kernels/", {"device", "base"}},
      {"workloads", "workloads/", {"kernels", "device", "base"}},
      {"strategies",
       "strategies/",
       {"workloads", "kernels", "comm", "data", "measure", "device", "base"}},
      {"reports", "reports/", {"judge", "measure", "process", "base"}},
      {"charts", "charts/", {"reports", "judge", "measure", "base"}},
      {"page", "page/", {"charts", "reports", "judge", "measure", "base"}},
      {"exports", "exports/", {"reports", "judge", "measure", "base"}},
      {"publish",
       "app/publish/",
       {"page", "charts", "reports", "judge", "measure", "process", "base"}},
      {"config",
       "app/config/",
       {"publish", "reports", "strategies", "measure", "workloads", "kernels", "data", "ranks",
        "comm", "device", "process", "base"}},
      {"training",
       "app/training/",
       {"config", "reports", "strategies", "measure", "workloads", "kernels", "data", "comm",
        "device", "process", "base"}},
      {"programs", "app/programs/", {"config", "reports", "measure", "device", "process", "base"}},
      {"session",
       "app/session/",
       {"programs", "training", "config", "publish", "reports", "strategies", "judge", "measure",
        "data", "ranks", "comm", "device", "process", "base"}},
      {"results",
       "app/results/",
       {"config", "publish", "charts", "reports", "judge", "measure", "device", "process", "base"}},
      {"collectives",
       "app/collectives/",
       {"config", "reports", "measure", "kernels", "comm", "device", "process", "base"}},
      {"doctor",
       "app/doctor/",
       {"session", "config", "reports", "judge", "measure", "kernels", "comm", "device", "process",
        "base"}},
      {"cli", "app/cli/", all},
      {"bench", "bench/", all},
      {"tests", "tests/", all},
  };
  return rooms;
}

std::vector<Finding> check_floor_plan(std::span<const Room> rooms) {
  const auto floor_of = [](const Room& room) {
    return room.folder.starts_with("src/") ? 0 : room.folder.starts_with("app/") ? 2 : 1;
  };
  std::vector<Finding> findings;
  for (auto room = rooms.begin(); room != rooms.end(); ++room) {
    if (room->name == "tests" || room->name == "bench") continue;
    for (const std::string_view name : room->may_use) {
      const auto used = std::ranges::find(rooms, name, &Room::name);
      if (used > room || floor_of(*used) > floor_of(*room))
        findings.push_back(
            {std::string(room->folder), 1, fmt::format("the arrow to {} runs up", name)});
    }
  }
  return findings;
}

bool is_code(const SourceFile& file) {
  return file.path.ends_with(".h") || file.path.ends_with(".cpp") || file.path.ends_with(".cu");
}

std::string text_of(std::span<const Finding> findings) {
  std::string text;
  for (const Finding& finding : findings)
    text += fmt::format("{}:{}: {}\n", finding.path, finding.line, finding.what);
  return text;
}

std::string_view room_of(std::string_view path) {
  const Room* room = find_room(path);
  return room == nullptr ? std::string_view{} : room->name;
}

std::vector<Finding> check_includes(const SourceFile& file) {
  const Room* room = find_room(file.path);
  if (room == nullptr) return {{file.path, 1, "lies in no room"}};
  return check_lines(file,
                     [&](const std::string& line) { return check_line(*room, file.path, line); });
}

std::vector<Finding> check_one_dnn_file(std::span<const SourceFile> files) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"](oneapi/)?dnnl)");
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (!file.path.starts_with("kernels/")) continue;
    const auto found = check_lines(file, [&](const std::string& line) {
      return std::regex_search(line, include) ? "oneDNN is included by more than one file" : "";
    });
    if (!found.empty()) findings.push_back(found.front());
  }
  return findings.size() > 1 ? findings : std::vector<Finding>{};
}

std::vector<Finding> check_room_links(const SourceFile& file) {
  static const std::regex call(R"(ptbench_room\(\s*(\w+)([^)]*)\))");
  std::vector<Finding> findings;
  for (std::sregex_iterator at(file.text.begin(), file.text.end(), call), end; at != end; ++at) {
    const std::string name = (*at)[1];
    const auto room = std::ranges::find(rooms(), name, &Room::name);
    if (room == rooms().end()) {
      findings.push_back({file.path, 1, fmt::format("'{}' is no room", name)});
      continue;
    }
    std::istringstream arguments((*at)[2]);
    std::string word;
    bool in_rooms = false;
    while (arguments >> word) {
      if (is_keyword(word))
        in_rooms = word == "ROOMS";
      else if (in_rooms && !may_use(*room, word))
        findings.push_back({file.path, 1, fmt::format("{} may not link {}", name, word)});
    }
  }
  return findings;
}

std::vector<Finding> check_finished(const SourceFile& file) {
  // In two parts each, so that this file does not find itself.
  static const std::regex mark(
      "\\b(TO"
      "DO|FIX"
      "ME)\\b");
  return check_lines(file, [](const std::string& line) {
    return std::regex_search(line, mark) ? "unfinished work is marked here" : "";
  });
}

}  // namespace ptbench::architecture
