#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "tests/cuda_emulator/operations/operation.h"

namespace ptbench::emulator::operations {
namespace {

double half_value(Bits bits) {
  return static_cast<double>(
      __half2float(static_cast<__half>(__half_raw{static_cast<unsigned short>(bits)})));
}
double bfloat_value(Bits bits) { return static_cast<double>(f32((bits & 0xffffU) << 16U)); }

bool alike(double got, double wanted) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  return got == wanted && std::signbit(got) == std::signbit(wanted);
}
bool is_near(double got, double wanted, double relative) {
  if (alike(got, wanted)) return true;
  if (std::isinf(wanted) || std::isinf(got)) return false;
  return std::fabs(got - wanted) <= relative * std::fabs(wanted) + 1e-37;
}

bool agrees(Result result, Bits got, Bits wanted) {
  if (wanted == kAnything) return true;
  switch (result) {
    case Result::bits: return got == wanted;
    case Result::f32: return alike(f32(got), f32(wanted));
    case Result::f64: return alike(f64(got), f64(wanted));
    case Result::f16: return alike(half_value(got), half_value(wanted));
    case Result::bf16: return alike(bfloat_value(got), bfloat_value(wanted));
    case Result::f16_pair:
      return alike(half_value(got), half_value(wanted)) &&
             alike(half_value(got >> 16U), half_value(wanted >> 16U));
    case Result::bf16_pair:
      return alike(bfloat_value(got), bfloat_value(wanted)) &&
             alike(bfloat_value(got >> 16U), bfloat_value(wanted >> 16U));
    case Result::near_f32: return is_near(f32(got), f32(wanted), 4e-7);
    case Result::near_f64: return is_near(f64(got), f64(wanted), 1e-14);
    case Result::near_half: return is_near(half_value(got), half_value(wanted), 1e-3);
  }
  return false;
}

std::vector<Operands> rows_of(const Operation& operation) {
  const std::vector<Bits>& values = operation.values();
  std::vector<Operands> rows;
  for (const Bits a : values)
    for (const Bits b : values)
      for (const Bits c : values) rows.push_back({a, b, c});
  return rows;
}

/// Says the first row that is wrong.
bool is_right(const Operation& operation) {
  const std::vector<Operands> rows = rows_of(operation);
  const std::vector<Bits> results = operation.run(rows);
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const Bits wanted = operation.expected(rows[index]);
    if (agrees(operation.result, results[index], wanted)) continue;
    std::printf("%s of 0x%llx, 0x%llx, 0x%llx is 0x%llx, not 0x%llx\n", operation.name,
                rows[index].a, rows[index].b, rows[index].c, results[index], wanted);
    return false;
  }
  return true;
}

}  // namespace
}  // namespace ptbench::emulator::operations

/// ptbench_emulator_operations TABLE: checks that table's instructions.
int main(int argc, char** argv) {
  using namespace ptbench::emulator::operations;
  struct Named {
    const char* name;
    std::vector<Operation>& (*table)();
  };
  const Named tables[] = {{"integer", integer_table}, {"bit", bit_table},
                          {"single", single_table},   {"half", half_table},
                          {"compare", compare_table}, {"convert", convert_table}};
  for (const Named& named : tables) {
    if (argc < 2) std::puts(named.name);
    if (argc < 2 || std::strcmp(named.name, argv[1]) != 0) continue;
    int wrong = 0;
    for (const Operation& operation : named.table()) wrong += is_right(operation) ? 0 : 1;
    std::printf("%zu instructions, %d wrong\n", named.table().size(), wrong);
    return wrong == 0 && !named.table().empty() ? 0 : 1;
  }
  return argc < 2 ? 0 : 2;
}
