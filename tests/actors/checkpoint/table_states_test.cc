#include "actors/checkpoint/table_states.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

#include "actors/embedding/row_owners.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(table_states)

using detail::checkpoint_names;
using detail::OwnedRows;
using detail::TablePlace;
using detail::with_split_tables;

namespace {

constexpr std::int64_t kRows = 9;

/// Rows 0, 1, 2, ... of two elements, each of which is ten times its row, plus `offset`.
Tensor rows_of(const std::vector<std::int64_t>& rows, double offset) {
  std::vector<float> values;
  for (const std::int64_t row : rows) {
    values.push_back(static_cast<float>(10.0 * static_cast<double>(row) + offset));
    values.push_back(static_cast<float>(10.0 * static_cast<double>(row) + offset + 1));
  }
  return from_values<float>(values, {std::ssize(rows), 2});
}
Tensor steps(std::int64_t count) { return from_values<std::int64_t>({count}, {}); }

/// A parameter, the table over `owners`, another parameter.
NamedTensors state_over(std::int64_t owners) {
  NamedTensors state{{"groups.0.adam.lr", full({}, 0.5, DType::f64)}, {"groups.0.parameters.0.exp_avg", ones({3})}};
  for (std::int64_t owner = 0; owner < owners; ++owner) {
    const std::string parameter = "groups.0.parameters." + std::to_string(1 + owner);
    state.emplace_back(parameter + ".exp_avg", rows_of(OwnedRows(kRows, owners, owner).all(), 0.5));
    state.emplace_back(parameter + ".step", steps(4));
  }
  state.emplace_back("groups.0.parameters." + std::to_string(1 + owners) + ".exp_avg", full({2}, 7.0));
  state.emplace_back("groups.1.parameters.1.exp_avg", zeros({1}));
  return state;
}
std::vector<TablePlace> table_over(std::int64_t owners) { return {{"items", 0, 1, kRows, owners}}; }

void expect_equal(const NamedTensors& got, const NamedTensors& expected) {
  BOOST_TEST(got.size() == expected.size());
  const std::map<std::string, Tensor> by_name(got.begin(), got.end());
  for (const auto& [name, tensor] : expected) {
    const auto found = by_name.find(name);
    BOOST_TEST_REQUIRE((found != by_name.end()), name);
    BOOST_TEST(same_bytes(found->second, tensor), name);
  }
}

/// The state as a checkpoint has it.
NamedTensors saved(const NamedTensors& state, const std::vector<TablePlace>& tables) {
  const auto name_of = checkpoint_names(tables);
  NamedTensors renamed;
  for (const auto& [name, tensor] : state) renamed.emplace_back(name_of(name), tensor);
  return renamed;
}

/// A checkpoint that has all rows in one tensor.
const NamedTensors kWhole{{"groups.0.adam.lr", full({}, 0.5, DType::f64)},
                          {"groups.0.parameters.0.exp_avg", ones({3})},
                          {"groups.0.parameters.1.exp_avg", full({2}, 7.0)},
                          {"groups.0.tables.items.exp_avg", rows_of({0, 1, 2, 3, 4, 5, 6, 7, 8}, 0.5)},
                          {"groups.0.tables.items.step", steps(4)},
                          {"groups.1.parameters.1.exp_avg", zeros({1})}};

}  // namespace

BOOST_AUTO_TEST_CASE(a_part_of_a_table_is_named_by_the_table_and_other_parameters_are_numbered_without) {
  const auto name_of = checkpoint_names(table_over(3));
  BOOST_TEST(name_of("groups.0.parameters.0.exp_avg") == "groups.0.parameters.0.exp_avg");
  BOOST_TEST(name_of("groups.0.parameters.1.exp_avg") == "groups.0.table_parts.0.3.items.exp_avg");
  BOOST_TEST(name_of("groups.0.parameters.3.step") == "groups.0.table_parts.2.3.items.step");
  BOOST_TEST(name_of("groups.0.parameters.4.exp_avg") == "groups.0.parameters.1.exp_avg");
  BOOST_TEST(name_of("groups.1.parameters.2.exp_avg") == "groups.1.parameters.2.exp_avg");
  BOOST_TEST(name_of("groups.0.adam.lr") == "groups.0.adam.lr");
}

