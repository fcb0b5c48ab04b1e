#include "src/app/plan_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "src/app/install_paths.h"
#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

constexpr const char* kSchema = "ptbench.plan/1";

Error broken_plan(const std::string& path, const std::string& what) {
  return usage_error(fmt::format("plan file '{}' {}", printable(path), what),
                     "remove it to have it written anew, or name another file");
}

Error unwritable_plan(const std::string& path) {
  return usage_error(fmt::format("plan file '{}' cannot be written", printable(path)),
                     "name a file in a folder that you may write to");
}

struct Plan {
  std::string fingerprint;
  Choices choices;
};

/// Throws a usage error for anything that is not a plan.
Plan read_plan(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw broken_plan(path, "cannot be read");
  const nlohmann::json plan = nlohmann::json::parse(file, nullptr, false);
  if (!plan.is_object() || plan.value("schema", nlohmann::json()) != kSchema ||
      !plan.contains("choices") || !plan["choices"].is_object())
    throw broken_plan(path, fmt::format("is no plan ({})", kSchema));
  Plan read;
  if (const auto made_for = plan.find("fingerprint");
      made_for != plan.end() && made_for->is_string())
    read.fingerprint = made_for->get<std::string>();
  for (const auto& [key, candidate] : plan["choices"].items()) {
    if (!candidate.is_string()) throw broken_plan(path, "has a choice that is no text");
    read.choices[key] = candidate.get<std::string>();
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

/// Whole or not at all: written beside the target and renamed. False on any failure.
bool write_plan(const std::string& path, const std::string& fingerprint, const Choices& choices) {
  const nlohmann::json plan{
      {"schema", kSchema}, {"fingerprint", fingerprint}, {"choices", choices}};
  const std::string partial = fmt::format("{}.{}.ptbench-partial", path, getpid());
  std::error_code ignored;
  {
    std::ofstream file(partial, std::ios::binary | std::ios::trunc);
    file << plan.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    file.close();
    if (!file) {
      std::filesystem::remove(partial, ignored);
      return false;
    }
  }
  std::error_code failure;
  std::filesystem::rename(partial, path, failure);
  if (failure) std::filesystem::remove(partial, ignored);
  return !failure;
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
  return std::ranges::any_of(
      choices, [this](const auto& choice) { return !loaded_.contains(choice.first); });
}

void PlanStore::save(const Choices& choices) const {
  if (path_.empty() || !lacks(choices)) return;
  Choices all = loaded_;
  all.insert(choices.begin(), choices.end());
  if (named_by_user_ && existed_)
    throw broken_plan(path_, "lacks choices for operators of this run");
  if (!named_by_user_) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  }
  if (!write_plan(path_, fingerprint_, all) && named_by_user_) throw unwritable_plan(path_);
}

void add_to_plan(const std::string& path, const std::string& from) {
  Plan added = read_plan(from);
  PlanStore store = PlanStore::of_file(path, added.fingerprint);
  const Choices known = store.load();
  if (!store.lacks(added.choices)) return;
  for (const auto& [key, candidate] : known) added.choices[key] = candidate;
  if (!write_plan(path, added.fingerprint, added.choices)) throw unwritable_plan(path);
}

}  // namespace ptbench
