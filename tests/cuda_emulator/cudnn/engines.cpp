#include "tests/cuda_emulator/cudnn/engines.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tests/cuda_emulator/cudnn/plan_text.h"
#include "tests/cuda_emulator/cudnn/refusal.h"
#include "tests/cuda_emulator/device/exports.h"

namespace ptbench::emulator {
namespace {

constexpr std::int64_t kMostStages = 4;

/// In the order in which heuristics name them; indexes are in another one.
constexpr std::array kEngines{
    Engine{.index = 3, .repeats = false},
    Engine{.index = 4, .rounds_inputs = true},
    Engine{.index = 2, .has_plans = false},
    Engine{.index = 0, .is_fallback = true},
    Engine{.index = 1, .workspace_bytes = 4096, .has_knob = true, .is_fallback = true},
    Engine{.index = 5, .workspace_bytes = 1024, .is_fallback = true, .compiles = true},
};

template <class T>
Values one(cudnnBackendAttributeType_t type, T value) {
  return values_of(type, std::span<const T>(&value, 1));
}

void expect(const Descriptor& descriptor, Descriptor::Type type, const char* what) {
  if (descriptor.type() != type)
    bad_parameter(std::string("another descriptor is given in place of ") + what);
}

/// The graph that an engine or heuristics are asked about.
Graph graph_at(const Descriptor& descriptor, Descriptor::Name name) {
  const Descriptor& graph = descriptor.descriptor(name);
  expect(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "a graph");
  return graph_of(graph);
}
Graph graph_of_engine(const Descriptor& engine) {
  return graph_at(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
}

const Engine& engine_of(const Descriptor& descriptor) {
  const auto index = descriptor.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  for (const Engine& engine : kEngines)
    if (engine.index == index) return engine;
  bad_parameter("there is no engine " + std::to_string(index));
}

/// The engine of a configuration.
const Descriptor& engine_at(const Descriptor& configuration) {
  return configuration.descriptor(CUDNN_ATTR_ENGINECFG_ENGINE);
}

const Descriptor& configuration_at(const Descriptor& plan) {
  return plan.descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
}

void check_configuration(const Descriptor& configuration) {
  expect(engine_at(configuration), CUDNN_BACKEND_ENGINE_DESCRIPTOR, "an engine");
  for (const DescriptorPtr& choice : configuration.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)) {
    expect(*choice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, "a knob's choice");
    const auto value = choice->one<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    const auto knob = choice->one<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
    if (!engine_of(engine_at(configuration)).has_knob || knob != CUDNN_KNOB_TYPE_STAGES)
      bad_parameter("the engine has no knob " + std::to_string(knob));
    if (value < 1 || value > kMostStages)
      bad_parameter("the engine's knob has no value " + std::to_string(value));
  }
}

void check_heuristics(const Descriptor& heuristics) {
  const auto mode = heuristics.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  if (mode != CUDNN_HEUR_MODE_A && mode != CUDNN_HEUR_MODE_FALLBACK)
    not_supported("heuristics are emulated in the modes A and FALLBACK");
  const Graph graph = graph_at(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (std::ranges::none_of(kEngines, [&](const Engine& engine) { return engine.takes(graph); }))
    ptbench_emulator_remark("cuDNN: no engine takes the types of this graph's tensors");
}

/// Whether graphs that need a compiler at run time find one: NVRTC, which is opened by name, and
/// not where the environment says PTBENCH_EMULATOR_CUDNN=precompiled.
bool has_compiler() {
  const char* engines = std::getenv("PTBENCH_EMULATOR_CUDNN");
  if (engines != nullptr && std::string_view(engines) == "precompiled") return false;
  return dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL) != nullptr;
}

void check_plan(const Descriptor& plan) {
  expect(configuration_at(plan), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "an engine's configuration");
  if (!plan_of(plan).engine.has_plans)
    throw Refusal(CUDNN_STATUS_NOT_SUPPORTED, "the engine has no plan for this graph", false);
  const bool is_compiled = plan.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  if (plan_of(plan).engine.compiles && !is_compiled && !has_compiler())
    throw Refusal(CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING, "there is no compiler",
                  false);
}

/// A final descriptor.
DescriptorPtr made(Descriptor::Type type,
                   std::vector<std::pair<Descriptor::Name, Values>> attributes) {
  auto descriptor = std::make_shared<Descriptor>(type);
  for (auto& [name, values] : attributes) descriptor->put(name, std::move(values));
  descriptor->make_final();
  return descriptor;
}

DescriptorPtr configuration_of(const Engine& engine, const DescriptorPtr& graph) {
  const DescriptorPtr descriptor =
      made(CUDNN_BACKEND_ENGINE_DESCRIPTOR,
           {{CUDNN_ATTR_ENGINE_OPERATION_GRAPH, values_of(std::vector{graph})},
            {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, one(CUDNN_TYPE_INT64, engine.index)}});
  std::vector<DescriptorPtr> choices;
  if (engine.has_knob)
    choices.push_back(
        made(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
             {{CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, one(CUDNN_TYPE_KNOB_TYPE, CUDNN_KNOB_TYPE_STAGES)},
              {CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, one(CUDNN_TYPE_INT64, std::int64_t{2})}}));
  return made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
              {{CUDNN_ATTR_ENGINECFG_ENGINE, values_of(std::vector{descriptor})},
               {CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, values_of(std::move(choices))}});
}

Values results_of(const Descriptor& heuristics) {
  const Graph graph = graph_at(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const bool is_fallback = heuristics.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) ==
                           CUDNN_HEUR_MODE_FALLBACK;
  std::vector<DescriptorPtr> configurations;
  for (const Engine& engine : kEngines)
    if (engine.takes(graph) && (engine.is_fallback || !is_fallback))
      configurations.push_back(configuration_of(
          engine, heuristics.descriptors(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).front()));
  return values_of(std::move(configurations));
}

}  // namespace

