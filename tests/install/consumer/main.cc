#include <iostream>

#include "troupe.h"

troupe::Variable project(const troupe::Variable& x, const troupe::Variable& w) { return matmul(x, w); }

int main() {
  const troupe::FunctionRegistry functions{{"project", &project}};
  troupe::LocalCluster cluster({"trainer", "ps0"}, functions);
  const troupe::Variable x(troupe::from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const troupe::Variable w(troupe::from_values<float>({1, 2, 3}, {3, 1}));
  const troupe::Variable y = cluster.node("trainer").rpc_sync("ps0", &project, x, w);
  // 1*1 + 2*2 + 3*3 and 4*1 + 5*2 + 6*3
  for (const float value : y.value().data<float>()) std::cout << value << '\n';
}
