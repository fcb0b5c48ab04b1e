#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/read_result.h"
#include "src/judge/lockstep_rule.h"

// Cuts recorded lockstep pairs into gates and judges each by the program's own rule:
//   ptbench_bench_lockstep_gates BASE.json NEW.json DETECT MAX_PAIRS [learn]
// A gate begins with the pair after the last of the gate before it, wherever MAX_PAIRS are left, so
// that what a gate says does not decide whether it counts; it ends with a verdict or after
// MAX_PAIRS pairs. With `learn`, gates teach those after them how pairs scatter, as the program's
// do. Prints one JSON object for each run that is in both files, a line each.

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const LockstepChange& change) {
  return {{"estimate", change.estimate},
          {"half_width", change.half_width},
          {"spread", change.spread.standard_deviation},
          {"usual", change.usual}};
}

Json json_of(const LockstepJudgement& judgement) {
  return {{"verdict", name_of(judgement.verdict)},
          {"reason", judgement.reason},
          {"pairs", judgement.pairs},
          {"median", json_of(judgement.median)},
          {"mean", json_of(judgement.mean)}};
}

/// Looks at the first pairs until there is a verdict; there are `max_pairs` at least.
LockstepJudgement gate(std::span<const LockstepPair> pairs, const LockstepRule& rule,
                       const PriorNoise& prior) {
  LockstepJudgement judgement;
  for (auto look = next_look(rule, 0); look; look = next_look(rule, *look)) {
    judgement = judge(pairs.first(static_cast<std::size_t>(*look)), rule, prior);
    if (judgement.verdict != Verdict::ambiguous) break;
  }
  return judgement;
}

Json gates_of(std::span<const LockstepPair> pairs, const LockstepRule& rule, bool learns) {
  PriorNoise prior;
  Json gates = Json::array();
  while (std::ssize(pairs) >= *rule.max_pairs) {
    const LockstepJudgement judgement = gate(pairs, rule, prior);
    const auto used = pairs.first(static_cast<std::size_t>(judgement.pairs));
    gates.push_back(json_of(judgement));
    gates.back()["first"] = used.front().lockstep;
    if (learns) {
      const PriorNoise taught = learn(used, prior);
      for (const auto& [name, learnt] : taught.classes()) prior.learn(name, learnt);
    }
    pairs = pairs.subspan(used.size());
  }
  return gates;
}

const RunRecord* find(const ResultFile& file, const std::string& id) {
  for (const RunRecord& run : file.runs)
    if (run.id == id) return &run;
  return nullptr;
}

void print_gates(const ResultFile& base, const ResultFile& fresh, const LockstepRule& rule,
                 bool learns) {
  for (const RunRecord& run : base.runs) {
    const RunRecord* const other = find(fresh, run.id);
    if (other == nullptr) continue;
    const std::vector<LockstepPair> pairs = lockstep_pairs(run.samples, other->samples);
    Json json{{"id", run.id}, {"pairs", pairs.size()}, {"all", nullptr}};
    if (std::ssize(pairs) >= kLeastPairs)
      json["all"] = json_of(judge(pairs, {.detect = rule.detect}, PriorNoise()));
    json["gates"] = gates_of(pairs, rule, learns);
    fmt::print("{}\n", json.dump());
  }
}

int run(std::span<char* const> arguments) {
  const bool learns = arguments.size() == 6 && std::string_view(arguments[5]) == "learn";
  if (arguments.size() != 5 && !learns) {
    fmt::print(stderr, "usage: {} BASE.json NEW.json DETECT MAX_PAIRS [learn]\n", arguments[0]);
    return 2;
  }
  const LockstepRule rule = gate_rule(std::stod(arguments[3]), std::stoll(arguments[4]));
  if (rule.detect <= 0 || *rule.max_pairs < kLeastPairs) {
    fmt::print(stderr, "DETECT is positive, and MAX_PAIRS at least {}\n", kLeastPairs);
    return 2;
  }
  print_gates(read_result_file(arguments[1]), read_result_file(arguments[2]), rule, learns);
  return 0;
}

}  // namespace
}  // namespace ptbench

int main(int argc, char** argv) {
  try {
    return ptbench::run({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
