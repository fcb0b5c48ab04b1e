#include "src/config/program_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/install_paths.h"
#include "src/base/log.h"
#include "src/base/suggest.h"
#include "src/config/configuration.h"
#include "src/config/run_options.h"
#include "src/measure/run_id.h"

namespace ptbench {
namespace {

using Names = std::vector<std::string>;

/// A place in the command, and the options that fill it.
struct Placeholder {
  std::string_view name;
  Names options;  ///< any of them
};

const std::vector<Placeholder>& placeholders() {
  static const std::vector<Placeholder> all{{"n", {"nproc"}},
                                            {"b", {"batch-size", "global-batch"}},
                                            {"global_batch", {"global-batch", "batch-size"}},
                                            {"precision", {"precision"}},
                                            {"strategy", {"strategy"}},
                                            {"threads", {"threads"}},
                                            {"seed", {"seed"}}};
  return all;
}

/// What ptbench itself does with a program, and needs no place in its command.
const Names& own_options() {
  static const Names names{"program", "name",  "engine",      "timeout",  "steps",
                           "warmup",  "trace", "trace-steps", "min-time", "max-time"};
  return names;
}

/// The options of PyTorch's scripts, beside those above.
const Names& pytorch_options() {
  static const Names names{"workload",     "strategy",  "nproc",     "batch-size", "global-batch",
                           "accumulate",   "precision", "optimizer", "lr",         "momentum",
                           "weight-decay", "threads",   "seed",      "device"};
  return names;
}

bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_given(const RunOptions& options, std::string_view name) {
  return std::ranges::find(options.assignments, name, &NamedAssignment::name) !=
         options.assignments.end();
}

/// Whether an option is about what is trained, or how: what says how processes are measured, where
/// results go and what a session tells its processes is not.
bool is_about_training(const OptionScope scope) {
  switch (scope) {
    case OptionScope::training:
    case OptionScope::replicas:
    case OptionScope::length:
    case OptionScope::plan:
    case OptionScope::training_files:
    case OptionScope::first_repetition:
    case OptionScope::place: return true;
    default: return false;
  }
}

std::string names_of_placeholders() {
  std::string text;
  for (const Placeholder& one : placeholders())
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", one.name);
  return text;
}

const Placeholder* placeholder_of(std::string_view option) {
  const auto found = std::ranges::find_if(
      placeholders(), [option](const Placeholder& one) { return contains(one.options, option); });
  return found == placeholders().end() ? nullptr : &*found;
}

/// Every option that was given has to reach the program.
void require_places(const RunOptions& options) {
  for (const NamedAssignment& given : options.assignments) {
    if (!is_about_training(scope_of(given.name)) || contains(own_options(), given.name)) continue;
    const Placeholder* place = placeholder_of(given.name);
    if (place == nullptr)
      throw usage_error(fmt::format("--{} has no effect on a --program", given.name),
                        given.name == "workload" ? "call the run by --name"
                                                 : "leave it out, or write it into the command");
    const bool is_used = std::ranges::any_of(placeholders(), [&](const Placeholder& one) {
      return contains(one.options, given.name) && has_placeholder(*options.program, one.name);
    });
    if (!is_used)
      throw usage_error(
          fmt::format("--{} does not reach the program: its command has no {{{}}}", given.name,
                      place->name),
          fmt::format("write {{{}}} where the command takes it, or leave the option out",
                      place->name));
  }
}

using PlaceValues = std::map<std::string, std::string, std::less<>>;

/// What stands in the places of a command; those without a value are left out.
PlaceValues values_of(const RunOptions& options, Size threads) {
  PlaceValues values{{"n", fmt::format("{}", options.nproc)},
                     {"threads", fmt::format("{}", threads)},
                     {"seed", fmt::format("{}", options.seed)},
                     {"precision", options.precision.value_or("fp32")}};
  if (is_given(options, "strategy")) values["strategy"] = options.strategy;
  std::optional<Size> batch = options.batch_size;
  std::optional<Size> global = options.global_batch;
  if (batch) global = *batch * options.nproc;
  if (!batch && global && *global % options.nproc == 0) batch = *global / options.nproc;
  if (batch) values["b"] = fmt::format("{}", *batch);
  if (global) values["global_batch"] = fmt::format("{}", *global);
  return values;
}

Error missing_value(const RunOptions& options, std::string_view place) {
  const auto known = std::ranges::find(placeholders(), place, &Placeholder::name);
  if (known == placeholders().end())
    return usage_error(
        fmt::format("--program has {{{}}}, which is not a placeholder", printable(place)),
        fmt::format("use {}; other braces need a blank or a quote inside",
                    names_of_placeholders()));
  if (options.global_batch)
    return usage_error(fmt::format("--global-batch {} cannot be shared by {} processes",
                                   *options.global_batch, options.nproc),
                       fmt::format("use a multiple of {}", options.nproc));
  return usage_error(
      fmt::format("--program has {{{}}}, and --{} is missing", place, known->options.front()),
      fmt::format("give --{}, or write the value into the command", known->options.front()));
}

/// Braces hold a word of small letters where they are a placeholder; else they are the shell's.
bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char letter) {
    return std::islower(letter) != 0 || letter == '_';
  });
}

