#include "actors/shards/shard_rules.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/shards/update_rule.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/embedding.h"
#include "optim/rule_options.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/update.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using detail::ShardParameters;
using detail::ShardRules;

const NodeLife kSelf{"ps0", {1, 1}};
const NodeLife kOther{"ps1", {2, 2}};
const std::vector<NodeLife> kOwners{kSelf, kOther};

StepId step_id(std::uint64_t serial) { return {"trainer", 7, serial}; }

/// Returns the steps of a new optimizer with this rule, one group.
ShardRules shard_of(const ShardParameters::MakeRule& make_rule, std::vector<Variable> parameters) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) places.push_back(i);
  std::vector<ShardParameters::Group> groups;
  groups.push_back({make_rule, std::move(parameters), std::move(places)});
  return {kSelf, std::make_shared<ShardParameters>(std::move(groups))};
}

ShardRules shard_of(const optim::RuleOptions& options, std::vector<Variable> parameters) {
  return shard_of([options] { return optim::make_rule(options); }, std::move(parameters));
}

/// Two parameters of value 1, with rate 0.5.
struct Fixture {
  Variable a{full({2}, 1.0), RequiresGrad::yes};
  Variable b{full({2}, 1.0), RequiresGrad::yes};
  ShardRules shard = shard_of(optim::SgdOptions{.lr = 0.5}, {a, b});

  /// Returns the gradient `value` for `a` only.
  [[nodiscard]] Gradients gradients(double value) const {
    Gradients found;
    found.add(a, full({2}, value));
    return found;
  }
};

/// Returns a gradient of 1 for these rows of `table`, as rows.
Gradients of_rows(const Variable& table, const std::vector<std::int64_t>& rows) {
  const Tensor index = from_values<std::int64_t>(rows, {static_cast<std::int64_t>(rows.size())});
  return backward(sum(embedding(table, index, {.sparse = true})));
}

float first(const Variable& variable) { return variable.value().data<float>()[0]; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shard_rules, Fixture)

BOOST_AUTO_TEST_CASE(a_prepared_step_shows_only_after_its_commit) {
  const auto prepared = shard.prepare(step_id(1), gradients(1.0));
  BOOST_TEST(prepared.value().updated == 1U);
  BOOST_TEST(first(a) == 1.0F);
  BOOST_TEST((shard.outcome(step_id(1)).state == msg::StepState::prepared));
  BOOST_TEST(shard.commit(step_id(1)).value().version == 1U);
  BOOST_TEST(first(a) == 0.5F);  // 1 - 0.5 * 1
  BOOST_TEST((shard.outcome(step_id(1)).state == msg::StepState::applied));
}

BOOST_AUTO_TEST_CASE(a_parameter_without_a_gradient_stays_as_it_is, *boost::unit_test::label("Z-02")) {
  BOOST_TEST(shard.step(step_id(1), gradients(1.0)).ok());
  BOOST_TEST(first(a) == 0.5F);
  BOOST_TEST(first(b) == 1.0F);
}

BOOST_AUTO_TEST_CASE(a_step_that_comes_again_is_answered_again_and_changes_nothing) {
  for (int copy = 0; copy < 3; ++copy) BOOST_TEST(shard.step(step_id(1), gradients(1.0)).value().version == 1U);
  BOOST_TEST(shard.prepare(step_id(1), gradients(1.0)).ok());
  BOOST_TEST(shard.commit(step_id(1)).value().version == 1U);
  BOOST_TEST(first(a) == 0.5F);
  BOOST_TEST(shard.version() == 1U);
}

BOOST_AUTO_TEST_CASE(an_aborted_step_is_never_applied_whenever_the_abort_comes) {
  BOOST_TEST(shard.prepare(step_id(1), gradients(1.0)).ok());
  shard.abort(step_id(1));
  shard.abort(step_id(2));  // the abort overtook its prepare
  BOOST_TEST((shard.commit(step_id(1)).error().code == ErrorCode::step_not_applied));
  BOOST_TEST(shard.prepare(step_id(2), gradients(1.0)).error().message == "step trainer.2 was aborted");
  BOOST_TEST((shard.step(step_id(2), gradients(1.0)).error().code == ErrorCode::step_not_applied));
  BOOST_TEST((shard.commit(step_id(3)).error().message == "step trainer.3 was not prepared"));
  BOOST_TEST(first(a) == 1.0F);
  BOOST_TEST(shard.version() == 0U);
}

