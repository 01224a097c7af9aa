#include "tests/actors/contexts/context_world.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "actors/contexts/known_route.h"
#include "autograd/engine.h"
#include "tensor/create.h"

namespace troupe::testing {

using detail::ContextParticipant;
using detail::GraphWork;

namespace {

/// The life of every node that owns values.
constexpr Incarnation kOwnersLife{7, 7};

}  // namespace

class ContextWorld::Node final : private ContextParticipant::Callbacks {
 public:
  Node(ContextWorld& world, std::string name)
      : world_(world), name_(std::move(name)), part(world.context_, name_, *this) {}

 private:
  friend class ContextWorld;

  /// Collects the gradients that leave the node in one job.
  class Sink final : public GradientSink {
   public:
    Sink(Node& node, const detail::GraphWork& work) : node_(node), work_(work) {}
    void deliver(const std::shared_ptr<const RecvFn>& recv, std::vector<Tensor> gradients) override {
      node_.notify(detail::tag_of(*recv)->peer, work_.message_for(*recv, std::move(gradients)));
    }
    void found(const Variable& leaf, const Tensor& gradient, const SparseTensor& rows) override {
      for (const auto& reducer : work_.reducers) reducer->found(work_.pass, leaf, gradient, rows);
    }

   private:
    Node& node_;
    const detail::GraphWork& work_;
  };

  void later(const std::string& at, std::function<void(Node&)> happen) {
    world_.events_.push_back({at, [&world = world_, at, happen = std::move(happen)] {
                                const auto node = world.nodes_.find(at);
                                if (node != world.nodes_.end()) happen(*node->second);
                              }});
  }

  void send_mark(const NodeName& to, const std::optional<Incarnation>& life, std::uint64_t number,
                 msg::BackwardMark mark, std::optional<TimePoint>) override {
    const bool names_values = !mark.roots.empty() || !mark.inputs.empty();
    if (names_values && life != kOwnersLife) throw std::logic_error("a mark names values of another life");
    const NodeName from = name_;
    const std::uint64_t request = ++world_.serial_;
    ++world_.mark_count_;
    if (!world_.nodes_.contains(to)) {
      Error gone;
      gone.code = ErrorCode::peer_down;
      return later(from, [=](Node& node) { node.part.mark_answered(mark.pass, to, number, gone); });
    }
    later(to, [=](Node& node) {
      node.part.mark(from, request, mark, {}, [=, &node](msg::BackwardMarked marked) {
        node.later(from, [=](Node& asker) { asker.part.mark_answered(mark.pass, to, number, marked); });
      });
    });
  }

  void send_release(const NodeName& to, msg::BackwardRelease release, std::optional<TimePoint>) override {
    const NodeName from = name_;
    const auto answered = [from, to, pass = release.pass](Node& node) {
      node.later(from, [=](Node& asker) { asker.part.released(pass, to); });
    };
    if (!world_.nodes_.contains(to)) return answered(*this);
    for (int copy = 0; copy < world_.copies; ++copy) {
      later(to, [=](Node& node) {
        node.part.release_graph(from, release, [=, &node](const Result<msg::BackwardReleased>&) { answered(node); });
      });
    }
  }

  void notify(const NodeName& to, msg::AnyMessage message) override {
    const NodeName from = name_;
    for (int copy = 0; copy < world_.copies; ++copy) {
      later(to, [=](Node& node) { node.receive(from, message); });
    }
  }

  void receive(const NodeName& from, const msg::AnyMessage& message) {
    if (const auto* run = message.get_if<msg::BackwardRun>()) part.run(from, *run);
    if (const auto* gradients = message.get_if<msg::BackwardGradients>()) part.gradients(from, *gradients);
    if (const auto* finished = message.get_if<msg::BackwardFinished>()) part.finished(from, *finished);
    if (const auto* aborted = message.get_if<msg::ContextAborted>()) part.abort(aborted->error, from);
  }

  void find_roots(const PassId& pass, std::vector<RRefId> roots) override {
    std::vector<Variable> found;
    for (const RRefId& root : roots) found.push_back(world_.kept_.at(root));
    later(name_, [=](Node& node) { node.part.roots_found(pass, found); });
  }

  void run_on_pool(std::shared_ptr<GraphWork> work) override {
    later(name_, [work](Node& node) {
      Sink sink(node, *work);
      work->run(sink);
      node.later(node.name_, [work](Node& owner) { owner.part.pool_done(work); });
    });
  }

  void reduce(const PassId& pass, const std::shared_ptr<detail::GradientReducer>& reducer,
              Gradients gradients) override {
    reducer->finish(pass, std::move(gradients), [this, pass](Result<Gradients> result) {
      later(name_, [pass, result](Node& node) { node.part.reduced(pass, result); });
    });
  }

  void wake_at(const PassId&, TimePoint) override {}
  void pass_ended(const PassId&) override {}
  void refused(const Error& error) override {
    if (world_.copies == 1) throw std::logic_error("refused: " + error.text());
  }

  ContextWorld& world_;
  std::string name_;

