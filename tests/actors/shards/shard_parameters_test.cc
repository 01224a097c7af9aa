#include "actors/shards/shard_parameters.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/ops/inplace.h"
#include "optim/rule_options.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using detail::ShardParameters;
using GradientStep = ShardParameters::GradientStep;

StepId serial(std::uint64_t number) { return {"trainer", 7, number}; }

ShardParameters::MakeRule maker(const optim::RuleOptions& options) {
  return [options] { return optim::make_rule(options); };
}

/// Three parameters of value 1: a and c in group 0, of SGD with momentum, at places 0 and 2; b in group 1, of Adam.
struct TwoGroups {
  Variable a{full({2}, 1.0), RequiresGrad::yes};
  Variable b{full({3}, 1.0), RequiresGrad::yes};
  Variable c{full({1}, 1.0), RequiresGrad::yes};
  optim::SgdOptions sgd{.lr = 0.5, .momentum = 0.5};
  optim::AdamOptions adam{.lr = 0.25};
  ShardParameters shard{groups(a, b, c)};

  [[nodiscard]] std::vector<ShardParameters::Group> groups(const Variable& x, const Variable& y,
                                                           const Variable& z) const {
    std::vector<ShardParameters::Group> all;
    all.push_back({maker(sgd), {x, z}, {0, 2}});
    all.push_back({maker(adam), {y}, {0}});
    return all;
  }

  [[nodiscard]] Gradients gradients(double value) const {
    Gradients found;
    for (const Variable& leaf : {a, b, c}) found.add(leaf, full(leaf.value().shape(), value));
    return found;
  }
};

float at(const Variable& variable) { return variable.value().data<float>()[0]; }

bool equal(const NamedTensors& x, const NamedTensors& y) {
  return std::ranges::equal(x, y, [](const auto& one, const auto& two) {
    return one.first == two.first && same_bytes(one.second, two.second);
  });
}

std::string refusal(ShardParameters& shard, const ShardParameters::Change& change) {
  try {
    static_cast<void>(shard.prepare(serial(99), change));
  } catch (const TensorError& error) {
    return error.what();
  }
  return "prepared";
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shard_parameters, TwoGroups)

BOOST_AUTO_TEST_CASE(each_group_steps_by_its_rule_and_rate) {
  shard.apply(serial(1), GradientStep(gradients(1.0)));
  BOOST_TEST(at(a) == 0.5F);   // 1 - 0.5 * 1
  BOOST_TEST(at(b) == 0.75F);  // 1 - 0.25 * 1 / (sqrt(1) + 1e-8)
  shard.apply(serial(2), GradientStep(gradients(1.0), {{{1.0, {}}, {0.5, {}}}}));
  BOOST_TEST(at(a) == -1.0F);  // v = 0.5 + 1; 0.5 - 1 * 1.5
  BOOST_TEST(at(c) == -1.0F);
  BOOST_TEST(at(b) == 0.25F);
  BOOST_TEST(shard.version() == 2U);
}

BOOST_AUTO_TEST_CASE(momentum_of_a_schedule_is_that_of_its_step_alone) {
  shard.apply(serial(1), GradientStep(gradients(1.0)));
  shard.apply(serial(2), GradientStep(gradients(1.0), {{{0.5, 0.25}, {0.25, {}}}}));
  BOOST_TEST(at(a) == -0.125F);  // v = 0.25 * 1 + 1; 0.5 - 0.5 * 1.25
  shard.apply(serial(3), GradientStep(gradients(0.0)));
  BOOST_TEST(at(a) == -0.4375F);  // v = 0.5 * 1.25; -0.125 - 0.5 * 0.625
}

BOOST_AUTO_TEST_CASE(step_that_one_group_refuses_changes_no_group) {
  Gradients found;
  found.add(a, full({2}, 1.0));
  found.add(b, full({4}, 1.0));
  BOOST_TEST(refusal(shard, GradientStep(found)) ==
             "[adam] the gradient of parameter 0 has another shape: (4), the value (3)");
  BOOST_TEST(refusal(shard, GradientStep(gradients(1.0), {{{0.5, {}}}})) == "[optimizer] 1 rates for 2 groups");
  BOOST_TEST(refusal(shard, GradientStep(gradients(1.0), {{{0.5, {}}, {-1.0, {}}}})) ==
             "[adam] lr is not a number >= 0: -1");
  BOOST_TEST(at(a) == 1.0F);
  shard.apply(serial(1), GradientStep(gradients(1.0)));
  BOOST_TEST(at(a) == 0.5F);
  BOOST_TEST(at(b) == 0.75F);
}

