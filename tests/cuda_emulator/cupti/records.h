#pragma once

#include <cupti.h>

// The records that CUPTI writes of what is observed; with each version of CUDA more may stand
// behind what the one before had.
namespace ptbench::emulator {

using CallRecord = CUpti_ActivityAPI;
using CopyBetweenDevicesRecord = CUpti_ActivityMemcpyPtoP4;
using FillRecord = CUpti_ActivityMemset4;
#if CUPTI_API_VERSION >= 130000  // of CUDA 13.0
using KernelRecord = CUpti_ActivityKernel10;
using CopyRecord = CUpti_ActivityMemcpy6;
#else  // of CUDA 12.4
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
#endif

}  // namespace ptbench::emulator
