#include "tests/cuda_emulator/cudnn/rules.h"

#include <array>
#include <limits>
#include <string>

#include "tests/cuda_emulator/cudnn/refusal.h"

namespace ptbench::emulator {
namespace {

constexpr std::int64_t kDims = CUDNN_DIM_MAX;
constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();

/// A kind of descriptor, and the numbers that the header gives its attributes.
struct Kind {
  Descriptor::Type type;
  const char* text;
  int first;
  int last;

  [[nodiscard]] bool holds(Descriptor::Name name) const { return name >= first && name <= last; }
};

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function does not see the name of its argument.
#define PTBENCH_KIND(NAME, FIRST, LAST) \
  Kind { CUDNN_BACKEND_##NAME##_DESCRIPTOR, "CUDNN_BACKEND_" #NAME "_DESCRIPTOR", FIRST, LAST }
#define PTBENCH_RULE(NAME, TYPE, LEAST, MOST, USE) \
  Rule { CUDNN_ATTR_##NAME, "CUDNN_ATTR_" #NAME, CUDNN_TYPE_##TYPE, LEAST, MOST, Use::USE }
// NOLINTEND(cppcoreguidelines-macro-usage)

constexpr std::array kKinds{
    PTBENCH_KIND(POINTWISE, 0, 99),
    PTBENCH_KIND(CONVOLUTION, 100, 199),
    PTBENCH_KIND(ENGINEHEUR, 200, 299),
    PTBENCH_KIND(ENGINECFG, 300, 399),
    PTBENCH_KIND(EXECUTION_PLAN, 400, 499),
    PTBENCH_KIND(KNOB_CHOICE, 600, 699),
    PTBENCH_KIND(OPERATION_CONVOLUTION_FORWARD, 700, 705),
    PTBENCH_KIND(OPERATION_CONVOLUTION_BACKWARD_DATA, 706, 711),
    PTBENCH_KIND(OPERATION_CONVOLUTION_BACKWARD_FILTER, 712, 717),
    PTBENCH_KIND(OPERATION_POINTWISE, 750, 769),
    PTBENCH_KIND(OPERATIONGRAPH, 800, 899),
    PTBENCH_KIND(TENSOR, 900, 999),
    PTBENCH_KIND(VARIANT_PACK, 1000, 1099),
    PTBENCH_KIND(ENGINE, 1300, 1399),
};

constexpr std::array kRules{
    PTBENCH_RULE(TENSOR_BYTE_ALIGNMENT, INT64, 1, 1, required),
    PTBENCH_RULE(TENSOR_DATA_TYPE, DATA_TYPE, 1, 1, required),
    PTBENCH_RULE(TENSOR_DIMENSIONS, INT64, 1, kDims, required),
    PTBENCH_RULE(TENSOR_STRIDES, INT64, 1, kDims, required),
    PTBENCH_RULE(TENSOR_UNIQUE_ID, INT64, 1, 1, required),
    PTBENCH_RULE(TENSOR_IS_VIRTUAL, BOOLEAN, 1, 1, optional),

    PTBENCH_RULE(CONVOLUTION_COMP_TYPE, DATA_TYPE, 1, 1, required),
    PTBENCH_RULE(CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, 1, 1, required),
    PTBENCH_RULE(CONVOLUTION_DILATIONS, INT64, 1, kDims, required),
    PTBENCH_RULE(CONVOLUTION_FILTER_STRIDES, INT64, 1, kDims, required),
    PTBENCH_RULE(CONVOLUTION_PRE_PADDINGS, INT64, 1, kDims, required),
    PTBENCH_RULE(CONVOLUTION_POST_PADDINGS, INT64, 1, kDims, required),
    PTBENCH_RULE(CONVOLUTION_SPATIAL_DIMS, INT64, 1, 1, required),

    PTBENCH_RULE(OPERATION_CONVOLUTION_FORWARD_ALPHA, DOUBLE, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_FORWARD_BETA, DOUBLE, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_FORWARD_CONV_DESC, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_FORWARD_X, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_FORWARD_W, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_FORWARD_Y, BACKEND_DESCRIPTOR, 1, 1, required),

    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_DATA_ALPHA, DOUBLE, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_DATA_BETA, DOUBLE, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_DATA_W, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_DATA_DX, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_DATA_DY, BACKEND_DESCRIPTOR, 1, 1, required),

    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, DOUBLE, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_FILTER_BETA, DOUBLE, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_FILTER_DW, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_FILTER_X, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_CONVOLUTION_BWD_FILTER_DY, BACKEND_DESCRIPTOR, 1, 1, required),

    PTBENCH_RULE(POINTWISE_MODE, POINTWISE_MODE, 1, 1, required),
    PTBENCH_RULE(POINTWISE_MATH_PREC, DATA_TYPE, 1, 1, required),
    PTBENCH_RULE(POINTWISE_NAN_PROPAGATION, NAN_PROPOGATION, 1, 1, optional),

    PTBENCH_RULE(OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR, 1, 1, optional),
    PTBENCH_RULE(OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(OPERATION_POINTWISE_ALPHA1, DOUBLE, 1, 1, optional),
    PTBENCH_RULE(OPERATION_POINTWISE_ALPHA2, DOUBLE, 1, 1, optional),

    PTBENCH_RULE(OPERATIONGRAPH_HANDLE, HANDLE, 1, 1, optional),
    PTBENCH_RULE(OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, kMany, required),
    PTBENCH_RULE(OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, INT64, 1, 1, result),

    PTBENCH_RULE(ENGINEHEUR_MODE, HEUR_MODE, 1, 1, required),
    PTBENCH_RULE(ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(ENGINEHEUR_RESULTS, BACKEND_DESCRIPTOR, 0, kMany, result),

    PTBENCH_RULE(ENGINE_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(ENGINE_GLOBAL_INDEX, INT64, 1, 1, required),
    PTBENCH_RULE(ENGINE_NUMERICAL_NOTE, NUMERICAL_NOTE, 0, kMany, result),
    PTBENCH_RULE(ENGINE_BEHAVIOR_NOTE, BEHAVIOR_NOTE, 0, kMany, result),

    PTBENCH_RULE(ENGINECFG_ENGINE, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(ENGINECFG_KNOB_CHOICES, BACKEND_DESCRIPTOR, 0, kMany, optional),
    PTBENCH_RULE(ENGINECFG_WORKSPACE_SIZE, INT64, 1, 1, result),

    PTBENCH_RULE(KNOB_CHOICE_KNOB_TYPE, KNOB_TYPE, 1, 1, required),
    PTBENCH_RULE(KNOB_CHOICE_KNOB_VALUE, INT64, 1, 1, required),

    PTBENCH_RULE(EXECUTION_PLAN_HANDLE, HANDLE, 1, 1, optional),
    PTBENCH_RULE(EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, 1, required),
    PTBENCH_RULE(EXECUTION_PLAN_WORKSPACE_SIZE, INT64, 1, 1, result),
    PTBENCH_RULE(EXECUTION_PLAN_JSON_REPRESENTATION, CHAR, 1, kMany, either),

    PTBENCH_RULE(VARIANT_PACK_UNIQUE_IDS, INT64, 1, kMany, required),
    PTBENCH_RULE(VARIANT_PACK_DATA_POINTERS, VOID_PTR, 1, kMany, required),
    PTBENCH_RULE(VARIANT_PACK_WORKSPACE, VOID_PTR, 1, 1, optional),
};

#undef PTBENCH_KIND
#undef PTBENCH_RULE

const Kind* find_kind(Descriptor::Type type) {
  for (const Kind& kind : kKinds)
    if (kind.type == type) return &kind;
  return nullptr;
}

bool accepts(const Rule& rule, cudnnBackendAttributeType_t type) {
  return type == rule.type || (rule.type == CUDNN_TYPE_DOUBLE && type == CUDNN_TYPE_FLOAT);
}

}  // namespace

const char* name_of(Descriptor::Type type) {
  const Kind* kind = find_kind(type);
  return kind == nullptr ? nullptr : kind->text;
}

const Rule& find_rule(Descriptor::Type descriptor, Descriptor::Name name,
                      cudnnBackendAttributeType_t type) {
  const Kind& kind = *find_kind(descriptor);
  const std::string attribute = "attribute " + std::to_string(name);
  if (!kind.holds(name)) bad_parameter(std::string(kind.text) + " has no " + attribute);
  for (const Rule& rule : kRules) {
    if (rule.name != name) continue;
    if (accepts(rule, type)) return rule;
    throw Refusal(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                  std::string(rule.text) + " is not of type " + std::to_string(type));
  }
  not_supported(std::string(kind.text) + ": " + attribute + " is not emulated");
}

void check_required(const Descriptor& descriptor) {
  const Kind& kind = *find_kind(descriptor.type());
  for (const Rule& rule : kRules)
    if (kind.holds(rule.name) && rule.use == Use::required && !descriptor.has(rule.name))
      bad_parameter(std::string(kind.text) + ": " + rule.text + " was not set");
}

}  // namespace ptbench::emulator
