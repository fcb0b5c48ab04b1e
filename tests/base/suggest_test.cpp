#include "src/base/suggest.h"

#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("a suggestion ignores case", "[base]") {
  const std::vector<std::string> names{"linear", "mlp", "resnet18", "ResNet50"};
  CHECK(nearest("LINEAR", names) == "linear");
  CHECK(nearest("Mlp", names) == "mlp");
  CHECK(nearest("RESENT18", names) == "resnet18");
  CHECK(nearest("resnet50", names) == "ResNet50");
  CHECK(nearest("LIN", names) == "linear");
  CHECK(did_you_mean("LINEAR", names) == "did you mean 'linear'?");
}

TEST_CASE("a name that is right but for its case is nearer than one that begins alike", "[base]") {
  CHECK(nearest("DDP", {"ddp-flat", "ddp"}) == "ddp");
}

TEST_CASE("what resembles nothing gets no suggestion", "[base]") {
  CHECK(nearest("transformer", {"linear", "mlp"}).empty());
  CHECK(did_you_mean("transformer", {"linear", "mlp"}).empty());
}

TEST_CASE("what is another word gets no suggestion") {
  const std::vector<std::string> layers{"linear",     "relu",     "gelu",         "conv2d",
                                        "batch_norm", "max_pool", "average_pool", "flatten"};
  for (const char* other : {"layer_norm", "group_norm", "rms_norm", "elu", "silu", "selu",
                            "adaptive_pool", "embedding", "attention", "dropout"}) {
    CAPTURE(other);
    CHECK(nearest(other, layers).empty());
  }
  CHECK(nearest("gelu", {"relu"}).empty());
  CHECK(nearest("lmp", {"mlp"}) == "mlp");
  CHECK(nearest("rleu", layers) == "relu");
  CHECK(nearest("batchnorm", layers) == "batch_norm");
  CHECK(nearest("BatchNorm", layers) == "batch_norm");
  CHECK(nearest("maxpool", layers) == "max_pool");
  CHECK(nearest("conv", layers) == "conv2d");
  CHECK(nearest("con2d", layers) == "conv2d");
}

}  // namespace ptbench
