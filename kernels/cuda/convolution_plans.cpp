#include "kernels/cuda/convolution_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

constexpr Bytes kMostPlanWorkspace = Bytes{256} << 20U;
/// More than cuDNN names.
constexpr std::size_t kMostConfigurations = 64;

/// Engines with settings, the fastest first as far as cuDNN knows.
std::vector<Descriptor> configurations_of(const CudnnTarget& target, const Descriptor& graph,
                                          cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (target.properties != nullptr)
    heuristic.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
  if (heuristic.try_finalize() != CUDNN_STATUS_SUCCESS) return {};  // the graph is not supported
  return heuristic.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMostConfigurations);
}

/// Whether results repeat, and are sums of products of the operands as they are, or in tf32 as
/// tensor cores take them.
bool is_exact(const Descriptor& engine, ElementType type) {
  const auto notes = engine.get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                             CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  return std::ranges::none_of(notes, [&](cudnnBackendNumericalNote_t note) {
    if (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) return type == ElementType::f32;  // as tf32
    return note != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
  });
}

/// Whether finalizing a plan of it compiles code.
bool is_compiled(const Descriptor& engine) {
  const auto notes = engine.get<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                            CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  return std::ranges::find(notes, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != notes.end();
}

/// As ConvolutionPlan::name says.
std::string plan_name_of(const Descriptor& engine, const Descriptor& configuration) {
  std::vector<std::pair<int, std::int64_t>> knobs;
  for (const Descriptor& choice :
       configuration.get_descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                     CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS))
    knobs.emplace_back(
        static_cast<int>(
            choice.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 1).at(0)),
        choice.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, 1).at(0));
  std::ranges::sort(knobs);
  std::string name =
      fmt::format("{}", engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1).at(0));
  for (const auto& [knob, value] : knobs) name += fmt::format(",{}:{}", knob, value);
  return name;
}

/// What a pass asks of cuDNN, without what it does not look at.
Conv2dSpec asked_of(const Conv2dSpec& spec, ConvolutionPass pass) {
  Conv2dSpec asked = packed(spec);
  asked.plain_input = false;
  asked.input_gradient = true;
  if (pass == ConvolutionPass::forward) return asked;
  asked.bias = false;
  asked.add = false;
  asked.relu = false;
  return asked;
}

}  // namespace

PassPlans::PassPlans(const CudnnTarget& target, const Conv2dSpec& spec, ConvolutionPass pass,
                     const PlanFiles* files)
    : target_(target), spec_(spec), pass_(pass), files_(files) {}

std::vector<PassPlans::Plan> PassPlans::first(std::size_t most) {
  std::vector<Plan> plans;
  for (std::size_t i = 0; plans.size() < most && has_way(i); ++i)
    if (Plan plan = plan_of(ways_[i])) plans.push_back(std::move(plan));
  return plans;
}

PassPlans::Plan PassPlans::named(std::string_view name) {
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  Plan plan = kept(name);
  for (std::size_t i = 0; !plan && has_way(i); ++i) {
    if (ways_[i].name != name) continue;
    plan = made(ways_[i]);
    break;
  }
  known_.emplace(name, plan);
  return plan;
}

/// Asks the second heuristic only where the first one does not suffice.
bool PassPlans::has_way(std::size_t index) {
  static constexpr std::array kModes{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
  while (index >= ways_.size() && modes_asked_ < kModes.size()) list_ways(kModes[modes_asked_++]);
  return index < ways_.size();
}

void PassPlans::list_ways(cudnnBackendHeurMode_t mode) {
  if (!graph_)
    graph_ = std::make_shared<const std::vector<Descriptor>>(graph_of(target_, spec_, pass_));
  for (Descriptor& configuration : configurations_of(target_, graph_->back(), mode)) {
    const auto engines = configuration.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE,
                                                       CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
    const Descriptor& engine = engines.at(0);
    if (!is_exact(engine, spec_.type)) continue;
    std::string name = plan_name_of(engine, configuration);
    if (std::ranges::find(ways_, name, &Way::name) != ways_.end()) continue;
    ways_.push_back({.name = std::move(name),
                     .configuration = std::move(configuration),
                     .compiles = is_compiled(engine)});
  }
}

PassPlans::Plan PassPlans::plan_of(Way& way) {
  if (const auto known = known_.find(way.name); known != known_.end()) return known->second;
  Plan plan = way.compiles ? kept(way.name) : Plan();
  if (!plan) plan = made(way);
  known_.emplace(way.name, plan);
  return plan;
}

PassPlans::Plan PassPlans::made(Way& way) {
  std::optional<Descriptor> configuration = std::exchange(way.configuration, std::nullopt);
  ensure(configuration.has_value(), "a plan is finalized once");
  Plan plan = finalized_plan(target_, graph_, *std::move(configuration), way.name);
  if (!plan || plan->workspace() > kMostPlanWorkspace) return nullptr;
  if (!way.compiles || files_ == nullptr) return plan;
  if (const auto text = plan->text()) files_->keep(file_key(way.name), *text);
  return plan;
}

PassPlans::Plan PassPlans::kept(std::string_view name) const {
  if (files_ == nullptr) return nullptr;
  const auto text = files_->load(file_key(name));
  return text ? restored_plan(target_, *text, std::string(name)) : nullptr;
}

std::string PassPlans::file_key(std::string_view name) const {
  return fmt::format("{} {} {}", name_of(pass_), key_of(spec_), name);
}

ConvolutionPlans::ConvolutionPlans(Cudnn& cudnn, PlanFiles files)
    : cudnn_(cudnn), files_(std::move(files)) {}

PassPlans& ConvolutionPlans::of(const Conv2dSpec& spec, ConvolutionPass pass) {
  const Conv2dSpec asked = asked_of(spec, pass);
  std::pair key(pass, key_of(asked));
  const CudnnTarget target{.handle = cudnn_.handle()};
  return plans_.try_emplace(std::move(key), target, asked, pass, &files_).first->second;
}

}  // namespace ptbench::cuda
