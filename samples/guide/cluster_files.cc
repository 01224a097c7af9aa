// Page 6 of the guide: `troupe up samples/guide/cluster.toml` starts this program four times.
#include <iostream>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

std::int64_t partial_sum(std::int64_t begin, std::int64_t end) {
  return sum(arange(end - begin) + static_cast<double>(begin)).item<std::int64_t>();
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"partial_sum", &partial_sum}};
  Node node = Node::join(NodeOptions::from_environment(), functions);
  if (node.name() == "driver") {
    std::vector<Future<std::int64_t>> parts;
    for (int i = 0; i < 3; ++i) {
      parts.push_back(node.rpc_async("worker" + std::to_string(i), &partial_sum, i * 1000, (i + 1) * 1000));
    }
    std::int64_t total = 0;
    for (const Future<std::int64_t>& part : parts) total += part.get();
    std::cout << "sum of 0 to 2999, by 3 processes = " << total << std::endl;
  }
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