std::string filled(const RunOptions& options, const PlaceValues& values) {
  std::string result;
  std::string_view rest = *options.program;
  for (;;) {
    const std::size_t open = rest.find('{');
    result += rest.substr(0, open);
    if (open == std::string_view::npos) return result;
    const std::size_t close = rest.find('}', open);
    const std::string_view word =
        close == std::string_view::npos ? "" : rest.substr(open + 1, close - open - 1);
    const bool is_variable = open > 0 && rest[open - 1] == '$';  // the shell's ${name}
    if (is_variable || !is_word(word)) {
      result += '{';
      rest.remove_prefix(open + 1);
      continue;
    }
    const auto value = values.find(word);
    if (value == values.end()) throw missing_value(options, word);
    result += value->second;
    rest.remove_prefix(close + 1);
  }
}

/// "train" of 'torchrun --nproc-per-node {n} examples/train.py --batch 8'; else the first word.
std::string name_of_program(std::string_view command) {
  std::string first;
  while (!command.empty()) {
    const std::size_t blank = command.find_first_of(" \t\n");
    std::string plain(command.substr(0, blank));
    std::erase_if(plain, [](char letter) { return letter == '\'' || letter == '"'; });
    const std::filesystem::path word(plain);
    command.remove_prefix(blank == std::string_view::npos ? command.size() : blank + 1);
    if (word.empty()) continue;
    const std::string extension = word.extension().string();
    if (extension == ".py" || extension == ".sh" || extension == ".pl" || extension == ".jl")
      return word.stem().string();
    if (first.empty() && word.string().find('=') == std::string::npos)
      first = word.filename().string();
  }
  return first.empty() ? "program" : first;
}

/// As a word of the shell.
std::string shell_word(std::string_view word) {
  std::string text = "'";
  for (const char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::string python_with_torch() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables
  const char* chosen = std::getenv("PTBENCH_PYTHON");
  const std::filesystem::path python = chosen != nullptr && *chosen != 0
                                           ? std::filesystem::path(chosen)
                                           : install_paths().peer_python;
  if (access(python.c_str(), X_OK) == 0) return python.string();
  throw capability_error(fmt::format("--engine pytorch: there is no Python with PyTorch at '{}'",
                                     printable(python.string())),
                         "run scripts/peers, which makes one, or set PTBENCH_PYTHON to another");
}

void require_known_to_pytorch(const Names& known, std::string_view option,
                              const std::string& value) {
  if (!contains(known, value))
    throw usage_error(fmt::format("--{} {} is not known to the PyTorch scripts (--engine pytorch)",
                                  option, printable(value)),
                      fmt::format("use {}, or --engine native", fmt::join(known, ", ")));
}

void require_pytorch_options(const RunOptions& options) {
  for (const NamedAssignment& given : options.assignments)
    if (is_about_training(scope_of(given.name)) && !contains(own_options(), given.name) &&
        !contains(pytorch_options(), given.name) && given.name != "verify")
      throw usage_error(
          fmt::format("--{} is not known to the PyTorch scripts (--engine pytorch)", given.name),
          "leave it out, or use --engine native");
  require_known_to_pytorch({"serial", "dp", "ddp", "grad-accum", "amp"}, "strategy",
                           options.strategy);
  require_known_to_pytorch({"linear", "mlp", "resnet18", "resnet50"}, "workload", options.workload);
}

}  // namespace

