// Page 2 of the guide: structs of your own travel.
#include <iostream>
#include <string>
#include <vector>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

struct Item {
  std::string name;
  int count = 0;
  double price = 0;
};

/// A class with private fields says itself what travels.
class Discount {
 public:
  Discount() = default;
  explicit Discount(double share) : share_(share) {}
  double apply(double price) const { return price * (1 - share_); }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(share_);
  }

 private:
  double share_ = 0;
};

double total(const std::vector<Item>& items, const Discount& discount) {
  double sum = 0;
  for (const Item& item : items) sum += item.count * item.price;
  return discount.apply(sum);
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"total", &total}};
  LocalCluster cluster({"till", "office"}, functions);
  const Node& till = cluster.node("till");

  const std::vector<Item> basket{{"pen", 3, 1.5}, {"book", 1, 13.0}};
  std::cout << "total = " << till.rpc_sync("office", &total, basket, Discount(0.2)) << std::endl;
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
