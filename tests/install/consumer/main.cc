#include <iostream>

#include "tensor/create.h"
#include "tensor/ops.h"

int main() {
  const auto x = troupe::from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto w = troupe::from_values<float>({1, 2, 3}, {3, 1});
  // 1*1 + 2*2 + 3*3 and 4*1 + 5*2 + 6*3
  for (const float y : troupe::matmul(x, w).data<float>()) std::cout << y << '\n';
}
