// What MPI_Allreduce takes by itself, measured as ptbench comm measures: before each call, outside
// the time, every rank writes its values anew and meets the others; a call takes as long as on the
// slowest rank, and the median over calls counts.
//
//   mpirun -n 2 build/release/bench/ptbench_bench_all_reduce BYTES CALLS apart|in-place
//
// Prints seconds. Errors are MPI's own, which end the program.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

double call(std::vector<float>& values, std::vector<float>& sums, bool in_place, int rank) {
  std::ranges::fill(values, static_cast<float>(rank));
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_Allreduce(in_place ? MPI_IN_PLACE : values.data(), in_place ? values.data() : sums.data(),
                static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const double own = MPI_Wtime() - begin;
  double slowest = 0;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: ptbench_bench_all_reduce BYTES CALLS apart|in-place\n", stderr);
    return 1;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool in_place = std::string_view(argv[3]) == "in-place";
  std::vector<float> values(std::strtoull(argv[1], nullptr, 10) / sizeof(float));
  std::vector<float> sums(values.size());
  constexpr int kWarmUp = 5;
  for (int i = 0; i < kWarmUp; ++i) (void)call(values, sums, in_place, rank);
  std::vector<double> seconds;
  for (long i = std::strtol(argv[2], nullptr, 10); i > 0; --i)
    seconds.push_back(call(values, sums, in_place, rank));
  std::ranges::sort(seconds);
  if (rank == 0 && !seconds.empty()) fmt::print("{:.9f}\n", seconds[seconds.size() / 2]);
  MPI_Finalize();
  return 0;
}
