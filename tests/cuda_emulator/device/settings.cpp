#include "tests/cuda_emulator/device/settings.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {
namespace {

constexpr const char* kDriver = "13000";

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

Order order(const char* name, const char* otherwise) {
  const std::string word = variable(name, otherwise);
  if (word == "ascending") return Order::ascending;
  if (word == "descending") return Order::descending;
  if (word == "random") return Order::random;
  report(text(name, " is '", word, "': use ascending, descending or random"));
}

unsigned long long number(const char* name, const char* otherwise, unsigned long long least,
                          unsigned long long most) {
  const std::string word = variable(name, otherwise);
  char* end = nullptr;
  const unsigned long long value = std::strtoull(word.c_str(), &end, 10);
  if (*end != '\0' || value < least || value > most)
    report(text(name, " is '", word, "': use a number from ", least, " to ", most));
  return value;
}

std::vector<int> capabilities(const char* name, const char* otherwise) {
  const std::string words = variable(name, otherwise);
  const auto is_digit = [](char character) { return character >= '0' && character <= '9'; };
  std::vector<int> found;
  std::istringstream rest(words);
  for (std::string word; std::getline(rest, word, ',');) {
    if (word.size() != 3 || !is_digit(word[0]) || word[1] != '.' || !is_digit(word[2]))
      report(text(name, " is '", words, "': use compute capabilities, as 7.5 or 8.0,7.5"));
    found.push_back(10 * (word[0] - '0') + (word[2] - '0'));
  }
  return found;
}

/// The number `count` of what has this name; no name where there is no such variable.
struct Counted {
  std::string name;
  std::size_t count = 0;
};

/// "NAME:N"; `kind`: what has names, for people.
Counted counted(const char* variable_name, const char* kind) {
  const std::string words = variable(variable_name, "");
  if (words.empty()) return {};
  const std::size_t colon = words.find(':');
  char* end = nullptr;
  const std::size_t count =
      colon == std::string::npos ? 0 : std::strtoull(words.c_str() + colon + 1, &end, 10);
  if (count == 0 || *end != '\0')
    report(text(variable_name, " is '", words, "': use ", kind, ":N, N from 1 on"));
  return {words.substr(0, colon), count};
}

Settings read_settings() {
  const Counted breaking = counted("PTBENCH_EMULATOR_BREAK", "KERNEL");
  const Counted failing = counted("PTBENCH_EMULATOR_FAIL", "CALL");
  return {.threads = order("PTBENCH_EMULATOR_THREADS", "ascending"),
          .streams = order("PTBENCH_EMULATOR_STREAMS", "descending"),
          .seed = static_cast<unsigned>(number("PTBENCH_EMULATOR_SEED", "1", 0, 0xffffffff)),
          .devices = static_cast<int>(number("PTBENCH_EMULATOR_DEVICES", "1", 1, 16)),
          .memory_bytes = number("PTBENCH_EMULATOR_MEMORY", "8589934592", 1U << 20U, 1ULL << 35U),
          .taken_bytes = number("PTBENCH_EMULATOR_TAKEN", "0", 0, 1ULL << 35U),
          .capabilities = capabilities("PTBENCH_EMULATOR_CAPABILITY", "8.0"),
          .driver = static_cast<int>(number("PTBENCH_EMULATOR_DRIVER", kDriver, 1, 99999)),
          .peers = static_cast<int>(number("PTBENCH_EMULATOR_PEERS", "15", 0, 15)),
          .breaking_kernel = breaking.name,
          .breaking_launch = breaking.count,
          .failing_call = failing.name,
          .failing_number = failing.count,
          .last_blocks = number("PTBENCH_EMULATOR_LAST_BLOCKS", "0", 0, 1U << 20U),
          .launches_block = variable("CUDA_LAUNCH_BLOCKING", "0") == "1",
          .counts = number("PTBENCH_EMULATOR_COUNT", "0", 0, 1) == 1,
          .kernels = variable("PTBENCH_EMULATOR_KERNELS", "")};
}

}  // namespace

const Settings& settings() {
  static const Settings read = read_settings();
  return read;
}

std::mt19937& random_source() {
  static std::mt19937 source(settings().seed);
  return source;
}

}  // namespace ptbench::emulator
