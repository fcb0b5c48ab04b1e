#include "app/config/configuration.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "app/cli/argument_parser.h"
#include "app/config/memory_limit.h"
#include "app/config/run_options.h"
#include "app/config/run_record.h"
#include "app/session/rank_run.h"
#include "app/training/training_setup.h"
#include "kernels/cpu/cpu_backend.h"
#include "src/comm/solo.h"
#include "src/data/source.h"
#include "src/device/host_device.h"
#include "tests/support/built_modules.h"
#include "tests/support/deferred_device.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_directory.h"
#include "workloads/layout_digest.h"

namespace ptbench {
namespace {

using testing::mentions;
using Words = std::vector<std::string>;

Topology machine() {
  Topology topology{.cpu_model = "Some CPU", .cores = {}};
  for (int core = 0; core < 4; ++core) topology.cores.push_back({.cpu = core});
  return topology;
}

RunConfig configured(const Words& words) {
  const OptionTable<RunOptions> table = run_option_table();
  return configure_run(table.configure(parse_arguments(table.infos(), words).assignments),
                       machine());
}

std::string refused_run(const Words& words) {
  return testing::refusal_of([&] { return configured(words); });
}

/// What is said of imbalance; empty: nothing.
std::string marked(const RunConfig& config) {
  for (const WarningRecord& warning : begin_record(config, machine()).warnings)
    if (warning.code == "imbalanced-on-purpose") return warning.message;
  return {};
}

}  // namespace

TEST_CASE("unequal shares add up to the global batch", "[app]") {
  const RunConfig config =
      configured({"-s", "ddp", "-n", "2", "--shares", "96+32", "--accumulate", "3"});
  CHECK(config.id == "mlp/ddp/n2/b96/fp32/accumulate=3/shares=96,32");
  CHECK(config.batch_size() == 96);
  CHECK(config.batch.global_batch() == 384);
  CHECK(config.batch.of_replica(0).micro_batch == 96);
  CHECK(config.batch.of_replica(1).micro_batch == 32);
  CHECK(marked(config) == "the ranks' micro-batches are unequal (--shares 96,32)");

  const TrainingShape shape = shape_of(config, 1);
  CHECK(shape.batch.micro_batch == 32);
  CHECK(shape.batch.replica == 1);
  CHECK(shape.batch.replicas == 2);
  CHECK(shape.batch.global_batch() == 384);
  CHECK(shape.lowering().batch == 32);
  CHECK(shape.lowering().global_batch == 384);
}

TEST_CASE("as many threads gather for a device with memory of its own as its process has cores",
          "[app]") {
  testing::DeferredWorld world;
  const testing::DeferredDevice apart(world, {.topology = discover_topology()});
  HostDevice shared;
  const RunConfig ranks = configured({"-s", "ddp", "-n", "2"});  // of 4 cores
  CHECK(gather_threads(ranks, apart) == 2);
  CHECK(gather_threads(ranks, shared) == 1);
  CHECK(gather_threads(configured({"-s", "dp", "-n", "4"}), apart) == 4);
  CHECK(gather_threads(configured({"--threads", "3"}), apart) == 3);
  CHECK(gather_threads(configured({"--threads", "20"}), apart) == 8);
}

TEST_CASE("data of a CPU stay f32, whatever the precision", "[app]") {
  TrainingShape shape = shape_of(configured({"-w", "linear"}), 0);
  CHECK_FALSE(shape.narrow_data);
  shape.type = ElementType::bf16;
  CHECK(shape.lowering().data_type() == ElementType::f32);
  shape.narrow_data = true;
  CHECK(shape.lowering().data_type() == ElementType::bf16);
}

TEST_CASE("synthetic data that hold no whole step are refused", "[app]") {
  CHECK(refused_run({"-s", "ddp", "-n", "4", "-b", "32", "--samples", "64"}) ==
        "--samples 64 does not fill one global batch (128 samples of 4 ranks)\n"
        "use more --samples, or a smaller --batch-size");
  CHECK(refused_run({"--accumulate", "2", "--global-batch", "8", "--samples", "7"}) ==
        "--samples 7 does not fill one global batch (4 samples, 2 times)\n"
        "use more --samples, or a smaller --global-batch");
  CHECK(mentions(refused_run({"-s", "ddp", "-n", "2", "--shares", "9+3", "--samples", "11"}),
                 "or a smaller --shares"));
  CHECK(configured({"-s", "ddp", "-n", "4", "-b", "32", "--samples", "128"}).batch.global_batch() ==
        128);
}

TEST_CASE("ranks bring memory for a model as wide as its data", "[app]") {
  const testing::TemporaryDirectory data;
  const std::string header =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 3, 224, 224), }";
  (void)data.write("train_x.npy", std::string("\x93NUMPY\1\0", 8) +
                                      static_cast<char>(header.size()) + '\0' + header);
  const RunConfig config =
      configured({"-w", "mlp", "-s", "ddp", "-n", "2", "--data", data.path().string()});
  const Graph graph = config.workload.build({3, 224, 224});
  const Bytes training = 4 * static_cast<Bytes>(graph.parameter_count()) * sizeof(float);
  CHECK(bytes_per_rank(config) > 2 * training);
  CHECK(bytes_per_rank(configured({"-w", "mlp", "-s", "ddp", "-n", "2"})) < training);
}

