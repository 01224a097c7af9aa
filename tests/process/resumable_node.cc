// A node of resume_test: `resumable_node DIRECTORY unbroken|save|resume`. The node of rank 0 trains for 40 steps and
// prints a hash of the result. "save": saves from step 20 on after every step, until it is killed. "resume": goes on
// from the checkpoint.
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "node/node.h"
#include "tests/scenarios/resumable_training.h"

namespace {

using namespace troupe;

constexpr int kSteps = 40;

void drive(Node& node, const std::string& directory, std::string_view mode) {
  std::vector<NodeName> names;
  for (const Peer& member : node.members()) names.push_back(member.name);
  std::ranges::sort(names);
  testing::ResumableTraining training(node, names);
  if (mode == "resume") training.restore(directory);
  if (mode == "save") {
    for (training.train(20);; training.train(1)) {
      training.save(directory);
      std::cout << "saved step " << training.steps() << std::endl;
    }
  }
  std::cout << "from step " << training.steps() << std::endl;
  training.train(kSteps - static_cast<int>(training.steps()));
  std::cout << "hash " << training.hash() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Node node = Node::join(NodeOptions::from_environment(), testing::resumable_training_functions());
  if (node.info().rank == 0) drive(node, argv[1], argv[2]);
  node.serve();
  node.shutdown();
  return 0;
}
