// Page 3 of the guide: a value that stays on another node.
#include <iostream>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

class Counter {
 public:
  explicit Counter(int start) : count_(start) {}
  int add(int amount) { return count_ += amount; }

 private:
  int count_;
};

/// Runs on a third node, which gets the reference and not the counter.
int add_twice(Scope& scope, const RRef<Counter>& counter, int amount) {
  counter.rpc_sync(scope, &Counter::add, amount);
  return counter.rpc_sync(scope, &Counter::add, amount);
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{
      {"Counter", constructor<Counter, int>}, {"Counter::add", &Counter::add}, {"add_twice", &add_twice}};
  LocalCluster cluster({"driver", "owner", "helper"}, functions);
  const Node& driver = cluster.node("driver");

  const RRef<Counter> counter = driver.remote("owner", constructor<Counter, int>, 10);
  std::cout << "after one call: " << counter.rpc_sync(driver, &Counter::add, 5) << std::endl;
  std::cout << "after two more: " << driver.rpc_sync("helper", &add_twice, counter, 1) << std::endl;

  driver.publish("hits", Counter(0));
  const Node& helper = cluster.node("helper");
  const RRef<Counter> hits = helper.find<Counter>("driver", "hits");
  std::cout << "hits: " << hits.rpc_sync(helper, &Counter::add, 1) << std::endl;
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