BOOST_AUTO_TEST_CASE(states_of_any_number_of_owners_are_split_for_any_other) {
  for (const std::int64_t owners : {1, 2, 3, 12}) {
    for (const std::int64_t others : {1, 2, 3, 12}) {
      const NamedTensors state = saved(state_over(owners), table_over(owners));
      expect_equal(with_split_tables(state, table_over(others)), state_over(others));
    }
    expect_equal(with_split_tables(kWhole, table_over(owners)), state_over(owners));
  }
}

BOOST_AUTO_TEST_CASE(states_of_as_many_owners_are_not_copied) {
  const NamedTensors state = saved(state_over(3), table_over(3));
  const NamedTensors split = with_split_tables(state, table_over(3));
  BOOST_TEST_REQUIRE(split.size() == state.size());
  for (std::size_t i = 0; i < state.size(); ++i)
    BOOST_TEST(split[i].second.storage().same_as(state[i].second.storage()));
}

BOOST_AUTO_TEST_CASE(several_tables_of_one_group_keep_their_places) {
  const std::vector<TablePlace> three{{"b", 0, 4, kRows, 3}, {"a", 0, 1, kRows, 3}};  // parameters 0, a, b, 7
  const std::vector<TablePlace> two{{"a", 0, 1, kRows, 2}, {"b", 0, 3, kRows, 2}};    // parameters 0, a, b, 5
  NamedTensors state{{"groups.0.parameters.7.exp_avg", ones({1})}};
  for (std::int64_t owner = 0; owner < 3; ++owner) {
    const Tensor rows = rows_of(OwnedRows(kRows, 3, owner).all(), 0);
    state.emplace_back("groups.0.parameters." + std::to_string(1 + owner) + ".exp_avg", rows);
    state.emplace_back("groups.0.parameters." + std::to_string(4 + owner) + ".exp_avg", rows * -1.0);
  }
  NamedTensors expected{{"groups.0.parameters.5.exp_avg", ones({1})}};
  for (std::int64_t owner = 0; owner < 2; ++owner) {
    const Tensor rows = rows_of(OwnedRows(kRows, 2, owner).all(), 0);
    expected.emplace_back("groups.0.parameters." + std::to_string(1 + owner) + ".exp_avg", rows);
    expected.emplace_back("groups.0.parameters." + std::to_string(3 + owner) + ".exp_avg", rows * -1.0);
  }
  expect_equal(with_split_tables(saved(state, three), two), expected);
}

BOOST_AUTO_TEST_CASE(states_without_tables_stay_as_they_are) {
  expect_equal(saved(state_over(2), {}), state_over(2));
  expect_equal(with_split_tables(state_over(2), {}), state_over(2));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
  const auto split = [](const NamedTensors& state, const std::vector<TablePlace>& tables) {
    return [state, tables] { static_cast<void>(with_split_tables(state, tables)); };
  };
  const auto names = [](const std::vector<TablePlace>& tables) {
    return [tables] { static_cast<void>(checkpoint_names(tables)); };
  };
  NamedTensors state = saved(state_over(2), table_over(2));
  state[3].second = steps(5);
  expect_throw<ValueError>(split(state, table_over(3)), "[checkpoint] table items: owners differ in step");
  state = saved(state_over(2), table_over(2));
  state.erase(state.begin() + 2);
  expect_throw<ValueError>(split(state, table_over(3)), "[checkpoint] table items: not all owners have exp_avg");
  expect_throw<ValueError>(names({{"a", 0, 1, kRows, 3}, {"b", 0, 3, kRows, 2}}),
                           "[checkpoint] table b: stands where table a does");
  expect_throw<ValueError>(names({{"a", 0, 1, kRows, 1}, {"a", 0, 3, kRows, 2}}),
                           "[checkpoint] table a: the name is given twice, or empty");
  expect_throw<ValueError>(split(kWhole, {{"items", 0, 1, 7, 2}}),
                           "[checkpoint] table items: exp_avg has 9 rows, not 7");
  expect_throw<ValueError>(split(kWhole, {{"users", 0, 1, kRows, 2}}), "[checkpoint] no table is called \"items\"");
  expect_throw<ValueError>(split(saved(state_over(2), table_over(2)), {{"users", 0, 1, kRows, 2}}),
                           "[checkpoint] no table is called \"items\"");
  // Names that are none of a part stay: the optimizer refuses them.
  const NamedTensors odd{{"groups.0.table_parts.2.2.items.step", steps(1)}, {"groups.0.table_parts.x.step", steps(1)}};
  expect_equal(with_split_tables(odd, table_over(2)), odd);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
