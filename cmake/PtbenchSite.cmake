# Versions of the interfaces between executable and engine modules over which C++ objects and
# exceptions go: digests of the compiler and of the headers of all objects that cross. Whoever
# changes one of them configures, and so builds, both sides anew.
# ptbench_interface_version(VARIABLE header…): a number above 0 that any `unsigned` holds.
function(ptbench_interface_version variable)
  set(digests "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${PTBENCH_SANITIZE}")
  foreach(header IN LISTS ARGN)
    file(SHA256 "${PROJECT_SOURCE_DIR}/${header}" digest)
    string(APPEND digests " ${digest}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${header}")
  endforeach()
  string(SHA256 digest "${digests}")
  string(SUBSTRING "${digest}" 0 7 digest)
  set(${variable} "0x1${digest}U" PARENT_SCOPE)
endfunction()

set(device_headers
  src/base/clock.h src/base/element_type.h src/base/error.h src/base/exit_code.h
  src/base/function_ref.h src/base/narrow_floats.h src/base/shape.h src/base/size.h
  src/device/core_latency.h src/device/device.h src/device/memory.h src/device/queue.h
  src/device/throttling.h src/device/topology.h)
# Of "site": devices with their backends.
ptbench_interface_version(PTBENCH_SITE_ABI
  kernels/arena_passes.h kernels/backend.h kernels/operator.h kernels/optimizer.h kernels/site.h
  kernels/site_interface.h kernels/spec.h kernels/tensor.h ${device_headers})
# Of "nccl": communicators over devices, which are those of the module of "site".
ptbench_interface_version(PTBENCH_NCCL_ABI
  src/base/phase_board.h src/comm/communicator.h src/comm/nccl_interface.h src/comm/out_of_place.h
  src/comm/shm/shared_layout.h src/comm/shm/shared_region.h src/device/cuda/cuda_queue.h src/device/cuda/handles.h
  src/device/work_observer.h ${device_headers})
# Of "communicator": communicators over the host's memory.
ptbench_interface_version(PTBENCH_ENGINE_ABI
  src/base/phase_board.h src/comm/communicator.h src/comm/library/engine_interface.h
  src/comm/library/engine_setup.h src/comm/library/ranks_of_hosts.h
  src/comm/shm/shared_layout.h src/comm/shm/shared_region.h src/device/work_observer.h ${device_headers})