std::vector<cudnnBackendNumericalNote_t> Engine::notes(const Graph& graph) const {
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (!repeats) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  // All that cuDNN says of engines that round to tf32. What is narrow goes to tensor cores as it
  // is.
  if (rounds_inputs || graph.convolution.image.element != Element::f32)
    notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  return notes;
}

bool Engine::takes(const Graph& graph) const {
  const Convolution& convolution = graph.convolution;
  if (compiles)
    return !graph.is_plain() && !graph.steps.empty() && convolution.has_equal_operands();
  if (!graph.is_plain()) return false;
  if (!repeats) return convolution.direction == Direction::filter_gradient;
  return !rounds_inputs || convolution.image.element == Element::f32;
}

Plan plan_of(const Descriptor& descriptor) {
  const Descriptor& engine = engine_at(configuration_at(descriptor));
  return {graph_of_engine(engine), engine_of(engine)};
}

std::int64_t most_results() { return static_cast<std::int64_t>(kEngines.size()); }

void check_engine_descriptor(const Descriptor& descriptor) {
  switch (descriptor.type()) {
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      if (const Graph graph = graph_of_engine(descriptor); !engine_of(descriptor).takes(graph))
        not_supported("the engine does not take this graph");
      break;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: check_configuration(descriptor); break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: check_heuristics(descriptor); break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: check_plan(descriptor); break;
    default: break;  // a knob's choice is judged where an engine is given it
  }
}

Values engine_result(const Descriptor& descriptor, Descriptor::Name name) {
  switch (name) {
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return one(CUDNN_TYPE_INT64, static_cast<std::int64_t>(kEngines.size()));
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: return results_of(descriptor);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      const auto notes = engine_of(descriptor).notes(graph_of_engine(descriptor));
      return values_of<cudnnBackendNumericalNote_t>(CUDNN_TYPE_NUMERICAL_NOTE, notes);
    }
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE: {
      std::vector<cudnnBackendBehaviorNote_t> notes;
      if (engine_of(descriptor).compiles) notes.push_back(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
      return values_of<cudnnBackendBehaviorNote_t>(CUDNN_TYPE_BEHAVIOR_NOTE, notes);
    }
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
      return one(CUDNN_TYPE_INT64, engine_of(engine_at(descriptor)).workspace_bytes);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return one(CUDNN_TYPE_INT64, plan_of(descriptor).engine.workspace_bytes);
    default: return values_of<char>(CUDNN_TYPE_CHAR, text_of(configuration_at(descriptor)));
  }
}

}  // namespace ptbench::emulator
