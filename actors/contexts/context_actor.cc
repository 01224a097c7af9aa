#include "actors/contexts/context_actor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <new>
#include <optional>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/contexts/recv_tag.h"
#include "actors/contexts/variables_of.h"
#include "actors/core/guarded.h"
#include "actors/membership/membership.h"
#include "actors/profile/events.h"
#include "autograd/watch.h"

namespace troupe::detail {
namespace {

/// Sends the gradients of a boundary as soon as they exist, and shows those of leaves to the pass's reducers.
class WorkSink final : public GradientSink {
 public:
  WorkSink(NodeCore& node, const GraphWork& work) : node_(node), work_(work) {}

  void deliver(const std::shared_ptr<const RecvFn>& recv, std::vector<Tensor> gradients) override {
    // Through the CPU, whatever the device maps are: the SendFn moves each to the device from which its value came.
    for (Tensor& gradient : gradients) {
      if (gradient.defined()) gradient = gradient.to(Device::cpu());
    }
    const RecvTag& tag = *tag_of(*recv);
    std::uint64_t bytes = 0;
    for (const Tensor& gradient : gradients) {
      if (gradient.defined()) bytes += gradient.nbytes();
    }
    // Large ones by name: a peer without memory for them then knows which context has lost them. The loss of a small
    // one ends the session.
    std::string to = bytes >= kNamedBytes ? "context/" + tag.context.text() : std::string();
    node_.notify(tag.peer, std::move(to), work_.message_for(*recv, std::move(gradients)));
  }

  void found(const Variable& leaf, const Tensor& gradient, const SparseTensor& rows) override {
    for (const auto& reducer : work_.reducers) reducer->found(work_.pass, leaf, gradient, rows);
  }

 private:
  static constexpr std::uint64_t kNamedBytes = 4096;

