# PTBENCH_SITE_ABI, the version of the interface "site" between executable and engine modules: a
# digest of the compiler and of the headers of all objects that cross it. Whoever changes one of them
# configures, and so builds, both sides anew.
set(PTBENCH_SITE_HEADERS
  kernels/arena_passes.h kernels/backend.h kernels/operator.h kernels/optimizer.h kernels/site.h
  kernels/site_interface.h kernels/spec.h kernels/tensor.h
  src/base/clock.h src/base/element_type.h src/base/error.h src/base/exit_code.h
  src/base/function_ref.h src/base/shape.h src/base/size.h
  src/device/core_latency.h src/device/device.h src/device/memory.h src/device/queue.h
  src/device/throttling.h src/device/topology.h)
set(digests "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${PTBENCH_SANITIZE}")
foreach(header IN LISTS PTBENCH_SITE_HEADERS)
  file(SHA256 "${PROJECT_SOURCE_DIR}/${header}" digest)
  string(APPEND digests " ${digest}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${header}")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING "${digest}" 0 7 digest)  # a number above 0 that any `unsigned` holds
set(PTBENCH_SITE_ABI "0x1${digest}U")
