#include "tensor/kernels/gather.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_gather, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_same_on_gpu;
using testing::kGpu;
using testing::layouts_of;
using testing::NeedsGpus;

Tensor values(const Shape& shape, DType dtype) {
  Generator generator(3);
  return uniform(shape, -9.0, 9.0, generator, DType::f64).to(dtype);
}

Tensor places(const Shape& shape, std::int64_t size) {
  Generator generator(4);
  return randint(0, size, shape, generator);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_taken_by_index_has_the_bits_of_the_cpus) {
  for (const DType dtype : kDTypes) {
    for (const Tensor& x : layouts_of(values({14, 15, 16}, dtype))) {
      for (const int dim : {0, 1, 2}) {
        expect_same_on_gpu([dim](const Tensor& y, const Tensor& at) { return gather(y, dim, at); }, x,
                           places({13, 14, 15}, x.size(dim)));
        expect_same_on_gpu([dim](const Tensor& y, const Tensor& at) { return index_select(y, dim, at); }, x,
                           places({99}, x.size(dim)));
      }
      expect_same_on_gpu([](const Tensor& y, const Tensor& at) { return embedding(y, at); }, x.select(0, 1),
                         places({5, 6}, 15));
    }
  }
}

BOOST_AUTO_TEST_CASE(of_several_elements_for_one_place_the_cpus_stays) {
  for (const DType dtype : kDTypes) {
    for (const int dim : {0, 1, 2}) {
      const auto put = [dim](const Tensor& y, const Tensor& at, const Tensor& source) {
        return scatter(y, dim, at, source);
      };
      const Tensor y = values({4, 5, 600}, dtype);
      expect_same_on_gpu(put, y, places({4, 5, 600}, y.size(dim)), values({4, 5, 600}, dtype));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_added_by_index_has_the_bits_of_the_cpus) {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::boolean) continue;
    for (const Tensor& x : layouts_of(values({4, 5, 600}, dtype))) {
      for (const int dim : {0, 1, 2}) {
        const auto add = [dim](const Tensor& y, const Tensor& at, const Tensor& source) {
          return scatter_add(y, dim, at, source);
        };
        expect_same_on_gpu(add, values({4, 5, 600}, dtype), places({4, 5, 600}, x.size(dim)), x);
      }
    }
    const auto back = [](const Tensor& grad, const Tensor& at) { return embedding_backward(grad, at, 11); };
    expect_same_on_gpu(back, values({3000, 24}, dtype), places({3000}, 11));
  }
}

BOOST_AUTO_TEST_CASE(an_index_outside_is_named_as_on_the_cpu) {
  const Tensor x = values({3, 4}, DType::f32).to(kGpu);
  const Tensor at = from_values<std::int64_t>({0, 2, 7, 9}).to(kGpu);
  expect_error<IndexError>("[index_select] index out of range: 7 of 3", [&] { (void)index_select(x, 0, at); });
}

BOOST_AUTO_TEST_CASE(nothing_is_taken_by_no_index) {
  expect_same_on_gpu([](const Tensor& y, const Tensor& at) { return index_select(y, 0, at); },
                     values({3, 4}, DType::f32), zeros({0}, DType::i64));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