TEST_CASE("another communicator than the usual one is part of the id", "[app]") {
  const auto id_with = [](const std::string& name) {
    return configured({"-w", "linear", "-s", "ddp", "-n", "2", "--communicator", name}).id;
  };
  CHECK(id_with("shm") == id_with("auto"));
  if (testing::is_built("gloo")) CHECK(mentions(id_with("gloo"), "/communicator=gloo"));
}

TEST_CASE("synthetic data fill the global batch of large shares", "[app]") {
  const RunConfig config =
      configured({"-w", "linear", "-s", "ddp", "-n", "2", "--shares", "2000+9"});
  CHECK(config.synthetic_samples == 2009);
}

TEST_CASE("equal shares are no other configuration than their batch size", "[app]") {
  const RunConfig shares = configured({"-s", "ddp", "-n", "2", "--shares", "64+64"});
  const RunConfig batch = configured({"-s", "ddp", "-n", "2", "-b", "64"});
  CHECK(shares.id == batch.id);
  CHECK(shares.batch == batch.batch);
  CHECK(shares.batch.of_replica(1).micro_batch == 64);
  CHECK(marked(shares).empty());
  CHECK(shape_of(shares, 1).batch.global_batch() == 128);
}

TEST_CASE("there are as many shares as ranks", "[app]") {
  CHECK(refused_run({"-s", "ddp", "-n", "2", "--shares", "9+3+1"}) ==
        "--shares 9+3+1: that is 3 micro-batches for 2 ranks\n"
        "use --nproc 3, or give each rank a share, joined by '+'");
  CHECK(refused_run({"-s", "ddp", "-n", "2", "--shares", "9"})
            .starts_with("--shares 9: that is 1 micro-batch for 2 ranks\n"));
  CHECK(refused_run({"--shares", "9+3"})
            .starts_with("--shares 9+3: that is 2 micro-batches for 1 rank\n"));
}

TEST_CASE("replicas of one process have equal shares", "[app]") {
  CHECK(mentions(refused_run({"-s", "dp", "-n", "2", "--shares", "9+3"}), "use --strategy ddp"));
  CHECK(configured({"-s", "dp", "-n", "2", "--shares", "9+9"}).batch.global_batch() == 18);
}

TEST_CASE("gradients pass where nothing of a run wants them all") {
  const auto pass = [](const Words& words) { return configured(words).lets_gradients_pass(0); };
  CHECK(pass({"-s", "serial"}));
  CHECK(pass({"-s", "serial", "--loss-scale", "none", "--slow-rank", "0:1"}));
  CHECK_FALSE(pass({"-s", "serial", "--accumulate", "2"}));
  CHECK_FALSE(pass({"-s", "grad-accum"}));
  CHECK_FALSE(pass({"-s", "serial", "--loss-scale", "dynamic"}));
  CHECK_FALSE(pass({"-s", "serial", "--slow-rank", "0:2"}));
  CHECK_FALSE(pass({"-s", "dp", "-n", "1"}));
  CHECK_FALSE(pass({"-s", "ddp", "-n", "1"}));
  CHECK_FALSE(pass({"-s", "ddp", "-n", "2"}));
}

