#include "tests/cuda_emulator/cudnn/descriptor.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/cuda_emulator/cudnn/engines.h"
#include "tests/cuda_emulator/cudnn/graph.h"
#include "tests/cuda_emulator/cudnn/plan_text.h"
#include "tests/cuda_emulator/cudnn/refusal.h"
#include "tests/cuda_emulator/cudnn/rules.h"
#include "tests/cuda_emulator/cudnn/variant_pack.h"

namespace ptbench::emulator {
namespace {

/// What callers' handles stand for; each must be final.
std::vector<DescriptorPtr> contents_of(const Rule& rule, std::int64_t count, const void* elements) {
  const auto* handles = static_cast<const cudnnBackendDescriptor_t*>(elements);
  std::vector<DescriptorPtr> contents;
  for (std::int64_t index = 0; index < count; ++index) {
    const auto* handle = static_cast<const DescriptorHandle*>(handles[index]);
    if (handle == nullptr)
      throw Refusal(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                    std::string(rule.text) + ": a descriptor is null");
    if (!handle->content->is_final())
      throw Refusal(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                    std::string(rule.text) + ": the descriptor is not finalized");
    contents.push_back(handle->content);
  }
  return contents;
}

/// Makes the caller's descriptors, which it has created, stand for these.
void hand_out(const Rule& rule, const std::vector<DescriptorPtr>& contents, void* elements) {
  auto* handles = static_cast<cudnnBackendDescriptor_t*>(elements);
  for (std::size_t index = 0; index < contents.size(); ++index) {
    auto* handle = static_cast<DescriptorHandle*>(handles[index]);
    if (handle == nullptr)
      throw Refusal(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                    std::string(rule.text) + ": a descriptor to be filled in is null");
    if (handle->content->type() != contents[index]->type())
      bad_parameter(std::string(rule.text) + " is a " + name_of(contents[index]->type()) +
                    ", not a " + name_of(handle->content->type()));
    handle->content = std::const_pointer_cast<Descriptor>(contents[index]);
  }
}

/// An attribute that follows from others.
Values result_of(const Descriptor& descriptor, Descriptor::Name name) {
  switch (descriptor.type()) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return engine_result(descriptor, name);
    default: bad_parameter(std::string(name_of(descriptor.type())) + " has no results");
  }
}

/// Throws Refusal where the values of a descriptor's attributes do not make one.
void check(const Descriptor& descriptor) {
  switch (descriptor.type()) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: std::ignore = tensor_of(descriptor); break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: check_convolution(descriptor); break;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR: check_pointwise(descriptor); break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      std::ignore = convolution_of(descriptor);
      break;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      std::ignore = pointwise_of(descriptor);
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: std::ignore = graph_of(descriptor); break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: check_variant_pack(descriptor); break;
    default: check_engine_descriptor(descriptor); break;
  }
}

}  // namespace

std::size_t element_bytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void*);
    case CUDNN_TYPE_INT64: return sizeof(std::int64_t);
    case CUDNN_TYPE_DOUBLE: return sizeof(double);
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_CHAR: return sizeof(char);
    default: return sizeof(std::int32_t);  // float and the enumerations
  }
}

Values values_of(std::vector<DescriptorPtr> descriptors) {
  Values values{
      CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(descriptors.size()), {}, {}};
  values.descriptors = std::move(descriptors);
  return values;
}

const Values* Descriptor::find(Name name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

double Descriptor::number(Name name, double otherwise) const {
  const Values* values = find(name);
  if (values == nullptr) return otherwise;
  return values->type == CUDNN_TYPE_FLOAT ? one<float>(name) : one<double>(name);
}

std::vector<DescriptorPtr> Descriptor::descriptors(Name name) const {
  const Values* values = find(name);
  return values == nullptr ? std::vector<DescriptorPtr>{} : values->descriptors;
}

const Descriptor& Descriptor::descriptor(Name name) const {
  return *values_.at(name).descriptors.front();
}

std::shared_ptr<Descriptor> create_descriptor(Descriptor::Type type) {
  if (name_of(type) == nullptr)
    not_supported("descriptors of type " + std::to_string(type) + " are not emulated");
  return std::make_shared<Descriptor>(type);
}

void set_attribute(Descriptor& descriptor, Descriptor::Name name, cudnnBackendAttributeType_t type,
                   std::int64_t count, const void* elements) {
  const Rule& rule = find_rule(descriptor.type(), name, type);
  if (descriptor.is_final())
    bad_parameter(std::string(rule.text) + " is set after the descriptor was finalized");
  if (rule.use == Use::result) bad_parameter(std::string(rule.text) + " cannot be set");
  if (count < rule.least || count > rule.most)
    bad_parameter(std::string(rule.text) + " does not have " + std::to_string(count) + " elements");
  if (count > 0 && elements == nullptr)
    throw Refusal(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, std::string(rule.text) + " is set to null");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    descriptor.put(name, values_of(contents_of(rule, count, elements)));
    return;
  }
  const std::size_t bytes = static_cast<std::size_t>(count) * element_bytes(type);
  Values values{type, count, std::vector<std::byte>(bytes), {}};
  std::memcpy(values.bytes.data(), elements, bytes);
  descriptor.put(name, std::move(values));
}

void get_attribute(const Descriptor& descriptor, Descriptor::Name name,
                   cudnnBackendAttributeType_t type, std::int64_t requested, std::int64_t* count,
                   void* elements) {
  const Rule& rule = find_rule(descriptor.type(), name, type);
  if (!descriptor.is_final())
    throw Refusal(CUDNN_STATUS_NOT_INITIALIZED,
                  std::string(rule.text) + " is got before the descriptor was finalized");
  if (requested < 0) bad_parameter(std::string(rule.text) + ": a negative number is asked for");
  const Values* set = descriptor.find(name);
  const bool follows = rule.use == Use::result || (rule.use == Use::either && set == nullptr);
  Values values = follows          ? result_of(descriptor, name)
                  : set != nullptr ? *set
                                   : Values{type, 0, {}, {}};
  if (values.type != type) bad_parameter(std::string(rule.text) + " was set with another type");
  // Asked for none, it tells how many there are; of configurations, how many there are at most.
  const std::int64_t all = name == CUDNN_ATTR_ENGINEHEUR_RESULTS ? most_results() : values.count;
  if (count != nullptr) *count = requested == 0 ? all : std::min(requested, values.count);
  const auto given = static_cast<std::size_t>(std::min(requested, values.count));
  if (given == 0) return;
  if (elements == nullptr)
    throw Refusal(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                  std::string(rule.text) + " is got without an array for it");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    values.descriptors.resize(given);
    hand_out(rule, values.descriptors, elements);
    return;
  }
  std::memcpy(elements, values.bytes.data(), given * element_bytes(type));
}

void finalize(Descriptor& descriptor) {
  if (descriptor.is_final())
    bad_parameter(std::string(name_of(descriptor.type())) + " is finalized twice");
  if (descriptor.type() == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) restore_plan(descriptor);
  check_required(descriptor);
  check(descriptor);
  descriptor.make_final();
}

}  // namespace ptbench::emulator
