#include "app/programs/program_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/measure/step_protocol.h"

namespace ptbench {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 64;
constexpr Size kMostSamplesOfStep = 1'000'000'000'000;

Error breach(const std::string& what) {
  return run_error(breach_text(what), "see docs/steps_protocol.md");
}

std::int64_t whole(const json& value, std::int64_t least, std::int64_t most, const char* what) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)) &&
                    value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
  if (!fits)
    throw breach(fmt::format("'{}' is not a whole number from {} to {}", what, least, most));
  return value.get<std::int64_t>();
}

std::int64_t member(const json& object, const char* name, std::int64_t least, std::int64_t most) {
  const auto found = object.find(name);
  if (found == object.end()) throw breach(fmt::format("a message lacks '{}'", name));
  return whole(*found, least, most, name);
}

/// Empty where there is none.
std::optional<std::string> short_text(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::nullopt;
  const auto* text = found->get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->size() > kLongestName)
    throw breach(fmt::format("'{}' is not a string of 1 to {} characters", name, kLongestName));
  return printable(*text);
}

std::optional<std::string> framework_in(const json& message) {
  const auto found = message.find("framework");
  if (found == message.end() || found->is_null()) return std::nullopt;
  if (!found->is_object()) throw breach("'framework' is not an object");
  const auto name = short_text(*found, "name");
  auto version = short_text(*found, "version");
  if (!name) return version;
  return version ? *name + " " + *version : *name;
}

ProgramHello hello_in(const json& message) {
  if (message["protocol"] != kStepsProtocol)
    throw breach(fmt::format(
        "the program speaks {}, and this is {}",
        printable(message["protocol"].dump(-1, ' ', false, json::error_handler_t::replace)),
        kStepsProtocol));
  ProgramHello hello;
  hello.world_size = member(message, "world_size", 1, kMostProgramRanks);
  hello.rank = member(message, "rank", 0, kMostProgramRanks);
  if (hello.rank >= hello.world_size)
    throw breach(fmt::format("there is no rank {} in a world of {}", hello.rank, hello.world_size));
  hello.samples = member(message, "samples", 1, kMostSamplesOfStep);
  if (message.contains("tokens") && !message["tokens"].is_null())
    hello.tokens = member(message, "tokens", 1, kMostSamplesOfStep);
  hello.device = short_text(message, "device");
  hello.framework = framework_in(message);
  hello.precision = short_text(message, "precision");
  return hello;
}

/// A list of `what`, each with so many items; empty where there is none.
const json& list_in(const json& message, const char* what, std::size_t most, std::size_t items) {
  static const json none = json::array();
  const auto found = message.find(what);
  if (found == message.end() || found->is_null()) return none;
  const bool is_list = found->is_array() && found->size() <= most &&
                       std::ranges::all_of(*found, [items](const json& entry) {
                         return entry.is_array() && entry.size() == items;
                       });
  if (!is_list)
    throw breach(
        fmt::format("'{}' is not a list of at most {} entries of {} items", what, most, items));
  return *found;
}

std::int64_t time_at(const json& entry, std::size_t item) {
  return whole(entry[item], 0, kMostProgramNumber, "time");
}

std::int64_t number_in(const json& entry) {
  return whole(entry[0], 1, kMostProgramNumber, "number of a step");
}

std::optional<double> loss_in(const json& value) {
  if (value.is_null()) return std::nullopt;
  if (!value.is_number()) throw breach("a loss is not a number");
  return value.get<double>();
}

/// Index in kProgramPhases; empty for another.
std::optional<std::size_t> phase_in(const json& value) {
  const auto* name = value.get_ptr<const std::string*>();
  if (name == nullptr) throw breach("the name of a phase is not a string");
  const auto found = std::ranges::find(kProgramPhases, std::string_view(*name));
  if (found == kProgramPhases.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kProgramPhases.begin());
}

ProgramReport report_in(const json& message) {
  ProgramReport report;
  for (const json& entry : list_in(message, "steps", kMostStepsPerMessage, 3))
    report.steps.push_back(
        {.number = number_in(entry), .begin = time_at(entry, 1), .end = time_at(entry, 2)});
  if (report.steps.empty()) throw breach("a message has no step in its 'steps'");
  for (const json& entry : list_in(message, "losses", kMostStepsPerMessage, 2))
    report.losses.push_back({.number = number_in(entry), .loss = loss_in(entry[1])});
  const std::size_t most_spans = kMostPhasesPerStep * report.steps.size();
  for (const json& entry : list_in(message, "phases", most_spans, 4)) {
    const auto phase = phase_in(entry[1]);
    const ProgramSpan span{.number = number_in(entry),
                           .phase = phase.value_or(0),
                           .begin = time_at(entry, 2),
                           .end = time_at(entry, 3)};
    if (phase) report.spans.push_back(span);
  }
  return report;
}

}  // namespace

ProgramMessage parse_program_message(std::string_view text) {
  const json message = json::parse(text, nullptr, false);
  if (!message.is_object()) throw breach("a message is not a JSON object");
  if (message.contains("protocol")) return hello_in(message);
  if (message.contains("steps")) return report_in(message);
  return ProgramAside{};
}

std::string grant_message(std::int64_t step, bool phases) {
  json message{{"grant", step}};
  if (phases) message["phases"] = true;
  return message.dump();
}

std::string refusal_message(std::string_view why) {
  return json{{"error", why}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string breach_text(std::string_view what) {
  return fmt::format("the program does not speak {}: {}", kStepsProtocol, what);
}

}  // namespace ptbench
