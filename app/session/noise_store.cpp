#include "app/session/noise_store.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "src/base/error.h"
#include "src/base/input_file.h"
#include "src/base/install_paths.h"
#include "src/base/text.h"
#include "src/process/output_file.h"

namespace ptbench {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema = "ptbench.noise/1";
constexpr InputRule kNoiseRule{.largest = Bytes{16} << 20U};

/// Objects only, so that members can be asked for; an empty one where there is nothing to be read.
Json read_hosts(const std::filesystem::path& file) {
  Json document;
  try {
    const auto refuse = [](const InputProblem& problem) { return usage_error(problem.predicate); };
    document = Json::parse(read_input(file, kNoiseRule, refuse), nullptr, false);
  } catch (const Error&) {
    return Json::object();
  }
  if (!document.is_object() || document.value("schema", Json()) != kSchema) return Json::object();
  Json hosts = document.value("hosts", Json());
  return hosts.is_object() ? hosts : Json::object();
}

/// Empty for what no self-check learns.
std::optional<PriorNoise::Learnt> learnt_from(const Json& json) {
  constexpr double kLeast = 1e-6;
  constexpr double kMost = 1;
  constexpr Size kMostDegrees = 1'000'000'000;
  if (!json.is_object()) return {};
  const Json deviation = json.value("standard_deviation", Json());
  const Json degrees = json.value("degrees_of_freedom", Json());
  if (!deviation.is_number() || !degrees.is_number_unsigned()) return {};
  const auto value = deviation.get<double>();
  if (value < kLeast || value > kMost || degrees.get<std::uint64_t>() > kMostDegrees) return {};
  return PriorNoise::Learnt{.standard_deviation = value, .degrees_of_freedom = degrees.get<Size>()};
}

void add(const PriorNoise& noise, Json& classes) {
  if (!classes.is_object()) classes = Json::object();
  for (const auto& [placement, learnt] : noise.classes())
    classes[valid_utf8(placement)] = {{"standard_deviation", learnt.standard_deviation},
                                      {"degrees_of_freedom", learnt.degrees_of_freedom}};
}

}  // namespace

NoiseStore::NoiseStore() {
  const std::filesystem::path folder = cache_folder();
  if (!folder.empty()) file_ = folder / "noise.json";
}

PriorNoise NoiseStore::load(const std::string& host) const {
  PriorNoise noise;
  const Json hosts = read_hosts(file_);
  const auto classes = hosts.find(valid_utf8(host));
  if (classes == hosts.end() || !classes->is_object()) return noise;
  for (const auto& [placement, json] : classes->items())
    if (const auto learnt = learnt_from(json)) noise.learn(placement, *learnt);
  return noise;
}

PriorNoise NoiseStore::unknown(const std::string& host, const PriorNoise& noise) const {
  const PriorNoise known = load(host);
  PriorNoise unknown;
  for (const auto& [placement, learnt] : noise.classes())
    if (!known.classes().contains(valid_utf8(placement))) unknown.learn(placement, learnt);
  return unknown;
}

bool NoiseStore::save(const std::string& host, const PriorNoise& noise) const {
  if (file_.empty()) return false;
  Json hosts = read_hosts(file_);
  add(noise, hosts[valid_utf8(host)]);
  const Json document{{"schema", kSchema}, {"hosts", std::move(hosts)}};
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  try {
    OutputFile(file_).commit(document.dump(2, ' ', true) + "\n");
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace ptbench