BOOST_AUTO_TEST_CASE(state_has_the_place_of_each_parameter_in_its_group) {
  shard.apply(serial(1), GradientStep(gradients(1.0)));
  const NamedTensors state = shard.state_dict();
  const auto has = [&](const std::string& name) {
    return std::ranges::find(state, name, &NamedTensors::value_type::first) != state.end();
  };
  BOOST_TEST(has("groups.0.parameters.2.momentum_buffer"));
  BOOST_TEST(!has("groups.0.parameters.1.momentum_buffer"));
  BOOST_TEST(has("groups.1.parameters.0.exp_avg_sq"));
  BOOST_TEST(has("groups.1.adam.beta2"));
  BOOST_TEST(shard.values().size() == 3U);
  BOOST_TEST(shard.values()[1].first == "groups.0.parameters.2.value");
}

BOOST_AUTO_TEST_CASE(loaded_state_continues_with_equal_bits) {
  for (std::uint64_t step = 1; step <= 3; ++step) shard.apply(serial(step), GradientStep(gradients(0.3)));
  NamedTensors saved = shard.state_dict();
  const NamedTensors values = shard.values();
  saved.insert(saved.end(), values.begin(), values.end());
  const Variable x(full({2}, 9.0), RequiresGrad::yes);
  const Variable y(full({3}, 9.0), RequiresGrad::yes);
  const Variable z(full({1}, 9.0), RequiresGrad::yes);
  ShardParameters other(groups(x, y, z));
  BOOST_TEST(other.prepare(serial(1), ShardParameters::Load{saved}) == 3U);
  BOOST_TEST(at(x) == 9.0F);  // nothing shows before its commit
  BOOST_TEST(!equal(other.state_dict(), shard.state_dict()));
  other.apply(serial(1), ShardParameters::Load{saved});
  BOOST_TEST(equal(other.state_dict(), shard.state_dict()));
  BOOST_TEST(equal(other.values(), shard.values()));
  BOOST_TEST(other.version() == 1U);
  Gradients found;
  for (const Variable& leaf : {x, y, z}) found.add(leaf, full(leaf.value().shape(), 0.3));
  shard.apply(serial(4), GradientStep(gradients(0.3)));
  other.apply(serial(4), GradientStep(found));
  BOOST_TEST(equal(other.state_dict(), shard.state_dict()));
  BOOST_TEST(equal(other.values(), shard.values()));
}

BOOST_AUTO_TEST_CASE(state_that_does_not_fit_is_not_prepared) {
  NamedTensors state = shard.state_dict();
  state.emplace_back("groups.0.parameters.2.value", full({2}, 1.0));
  BOOST_TEST(refusal(shard, ShardParameters::Load{state}) ==
             "[load_state_dict] groups.0.parameters.2.value is f32 (2), not f32 (1)");
  state.back() = {"groups.0.parameters.1.value", full({1}, 1.0)};  // of another owner
  BOOST_TEST(refusal(shard, ShardParameters::Load{state}) ==
             "[load_state_dict] unexpected: groups.0.parameters.1.value");
  state.back() = {"groups.0.parameters.2.value", Tensor()};
  BOOST_TEST(refusal(shard, ShardParameters::Load{state}) ==
             "[load_state_dict] groups.0.parameters.2.value is undefined, not f32 (1)");
  state.pop_back();
  state.emplace_back("groups.0.parameters.1.step", full({}, 1.0, DType::i64));
  BOOST_TEST(refusal(shard, ShardParameters::Load{state}) != "prepared");
}

BOOST_AUTO_TEST_CASE(step_prepared_before_a_load_starts_from_what_was_loaded) {
  const NamedTensors fresh = shard.state_dict();
  shard.apply(serial(1), GradientStep(gradients(1.0)));
  const ShardParameters::Change step = GradientStep(gradients(1.0));
  BOOST_TEST(shard.prepare(serial(2), step) == 3U);
  shard.apply(serial(3), ShardParameters::Load{fresh});  // no momentum, values stay
  shard.apply(serial(2), step);
  BOOST_TEST(at(a) == 0.0F);  // v = 1; 0.5 - 0.5 * 1
}