 public:
  ContextParticipant part;
};

ContextWorld::ContextWorld(Placement placement, std::uint64_t seed) : placement_(placement), random_(seed) {}
ContextWorld::~ContextWorld() = default;

std::string ContextWorld::node_of(const std::string& name) const {
  return placement_ == Placement::apart ? name : "trainer";
}

ContextParticipant& ContextWorld::part(const std::string& name) {
  auto& node = nodes_[node_of(name)];
  if (!node) node = std::make_unique<Node>(*this, node_of(name));
  return node->part;
}

void ContextWorld::drive(const std::function<void(Place&)>& program) {
  Place place{"trainer", std::make_shared<CallPath>(), 0, {}};
  const CallPathGuard guard(place.path, place.next_vertex);
  program(place);
}

Variable ContextWorld::leaf(const std::string& name, const std::string& label, const Shape& shape) {
  std::mt19937_64 values(std::hash<std::string>{}(label));
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  Tensor tensor = zeros(shape);
  for (float& value : tensor.mutable_data<float>()) value = uniform(values);
  if (placement_ != Placement::local) static_cast<void>(part(name));
  leaves_.push_back({name, label, Variable(std::move(tensor), RequiresGrad::yes)});
  return leaves_.back().variable;
}

ContextWorld::Values ContextWorld::cross(const std::string& from, const std::string& to, const Values& values) {
  Values sent;
  for (const Variable& value : values) {
    if (value.requires_grad()) sent.push_back(value);
  }
  if (sent.empty()) return values;
  const BoundaryId boundary{node_of(from), 7, ++serial_};
  const auto send = SendFn::make(sent);
  const NodeName sender = node_of(from);
  detail::KnownRoute beyond(context_, sender, msg::kBeyondMax);
  beyond.add(*send);
  part(from).record_send(boundary, send, node_of(to));
  part(to).add_peer(sender);
  auto told = tells_routes ? beyond.take() : std::nullopt;
  if (told && lie) lie(node_of(to), *told);
  const auto recv = detail::make_recv({context_, boundary, sender, std::move(told)}, send->slot_count());
  Values received;
  std::uint32_t slot = 0;
  for (const Variable& value : values) {
    received.push_back(value.requires_grad() ? RecvFn::variable(recv, slot++, value.value()) : value);
  }
  return received;
}

ContextWorld::Values ContextWorld::call(Place& from, const std::string& to, const Values& arguments,
                                        const Function& function) {
  if (placement_ == Placement::local) {
    Place same{to, from.path, 0, {}};
    return function(same, arguments);
  }
  Place place{to, std::make_shared<CallPath>(from.path->child(from.next_call++)), 0, {}};
  const Values received = cross(from.name, to, arguments);
  Values results;
  {
    const CallPathGuard guard(place.path, place.next_vertex);
    results = cross(to, from.name, function(place, received));
  }
  return results;
}

RRefId ContextWorld::keep(const std::string& name, Variable value) {
  const RRefId id{node_of(name), 7, ++serial_};
  kept_.emplace(id, std::move(value));
  part(name).add_peer(node_of("trainer"));
  return id;
}

detail::PassPlaces ContextWorld::places_of(Values local, const Remote& remote) const {
  detail::PassPlaces places{std::move(local), {}};
  for (const auto& [name, ids] : remote) {
    if (placement_ != Placement::local && node_of(name) != node_of("trainer")) {
      places.remote[node_of(name)] = ids;
    } else {
      for (const RRefId& id : ids) places.local.push_back(kept_.at(id));
    }
  }
  return places;
}

std::shared_ptr<ContextWorld::Answer> ContextWorld::backward(Values roots, const Remote& remote) {
  last_roots_ = roots;
  last_remote_ = remote;
  auto answer = std::make_shared<Answer>();
  detail::PassPlan plan{places_of(std::move(roots), remote), {}};
  plan.graph = graph;
  if (!only_inputs.empty()) {
    Remote inputs;
    for (const Leaf& leaf : leaves_) {
      if (std::ranges::find(only_inputs, leaf.label) != only_inputs.end())
        inputs[leaf.name].push_back(keep(leaf.name, leaf.variable));
    }
    plan.inputs = places_of({}, inputs);
  }
  for (const detail::PassPlaces* places : {&plan.roots, plan.inputs ? &*plan.inputs : nullptr}) {
    if (places == nullptr) continue;
    for (const auto& [owner, ids] : places->remote) plan.lives.emplace(owner, kOwnersLife);
  }
  if (placement_ == Placement::local) {
    local_gradients_.add(troupe::backward(std::span<const Variable>(plan.roots.local), {},
                                          {.inputs = plan.inputs ? plan.inputs->local : Values{}}));
    answer->result = Unit{};
    return answer;
  }
  last_pass_ = PassId{"trainer", 7, ++serial_};
  part("trainer").begin(last_pass_, std::move(plan), {}, [this, answer](Result<Unit> result) {
    if (answer->result) throw std::logic_error("a pass was answered twice");
    answer->result = std::move(result);
    return !cancels_at_the_end;
  });
  return answer;
}

void ContextWorld::settle(std::size_t count_max) {
  for (std::size_t count = 0; count < count_max && !events_.empty(); ++count) {
    std::swap(events_[random_() % events_.size()], events_.back());
    const Event event = std::move(events_.back());
    events_.pop_back();
    event.happen();
  }
}

void ContextWorld::kill(const std::string& name) {
  nodes_.erase(name);
  std::erase_if(events_, [&](const Event& event) { return event.at == name; });
  Error gone;
  gone.code = ErrorCode::peer_down;
  gone.peer = name;
  gone.message = "connection closed";
  for (const auto& [other, node] : nodes_) {
    node->later(other, [=](Node& survivor) { survivor.part.peer_down(name, gone); });
  }
}

std::map<std::string, Tensor> ContextWorld::gradients() const {
  std::map<std::string, Tensor> found;
  for (const Leaf& leaf : leaves_) {
    const Tensor gradient = placement_ == Placement::local
                                ? local_gradients_.of(leaf.variable)
                                : nodes_.at(node_of(leaf.name))->part.gradient(leaf.variable).value();
    if (gradient.defined()) found[leaf.label] = gradient;
  }
  return found;
}

}  // namespace troupe::testing