BOOST_AUTO_TEST_CASE(an_abort_after_the_commit_does_nothing) {
  BOOST_TEST(shard.step(step_id(1), gradients(1.0)).ok());
  shard.abort(step_id(1));
  BOOST_TEST(first(a) == 0.5F);
  BOOST_TEST((shard.outcome(step_id(1)).state == msg::StepState::applied));
}

BOOST_AUTO_TEST_CASE(a_commit_starts_from_the_value_that_others_left_since_the_prepare) {
  BOOST_TEST(shard.prepare(step_id(1), gradients(1.0)).ok());
  BOOST_TEST(shard.prepare(step_id(2), gradients(2.0)).ok());
  BOOST_TEST(shard.commit(step_id(1)).ok());
  BOOST_TEST(first(a) == 0.5F);  // 1 - 0.5 * 1
  a.set_value(full({2}, 8.0));   // by another optimizer's shard
  BOOST_TEST(shard.commit(step_id(2)).ok());
  BOOST_TEST(first(a) == 7.0F);  // 8 - 0.5 * 2
}

BOOST_AUTO_TEST_CASE(a_value_that_somebody_reads_is_never_written) {
  const Tensor before = a.value();
  const Tensor copy = before.clone();
  for (std::uint64_t serial = 1; serial <= 4; ++serial) BOOST_TEST(shard.step(step_id(serial), gradients(1.0)).ok());
  BOOST_TEST(same_bytes(before, copy));
}

BOOST_AUTO_TEST_CASE(two_buffers_take_turns_when_nobody_reads) {
  BOOST_TEST(shard.step(step_id(1), gradients(1.0)).ok());
  BOOST_TEST(shard.step(step_id(2), gradients(1.0)).ok());
  const std::byte* second = a.value().bytes();
  BOOST_TEST(shard.step(step_id(3), gradients(1.0)).ok());
  const std::byte* third = a.value().bytes();
  BOOST_TEST(shard.step(step_id(4), gradients(1.0)).ok());
  BOOST_TEST(a.value().bytes() == second);
  BOOST_TEST(a.value().bytes() != third);
}

BOOST_AUTO_TEST_CASE(a_gradient_that_does_not_fit_fails_the_step_and_not_the_next_one) {
  Gradients wrong;
  wrong.add(a, full({3}, 1.0));
  BOOST_TEST(shard.prepare(step_id(1), wrong).error().message ==
             "[sgd] the gradient of parameter 0 has another shape: (3), the value (2)");
  BOOST_TEST((shard.step(step_id(2), wrong).error().code == ErrorCode::bad_argument));
  BOOST_TEST(shard.step(step_id(3), gradients(1.0)).ok());
  BOOST_TEST(first(a) == 0.5F);
}

BOOST_AUTO_TEST_CASE(momentum_of_an_aborted_step_leaves_no_trace) {
  ShardRules with_momentum = shard_of(optim::SgdOptions{.lr = 1.0, .momentum = 0.5}, {a, b});
  BOOST_TEST(with_momentum.prepare(step_id(1), gradients(100.0)).ok());
  with_momentum.abort(step_id(1));
  BOOST_TEST(with_momentum.step(step_id(2), gradients(1.0)).ok());
  BOOST_TEST(first(a) == 0.0F);  // v = 1; 1 - 1
  BOOST_TEST(with_momentum.step(step_id(3), gradients(1.0)).ok());
  BOOST_TEST(first(a) == -1.5F);  // v = 0.5 * 1 + 1; 0 - 1.5
}