  NodeCore& node_;
  const GraphWork& work_;
};

}  // namespace

void ContextState::begin(NodeCore& node, ContextId context) {
  node_ = &node;
  context_ = std::move(context);
  began_ = node.clock().now();
  part_ = std::make_unique<ContextParticipant>(context_, node.name(), *this);
}

void ContextState::handle(const PassAsked& asked) {
  // The id is made here, in turn: a pass that starts later has the higher serial (CX-3).
  const auto pass = node_->next_id<PassId>();
  if (!asked.limits.cancelled_by.empty()) {
    const auto cancel = [node = node_->weak_from_this(), context = context_, pass] {
      const auto core = node.lock();
      if (!core) return;
      try {
        const ContextId id = context;  // the callback may end with its pass
        core->contexts().tell(id, {PassCancelled{pass}});
      } catch (const std::bad_alloc&) {  // in a stop callback, where no exception may end
        core->fail(failure_of_current_exception("a cancellation"));
      }
    };
    watches_[pass] = std::make_unique<StopWatch>(asked.limits.cancelled_by, cancel);
  }
  part_->begin(pass, asked.plan, asked.limits.due, [this, pass, answer = asked.answer](const Result<Unit>& done) {
    watches_.erase(pass);
    count_passes();  // before its caller is told
    return answer->complete(done);
  });
}

void ContextState::handle(Delivery delivery) {
  delivery.message.visit<ContextWords>([&](auto& word) { take(delivery, word); });
}

void ContextState::take(const Delivery& delivery, const msg::BackwardMark& mark) {
  part_->mark(delivery.from, delivery.envelope.request.value, mark, delivery.due,
              [answer = delivery.answer](msg::BackwardMarked marked) { answer.answer(std::move(marked)); });
}

void ContextState::take(const Delivery& delivery, const msg::BackwardRun& run) { part_->run(delivery.from, run); }

void ContextState::take(const Delivery& delivery, msg::BackwardGradients& gradients) {
  part_->gradients(delivery.from, std::move(gradients));
}

void ContextState::take(const Delivery& delivery, const msg::BackwardFinished& finished) {
  part_->finished(delivery.from, finished);
}

void ContextState::take(const Delivery& delivery, const msg::BackwardRelease& release) {
  part_->release_graph(delivery.from, release, [answer = delivery.answer](Result<msg::BackwardReleased> released) {
    if (released) return answer.answer(released.value());
    answer.fail(released.error());
  });
}

void ContextState::handle(ContextNews news) {
  std::visit([this](auto& each) { take(each); }, news.what);
}

void ContextState::take(MarkAnswered& marked) {
  part_->mark_answered(marked.pass, marked.by, marked.number, std::move(marked.answer));
}

void ContextState::take(const GraphReleased& released) { part_->released(released.pass, released.by); }
void ContextState::take(RootsFound& found) { part_->roots_found(found.pass, std::move(found.roots)); }
void ContextState::take(PoolDone& returned) { part_->pool_done(std::move(returned.work)); }
void ContextState::take(PassReduced& reduced) { part_->reduced(reduced.pass, std::move(reduced.gradients)); }
void ContextState::take(const PassDue& due) { part_->pass_due(due.pass); }
void ContextState::take(const PassCancelled& cancelled) { part_->pass_cancelled(cancelled.pass); }

void ContextState::handle(const WordLost& lost) {
  Error why = lost.why;
  why.operation = "context " + context_.text();
  if (!part_->word_lost(lost.from.name, why)) node_->give_up(lost.from, why.message);
}

void ContextState::count_passes() {
  const auto now = static_cast<std::int64_t>(part_->pass_count());
  const std::int64_t change = now - std::exchange(passes_, now);
  if (change != 0) node_->contexts().passes_changed(change);
}

void ContextState::describe(const DescribeContext& question) const {
  const auto& peers = part_->ledger().peers();
  question.slot.add({context_.text(),
                     {peers.begin(), peers.end()},
                     part_->pass_count(),
                     part_->ledger().send_count(),
                     node_->clock().now() - began_});
}

void ContextState::drop_part() {
  if (part_->ledger().is_short_to_destroy()) return;
  node_->run(
      "drop context " + context_.text(), [part = std::shared_ptr<ContextParticipant>(std::move(part_))] {},
      [](const Error&) {});
}

void ContextState::fail(Error why) {
  if (!part_) return;  // it has ended
  try {
    spdlog::error("[{}] {}: context {} is lost", node_->name(), why.text(), context_.text());
    why.peer = node_->name();
    part_->abort(why, node_->name());
    part_->stop(why);  // also after an abort that threw
    count_passes();
  } catch (...) {
    node_->fail(std::move(why));
  }
}

void ContextState::release(const NodeName& from) {
  part_->release(from);
  count_passes();
}

void ContextState::fail_release(Error why, const NodeName& from) noexcept {
  if (!part_) return;  // it has ended
  try {
    release(from);
  } catch (...) {
    node_->fail(std::move(why));
  }
}

void ContextState::send_mark(const NodeName& to, const std::optional<Incarnation>& life, std::uint64_t number,
                             msg::BackwardMark mark, std::optional<TimePoint> due) {
  auto done = [node = node_->weak_from_this(), context = context_, pass = mark.pass, to,
               number](Result<msg::AnyMessage> answer) {
    const auto core = node.lock();
    if (!core) return;
    const auto* marked = answer ? answer.value().get_if<msg::BackwardMarked>() : nullptr;
    MarkAnswered news{pass, to, number, msg::BackwardMarked{}};
    if (marked != nullptr) {
      news.answer = *marked;
    } else {
      news.answer = answer ? core->error(ErrorCode::protocol_violation, to, "backward",
                                         "the answer to BackwardMark is another message")
                           : answer.error();
    }
    core->contexts().tell(context, {std::move(news)});
  };
  Request request{to, "context/" + context_.text(), "backward", due, std::move(mark)};
  request.life = life;
  node_->request(std::move(request), std::move(done));
}

void ContextState::send_release(const NodeName& to, msg::BackwardRelease release, std::optional<TimePoint> due) {
  auto done = [node = node_->weak_from_this(), context = context_, pass = release.pass,
               to](const Result<msg::AnyMessage>& /*answer*/) {
    if (const auto core = node.lock()) core->contexts().tell(context, {GraphReleased{pass, to}});
  };
  node_->request({to, "context/" + context_.text(), "backward", due, std::move(release)}, std::move(done));
}

void ContextState::notify(const NodeName& to, msg::AnyMessage message) {
  node_->notify(to, "context/" + context_.text(), std::move(message));
}

void ContextState::find_roots(const PassId& pass, std::vector<RRefId> roots) {
  variables_of(*node_, roots, node_->membership().life_of(pass.creator),
               [node = node_->weak_from_this(), context = context_, pass](auto found) {
                 if (const auto core = node.lock())
                   core->contexts().tell(context, {RootsFound{pass, std::move(found)}});
               });
}

void ContextState::run_on_pool(std::shared_ptr<GraphWork> work) {
  const auto job = [node = node_->shared_from_this(), context = context_, work] {
    const WithoutAnomalyGuard own_checks_only;  // this thread may be one that waits in a user's program
    const RecordedThread recorded(node, context);
    std::optional<Contexts::PassHere> here;
    if (work->pass.creator == node->name()) here.emplace(*node, context);
    WorkSink sink(*node, *work);
    work->run(sink);
    node->contexts().tell(context, {PoolDone{work}});
  };
  const auto refused = [node = node_, context = context_, work](const Error& error) {
    work->failure = error;
    node->contexts().tell(context, {PoolDone{work}});
  };
  const std::string label = "backward of context " + context_.text();
  work->is_short() ? node_->run_short(label, job, refused) : node_->run(label, job, refused);
}

void ContextState::reduce(const PassId& pass, const std::shared_ptr<GradientReducer>& reducer, Gradients gradients) {
  reducer->finish(pass, std::move(gradients),
                  [node = node_->weak_from_this(), context = context_, pass](Result<Gradients> result) {
                    if (const auto core = node.lock())
                      core->contexts().tell(context, {PassReduced{pass, std::move(result)}});
                  });
}

void ContextState::wake_at(const PassId& pass, TimePoint due) {
  timers_[pass] = node_->clock().at(due, [node = node_->weak_from_this(), context = context_, pass] {
    if (const auto core = node.lock()) core->contexts().tell(context, {PassDue{pass}});
  });
}

void ContextState::pass_ended(const PassId& pass) {
  const auto timer = timers_.extract(pass);
  if (timer) node_->clock().cancel(timer.mapped());
}

void ContextState::refused(const Error& error) { spdlog::warn("[{}] {}", node_->name(), error.text()); }

ContextActor::behavior_type context_actor(ContextActor::stateful_pointer<ContextState> self, NodeCore* node,
                                          ContextId context) {
  ContextState& state = self->state;
  state.begin(*node, std::move(context));
  const auto end = [self] {
    self->quit();
    self->state.drop_part();
  };
  struct Failed {
    ContextActor::stateful_pointer<ContextState> self;
    void operator()(Error why) const { self->state.fail(std::move(why)); }
    void operator()(Error why, const ReleaseContext& m) const {
      self->state.fail_release(std::move(why), m.from);
      self->quit();
    }
  };
  // Handlers that may start or end a pass report the count afterwards.
  return guarded<ContextActor::behavior_type>(
      "the context", Failed{self},
      // CAF tries them in this order: the frequent ones first.
      [&state](ContextMessage& m) {
        state.handle(std::move(m.delivery));
        state.count_passes();
      },
      [&state](ContextNews& m) {
        state.handle(std::move(m));
        state.count_passes();
      },
      [&state](const SendRecorded& m) { state.part().record_send(m.boundary, m.send, m.peer, m.what); },
      [&state](const PeerJoined& m) { state.part().add_peer(m.node); },
      [&state](const ReducerAttached& m) { state.part().attach(m.reducer); },
      [&state](const PassAsked& m) {
        state.handle(m);
        state.count_passes();
      },
      [&state](const AliveAsked& m) {
        const auto& aborted = state.part().aborted();
        m.answer->complete(aborted ? Result<Unit>(*aborted) : Unit{});
      },
      [&state](const GradientsAsked& m) { m.answer->complete(state.part().gradients()); },
      [&state](const GradientAsked& m) { m.answer->complete(state.part().gradient(m.leaf)); },
      [&state](const UnusedAsked& m) { m.answer->complete(state.part().unused(m.pass)); },
      [&state](const PeerDown& m) {
        state.part().peer_down(m.life.name, m.why);
        state.count_passes();
      },
      [&state](const AbortContext& m) {
        state.part().abort(m.error, m.from);
        state.count_passes();
      },
      [&state](const WordLost& m) {
        state.handle(m);
        state.count_passes();
      },
      [&state, end](const ReleaseContext& m) {
        state.release(m.from);
        end();
      },
      [&state](const DescribeContext& m) { state.describe(m); },
      [&state, end](const StopContext& m) {
        state.part().stop(m.why);
        state.count_passes();
        end();
      });
}

}  // namespace troupe::detail
