#include "src/measure/field_table.h"

#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "src/base/error.h"

namespace ptbench {
namespace {

FieldValue value_of(const RunRecord& run, std::string_view path) {
  return find_field(path).get(run);
}

bool set_to(RunRecord& run, std::string_view path, const FieldValue& value) {
  return find_field(path).set(run, value);
}

/// A value that no other field has and that is no default, of the type that `field` takes.
FieldValue distinct_value(const Field& field, std::size_t index) {
  const auto number = static_cast<std::int64_t>(index) + 2;
  RunRecord scratch;
  for (const FieldValue& value :
       {FieldValue{std::string(field.path)}, FieldValue{static_cast<double>(number) + 0.5},
        FieldValue{number}, FieldValue{true}, FieldValue{"failed"}, FieldValue{"max_time"},
        FieldValue{"strong"}, FieldValue{"all_rounds"}, FieldValue{"samples/s"}})
    if (field.set(scratch, value)) return value;
  FAIL("nothing can be set to " << field.path);
  return {};
}

/// Every field known, each with a value of its own.
RunRecord distinct_record() {
  RunRecord run;
  const auto fields = field_table();
  for (std::size_t index = 0; index < fields.size(); ++index)
    CHECK(fields[index].set(run, distinct_value(fields[index], index)));
  return run;
}

}  // namespace

TEST_CASE("each path stands once in the table and each row is whole", "[measure]") {
  std::set<std::string_view> paths;
  for (const Field& field : field_table()) {
    INFO(field.path);
    CHECK(paths.insert(field.path).second);
    CHECK_FALSE(field.summary.empty());
    CHECK(field.get != nullptr);
    CHECK(field.set != nullptr);
  }
  CHECK(paths.size() > 80);
}

TEST_CASE("an interval has both of its ends, low first", "[measure]") {
  const auto fields = field_table();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].bound() == Bound::none) {
      CHECK(fields[i].json_path() == fields[i].path);
    } else if (fields[i].bound() == Bound::low) {
      REQUIRE(i + 1 < fields.size());
      CHECK(fields[i + 1].bound() == Bound::high);
      CHECK(fields[i + 1].json_path() == fields[i].json_path());
    }
  }
}

TEST_CASE("what was not measured is not known, rather than 0", "[measure]") {
  const RunRecord empty;
  std::set<std::string_view> known;
  for (const Field& field : field_table())
    if (!std::holds_alternative<std::monostate>(field.get(empty))) known.insert(field.path);
  CHECK(known == std::set<std::string_view>{"id", "status", "workload.name", "strategy.name",
                                            "strategy.world_size", "strategy.precision",
                                            "throughput.unit", "verification.status"});
}

TEST_CASE("fields read the record's members", "[measure]") {
  RunRecord run;
  run.status = Status::interrupted;
  run.strategy.world_size = 2;
  run.strategy.overlap = false;
  run.strategy.bucket_bytes = 25U << 20U;
  run.throughput.ci95 = Interval{1.5, 2.5};
  run.accuracy = AccuracyRecord{.test = 0.0};
  run.scaling.emplace().loss.wait = 0.25;
  run.samples.stop_reason = StopReason::max_time;

  CHECK(value_of(run, "status") == FieldValue{"interrupted"});
  CHECK(value_of(run, "strategy.world_size") == FieldValue{std::int64_t{2}});
  CHECK(value_of(run, "strategy.overlap") == FieldValue{false});
  CHECK(value_of(run, "strategy.bucket_bytes") == FieldValue{std::int64_t{25 << 20}});
  CHECK(value_of(run, "throughput.ci95_low") == FieldValue{1.5});
  CHECK(value_of(run, "throughput.ci95_high") == FieldValue{2.5});
  CHECK(value_of(run, "throughput.unit") == FieldValue{"samples/s"});
  CHECK(value_of(run, "accuracy.test") == FieldValue{0.0});
  CHECK(value_of(run, "accuracy.train") == FieldValue{});
  CHECK(value_of(run, "scaling.mode") == FieldValue{"weak"});
  CHECK(value_of(run, "scaling.loss.wait") == FieldValue{0.25});
  CHECK(value_of(run, "samples.stop_reason") == FieldValue{"max_time"});
}

