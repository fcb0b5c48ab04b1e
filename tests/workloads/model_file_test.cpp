#include "workloads/model_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "tests/support/temporary_directory.h"
#include "workloads/layers.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;
using Catch::Contains;
using nlohmann::ordered_json;

/// A whole model file around a text for each part.
std::string file_of(const std::string& layers, const std::string& input = "[3, 8, 8]",
                    const std::string& more = "") {
  return R"({"schema": "ptbench.model/1", "name": "net", "input": )" + input +
         R"(, "classes": 10, )" + more + R"("layers": )" + layers + "}";
}

/// A convolution `a`, then `layers`, then what gives the logits.
std::string between(const std::string& layers) {
  return file_of(R"([{"name": "a", "type": "conv2d", "outputs": 4, "kernel": 3}, )" + layers +
                 R"(, {"name": "y", "type": "flatten"},
                     {"name": "z", "type": "linear", "outputs": 10}])");
}

std::string with_key(const std::string& key) {
  return file_of(R"([{"name": "fc", "type": "linear", "outputs": 10}])", "[4]", key + ", ");
}

/// Message of the usage error that reading `text` ends with, in one line.
std::string complaint(const std::string& text) {
  try {
    (void)parse_model(text, "broken.json");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_THAT(error.what(), Contains("model file 'broken.json': "));
    CHECK_FALSE(error.remedy().empty());
    CHECK(std::string(error.what()).size() < 1000);
    return error.what();
  }
  return "no complaint";
}

Graph graph_of(const Workload& workload) { return workload.build(workload.input_shape); }

bool same_layer(const Layer& a, const Layer& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<LinearLayer>(&a))
    return x->outputs == std::get<LinearLayer>(b).outputs;
  if (const auto* x = std::get_if<Conv2dLayer>(&a)) {
    const auto& y = std::get<Conv2dLayer>(b);
    return x->outputs == y.outputs && x->window == y.window && x->bias == y.bias &&
           x->init == y.init;
  }
  if (const auto* x = std::get_if<PoolLayer>(&a)) {
    const auto& y = std::get<PoolLayer>(b);
    return x->kind == y.kind && x->window == y.window;
  }
  if (const auto* x = std::get_if<GlobalPoolLayer>(&a))
    return x->kind == std::get<GlobalPoolLayer>(b).kind;
  return true;
}

void check_same_graph(const Graph& a, const Graph& b) {
  CHECK(a.input_shape == b.input_shape);
  CHECK(a.classes == b.classes);
  REQUIRE(a.nodes.size() == b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    CAPTURE(a.nodes[i].name);
    CHECK(a.nodes[i].name == b.nodes[i].name);
    CHECK(a.nodes[i].inputs == b.nodes[i].inputs);
    CHECK(same_layer(a.nodes[i].layer, b.nodes[i].layer));
  }
}

void check_same_workload(const Workload& a, const Workload& b) {
  CHECK(a.name == b.name);
  CHECK(a.summary == b.summary);
  CHECK(a.input_shape == b.input_shape);
  CHECK(a.takes_any_width == b.takes_any_width);
  CHECK(a.classes == b.classes);
  CHECK(a.batch == b.batch);
  CHECK(a.synthetic_samples == b.synthetic_samples);
  CHECK(a.optimizer == b.optimizer);
  check_same_graph(graph_of(a), graph_of(b));
}

std::string path_of(const char* name) { return std::string(PTBENCH_SOURCE_DIR) + "/" + name; }

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("the documented file of resnet18 gives the model of the catalog", "[workloads]") {
  const Workload read = find_workload(path_of("models/resnet18.json"));
  CHECK(read.model_file == path_of("models/resnet18.json"));
  CHECK(find_workload("resnet18").model_file.empty());
  CHECK(read.name == "resnet18-from-file");
  Workload renamed = find_workload("resnet18");
  renamed.name = read.name;
  check_same_workload(read, renamed);
}