/// The same parameters and rules twice: one is given gradients early.
struct Twice : TwoGroups {
  Variable x{full({2}, 1.0), RequiresGrad::yes};
  Variable y{full({3}, 1.0), RequiresGrad::yes};
  Variable z{full({1}, 1.0), RequiresGrad::yes};
  ShardParameters early{groups(x, y, z)};
  const ContextId context{"trainer", 7, 50};

  [[nodiscard]] Gradients early_gradients(double value) const {
    Gradients found;
    for (const Variable& leaf : {x, y, z}) found.add(leaf, full(leaf.value().shape(), value));
    return found;
  }
  void show(const Gradients& found, const Variable& leaf, const msg::StepSettings& settings = {}) {
    early.prepare_early(context, settings, leaf, found.of(leaf));
  }
  void check_equal() const {
    BOOST_TEST(equal(early.state_dict(), shard.state_dict()));
    BOOST_TEST(equal(early.values(), shard.values()));
  }
};

BOOST_FIXTURE_TEST_CASE(step_takes_the_updates_that_were_prepared_early, Twice) {
  for (std::uint64_t step = 1; step <= 3; ++step) {
    const Gradients found = early_gradients(0.3);
    for (const Variable& leaf : {y, x, z}) show(found, leaf);
    BOOST_TEST(at(x) == at(a));  // nothing shows
    early.apply(serial(step), GradientStep(found));
    shard.apply(serial(step), GradientStep(gradients(0.3)));
    check_equal();
    BOOST_TEST(early.early_updates() == 3 * step);
  }
}

BOOST_FIXTURE_TEST_CASE(step_computes_the_updates_that_were_not_prepared_early, Twice) {
  const Gradients found = early_gradients(0.3);
  show(found, z);
  BOOST_TEST(early.prepare(serial(1), GradientStep(found)) == 3U);
  show(found, x);  // too late
  early.apply(serial(1), GradientStep(found));
  shard.apply(serial(1), GradientStep(gradients(0.3)));
  check_equal();
  BOOST_TEST(early.early_updates() == 1U);
}

BOOST_FIXTURE_TEST_CASE(early_updates_of_other_gradients_settings_or_values_are_dropped, Twice) {
  const msg::StepSettings half{{}, 0.5};
  std::uint64_t step = 0;
  const auto both = [&](const Gradients& found, double value, const msg::StepSettings& settings) {
    ++step;
    early.apply(serial(step), GradientStep(found, settings));
    shard.apply(serial(step), GradientStep(gradients(value), settings));
    check_equal();
  };
  show(early_gradients(0.3), x);  // of a pass that was followed by another one
  both(early_gradients(0.6), 0.6, {});
  const Gradients found = early_gradients(0.3);
  show(found, x);
  both(found, 0.3, half);
  show(found, y, half);
  x.set_value(full({2}, 4.0));
  a.set_value(full({2}, 4.0));
  show(found, x, half);
  y.set_value(full({3}, 4.0));
  b.set_value(full({3}, 4.0));
  both(found, 0.3, half);
  show(found, y, half);
  {
    const NoGradGuard guard;
    for (const Variable& of_both : {y, b}) mul_(of_both, 3.0);
  }
  both(found, 0.3, half);
  const Gradients written = early_gradients(0.3);
  show(written, x);
  for (const Variable& leaf : written.leaves()) written.of(leaf).fill(0.6);
  both(written, 0.6, {});
  show(found, x);
  early.drop_early({"trainer", 7, 51});  // another context
  early.drop_early(context);
  both(found, 0.3, {});
  show(found, x);
  early.apply(serial(90), ShardParameters::Load{early.state_dict()});
  shard.apply(serial(90), ShardParameters::Load{shard.state_dict()});
  both(found, 0.3, {});
  BOOST_TEST(early.early_updates() == 0U);
}

BOOST_FIXTURE_TEST_CASE(step_starts_from_what_was_written_into_a_value_since_its_prepare, Twice) {
  const Gradients found = early_gradients(0.3);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    BOOST_TEST(early.prepare(serial(step), GradientStep(found)) == 3U);
    {
      const NoGradGuard guard;
      for (const Variable& of_both : {x, a}) add_(of_both, 1.0);
    }
    early.apply(serial(step), GradientStep(found));
    shard.apply(serial(step), GradientStep(gradients(0.3)));
    check_equal();
  }
}

