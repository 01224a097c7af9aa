#include "tensor/kernels/table.h"

#include <cstddef>
#include <span>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(kernels_table)

namespace {

/// Returns whether every pointer of the table is set. REQUIRES: a table consists of function pointers only.
bool is_complete(const kernels::KernelTable& table) {
  using Kernel = void (*)();
  static_assert(sizeof(table) % sizeof(Kernel) == 0);
  const auto* const first = reinterpret_cast<const Kernel*>(&table);
  for (const Kernel kernel : std::span(first, sizeof(table) / sizeof(Kernel))) {
    if (kernel == nullptr) return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_cpu_has_every_kernel) { BOOST_TEST(is_complete(kernels_of(Device::cpu()))); }

BOOST_AUTO_TEST_CASE(a_tensor_has_the_kernels_of_its_device) {
  BOOST_TEST(&kernels_of(ones({2})) == &kernels_of(Device::cpu()));
}

BOOST_AUTO_TEST_CASE(gpus_have_every_kernel_where_there_is_cuda_and_none_where_not) {
  if (why_unavailable(Device::cuda()) != "built without CUDA") {
    BOOST_TEST(is_complete(kernels_of(Device::cuda(3))));
  } else {
    expect_error<DeviceError>("[data] on cuda:3: needs a tensor on the CPU, to(Device::cpu()) makes one",
                              [] { (void)kernels_of(Device::cuda(3)); });
  }
}

BOOST_AUTO_TEST_CASE(a_number_is_on_the_side_where_it_stands) {
  Tensor out = Tensor::empty({1});
  const Tensor x = full({1}, 2.0);
  const kernels::KernelTable& table = kernels_of(out);
  table.binary(kernels::BinaryOp::sub, out, x, 5.0);
  BOOST_TEST(out.item() == -3.0);  // 2 - 5
  table.binary(kernels::BinaryOp::sub, out, 5.0, x);
  BOOST_TEST(out.item() == 3.0);  // 5 - 2
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