TEST_CASE("a model file may not take a name of the catalog", "[workloads]") {
  const testing::TemporaryDirectory folder;
  for (const Workload& workload : workload_catalog()) {
    const std::string path = (folder.path() / "model.json").string();
    std::ofstream(path) << model_json(workload);
    try {
      (void)find_workload(path);
      FAIL("the model file was read");
    } catch (const Error& error) {
      CHECK(error.what() == "the model in '" + path + "' is called '" + workload.name +
                                "', which is the name of a built-in workload");
      CHECK(error.code() == ExitCode::usage);
      CHECK(error.remedy() == "give its key \"name\" another value");
    }
  }
}

TEST_CASE("every workload of the catalog can be written and read again", "[workloads]") {
  for (const Workload& workload : workload_catalog())
    check_same_workload(parse_model(model_json(workload), workload.name), workload);
}

TEST_CASE("every layer type can be written and read again", "[workloads]") {
  const std::string path = path_of("models/cnn.json");
  const Workload first = read_model(path);
  check_same_workload(parse_model(model_json(first), path), first);

  const Workload all = parse_model(
      file_of(R"([
    {"name": "conv", "type": "conv2d", "outputs": 5, "kernel": [3, 2], "stride": [1, 2],
     "padding": [0, 1], "bias": true, "init": "uniform"},
    {"name": "max", "type": "max_pool", "kernel": [2, 3], "stride": 1, "padding": [1, 0]},
    {"name": "average", "type": "average_pool", "kernel": 2, "padding": 1},
    {"name": "gelu", "type": "gelu", "inputs": ["average"]},
    {"name": "norm", "type": "batch_norm", "inputs": ["average"]},
    {"name": "sum", "type": "add", "inputs": ["gelu", "norm"]},
    {"name": "relu", "type": "relu"},
    {"name": "global", "type": "global_max_pool"},
    {"name": "row", "type": "flatten"},
    {"name": "fc", "type": "linear", "outputs": 10}])",
              "[3, 8, 8]",
              R"("optimizer": {"kind": "adam", "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-6,
                 "weight_decay": 0.1}, "batch": 3, "samples": 12, "summary": "all \"of\" them", )"),
      "all");
  check_same_workload(parse_model(model_json(all), "all"), all);
  CHECK(all.optimizer.beta1 == 0.8);
  CHECK(all.optimizer.lr == 1e-3);
  const Graph graph = graph_of(all);
  const auto& conv = std::get<Conv2dLayer>(graph.nodes[0].layer);
  CHECK(conv.window == Window{.kernel_height = 3,
                              .kernel_width = 2,
                              .stride_height = 1,
                              .stride_width = 2,
                              .padding_height = 0,
                              .padding_width = 1});
  // A pool's stride is its kernel.
  CHECK(std::get<PoolLayer>(graph.nodes[2].layer).window.stride_height == 2);
  CHECK(std::get<PoolLayer>(graph.nodes[2].layer).kind == PoolKind::average);
}

TEST_CASE("what is left out has PyTorch's default", "[workloads]") {
  const Workload workload =
      parse_model(between(R"({"name": "b", "type": "batch_norm"})"), "defaults");
  CHECK(workload.batch == 64);
  CHECK(workload.synthetic_samples == 1024);
  CHECK(workload.optimizer == OptimizerSpec::defaults_of(OptimizerKind::sgd));
  const Graph graph = graph_of(workload);
  const auto& conv = std::get<Conv2dLayer>(graph.nodes[0].layer);
  CHECK(conv.bias);
  CHECK(conv.init == ConvInit::uniform);
  CHECK(conv.window == Window{.kernel_height = 3, .kernel_width = 3});
  CHECK(graph.nodes[0].inputs == std::vector<Size>{-1});
  CHECK(graph.nodes[3].inputs == std::vector<Size>{2});
}