BOOST_AUTO_TEST_CASE(step_starts_from_a_view_of_the_same_memory_that_was_set_since_its_prepare) {
  const ContextId context{"trainer", 7, 50};
  const Tensor gradient = from_values<float>({2, 4, 6, 8}, {2, 2});
  for (const bool is_early : {false, true}) {
    const Variable square(from_values<float>({1, 2, 3, 4}, {2, 2}), RequiresGrad::yes);
    std::vector<ShardParameters::Group> groups;
    groups.push_back({maker(optim::SgdOptions{.lr = 0.5}), {square}, {0}});
    ShardParameters own(std::move(groups));
    Gradients found;
    found.add(square, gradient);
    if (is_early) {
      own.prepare_early(context, {}, square, found.of(square));
    } else {
      BOOST_TEST(own.prepare(serial(1), GradientStep(found)) == 1U);
    }
    square.set_value(square.value().transpose(0, 1));
    own.apply(serial(1), GradientStep(found));
    const Tensor expected = from_values<float>({0, 1, -1, 0}, {2, 2});  // 1 - 1, 3 - 2, 2 - 3, 4 - 4
    BOOST_TEST(same_bytes(square.value(), expected));
    BOOST_TEST(own.early_updates() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(step_by_rows_that_is_dropped_after_a_write_leaves_no_other_row_behind) {
  const auto trained = [](bool is_prepared) {
    const Variable table(full({3, 1}, 1.0), RequiresGrad::yes);
    std::vector<ShardParameters::Group> groups;
    groups.push_back({maker(optim::SgdOptions{.lr = 0.5}), {table}, {0}});
    ShardParameters own(std::move(groups));
    Gradients found;
    found.add(table, SparseTensor(from_values<std::int64_t>({1}, {1, 1}), ones({1, 1}), {3, 1}));
    for (std::uint64_t step = 1; step <= 2; ++step) own.apply(serial(step), GradientStep(found));
    if (is_prepared) BOOST_TEST(own.prepare(serial(3), GradientStep(found)) == 1U);
    {
      const NoGradGuard guard;
      add_(table, 4.0);
    }
    own.apply(serial(3), GradientStep(found));
    return table.value();
  };
  BOOST_TEST(same_bytes(trained(true), from_values<float>({5.0F, 3.5F, 5.0F}, {3, 1})));  // 1 + 4, 1 - 3 * 0.5 + 4
  BOOST_TEST(same_bytes(trained(false), trained(true)));
}

BOOST_FIXTURE_TEST_CASE(update_that_is_dropped_leaves_its_memory_to_the_next_step, Twice) {
  const Gradients found = early_gradients(0.3);
  early.apply(serial(1), GradientStep(found));
  const std::byte* spare = x.value().bytes();  // of the value that step 2 replaces
  early.apply(serial(2), GradientStep(found));
  std::vector<Tensor> others;  // memory that was released would be theirs
  const auto next_value_is_in_spare = [&](std::uint64_t step) {
    others.push_back(Tensor::empty({2}, DType::f32));
    BOOST_TEST(others.back().bytes() != spare);
    const std::byte* present = x.value().bytes();
    early.apply(serial(step), GradientStep(found));
    BOOST_TEST(x.value().bytes() == spare);
    spare = present;
  };
  show(found, x);
  early.drop_early(context);
  next_value_is_in_spare(3);
  show(found, x);
  show(found, y, {{}, 0.5});  // of other settings: what was prepared is dropped
  early.drop_early(context);
  next_value_is_in_spare(4);
  std::ignore = early.prepare(serial(90), GradientStep(found));
  early.drop(serial(90));
  next_value_is_in_spare(5);
}

BOOST_FIXTURE_TEST_CASE(early_gradient_that_does_not_fit_fails_the_step_alone, Twice) {
  const Gradients good = early_gradients(0.3);
  Gradients wrong;
  wrong.add(x, full({2}, 0.3));
  wrong.add(y, full({4}, 0.3));
  show(good, z);
  show(wrong, y);
  BOOST_TEST(refusal(early, GradientStep(wrong)) ==
             "[adam] the gradient of parameter 0 has another shape: (4), the value (3)");
  show(good, x, {{{-1.0, {}}, {0.1, {}}}});
  early.prepare_early(context, {}, Variable(full({2}, 1.0)), full({2}, 1.0));  // no parameter
  early.prepare_early(context, {}, x, Tensor());
  early.apply(serial(1), GradientStep(good));
  shard.apply(serial(1), GradientStep(gradients(0.3)));
  check_equal();
}

/// One group of many parameters of one element.
struct Many {
  static constexpr std::size_t kCount = 1'000;

  explicit Many(ShardParameters::MakeRule rule) : shard(group(std::move(rule))) {}

  std::vector<ShardParameters::Group> group(ShardParameters::MakeRule rule) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < kCount; ++i) {
      leaves.emplace_back(full({1}, 1.0), RequiresGrad::yes);
      found.add(leaves.back(), full({1}, 0.5));
      places.push_back(i);
    }
    std::vector<ShardParameters::Group> all;
    all.push_back({std::move(rule), leaves, std::move(places)});
    return all;
  }

  std::vector<Variable> leaves;
  Gradients found;
  ShardParameters shard;
};

BOOST_AUTO_TEST_CASE(early_updates_do_not_move_those_before_them) {
  Many many(maker(sgd));
  {
    const RefusedAllocation fourth(4, Many::kCount / 2 * sizeof(optim::ParameterUpdate));
    for (const Variable& leaf : many.leaves)
      many.shard.prepare_early({"trainer", 7, 50}, {}, leaf, many.found.of(leaf));
    BOOST_TEST(!fourth.happened());
  }
  many.shard.apply(serial(1), GradientStep(many.found));
  BOOST_TEST(many.shard.early_updates() == Many::kCount);
}

BOOST_AUTO_TEST_CASE(parts_of_the_state_and_of_the_values_are_the_whole) {
  shard.apply(serial(1), GradientStep(gradients(1.0)));
  const auto parts = [](std::size_t size, const auto& part) {
    NamedTensors all;
    while (true) {
      const NamedTensors more = part(all.size(), size);
      BOOST_TEST_REQUIRE(more.size() <= size);
      if (more.empty()) return all;
      all.insert(all.end(), more.begin(), more.end());
    }
  };
  BOOST_TEST(shard.state_dict().size() == shard.state_dict_size());
  for (const std::size_t size : {1, 2, 3, 5, 100}) {
    BOOST_TEST(equal(parts(size, [&](auto... range) { return shard.state_dict(range...); }), shard.state_dict()));
    BOOST_TEST(equal(parts(size, [&](auto... range) { return shard.values(range...); }), shard.values()));
  }
  BOOST_TEST(shard.state_dict(ShardParameters::kAll, ShardParameters::kAll).empty());
  BOOST_TEST(shard.values(ShardParameters::kAll, ShardParameters::kAll).empty());
}

BOOST_AUTO_TEST_CASE(part_of_the_state_makes_no_other_tensors) {
  Many many(maker(adam));
  many.shard.apply(serial(1), GradientStep(many.found));
  const RefusedAllocation too_many(Many::kCount);
  BOOST_TEST(many.shard.state_dict(1'000, 10).size() == 10U);
  BOOST_TEST(many.shard.values(500, 10).size() == 10U);
  BOOST_TEST(many.shard.state_dict_size() >= 3 * Many::kCount);
  BOOST_TEST(!too_many.happened());
}

BOOST_AUTO_TEST_CASE(open_steps_are_counted_while_they_live) {
  {
    const ShardParameters::Open one = shard.open_step();
    std::optional<ShardParameters::Open> two(shard.open_step());
    BOOST_TEST(shard.open_steps() == 2U);
    const ShardParameters::Open moved(std::move(*two));
    two.reset();
    BOOST_TEST(shard.open_steps() == 2U);
  }
  BOOST_TEST(shard.open_steps() == 0U);
}

BOOST_AUTO_TEST_CASE(places_ascend_and_are_bounded) {
  const auto says = [this](std::vector<std::size_t> places) {
    std::vector<ShardParameters::Group> all;
    all.push_back({maker(sgd), {a, c}, std::move(places)});
    try {
      const ShardParameters made(std::move(all));
    } catch (const TensorError& error) {
      return std::string(error.what());
    }
    return std::string("made");
  };
  BOOST_TEST(says({0, 1}) == "made");
  BOOST_TEST(says({0}) == "[optimizer] group 0 has 1 places for 2 parameters");
  BOOST_TEST(says({1, 1}) == "[optimizer] places of group 0 do not ascend");
  BOOST_TEST(says({1, std::size_t{1} << 40}) == "[optimizer] group 0 has more than 262144 parameters");
}

BOOST_AUTO_TEST_CASE(parameter_that_is_in_two_groups_is_refused) {
  BOOST_CHECK_EXCEPTION(ShardParameters(groups(a, a, c)), TensorError, [](const TensorError& error) {
    return error.what() == std::string("[optimizer] parameter 0 of group 1 is given twice");
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