bool has_placeholder(const std::string& command, std::string_view name) {
  const std::string place = fmt::format("{{{}}}", name);
  std::size_t at = command.find(place);
  // Behind a dollar it is a variable of the shell.
  while (at != std::string::npos && at > 0 && command[at - 1] == '$')
    at = command.find(place, at + 1);
  return at != std::string::npos;
}

void configure_program(const RunOptions& options, Size cores, RunConfig& config) {
  if (options.engine != "native" && options.engine != "auto")
    throw usage_error(fmt::format("--engine {} and --program cannot be combined", options.engine),
                      "leave one of them out");
  require_places(options);
  const Size threads = options.threads.value_or(std::max<Size>(1, cores / options.nproc));
  const PlaceValues values = values_of(options, threads);
  config.workload.name = options.name.value_or(name_of_program(*options.program));
  config.strategy.name = is_given(options, "strategy") ? options.strategy : "program";
  config.strategy.several_ranks = true;
  config.precision = options.precision.value_or("fp32");
  config.threads = static_cast<int>(threads);
  const auto batch = values.find("b");
  config.batch.micro_batch = batch == values.end() ? 0 : std::stoll(batch->second);
  config.batch.replicas = options.nproc;
  ProgramCommand program{.engine = "program",
                         .command = filled(options, values),
                         .world_size = {},
                         .global_batch = {}};
  if (is_given(options, "nproc")) program.world_size = options.nproc;
  if (const auto global = values.find("global_batch"); global != values.end())
    program.global_batch = std::stoll(global->second);
  std::vector<OptionValue> others;
  if (options.threads) others.push_back({"threads", fmt::format("{}", *options.threads)});
  if (config.batch.micro_batch == 0 && program.global_batch)
    others.push_back({"global-batch", fmt::format("{}", *program.global_batch)});
  config.id = run_id({.workload = config.workload.name,
                      .strategy = config.strategy.name,
                      .world_size = program.world_size.value_or(0),
                      .batch_per_replica = config.batch.micro_batch,
                      .precision = config.precision},
                     others);
  config.program = std::move(program);
}

ProgramCommand pytorch_command(const RunConfig& config) {
  const RunOptions& options = config.options;
  require_pytorch_options(options);
  std::vector<std::string> words{python_with_torch(),
                                 (install_paths().peers / "pytorch" / "train.py").string(),
                                 "--workload=" + options.workload,
                                 "--strategy=" + config.strategy.name,
                                 fmt::format("--nproc={}", options.nproc),
                                 fmt::format("--batch-size={}", config.batch_size()),
                                 fmt::format("--accumulate={}", config.batch.accumulation_steps),
                                 "--precision=" + config.precision,
                                 fmt::format("--optimizer={}", name_of(config.optimizer.kind)),
                                 fmt::format("--lr={}", config.optimizer.lr),
                                 fmt::format("--momentum={}", config.optimizer.momentum),
                                 fmt::format("--weight-decay={}", config.optimizer.weight_decay),
                                 fmt::format("--threads={}", config.threads),
                                 fmt::format("--seed={}", options.seed)};
  if (!config.device.is_cpu()) words.push_back("--device=" + config.device.text());
  if (options.engine == "pytorch-compiled") words.emplace_back("--compile");
  std::string command = "exec";
  for (const std::string& word : words) command += " " + shell_word(word);
  std::string verification;
  if (options.verify != VerifyMode::off)
    verification = fmt::format("{} --verify --ptbench={}", command,
                               shell_word(executable_for_others().string()));
  return {.engine = "pytorch",
          .command = std::move(command),
          .world_size = config.processes(),
          .global_batch = config.batch.global_batch(),
          .verification = std::move(verification)};
}

}  // namespace ptbench
