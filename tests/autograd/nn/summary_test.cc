#include "autograd/nn/summary.h"

#include <memory>

#include "autograd/nn/activation.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "autograd/nn/sequential.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(summary)

namespace {

/// A model with a parameter of its own, a part with parts, and a part that occurs twice.
class Model final : public nn::Module {
 public:
  explicit Model(Generator& generator) {
    add_parameter("scale", ones({}, DType::f64));
    const auto head = std::make_shared<nn::Linear>(1000, 1200, generator);
    add_module("body", nn::sequential(std::make_shared<nn::Linear>(4, 1000, generator, nn::Bias::no),
                                      std::make_shared<nn::BatchNorm1d>(1000), std::make_shared<nn::Relu>()));
    add_module("head", head);
    add_module("again", head);
    head->freeze();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_summary_lists_parameters_buffers_and_totals) {
  Generator generator(1);
  // 4 * 1000 * 4 B = 15.6 KiB; 1000 * 4 B = 3.9 KiB; 1,200,000 * 4 B = 4.6 MiB; 1200 * 4 B = 4.7 KiB
  // 1 + 4,000 + 2,000 trainable; 2,001 in buffers: 2 * 4000 B + 8 B = 7.8 KiB; all: 8 B + 1,207,200 * 4 B = 4.6 MiB
  BOOST_TEST(nn::summary(Model(generator)) ==
             "Model\n"
             "  name      kind         tensor               shape         dtype      count     bytes\n"
             "  --------------------------------------------------------------------------------------------\n"
             "  (itself)  Model        scale                ()            f64            1       8 B\n"
             "  body      Sequential\n"
             "    0       Linear       weight               (1000, 4)     f32        4,000  15.6 KiB\n"
             "    1       BatchNorm1d  weight               (1000)        f32        1,000   3.9 KiB\n"
             "                         bias                 (1000)        f32        1,000   3.9 KiB\n"
             "                         running_mean         (1000)        f32        1,000   3.9 KiB  buffer\n"
             "                         running_var          (1000)        f32        1,000   3.9 KiB  buffer\n"
             "                         num_batches_tracked  ()            i64            1       8 B  buffer\n"
             "    2       Relu\n"
             "  head      Linear       weight               (1200, 1000)  f32    1,200,000   4.6 MiB  frozen\n"
             "                         bias                 (1200)        f32        1,200   4.7 KiB  frozen\n"
             "  --------------------------------------------------------------------------------------------\n"
             "  1,207,201 parameters (4.6 MiB), 6,001 of them trainable; 2,001 numbers in buffers (7.8 KiB)\n");
}

BOOST_AUTO_TEST_CASE(deep_parts_are_added_up) {
  Generator generator(1);
  const auto model =
      nn::sequential(nn::sequential(std::make_shared<nn::Linear>(4, 3, generator)), std::make_shared<nn::Relu>());
  BOOST_TEST(nn::summary(*model, {.depth_max = 1}) ==
             "Sequential\n"
             "  name  kind        tensor   shape  dtype  count  bytes\n"
             "  -----------------------------------------------------\n"
             "  0     Sequential  (parts)                   15   60 B\n"
             "  1     Relu\n"
             "  -----------------------------------------------------\n"
             "  15 parameters (60 B), all trainable\n");
  BOOST_TEST(nn::summary(*model, {.depth_max = 0}) ==
             "Sequential\n"
             "  name      kind        tensor   shape  dtype  count  bytes\n"
             "  ---------------------------------------------------------\n"
             "  (itself)  Sequential  (parts)                   15   60 B\n"
             "  ---------------------------------------------------------\n"
             "  15 parameters (60 B), all trainable\n");
}

BOOST_AUTO_TEST_CASE(a_module_without_parameters_has_a_summary_too) {
  BOOST_TEST(nn::summary(nn::Relu()) ==
             "Relu\n"
             "  name  kind  tensor  shape  dtype  count  bytes\n"
             "  ----------------------------------------------\n"
             "  ----------------------------------------------\n"
             "  0 parameters (0 B), all trainable\n");
}

BOOST_AUTO_TEST_SUITE_END()