TEST_CASE("layers may stand in any order", "[workloads]") {
  const Graph graph = graph_of(
      parse_model(file_of(R"([{"name": "fc", "type": "linear", "outputs": 10, "inputs": ["sum"]},
                  {"name": "late", "type": "relu", "inputs": ["input"]},
                  {"name": "sum", "type": "add", "inputs": ["late", "early"]},
                  {"name": "early", "type": "gelu", "inputs": ["input"]}])",
                          "[6]"),
                  "any order"));
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name);
  CHECK(names == std::vector<std::string>{"late", "early", "sum", "fc"});
  CHECK(graph.nodes[2].inputs == std::vector<Size>{0, 1});
  CHECK(graph.nodes[3].inputs == std::vector<Size>{2});
}

TEST_CASE("a model of rows may take any width", "[workloads]") {
  const Workload workload = parse_model(with_key(R"("takes_any_width": true)"), "wide");
  CHECK(graph_of(workload).input_shape == Shape{4});
  CHECK(workload.build(Shape{1, 28, 28}).input_shape == Shape{784});
  const Workload narrow = parse_model(with_key(R"("takes_any_width": false)"), "narrow");
  CHECK_THROWS_WITH(narrow.build(Shape{1, 28, 28}),
                    Contains("'net' takes samples of 4, and the data's are 1x28x28"));
  CHECK_THAT(complaint(file_of("[]", "[3, 8, 8]", R"("takes_any_width": true, )")),
             Contains("takes_any_width"));
}

TEST_CASE("what is not JSON is refused with its line and column", "[workloads]") {
  CHECK_THAT(complaint(""), Contains("line 1, column 1: this is not JSON"));
  CHECK_THAT(complaint("{\n  \"schema\": \"ptbench.model/1\",\n  oops\n}"),
             Contains("line 3, column 3: this is not JSON: syntax error"));
  CHECK_THAT(complaint("{\"a\": 1,}"), Contains("line 1, column 9"));
  CHECK_THAT(complaint("{\"a\": \"\xff\"}"), Contains("not JSON"));
  CHECK_THAT(complaint("{\"a\": \"\x1b[2J\"}"), Contains("not JSON") && !Contains("\x1b"));
  CHECK_THAT(complaint("{} {}"), Contains("not JSON"));
  CHECK_THAT(complaint(std::string(100, '\0')), Contains("not JSON"));
  CHECK_THAT(complaint("{\"batch\": 1e999}"), Contains("number overflow"));
  CHECK_THAT(complaint("[1, 2]"), Contains("this is not an object"));
  CHECK_THAT(complaint("null"), Contains("this is not an object"));
}

TEST_CASE("the schema is checked before anything else", "[workloads]") {
  CHECK_THAT(complaint("{}"), Contains("the key 'schema' is missing"));
  CHECK_THAT(complaint(R"({"schema": 1})"), Contains("'schema' is 1"));
  CHECK_THAT(complaint(R"({"schema": "ptbench.model/2", "new": 1})"),
             Contains("its schema is 'ptbench.model/2'"));
}