TEST_CASE("a slow rank is one of the ranks, and marks the record", "[app]") {
  const RunConfig config = configured({"-s", "ddp", "-n", "2", "--slow-rank", "1:1.3"});
  CHECK(config.id == "mlp/ddp/n2/b128/fp32/slow-rank=1:1.3");
  CHECK(config.slowdown_of(0) == 1);
  CHECK(config.slowdown_of(1) == 1.3);
  CHECK(marked(config) == "one rank was made to compute slower (--slow-rank 1:1.3)");
  CHECK(configured({"--slow-rank", "0:2"}).slowdown_of(0) == 2);
  CHECK(refused_run({"-s", "ddp", "-n", "2", "--slow-rank", "2:1.5"}) ==
        "--slow-rank 2:1.5: there is no rank 2, because --nproc is 2\n"
        "name a rank from 0 to 1, or use --nproc 3");
}

TEST_CASE("a rank that is slowed down by nothing is no other configuration", "[app]") {
  const RunConfig config = configured({"-s", "ddp", "-n", "2", "--slow-rank", "1:1"});
  CHECK(config.id == configured({"-s", "ddp", "-n", "2"}).id);
  CHECK(marked(config).empty());
}

TEST_CASE("both imbalances are said in one warning", "[app]") {
  const RunConfig config =
      configured({"-s", "ddp", "-n", "2", "--shares", "9+3", "--slow-rank", "0:2"});
  CHECK(config.id.ends_with("/shares=9,3/slow-rank=0:2"));
  CHECK(marked(config) ==
        "the ranks' micro-batches are unequal (--shares 9,3), and one rank was made to compute "
        "slower (--slow-rank 0:2)");
}

TEST_CASE("operators are chosen for every size of a share, the largest first", "[app]") {
  const auto sizes_of = [](const Words& words) {
    std::vector<Size> sizes;
    for (const TrainingShape& shape : shapes_of_ranks(shape_of(configured(words), 0)))
      sizes.push_back(shape.batch.micro_batch);
    return sizes;
  };
  CHECK(sizes_of({"-s", "ddp", "-n", "4", "--shares", "8+32+8+16"}) ==
        std::vector<Size>{32, 16, 8});
  CHECK(sizes_of({"-s", "ddp", "-n", "4", "-b", "8"}) == std::vector<Size>{8});
}

TEST_CASE("operators of unequal shares keep their parameters alike", "[app]") {
  const RunConfig config = configured({"-w", "linear", "-s", "ddp", "-n", "2", "--shares", "8+32"});
  const Graph graph = config.workload.build(config.workload.input_shape);
  const DataSource data = synthetic_data({.sample_shape = config.workload.input_shape,
                                          .classes = config.workload.classes,
                                          .samples = config.synthetic_samples,
                                          .seed = 0});
  const SiteChoice host{.topology = discover_topology()};
  const Site site = open_site(host);
  const KernelBackend& backend = *site.backend;
  SoloCommunicator alone(site.device->memory());
  ControlChannel alone_control(std::make_unique<SoloCommunicator>(site.device->memory()));
  const SteadyClock clock;
  const TrainingContext context{.config = config,
                                .graph = graph,
                                .data = data.train,
                                .site = site,
                                .communicator = alone,
                                .control = alone_control,
                                .alone = alone,
                                .alone_control = alone_control,
                                .clock = clock,
                                .host = host};
  const TrainingShape shape = shape_of(config, 0);
  const std::vector<OperatorSpec> large = operators_of(graph, shape_of(config, 1));
  const std::vector<OperatorSpec> small = operators_of(graph, shape);
  const std::vector<std::string> names = backend.candidates(large.front());
  const auto layout = [&](const OperatorSpec& spec, const Choices& choices) {
    return layout_digest(spec, *backend.plan(spec, choices.at(key_of(spec))));
  };
  for (const std::string& of_large : names)
    for (const std::string& of_small : backend.candidates(small.front())) {
      CAPTURE(of_large, of_small);
      Choices choices;
      for (const auto* specs : {&large, &small})
        for (const OperatorSpec& spec : *specs)
          choices[key_of(spec)] = backend.candidates(spec).front();
      choices[key_of(large.front())] = of_large;
      choices[key_of(small.front())] = of_small;
      const bool agree = layout(large.front(), choices) == layout(small.front(), choices);
      const Choices changed = with_one_layout(context, shape, choices);
      CHECK(layout(large.front(), changed) == layout(small.front(), changed));
      CHECK(changed.at(key_of(large.front())) == of_large);
      if (agree) CHECK(changed == choices);
      choices.erase(key_of(small.front()));
      CHECK(with_one_layout(context, shape, choices).contains(key_of(small.front())));
    }
}