BOOST_AUTO_TEST_CASE(rows_or_tensors_the_bits_are_the_same_whatever_became_of_the_steps_before) {
  const std::vector<std::vector<std::int64_t>> touched{{3, 1, 3}, {0}, {2, 3}, {1}, {4, 0}};
  for (const detail::UpdateRule& rule :
       {detail::rule_of(optim::SgdOptions{.lr = 0.5}), detail::rule_of(optim::AdagradOptions{.lr = 0.5}),
        detail::rule_of(optim::AdamOptions{.lr = 0.5})}) {
    const Variable table(arange(0.0, 10.0, 1.0).view({5, 2}), RequiresGrad::yes);
    const Variable other(table.value().clone(), RequiresGrad::yes);
    ShardRules by_rows = shard_of([rule] { return detail::make_rule(rule).value(); }, {table});
    ShardRules by_tensors = shard_of([rule] { return detail::make_rule(rule).value(); }, {other});
    for (std::uint64_t k = 0; k < 3 * touched.size(); ++k) {
      const Gradients rows = of_rows(table, touched[k % touched.size()]);
      Gradients tensor;
      tensor.add(other, rows.of(table));
      const auto take = [k](ShardRules& part, const Gradients& found) {
        if (k % 3 != 2) BOOST_TEST(part.prepare(step_id(k), found).ok());
        if (k % 3 == 0) {
          part.abort(step_id(k));
        } else {
          BOOST_TEST(part.step(step_id(k), found).ok());
        }
      };
      take(by_rows, rows);
      take(by_tensors, tensor);
      BOOST_TEST(same_bytes(table.value(), other.value()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_step_by_rows_touches_no_others_in_either_buffer) {
  const Variable table(zeros({4, 1}), RequiresGrad::yes);
  ShardRules of_table = shard_of(optim::SgdOptions{.lr = 0.5}, {table});
  auto* const memory = reinterpret_cast<float*>(const_cast<std::byte*>(table.value().bytes()));
  BOOST_TEST(of_table.step(step_id(1), of_rows(table, {3, 1})).ok());
  memory[0] = 7.0F;  // beyond the tensor, which is now the second buffer
  BOOST_TEST(of_table.prepare(step_id(2), of_rows(table, {1})).ok());
  of_table.abort(step_id(2));
  BOOST_TEST(of_table.step(step_id(3), of_rows(table, {2})).ok());
  BOOST_TEST(same_bytes(table.value(), from_values<float>({7.0F, -0.5F, -0.5F, -0.5F}, {4, 1})));
}

/// SGD that fails to allocate on request.
class Starving final : public optim::Optimizer {
 public:
  Starving() : Optimizer({}) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "starving"; }
  [[nodiscard]] double lr() const noexcept override { return 0.5; }
  void set_lr(double /*lr*/) override {}
  [[nodiscard]] double momentum() const noexcept override { return 0.0; }
  void set_momentum(double /*momentum*/) override {}
  bool starves = false;
  bool is_device_full = false;

 protected:
  [[nodiscard]] UpdateFormula formula(std::int64_t /*step*/) const override {
    if (starves) throw std::bad_alloc();
    if (is_device_full) throw DeviceMemoryError("[allocate] 4096 bytes on cuda:0: out of memory");
    return SgdFormula{.rate = 0.5};
  }
  [[nodiscard]] std::vector<std::pair<std::string, double>> named_options() const override { return {}; }
  [[nodiscard]] bool maximizes() const noexcept override { return false; }
};

/// `starving` becomes the rule.
ShardRules starving_shard(Starving*& starving, std::vector<Variable> parameters) {
  const auto make = [&starving]() -> std::unique_ptr<optim::Optimizer> {
    auto rule = std::make_unique<Starving>();
    starving = rule.get();
    return rule;
  };
  return shard_of(make, std::move(parameters));
}

BOOST_AUTO_TEST_CASE(a_commit_that_fails_keeps_the_step_prepared_and_a_later_one_applies_it) {
  Starving* starving = nullptr;
  ShardRules short_of_memory = starving_shard(starving, {a, b});
  BOOST_TEST(short_of_memory.prepare(step_id(1), gradients(1.0), kOwners).ok());
  BOOST_TEST(short_of_memory.prepare(step_id(2), gradients(2.0), kOwners).ok());  // uses the second buffers
  starving->starves = true;
  BOOST_TEST((short_of_memory.commit(step_id(1)).error().code == ErrorCode::resource_exhausted));
  BOOST_TEST((short_of_memory.outcome(step_id(1)).state == msg::StepState::prepared));
  BOOST_TEST((short_of_memory.step(step_id(3), gradients(1.0)).error().code == ErrorCode::resource_exhausted));
  BOOST_TEST((short_of_memory.outcome(step_id(3)).state == msg::StepState::unknown));
  BOOST_TEST(first(a) == 1.0F);
  starving->starves = false;
  starving->is_device_full = true;
  BOOST_TEST((short_of_memory.commit(step_id(1)).error().code == ErrorCode::device_out_of_memory));
  BOOST_TEST((short_of_memory.outcome(step_id(1)).state == msg::StepState::prepared));
  starving->is_device_full = false;
  BOOST_TEST(short_of_memory.commit(step_id(1)).value().version == 1U);
  BOOST_TEST(first(a) == 0.5F);  // 1 - 0.5 * 1
  BOOST_TEST(short_of_memory.commit(step_id(2)).ok());
  BOOST_TEST(first(a) == -0.5F);  // 0.5 - 0.5 * 2
}

BOOST_AUTO_TEST_CASE(step_that_shows_is_known_as_applied_whatever_memory_is_refused) {
  const StepId step{"a trainer with a long name", 7, 1};
  for (const bool is_atomic : {false, true}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      const Variable w(full({2}, 1.0), RequiresGrad::yes);
      ShardRules part = shard_of(optim::SgdOptions{.lr = 0.5}, {w});
      Gradients found;
      found.add(w, full({2}, 1.0));
      const auto take = [&] { return is_atomic ? part.commit(step) : part.step(step, found); };
      if (is_atomic) BOOST_TEST(part.prepare(step, found, kOwners).ok());
      try {
        const RefusedAllocation refused(n);
        is_refused = false;
        static_cast<void>(take());
        is_refused = refused.happened();
      } catch (const std::bad_alloc&) {
        is_refused = true;
      }
      BOOST_TEST((part.outcome(step).state == msg::StepState::applied) == (first(w) == 0.5F));
      BOOST_TEST(take().value().version == 1U);
      BOOST_TEST(first(w) == 0.5F);
      BOOST_TEST(part.parameters().open_steps() == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_another_owner_has_applied_is_applied_here_when_the_driver_is_gone,
                     *boost::unit_test::label("fault-F29")) {
  Starving* starving = nullptr;
  ShardRules alone = starving_shard(starving, {a, b});
  BOOST_TEST(alone.prepare(step_id(1), gradients(1.0), kOwners).ok());
  BOOST_TEST(alone.prepare(step_id(2), gradients(2.0), kOwners).ok());
  alone.driver_gone();
  BOOST_TEST(alone.go_on().questions.size() == 2U);
  starving->starves = true;
  alone.answered(kOther, step_id(1), msg::StepState::applied);
  alone.answered(kOther, step_id(2), msg::StepState::aborted);
  BOOST_TEST(alone.go_on().again);
  BOOST_TEST(first(a) == 1.0F);
  starving->starves = false;
  const ShardRules::Words words = alone.go_on();
  BOOST_TEST(!words.again);
  BOOST_TEST(words.changed);
  BOOST_TEST(first(a) == 0.5F);  // step 1 only
  BOOST_TEST(alone.over());
}

BOOST_AUTO_TEST_CASE(step_that_begins_after_the_end_of_its_driver_is_refused, *boost::unit_test::label("attack")) {
  BOOST_TEST(shard.prepare(step_id(1), gradients(1.0), kOwners).ok());
  shard.driver_gone();
  BOOST_TEST(shard.go_on().questions.size() == 1U);
  BOOST_TEST(shard.prepare(step_id(1), gradients(1.0), kOwners).ok());  // again
  BOOST_TEST((shard.prepare(step_id(2), gradients(1.0), kOwners).error().code == ErrorCode::step_not_applied));
  BOOST_TEST((shard.step(step_id(3), gradients(1.0)).error().code == ErrorCode::step_not_applied));
  BOOST_TEST(shard.go_on().questions.size() == 1U);
  shard.answered(kOther, step_id(1), msg::StepState::prepared);
  static_cast<void>(shard.go_on());
  BOOST_TEST(shard.over());
  BOOST_TEST(first(a) == 1.0F);
}

BOOST_AUTO_TEST_CASE(gradients_of_a_step_are_given_back_however_it_ends) {
  const auto ways = std::to_array<std::function<void(ShardRules&)>>({
      [](ShardRules& part) { BOOST_TEST(part.commit(step_id(1)).ok()); },
      [](ShardRules& part) { part.abort(step_id(1)); },
      [](ShardRules& part) { part.settled(2); },  // the abort is still in flight
      [](ShardRules& part) {
        part.driver_gone();
        static_cast<void>(part.go_on());
        part.answered(kOther, step_id(1), msg::StepState::prepared);
      },
      [](ShardRules& part) {
        part.driver_gone();
        static_cast<void>(part.go_on());
        part.answered(kOther, step_id(1), std::nullopt);
      },
  });
  for (const auto& end : ways) {
    ShardRules part = shard_of(optim::SgdOptions{.lr = 0.5}, {a, b});
    const Tensor gradient = full({2}, 1.0);
    {
      Gradients found;
      found.add(a, gradient);
      BOOST_TEST(part.prepare(step_id(1), found, kOwners).ok());
    }
    BOOST_TEST(gradient.storage().handle_count() > 1U);
    end(part);
    static_cast<void>(part.go_on());
    BOOST_TEST(gradient.storage().handle_count() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(step_beyond_what_a_driver_may_leave_open_is_refused) {
  for (std::uint64_t serial = 1; serial <= detail::StepLedger::kStepsMax; ++serial) shard.abort(step_id(serial));
  const std::uint64_t next = detail::StepLedger::kStepsMax + 1;
  BOOST_TEST((shard.prepare(step_id(next), gradients(1.0)).error().code == ErrorCode::resource_exhausted));
  BOOST_TEST((shard.step(step_id(next), gradients(1.0)).error().code == ErrorCode::resource_exhausted));
  shard.settled(2);
  BOOST_TEST(shard.step(step_id(next), gradients(1.0)).ok());
}

BOOST_AUTO_TEST_CASE(what_is_no_parameter_is_refused) {
  const auto make = [](std::vector<Variable> parameters) {
    static_cast<void>(shard_of(optim::SgdOptions{}, std::move(parameters)));
  };
  const auto says = [](std::string text) { return [text](const TensorError& error) { return text == error.what(); }; };
  BOOST_CHECK_EXCEPTION(make({a, a}), TensorError, says("[optimizer] parameter 1 is given twice"));
  BOOST_CHECK_EXCEPTION(make({Variable(ones({1}))}), TensorError,
                        says("[optimizer] parameter 0 is not a leaf that requires a gradient"));
}

/// Creates the rule from transferred options, and checks that it has them. Truncated options, or numbers that the rule
/// refuses, are an error.
template <class Rule, class Options>
void travels(Options options) {
  options.lr = 0.25;
  options.maximize = true;
  detail::UpdateRule rule = detail::rule_of(options);
  BOOST_TEST(rule.name == Options::kRule);
  const auto made = detail::make_rule(rule);
  BOOST_TEST((dynamic_cast<const Rule&>(*made.value()).options() == options));
  for (std::vector<std::byte> cut = rule.options; !cut.empty();) {
    cut.pop_back();
    BOOST_TEST((detail::make_rule({rule.name, cut}).error().code == ErrorCode::decode));
  }
  rule.options.push_back(std::byte{0});
  BOOST_TEST((detail::make_rule(rule).error().code == ErrorCode::decode));
  options.lr = std::numeric_limits<double>::quiet_NaN();
  const Error refused = detail::make_rule(detail::rule_of(options)).error();
  BOOST_TEST((refused.code == ErrorCode::bad_argument));
  BOOST_TEST(refused.message == "[" + rule.name + "] lr is not a number >= 0: nan");
}

BOOST_AUTO_TEST_CASE(a_rule_travels_as_its_name_and_options) {
  travels<optim::Sgd>(optim::SgdOptions{.momentum = 0.5});
  travels<optim::Adam>(optim::AdamOptions{.beta1 = 0.5, .weight_decay = 0.1, .amsgrad = true});
  travels<optim::AdamW>(optim::AdamWOptions{.eps = 0.5});
  travels<optim::Adagrad>(optim::AdagradOptions{.lr_decay = 0.5});
  travels<optim::Adadelta>(optim::AdadeltaOptions{.rho = 0.5});
  travels<optim::RMSprop>(optim::RMSpropOptions{.centered = true});
  travels<optim::Adamax>(optim::AdamaxOptions{.beta2 = 0.5});
  travels<optim::Rprop>(optim::RpropOptions{.step_size_max = 5.0});
  BOOST_TEST(detail::make_rule({"magic", {}}).error().message == "there is no update rule \"magic\" in this program");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