TEST_CASE("bombs are refused early", "[workloads]") {
  CHECK_THAT(complaint(std::string(1'000'000, '[')), Contains("nested too deeply"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK_THAT(complaint(objects), Contains("nested too deeply"));
  std::string values = "[0";
  for (int i = 0; i < 600'000; ++i) values += ",0";
  CHECK_THAT(complaint(values + "]"), Contains("more than 500000 values"));
  std::string layers = "[{}";
  for (int i = 0; i < 10'000; ++i) layers += ",{}";
  CHECK_THAT(complaint(file_of(layers + "]")), Contains("it has 10001 layers"));
  // A suggestion for a word of a megabyte would take hours.
  const std::string word(1'000'000, 'x');
  CHECK_THAT(complaint(with_key("\"" + word + "\": 1")), Contains("unknown key 'xxx"));
  CHECK_THAT(complaint(between(R"({"name": "b", "type": "relu", "inputs": [")" + word + "\"]}")),
             Contains("which is not a layer"));
  CHECK_THAT(complaint(between(R"({"name": "b", "type": ")" + word + "\"}")),
             Contains("unknown type"));
}

TEST_CASE("ten thousand layers in reverse are read", "[workloads]") {
  std::string layers = R"([{"name": "fc", "type": "linear", "outputs": 10, "inputs": ["l9998"]})";
  for (int i = 9998; i >= 0; --i)
    layers += fmt::format(R"(, {{"name": "l{}", "type": "relu", "inputs": ["{}"]}})", i,
                          i == 0 ? std::string("input") : fmt::format("l{}", i - 1));
  CHECK(graph_of(parse_model(file_of(layers + "]", "[4]"), "long")).nodes.size() == 10'000);
}

TEST_CASE("wrong keys of the model are named", "[workloads]") {
  const auto [key, words] = GENERATE(table<std::string, std::string>({
      {R"("bach": 3)", "unknown key 'bach' (did you mean 'batch'?)"},
      {R"("classes": 3)", "an object holds the key 'classes' twice"},
      {R"("batch": 0)", "'batch' is 0"},
      {R"("batch": "64")", R"('batch' is "64")"},
      {R"("batch": 1.5)", "'batch' is 1.5"},
      {R"("batch": 64.0)", "'batch' is 64.0"},
      {R"("batch": 1e30)", "'batch' is 1e+30"},
      {R"("batch": -4)", "'batch' is -4"},
      {R"("batch": null)", "'batch' is null"},
      {R"("samples": 99999999999999)", "'samples' is 99999999999999"},
      {R"("samples": 18446744073709551615)", "'samples' is 18446744073709551615"},
      {R"("samples": 9999999999999999999999)", "'samples' is 1e+22"},
      {R"("takes_any_width": 1)", "'takes_any_width' is 1"},
      {R"("summary": 1)", "'summary' is 1"},
      {R"("optimizer": "sgd")", "'optimizer': this is not an object"},
      {R"("optimizer": {})", "'optimizer': the key 'kind' is missing"},
      {R"("optimizer": {"kind": "adma"})", "unknown kind 'adma' (did you mean 'adam'?)"},
      {R"("optimizer": {"kind": 3})", "'optimizer': 'kind' is 3"},
      {R"("optimizer": {"kind": "adam", "momentum": 0.9})", "unknown key 'momentum'"},
      {R"("optimizer": {"kind": "sgd", "beta1": 0.9})", "unknown key 'beta1'"},
      {R"("optimizer": {"kind": "sgd", "lr": -1})", "'lr' is -1"},
      {R"("optimizer": {"kind": "sgd", "lr": "1"})", R"('lr' is "1")"},
      {R"("optimizer": {"kind": "sgd", "lr": 1e300})", "'lr' is 1e+300"},
      {R"("optimizer": {"kind": "sgd", "momentum": 1.5})", "'momentum' is 1.5"},
      {R"("optimizer": {"kind": "adam", "beta2": 1})", "'beta2' is 1"},
  }));
  CHECK_THAT(complaint(with_key(key)), Contains(words));
}

TEST_CASE("missing and absurd parts of the model are named", "[workloads]") {
  const std::string layer = R"([{"name": "fc", "type": "linear", "outputs": 10}])";
  for (const char* key : {"name", "input", "classes", "layers"}) {
    auto model = ordered_json::parse(file_of(layer, "[4]"));
    model.erase(key);
    CHECK_THAT(complaint(model.dump()), Contains(fmt::format("the key '{}' is missing", key)));
  }
  auto model = ordered_json::parse(file_of(layer, "[4]"));
  for (const char* name : {"", "a\nb", "a\x7f", "a\xc2\x9b"}) {
    model["name"] = name;
    CHECK_THAT(complaint(model.dump()), Contains("the model has a"));
  }
  model["name"] = "a/b Ω";
  CHECK(complaint(model.dump()) == "no complaint");
  model["classes"] = 0;
  CHECK_THAT(complaint(model.dump()), Contains("'classes' is 0"));
  model["classes"] = 3'000'000'000;
  CHECK_THAT(complaint(model.dump()), Contains("'classes' is 3000000000"));

  const auto [input, words] = GENERATE(table<std::string, std::string>({
      {"4", "'input' is 4"},
      {"[]", "'input' has 0 dimensions"},
      {"[4, 4]", "'input' has 2 dimensions"},
      {"[1, 4, 4, 4]", "'input' has 4 dimensions"},
      {"[0]", "'input' is [0]"},
      {"[-1]", "'input' is [-1]"},
      {"[2.5]", "'input' is [2.5]"},
      {"[true]", "'input' is [true]"},
      {"[1099511627777]", "'input' is [1099511627777]"},
      {"[1099511627776, 2, 1]", "more than 2^40 values"},
  }));
  CHECK_THAT(complaint(file_of(layer, input)), Contains(words));
}

TEST_CASE("wrong lists of layers are named", "[workloads]") {
  CHECK_THAT(complaint(file_of("[]")), Contains("'layers' holds no layers"));
  CHECK_THAT(complaint(file_of("{}")), Contains("'layers' holds no layers"));
  CHECK_THAT(complaint(file_of("[7]")), Contains("layer 1: this is not an object"));
  CHECK_THAT(complaint(file_of(R"([{"type": "relu"}])")),
             Contains("layer 1: the key 'name' is missing"));
  CHECK_THAT(complaint(file_of(R"([{"name": 5, "type": "relu"}])")),
             Contains("layer 1: 'name' is 5"));
  CHECK_THAT(complaint(file_of(R"([{"name": "", "type": "relu"}])")),
             Contains("layer 1 has an empty name"));
  CHECK_THAT(complaint(file_of(R"([{"name": "a\u001b[2J", "type": "relu"}])")),
             Contains("layer 1 has a name with a control character") && !Contains("\x1b"));
  CHECK_THAT(complaint(file_of(R"([{"name": "a\u0000", "type": "relu"}])")),
             Contains("control character"));
  CHECK_THAT(complaint(file_of(R"([{"name": ")" + std::string(201, 'n') + R"(", "type": ""}])")),
             Contains("layer 1 has a name of 201 bytes"));
  CHECK_THAT(complaint(file_of(R"([{"name": "input", "type": "relu"}])")),
             Contains("layer 1: it is named 'input'"));
}

TEST_CASE("wrong keys of a layer are named", "[workloads]") {
  const auto [rest, words] = GENERATE(table<std::string, std::string>({
      {R"("outputs": 1)", "the key 'type' is missing"},
      {R"("type": "conv2")", "unknown type 'conv2' (did you mean 'conv2d'?)"},
      {R"("type": "bach_norm")", "(did you mean 'batch_norm'?)"},
      {R"("type": ["relu"])", R"('type' is ["relu"])"},
      {R"("type": "relu", "outputs": 3)", "unknown key 'outputs'"},
      {R"("type": "conv2d", "kernel": 3)", "the key 'outputs' is missing"},
      {R"("type": "conv2d", "outputs": 3)", "the key 'kernel' is missing"},
      {R"("type": "conv2d", "outputs": 3, "kernal": 3)", "(did you mean 'kernel'?)"},
      {R"("type": "conv2d", "outputs": 0, "kernel": 3)", "'outputs' is 0"},
      {R"("type": "conv2d", "outputs": 2.5, "kernel": 3)", "'outputs' is 2.5"},
      {R"("type": "conv2d", "outputs": 1e30, "kernel": 3)", "'outputs' is 1e+30"},
      {R"("type": "conv2d", "outputs": 3, "kernel": 0)", "'kernel' is 0"},
      {R"("type": "conv2d", "outputs": 3, "kernel": [3])", "'kernel' is [3]"},
      {R"("type": "conv2d", "outputs": 3, "kernel": [3, 3, 3])", "'kernel' is [3,3,3]"},
      {R"("type": "conv2d", "outputs": 3, "kernel": [3, -1])", "'kernel' is [3,-1]"},
      {R"("type": "conv2d", "outputs": 3, "kernel": "3")", R"('kernel' is "3")"},
      {R"("type": "conv2d", "outputs": 3, "kernel": 3, "stride": 0)", "'stride' is 0"},
      {R"("type": "conv2d", "outputs": 3, "kernel": 3, "padding": -1)", "'padding' is -1"},
      {R"("type": "conv2d", "outputs": 3, "kernel": 3, "bias": 0)", "'bias' is 0"},
      {R"("type": "conv2d", "outputs": 3, "kernel": 3, "init": "zero")", "unknown init 'zero'"},
      {R"("type": "conv2d", "outputs": 3, "kernel": 3, "init": 0)", "'init' is 0"},
      {R"("type": "max_pool")", "the key 'kernel' is missing"},
      {R"("type": "relu", "inputs": "a")", R"('inputs' is "a")"},
      {R"("type": "relu", "inputs": [])", "'inputs' names 0, and relu takes 1"},
      {R"("type": "relu", "inputs": [1])", "'inputs' is [1]"},
      {R"("type": "relu", "inputs": ["a", "a"])", "'inputs' names 2, and relu takes 1"},
      {R"("type": "add")", "add takes 2 inputs, and none are named"},
      {R"("type": "add", "inputs": ["a"])", "'inputs' names 1, and add takes 2"},
      {R"("type": "relu", "name": "b")", "an object holds the key 'name' twice"},
  }));
  const std::string message = complaint(between(R"({"name": "b", )" + rest + "}"));
  CHECK_THAT(message, Contains(words));
  if (message.find("twice") == std::string::npos) CHECK_THAT(message, Contains("layer 'b': "));
}

TEST_CASE("wrong connections are named", "[workloads]") {
  CHECK_THAT(complaint(between(R"({"name": "a", "type": "relu"})")),
             Contains("two layers are named 'a'"));
  CHECK_THAT(
      complaint(between(R"({"name": "relu", "type": "relu"},
                                  {"name": "c", "type": "relu", "inputs": ["rely"]})")),
      Contains(
          "layer 'c' takes its input from 'rely', which is not a layer (did you mean 'relu'?)"));
  CHECK_THAT(complaint(between(R"({"name": "b", "type": "relu", "inputs": ["b"]})")),
             Contains("in a cycle: 'b'"));
  CHECK_THAT(complaint(between(R"({"name": "b", "type": "add", "inputs": ["a", "d"]},
                                  {"name": "c", "type": "relu"}, {"name": "d", "type": "gelu"})")),
             Contains("in a cycle: 'c', 'd', 'b'") || Contains("in a cycle: 'b', 'c', 'd'") ||
                 Contains("in a cycle: 'd', 'b', 'c'"));
  // A layer behind a cycle is not on it.
  CHECK_THAT(complaint(file_of(R"([{"name": "z", "type": "relu", "inputs": ["b"]},
                                   {"name": "a", "type": "relu", "inputs": ["b"]},
                                   {"name": "b", "type": "relu", "inputs": ["a"]}])")),
             Contains("cycle") && !Contains("'z'"));
  CHECK_THAT(complaint(between(R"({"name": "b", "type": "relu", "inputs": ["a"]},
                                  {"name": "c", "type": "relu", "inputs": ["a"]})")),
             Contains("no layer uses the output of 2 layers: 'b', 'z'"));
}

TEST_CASE("shapes that do not fit are named with the file and the layer", "[workloads]") {
  const auto [rest, words] = GENERATE(table<std::string, std::string>({
      {R"("type": "linear", "outputs": 3)",
       "layer 'b' is linear and needs a row, and gets an image of 4x6x6"},
      {R"("type": "add", "inputs": ["a", "input"])",
       "layer 'b' adds an image of 3x8x8 to an image of 4x6x6"},
      {R"("type": "conv2d", "outputs": 3, "kernel": 7)",
       "layer 'b' has a kernel of 7x7, and its input with padding is 6x6"},
      {R"("type": "max_pool", "kernel": 3, "padding": 2)",
       "layer 'b' pools over 3x3 with a padding of 2x2"},
      {R"("type": "conv2d", "outputs": 1099511627776, "kernel": 1)", "more than 2^40"},
      {R"("type": "conv2d", "outputs": 1, "kernel": 1, "padding": 1099511627776)",
       "more than 2^40"},
      {R"("type": "flatten")", "layer 'y' needs an image, and gets a row of 144"},
  }));
  CHECK_THAT(complaint(between(R"({"name": "b", )" + rest + "}")), Contains(words));
  CHECK_THAT(complaint(file_of(R"([{"name": "fc", "type": "linear", "outputs": 9}])", "[4]")),
             Contains("layer 'fc' is the last one and gives a row of 9"));
}

TEST_CASE("model files that cannot be read are refused", "[workloads]") {
  const TemporaryDirectory folder;
  CHECK_THROWS_WITH(find_workload("absent.json"),
                    Contains("'absent.json' cannot be read: No such file"));
  std::filesystem::create_directory(folder.path() / "d.json");
  CHECK_THROWS_WITH(read_model((folder.path() / "d.json").string()),
                    Contains("cannot be read: it is a directory"));
  const std::string large = folder.write("large.json", "{");
  std::filesystem::resize_file(large, (16U << 20U) + 1);
  CHECK_THROWS_WITH(read_model(large), Contains("more than the 16.0 MiB that are read"));
  std::filesystem::resize_file(large, 16U << 20U);
  CHECK_THROWS_WITH(read_model(large), Contains("this is not JSON"));
  CHECK_THROWS_WITH(read_model(folder.write("empty.json", "")), Contains("this is not JSON"));
}

TEST_CASE("a file that is cut off or changed anywhere ends in one clear error", "[workloads]") {
  const std::string text = contents_of(path_of("models/cnn.json"));
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    CHECK_THROWS_AS(parse_model(text.substr(0, length), "cut"), Error);
  const std::string letters = "0-9.e{}[]\",:x\\ \xff";
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = letters[i % letters.size()];
    try {
      (void)parse_model(changed, "changed");
    } catch (const Error& error) {
      CHECK_FALSE(error.remedy().empty());
    }
  }
}

/// The table of layers as docs/models.md has it.
std::string layer_table() {
  std::string table = "| type | keys | what it computes |\n|---|---|---|\n";
  for (const LayerType& type : layer_types()) {
    std::vector<std::string> keys;
    for (const LayerKey& key : type.keys)
      keys.push_back(fmt::format("`{}`: {}", key.name,
                                 key.fallback.empty()
                                     ? std::string(key.values)
                                     : fmt::format("{} ({})", key.values, key.fallback)));
    if (type.inputs > 1) keys.push_back(fmt::format("`inputs`: {} names", type.inputs));
    table +=
        fmt::format("| `{}` | {} | {} |\n", type.name,
                    keys.empty() ? "–" : fmt::format("{}", fmt::join(keys, "; ")), type.summary);
  }
  return table;
}

TEST_CASE("the document has the table of layers and a file that works", "[workloads]") {
  const std::string document = contents_of(path_of("docs/models.md"));
  CHECK_THAT(document, Contains(layer_table()));
  const std::size_t begin = document.find("```json\n");
  REQUIRE(begin != std::string::npos);
  const std::string example =
      document.substr(begin + 8, document.find("```", begin + 8) - begin - 8);
  CHECK(complaint(example) == "no complaint");
}

TEST_CASE("keys that types announce are those that they read", "[workloads]") {
  for (const LayerType& type : layer_types()) {
    CAPTURE(type.name);
    ordered_json fields = ordered_json::object();
    for (const LayerKey& key : type.keys)
      if (key.fallback.empty()) fields[std::string(key.name)] = 2;
    const nlohmann::json given = fields;
    const JsonFile file{"file"};
    const Layer layer = type.read(JsonFields(file, "layer", given));
    ordered_json written = ordered_json::object();
    CHECK(write_layer(layer, written) == type.name);
    CHECK(nlohmann::json(written) == given);
  }
}

}  // namespace