TEST_CASE("what is not finite is not known", "[measure]") {
  RunRecord run;
  run.loss.first = std::numeric_limits<double>::quiet_NaN();
  run.loss.last = std::numeric_limits<double>::infinity();
  CHECK(value_of(run, "loss.first") == FieldValue{});
  CHECK(value_of(run, "loss.last") == FieldValue{});
}

TEST_CASE("each field can be set, and changes no other", "[measure]") {
  const RunRecord run = distinct_record();
  const auto fields = field_table();
  for (std::size_t index = 0; index < fields.size(); ++index) {
    INFO(fields[index].path);
    CHECK(fields[index].get(run) == distinct_value(fields[index], index));
  }
}

TEST_CASE("a record that is set to what another's fields are is equal to it", "[measure]") {
  for (const RunRecord& run : {RunRecord(), distinct_record()}) {
    RunRecord copy;
    for (const Field& field : field_table()) CHECK(field.set(copy, field.get(run)));
    for (const Field& field : field_table()) {
      INFO(field.path);
      CHECK(field.get(copy) == field.get(run));
    }
    CHECK(copy.energy.has_value() == run.energy.has_value());
    CHECK(copy.scaling.has_value() == run.scaling.has_value());
    CHECK(copy.throughput.ci95.has_value() == run.throughput.ci95.has_value());
  }
}

TEST_CASE("what is not known clears optional members and leaves the others", "[measure]") {
  RunRecord run = distinct_record();
  for (const Field& field : field_table()) CHECK(field.set(run, {}));
  CHECK(run.id == "id");
  CHECK(run.strategy.world_size > 1);
  CHECK_FALSE(run.strategy.threads.has_value());
  CHECK_FALSE(run.samples.stop_reason.has_value());
  CHECK_FALSE(run.scaling.value().speedup.has_value());
  RunRecord empty;
  CHECK(set_to(empty, "scaling.speedup", {}));
  CHECK_FALSE(empty.scaling.has_value());
}

TEST_CASE("whole numbers do for doubles, not the other way round", "[measure]") {
  RunRecord run;
  CHECK(set_to(run, "optimizer.weight_decay", std::int64_t{0}));
  CHECK(run.optimizer.weight_decay == 0.0);
  CHECK_FALSE(set_to(run, "strategy.threads", 2.0));
  CHECK_FALSE(run.strategy.threads.has_value());
}

TEST_CASE("values of the wrong type are refused and change nothing", "[measure]") {
  RunRecord run;
  CHECK_FALSE(set_to(run, "id", std::int64_t{1}));
  CHECK_FALSE(set_to(run, "strategy.overlap", std::int64_t{1}));
  CHECK_FALSE(set_to(run, "strategy.bucket_bytes", std::int64_t{-1}));
  CHECK_FALSE(set_to(run, "status", "good"));
  CHECK_FALSE(set_to(run, "scaling.mode", "odd"));
  CHECK_FALSE(set_to(run, "throughput.ci95_low", "1"));
  CHECK_FALSE(set_to(run, "throughput.unit", "images/s"));
  CHECK(run.status == Status::ok);
  CHECK_FALSE(run.strategy.overlap.has_value());
  CHECK_FALSE(run.strategy.bucket_bytes.has_value());
  CHECK_FALSE(run.scaling.has_value());
  CHECK_FALSE(run.throughput.ci95.has_value());
}

TEST_CASE("a field that does not exist is a defect", "[measure]") {
  CHECK_THROWS_AS(find_field("throughput"), Defect);
}

}  // namespace ptbench