TEST_CASE("more ranks than cores take are asked for", "[app]") {
  CHECK(configured({"-s", "ddp", "-n", "16"}).options.nproc == 16);
  for (const char* strategy : {"ddp", "dp"}) {
    const std::string refused = refused_run({"-s", strategy, "-n", "17"});
    CHECK(mentions(refused, "--nproc 17: 4 cores take 16 ranks, 4 a core"));
    CHECK(mentions(refused, "use --nproc 16 or less, or allow it with --oversubscribe"));
    CHECK(configured({"-s", strategy, "-n", "17", "--oversubscribe"}).options.nproc == 17);
  }
}

TEST_CASE("ranks that do not fit into memory are refused with the number that does", "[app]") {
  const RunConfig config =
      configured({"-w", "resnet50", "-s", "ddp", "-n", "4096", "--oversubscribe"});
  const std::string refused = testing::refusal_of([&] {
    require_memory(config, config.workload.build(config.workload.input_shape));
    return config;
  });
  CHECK(mentions(refused, "--nproc 4096: batch 8 of 'resnet50'"));
  CHECK(mentions(refused, "use --nproc "));
  CHECK_FALSE(mentions(refused, "--samples"));
}

TEST_CASE("where not even one sample fits, what takes most is named", "[app]") {
  const auto refusal_of_model = [](const std::string& layers, const std::string& samples) {
    const testing::TemporaryDirectory folder;
    const std::string file =
        folder.write("m.json", R"({"schema": "ptbench.model/1", "name": "m", "input": [1, 8, 8],)"
                               R"("classes": 10, "layers": [)" +
                                   layers + "]}");
    const RunConfig config = configured({"-w", file, "--samples", samples});
    return testing::refusal_of([&] {
      require_memory(config, config.workload.build(config.workload.input_shape));
      return config;
    });
  };
  const std::string flat = R"({"name": "f", "type": "flatten"},)";
  const std::string last = R"({"name": "l", "type": "linear", "outputs": 10})";
  const std::string padded = refusal_of_model(
      R"({"name": "c", "type": "conv2d", "outputs": 4096, "kernel": 3, "padding": 2000},)"
      R"({"name": "p", "type": "average_pool", "kernel": 4000},)" +
          flat + last,
      "64");
  CHECK(mentions(padded, "the activations of one sample take "));
  CHECK_FALSE(mentions(padded, "--samples"));
  const std::string wide =
      refusal_of_model(flat +
                           R"({"name": "w", "type": "linear", "outputs": 1000000},)"
                           R"({"name": "v", "type": "linear", "outputs": 1000000},)" +
                           last,
                       "64");
  CHECK(mentions(wide, "of that are the parameters"));
  CHECK_FALSE(mentions(wide, "--samples"));
  CHECK(mentions(refusal_of_model(flat + last, "1000000000000"), "use fewer --samples"));
}

}  // namespace ptbench
