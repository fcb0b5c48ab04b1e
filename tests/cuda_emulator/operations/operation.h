#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// One PTX instruction on many values, against what it should give: PTX's manual in plain C++,
// written apart from what the emulated device computes with.

namespace ptbench::emulator::operations {

using Wide = __int128;
using S8 = std::int8_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;
using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// A register: as many low bits count as it has.
using Bits = unsigned long long;

struct Operands {
  Bits a, b, c;
};

/// What no reference tells.
inline constexpr Bits kAnything = 0xdeadbeefdeadbeefULL;

/// How results are compared: bit for bit, or as numbers of a format, whose NaNs are alike; `near`
/// is for functions that devices approximate.
enum class Result { bits, f32, f64, f16, bf16, f16_pair, bf16_pair, near_f32, near_f64, near_half };

using Values = const std::vector<Bits>& (*)();

struct Operation {
  const char* name;  ///< "add.sat.s32"
  /// Runs the instruction on the device for each row of operands.
  std::vector<Bits> (*run)(const std::vector<Operands>& rows);
  Bits (*expected)(const Operands& row);
  Result result;
  Values values;  ///< that every operand goes through
};

// Values at the edges of formats, with some between.
const std::vector<Bits>& integers();
const std::vector<Bits>& singles();
const std::vector<Bits>& doubles();
const std::vector<Bits>& halves();
const std::vector<Bits>& bfloats();
const std::vector<Bits>& half_pairs();
const std::vector<Bits>& bfloat_pairs();

template <class To, class From>
To reinterpreted(From from) {
  static_assert(sizeof(To) <= sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline float f32(Bits bits) { return reinterpreted<float>(bits); }
inline double f64(Bits bits) { return reinterpreted<double>(bits); }
inline Bits bits_of(float value) { return reinterpreted<std::uint32_t>(value); }
inline Bits bits_of(double value) { return reinterpreted<std::uint64_t>(value); }

template <class Instruction>
__global__ void run_rows(const Operands* rows, Bits* results, int count) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < count) results[row] = Instruction::run(rows[row].a, rows[row].b, rows[row].c);
}

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorName(error));
  std::exit(1);
}

template <class Instruction>
std::vector<Bits> run_on_device(const std::vector<Operands>& rows) {
  std::vector<Bits> results(rows.size());
  Operands* operands = nullptr;
  Bits* device = nullptr;
  check(cudaMalloc(&operands, rows.size() * sizeof(Operands)));
  check(cudaMalloc(&device, rows.size() * sizeof(Bits)));
  check(cudaMemcpy(operands, rows.data(), rows.size() * sizeof(Operands), cudaMemcpyHostToDevice));
  const int count = static_cast<int>(rows.size());
  run_rows<Instruction><<<(count + 255) / 256, 256>>>(operands, device, count);
  check(cudaMemcpy(results.data(), device, rows.size() * sizeof(Bits), cudaMemcpyDeviceToHost));
  check(cudaFree(operands));
  check(cudaFree(device));
  return results;
}

// One table a file.
std::vector<Operation>& integer_table();
std::vector<Operation>& bit_table();
std::vector<Operation>& single_table();
std::vector<Operation>& half_table();
std::vector<Operation>& compare_table();
std::vector<Operation>& convert_table();

struct Registrar {
  Registrar(std::vector<Operation>& table, const Operation& operation) {
    table.push_back(operation);
  }
};

// Registers of 16, 32 and 64 bits in inline assembly.
#define PTX_T16 unsigned short
#define PTX_T32 unsigned
#define PTX_T64 unsigned long long
#define PTX_K16 "h"
#define PTX_K32 "r"
#define PTX_K64 "l"
#define PTX_IN(W, V) PTX_K##W(static_cast<PTX_T##W>(V))

// What OPERATION runs: widths of the result and of each operand, and the text.
#define PTX_RUN1(D, A, TEXT)                           \
  PTX_T##D d;                                          \
  asm volatile(TEXT : "=" PTX_K##D(d) : PTX_IN(A, a)); \
  return d;
#define PTX_RUN2(D, A, B, TEXT)                                      \
  PTX_T##D d;                                                        \
  asm volatile(TEXT : "=" PTX_K##D(d) : PTX_IN(A, a), PTX_IN(B, b)); \
  return d;
#define PTX_RUN3(D, A, B, C, TEXT)                                                 \
  PTX_T##D d;                                                                      \
  asm volatile(TEXT : "=" PTX_K##D(d) : PTX_IN(A, a), PTX_IN(B, b), PTX_IN(C, c)); \
  return d;
// "add.s32" with as many operands as it has.
#define PTX_1(D, A, NAME) PTX_RUN1(D, A, NAME " %0, %1;")
#define PTX_2(D, A, B, NAME) PTX_RUN2(D, A, B, NAME " %0, %1, %2;")
#define PTX_3(D, A, B, C, NAME) PTX_RUN3(D, A, B, C, NAME " %0, %1, %2, %3;")

/// An instruction with its reference, an expression of the operands' bits a, b and c.
#define OPERATION(ID, NAME, RESULT, VALUES, RUN, EXPECTED)                       \
  struct ID {                                                                    \
    static __device__ Bits run([[maybe_unused]] Bits a, [[maybe_unused]] Bits b, \
                               [[maybe_unused]] Bits c) {                        \
      RUN                                                                        \
    }                                                                            \
    static Bits expected(const Operands& row) {                                  \
      [[maybe_unused]] const Bits a = row.a;                                     \
      [[maybe_unused]] const Bits b = row.b;                                     \
      [[maybe_unused]] const Bits c = row.c;                                     \
      return EXPECTED;                                                           \
    }                                                                            \
  };                                                                             \
  const Registrar registrar_##ID(                                                \
      OPERATION_TABLE(), {NAME, &run_on_device<ID>, &ID::expected, Result::RESULT, &VALUES});

/// The same of one that is written as it is called, with the widths of the result and of each
/// operand in brackets.
#define PTX(ID, NAME, RESULT, VALUES, WIDTHS, EXPECTED) \
  OPERATION(ID, NAME, RESULT, VALUES, PTX_NAMED(NAME, PTX_LIST WIDTHS), EXPECTED)
#define PTX_LIST(...) __VA_ARGS__
#define PTX_PICK(D, A, B, C, RUN, ...) RUN
#define PTX_NAMED(NAME, ...) PTX_PICK(__VA_ARGS__, PTX_3, PTX_2, PTX_1, none)(__VA_ARGS__, NAME)

}  // namespace ptbench::emulator::operations
