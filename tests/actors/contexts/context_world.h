// Contexts of several nodes, without nodes: ContextParts joined by a bag of messages. A seed decides the order of
// delivery. Calls between them record boundaries as real calls do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "actors/contexts/context_participant.h"
#include "actors/contexts/recv_tag.h"
#include "autograd/call_path.h"
#include "autograd/variable.h"

namespace troupe::testing {

/// How names map to nodes, and whether calls leave the caller.
enum class Placement {
  apart,   ///< every name is a node
  single,  ///< all names are one node, which calls itself
  local,   ///< calls are plain function calls
};

class ContextWorld {
 public:
  /// A point in the program: the name that runs it, and its call path.
  struct Place {
    std::string name;
    std::shared_ptr<const CallPath> path;
    std::uint32_t next_call = 0;
    std::atomic<std::uint64_t> next_vertex{0};
  };
  using Values = std::vector<Variable>;
  using Function = std::function<Values(Place&, const Values&)>;

  ContextWorld(Placement placement, std::uint64_t seed);
  ~ContextWorld();

  /// Delivers every notification this often. Duplicates must have no effect.
  int copies = 1;

  /// Labels of the leaves that passes have as inputs; empty: passes have none.
  std::vector<std::string> only_inputs;
  Graph graph = Graph::keep;        ///< of the passes that begin
  bool tells_routes = true;         ///< boundaries say what lies beyond them: passes with local roots mark nothing
  bool cancels_at_the_end = false;  ///< passes are cancelled when they are complete

  /// Changes what a boundary to `to` is said to have beyond it.
  std::function<void(const std::string& to, msg::RouteLegs& beyond)> lie;

  /// Runs `program` at the program's own place, on name "trainer".
  void drive(const std::function<void(Place&)>& program);

  /// Returns a parameter of `name`, with values whose sums are not exact.
  Variable leaf(const std::string& name, const std::string& label, const Shape& shape);

  /// Runs `function` at `to` on `arguments`.
  Values call(Place& from, const std::string& to, const Values& arguments, const Function& function);

  /// Stores `value` as a root on `name`.
  RRefId keep(const std::string& name, Variable value);

  /// Begins a pass of the trainer. The result is set after `settle`.
  struct Answer {
    std::optional<Result<Unit>> result;
  };
  using Remote = std::map<std::string, std::vector<RRefId>>;
  std::shared_ptr<Answer> backward(Values roots, const Remote& remote = {});
  /// Begins a pass like the last one.
  std::shared_ptr<Answer> backward_again() { return backward(last_roots_, last_remote_); }

  /// Delivers messages in random order: all of them, or at most `count_max`.
  void settle(std::size_t count_max = SIZE_MAX);

  /// Ends the node: messages that it has not received are lost, and the other nodes learn of it at some time.
  void kill(const std::string& name);

  /// Returns the gradients by label; a leaf that no gradient reached is missing.
  [[nodiscard]] std::map<std::string, Tensor> gradients() const;

  [[nodiscard]] detail::ContextParticipant& part(const std::string& name);
  [[nodiscard]] const PassId& last_pass() const { return last_pass_; }
  [[nodiscard]] bool has_remote_roots() const { return !last_remote_.empty(); }
  /// Returns the number of marks that have been sent.
  [[nodiscard]] int mark_count() const { return mark_count_; }

 private:
  class Node;
  struct Event {
    std::string at;
    std::function<void()> happen;
  };
  struct Leaf {
    std::string name;
    std::string label;
    Variable variable;
  };

  [[nodiscard]] detail::PassPlaces places_of(Values local, const Remote& remote) const;
  [[nodiscard]] std::string node_of(const std::string& name) const;
  Values cross(const std::string& from, const std::string& to, const Values& values);

  Placement placement_;
  std::mt19937_64 random_;
  ContextId context_{"trainer", 7, 1};
  std::uint64_t serial_ = 0;
  int mark_count_ = 0;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
  std::vector<Event> events_;
  std::vector<Leaf> leaves_;
  std::map<RRefId, Variable> kept_;
  Values last_roots_;
  Remote last_remote_;
  Gradients local_gradients_;
  PassId last_pass_;
};

}  // namespace troupe::testing
