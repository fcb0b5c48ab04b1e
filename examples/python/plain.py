"""Fits a line to points in plain Python, as ptbench measures it: ptbench run --program 'python3 plain.py'."""

import argparse
import random

import ptbench


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=200, help="where ptbench does not say")
    arguments = parser.parse_args()

    generator = random.Random(0)
    slope = offset = 0.0
    for step in ptbench.steps(samples=arguments.batch, count=arguments.steps):
        with step.phase("data"):
            inputs = [generator.random() for _ in range(arguments.batch)]
        with step.phase("forward"):
            errors = [slope * x + offset - (3 * x + 1) for x in inputs]
            step.loss = sum(error * error for error in errors) / arguments.batch
        with step.phase("backward"):
            slope_gradient = sum(2 * error * x for error, x in zip(errors, inputs)) / arguments.batch
            offset_gradient = sum(2 * error for error in errors) / arguments.batch
        with step.phase("optimizer"):
            slope -= 0.1 * slope_gradient
            offset -= 0.1 * offset_gradient
    print(f"y = {slope:.3f} x + {offset:.3f}")


if __name__ == "__main__":
    main()
