#include "actors/modules/on_device.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(on_device)

namespace {

/// Returns how many tensors are looked at in `value`; all stay where they are.
template <class T>
int found_in(T value) {
  int found = 0;
  move_tensors(value, [&](Device home) {
    ++found;
    return home;
  });
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_and_variables_are_found_wherever_they_are) {
  const Tensor x = ones({2});
  const Variable v(x, RequiresGrad::yes);
  BOOST_TEST(found_in(x) == 1);
  BOOST_TEST(found_in(v) == 1);
  BOOST_TEST(found_in(std::vector{v, v}) == 2);
  BOOST_TEST(found_in(std::array{x, x, x}) == 3);
  BOOST_TEST(found_in(std::optional<Tensor>(x)) == 1);
  BOOST_TEST(found_in(std::tuple{x, 1, std::vector<std::pair<std::string, Variable>>{{"a", v}, {"b", v}}}) == 3);
  BOOST_TEST(found_in(std::map<std::string, Tensor>{{"a", x}, {"b", x}}) == 2);
}

BOOST_AUTO_TEST_CASE(what_holds_no_tensor_is_left_alone) {
  BOOST_TEST(found_in(Tensor()) == 0);
  BOOST_TEST(found_in(Variable()) == 0);
  BOOST_TEST(found_in(std::optional<Tensor>()) == 0);
  BOOST_TEST(found_in(std::vector<bool>{true, false}) == 0);
  BOOST_TEST(found_in(std::string("x")) == 0);
}

BOOST_AUTO_TEST_CASE(tensor_that_stays_is_the_same_one) {
  Variable v(ones({2}), RequiresGrad::yes);
  const Variable before = v;
  move_tensors(v, [](Device home) { return home; });
  BOOST_TEST(same(v, before));
}

BOOST_AUTO_TEST_CASE(device_that_is_not_there_is_an_error) {
  if (gpu_count() > 99) return;
  Tensor x = ones({2});
  BOOST_CHECK_THROW(move_tensors(x, [](Device) { return Device::cuda(99); }), DeviceError);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
