#include "app/training/plan_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/input_file.h"
#include "src/base/install_paths.h"
#include "src/base/log.h"
#include "src/process/output_file.h"

namespace ptbench {
namespace {

constexpr const char* kSchema = "ptbench.plan/1";

/// A plan has some dozen kilobytes.
constexpr InputRule kPlanRule{.largest = Bytes{16} << 20U};

Error broken_plan(const std::string& path, const std::string& what) {
  return usage_error(fmt::format("plan file '{}' {}", printable(path), what),
                     "remove it, so that it is written again, or name another file");
}

/// No name of an operator or candidate holds control characters.
bool is_plain(const std::string& text) { return printable(text) == text; }

struct Plan {
  std::string fingerprint;
  Choices choices;
};

/// Throws a usage error for anything that is not a plan.
Plan read_plan(const std::string& path) {
  const auto refuse = [&](const InputProblem& problem) {
    return usage_error(fmt::format("plan file '{}' {}", printable(path), problem.predicate),
                       "name a file that a run wrote with --plan, or one that is not there yet");
  };
  const nlohmann::json plan =
      nlohmann::json::parse(read_input(path, kPlanRule, refuse), nullptr, false);
  if (!plan.is_object() || plan.value("schema", nlohmann::json()) != kSchema ||
      !plan.contains("choices") || !plan["choices"].is_object())
    throw broken_plan(path, fmt::format("is not a plan ({})", kSchema));
  Plan read;
  if (const auto made_for = plan.find("fingerprint");
      made_for != plan.end() && made_for->is_string())
    read.fingerprint = made_for->get<std::string>();
  for (const auto& [key, candidate] : plan["choices"].items()) {
    if (!candidate.is_string()) throw broken_plan(path, "has a choice that is not a string");
    read.choices[key] = candidate.get<std::string>();
    if (!is_plain(key) || !is_plain(read.choices[key]))
      throw broken_plan(path, "has a choice with control characters");
  }
  return read;
}

/// Throws a usage error for anything else than a plan of `fingerprint`.
Choices read_choices(const std::string& path, const std::string& fingerprint) {
  Plan plan = read_plan(path);
  if (plan.fingerprint != fingerprint)
    throw broken_plan(path, fmt::format("was made for another machine or thread count than '{}'",
                                        printable(fingerprint)));
  return std::move(plan.choices);
}

/// Throws a usage error where that fails.
void write_plan(const std::string& path, const std::string& fingerprint, const Choices& choices) {
  const nlohmann::json plan{
      {"schema", kSchema}, {"fingerprint", fingerprint}, {"choices", choices}};
  OutputFile(path).commit(plan.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                          '\n');
}

}  // namespace

PlanStore::PlanStore(std::string path, std::string fingerprint, bool named_by_user)
    : path_(std::move(path)), fingerprint_(std::move(fingerprint)), named_by_user_(named_by_user) {}

PlanStore PlanStore::of_file(std::string path, std::string fingerprint) {
  return {std::move(path), std::move(fingerprint), true};
}

PlanStore PlanStore::of_host(std::string fingerprint) {
  const std::string folder = cache_folder().string();
  std::string path = folder.empty()
                         ? std::string{}
                         : fmt::format("{}/plan-{:016x}.json", folder, fnv1a(fingerprint));
  return {std::move(path), std::move(fingerprint), false};
}

Choices PlanStore::load() {
  std::error_code failure;
  existed_ = !path_.empty() && std::filesystem::exists(path_, failure);
  if (!existed_) return {};
  if (named_by_user_) return loaded_ = read_choices(path_, fingerprint_);
  try {
    loaded_ = read_choices(path_, fingerprint_);
  } catch (const Error&) {
    loaded_.clear();  // a cache that went bad is written anew
  }
  return loaded_;
}

bool PlanStore::lacks(const Choices& choices) const {
  return std::ranges::any_of(choices, [this](const auto& choice) {
    const auto known = loaded_.find(choice.first);
    return known == loaded_.end() || known->second != choice.second;
  });
}

void PlanStore::save(const Choices& choices) const {
  if (path_.empty() || !lacks(choices)) return;
  Choices all = choices;
  if (!named_by_user_) {  // what other runs have chosen meanwhile stays
    const Choices now = PlanStore(*this).load();
    all.insert(now.begin(), now.end());
  }
  all.insert(loaded_.begin(), loaded_.end());
  if (named_by_user_ && existed_)
    throw broken_plan(path_, "lacks choices for operators of this run");
  if (named_by_user_) return write_plan(path_, fingerprint_, all);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  try {
    write_plan(path_, fingerprint_, all);
  } catch (const Error&) {
    return;  // the next run chooses again
  }
}

void add_to_plan(const std::string& path, const std::string& from) {
  Plan added = read_plan(from);
  PlanStore store = PlanStore::of_file(path, added.fingerprint);
  const Choices known = store.load();
  if (!store.lacks(added.choices)) return;
  for (const auto& [key, candidate] : known) added.choices[key] = candidate;
  write_plan(path, added.fingerprint, added.choices);
}

}  // namespace ptbench
