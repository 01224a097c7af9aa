#include "tensor/io/generator_state.h"

#include "tensor/create.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(generator_state)

BOOST_AUTO_TEST_CASE(restored_generator_continues_where_the_saved_one_was) {
  Generator generator(~std::uint64_t{0}, std::uint64_t{1} << 63);  // neither fits an i64 as a number
  for (int i = 0; i < 5; ++i) static_cast<void>(generator.next_u64());
  Generator restored = generator_of(state_of(generator));
  BOOST_CHECK(restored == generator);
  BOOST_TEST(restored.next_u64() == generator.next_u64());
}

BOOST_AUTO_TEST_CASE(other_tensors_are_no_states) {
  expect_error<ValueError>("[generator] not the state of a generator: f32 (2)",
                           [] { static_cast<void>(generator_of(zeros({2}))); });
  expect_error<ValueError>("[generator] not the state of a generator: i64 (4)",
                           [] { static_cast<void>(generator_of(zeros({4}, DType::i64))); });
  expect_error<ValueError>("[generator] not the state of a generator: undefined",
                           [] { static_cast<void>(generator_of(Tensor())); });
}

BOOST_AUTO_TEST_SUITE_END()
