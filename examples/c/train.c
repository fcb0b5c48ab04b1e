/* Fits a line to points, as a program in C that ptbench measures:
 *
 *   cc -O2 -I sdk/include examples/c/train.c -o train -lm
 *   ptbench run --program ./train
 */
#include <ptbench/steps.h>

#define SAMPLES 65536

int main(void) {
  static float inputs[SAMPLES], targets[SAMPLES];
  float slope = 0, offset = 0;
  const ptbench_hello hello = {SAMPLES, 0, "cpu", "fp32", NULL, NULL};
  ptbench_steps* steps;
  int i, failed;

  for (i = 0; i < SAMPLES; ++i) {
    inputs[i] = (float)i / SAMPLES;
    targets[i] = 3 * inputs[i] + 1;
  }

  steps = ptbench_steps_open(hello);
  if (steps == NULL) return 1;
  while (ptbench_steps_next(steps)) {
    float loss = 0, slope_gradient = 0, offset_gradient = 0;
    ptbench_steps_phase(steps, "backward");
    for (i = 0; i < SAMPLES; ++i) {
      const float error = slope * inputs[i] + offset - targets[i];
      loss += error * error;
      slope_gradient += 2 * error * inputs[i];
      offset_gradient += 2 * error;
    }
    ptbench_steps_phase(steps, "optimizer");
    slope -= 0.1F * slope_gradient / SAMPLES;
    offset -= 0.1F * offset_gradient / SAMPLES;
    ptbench_steps_loss(steps, loss / SAMPLES);
    /* On its own, without ptbench around it, the program makes 1000 steps. */
    if (getenv("PTBENCH_STEPS") == NULL && ptbench_steps_number(steps) == 1000) break;
  }
  failed = ptbench_steps_error(steps) != NULL;
  ptbench_steps_close(steps);
  printf("y = %.3f x + %.3f\n", (double)slope, (double)offset);
  return failed;
}
