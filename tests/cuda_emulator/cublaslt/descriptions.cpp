// Descriptions, layouts and preferences as handles with attributes.
#include "tests/cuda_emulator/cublaslt/descriptions.h"

#include <cstring>
#include <string>

#include "tests/cuda_emulator/device/exports.h"

namespace ptbench::emulator {
namespace {

/// An attribute of a description: where it lies, and how many bytes it has.
struct Field {
  void* at = nullptr;
  std::size_t bytes = 0;
};

template <class T>
Field field_of(T& value) {
  return {&value, sizeof value};
}

Field find(MatmulDescription& description, cublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return field_of(description.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return field_of(description.scale);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return field_of(description.pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA: return field_of(description.transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB: return field_of(description.transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return field_of(description.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return field_of(description.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return field_of(description.bias_type);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return field_of(description.auxiliary);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return field_of(description.auxiliary_ld);
    default: return {};
  }
}

Field find(MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return field_of(layout.type);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return field_of(layout.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return field_of(layout.columns);
    case CUBLASLT_MATRIX_LAYOUT_LD: return field_of(layout.ld);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return field_of(layout.batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return field_of(layout.batch_stride);
    default: return {};
  }
}

Field find(MatmulPreference& preference, cublasLtMatmulPreferenceAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return field_of(preference.workspace_bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return field_of(preference.reductions);
    default: return {};
  }
}

cublasStatus_t put(Field field, const void* value, std::size_t bytes) {
  if (field.at == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (value == nullptr || bytes != field.bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(field.at, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get(Field field, void* value, std::size_t bytes, std::size_t* written) {
  if (field.at == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (written != nullptr) *written = field.bytes;
  if (bytes == 0) return CUBLAS_STATUS_SUCCESS;
  if (value == nullptr || bytes < field.bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, field.at, field.bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t no_attribute(const char* what, int attribute) {
  ptbench_emulator_remark(
      (std::string(what) + " attribute " + std::to_string(attribute) + " is not emulated").c_str());
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

template <class Structure, class Handle, class Attribute>
cublasStatus_t set_attribute(const char* what, Handle handle, Attribute attribute,
                             const void* value, std::size_t bytes) {
  const Field field = find(*reinterpret_cast<Structure*>(handle), attribute);
  return field.at == nullptr ? no_attribute(what, attribute) : put(field, value, bytes);
}

}  // namespace

bool find_epilogue(std::uint32_t epilogue, Epilogue& found) {
  found = {};
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT: return true;
    case CUBLASLT_EPILOGUE_BIAS: found = {.adds_bias = true}; return true;
    case CUBLASLT_EPILOGUE_RELU: found = {.relu = true}; return true;
    case CUBLASLT_EPILOGUE_RELU_BIAS: found = {.adds_bias = true, .relu = true}; return true;
    case CUBLASLT_EPILOGUE_RELU_AUX: found = {.relu = true, .keeps_mask = true}; return true;
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
      found = {.adds_bias = true, .relu = true, .keeps_mask = true};
      return true;
    case CUBLASLT_EPILOGUE_DRELU: found = {.applies_mask = true}; return true;
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
      found = {.applies_mask = true, .sums_rows = true};
      return true;
    case CUBLASLT_EPILOGUE_BGRADA: found = {.sums_a = true}; return true;
    case CUBLASLT_EPILOGUE_BGRADB: found = {.sums_b = true}; return true;
    default: return false;
  }
}

}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* handle, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  auto* description = new MatmulDescription;
  description->compute = compute;
  description->scale = scale;
  *handle = reinterpret_cast<cublasLtMatmulDesc_t>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  delete reinterpret_cast<MatmulDescription*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return set_attribute<MatmulDescription>("cublasLtMatmulDesc", handle, attribute, value, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t attribute, void* value,
                                              std::size_t bytes, std::size_t* written) {
  return get(find(*reinterpret_cast<MatmulDescription*>(handle), attribute), value, bytes, written);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* handle, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t ld) {
  auto* layout = new MatrixLayout;
  layout->type = static_cast<std::uint32_t>(type);
  layout->rows = rows;
  layout->columns = columns;
  layout->ld = ld;
  *handle = reinterpret_cast<cublasLtMatrixLayout_t>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  delete reinterpret_cast<MatrixLayout*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_ORDER && bytes == sizeof(std::int32_t) &&
      *static_cast<const std::int32_t*>(value) == CUBLASLT_ORDER_COL)
    return CUBLAS_STATUS_SUCCESS;
  return set_attribute<MatrixLayout>("cublasLtMatrixLayout", handle, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* handle) {
  *handle = reinterpret_cast<cublasLtMatmulPreference_t>(new MatmulPreference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  delete reinterpret_cast<MatmulPreference*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  // Alignments and the like only narrow the choice.
  if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
      attribute != CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    return CUBLAS_STATUS_SUCCESS;
  return set_attribute<MatmulPreference>("cublasLtMatmulPreference", handle, attribute, value,
                                         bytes);
}
}
// NOLINTEND(readability-identifier-naming)
