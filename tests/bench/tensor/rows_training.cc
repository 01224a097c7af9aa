// Update rules, and whole training steps.
#include <array>
#include <memory>
#include <utility>

#include "optim/adam.h"
#include "tensor/create.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {
namespace {

constexpr std::int64_t kParameters = 25'000'000;

}  // namespace

std::vector<Row> training_rows() {
  std::vector<Row> rows;
  rows.push_back({"adam/25M", "none", [] {
                    Generator generator(1);
                    auto rule = std::make_shared<optim::Adam>(optim::AdamOptions{.lr = 1e-3});
                    return [rule, current = randn({kParameters}, generator), gradient = randn({kParameters}, generator),
                            next = zeros({kParameters})]() mutable {
                      const std::array updates{optim::ParameterUpdate{0, current, gradient, next}};
                      rule->step(updates);
                      std::swap(current, next);
                    };
                  }, true});
  return rows;
}

}  // namespace troupe::bench
