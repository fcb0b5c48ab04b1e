// Plans of cuDNN that are made again from their text.
#include <string>

#include "tests/cuda_emulator/cases/case.h"
#include "tests/cuda_emulator/cases/cudnn_graph.h"
#include "tests/cuda_emulator/cases/numbers.h"

namespace ptbench::emulator::cases {
namespace {

constexpr Problem kProblem{2, 3, 8, 6, 5, {3, 3}, {1, 1}, {1, 1}};

std::string text_of(const Descriptor& plan) {
  constexpr cudnnBackendAttributeName_t kText = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(plan.get(), kText, CUDNN_TYPE_CHAR, 0, &count, nullptr));
  std::string text(static_cast<std::size_t>(count), '\0');
  check(cudnnBackendGetAttribute(plan.get(), kText, CUDNN_TYPE_CHAR, count, &count, text.data()));
  return text;
}

/// A plan that is described by its text. Without a handle, the real library crashes on it.
Descriptor described(cudnnHandle_t handle, const std::string& text) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle)
      .set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
           std::vector<char>(text.begin(), text.end()));
  return plan;
}

std::vector<float> gradient_by(cudnnHandle_t handle, const Descriptor& plan) {
  const Operand x(Kind::bf16, numbers(count_of(kProblem.x()), 1));
  const Operand y(Kind::bf16, numbers(count_of(kProblem.y()), 2));
  const Operand w(Kind::f32, std::vector<float>(count_of(kProblem.w())));
  const DeviceArray<char> workspace(static_cast<std::size_t>(workspace_of(plan) + 1));
  check(execute(handle, plan, {{'x', x.get()}, {'w', w.get()}, {'y', y.get()}}, workspace.get()));
  return w.read();
}

/// With another handle, as in another process, a restored plan computes what the first one does.
bool restored_plans(bool) {
  std::string text;
  std::vector<float> wanted;
  {
    const Handle handle;
    const Descriptor graph =
        graph_of(handle.get(), kProblem, kFilter, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT);
    const auto plan = plan_of(handle.get(), configurations(graph, CUDNN_HEUR_MODE_A).front());
    text = text_of(*plan);
    wanted = gradient_by(handle.get(), *plan);
  }
  const Handle handle;
  Descriptor restored = described(handle.get(), text);
  return same("gradient", gradient_by(handle.get(), restored.made()), wanted) &&
         text_of(restored) == text;
}

/// With which status other texts are refused.
bool refused_texts(bool) {
  const Handle handle;
  const Descriptor graph =
      graph_of(handle.get(), kProblem, kForward, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
  const auto plan = plan_of(handle.get(), configurations(graph, CUDNN_HEUR_MODE_FALLBACK).front());
  const std::string text = text_of(*plan);
  const auto changed = [&](const std::string& field, const std::string& value) {
    std::string other = text;
    const std::size_t begin = text.find(field) + field.size();
    other.replace(begin, text.find(',', begin) - begin, value);
    return other;
  };
  bool right = true;
  const auto expect = [&](const char* what, const std::string& given, cudnnStatus_t wanted) {
    const cudnnStatus_t got = described(handle.get(), given).finalize();
    if (got == wanted) return;
    std::printf("%s: %s, not %s\n", what, cudnnGetErrorString(got), cudnnGetErrorString(wanted));
    right = false;
  };
  expect("whole", text, CUDNN_STATUS_SUCCESS);
  expect("cut", text.substr(0, text.size() / 2), CUDNN_STATUS_BAD_PARAM);
  expect("nearly whole", text.substr(0, text.size() - 1), CUDNN_STATUS_BAD_PARAM);
  expect("no plan", "{}", CUDNN_STATUS_BAD_PARAM);
  expect("another version", changed("\"cudnnVersion\":", "90100"),
         CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH);
  expect("another device", changed("\"deviceVer\":", "700"),
         CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH);
  return right;
}

}  // namespace

std::vector<Case> plan_text_cases() {
  return {{"restored-plans", restored_plans}, {"refused-texts", refused_texts}};
}

}  // namespace ptbench::emulator::cases
