// Page 14 of the guide: a node beside the threads of a program that has its own.
#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

double norm_of(const Tensor& x) { return norm(x).item(); }

/// The service that was there before: it has threads, and now a node.
class Service {
 public:
  explicit Service(const Node& node) : node_(node) {}
  double handle(double request) const { return node_.rpc_sync("backend", &norm_of, full({4}, request)); }

 private:
  const Node& node_;
};

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"norm_of", &norm_of}};
  LocalCluster cluster({"service", "backend"}, functions);
  const Service service(cluster.node("service"));

  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&service, &right, t] {
        for (int i = 0; i < 25; ++i) right += service.handle(t + i) == 2.0 * (t + i) ? 1 : 0;
      });
    }
  }
  std::cout << right << " of 100 answers are right" << std::endl;
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
